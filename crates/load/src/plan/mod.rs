//! What to run: a scenario, a target, arrivals, durations and the driver's
//! own means.

pub(crate) mod shard;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use crate::arrivals::Arrivals;
use crate::client::tls::algorithms::{Contradiction, Group, Offer, Suite};
use crate::client::tls::certificate::ClientCertificate;
use crate::error::Error;
use crate::scenario::Scenario;
use shard::Part;

/// One run, complete. [`Plan::new`] gives the defaults; fields are changed
/// freely and checked by [`run`](crate::run()).
#[derive(Clone, Debug)]
pub struct Plan {
    /// Who the customers are and what they do.
    pub scenario: Scenario,
    /// `https://host[:port]`, or `http://` for a service in clear. A path is
    /// not allowed: paths belong to the scenario.
    pub target: String,
    /// When customers arrive; `None` takes the scenario's own `[arrivals]`.
    pub arrivals: Option<Arrivals>,
    /// Time before anything is counted.
    pub warm_up: Duration,
    /// The measured window. The run lasts `warm_up + measure`, at most
    /// [`Plan::LONGEST`].
    pub measure: Duration,
    /// Multiplies think times *and* patience; above 0. 0.1 is a customer ten
    /// times as hasty in both.
    pub time_scale: f64,
    /// Multiplies patience once more; above 0.
    pub patience_scale: f64,
    /// Seed of every random choice.
    pub seed: u64,
    /// Processors the driver's threads are pinned to, one thread each; empty
    /// for one thread that is not pinned. The thread that calls
    /// [`run`](crate::run()) is never pinned: it folds the figures and calls
    /// the observer.
    pub cores: Vec<usize>,
    /// Accepts any certificate, and does not spend time on checking it.
    pub insecure: bool,
    /// PEM file of certificate authorities to trust instead of the system's.
    pub ca: Option<PathBuf>,
    /// TLS versions to offer.
    pub tls: TlsVersions,
    /// Cipher suites to offer, the preferred one first; empty for those of
    /// browsers. A version of which none is listed is not offered.
    pub suites: Vec<Suite>,
    /// Key exchange groups to offer, the preferred one first; empty for x25519,
    /// secp256r1, secp384r1 and X25519MLKEM768.
    pub groups: Vec<Group>,
    /// Shown to a server that asks for a certificate, the same by all customers.
    pub certificate: Option<ClientCertificate>,
    /// Of the connections that are opened, the share whose handshake is full, 0
    /// to 1; all others are resumed, as far as there are tickets. `None` resumes
    /// whenever the customer has a ticket.
    pub full_share: Option<f64>,
    /// Whose tickets a customer resumes with; `None` is those of all where a
    /// share of full handshakes is set, else the customer's own.
    pub tickets: Option<TicketsOf>,
    /// Every customer first comes with a ticket that the target did not issue,
    /// as an attacker would who hopes to pass for somebody already inside. Needs
    /// [`insecure`](Self::insecure) and TLS 1.3.
    pub forged_tickets: bool,
    /// Lets an attack (a scenario that says so, or forged tickets) go against a
    /// service that is not on loopback.
    pub attack_remote: bool,
    /// Name for SNI and certificate checks if it is not the target's host.
    pub server_name: Option<String>,
    /// Writes every request as a line of JSON to this file.
    pub raw: Option<PathBuf>,
    /// Writes every request as a row of Parquet to this file.
    pub parquet: Option<PathBuf>,
    /// Writes every second as a line of CSV to this file.
    pub csv: Option<PathBuf>,
    /// Customers the scenario draws from; `None` takes the scenario's own.
    pub customers: Option<u64>,
    /// Most sessions in flight; arrivals beyond are counted as not started.
    /// Lowered to what the limit on open files allows.
    pub max_in_flight: usize,
    /// Stops arrivals after this many sessions, and the run when the last of
    /// them has ended.
    pub max_sessions: Option<u64>,
    /// Where connections come from.
    pub sources: Sources,
    /// How long a connection is kept.
    pub keep: Keep,
    /// How a connection that has served its purpose is closed.
    pub close: Close,
    /// Version of HTTP that customers speak.
    pub http: Http,
    /// This driver's part, where several share the test: the summary then has what
    /// it takes to merge it with the others.
    pub part: Option<Part>,
    /// When the run starts; `None` as soon as it can.
    pub start_at: Option<SystemTime>,
    /// Stops the run early; keep a clone.
    pub stop: Stop,
}

impl Plan {
    /// The longest run, a day: nothing here is unbounded.
    pub const LONGEST: Duration = Duration::from_secs(24 * 3600);

