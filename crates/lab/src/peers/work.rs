//! The kinds of work that servers are compared at.

use serde::Serialize;

/// One kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// Connect, full handshake, one GET, close.
    Full(Version),
    /// Connect, resume with a ticket, one GET, close.
    Resumed(Version),
    /// One GET on a TLS 1.3 connection that stays open.
    KeepAliveTls,
    /// One GET by HTTP/2 on a TLS 1.3 connection that stays open.
    KeepAliveHttp2,
    /// One GET on a plain HTTP connection that stays open.
    KeepAliveClear,
    /// One GET of a file of 1 KiB on a TLS 1.3 connection that stays open.
    StaticTls,
    /// One message of 64 bytes and its echo in a WebSocket over TLS 1.3 that stays open.
    WebSocket,
    /// Connect, send a ClientHello, be refused.
    Refused,
}

/// TLS version that a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Version {
    /// TLS 1.2 with ECDHE and AES-128-GCM.
    #[serde(rename = "1.2")]
    Tls12,
    /// TLS 1.3 with AES-128-GCM.
    #[serde(rename = "1.3")]
    Tls13,
}
