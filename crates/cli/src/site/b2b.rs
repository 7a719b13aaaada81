//! `tidegate site b2b`: services between businesses.

use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::path::PathBuf;

use tidegate_b2b::Options;
use tidegate_b2b::fulfil::FulfilOptions;
use tidegate_host::Cores;
use tidegate_partners::client::PartnerOptions;
use tidegate_sitekit::breaker::Limits;
use tidegate_sitekit::queue::Place;
use tidegate_sitekit::tls::{Clients, Tls, TlsVersion};
use tracing_subscriber::EnvFilter;

use super::certificates::make_ca;
use super::error::classify;
use super::serving::until_signalled;
use crate::exit::{Outcome, bad_input};

/// Flags of `tidegate site b2b`.
#[derive(clap::Args)]
pub struct Args {
    /// Address to listen on
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// PostgreSQL database, postgres://user@host/name [default: SQLite in --data]
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// Folder of the SQLite file
    #[arg(long, value_name = "DIR", default_value = "data")]
    data: PathBuf,
    /// Size of a new population; 1 is 1,000 businesses and 10,000 items [default: 1]
    #[arg(long, value_name = "S")]
    scale: Option<f64>,
    /// Seed of a new population [default: 1]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Serve HTTPS with these versions of TLS: 1.2, 1.3 or both [default: plain HTTP]
    #[arg(long, value_name = "VERSIONS")]
    tls: Option<TlsVersion>,
    /// Certificate chain for --tls, PEM [default: a self-signed one, made at the start]
    #[arg(long, value_name = "FILE", requires = "tls", requires = "key")]
    certificate: Option<PathBuf>,
    /// Private key of the certificate, PEM
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// Every handshake is a full one
    #[arg(long, requires = "tls")]
    no_resumption: bool,
    /// CAs of the certificates by which businesses are known, PEM: such a certificate names
    /// business-N, where N is its number
    #[arg(long, value_name = "FILE", requires = "tls")]
    client_ca: Option<PathBuf>,
    /// Certificates of businesses that are revoked, PEM
    #[arg(long, value_name = "FILE", requires = "client_ca")]
    client_crl: Option<PathBuf>,
    /// Refuse connections without a certificate of a business
    #[arg(long, requires = "client_ca")]
    client_required: bool,
    /// Make a CA and certificates of businesses 1 to N in the folder --data,
    /// and end
    #[arg(long, value_name = "N")]
    make_certificates: Option<u16>,
    /// Address and port of the partners, as `tidegate site partners` prints them; several are
    /// called in turn [default: none; every order is good, and goods are there at once]
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "partner_certificates")]
    partners: Vec<String>,
    /// Folder of the certificates for the partners
    #[arg(long, value_name = "DIR", requires = "partners")]
    partner_certificates: Option<PathBuf>,
    /// Where orders wait to be fulfilled: database, or a NATS server with JetStream, such as
    /// nats://127.0.0.1:4222
    #[arg(long, value_name = "PLACE", default_value_t = Place::Database)]
    queue: Place,
    /// Most messages in a queue of NATS; what is beyond waits in the database
    #[arg(long, value_name = "N", default_value_t = FulfilOptions::QUEUE_MOST,
        value_parser = clap::value_parser!(i64).range(1..))]
    queue_most: i64,
    /// URL under which businesses reach the services, such as that of a gate, for their
    /// descriptions [default: that of the request]
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// Processors to run on, one thread pinned to each, such as 0,2-3
    #[arg(long, value_name = "LIST")]
    cores: Option<Cores>,
    /// Record what every connection does, for `tidegate trace`
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// What to log, such as debug or tidegate_b2b=debug
    #[arg(long, value_name = "FILTER", default_value = "info")]
    log: String,
}

/// Serves until SIGTERM or SIGINT, or makes certificates.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    if let Some(businesses) = args.make_certificates {
        let names: Vec<String> = (1..=businesses).map(|it| format!("business-{it}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        return make_ca(&args.data, &names);
    }
    let filter = EnvFilter::try_new(&args.log)
        .map_err(|error| bad_input(format!("--log {}: {error}; try info", args.log)))?;
    let ansi = std::io::stderr().is_terminal();
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    log.with_ansi(ansi).init();
    let clients = args.client_ca.map(|ca| Clients {
        ca,
        revoked: args.client_crl,
        required: args.client_required,
        told: true,
    });
    let files = args.certificate.zip(args.key);
    let resumption = !args.no_resumption;
    let partners = args.partner_certificates.map(|certificates| PartnerOptions {
        addresses: args.partners,
        certificates,
        breaker: Limits::default(),
    });
    let options = Options {
        listen: args.listen,
        database: args.database,
        data: args.data,
        scale: args.scale,
        seed: args.seed,
        tls: args.tls.map(|version| Tls { version, files, resumption, clients }),
        public_url: args.public_url,
        fulfil: FulfilOptions { partners, queue: args.queue, queue_most: args.queue_most },
        cores: args.cores.map(|cores| cores.list().to_vec()),
        trace: args.trace,
    };
    let scheme = if options.tls.is_some() { "https" } else { "http" };
    let site = tidegate_b2b::start(&options).map_err(classify)?;
    until_signalled(format!("site: {scheme}://{}\n", site.address()))?;
    site.shutdown();
    Ok(Outcome::Done)
}