    /// Warm-up 10 s, measure 30 s, unscaled times, seed 1, one thread,
    /// certificates checked; connections as the scenario has them.
    pub fn new(scenario: Scenario, target: &str) -> Self {
        let Connections { http, keep, close, sources } = scenario.connections().clone();
        let TlsRules { versions, suites, groups, certificate, full_share, tickets } =
            scenario.tls().clone();
        Self {
            scenario,
            target: target.to_owned(),
            arrivals: None,
            warm_up: Duration::from_secs(10),
            measure: Duration::from_secs(30),
            time_scale: 1.0,
            patience_scale: 1.0,
            seed: 1,
            cores: Vec::new(),
            insecure: false,
            ca: None,
            tls: versions,
            suites,
            groups,
            certificate,
            full_share,
            tickets,
            forged_tickets: false,
            attack_remote: false,
            server_name: None,
            raw: None,
            parquet: None,
            csv: None,
            customers: None,
            max_in_flight: 20_000,
            max_sessions: None,
            sources,
            keep,
            close,
            http,
            part: None,
            start_at: None,
            stop: Stop::default(),
        }
    }

    /// The arrivals in force: the plan's own, else the scenario's.
    ///
    /// # Errors
    /// Neither says when customers arrive.
    pub fn arrivals(&self) -> Result<Arrivals, Error> {
        self.arrivals.clone().or_else(|| self.scenario.arrivals().cloned()).ok_or(Error::Plan {
            key: "arrivals",
            rule: "nothing says when customers arrive".to_owned(),
            remedy: "give a rate, as by --rate 5, or [arrivals] rate = 5 in the scenario",
        })
    }

    /// What patience is multiplied by.
    pub(crate) fn patience_factor(&self) -> f64 {
        (self.time_scale * self.patience_scale).min(1e6)
    }

    /// Whose tickets are in force.
    pub fn tickets_of(&self) -> TicketsOf {
        let default = if self.full_share.is_some() { TicketsOf::All } else { TicketsOf::Customer };
        self.tickets.unwrap_or(default)
    }

    /// What customers offer in a TLS handshake.
    ///
    /// # Errors
    /// Versions, suites and groups leave nothing to offer.
    pub(crate) fn offer(&self) -> Result<Offer, Error> {
        Offer::new(self.tls, &self.suites, &self.groups).map_err(|contradiction| {
            let Contradiction { key, rule, remedy } = contradiction;
            Error::Plan { key, rule, remedy }
        })
    }

    /// Keeps attacks on loopback, unless it was said that they may leave it.
    ///
    /// # Errors
    /// One of the target's addresses lies elsewhere.
    pub(crate) fn check_reach(&self, addresses: &[SocketAddr]) -> Result<(), Error> {
        let is_attack = self.scenario.is_attack() || self.forged_tickets;
        let far = addresses.iter().find(|address| !address.ip().to_canonical().is_loopback());
        match far {
            Some(far) if is_attack && !self.attack_remote => Err(Error::Plan {
                key: "target",
                rule: format!("{far} is not on loopback, and this run is an attack"),
                remedy: "attack nobody but yourself; --attack-remote says that the service is yours",
            }),
            _ => Ok(()),
        }
    }

    /// Checks every value that has a range.
    ///
    /// # Errors
    /// The first value that is out of its range.
    pub fn check(&self) -> Result<(), Error> {
        let scale_ok = |scale: f64| scale.is_finite() && scale > 0.0 && scale <= 1000.0;
        let wrong = |key, rule: String, remedy| Err(Error::Plan { key, rule, remedy });
        if !scale_ok(self.time_scale) {
            return wrong(
                "time_scale",
                format!("{} must be above 0 and at most 1000", self.time_scale),
                "1 leaves times as they are",
            );
        }
        if !scale_ok(self.patience_scale) {
            return wrong(
                "patience_scale",
                format!("{} must be above 0 and at most 1000", self.patience_scale),
                "1 leaves patience as it is",
            );
        }
        if let Some(at) = self.start_at {
            self.check_start(at)?;
        }
        if self.measure.is_zero() || self.warm_up.saturating_add(self.measure) > Self::LONGEST {
            return wrong(
                "measure",
                format!("{:?} after {:?} of warm-up", self.measure, self.warm_up),
                "must be above 0 and, with the warm-up, at most a day",
            );
        }
        if self.forged_tickets && (!self.insecure || self.tls == TlsVersions::Only12) {
            return wrong(
                "forged_tickets",
                "forged tickets are those of TLS 1.3, and come from a server whose certificate \
                 nobody vouches for"
                    .to_owned(),
                "accept any certificate and offer TLS 1.3",
            );
        }
        if self.tickets == Some(TicketsOf::One) && self.tls == TlsVersions::Only12 {
            return wrong(
                "tickets",
                "one ticket for all is one of TLS 1.3".to_owned(),
                "offer TLS 1.3, or share the tickets of all",
            );
        }
        if let Some(share) = self.full_share
            && !(0.0..=1.0).contains(&share)
        {
            return wrong("full_share", format!("{share} must be 0 to 1"), "0.3 is 30 %");
        }
        if self.forged_tickets && (self.full_share.is_some() || self.tickets.is_some()) {
            return wrong(
                "forged_tickets",
                "who comes with a forged ticket has no other".to_owned(),
                "set no share of full handshakes and share no tickets",
            );
        }
        if self.max_in_flight == 0 {
            return wrong("max_in_flight", "0 customers".to_owned(), "must be at least 1");
        }
        let has_closed = |arrivals: Arrivals| arrivals.has_closed();
        if self.keep == Keep::Customer && !self.arrivals().is_ok_and(has_closed) {
            return wrong(
                "keep",
                "customers who come once have no connection to keep".to_owned(),
                "use the closed model, or keep connections for a session",
            );
        }
        if let Ok(arrivals) = self.arrivals() {
            if arrivals.models().len() > Arrivals::MODELS {
                return wrong(
                    "arrivals",
                    format!("{} side by side", arrivals.models().len()),
                    "100 at most",
                );
            }
            self.check_classes(&arrivals)?;
        }
        if self.customers == Some(0) {
            return wrong("customers", "0 customers".to_owned(), "must be at least 1");
        }
        self.offer().map(drop)
    }

