//! `tidegate site`: run a reference site.

mod addresses;
mod b2b;
mod brokerage;
mod card;
mod certificates;
mod error;
mod messages;
mod partners;
mod serving;
mod shop;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::Subcommand;
use tidegate_auction::Options;
use tidegate_sitekit::password::PasswordCost;

use crate::exit::Outcome;
use error::classify;
use serving::until_signalled;
use tidegate_host::Cores;

/// Flags of `tidegate site`.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    site: Site,
}

#[derive(Subcommand)]
enum Site {
    /// RUBiS: an auction house with users, bids, purchases and comments
    Auction(AuctionArgs),
    /// Services between businesses, as JSON and SOAP, derived from TPC-App
    B2b(Box<b2b::Args>),
    /// A brokerage of three tiers, whose links can each be secured
    Brokerage(Box<brokerage::Args>),
    /// A card processor with test cards: payments, captures, refunds, webhooks, a card form
    Card(Box<card::Args>),
    /// Messages that are secured one by one, or by their connection
    Messages(messages::Args),
    /// The partners of a business: validation of purchase orders, inventory, shipment
    Partners(partners::Args),
    /// A shop: prices by postcode, baskets, orders that are paid by card
    Shop(Box<shop::Args>),
}

#[derive(clap::Args)]
struct AuctionArgs {
    /// Address to listen on
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// PostgreSQL database, postgres://user@host/name [default: SQLite in --data]
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// Folder of the SQLite file
    #[arg(long, value_name = "DIR", default_value = "data")]
    data: PathBuf,
    /// Size of a new population; 1 is a million users [default: 0.01]
    #[arg(long, value_name = "S")]
    scale: Option<f64>,
    /// Seed of a new population [default: 1]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Cost of a password hash: owasp, light, or m=KIB,t=PASSES
    #[arg(long, value_name = "COST", default_value = "owasp")]
    password_cost: PasswordCost,
    /// CPU time that every page but the front page uses in addition, in
    /// milliseconds: a costlier site
    #[arg(long, value_name = "MS", default_value_t = 0.0, value_parser = milliseconds)]
    extra_cpu: f64,
    /// With --extra-cpu, seconds from the start until it applies: a site whose
    /// cost rises while it serves
    #[arg(long, value_name = "S", default_value_t = 0.0, requires = "extra_cpu", value_parser = seconds)]
    extra_cpu_after: f64,
    /// Addresses of gates and other proxies on other machines, whose X-Forwarded-For
    /// names the customer: failed logins are limited by the customer's address
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    trusted_proxies: Vec<IpAddr>,
    /// Processors to run on, one thread pinned to each, such as 0,2-3
    #[arg(long, value_name = "LIST")]
    cores: Option<Cores>,
    /// Record what every connection does, for `tidegate trace`
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
}

/// Serves until SIGTERM or SIGINT.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    match args.site {
        Site::Auction(args) => auction(args),
        Site::B2b(args) => b2b::run(*args),
        Site::Brokerage(args) => brokerage::run(*args),
        Site::Card(args) => card::run(*args),
        Site::Messages(args) => messages::run(args),
        Site::Partners(args) => partners::run(args),
        Site::Shop(args) => shop::run(*args),
    }
}

fn auction(args: AuctionArgs) -> anyhow::Result<Outcome> {
    if args.trace.is_some() {
        // What tracing took, and why it ended early.
        let ansi = std::io::IsTerminal::is_terminal(&std::io::stderr());
        tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(ansi).init();
    }
    let options = Options {
        listen: args.listen,
        database: args.database,
        data: args.data,
        scale: args.scale,
        seed: args.seed,
        password_cost: args.password_cost,
        extra_cpu: Duration::from_secs_f64(args.extra_cpu / 1e3),
        extra_cpu_after: Duration::from_secs_f64(args.extra_cpu_after),
        trusted_proxies: args.trusted_proxies,
        cores: args.cores.map(|cores| cores.list().to_vec()),
        trace: args.trace,
    };
    let site = tidegate_auction::start(options).map_err(classify)?;
    until_signalled(format!("site: http://{}\n", site.address()))?;
    site.shutdown();
    Ok(Outcome::Done)
}

fn milliseconds(text: &str) -> Result<f64, String> {
    let most = Options::MOST_EXTRA_CPU.as_secs_f64() * 1e3;
    let value = text.parse::<f64>().ok().filter(|ms| (0.0..=most).contains(ms));
    value.ok_or_else(|| format!("must be 0 to {most} milliseconds, such as 0.9"))
}

fn seconds(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|s| (0.0..=86_400.0).contains(s));
    value.ok_or_else(|| "must be 0 to 86400 seconds, such as 30".to_owned())
}
