//! How a session ends, and the names under which that is counted.

use serde::Serialize;

/// The end of one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Reached its end, or its largest number of requests.
    Completed,
    /// Turned away before its first handshake was complete.
    Refused(Refusal),
    /// Something that is neither a refusal nor impatience.
    Failed(Failure),
    /// The customer lost patience.
    Abandoned(Stage),
    /// Still running when the run stopped: neither success nor failure.
    CutOff,
}

impl Outcome {
    /// Whether the customer was turned away, or waited too long: the service had
    /// no room. Other failures would only come again.
    pub fn is_disappointment(self) -> bool {
        use Failure::{ConnectRefused, ConnectTimeout, ReturningRefused};
        matches!(
            self,
            Self::Refused(_)
                | Self::Abandoned(_)
                | Self::Failed(ConnectRefused | ConnectTimeout | ReturningRefused)
        )
    }
}

/// How a new customer was turned away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// TCP reset while connecting, in the handshake, or in place of the first
    /// answer's first byte (a TLS 1.3 client may have finished by then).
    Reset,
    /// TLS alert.
    Alert,
    /// Closed in the handshake without a word.
    Closed,
}

impl Refusal {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reset => "reset",
            Self::Alert => "alert",
            Self::Closed => "closed",
        }
    }
}

/// Why a session failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// Nobody listens there.
    ConnectRefused,
    /// No route, or the network is down.
    Unreachable,
    /// The kernel gave up connecting.
    ConnectTimeout,
    /// The driver ran out of source ports: its own limit.
    NoPorts,
    /// The driver ran out of file descriptors or memory: its own limit.
    NoResources,
    /// A later connection of a session already admitted was turned away.
    ReturningRefused,
    /// TLS failed otherwise: certificate, protocol.
    Tls,
    /// Reset after the request was sent.
    Reset,
    /// Closed before the answer was whole.
    Closed,
    /// The answer is not HTTP of the version that was asked for.
    Http,
    /// HTTP/2: the server would not begin the request (RST_STREAM with
    /// REFUSED_STREAM).
    StreamRefused,
    /// HTTP/2: the server ended the request otherwise before its answer was whole
    /// (RST_STREAM).
    StreamReset,
    /// HTTP/2: the server takes no more requests on the connection, this one
    /// included (GOAWAY).
    GoAway,
    /// A status of 400 to 499 that the page does not allow.
    Status4xx,
    /// A status of 500 to 599 that the page does not allow.
    Status5xx,
    /// The answer failed a check of the page.
    Check,
    /// The answer lacks a value that was to be extracted.
    Extraction,
    /// The last page offers no way to the next step of a script.
    NotOffered,
    /// A value that was extracted cannot stand in a header field.
    Unsendable,
    /// Any other error of the system.
    Other,
}

impl Failure {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::ConnectRefused => "connect_refused",
            Self::Unreachable => "unreachable",
            Self::ConnectTimeout => "connect_timeout",
            Self::NoPorts => "no_ports",
            Self::NoResources => "no_resources",
            Self::ReturningRefused => "returning_refused",
            Self::Tls => "tls",
            Self::Reset => "reset",
            Self::Closed => "closed",
            Self::Http => "http",
            Self::StreamRefused => "stream_refused",
            Self::StreamReset => "stream_reset",
            Self::GoAway => "go_away",
            Self::Status4xx => "status_4xx",
            Self::Status5xx => "status_5xx",
            Self::Check => "check",
            Self::Extraction => "extraction",
            Self::NotOffered => "not_offered",
            Self::Unsendable => "unsendable",
            Self::Other => "other",
        }
    }
}

/// How far a request had come when patience ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// TCP connection not made yet.
    Connect,
    /// TLS handshake not complete yet.
    Handshake,
    /// Sent; no byte of the answer yet.
    FirstByte,
    /// Within the answer.
    LastByte,
}

impl Stage {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Handshake => "handshake",
            Self::FirstByte => "first_byte",
            Self::LastByte => "last_byte",
        }
    }
}

/// What a TLS handshake begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Offered {
    /// A ticket: it asks to resume.
    Ticket,
    /// No ticket, and none was wanted.
    Nothing,
    /// It was to be resumed, but no server had given a ticket that was left.
    NoneLeft,
}

/// What a TLS handshake was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Handshake {
    /// With certificate and signature.
    Full,
    /// From a ticket or session id.
    Resumed,
}
