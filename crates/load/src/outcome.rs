//! How a session ends, and the names under which that is counted.

use std::collections::BTreeMap;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};

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

/// How a new session was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// TCP reset while connecting, in the handshake, or in place of the first
    /// answer's first byte (a TLS 1.3 client may have finished by then).
    Reset,
    /// TLS alert.
    Alert,
    /// Closed during the handshake without an alert.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// Connection refused: no listener.
    ConnectRefused,
    /// No route, or the network is down.
    Unreachable,
    /// The kernel gave up connecting.
    ConnectTimeout,
    /// The load generator ran out of source ports.
    NoPorts,
    /// The load generator ran out of file descriptors or memory.
    NoResources,
    /// A later connection of an admitted session was refused.
    ReturningRefused,
    /// TLS failed otherwise: certificate, protocol.
    Tls,
    /// Reset after the request was sent.
    Reset,
    /// Closed before the response was complete.
    Closed,
    /// The response is not HTTP of the requested version.
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
    #[serde(rename = "status_4xx")]
    Status4xx,
    /// A status of 500 to 599 that the page does not allow.
    #[serde(rename = "status_5xx")]
    Status5xx,
    /// A redirect to another origin (scheme, host or port), which is not followed.
    RedirectElsewhere,
    /// More redirects than are followed for one request.
    RedirectLoop,
    /// The response failed a check of the page.
    Check,
    /// A value to extract was not found in the response.
    Extraction,
    /// The content coding of a response is not known, or the body is not encoded so, and a check,
    /// an extraction or the next page needs it.
    Decoding,
    /// The last page does not offer the next step of a script.
    NotOffered,
    /// An extracted value is not allowed in a header field.
    Unsendable,
    /// All rows of a feeder that gives each only once are used up.
    RowsUsedUp,
    /// Any other error of the system.
    Other,
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
            | Self::RowsUsedUp => false,
        }
    }

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
            Self::RedirectElsewhere => "redirect_elsewhere",
            Self::RedirectLoop => "redirect_loop",
            Self::Check => "check",
            Self::Extraction => "extraction",
            Self::Decoding => "decoding",
            Self::NotOffered => "not_offered",
            Self::Unsendable => "unsendable",
            Self::RowsUsedUp => "rows_used_up",
            Self::Other => "other",
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

/// What an answer did not meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Unmet {
    Check,
    SoftCheck,
    Extraction,
    NotOffered,
    Unsendable,
    RedirectElsewhere,
    RowsUsedUp,
}

impl Kind for Unmet {
    fn name(self) -> &'static str {
        match self {
            Self::Check => Failure::Check.name(),
            Self::SoftCheck => "soft_check",
            Self::Extraction => Failure::Extraction.name(),
            Self::NotOffered => Failure::NotOffered.name(),
            Self::Unsendable => Failure::Unsendable.name(),
            Self::RedirectElsewhere => Failure::RedirectElsewhere.name(),
            Self::RowsUsedUp => Failure::RowsUsedUp.name(),
        }
    }
}

/// How far a request had come when patience ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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

/// A kind that is counted under its name.
pub(crate) trait Kind: DeserializeOwned {
    /// The name in JSON.
    fn name(self) -> &'static str;
}

impl Kind for Refusal {
    fn name(self) -> &'static str {
        self.name()
    }
}

impl Kind for Failure {
    fn name(self) -> &'static str {
        self.name()
    }
}

impl Kind for Stage {
    fn name(self) -> &'static str {
        self.name()
    }
}

/// Reads counts by the names of kinds.
pub(crate) fn counts<'de, D: Deserializer<'de>, K: Kind + Ord>(
    deserializer: D,
) -> Result<BTreeMap<&'static str, u64>, D::Error> {
    let counts = BTreeMap::<K, u64>::deserialize(deserializer)?;
    Ok(counts.into_iter().map(|(kind, count)| (kind.name(), count)).collect())
}

/// Reads the name of a kind.
pub(crate) fn name<'de, D: Deserializer<'de>, K: Kind>(
    deserializer: D,
) -> Result<&'static str, D::Error> {
    K::deserialize(deserializer).map(K::name)
}

/// Class of a status code, as answers are counted.
pub(crate) fn status_class(status: u16) -> &'static str {
    let class = usize::from(status / 100);
    if (1..=5).contains(&class) { STATUS_CLASSES[class - 1] } else { STATUS_CLASSES[5] }
}

const STATUS_CLASSES: [&str; 6] = ["1xx", "2xx", "3xx", "4xx", "5xx", "other"];

/// Reads counts by classes of status codes.
pub(crate) fn status_counts<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<&'static str, u64>, D::Error> {
    let counts = BTreeMap::<String, u64>::deserialize(deserializer)?;
    let known = |(name, count): (String, u64)| {
        let known = STATUS_CLASSES.into_iter().find(|known| *known == name);
        known.map(|known| (known, count)).ok_or(name)
    };
    let wrong = |name| D::Error::custom(format!("{name:?} is no class of status codes"));
    counts.into_iter().map(known).collect::<Result<_, _>>().map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_read_by_the_name_under_which_it_is_counted() {
        fn same<K: Kind + Serialize>(kinds: Vec<K>) {
            for kind in kinds {
                let json = serde_json::to_string(&kind).unwrap();
                assert_eq!(json, format!("{:?}", kind.name()));
            }
        }
        // The names that the derive knows are listed in the error for one that it does not.
        fn all<K: Kind>() -> Vec<K> {
            let error = serde_json::from_str::<K>("\"?\"").err().unwrap().to_string();
            let names = error.split('`').skip(1).step_by(2).skip(1);
            names.map(|name| serde_json::from_str(&format!("{name:?}")).unwrap()).collect()
        }
        same(all::<Refusal>());
        same(all::<Failure>());
        same(all::<Stage>());
        same(all::<Unmet>());
        assert_eq!(all::<Failure>().len(), 24);
    }

    #[test]
    fn a_status_is_counted_by_its_hundreds() {
        let classes = [100, 204, 399, 404, 503, 0, 99, 600].map(status_class);
        assert_eq!(classes, ["1xx", "2xx", "3xx", "4xx", "5xx", "other", "other", "other"]);
    }
}
