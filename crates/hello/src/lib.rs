//! The ClientHello reader: bytes in, claims out; no I/O.
