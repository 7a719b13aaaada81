//! Flags of `tidegate load`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use tidegate_host::Cores;
use tidegate_load::scenario::Method;
use tidegate_load::{
    Close, Http, KeepAlive, KeyExchangeGroup, Resolve, Shard, Sources, Suite, TicketsOf,
    TlsVersions, start_at,
};

use super::{Command, metrics, values};

/// Flags of `tidegate load`.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Args {
    #[command(subcommand)]
    pub(super) command: Option<Command>,
    /// The URL of a page; or a scenario file or the name of a built-in scenario, with --target.
    /// A URL alone is requested by 10 customers without think time
    #[arg(value_name = "URL|SCENARIO")]
    pub(super) scenario: Option<String>,
    /// URL of the service that the scenario is for, such as https://127.0.0.1:8443
    #[arg(long, value_name = "URL")]
    pub(super) target: Option<String>,
    /// Addresses of the target in place of those of its name, as in curl; repeat the flag or
    /// separate them by commas. Connections use all addresses of a name in turn
    #[arg(long, value_name = "HOST:PORT:ADDR", value_parser = Resolve::parse, help_heading = "Requests")]
    pub(super) resolve: Vec<Resolve>,
    /// List the built-in scenarios
    #[arg(long)]
    pub(super) list: bool,
    /// Print a built-in scenario, as a file to start from
    #[arg(long, value_name = "NAME")]
    pub(super) show: Option<String>,
    /// Print the reference of scenario files: every table and key
    #[arg(long)]
    pub(super) reference: bool,
    /// Sessions per second, with a URL alone requests per second, as a Poisson process: 50,
    /// 50/s or 3000/m; replaces the scenario's arrivals
    #[arg(short, long, value_name = "PER_S", value_parser = values::rate, allow_negative_numbers = true, help_heading = "Arrivals")]
    pub(super) rate: Option<f64>,
    /// Requests per second, Poisson arrivals, each a session of its own (open model);
    /// deprecated: use --rate with a URL
    #[arg(long, value_name = "PER_S", value_parser = values::rate, hide = true, help_heading = "Arrivals")]
    pub(super) requests: Option<f64>,
    /// Number of customers who begin a new session after the last has ended and a think
    /// time (closed model), with a URL alone the number of connections; beside --rate or other
    /// arrivals a load in addition to them
    #[arg(short, long, value_name = "N", visible_aliases = ["connections", "vus"], help_heading = "Arrivals")]
    pub(super) closed: Option<u32>,
    /// Stop after this number of sessions, with a URL alone of requests; without --duration
    /// nothing else ends the run
    #[arg(short = 'n', long, value_name = "N", value_parser = values::count, help_heading = "Arrivals")]
    pub(super) sessions: Option<u64>,
    /// Arrivals as in a scenario file, such as
    /// 'wave = { mean = 20, swing = 0.5, period = "1h" }'; repeat the flag to combine several
    #[arg(long, value_name = "TOML", help_heading = "Arrivals")]
    pub(super) arrivals: Vec<String>,
    /// Warm-up, not counted, such as 10s; default: with a URL alone 2s, else that of the scenario,
    /// else none where its arrivals have an end, as a ramp has, else 10s, 30s in the closed model
    #[arg(long, value_name = "TIME", value_parser = values::time, allow_negative_numbers = true, help_heading = "Time")]
    pub(super) warm_up: Option<Duration>,
    /// Measured time, such as 30s or 5m; default: with a URL alone 8s, else that of the scenario,
    /// else until the end of its arrivals, else 30s, 60s in the closed model
    #[arg(short, long, value_name = "TIME", value_parser = values::length, allow_negative_numbers = true, help_heading = "Time")]
    pub(super) duration: Option<Duration>,
    /// Header field of every request, such as 'Accept: text/html' or 'Cookie: sid=1'; repeat the
    /// flag for several
    #[arg(short = 'H', long = "header", value_name = "FIELD", value_parser = tidegate_load::HeaderField::parse, help_heading = "Requests")]
    pub(super) headers: Vec<tidegate_load::HeaderField>,
    /// Method of the requests to a URL [default: GET, POST with --data]
    #[arg(short = 'X', long, value_name = "METHOD", value_parser = method, help_heading = "Requests")]
    pub(super) method: Option<Method>,
    /// Body of the requests to a URL, or @FILE for the bytes of a file, @- for standard input
    #[arg(long, value_name = "TEXT", visible_alias = "body", help_heading = "Requests")]
    pub(super) data: Option<String>,
    /// Factor on think times and patience
    #[arg(long, value_name = "X", default_value_t = 1.0, help_heading = "Time")]
    pub(super) time_scale: f64,
    /// Time-out of a request, the patience of a customer, before the factors on it [default: that
    /// of the scenario, 10s for a URL alone]
    #[arg(long, value_name = "TIME", visible_alias = "patience", value_parser = values::patience, help_heading = "Time")]
    pub(super) timeout: Option<Duration>,
    /// Additional factor on patience
    #[arg(long, value_name = "X", default_value_t = 1.0, help_heading = "Time")]
    pub(super) patience_scale: f64,
    /// Number of customer accounts that the scenario draws from
    #[arg(long, value_name = "N", help_heading = "Requests")]
    pub(super) customers: Option<u64>,
    /// Seed of every random choice
    #[arg(long, default_value_t = 1, help_heading = "Requests")]
    pub(super) seed: u64,
    /// Threads of the load generator [default: with a URL alone one for each processor, but
    /// no more than connections; else 1]
    #[arg(short, long, value_name = "N", conflicts_with = "cores",
          value_parser = clap::value_parser!(u16).range(1..=256), help_heading = "Load generator")]
    pub(super) threads: Option<u16>,
    /// Processors of the load generator, one thread each, such as 1 or 1-3
    #[arg(long, value_name = "LIST", help_heading = "Load generator")]
    pub(super) cores: Option<Cores>,
    /// Generate the load with this number of processes on this machine, each with a shard
    /// of the test, and print one report. With --cores the processors are divided among
    /// them
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "shard",
          value_parser = clap::value_parser!(u32).range(1..=256), help_heading = "Load generator")]
    pub(super) drivers: u32,
    #[command(flatten)]
    pub(super) fleet: super::fleet::args::FleetArgs,
    /// Generate one shard of a test that several processes or machines share, such as 1/3:
    /// every third arrival. All shards need the same flags and the same --start-at; add up
    /// their --json files with `tidegate load merge`
    #[arg(long, value_name = "I/N", alias = "part", value_parser = Shard::parse,
          requires = "start_at", help_heading = "Load generator")]
    pub(super) shard: Option<Shard>,
    /// Start at this time, such as 2026-05-01T12:00:00Z; the clocks of all machines must be
    /// synchronised
    #[arg(long, value_name = "TIME", value_parser = start_at, help_heading = "Time")]
    pub(super) start_at: Option<SystemTime>,
    /// Accept any server certificate
    #[arg(short = 'k', long, help_heading = "TLS and HTTP")]
    pub(super) insecure: bool,
    /// Certificate authorities to trust instead of the system's (PEM)
    #[arg(long, value_name = "FILE", help_heading = "TLS and HTTP")]
    pub(super) ca: Option<PathBuf>,
    /// TLS versions to offer
    #[arg(long, value_name = "VERSION", value_parser = values::word(&TlsVersions::ALL[1..]), help_heading = "TLS and HTTP")]
    pub(super) tls: Option<TlsVersions>,
    /// Cipher suites to offer, in order of preference, such as
    /// TLS_AES_256_GCM_SHA384,TLS_CHACHA20_POLY1305_SHA256
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = Suite::parse, help_heading = "TLS and HTTP")]
    pub(super) suites: Vec<Suite>,
    /// Key exchange groups to offer, in order of preference, such as X25519MLKEM768,x25519
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = KeyExchangeGroup::parse, help_heading = "TLS and HTTP")]
    pub(super) groups: Vec<KeyExchangeGroup>,
    /// Client certificate for servers that request one (PEM), the same for all customers
    #[arg(long, value_name = "FILE", help_heading = "TLS and HTTP")]
    pub(super) cert: Option<PathBuf>,
    /// Private key of the client certificate (PEM), if it is not in the same file
    #[arg(long, value_name = "FILE", requires = "cert", help_heading = "TLS and HTTP")]
    pub(super) key: Option<PathBuf>,
    /// Share of the TLS handshakes that are full, such as 0.3; all others are resumed, in
    /// random order
    #[arg(long, value_name = "SHARE", help_heading = "TLS and HTTP")]
    pub(super) full_share: Option<f64>,
    /// Tickets used for resumption: the customer's own (default), those of all customers
    /// (default with --full-share), or one TLS 1.3 ticket for all handshakes
    #[arg(long, value_name = "OF", value_parser = values::word(TicketsOf::ALL), help_heading = "TLS and HTTP")]
    pub(super) tickets: Option<TicketsOf>,
    /// HTTP version; 2 is negotiated by ALPN over TLS and used with prior knowledge over
    /// plain TCP
    #[arg(long, value_name = "VERSION", value_parser = values::word(Http::ALL), help_heading = "TLS and HTTP")]
    pub(super) http: Option<Http>,
    /// Accept compressed responses (gzip, br, zstd), as browsers do
    #[arg(long, help_heading = "TLS and HTTP")]
    pub(super) compressed: bool,
    /// Keep a connection open for one request, for a session (default), or for all sessions
    /// of a customer of the closed model
    #[arg(long, value_name = "FOR", value_parser = values::word(KeepAlive::ALL), help_heading = "TLS and HTTP")]
    pub(super) keep: Option<KeepAlive>,
    /// Close connections with close_notify and FIN (shutdown, default) or with a reset
    #[arg(long, value_name = "HOW", value_parser = values::word(Close::ALL), help_heading = "TLS and HTTP")]
    pub(super) close: Option<Close>,
    /// Source addresses: auto (default: 64 addresses of 127.0.77.0/24 for a target on
    /// loopback), system, or a list of addresses and networks such as 127.8.0.0/16
    #[arg(long, value_name = "LIST", value_parser = Sources::parse, help_heading = "TLS and HTTP")]
    pub(super) sources: Option<Sources>,
    /// Every customer first offers a ticket that the target did not issue, as an attacker
    /// would; needs --insecure
    #[arg(long, help_heading = "TLS and HTTP")]
    pub(super) forged_tickets: bool,
    /// Allow an attack (handshake-flood, forged tickets) against a service that is not on
    /// loopback; use it only against your own service
    #[arg(long, help_heading = "TLS and HTTP")]
    pub(super) attack_remote: bool,
    /// Number of runs, each with the next seed; prints the mean and its 95 % confidence
    /// interval of each figure. The files of requests and seconds get the number of the run
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "Time")]
    pub(super) repeat: u32,
    /// Write the complete result as JSON; - is standard output, and the report goes to standard
    /// error
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) json: Option<PathBuf>,
    /// Write thresholds, checks and steps as JUnit XML, as CI systems read it
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) junit: Option<PathBuf>,
    /// Print requests and responses of the first sessions of the test to standard error: the heads
    /// and the first kilobyte of each body, without the values of secrets. Without a value of 3
    /// sessions
    #[arg(long, value_name = "SESSIONS", num_args = 0..=1, require_equals = true,
          default_missing_value = "3", value_parser = clap::value_parser!(u32).range(1..=1000),
          help_heading = "Output")]
    pub(super) http_debug: Option<u32>,
    /// Write the result as a page (HTML): verdict, figures and charts, in one file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) report: Option<PathBuf>,
    /// Write every request as a line of JSON
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) raw: Option<PathBuf>,
    /// Write every request as a row of Parquet
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) parquet: Option<PathBuf>,
    /// Write every second as a line of CSV
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) csv: Option<PathBuf>,
    /// Record what every customer does, for `tidegate trace`; requests get the header field
    /// traceparent. With --drivers each process writes a file of its own, such as
    /// load.2.trace
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) trace: Option<PathBuf>,
    /// Serve Prometheus metrics at /metrics of this address, or of this port on loopback
    #[arg(long, value_name = "ADDRESS", value_parser = metrics::address, help_heading = "Output")]
    pub(super) metrics: Option<SocketAddr>,
    /// Send metrics to an OpenTelemetry collector (OTLP over HTTP), such as
    /// http://127.0.0.1:4318; without a value to OTEL_EXPORTER_OTLP_ENDPOINT, else to
    /// http://localhost:4318
    #[arg(long, value_name = "URL", num_args = 0..=1, default_missing_value = "", help_heading = "Output")]
    pub(super) otlp: Option<String>,
    /// Print plain lines instead of the live screen
    #[arg(long, help_heading = "Output")]
    pub(super) plain: bool,
}

fn method(text: &str) -> Result<Method, String> {
    let known = Method::ALL.into_iter().find(|known| known.as_str().eq_ignore_ascii_case(text));
    known.ok_or_else(|| format!("must be one of {}", Method::ALL.map(Method::as_str).join(", ")))
}
