//! Flags of `tidegate site brokerage`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use tidegate_brokerage::Security;
use tidegate_host::Cores;
use tidegate_sitekit::link::{Cipher, Spec};
use tidegate_sitekit::password::PasswordCost;
use tidegate_sitekit::tls::TlsVersion;

/// The environment variable of `--database`. It is read beside the flags: as one of them it would
/// forbid `--make-ca`, which allows no other.
pub const DATABASE: &str = "TIDEGATE_DATABASE";

/// Flags of `tidegate site brokerage`.
#[derive(clap::Args)]
pub struct Args {
    /// Start this tier alone [default: all three, each a process of its own]
    #[arg(long, value_name = "TIER")]
    pub tier: Option<Tier>,
    /// Address to listen on; with all three tiers, that of the web tier
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,
    /// Address of the next tier, of --tier web and --tier app; several times for several
    /// application servers
    #[arg(long, value_name = "HOST:PORT")]
    pub next: Vec<String>,
    /// Application servers behind the web tier, with all three tiers
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=16))]
    pub app_servers: u8,
    /// Security of all connections: none, tls (of the browsers), tls+backend (and sealed
    /// messages between the tiers) or modern (mutual TLS between the tiers) [default: none]
    #[arg(long, value_name = "PRESET")]
    pub security: Option<Security>,
    /// The link from web to app, instead of the preset's: none, tls or sealed, then
    /// persistent or per-request, and for tls resumed or full; such as sealed,per-request
    #[arg(long, value_name = "LINK")]
    pub web_app: Option<Spec>,
    /// The link from app to data, instead of the preset's
    #[arg(long, value_name = "LINK")]
    pub app_data: Option<Spec>,
    /// Folder of the tiers' certificates, for links with tls [with all three: made in --data]
    #[arg(long, value_name = "DIR")]
    pub certificates: Option<PathBuf>,
    /// File of the key of the link from web to app, if it is sealed [with all three: made in
    /// --data]
    #[arg(long, value_name = "FILE")]
    pub web_app_key: Option<PathBuf>,
    /// File of the key of the link from app to data, if it is sealed [with all three: made in
    /// --data]
    #[arg(long, value_name = "FILE")]
    pub app_data_key: Option<PathBuf>,
    /// Addresses under which the tier before calls this one, where something between changes
    /// them: for sealed messages, which are accepted at their address alone
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "tier")]
    pub known_as: Vec<String>,
    /// Write a CA and a certificate for each tier to this folder, and end
    #[arg(long, value_name = "DIR", exclusive = true)]
    pub make_ca: Option<PathBuf>,
    /// Write a new key for sealed messages to this file, or add one to it, and end
    #[arg(long, value_name = "FILE", conflicts_with_all = ["tier", "make_ca"])]
    pub make_key: Option<PathBuf>,
    /// Cipher of --make-key: aes-256-gcm or chacha20-poly1305
    #[arg(long, value_name = "CIPHER", default_value = "aes-256-gcm")]
    pub cipher: Cipher,
    /// Versions of TLS for browsers, with a --security that has it: 1.2, 1.3 or both
    /// [default: both]
    #[arg(long, value_name = "VERSIONS")]
    pub tls: Option<TlsVersion>,
    /// Certificate chain for browsers, PEM [default: a self-signed one, made at the start]
    #[arg(long, value_name = "FILE", requires = "key")]
    pub certificate: Option<PathBuf>,
    /// Private key of the certificate, PEM, which only its owner and its group may read
    #[arg(long, value_name = "FILE", requires = "certificate")]
    pub key: Option<PathBuf>,
    /// CAs of the certificates that browsers must show, PEM [default: none is asked for]
    #[arg(long, value_name = "FILE")]
    pub client_ca: Option<PathBuf>,
    /// Also serve static pages of 30 bytes, 36 KiB and 1 MiB, /static/page-30 to
    /// /static/page-1048576, for measurements
    #[arg(long)]
    pub measured_pages: bool,
    /// PostgreSQL database, postgres://user@host/name [default: SQLite in --data]. With a
    /// password give it by the environment variable TIDEGATE_DATABASE: every user of the machine
    /// can read the command line
    #[arg(long, value_name = "URL")]
    pub database: Option<String>,
    /// Folder of the SQLite file, and of keys that are made
    #[arg(long, value_name = "DIR", default_value = "data")]
    pub data: PathBuf,
    /// Customers of a new population: customer1 with the password password1, and so on
    /// [default: 1000]
    #[arg(long, value_name = "N")]
    pub customers: Option<i64>,
    /// Seed of a new population, and of the random walk of prices [default: 1]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Cost of a password hash: owasp, light, or m=KIB,t=PASSES
    #[arg(long, value_name = "COST", default_value = "owasp")]
    pub password_cost: PasswordCost,
    /// Replay prices from a CSV file with the columns tick,symbol,price [default: a random walk]
    #[arg(long, value_name = "FILE")]
    pub feed: Option<PathBuf>,
    /// Time between two ticks of the price feed, milliseconds
    #[arg(long, value_name = "MS", default_value_t = 1000)]
    pub feed_interval: u64,
    /// What makes the pages: in-process, or cgi (a process for each request)
    #[arg(long, value_name = "WAY", default_value = "in-process")]
    pub stub: Way,
    /// Addresses of gates and other proxies on other machines, whose X-Forwarded-For and
    /// X-Forwarded-Proto are believed
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub trusted_proxies: Vec<IpAddr>,
    /// Start a card processor as well, with keys in --data: customers pay in by test cards
    #[arg(long, conflicts_with_all = ["card_processor", "webhook_secret_file"])]
    pub card: bool,
    /// Address of the card processor of --card
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8090", requires = "card")]
    pub card_listen: SocketAddr,
    /// URL of the card processor that takes deposits, for --tier app [default: customers cannot
    /// pay in]
    #[arg(long, value_name = "URL", requires_all = ["card_key_file", "public_url"])]
    pub card_processor: Option<String>,
    /// File of the API key of the card processor, which nobody else may read
    #[arg(long, value_name = "FILE", requires = "card_processor")]
    pub card_key_file: Option<PathBuf>,
    /// Certificates that the card processor may show, PEM [default: those of the system]
    #[arg(long, value_name = "FILE", requires = "card_processor")]
    pub card_ca: Option<PathBuf>,
    /// URL under which customers reach the web tier: they come back there from the card form
    /// [default with --card: that of --listen]
    #[arg(long, value_name = "URL")]
    pub public_url: Option<String>,
    /// Secrets that sign the card processor's webhooks, one a line, for --tier web: it takes
    /// them at /card-events
    #[arg(long, value_name = "FILE")]
    pub webhook_secret_file: Option<PathBuf>,
    /// Processors to run on, one thread of each tier pinned to each, such as 0,2-3
    #[arg(long, value_name = "LIST")]
    pub cores: Option<Cores>,
    /// Answer one request by the Common Gateway Interface
    #[arg(long, hide = true)]
    pub stub_call: bool,
}

