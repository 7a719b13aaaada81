//! `tidegate site partners`: the partners of a business.

use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::path::PathBuf;

use tidegate_host::Cores;
use tidegate_partners::{Behaviour, Options, TIERS};
use tracing_subscriber::EnvFilter;

use super::certificates::make_ca;
use super::error::classify;
use super::serving::until_signalled;
use crate::exit::{Outcome, bad_input};

/// Flags of `tidegate site partners`.
#[derive(clap::Args)]
pub struct Args {
    /// Address to listen on
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9100")]
    listen: SocketAddr,
    /// Folder of the SQLite file, and of certificates that are made
    #[arg(long, value_name = "DIR", default_value = "data/partners")]
    data: PathBuf,
    /// Folder of the certificates: ca.pem, partners.pem, partners-key.pem, and crl.pem if some
    /// are revoked [default: made in --data, for one machine]
    #[arg(long, value_name = "DIR")]
    certificates: Option<PathBuf>,
    /// Make a CA and the certificates of the partners and of the business in a folder, and end
    #[arg(long, value_name = "DIR", exclusive = true)]
    make_ca: Option<PathBuf>,
    /// How purchase orders are validated, such as latency=20ms..80ms,fail=0.01,lose=0.01,hang=0,decline=0.02
    #[arg(long, value_name = "SETTINGS", default_value_t = Behaviour::default())]
    validation: Behaviour,
    /// How the inventory partner supplies goods
    #[arg(long, value_name = "SETTINGS", default_value_t = Behaviour::default())]
    inventory: Behaviour,
    /// How the carrier takes notice of shipments
    #[arg(long, value_name = "SETTINGS", default_value_t = Behaviour::default())]
    shipment: Behaviour,
    /// What to log, such as debug or tidegate_partners=debug
    #[arg(long, value_name = "FILTER", default_value = "info")]
    log: String,
    /// Processors to run on, one thread pinned to each, such as 0,2-3
    #[arg(long, value_name = "LIST")]
    cores: Option<Cores>,
}

/// Serves until SIGTERM or SIGINT, or makes certificates.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    if let Some(folder) = &args.make_ca {
        return make_ca(folder, &TIERS);
    }
    let filter = EnvFilter::try_new(&args.log)
        .map_err(|error| bad_input(format!("--log {}: {error}; try info", args.log)))?;
    let ansi = std::io::stderr().is_terminal();
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    log.with_ansi(ansi).init();
    let site = tidegate_partners::start(Options {
        listen: args.listen,
        data: args.data,
        certificates: args.certificates,
        validation: args.validation,
        inventory: args.inventory,
        shipment: args.shipment,
        cores: args.cores.map(|cores| cores.list().to_vec()),
    })
    .map_err(classify)?;
    let (address, certificates) = (site.address(), site.certificates().display());
    until_signalled(format!("site: {address}\ncertificates: {certificates}\n"))?;
    site.shutdown();
    Ok(Outcome::Done)
}