    /// A common start lies ahead, and within a day.
    fn check_start(&self, at: SystemTime) -> Result<(), Error> {
        let wrong = |rule| Err(Error::Plan { key: "start_at", rule, remedy: START_REMEDY });
        let now = SystemTime::now();
        match at.duration_since(now) {
            Err(past) => wrong(format!("was {:.1} s ago", past.duration().as_secs_f64())),
            Ok(left) if left > Self::LONGEST => {
                wrong(format!("is {:.1} h ahead, at most 24", left.as_secs_f64() / 3600.0))
            }
            Ok(_) => Ok(()),
        }
    }

    /// Every class that arrivals name is there, and somebody comes by arrivals
    /// that name none.
    fn check_classes(&self, arrivals: &Arrivals) -> Result<(), Error> {
        let classes = self.scenario.classes();
        let names: Vec<&str> = classes.iter().map(|class| class.name.as_str()).collect();
        for name in arrivals.classes().iter().flatten() {
            if name.is_empty() || !names.contains(&name.as_str()) {
                return Err(Error::Plan {
                    key: "arrivals",
                    rule: format!("{name:?} is no class of {}", self.scenario.name()),
                    remedy: "name one of its [[classes]], or none",
                });
            }
        }
        let nobody = classes.iter().all(|class| class.share == 0.0);
        if nobody && arrivals.classes().iter().any(Option::is_none) {
            return Err(Error::Plan {
                key: "arrivals",
                rule: "name no class, and no class of the scenario has a share of them".to_owned(),
                remedy: "name a class, such as rate = 5, class = \"bots\"",
            });
        }
        Ok(())
    }
}

const START_REMEDY: &str = "give every part the same instant, some seconds ahead, such as \
                            $(date -u -d '+20 seconds' +%FT%TZ)";

/// What a scenario says about TLS.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TlsRules {
    /// Versions to offer.
    pub versions: TlsVersions,
    /// See [`Plan::suites`].
    pub suites: Vec<Suite>,
    /// See [`Plan::groups`].
    pub groups: Vec<Group>,
    /// See [`Plan::certificate`].
    pub certificate: Option<ClientCertificate>,
    /// See [`Plan::full_share`].
    pub full_share: Option<f64>,
    /// See [`Plan::tickets`].
    pub tickets: Option<TicketsOf>,
}

/// Whose tickets a customer resumes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TicketsOf {
    /// Her own.
    Customer,
    /// Those that the server gave anybody: the newest that is left.
    All,
    /// One that the server gave before the run, again and again; of TLS 1.3.
    One,
}

/// TLS versions that customers offer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsVersions {
    /// 1.3 and 1.2.
    #[default]
    Both,
    /// 1.2 only.
    Only12,
    /// 1.3 only.
    Only13,
}

/// Source addresses of connections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Sources {
    /// If the target is on loopback (IPv4), 64 addresses of 127.0.0.0/8 in
    /// turn, so that closed connections waiting in TIME_WAIT do not use up the
    /// ports; else the system chooses.
    #[default]
    Auto,
    /// The system chooses.
    System,
    /// These addresses in turn.
    List(Vec<IpAddr>),
}

/// What a scenario says about connections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Connections {
    /// What is spoken over it.
    pub http: Http,
    /// How long one is kept.
    pub keep: Keep,
    /// How it is closed.
    pub close: Close,
    /// Where it comes from.
    pub sources: Sources,
}

/// Version of HTTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Http {
    /// HTTP/1.1.
    #[default]
    One,
    /// HTTP/2: by ALPN over TLS, with prior knowledge in clear. A connection is
    /// one customer's, with one request at a time, as over HTTP/1.1.
    Two,
}

