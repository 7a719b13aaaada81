//! Every key of the gate's configuration: its type, default, range, meaning and
//! the reason for the default. The typed structs, their reader and the reference
//! page are made from these lines.

use super::certificates::{CertificateFiles, CertificateTables};
use super::choices::{
    AccessFormat, ClientAuth, Cores, Forwarded, Host, LogFormat, MinimumVersion, Policy, Processes,
    Refusal, SessionCookie, WebSocket,
};
use super::fleet::{Named, NatsUrl};
use super::load_from::{LoadFrom, LoadSources};
use super::networks::{Network, Networks};
use super::origin::{Members, Origin, Url, Urls};
use super::rules::{
    CookieName, CoreList, FieldName, Filter, GroupPath, LogFile, MediaTypes, Moment, Names,
    PathBeginning, Preference, ProcessList,
};
use super::upstream_rules::{CheckPath, Statuses};
use crate::path::PathPrefix;
use http::HeaderName;
use http::uri::PathAndQuery;
use jiff::Timestamp;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;
use tidegate_config::Preset::{Is, Required, Unset};
use tidegate_config::{
    Address, Boolean, Bytes, Choice, FilePath, Number, OneOrMore, OrOff, Time, Whole, keys,
};
use tidegate_control::{CertificateKey, EacProfile, KeyExchange, PolicyKind};
use url::Url as WebUrl;

/// Keys of certificates.
const KEYS: Preference<CertificateKey> =
    Preference { all: &CertificateKey::ALL, name: CertificateKey::name };
/// Groups of key exchanges.
const GROUPS: Preference<KeyExchange> =
    Preference { all: &KeyExchange::ALL, name: KeyExchange::name };

