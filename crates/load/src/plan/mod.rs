//! What to run: a scenario, a target, arrivals, durations, and the resources of the load
//! generator.

mod avoided;
mod check;
pub(crate) mod fingerprint;
pub(crate) mod shard;
mod stop;
mod warnings;
mod window;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use crate::arrivals::Arrivals;
use crate::arrivals::limits::LONGEST_RUN;
use crate::client::allow::Allow;
use crate::client::connections::{Close, Connections, Http, KeepAlive, Sources};
use crate::client::resolve::Resolve;
use crate::client::tls::algorithms::{Contradiction, KeyExchangeGroup, Offer, Suite};
use crate::client::tls::certificate::ClientCertificate;
use crate::client::tls::config::TlsSettings;
use crate::client::tls::rules::{TicketsOf, TlsRules, TlsVersions};
use crate::client::tls::server_key::SigningKey;
use crate::error::Error;
use crate::scenario::{RunTimes, Scenario};
pub use avoided::Avoided;
use shard::Shard;
pub use stop::Stop;
pub use window::{Window, WindowBy};

/// One run. [`Plan::new`] sets the defaults; fields can be changed and are checked by
/// [`run`](crate::run()).
#[derive(Clone, Debug)]
pub struct Plan {
    /// Behaviour of the customers.
    pub scenario: Scenario,
    /// `https://host[:port]`, or `http://` for plain HTTP. Without a path: paths belong to
    /// the scenario.
    pub target: String,
    /// Addresses of the target, in place of those that the system finds for its name; empty for
    /// these.
    pub resolve: Vec<Resolve>,
    /// The only services that may be loaded; `None` for all.
    pub allow: Option<Vec<Allow>>,
    /// Where customers connect in place of the addresses of the target, such as a relay. What they
    /// send stays that of the target.
    pub connect_to: Option<SocketAddr>,
    /// Arrivals of customers; `None` uses the scenario's `[arrivals]`.
    pub arrivals: Option<Arrivals>,
    /// Time before the measured window.
    pub warm_up: Duration,
    /// The measured window. The run lasts `warm_up + measure`, at most
    /// [`Plan::LONGEST`].
    pub measure: Duration,
    /// Factor on think times and patience; above 0. With 0.1 both are a tenth.
    pub time_scale: f64,
    /// Additional factor on patience; above 0.
    pub patience_scale: f64,
    /// Seed of every random choice.
    pub seed: u64,
    /// Processors to which the threads of the load generator are pinned, one thread each;
    /// empty for [`threads`](Self::threads) that are not pinned. The thread that calls
    /// [`run`](crate::run()) is never pinned: it aggregates the figures and calls the
    /// observer.
    pub cores: Vec<usize>,
    /// Threads of the load generator where `cores` is empty; 0 counts as 1.
    pub threads: usize,
    /// Accepts any server certificate without verification.
    pub insecure: bool,
    /// PEM file of certificate authorities to trust instead of the system's.
    pub ca: Option<PathBuf>,
    /// TLS versions to offer.
    pub tls: TlsVersions,
    /// Cipher suites to offer, in order of preference; empty for those of browsers. A
    /// version without a listed suite is not offered.
    pub suites: Vec<Suite>,
    /// Key exchange groups to offer, in order of preference; empty for x25519, secp256r1,
    /// secp384r1 and X25519MLKEM768.
    pub groups: Vec<KeyExchangeGroup>,
    /// The only type of server key whose signatures customers accept: a server with several
    /// certificates shows one with such a key. `None` for all.
    pub server_key: Option<SigningKey>,
    /// Client certificate for servers that request one, the same for all customers.
    pub certificate: Option<ClientCertificate>,
    /// Share of the handshakes that are full, 0 to 1; all others are resumed if a ticket is
    /// available. `None` resumes whenever the customer has a ticket.
    pub full_share: Option<f64>,
    /// Tickets used for resumption. `None` is those of all customers if a share of full
    /// handshakes is set, else the customer's own.
    pub tickets: Option<TicketsOf>,
    /// Every customer first offers a ticket that the target did not issue, like an attacker
    /// who imitates a returning customer. Needs [`insecure`](Self::insecure) and TLS 1.3.
    pub forged_tickets: bool,
    /// Allows an attack (a scenario marked as one, or forged tickets) against a service
    /// that is not on loopback.
    pub attack_remote: bool,
    /// Name for SNI and certificate verification, if it is not the target's host.
    pub server_name: Option<String>,
    /// File for every request as a line of JSON.
    pub raw: Option<PathBuf>,
    /// File for every request as a row of Parquet.
    pub parquet: Option<PathBuf>,
    /// File for every second as a line of CSV.
    pub csv: Option<PathBuf>,
    /// File for a trace: what each customer was doing at each time. Every request then has the
    /// header field `traceparent`.
    pub trace: Option<PathBuf>,
    /// Requests and responses of this number of sessions, the first of the test, are printed to
    /// standard error.
    pub http_debug: u32,
    /// Number of customer accounts the scenario draws from; `None` uses the scenario's.
    pub customers: Option<u64>,
    /// Most sessions in flight; further arrivals are counted as not started. Lowered to
    /// what the limit on open files allows.
    pub max_in_flight: usize,
    /// Arrivals stop after this number of sessions, and the run ends with the last of them.
    pub max_sessions: Option<u64>,
    /// Source addresses of connections.
    pub sources: Sources,
    /// Lifetime of a connection.
    pub keep: KeepAlive,
    /// Requests say that compressed responses are accepted.
    pub accept_encoding: bool,
    /// Addresses that customers avoid for a time; keep a clone.
    pub avoided: Avoided,
    /// How connections are closed.
    pub close: Close,
    /// HTTP version.
    pub http: Http,
    /// The shard of a test that several processes share; the summary then contains what
    /// merging needs.
    pub shard: Option<Shard>,
    /// Start of the run; `None` for as soon as possible.
    pub start_at: Option<SystemTime>,
    /// Stops the run early; keep a clone.
    pub stop: Stop,
}

