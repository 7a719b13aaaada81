//! The labels of the gate's counters. Each is an enum with its
//! name in metrics; [`By`] is an array with one value per label.

use crate::framing::{Fault, Part, Rule};
use std::array;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};
use tidegate_control::FullHandshake;
use tidegate_hello::OtherProtocol;

/// An index of a [`By`].
pub trait Key: Copy {
    /// Its place, from 0.
    fn place(self) -> usize;
}

/// A key that metrics name.
pub trait Label: Key {
    /// The names in metrics, in the order of the keys' places.
    fn names() -> impl Iterator<Item = &'static str>;
}

/// One value for each key.
#[derive(Clone, Debug, PartialEq)]
pub struct By<K, T, const N: usize>([T; N], PhantomData<K>);

impl<K, T: Default, const N: usize> Default for By<K, T, N> {
    fn default() -> Self {
        Self(array::from_fn(|_| T::default()), PhantomData)
    }
}

impl<K: Key, T, const N: usize> Index<K> for By<K, T, N> {
    type Output = T;

    #[inline]
    fn index(&self, key: K) -> &T {
        &self.0[key.place()]
    }
}

impl<K: Key, T, const N: usize> IndexMut<K> for By<K, T, N> {
    #[inline]
    fn index_mut(&mut self, key: K) -> &mut T {
        &mut self.0[key.place()]
    }
}

impl<K, T, const N: usize> By<K, T, N> {
    /// The values in the order of the keys' places.
    pub fn values(&self) -> &[T; N] {
        &self.0
    }

    /// The values in the order of the keys' places, to be changed.
    pub fn values_mut(&mut self) -> &mut [T; N] {
        &mut self.0
    }
}

impl<K: Label, T: Copy, const N: usize> By<K, T, N> {
    /// The names of the keys with their values.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, T)> {
        K::names().zip(self.0)
    }
}