/// A tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Tier {
    /// Pages and forms
    Web,
    /// The rules
    App,
    /// SQL
    Data,
}

impl Tier {
    /// Its name as a flag.
    pub fn name(self) -> &'static str {
        match self {
            Self::Web => "web",
            Self::App => "app",
            Self::Data => "data",
        }
    }
}

/// What makes the pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Way {
    /// The web tier's process
    InProcess,
    /// A process for each request
    Cgi,
}

impl Args {
    /// URL of the PostgreSQL database, by the flag or else by the environment.
    pub fn database(&self) -> Option<String> {
        let set = || std::env::var_os(DATABASE).filter(|url| !url.is_empty());
        self.database.clone().or_else(|| Some(set()?.to_string_lossy().into_owned()))
    }

    /// The security of the connections that have no flag of their own.
    pub fn security(&self) -> Security {
        self.security.unwrap_or(Security::NONE)
    }

    /// The versions of TLS for browsers.
    pub fn tls(&self) -> TlsVersion {
        self.tls.unwrap_or(TlsVersion::Both)
    }

    /// A flag that is for TLS of the browsers, where no --security was chosen: nobody who gives
    /// it expects HTTP.
    pub fn flag_without_tls(&self) -> Option<&'static str> {
        let flags = [
            ("--certificate", self.certificate.is_some()),
            ("--tls", self.tls.is_some()),
            ("--client-ca", self.client_ca.is_some()),
        ];
        let given = flags.into_iter().find_map(|(flag, given)| given.then_some(flag));
        given.filter(|_| self.security.is_none())
    }

    /// The link from web to app.
    pub fn web_app(&self) -> Spec {
        self.web_app.unwrap_or(self.security().web_app)
    }

    /// The link from app to data.
    pub fn app_data(&self) -> Spec {
        self.app_data.unwrap_or(self.security().app_data)
    }

    /// The seed of the random walk.
    pub fn walk_seed(&self) -> u64 {
        self.seed.unwrap_or(tidegate_brokerage::data::Options::SEED)
    }
}