impl Plan {
    /// The longest run: a day.
    pub const LONGEST: Duration = LONGEST_RUN;

    /// Warm-up and measured window by the scenario's `[run]` and arrivals, else 10 s and 30 s;
    /// unscaled times, seed 1, one thread, verified certificates, connections and TLS as in the
    /// scenario.
    pub fn new(scenario: Scenario, target: &str) -> Self {
        let Connections { http, keep, close, sources, accept_encoding, .. } =
            scenario.connections().clone();
        let TlsRules { versions, suites, groups, certificate, full_share, tickets } =
            scenario.tls().clone();
        let Window { warm_up, measure, .. } = Window::choose(scenario.arrivals(), scenario.run());
        Self {
            scenario,
            target: target.to_owned(),
            resolve: Vec::new(),
            allow: None,
            connect_to: None,
            arrivals: None,
            warm_up,
            measure,
            time_scale: 1.0,
            patience_scale: 1.0,
            seed: 1,
            cores: Vec::new(),
            threads: 1,
            insecure: false,
            ca: None,
            tls: versions,
            suites,
            groups,
            server_key: None,
            certificate,
            full_share,
            tickets,
            forged_tickets: false,
            attack_remote: false,
            server_name: None,
            raw: None,
            parquet: None,
            csv: None,
            trace: None,
            http_debug: 0,
            customers: None,
            accept_encoding,
            max_in_flight: 20_000,
            max_sessions: None,
            sources,
            keep,
            close,
            http,
            shard: None,
            start_at: None,
            stop: Stop::default(),
            avoided: Avoided::default(),
        }
    }

    /// Lowers the number of sessions in flight so that at most this number of connections is open.
    pub fn limit_connections(&mut self, most: usize) {
        let sessions = most / self.connections_of_a_customer();
        self.max_in_flight = self.max_in_flight.min(sessions.max(1));
    }

    /// A hash of everything that determines what customers do; the same for all shards of a test.
    pub fn fingerprint(&self) -> String {
        fingerprint::fingerprint(self)
    }

    /// Most connections that a customer has open at a time, at least 1.
    pub(crate) fn connections_of_a_customer(&self) -> usize {
        let assets = self.scenario.pages().iter().map(|page| page.assets.len()).max();
        let of_host = match self.http {
            Http::One => {
                let most = usize::from(self.scenario.connections().parallel);
                assets.unwrap_or_default().clamp(1, most.max(1))
            }
            Http::Two => 1,
        };
        of_host * (1 + self.scenario.hosts().len())
    }

    /// The arrivals of the plan, else those of the scenario.
    ///
    /// # Errors
    /// Neither defines arrivals.
    pub fn arrivals(&self) -> Result<Arrivals, Error> {
        self.arrivals.clone().or_else(|| self.scenario.arrivals().cloned()).ok_or(Error::Plan {
            key: "arrivals",
            rule: "no arrivals are defined".to_owned(),
            remedy: "give a rate, as by --rate 5, or [arrivals] rate = 5 in the scenario",
        })
    }

    /// Warm-up and measured window for these arrivals, as `flags` or else the scenario state
    /// them, else by the schedule.
    pub fn window(&self, flags: RunTimes) -> Window {
        let scenario = self.scenario.run();
        let stated = RunTimes {
            warm_up: flags.warm_up.or(scenario.warm_up),
            duration: flags.duration.or(scenario.duration),
        };
        Window::choose(self.arrivals().ok().as_ref(), stated)
    }

    /// The factor on patience.
    pub(crate) fn patience_factor(&self) -> f64 {
        (self.time_scale * self.patience_scale).min(1e6)
    }

    /// The tickets used for resumption.
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

    /// The TLS settings of all customers.
    ///
    /// # Errors
    /// As [`Plan::offer`].
    pub(crate) fn tls_settings(&self) -> Result<TlsSettings, Error> {
        Ok(TlsSettings {
            offer: self.offer()?,
            insecure: self.insecure,
            ca: self.ca.clone(),
            certificate: self.certificate.clone(),
            http: self.http,
            server_name: self.server_name.clone(),
            forged_tickets: self.forged_tickets,
            server_key: self.server_key,
            tickets: self.tickets_of(),
            full_share: self.full_share,
        })
    }
}
