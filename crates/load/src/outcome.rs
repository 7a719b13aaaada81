//! How a session ends, and the names under which that is counted.

use std::borrow::Cow;

use serde::{Serialize, Serializer};

/// A name under which something is counted: one of this program, or read from a result.
pub type Name = Cow<'static, str>;

/// Declares an enum whose variants have names in JSON and metrics, and a meaning for readers.
macro_rules! named {
    ($(#[$about:meta])* pub enum $enum:ident {
        $($(#[$doc:meta])* $variant:ident = $name:literal, $meaning:literal;)*
    }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $enum { $($(#[$doc])* $variant,)* }

        impl $enum {
            /// The name in JSON.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// What each name means.
            const MEANINGS: &[(&str, &str)] = &[$(($name, $meaning)),*];
        }

        impl Serialize for $enum {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }
    };
}

/// The end of one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Reached its end or the largest number of requests.
    Completed,
    /// Refused before the first handshake was complete.
    Refused(Refusal),
    /// Neither a refusal nor lost patience.
    Failed(Failure),
    /// The customer lost patience.
    Abandoned(Stage),
    /// Still running when the run stopped: neither success nor failure.
    CutOff,
}

impl Outcome {
    /// Whether a customer may return after this outcome: after a refusal or lost patience,
    /// when the service had no capacity. Other failures would repeat.
    pub fn allows_return(self) -> bool {
        use Failure::{ConnectRefused, ConnectTimeout, ReturningRefused};
        matches!(
            self,
            Self::Refused(_)
                | Self::Abandoned(_)
                | Self::Failed(ConnectRefused | ConnectTimeout | ReturningRefused)
        )
    }

    /// Whether what ended so waited in vain for a response of the service, which would have taken
    /// longer. A refusal is a response of its own kind, and a request that the load generator
    /// could not send says nothing.
    pub(crate) fn is_wait_in_vain(self) -> bool {
        match self {
            Self::Completed | Self::Refused(_) | Self::CutOff => false,
            Self::Failed(kind) => kind.leaves_no_response(),
            Self::Abandoned(_) => true,
        }
    }
}

named! {
    /// How a new session was refused.
    pub enum Refusal {
        /// TCP reset while connecting, in the handshake, or in place of the first
        /// answer's first byte (a TLS 1.3 client may have finished by then).
        Reset = "reset", "connection reset";
        /// TLS alert.
        Alert = "alert", "TLS alert";
        /// Closed during the handshake without an alert.
        Closed = "closed", "connection closed before the answer was complete";
    }
}

named! {
    /// Why a session failed.
    pub enum Failure {
        /// Connection refused: no listener.
        ConnectRefused = "connect_refused", "connection refused: nothing listens";
        /// No route, or the network is down.
        Unreachable = "unreachable", "no route to the target";
        /// The kernel gave up connecting.
        ConnectTimeout = "connect_timeout", "the connection was not made in time";
        /// The load generator ran out of source ports.
        NoPorts = "no_ports", "the load generator ran out of source ports";
        /// The load generator ran out of file descriptors or memory.
        NoResources = "no_resources", "the load generator ran out of file descriptors or memory";
        /// A later connection of an admitted session was refused.
        ReturningRefused = "returning_refused", "a later connection of an admitted session was refused";
        /// TLS failed otherwise: certificate, protocol.
        Tls = "tls", "TLS failed";
        /// Reset after the request was sent.
        Reset = "reset", "connection reset";
        /// Closed before the response was complete.
        Closed = "closed", "connection closed before the answer was complete";
        /// The response is not HTTP of the requested version.
        Http = "http", "the answer is not HTTP of the requested version";
        /// HTTP/2: the server would not begin the request (RST_STREAM with
        /// REFUSED_STREAM).
        StreamRefused = "stream_refused", "HTTP/2: the server did not begin the request";
        /// HTTP/2: the server ended the request otherwise before its answer was whole
        /// (RST_STREAM).
        StreamReset = "stream_reset", "HTTP/2: the server ended the request before its answer";
        /// HTTP/2: the server takes no more requests on the connection, this one
        /// included (GOAWAY).
        GoAway = "go_away", "HTTP/2: the server takes no more requests";
        /// A status of 400 to 499 that the page does not allow.
        Status4xx = "status_4xx", "status 400 to 499";
        /// A status of 500 to 599 that the page does not allow.
        Status5xx = "status_5xx", "status 500 to 599";
        /// A redirect to another origin (scheme, host or port), which is not followed.
        RedirectElsewhere = "redirect_elsewhere", "redirect to another origin, which is not followed";
        /// More redirects than are followed for one request.
        RedirectLoop = "redirect_loop", "too many redirects";
        /// The response failed a check of the page.
        Check = "check", "a check of the answer failed";
        /// A value to extract was not found in the response.
        Extraction = "extraction", "a value was not found in the answer";
        /// The content coding of a response is not known, or the body is not encoded so, and a check,
        /// an extraction or the next page needs it.
        Decoding = "decoding", "the body of the answer could not be decoded";
        /// The last page does not offer the next step of a script.
        NotOffered = "not_offered", "the page does not offer the next step";
        /// An extracted value is not allowed in a header field.
        Unsendable = "unsendable", "a value cannot be sent in a header field";
        /// The answer opened no WebSocket or stream of events, or a message has none to go to.
        NotOpened = "not_opened", "no WebSocket or stream of events was open";
        /// All rows of a feeder that gives each only once are used up.
        RowsUsedUp = "rows_used_up", "all rows of a feeder are used up";
        /// Any other error of the system.
        Other = "other", "another error of the system";
    }
}

impl Failure {
    /// Whether the service did not answer a request that it was sent.
    fn leaves_no_response(self) -> bool {
        match self {
            Self::ConnectRefused
            | Self::Unreachable
            | Self::ConnectTimeout
            | Self::Tls
            | Self::Reset
            | Self::Closed
            | Self::Http
            | Self::StreamRefused
            | Self::StreamReset
            | Self::GoAway
            | Self::Other => true,
            Self::NoPorts
            | Self::NoResources
            | Self::ReturningRefused
            | Self::Status4xx
            | Self::Status5xx
            | Self::RedirectElsewhere
            | Self::RedirectLoop
            | Self::Check
            | Self::Extraction
            | Self::Decoding
            | Self::NotOffered
            | Self::Unsendable
            | Self::NotOpened
            | Self::RowsUsedUp => false,
        }
    }
}

/// Why a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause {
    /// An answer with this status, which the page does not allow.
    Status(u16),
    /// Another failure.
    Failed(Failure),
    /// The connection was refused.
    Refused(Refusal),
    /// The customer lost patience.
    Abandoned(Stage),
}

impl Cause {
    /// Of an answer with this status.
    pub(crate) fn of_answer(failure: Option<Failure>, status: u16) -> Self {
        match failure {
            None | Some(Failure::Status4xx | Failure::Status5xx) => Self::Status(status),
            Some(other) => Self::Failed(other),
        }
    }

    /// The name in JSON.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Status(status) => format!("status_{status}"),
            Self::Failed(failure) => failure.name().to_owned(),
            Self::Refused(refusal) => format!("refused_{}", refusal.name()),
            Self::Abandoned(stage) => format!("abandoned_{}", stage.name()),
        }
    }
}

named! {
    /// How far a request had come when patience ran out.
    pub enum Stage {
        /// TCP connection not made yet.
        Connect = "connect", "no connection yet";
        /// TLS handshake not complete yet.
        Handshake = "handshake", "TLS handshake not complete";
        /// Sent; no byte of the answer yet.
        FirstByte = "first_byte", "no byte of the answer yet";
        /// Within the answer.
        LastByte = "last_byte", "answer not complete";
        /// In the waiting room of a gate.
        Waiting = "waiting", "in the waiting room";
    }
}

/// What a TLS handshake begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Offered {
    /// A ticket for resumption.
    Ticket,
    /// No ticket, as intended.
    Nothing,
    /// No ticket, although a resumption was intended.
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

/// What the name of a failure, a refusal, a stage or a cause in a result means; a name that this
/// version does not know is its own description.
pub fn meaning(name: &str) -> String {
    const SOFT: &[(&str, &str)] = &[("soft_check", "a soft check failed; the session continued")];
    let all = [Failure::MEANINGS, Refusal::MEANINGS, Stage::MEANINGS, SOFT];
    if let Some((_, meaning)) = all.into_iter().flatten().find(|(known, _)| *known == name) {
        return (*meaning).to_owned();
    }
    match name.split_once('_') {
        Some((part @ ("refused" | "abandoned"), kind)) => format!("{part}: {}", meaning(kind)),
        _ => name.replace('_', " "),
    }
}

/// Class of a status code, as answers are counted.
pub(crate) fn status_class(status: u16) -> &'static str {
    let index = usize::from(status / 100).wrapping_sub(1);
    ["1xx", "2xx", "3xx", "4xx", "5xx"].get(index).copied().unwrap_or("other")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_described_and_an_unknown_one_shown_by_its_name() {
        assert_eq!(meaning("status_5xx"), "status 500 to 599");
        assert_eq!(meaning("status_405"), "status 405");
        assert_eq!(meaning("refused_alert"), "refused: TLS alert");
        assert_eq!(meaning("made_of_cheese"), "made of cheese");
    }

    #[test]
    fn a_status_is_counted_by_its_hundreds() {
        let classes = [100, 204, 399, 404, 503, 0, 99, 600].map(status_class);
        assert_eq!(classes, ["1xx", "2xx", "3xx", "4xx", "5xx", "other", "other", "other"]);
    }
}