/// Declares an enum of labels.
macro_rules! labels {
    ($(
        $(#[doc = $about:literal])*
        pub enum $Name:ident { $( $(#[doc = $doc:literal])* $Variant:ident = $label:literal, )* }
    )*) => {$(
        $(#[doc = $about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $Name { $( $(#[doc = $doc])* $Variant, )* }

        impl $Name {
            /// All, in the order of their places.
            pub const ALL: &'static [Self] = &[$(Self::$Variant),*];
            /// How many there are.
            pub const COUNT: usize = Self::ALL.len();

            /// The label in metrics.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$Variant => $label),* }
            }
        }

        impl Key for $Name {
            #[inline]
            fn place(self) -> usize {
                self as usize
            }
        }

        impl Label for $Name {
            fn names() -> impl Iterator<Item = &'static str> {
                [$($label),*].into_iter()
            }
        }
    )*};
}

labels! {
    /// The class of a connection.
    pub enum Class {
        /// Of a new session.
        New = "new",
        /// Of an active session, shown by a ticket that one of the gate's keys sealed.
        Returning = "returning",
    }

    /// What processor time is spent on.
    pub enum Bucket {
        /// Accepting, reading and classifying hellos; queueing and refusing.
        Arrival = "arrival",
        /// Handshakes of new connections.
        HandshakeNew = "handshake_new",
        /// Handshakes of returning connections.
        HandshakeReturning = "handshake_returning",
        /// Requests on connections that were admitted as new.
        RequestNew = "request_new",
        /// Requests on connections that were admitted as returning.
        RequestReturning = "request_returning",
        /// The waiting room: its handshakes and pages.
        Room = "room",
        /// Timers and upkeep.
        Upkeep = "upkeep",
    }

    /// The kind of a TLS handshake.
    pub enum HandshakeKind {
        /// With a signature by the certificate's key.
        Full = "full",
        /// From a ticket.
        Resumed = "resumed",
    }

    /// Why a connection ended.
    pub enum End {
        /// The customer closed it between two requests.
        Customer = "customer",
        /// No request within the idle deadline.
        Idle = "idle",
        /// The response closed the connection, or the request demanded it.
        Finished = "finished",
        /// The gate is draining.
        Drain = "drain",
        /// The hello was not complete in time; in clear text, nothing came.
        HelloDeadline = "hello_deadline",
        /// The customer closed before the hello was complete; in clear text, before
        /// the first byte.
        HelloHungUp = "hello_hung_up",
        /// Plain HTTP on the TLS port; answered with a 400.
        ClearHttp = "clear_http",
        /// Something else that is not TLS.
        NotTls = "not_tls",
        /// TLS or other bytes on the plain HTTP port; answered with a 400.
        NotHttp = "not_http",
        /// From a sender that `listen.proxy_protocol` lists: no header of the PROXY protocol, or
        /// a wrong one.
        NoProxyHeader = "no_proxy_header",
        /// A hello that breaks TLS or a limit.
        MalformedHello = "malformed_hello",
        /// An exact copy of an earlier hello with a good ticket.
        CopiedHello = "copied_hello",
        /// Refused at once.
        Refused = "refused",
        /// Held, then refused because the time was up.
        HoldExpired = "hold_expired",
        /// Held, and closed by the customer meanwhile.
        HoldLeft = "hold_left",
        /// Too many connections.
        TooMany = "too_many",
        /// It gave way to a connection of an address prefix with fewer.
        Displaced = "displaced",
        /// No file descriptor was left for it.
        NoFiles = "no_files",
        /// The handshake was not complete in time.
        HandshakeDeadline = "handshake_deadline",
        /// The handshake failed.
        HandshakeFailed = "handshake_failed",
        /// The handshake from a ticket finished, but others of its session had meanwhile used
        /// up the session's connections or its rate.
        SessionLimit = "session_limit",
        /// A request's head was not complete in time.
        HeadDeadline = "head_deadline",
        /// HTTP/2: more resets or control frames than allowed.
        Flood = "flood",
        /// The customer sent or read nothing of a body in time, or too little.
        BodyDeadline = "body_deadline",
        /// A request that breaks HTTP.
        BadRequest = "bad_request",
        /// The upstream cut the response, or stopped sending it.
        Truncated = "truncated",
        /// The connection broke while a request or response was on its way.
        Broken = "broken",
        /// A fault of the gate: its task panicked.
        InternalError = "internal_error",
    }

    /// What became of customers whom the waiting room could take.
    pub enum RoomVisit {
        /// They got a page with a place in the line.
        Page = "page",
        /// They were admitted from the line.
        Admitted = "admitted",
        /// The room's share of the processors was used up, or the line was full: they were
        /// reset, or answered without a place.
        Beyond = "beyond",
    }

    /// What answers a request.
    pub enum Tier {
        /// A file of a static tier.
        Static = "static",
        /// An upstream.
        Upstream = "upstream",
    }

    /// How the upstream failed.
    pub enum UpstreamFault {
        /// It did not accept a connection.
        Connect = "connect",
        /// It did not respond in time.
        Timeout = "timeout",
        /// It closed, or broke HTTP, before the head of its response.
        Broken = "broken",
        /// It closed in the middle of its response.
        Truncated = "truncated",
        /// It stopped reading a request, or sending a response.
        Stalled = "stalled",
        /// All connections to it were in use.
        Queue = "queue",
    }

    /// The part of a message of HTTP that breaks its rules.
    pub enum Malformed {
        /// The start line or a header field.
        Head = "head",
        /// A head that is too long or has too many fields.
        TooLarge = "too_large",
        /// The target of a request, or a method that is not served.
        Target = "target",
        /// The Host of a request.
        Host = "host",
        /// The length of a body: not a number, or given twice.
        Length = "length",
        /// The transfer coding of a body.
        Coding = "coding",
        /// A chunk of a body.
        Chunk = "chunk",
        /// A trailer of a body.
        Trailer = "trailer",
        /// A frame of HTTP/2.
        Frame = "frame",
        /// A request for a WebSocket, or what follows it before the answer.
        Upgrade = "upgrade",
    }

    /// What a customer sent too much of by HTTP/2, so that the connection was closed.
    pub enum Flood {
        /// Resets of streams.
        Resets = "resets",
        /// Control frames, those that continue a head, or empty data.
        ControlFrames = "control_frames",
        /// What the library bounds: streams that break HTTP, heads without end, small data.
        Library = "library",
    }

    /// Why the tunnel of a WebSocket ended.
    pub enum TunnelEnd {
        /// The customer closed, or both sides closed and the customer did first.
        Customer = "customer",
        /// The upstream closed.
        Upstream = "upstream",
        /// No byte in either direction within `limits.tunnel_idle`.
        Idle = "idle",
        /// One side took nothing of what waited for it in time, or did not close after the other.
        Stalled = "stalled",
        /// The connection of one side broke.
        Broken = "broken",
        /// The gate is draining.
        Drain = "drain",
        /// Its connection gave way to one of an address prefix with fewer.
        Displaced = "displaced",
    }

    /// Why a stream of HTTP/2 ended before its response was complete.
    pub enum StreamEnd {
        /// The customer reset it, or left.
        Customer = "customer",
        /// The customer sent or read nothing of a body in time, or too little.
        Deadline = "deadline",
        /// The upstream cut the response, or stopped sending it.
        Truncated = "truncated",
    }

    /// What became of the session cookie of a request that is decided on.
    pub enum CookieResult {
        /// Opened: the request is of that session.
        Good = "good",
        /// Sealed by none of the gate's keys, or not a value of the gate's.
        Foreign = "foreign",
        /// The gate's, older than the lifetime.
        Expired = "expired",
        /// The gate's and good, but its session sends above its rate.
        OverRate = "over_rate",
        /// The gate's and good, but its session has its most requests under way.
        OverRequests = "over_requests",
    }

    /// What became of the ticket in a hello.
    pub enum TicketResult {
        /// Opened, and rustls will resume from it.
        Good = "good",
        /// Sealed by none of the gate's keys.
        Foreign = "foreign",
        /// The gate's, older than the lifetime.
        Expired = "expired",
        /// The gate's, made for another server name, version, suite or mode.
        Unfit = "unfit",
        /// More identities than the limit.
        TooMany = "too_many",
        /// The gate's and good, but its session connects above its rate.
        OverRate = "over_rate",
        /// The gate's and good, but its session has its most open connections.
        OverConnections = "over_connections",
        /// The gate's and good, but too many handshakes with tickets are unfinished: of all
        /// clients, or of those of its address prefix.
        Unproven = "unproven",
        /// The gate's and good, in an exact copy of an earlier hello, which is closed.
        Copied = "copied",
    }
}

impl Bucket {
    /// The bucket of a handshake of a class.
    pub const fn handshake(class: Class) -> Self {
        match class {
            Class::New => Self::HandshakeNew,
            Class::Returning => Self::HandshakeReturning,
        }
    }

    /// The bucket of requests of a class.
    pub const fn request(class: Class) -> Self {
        match class {
            Class::New => Self::RequestNew,
            Class::Returning => Self::RequestReturning,
        }
    }
}

impl Malformed {
    /// The part that a fault is in.
    pub const fn of(fault: Fault) -> Self {
        match (fault.part, fault.rule) {
            (Part::Chunk, _) => Self::Chunk,
            (Part::Trailer, _) => Self::Trailer,
            (Part::Head, Rule::Bytes | Rule::Fields | Rule::TargetLength) => Self::TooLarge,
            (Part::Head, Rule::Fragment | Rule::Target) => Self::Target,
            (Part::Head, Rule::Length | Rule::TwoLengths) => Self::Length,
            (Part::Head, Rule::Coding) => Self::Coding,
            (Part::Head, Rule::EarlyBytes) => Self::Upgrade,
            (Part::Head, _) => Self::Head,
        }
    }
}

/// The protocols that are recognised on the TLS port, in the order of their places.
pub const OTHER_PROTOCOLS: [OtherProtocol; 5] = [
    OtherProtocol::PlainHttp,
    OtherProtocol::Ssh,
    OtherProtocol::SslV2,
    OtherProtocol::ProxyProtocol,
    OtherProtocol::Unknown,
];

impl Key for OtherProtocol {
    fn place(self) -> usize {
        let unknown = OTHER_PROTOCOLS.len() - 1;
        OTHER_PROTOCOLS.iter().position(|known| *known == self).unwrap_or(unknown)
    }
}

impl Label for OtherProtocol {
    fn names() -> impl Iterator<Item = &'static str> {
        OTHER_PROTOCOLS.iter().map(|protocol| protocol.name())
    }
}

impl Key for FullHandshake {
    fn place(self) -> usize {
        self.index()
    }
}

impl Label for FullHandshake {
    fn names() -> impl Iterator<Item = &'static str> {
        Self::all().map(Self::name)
    }
}

/// A status code from 100 to 599.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusCode(u16);

impl StatusCode {
    /// How many there are.
    pub const COUNT: usize = 500;

    /// A code; `None` outside the range.
    pub fn new(code: u16) -> Option<Self> {
        (100..600).contains(&code).then_some(Self(code))
    }

    /// The code at a place.
    pub fn at(place: usize) -> u16 {
        place as u16 + 100
    }
}

impl Key for StatusCode {
    #[inline]
    fn place(self) -> usize {
        usize::from(self.0) - 100
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_a_place_of_its_own() {
        let mut by = By::<End, u32, { End::COUNT }>::default();
        for (place, end) in End::ALL.iter().enumerate() {
            by[*end] = place as u32 + 1;
        }
        assert!(by.values().iter().copied().eq(1..=End::COUNT as u32));
        let protocols = OTHER_PROTOCOLS.map(Key::place);
        assert_eq!(protocols, [0, 1, 2, 3, 4]);
        let edges = [100, 599].map(|code| StatusCode::new(code).unwrap().place());
        assert_eq!(edges, [0, StatusCode::COUNT - 1]);
        assert!(StatusCode::new(99).is_none() && StatusCode::new(600).is_none());
        assert_eq!(StatusCode::at(100), 200);
    }
}
