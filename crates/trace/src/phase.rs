//! What a connection can be doing, and how it ends.

/// A phase of a connection, as seen by the process that records it.
///
/// Source: Guitart et al. 2007, section 6.1, figures 1 and 2: a persistent connection is a TLS
/// handshake (full or resumed), requests with their service, and the time without a request.
/// Deviation: that time is split at the first request, the gate's states before the handshake
/// are added, and each process records its own side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Phase {
    /// The kernel has passed the connection; nothing of it was read.
    Accept = 0,
    /// Its first bytes are arriving.
    FirstFlight = 1,
    /// It waits in the admission queue.
    Queue = 2,
    /// A TLS handshake with a signature.
    HandshakeFull = 3,
    /// A TLS handshake by a ticket.
    HandshakeResumed = 4,
    /// Open, before the first request.
    AwaitRequest = 5,
    /// A request is arriving.
    ReadRequest = 6,
    /// The process works on the request, or waits for a processor to do so.
    Service = 7,
    /// The request is with the upstream.
    Upstream = 8,
    /// A query is with the database, or waits for a connection to it.
    Database = 9,
    /// The response is on its way to the peer.
    Respond = 10,
    /// Open, between two requests.
    Idle = 11,
    /// The connection is being closed.
    Close = 12,
    /// The customer opens a TCP connection.
    Connect = 13,
    /// The customer has sent a request, and no byte of the response has arrived.
    Wait = 14,
    /// The response is arriving at the customer.
    Receive = 15,
    /// The customer thinks.
    Think = 16,
}

impl Phase {
    /// Every phase, in the order of a connection's life.
    pub const ALL: [Self; 17] = [
        Self::Accept,
        Self::FirstFlight,
        Self::Queue,
        Self::HandshakeFull,
        Self::HandshakeResumed,
        Self::AwaitRequest,
        Self::ReadRequest,
        Self::Service,
        Self::Upstream,
        Self::Database,
        Self::Respond,
        Self::Idle,
        Self::Close,
        Self::Connect,
        Self::Wait,
        Self::Receive,
        Self::Think,
    ];

    /// The phase of this number in a file.
    pub fn of(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// The name in JSON and exports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::FirstFlight => "first_flight",
            Self::Queue => "queue",
            Self::HandshakeFull => "handshake_full",
            Self::HandshakeResumed => "handshake_resumed",
            Self::AwaitRequest => "await_request",
            Self::ReadRequest => "read_request",
            Self::Service => "service",
            Self::Upstream => "upstream",
            Self::Database => "database",
            Self::Respond => "respond",
            Self::Idle => "idle",
            Self::Close => "close",
            Self::Connect => "connect",
            Self::Wait => "wait",
            Self::Receive => "receive",
            Self::Think => "think",
        }
    }

    /// The name in sentences.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::FirstFlight => "first flight",
            Self::Queue => "admission queue",
            Self::HandshakeFull => "TLS handshake, full",
            Self::HandshakeResumed => "TLS handshake, resumed",
            Self::AwaitRequest => "waiting for the first request",
            Self::ReadRequest => "reading the request",
            Self::Service => "service",
            Self::Upstream => "upstream",
            Self::Database => "database",
            Self::Respond => "sending the response",
            Self::Idle => "idle between requests",
            Self::Close => "close",
            Self::Connect => "TCP connect",
            Self::Wait => "waiting for the response",
            Self::Receive => "receiving the response",
            Self::Think => "thinking",
        }
    }

    /// Whether the phase is one of a request that is under way.
    pub const fn is_of_request(self) -> bool {
        matches!(
            self,
            Self::ReadRequest
                | Self::Service
                | Self::Upstream
                | Self::Database
                | Self::Respond
                | Self::Wait
                | Self::Receive
        )
    }

    /// Whether the phase waits for the customer, who has nothing under way.
    pub const fn is_without_request(self) -> bool {
        matches!(self, Self::AwaitRequest | Self::Idle | Self::Think)
    }

    /// Whether it is a TLS handshake.
    pub const fn is_handshake(self) -> bool {
        matches!(self, Self::HandshakeFull | Self::HandshakeResumed)
    }
}

/// How a connection or session ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Outcome {
    /// It has not ended with this record.
    #[default]
    Open = 0,
    /// In order.
    Done = 1,
    /// It was refused before its handshake.
    Refused = 2,
    /// A deadline or the customer's patience ended it.
    TimedOut = 3,
    /// It broke, or a fault ended it.
    Broken = 4,
}

impl Outcome {
    const ALL: [Self; 5] = [Self::Open, Self::Done, Self::Refused, Self::TimedOut, Self::Broken];

    /// The outcome of this number in a file.
    pub fn of(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// The name in JSON and exports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Done => "done",
            Self::Refused => "refused",
            Self::TimedOut => "timed_out",
            Self::Broken => "broken",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_in_a_file_gives_the_phase_back() {
        for phase in Phase::ALL {
            assert_eq!(Phase::of(phase as u8), Some(phase));
        }
        assert_eq!(Phase::of(Phase::ALL.len() as u8), None);
        for outcome in Outcome::ALL {
            assert_eq!(Outcome::of(outcome as u8), Some(outcome));
        }
        assert_eq!(Outcome::of(5), None);
    }

    #[test]
    fn names_are_unique() {
        let names: std::collections::BTreeSet<_> = Phase::ALL.iter().map(|p| p.name()).collect();
        assert_eq!(names.len(), Phase::ALL.len());
    }
}
