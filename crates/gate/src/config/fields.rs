//! Every key of the gate's configuration: its type, default, range, meaning and
//! the reason for the default. The typed structs, their reader and the reference
//! page are made from these lines.

use super::choices::{
    Cores, Forwarded, Host, LogFormat, MinimumVersion, Policy, Processes, Refusal, SelfSigned,
};
use super::origin::{Origin, Url};
use super::rules::{CoreList, Filter, GroupPath, Names, ProcessList};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use tidegate_config::Preset::{Is, Required, Unset};
use tidegate_config::{
    Address, Boolean, Bytes, Choice, FilePath, Number, OrOff, Time, Whole, keys,
};
use tidegate_control::PolicyKind;

keys! {
    /// Where customers connect.
    pub struct Listen = "listen" {
        /// Address and port that customers connect to.
        address: SocketAddr = Is("0.0.0.0:8443"), Address,
            because "8443 needs no privilege; put 443 here in production";
        /// Address and port for customers in clear (plain HTTP), or `off`: for a private network,
        /// or behind a TLS terminator that you trust. Nothing there tells who is inside, so each
        /// connection is a new session for as long as it is open, and admission decides about it
        /// when its first bytes are there. Behind a terminator set `upstream.forwarded = "append"`.
        clear: Option<SocketAddr> = Is("off"), OrOff(Address),
            because "in clear whoever is between reads everything, and nobody is known again";
        /// Processor cores the gate works on, one thread each: `all` that its affinity
        /// allows, or a list such as `0,2-3` or `[0, 2]`.
        cores: Cores = Is("all"), CoreList,
            because "a gate that has the machine to itself should use it";
        /// Connections per core that the kernel may hold before the gate accepts them.
        backlog: u32 = Is("1024"), Whole(1, 65_535),
            because "enough for the burst of one tick at 10,000 connections a second";
        /// How long connections may finish after the gate was told to stop; what is still
        /// open then is closed.
        drain_deadline: Duration = Is("30s"), Time("0s", "1h"),
            because "longer than the longest honest response, and what service managers wait for";
    }

    /// The certificate, and the tickets that carry a session from one connection to the next.
    pub struct Tls = "tls" {
        /// PEM file with the certificate chain, the server's own certificate first.
        certificate: Option<PathBuf> = Unset, FilePath,
            because "without one the gate makes a self-signed certificate and says so";
        /// PEM file with the private key of the certificate: PKCS#8, PKCS#1 or SEC1.
        key: Option<PathBuf> = Unset, FilePath,
            because "goes with `tls.certificate`";
        /// Key type of the self-signed certificate, made when no certificate is given.
        self_signed: SelfSigned = Is("ecdsa-p256"), Choice(SelfSigned::ALL),
            because "the cheapest full handshake that every client of today speaks";
        /// Host names and IP addresses that the self-signed certificate is for.
        self_signed_names: Vec<String> = Is("localhost, 127.0.0.1, ::1"), Names,
            because "a self-signed certificate is for trying the gate on one machine";
        /// Oldest TLS version that is spoken.
        minimum_version: MinimumVersion = Is("1.2"), Choice(MinimumVersion::ALL),
            because "older clients still buy; TLS 1.0 and 1.1 are forbidden by RFC 8996";
        /// How long a ticket lets its bearer in as one who is already inside.
        ticket_lifetime: Duration = Is("1h"), Time("1m", "7d"),
            because "a visit with its pauses; yesterday's customer is a new one. RFC 8446 allows 7 days";
        /// How often the key that seals new tickets is replaced. Older keys open tickets until
        /// the lifetime of those has passed.
        ticket_rotation: Duration = Is("30m"), Time("10s", "7d"),
            because "a stolen key opens at most this much of traffic, at the price of three keys in memory";
    }

    /// The service behind the gate.
    pub struct Upstream = "upstream" {
        /// Scheme, host and port of the service: `http://host:port` or `https://host:port`.
        url: Origin = Required("http://127.0.0.1:8080"), Url,
            because "the gate cannot guess what it stands before";
        /// Processes whose CPU time is the upstream's: `auto` finds who listens on the port of
        /// `upstream.url` if that is on this host (an address, `localhost` or its name), and
        /// their descendants; `none` looks at nothing; a list of process ids names them.
        processes: Processes = Is("auto"), ProcessList,
            because "an upstream on the same host needs no configuration to be measured";
        /// Control group whose CPU time and quota are the upstream's, as a path below the
        /// cgroup mount (`/shop.slice`). Comes before `upstream.processes`.
        cgroup: Option<PathBuf> = Unset, GroupPath,
            because "for services whose processes come and go, or that listen elsewhere";
        /// How long opening a connection to the upstream may take, TLS included.
        connect_timeout: Duration = Is("2s"), Time("10ms", "60s"),
            because "one lost SYN is sent again after 1 s; longer means that nobody answers";
        /// How long the upstream may take from the last byte of the request to the head of
        /// its response; then the customer gets 504.
        response_timeout: Duration = Is("30s"), Time("10ms", "1h"),
            because "the patience of a customer is 10 s; reports and exports take longer";
        /// How long an unused connection to the upstream is kept for the next request; `0s`
        /// uses each for one request.
        idle_timeout: Duration = Is("4s"), Time("0s", "1h"),
            because "shorter than the 5 s after which common servers close theirs";
        /// Most unused connections to the upstream that each core keeps.
        pool_size: usize = Is("256"), Whole(0, 65_535),
            because "as many as one core has requests in flight when it is saturated";
        /// PEM file with the certificates that the upstream's certificate must lead to; the
        /// system's own when unset. For `https` only.
        ca: Option<PathBuf> = Unset, FilePath,
            because "the system's roots know public authorities";
        /// Whether an `https` upstream may show any certificate.
        insecure: bool = Is("false"), Boolean,
            because "whoever sits between could read and change everything";
        /// What the upstream sees as `Host`: the customer's own (`keep`) or that of
        /// `upstream.url` (`upstream`).
        host: Host = Is("keep"), Choice(Host::ALL),
            because "applications build links and cookies from the name that the customer typed";
        /// `X-Forwarded-For`, `-Proto` and `-Host`: `replace` what customers sent, `append` to
        /// it (the gate stands behind a proxy that you trust), or `off`.
        forwarded: Forwarded = Is("replace"), Choice(Forwarded::ALL),
            because "a customer must not choose the address that the upstream logs and trusts";
    }

    /// Who is let in when more arrive than can be served.
    pub struct Admission = "admission" {
        /// `off` lets all in, `static` a fixed rate, `eac` follows the rule of 2007, `tide`
        /// measures what sessions cost and lets in what the capacity carries to the end.
        policy: Policy = Is("tide"), Choice(Policy::ALL),
            because "the only one that needs no tuning and leaves no queue";
        /// New sessions per second let in by the policy `static`.
        rate: Option<f64> = Unset, Number(0.01, 1000000.0),
            because "only a load test of your service can tell it; needed by `static` alone";
        /// Interval over which the policy `eac` shares out its budget.
        interval: Duration = Is("2s"), Time("10ms", "60s"),
            because "the value of the study that the policy comes from";
        /// How long a new customer may wait, before the handshake, for the next budget; `0s`
        /// refuses at once. While customers have been turned away for long only an eighth of
        /// it, and the newest goes in first: a line that stands helps nobody.
        hold_time: Duration = Is("3s"), Time("0s", "30s"),
            because "a customer waits 3 s for a first page, and clients retry a connection later than that";
        /// Most connections held at once; each core has an equal share, rounded up.
        hold_connections: usize = Is("4096"), Whole(0, 1_000_000),
            because "3 s of 1,300 newcomers a second, at one file descriptor each";
        /// Most bytes of received hellos, or of requests in clear, held at once; each core has
        /// an equal share, rounded up.
        hold_bytes: usize = Is("16MiB"), Bytes("0B", "1GiB"),
            because "4096 hellos with a post-quantum key share take 7 MB; the rest is margin";
        /// How a newcomer is refused: TCP `reset`, or a TLS `alert`, which in clear is a short
        /// answer with status 503 and `Retry-After`.
        refuse: Refusal = Is("reset"), Choice(Refusal::ALL),
            because "the cheapest, and the only one that leaves no socket behind";
        /// Connections per second that one session may open, on average.
        session_rate: f64 = Is("20"), Number(0.1, 100000.0),
            because "a browser opens six and keeps them; a ticket shared with a thousand bots would open thousands";
        /// Connections that one session may open at once before its rate counts.
        session_burst: u32 = Is("100"), Whole(1, 1_000_000),
            because "a company's reload of a page over many connections must not trip it";
        /// How long a session still counts as inside after the gate closed its last connection
        /// for being idle. One whose customer closed it has left.
        session_linger: Duration = Is("60s"), Time("100ms", "1h"),
            because "with a mean think time of 7 s, one in 5,000 of those who come back takes longer";
    }

    /// Deadlines and caps that keep one connection from taking more than its share.
    pub struct Limits = "limits" {
        /// Most connections open to customers at once, on all cores together. The last eighth
        /// is kept for customers already inside; connections that have not sent a whole hello,
        /// or in clear nothing, get half of the places at most and none of the last sixteenth.
        /// Each core has an equal share, rounded up, and all these parts are parts of it: the
        /// kernel spreads connections over the cores by chance, so one may be full a little
        /// before the others.
        max_connections: usize = Is("20000"), Whole(1, 10_000_000),
            because "about 500 MB at 25 KB each when they idle; each takes up to two file descriptors";
        /// From accept to the last byte of the ClientHello; in clear, to the first of a request.
        hello_deadline: Duration = Is("3s"), Time("100ms", "60s"),
            because "honest hellos take a round trip; one lost segment is sent again within 1 s";
        /// Most bytes of a ClientHello.
        hello_max_bytes: usize = Is("16KiB"), Bytes("1KiB", "64KiB"),
            because "hellos of today are 0.3 to 2 KB; several post-quantum shares make 5";
        /// Most ticket identities of a TLS 1.3 hello; with more of them its sender is new.
        ticket_identities: usize = Is("4"), Whole(1, 32),
            because "clients offer one or two; each is opened, which costs";
        /// From the decision to let a connection in to the end of its handshake.
        handshake_deadline: Duration = Is("5s"), Time("100ms", "60s"),
            because "two round trips and one retransmission on a bad mobile network";
        /// From the first byte of a request to the end of its head.
        head_deadline: Duration = Is("5s"), Time("100ms", "60s"),
            because "a head is one packet or two; slower is an attack or a dead network";
        /// Most bytes of a request's or response's head.
        head_max_bytes: usize = Is("32KiB"), Bytes("8KiB", "1MiB"),
            because "cookies of 8 KB are common, more than 32 KB breaks most upstreams";
        /// Most header fields of a request or response.
        head_max_fields: usize = Is("100"), Whole(10, 1_000),
            because "browsers send about 20";
        /// Longest time without a byte of progress in a body, in either direction.
        body_progress_deadline: Duration = Is("10s"), Time("100ms", "1h"),
            because "a customer who reads nothing for 10 s is gone, yet holds an upstream connection";
        /// Least bytes per second of a request's body, on average since its head; counted once
        /// `body_progress_deadline` has passed. `0` asks for none.
        upload_rate: u32 = Is("64"), Whole(0, 1_000_000),
            because "the worst mobile network carries a thousand; a body that drips a byte per deadline would stay for ever";
        /// How long a connection without a request is kept open; `0s` answers one request only.
        idle_deadline: Duration = Is("10s"), Time("0s", "1h"),
            because "longer than the mean think time; coming back costs a resumed handshake only";
    }

    /// Where the operator looks: metrics, health and status, in clear.
    pub struct Admin = "admin" {
        /// Address and port of `/metrics`, `/healthz` and `/status`, or `off`.
        address: Option<SocketAddr> = Is("127.0.0.1:9443"), OrOff(Address),
            because "loopback: what the gate knows is nobody else's business";
    }

    /// What the gate writes to standard error.
    pub struct Log = "log" {
        /// Least level written, or a filter such as `info,tidegate_gate=debug`.
        level: String = Is("info"), Filter,
            because "starts, stops and what an operator must act upon; nothing per connection";
        /// `text` for people, `json` for collectors.
        format: LogFormat = Is("text"), Choice(LogFormat::ALL),
            because "most logs are first read by a person";
    }
}

impl Admission {
    /// The policy with its parameters, as the controller takes it.
    pub fn policy_kind(&self) -> PolicyKind {
        match self.policy {
            Policy::Off => PolicyKind::Off,
            // A checked configuration of this policy has a rate.
            Policy::Static => PolicyKind::Static { per_second: self.rate.unwrap_or_default() },
            Policy::Eac => PolicyKind::Eac { interval: self.interval },
            Policy::Tide => PolicyKind::Tide,
        }
    }
}