impl Http {
    /// `1.1` or `2`.
    pub fn name(self) -> &'static str {
        match self {
            Self::One => "1.1",
            Self::Two => "2",
        }
    }
}

/// How long a connection is kept, if the server lets it be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// For one request, which says so (`Connection: close`).
    Request,
    /// For a session, as browsers do. The next session begins without a ticket.
    #[default]
    Session,
    /// By a customer of the closed model, from session to session, as are the
    /// tickets. Customers of other models come once and keep it for their
    /// session.
    Customer,
}

impl Sources {
    /// Most addresses taken of one network.
    pub const MOST: u32 = 1024;

    /// Reads `auto`, `system`, or addresses and IPv4 networks such as
    /// `127.0.1.1,127.8.0.0/16`. Of a large network addresses are taken evenly
    /// spread, at most [`Sources::MOST`].
    ///
    /// # Errors
    /// The part that is neither, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.trim() {
            "auto" => return Ok(Self::Auto),
            "system" => return Ok(Self::System),
            _ => {}
        }
        let mut list = Vec::new();
        for part in text.split(',').map(str::trim) {
            let wrong = || format!("\"{part}\" is neither an address nor an IPv4 network");
            match part.split_once('/') {
                None => list.push(part.parse().map_err(|_| wrong())?),
                Some((address, bits)) => {
                    let address: Ipv4Addr = address.parse().map_err(|_| wrong())?;
                    let bits = bits.parse().ok().filter(|bits| (8..=30).contains(bits));
                    list.extend(network(address, bits.ok_or_else(wrong)?));
                }
            }
        }
        Ok(Self::List(list))
    }
}

/// Hosts of a network of 8 to 30 bits, without its first and last address, which
/// are not for hosts.
fn network(address: Ipv4Addr, bits: u32) -> impl Iterator<Item = IpAddr> {
    let size = 1u32 << (32 - bits);
    let base = u32::from(address) & !(size - 1);
    let hosts = size - 2;
    let taken = hosts.min(Sources::MOST);
    (0..taken).map(move |n| Ipv4Addr::from(base + 1 + n * (hosts / taken)).into())
}

/// How a connection is closed that is no longer needed. A customer who lost
/// patience always resets it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Close {
    /// close_notify and FIN, as browsers do.
    #[default]
    Shutdown,
    /// close_notify and RST: leaves no TIME_WAIT, for high rates from one
    /// address.
    Reset,
}

/// Stops a run from another thread or a signal handler; clones share the
/// state. The run then gives a valid summary of the part that was measured.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks the run to end; it does so within a quarter of a second.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the end was asked for.
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_addresses_are_listed_or_spread_over_a_network() {
        assert_eq!(Sources::parse("auto"), Ok(Sources::Auto));
        let Ok(Sources::List(list)) = Sources::parse("127.0.1.9, ::1, 127.0.2.0/30") else {
            panic!("a list");
        };
        let text: Vec<String> = list.iter().map(ToString::to_string).collect();
        assert_eq!(text, ["127.0.1.9", "::1", "127.0.2.1", "127.0.2.2"]);
        let Ok(Sources::List(all)) = Sources::parse("127.0.0.0/8") else { panic!("a list") };
        // 2^24 − 2 hosts, every 16,383rd of them.
        assert_eq!(all.len(), 1024);
        assert_eq!(all[1].to_string(), "127.0.64.0");
        assert!(all.iter().all(IpAddr::is_loopback));
        for bad in ["", "shop", "127.0.0.0/31", "127.0.0.0/x", "::1/64", "127.0.0.1,"] {
            assert!(Sources::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn attacks_stay_on_loopback_unless_told_otherwise() {
        let reach = |plan: &Plan, addresses: &[&str]| {
            let parsed: Vec<SocketAddr> =
                addresses.iter().map(|address| address.parse().unwrap()).collect();
            plan.check_reach(&parsed)
        };
        let (near, far) = (["127.0.0.9:443", "[::1]:443", "[::ffff:127.0.0.1]:1"], "192.0.2.1:443");
        let flood = Scenario::built_in("handshake-flood").unwrap();
        let mut plan = Plan::new(flood, "https://localhost");
        assert!(reach(&plan, &near).is_ok());
        let error = reach(&plan, &[near[0], far]).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("192.0.2.1:443 is not on loopback"), "{error}");
        plan.attack_remote = true;
        assert!(reach(&plan, &[far]).is_ok());
        let mut plan = Plan::new(Scenario::built_in("auction-bots").unwrap(), "https://localhost");
        assert!(reach(&plan, &[far]).is_ok());
        plan.forged_tickets = true;
        assert!(reach(&plan, &[far]).is_err());
    }
}
