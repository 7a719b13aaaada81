//! The gate: listener, tickets, TLS, HTTP proxy, telemetry, admin.