keys! {
    /// The listeners for customers.
    pub struct Listen = "listen" {
        /// Address and port that customers connect to, or a list of them:
        /// `["203.0.113.7:443", "[2001:db8::7]:443"]`. All have the same certificates, admission
        /// and limits. `[::]:443` takes IPv4 too, unless the system (`net.ipv6.bindv6only`) has
        /// it otherwise or an IPv4 address with that port is in the list.
        address: Vec<SocketAddr> = Is("0.0.0.0:8443"), OneOrMore(Address),
            because "8443 needs no privilege; use 443 in production";
        /// Address and port for plain HTTP, or `off`: for a private network, or behind a TLS
        /// terminator that you trust. Plain HTTP carries no tickets: a cookie tells to which
        /// session a request belongs (`admission.session_cookie`). Behind a terminator set
        /// `upstream.forwarded = "append"`; see [operations](operations.md#behind-another-proxy).
        clear: Option<SocketAddr> = Is("off"), OrOff(Address),
            because "plain HTTP can be read on the way";
        /// Address and port, such as `0.0.0.0:80`, where requests by http are led to the same
        /// address by https with 308, or `off`. The port of https is that of `listen.address`.
        redirect: Option<SocketAddr> = Is("off"), OrOff(Address),
            because "a gate beside another server may not have port 80";
        /// Folder in which a client of ACME leaves the answers to challenges of http-01, below
        /// `.well-known/acme-challenge/` (certbot `--webroot -w`); they are served on
        /// `listen.redirect`.
        acme_webroot: Option<PathBuf> = Unset, FilePath,
            because "challenges are led to https as all else is, which authorities follow";
        /// A service that answers these challenges instead (certbot `--standalone
        /// --http-01-port 8080`): `http://host:port`.
        acme_upstream: Option<Origin> = Unset, Url,
            because "needed where the client of ACME answers itself";
        /// Networks of load balancers that pass TCP on and send the PROXY protocol, version 1 or 2
        /// (HAProxy `send-proxy-v2`, nginx `proxy_protocol on`, network load balancers of clouds),
        /// on both listeners. Each of their connections must begin with its header, and the
        /// customer is at the address that it names: for `X-Forwarded-For`, the access log and all
        /// that is shared by prefix. From other addresses such a header is a fault.
        proxy_protocol: Option<Vec<Network>> = Unset, Networks,
            because "whoever is listed can claim every address";
        /// Whether customers may use HTTP/2 (over TLS, by ALPN). Plain HTTP is HTTP/1.1.
        http2: bool = Is("true"), Boolean,
            because "browsers load a page over one connection and one handshake instead of six";
        /// Processor cores that the gate runs on, one thread each: `all` that its CPU affinity
        /// allows, or a list such as `0,2-3` or `[0, 2]`.
        cores: Cores = Is("all"), CoreList,
            because "a gate with a machine of its own should use all of it";
        /// Length of the kernel's queue of connections that are not yet accepted, per core.
        backlog: u32 = Is("1024"), Whole(1, 65_535),
            because "enough for the connections of 100 ms at 10,000 per second";
        /// How long open connections may finish after a shutdown has begun; those still open
        /// after it are closed.
        drain_deadline: Duration = Is("30s"), Time("0s", "1h"),
            because "longer than most responses take, and within the stop timeout of service managers";
        /// Unix socket at which a new process takes this gate's place (`tidegate gate --replace`):
        /// it has the listening sockets, ticket keys, sessions and learned costs, and no connection
        /// is refused. Only the gate's user and root may connect. SIGUSR2 does the same with a
        /// process that the gate starts, and needs no socket.
        handover: Option<PathBuf> = Unset, FilePath,
            because "SIGUSR2 suffices, unless the new process must be started from outside, as in another container";
    }

    /// The certificate, and the tickets that carry a session from one connection to the next.
    pub struct Tls = "tls" {
        /// PEM file with the certificate chain, the server's own certificate first.
        certificate: Option<PathBuf> = Unset, FilePath,
            because "without one the gate makes a self-signed certificate and logs it";
        /// PEM file with the private key of the certificate: PKCS#8, PKCS#1 or SEC1.
        key: Option<PathBuf> = Unset, FilePath,
            because "required if `tls.certificate` is set";
        /// Further certificates, each in a table `[[tls.certificates]]`. Customers get the one
        /// with the name that they ask for, exactly or by a wildcard, and else
        /// `tls.certificate` or, without that, the first of the tables. Of several with the
        /// same name they get the first of the file whose key their ClientHello accepts: name
        /// the preferred kind of key first, such as ML-DSA before ECDSA before RSA.
        certificates: Option<Vec<CertificateFiles>> = Unset, CertificateTables,
            because "one certificate suffices for one site";
        /// How often the gate looks whether files of certificates and authorities have changed,
        /// and reads them again if so; `0s`: only at SIGHUP.
        reload_interval: Duration = Is("10s"), Time("0s", "1d"),
            because "a renewed certificate is in use soon; a look costs a few microseconds";
        /// Whether clients show a certificate: `request` asks for one and verifies it if it is
        /// shown, `require` refuses connections without one.
        client_auth: ClientAuth = Is("off"), Choice(ClientAuth::ALL),
            because "customers of a public site have no certificates";
        /// PEM file with the certificates of the authorities that sign clients' certificates.
        client_ca: Option<PathBuf> = Unset, FilePath,
            because "required if `tls.client_auth` is not `off`";
        /// PEM file with certificate revocation lists, or a list of such files. A client is refused
        /// whose certificate, or one between it and the authority, is revoked, or is of an issuer
        /// that has no list here, or whose list has expired, as by nginx and HAProxy. A change of
        /// what is revoked voids the tickets of clients.
        client_crl: Option<Vec<PathBuf>> = Unset, OneOrMore(FilePath),
            because "an authority that revokes nothing has no list";
        /// Header field in which the upstream receives the subject of the client's verified
        /// certificate (RFC 4514). What customers send in it is removed, in every spelling.
        client_subject_header: Option<HeaderName> = Unset, FieldName,
            because "the upstream receives nothing that it was not configured for";
        /// Key types of the self-signed certificates that the gate makes if none is given, the
        /// preferred one first. Customers get the first that their ClientHello accepts. RSA
        /// takes up to some seconds at the start.
        self_signed: Vec<CertificateKey> = Is("ecdsa-p256"), KEYS,
            because "the full handshake of lowest cost that all current clients support";
        /// Groups of key exchanges, the preferred one first. The gate takes the first for which
        /// the customer sent a key share, else the first that the customer supports, which
        /// costs a round trip more. TLS 1.2 has `x25519`, `secp256r1` and `secp384r1` only.
        groups: Vec<KeyExchange> = Is("X25519MLKEM768, x25519, secp256r1, secp384r1"), GROUPS,
            because "what was recorded today with the hybrid group cannot be read by a quantum computer later, and browsers send a share for it";
        /// Host names and IP addresses of the self-signed certificate.
        self_signed_names: Vec<String> = Is("localhost, 127.0.0.1, ::1"), Names,
            because "a self-signed certificate is for trials on one machine";
        /// Lowest TLS version that is accepted.
        minimum_version: MinimumVersion = Is("1.2"), Choice(MinimumVersion::ALL),
            because "older clients still support only 1.2; RFC 8996 forbids TLS 1.0 and 1.1";
        /// Lifetime of a ticket. A connection with a valid ticket belongs to an admitted session.
        ticket_lifetime: Duration = Is("1h"), Time("1m", "7d"),
            because "covers a visit with its pauses; RFC 8446 allows at most 7 days";
        /// How often the key that seals new tickets is replaced. Older keys open tickets until
        /// these have expired.
        ticket_rotation: Duration = Is("30m"), Time("10s", "7d"),
            because "limits what a stolen key can decrypt; at most three keys are in memory";
        /// File of the ticket keys, made if it is not there; only its owner may read it (mode
        /// 0600). The gate replaces it with each new key. Gates with the same file recognise
        /// each other's customers; they need the same lifetime and rotation.
        ticket_keys: Option<PathBuf> = Unset, FilePath,
            because "without it each restart makes all customers new, but no key is on a disk";
    }

    /// The service behind the gate.
    pub struct Upstream = "upstream" {
        /// Scheme, host and port of the service, `http://host:port` or `https://host:port`, or
        /// its unix socket, `unix:/run/shop.sock`. Several servers of the same service stand in
        /// an array: see [pools](pools.md).
        url: Members = Required("http://127.0.0.1:8080"), Urls,
            because "there is no default for the service that the gate protects";
        /// Most connections in use to each server; `0` sets no limit. Each core has an equal share.
        /// A request for which there is none waits in a queue.
        max_connections: usize = Is("0"), Whole(0, 1_000_000),
            because "the admission of sessions bounds the load; set it where a server has a fixed number of workers";
        /// Most requests in that queue. One more is answered with 503 and Retry-After.
        queue_length: usize = Is("1000"), Whole(0, 1_000_000),
            because "about a second of requests on a busy core";
        /// How long a request waits in that queue; after that it is answered with 503 and
        /// Retry-After.
        queue_time: Duration = Is("2s"), Time("0s", "5m"),
            because "customers who wait longer leave, and their requests would still be carried out";
        /// Processes whose CPU time counts as the upstream's: `auto` finds the process that
        /// listens on the port of `upstream.url`, if that is on this host (an address,
        /// `localhost` or the host's name), and its descendants; `none` measures nothing; a list
        /// names process ids.
        processes: Processes = Is("auto"), ProcessList,
            because "an upstream on the same host is measured without further configuration";
        /// Control group whose CPU time and quota count as the upstream's, as a path below the
        /// cgroup mount (`/shop.slice`). Takes precedence over `upstream.processes`.
        cgroup: Option<PathBuf> = Unset, GroupPath,
            because "for services whose processes change, or that listen elsewhere";
        /// Where CPU capacity and use of the service come from: `host` measures processes or
        /// control group on this host; `agent://host:port` asks `tidegate agent` beside the
        /// service (UDP, port 9444 if none is given); `http://host:9100/metrics` reads
        /// node_exporter once a second; `orca` reads `endpoint-load-metrics` in responses, which
        /// customers do not receive. Several agents and pages in a list are added up. See
        /// [agent.md](agent.md).
        load_from: LoadFrom = Is("host"), LoadSources,
            because "needs nothing beside the gate; where the service cannot be seen, response times decide";
        /// File with the secret that agents have too, at least 32 bytes; others must not read it.
        agent_secret: Option<PathBuf> = Unset, FilePath,
            because "required if `load_from` names an agent";
        /// Processors of the service, where `load_from` is `orca`: its reports tell a share of
        /// them only.
        cpus: Option<f64> = Unset, Number(0.01, 100000.0),
            because "required for `orca`; all other sources tell it";
        /// How long a new connection to the upstream may take, including TLS.
        connect_timeout: Duration = Is("2s"), Time("10ms", "60s"),
            because "covers one retransmitted SYN, which is sent after 1 s";
        /// How often the gate sees whether each server can be reached: by its responses, and if
        /// there were none by a connection that it opens and closes at once. While none can,
        /// `/healthz` answers 503. `0s`: never.
        check_interval: Duration = Is("2s"), Time("0s", "1h"),
            because "a load balancer before the gate learns of a dead upstream within seconds";
        /// Path that is asked for with GET at each check, of each server, in place of the
        /// connection alone. A server that does not answer with one of `check_status` within
        /// `connect_timeout` failed the check.
        check_path: Option<PathAndQuery> = Unset, CheckPath,
            because "the gate sends the service no request of its own that nobody asked for";
        /// Status codes of an answer to a check that are good: `200` or `200-399`.
        check_status: (u16, u16) = Is("200-399"), Statuses,
            because "a redirect to a login or to https shows that the service works";
        /// After how many failed checks in a row a server of several receives no more requests.
        check_fall: u32 = Is("3"), Whole(1, 100),
            because "one lost packet or one long pause for garbage is no outage";
        /// After how many good checks in a row it receives requests again.
        check_rise: u32 = Is("2"), Whole(1, 100),
            because "a server that starts answers its first check before it can carry load";
        /// After how many failed requests in a row, without a good one, a server of several is
        /// taken out for `eject_time`: it refused the connection, did not answer in time or broke
        /// off. The last one is never taken out. `0`: never.
        eject_after: u32 = Is("3"), Whole(0, 1_000),
            because "requests find a dead server before a check does";
        /// How long it is taken out the first time; each time after that twice as long, up to 32
        /// times. It returns when a check is good then.
        eject_time: Duration = Is("10s"), Time("100ms", "1h"),
            because "about the time of a restart";
        /// Whether an answer with a status of 500 or above is a failed request for `eject_after`.
        eject_on_5xx: bool = Is("false"), Boolean,
            because "an error of one page is answered by every server with the same error";
        /// Over how long the share of requests of a server that returns grows to that of the
        /// others; `0s`: at once.
        slow_start: Duration = Is("10s"), Time("0s", "1h"),
            because "a server that has just started has empty caches and no compiled code";
        /// How often the host name of a URL is resolved again; each of its addresses is a server
        /// of its own then. `0s`: it is resolved for each new connection, and its addresses are
        /// tried in turn.
        resolve_interval: Duration = Is("0s"), Time("0s", "1h"),
            because "most names have one address, and localhost has two of one server";
        /// How long the upstream may take from the last byte of the request to the head of its
        /// response; after that the customer receives 504.
        response_timeout: Duration = Is("30s"), Time("10ms", "1h"),
            because "customers wait about 10 s for a page; reports and exports take longer";
        /// Longest silence of the upstream within a response; then the response is cut. Responses of
        /// the `stream_types` have `stream_deadline` instead. Routes can have a time of their own.
        response_pause: Duration = Is("30s"), Time("10ms", "7d"),
            because "as long as it may take to begin; nginx waits for 60 s, HAProxy's examples for 30";
        /// Longest time from the head of a request to the last byte of its response, WebSockets
        /// excepted; then the customer receives 504, or the response is cut.
        exchange_timeout: Option<Duration> = Unset, Time("100ms", "7d"),
            because "downloads and streams of events last as long as they last, and each step has a limit";
        /// How long an idle connection to the upstream is kept for the next request; `0s` opens
        /// a connection for each request.
        idle_timeout: Duration = Is("4s"), Time("0s", "1h"),
            because "shorter than the 5 s after which common servers close theirs";
        /// Most idle connections to the upstream that each core keeps.
        pool_size: usize = Is("256"), Whole(0, 65_535),
            because "about the number of requests in flight on a saturated core";
        /// PEM file with the root certificates for an `https` upstream; the system's if not set.
        ca: Option<PathBuf> = Unset, FilePath,
            because "the system trusts the public authorities";
        /// Whether the certificate of an `https` upstream is accepted without verification.
        insecure: bool = Is("false"), Boolean,
            because "without verification the connection can be intercepted";
        /// The `Host` that the upstream receives: the customer's own (`keep`) or that of
        /// `upstream.url` (`upstream`), of several that of the first.
        host: Host = Is("keep"), Choice(Host::ALL),
            because "applications build links and cookies from the name that the customer used";
        /// The header fields that tell the upstream who the customer is. `replace` removes those of
        /// the request and sets `X-Forwarded-For`, `-Proto` and `-Host`; `append` adds to them, if
        /// the gate is behind a proxy that you trust; `off` removes them and sets none; `pass`
        /// leaves them as the customer wrote them. Removed are `Forwarded`, all `X-Forwarded-*`,
        /// and others such as `X-Real-IP`, `X-Client-IP`, `True-Client-IP` and `CF-Connecting-IP`,
        /// also with `_` or another character for `-`, which `append` removes too.
        forwarded: Forwarded = Is("replace"), Choice(Forwarded::ALL),
            because "a customer must not choose the address that the upstream logs and trusts";
        /// Whether requests to the upstream have a `Via` field. Some servers do without
        /// compression behind a proxy that names itself: nginx does unless `gzip_proxied` allows
        /// it. Without the field they compress as if customers connected to them.
        via: bool = Is("true"), Boolean,
            because "RFC 9110 demands it of a proxy: by it loops and the versions on the way are seen";
        /// Requests for a WebSocket: `tunnel` passes them on and, where the upstream agrees, moves
        /// bytes between it and the customer; `refuse` answers 403. See
        /// [websocket.md](websocket.md).
        websocket: WebSocket = Is("tunnel"), Choice(WebSocket::ALL),
            because "a site that uses them does not work without, and a site that does not answers no 101";
    }

    /// Files that the gate serves itself: see `[[routes]]`.
    pub struct StaticTier = "static" {
        /// Most memory for files that are kept for the next request, those that are not there
        /// included; each core has an equal share. `0B` keeps none.
        cache_bytes: usize = Is("64MiB"), Bytes("0B", "64GiB"),
            because "some thousand pages with their compressed variants";
        /// How long a file that is kept is served before the gate looks whether it has changed.
        check_interval: Duration = Is("1s"), Time("0s", "1h"),
            because "a new page is seen within a second; a look costs some ten microseconds";
    }

    /// Admission of new sessions when more arrive than the service can carry.
    pub struct Admission = "admission" {
        /// `off` admits every session, `static` a fixed rate, `eac` implements the admission
        /// control of the study of 2007, `tide` measures what sessions cost and admits those
        /// that the capacity can carry to their end.
        policy: Policy = Is("tide"), Choice(Policy::ALL),
            because "needs no tuning and leaves no standing queue";
        /// New sessions per second that the policy `static` admits.
        rate: Option<f64> = Unset, Number(0.01, 1000000.0),
            because "depends on the service: measure it with a load test; only `static` needs it";
        /// Interval over which the policy `eac` distributes its budget.
        interval: Duration = Is("2s"), Time("10ms", "60s"),
            because "the value of the study of 2007";
        /// CPU time of a new connection with its requests, at gate and upstream, for the policy
        /// `eac`: profiled beforehand, as in the study of 2007.
        new_connection_cpu: Option<Duration> = Unset, Time("1us", "10s"),
            because "`eac` learns it while it runs, which follows the service as it changes";
        /// The same of a returning connection.
        returning_connection_cpu: Option<Duration> = Unset, Time("1us", "10s"),
            because "`eac` learns it while it runs";
        /// Longest time that a new session waits in the admission queue, before the handshake. Most
        /// wait for less: once a queue stands, the newest connection is admitted first; once an
        /// overload lasts, the others wait for an eighth of it; and nobody waits to an age at which
        /// customers hang up. A service of less than about 50 sessions per second and core may keep
        /// them waiting for all of it. Those whose turn in the waiting room has come wait for as long,
        /// and ask every two seconds: with less than that, a part of the capacity stays unused, since
        /// nobody waits when there is some. `0s` refuses at once; address prefixes have no turns then, and the
        /// one that connects most often gets most of what is admitted.
        hold_time: Duration = Is("3s"), Time("0s", "30s"),
            because "a customer waits about 3 s for a first page; with 1 s a shop at 98 % of its capacity refuses 0.5 % of its customers, with 3 s nobody";
        /// Most connections in the admission queue; each core has an equal share, rounded up.
        hold_connections: usize = Is("4096"), Whole(0, 1_000_000),
            because "3 s of 1,300 new sessions per second, at one file descriptor each";
        /// Most bytes of ClientHellos, or of plain HTTP requests, in the admission queue; each
        /// core has an equal share, rounded up.
        hold_bytes: usize = Is("16MiB"), Bytes("0B", "1GiB"),
            because "4096 ClientHellos with a post-quantum key share take 7 MB; the rest is margin";
        /// How a new session is refused: by a `page` with a place in the line, see
        /// [waiting room](waiting-room.md); by a TCP `reset`; or by a TLS `alert`, which on plain
        /// HTTP is a short response with status 503 and `Retry-After`.
        refuse: Refusal = Is("page"), Choice(Refusal::ALL),
            because "customers who are told when their turn comes stay; those who see an error of their browser do not. A `reset` costs least, and leaves no socket in TIME_WAIT";
        /// Share of the gate's processors that the waiting room may use for handshakes and pages.
        /// Beyond it new sessions are refused by a reset, and behind a proxy by a short answer of 503.
        room_share: f64 = Is("0.1"), Number(0.001, 0.5),
            because "full handshakes for all who come would take the processors from those who are inside";
        /// HTML file in place of the waiting room's own page, with placeholders.
        room_template: Option<PathBuf> = Unset, FilePath,
            because "the page that the gate has suits any site";
        /// Beginnings of paths that are served without waiting, such as the callbacks of a payment
        /// service.
        never_wait_paths: Option<Vec<PathPrefix>> = Unset, OneOrMore(PathBeginning),
            because "which requests must never wait depends on the site; needs admission.refuse = \"page\"";
        /// Networks whose connections are never refused, such as those of health checks.
        never_wait_from: Option<Vec<Network>> = Unset, Networks,
            because "which clients must never wait depends on the site";
        /// Whether nobody new is admitted and all who come see a page that says the site is being
        /// maintained; active sessions stay. Needs `admission.refuse = "page"`.
        maintenance: bool = Is("false"), Boolean,
            because "a site is open, as a rule";
        /// When the site opens, such as `2026-12-01T18:00:00Z`. Who comes before it waits, and
        /// their order is drawn by lot. Needs `admission.refuse = "page"`.
        opens: Option<Timestamp> = Unset, Moment,
            because "a site is open, as a rule; with a time, nobody gains by coming hours before it";
        /// Connections per second that one session may open, on average.
        session_rate: f64 = Is("20"), Number(0.1, 100000.0),
            because "a browser opens six and keeps them; a ticket shared by a thousand bots opens thousands";
        /// Connections that one session may open at once before `session_rate` applies.
        session_burst: u32 = Is("100"), Whole(1, 1_000_000),
            because "leaves room for a page that is reloaded over many connections at once";
        /// Open connections that one session may have. A connection beyond them counts as new.
        session_connections: u32 = Is("32"), Whole(1, 1_000_000),
            because "a browser opens six; a ticket shared by bots could hold every place";
        /// Connections over TLS without a ticket that are of an admitted customer besides their first
        /// one, and ask nobody: those of the same address within 10 s of the admission, while the
        /// first one is open, as long as the address has no more than two admissions in that time.
        /// They are for browsers that speak HTTP/1.1: by HTTP/2 there is one connection. Before a
        /// proxy of TCP that does not announce its customers, and in tests from one address, `0`
        /// switches it off.
        browser_connections: u32 = Is("5"), Whole(0, 100),
            because "a browser opens six connections, and has no ticket for five of them before the page's first handshake is over; without them a full gate refuses parts of a page";
        /// Where a cookie carries the session from one connection to the next: `clear`, on plain
        /// HTTP (`listen.clear`), where each request is decided on by itself, since a proxy sends
        /// those of many customers over one connection; `all`, over TLS as well, for customers
        /// whose TLS does not resume; `off`, nowhere: then each connection by plain HTTP is a new
        /// session for as long as it is open. The waiting room (`refuse = "page"`) sets one in any
        /// case for those whom it admits, and one for a place. See [operations](operations.md#behind-another-proxy).
        session_cookie: SessionCookie = Is("clear"), Choice(SessionCookie::ALL),
            because "behind another proxy nothing else tells who was admitted; over TLS tickets do, and a site that sets no cookies should not begin to";
        /// Name of this cookie, and with `-place` at its end of the one for a place in the waiting
        /// room. Requests reach the upstream without them.
        session_cookie_name: String = Is("tidegate"), CookieName,
            because "says in the customer's browser who set it";
        /// Requests per second that one session may send which is known by its cookie on plain
        /// HTTP, on average. A request beyond them counts as a new session.
        cookie_rate: f64 = Is("50"), Number(0.1, 100000.0),
            because "a page of 200 parts every 4 s; a cookie shared by a thousand bots sends thousands";
        /// Requests that such a session may send at once before `cookie_rate` applies, and most
        /// that it may have under way.
        cookie_burst: u32 = Is("500"), Whole(1, 1_000_000),
            because "leaves room for several tabs that load pages of a hundred parts at once";
        /// How long a session counts as active after the gate has closed its last connection as
        /// idle. A session whose customer closed the connection has ended.
        session_linger: Duration = Is("60s"), Time("100ms", "1h"),
            because "with a mean think time of 7 s, one returning customer in 5,000 takes longer";
    }

    /// Deadlines and limits that keep one connection from using more than its share.
    pub struct Limits = "limits" {
        /// Most open connections of customers, on all cores together. The last eighth is
        /// reserved for active sessions; connections that have not sent a whole ClientHello, or
        /// on plain HTTP nothing, get at most half of the places and none of the last sixteenth.
        /// Where no place is left, a connection of the address prefix with the most gives way to
        /// one of a prefix with fewer.
        /// Each core has an equal share, rounded up, and all these parts are parts of it: the
        /// kernel distributes connections over the cores at random, so one core may be full a
        /// little before the others. The gate raises its limit on open files to the hard limit;
        /// where that is too low for so many, it takes as many as it suffices for and logs it.
        max_connections: usize = Is("20000"), Whole(1, 10_000_000),
            because "about 330 MB at 16 KB for each idle TLS connection, 1.3 GB by HTTP/2; each uses up to two file descriptors";
        /// Leading bits of an IPv4 address that count as one client where places for connections
        /// are scarce and in the admission queue. A client that is alone has no limit: behind a
        /// load balancer that hides addresses, all customers are one and share everything. With
        /// `0` all IPv4 addresses count as one.
        prefix_ipv4: u32 = Is("24"), Whole(0, 32),
            because "the smallest block that is routed on the Internet, so that one attacker rarely has many";
        /// The same of an IPv6 address.
        prefix_ipv6: u32 = Is("56"), Whole(0, 128),
            because "what a provider assigns to one customer (RFC 6177)";
        /// From accept to the last byte of the ClientHello; on plain HTTP, to the first byte of a
        /// request.
        hello_deadline: Duration = Is("3s"), Time("100ms", "60s"),
            because "a ClientHello takes one round trip; a lost segment is retransmitted within 1 s";
        /// Largest ClientHello.
        hello_max_bytes: usize = Is("16KiB"), Bytes("1KiB", "64KiB"),
            because "current ClientHellos have 0.3 to 2 KB; several post-quantum shares make 5 KB";
        /// Most ticket identities of a TLS 1.3 ClientHello; one with more is a new session.
        ticket_identities: usize = Is("4"), Whole(1, 32),
            because "clients offer one or two; opening each costs processor time";
        /// From admission to the end of the handshake.
        handshake_deadline: Duration = Is("5s"), Time("100ms", "60s"),
            because "two round trips and one retransmission on a bad mobile network";
        /// From the first byte of a request to the end of its head.
        head_deadline: Duration = Is("5s"), Time("100ms", "60s"),
            because "a head is one or two packets; a slower one is an attack or a dead network";
        /// Largest head of a request or response.
        head_max_bytes: usize = Is("32KiB"), Bytes("8KiB", "1MiB"),
            because "cookies of 8 KB are common; most upstreams accept no more than 32 KB";
        /// Most header fields of a request or response.
        head_max_fields: usize = Is("100"), Whole(10, 1_000),
            because "browsers send about 20";
        /// HTTP/2: most requests at once on a connection.
        http2_streams: u32 = Is("100"), Whole(1, 10_000),
            because "the least that RFC 9113 recommends; browsers use it fully on pages of many images";
        /// HTTP/2: requests that a customer may reset within 10 s. With more, the connection is
        /// closed with GOAWAY (ENHANCE_YOUR_CALM).
        http2_resets: u32 = Is("200"), Whole(1, 1_000_000),
            because "who leaves a page resets all that it loads; an attack resets thousands (CVE-2023-44487)";
        /// HTTP/2: control frames that a customer may send within 10 s, beside four for each
        /// request and one for each KiB that they receive: PING, SETTINGS, PRIORITY, WINDOW_UPDATE,
        /// CONTINUATION, empty DATA and unknown ones. With more, the connection is closed in the
        /// same way.
        http2_control_frames: u32 = Is("1000"), Whole(10, 10_000_000),
            because "browsers send a few; each costs the gate an answer or a look";
        /// Longest time without progress in a request's body, from the customer or into the upstream,
        /// and of a WebSocket after one side has ended. An upstream that stops reading gives 504. See
        /// `download_pause` for customers who read a response, and `upstream.response_pause` for
        /// upstreams that send one.
        body_progress_deadline: Duration = Is("10s"), Time("100ms", "1h"),
            because "a peer that is silent for 10 s in the middle of a body has left, but still holds a connection";
        /// Lowest rate of a request's body in bytes per second, on average since its head; applies
        /// once `body_progress_deadline` has passed. `0` sets no limit.
        upload_rate: u32 = Is("64"), Whole(0, 1_000_000),
            because "the worst mobile network carries a thousand; without it a body of one byte per deadline never ends";
        /// Longest time in which a customer acknowledges nothing of a response that waits for
        /// them. Customers count as reading as long as their system acknowledges bytes.
        download_pause: Duration = Is("60s"), Time("100ms", "1h"),
            because "systems acknowledge what is read from a full buffer in steps of up to 350 kB, which are 35 s at 10 kB/s";
        /// Lowest rate at which a customer acknowledges a response, in bytes per second, on average
        /// over the time that the response waits for them; applies once that time has reached
        /// `download_pause`. Time in which the gate has nothing to send does not count. `0` sets
        /// no limit.
        download_rate: u32 = Is("64"), Whole(0, 1_000_000),
            because "the worst mobile network carries a thousand; without it a customer of one byte per second holds an upstream connection for months";
        /// Content types of responses in which the upstream may be silent for `stream_deadline`
        /// in place of `upstream.response_pause`, unless they have a Content-Length. Whether the
        /// customer is still there is asked for by TCP keepalive.
        stream_types: Vec<String> = Is("text/event-stream"), MediaTypes,
            because "server-sent events stay open for hours, and many servers send none for minutes";
        /// Longest silence of the upstream in a response of these types.
        stream_deadline: Duration = Is("1h"), Time("100ms", "7d"),
            because "a stream without an event for an hour can be opened again by the browser, which does so by itself";
        /// Most WebSockets open at once, on all cores together; each core has an equal share,
        /// rounded up. A request for a further one is answered with 503. They take places of
        /// `max_connections`.
        max_tunnels: usize = Is("10000"), Whole(0, 10_000_000),
            because "half of the places: however many customers keep one open, others find the site";
        /// Longest time in which no byte passes a WebSocket in either direction. Whether the
        /// customer is still there is asked for by TCP keepalive, and most clients and servers
        /// ping.
        tunnel_idle: Duration = Is("1h"), Time("100ms", "7d"),
            because "the same as for streams of events; HAProxy's examples have an hour as well, nginx cuts at 60 s";
        /// How long a connection without a request is kept open; `0s` closes it after one
        /// request.
        idle_deadline: Duration = Is("10s"), Time("0s", "1h"),
            because "longer than the mean think time; a return costs only a resumed handshake";
    }

    /// The operator's address: metrics, health and status, over plain HTTP.
    pub struct Admin = "admin" {
        /// Address and port of the operator's page, `/metrics`, `/healthz`, `/livez` and `/status`, or `off`.
        address: Option<SocketAddr> = Is("127.0.0.1:9443"), OrOff(Address),
            because "loopback: metrics and status are for the operator only";
    }

    /// What the gate writes to standard error.
    pub struct Log = "log" {
        /// Lowest level that is written, or a filter such as `info,tidegate_gate=debug`.
        level: String = Is("info"), Filter,
            because "start, shutdown and what an operator must act on; nothing per connection";
        /// `text` for people, `json` for log collectors.
        format: LogFormat = Is("text"), Choice(LogFormat::ALL),
            because "most logs are first read by a person";
    }

    /// The access log: a line for each request, and for each new session that is not admitted;
    /// see [operations](operations.md#the-access-log).
    pub struct AccessLog = "access_log" {
        /// File that lines are appended to, opened again at SIGHUP, or `-` for the standard output.
        /// Without it nothing is logged.
        file: Option<PathBuf> = Unset, LogFile,
            because "it says who asked for what, so it is the operator's decision";
        /// `json`, an object on each line, or `combined`, as Apache and nginx write it.
        format: AccessFormat = Is("json"), Choice(AccessFormat::ALL),
            because "the combined format has no place for phases, verdict and identifiers";
        /// Whether the queries of paths and of `Referer` are logged.
        queries: bool = Is("false"), Boolean,
            because "queries carry search terms, tokens and passwords";
        /// Most memory for lines that wait to be written; what has no room is dropped and counted.
        buffer_bytes: usize = Is("8MiB"), Bytes("128KiB", "1GiB"),
            because "a disk that hangs for a second loses nothing at 10,000 requests per second";
    }

    /// A record of what every connection and request was doing at each time, for
    /// `tidegate trace`; see [tracing](tracing.md).
    pub struct Trace = "trace" {
        /// File that is written; one that exists is replaced. Without it nothing is traced.
        file: Option<PathBuf> = Unset, FilePath,
            because "a trace is for an investigation, and has the times of every customer";
        /// Largest size of the file. At it tracing ends, and the gate serves on.
        file_bytes: usize = Is("4GiB"), Bytes("1MiB", "1024GiB"),
            because "about an hour at 10,000 requests per second";
        /// Most memory for records that wait to be written; what has no room is dropped and counted.
        buffer_bytes: usize = Is("8MiB"), Bytes("128KiB", "1GiB"),
            because "a disk that hangs for seconds loses nothing at 10,000 requests per second";
        /// CPU time is measured on every so manieth connection of a core; 0: on none.
        cpu_every: u32 = Is("32"), Whole(0, 1_000_000),
            because "reading the CPU clock is the costliest part of tracing";
        /// Time between two samples of processors, control group and TCP.
        sample_interval: Duration = Is("200ms"), Time("10ms", "1m"),
            because "short against an overload that builds up, and about 0.3 % of a processor";
    }

    /// Several gates before one service, which tell each other through NATS with JetStream: see
    /// [fleet.md](fleet.md). A change needs a restart (SIGUSR2 loses no connection).
    pub struct Fleet = "fleet" {
        /// Server of NATS, or a list of servers of one cluster, of which the gate uses one that
        /// answers: `nats://host:port`, or `tls://host:port` for TLS. Without it the gate is alone.
        nats: Option<Vec<WebUrl>> = Unset, OneOrMore(NatsUrl),
            because "one gate needs no NATS";
        /// Name of the fleet. All gates before one service have the same; several fleets may share
        /// servers of NATS.
        name: String = Is("tidegate"), Named::Fleet,
            because "one fleet needs no name of its own";
        /// File with the secret of the fleet, at least 32 bytes; others must not read it. All that
        /// gates tell each other is sealed under it, ticket keys included, so that NATS can neither
        /// read nor forge it.
        secret_file: Option<PathBuf> = Unset, FilePath,
            because "required beside `fleet.nats`";
        /// File of credentials (`.creds`, a user JWT and its seed) for NATS.
        credentials_file: Option<PathBuf> = Unset, FilePath,
            because "without a user NATS must admit everybody on its network";
        /// File with the nkey seed of the user, in place of credentials.
        nkey_file: Option<PathBuf> = Unset, FilePath,
            because "simpler than credentials where NATS has a file of users";
        /// PEM file of the authorities that sign the certificates of NATS. With it TLS is required.
        ca_file: Option<PathBuf> = Unset, FilePath,
            because "`tls://` is verified by the authorities of the system";
        /// Name of this gate, which no other gate of the fleet has.
        gate: Option<String> = Unset, Named::Gate,
            because "host name and port of the gate tell them apart";
        /// Servers of NATS that store lease and ticket keys, if the gate makes the bucket: 3 in a
        /// cluster of three.
        replicas: usize = Is("1"), Whole(1, 5),
            because "one server cannot store more";
    }
}

impl Admission {
    /// Whether connections from this address are never refused.
    pub fn never_waits(&self, from: IpAddr) -> bool {
        self.never_wait_from.iter().flatten().any(|network| network.contains(from))
    }

    /// The policy with its parameters, for the controller.
    pub fn policy_kind(&self) -> PolicyKind {
        match self.policy {
            Policy::Off => PolicyKind::Off,
            // A checked configuration of this policy has a rate.
            Policy::Static => PolicyKind::Static { per_second: self.rate.unwrap_or_default() },
            Policy::Eac => {
                let both = self.new_connection_cpu.zip(self.returning_connection_cpu);
                let profile = both.map(|(new, returning)| EacProfile {
                    new_cpu_s: new.as_secs_f64(),
                    returning_cpu_s: returning.as_secs_f64(),
                });
                PolicyKind::Eac { interval: self.interval, profile }
            }
            Policy::Tide => PolicyKind::Tide,
            #[cfg(feature = "rivals")]
            Policy::BacklogOnly => PolicyKind::BacklogOnly,
            #[cfg(feature = "rivals")]
            Policy::CoDel => PolicyKind::CoDel { threads: 0 },
        }
    }
}
