//! `tidegate site shop`: the shop, with a card processor beside it unless one is named.

use std::io::IsTerminal as _;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use tidegate_card::client::{CardOptions, return_url};
use tidegate_host::Cores;
use tidegate_lab::{CardProcessor, Launch, RunningProcessor};
use tidegate_shop::{Build, Options, RETURNED, Size};
use tidegate_sitekit::money::Cents;
use tidegate_sitekit::password::PasswordCost;
use tracing_subscriber::EnvFilter;

use super::addresses::{fixed, public_url};
use super::error::classify;
use super::serving::until_signalled;
use crate::exit::{Outcome, bad_input};

/// The shop's name at the processor.
const MERCHANT: &str = "shop";

/// Flags of `tidegate site shop`.
#[derive(clap::Args)]
pub struct Args {
    /// Address to listen on
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// PostgreSQL database, postgres://user@host/name [default: SQLite in --data]
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// Folder of the SQLite file, and of the card processor's
    #[arg(long, value_name = "DIR", default_value = "data")]
    data: PathBuf,
    /// Size of a new population: small (500 products), medium (5,000) or large (50,000)
    /// [default: small]
    #[arg(long, value_name = "SIZE")]
    size: Option<Size>,
    /// Seed of a new population [default: 1]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// How browse pages are made: baseline (each anew), cached, or rendered (cached, with the
    /// header fields by which `tidegate render` writes them to files)
    #[arg(long, value_name = "BUILD", default_value_t = Build::Baseline)]
    build: Build,
    /// How long pages are kept, 1 to 3600 s; not for baseline
    #[arg(long, value_name = "S", default_value_t = Options::KEPT.as_secs())]
    keep_seconds: u64,
    /// URL of a card processor [default: one is started beside the shop]
    #[arg(long, value_name = "URL", requires = "card_key_file")]
    card_processor: Option<String>,
    /// The shop's key at --card-processor, which `tidegate site card --make-key shop` prints
    #[arg(long, value_name = "FILE", requires = "card_processor")]
    card_key_file: Option<PathBuf>,
    /// Certificates that --card-processor may show, PEM [default: those of the system]
    #[arg(long, value_name = "FILE", requires = "card_processor")]
    card_ca: Option<PathBuf>,
    /// Address of the card processor that is started
    #[arg(
        long,
        value_name = "ADDR",
        default_value = "127.0.0.1:8090",
        conflicts_with = "card_processor"
    )]
    card_listen: SocketAddr,
    /// URL under which customers reach the shop, such as that of a gate [default: that of
    /// --listen]
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// Cost of a password hash: owasp, light, or m=KIB,t=PASSES
    #[arg(long, value_name = "COST", default_value = "owasp")]
    password_cost: PasswordCost,
    /// Addresses of gates and other proxies on other machines, whose X-Forwarded-For names the
    /// customer: failed logins are limited by the customer's address
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    trusted_proxies: Vec<IpAddr>,
    /// Processors to run on, one thread pinned to each, such as 0,2-3
    #[arg(long, value_name = "LIST")]
    cores: Option<Cores>,
    /// Record what every connection does, for `tidegate trace`
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Change the list price of a product in the database, such as 17=12.50, also while the shop
    /// is running, and end
    #[arg(long, value_name = "PRODUCT=PRICE", value_parser = price)]
    set_price: Option<(i64, Cents)>,
    /// What to log, such as debug or tidegate_shop=debug
    #[arg(long, value_name = "FILTER", default_value = "info")]
    log: String,
}

/// Serves until SIGTERM or SIGINT, or changes a price.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let filter = EnvFilter::try_new(&args.log)
        .map_err(|error| bad_input(format!("--log {}: {error}; try info", args.log)))?;
    let ansi = std::io::stderr().is_terminal();
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    log.with_ansi(ansi).init();
    let mut options = Options {
        listen: args.listen,
        database: args.database.clone(),
        data: args.data.clone(),
        size: args.size,
        seed: args.seed,
        build: args.build,
        keep: Duration::from_secs(args.keep_seconds),
        card: None,
        public_url: args.public_url.clone(),
        password_cost: args.password_cost,
        trusted_proxies: args.trusted_proxies.clone(),
        cores: args.cores.as_ref().map(|cores| cores.list().to_vec()),
        trace: args.trace.clone(),
    };
    if let Some((product, price)) = args.set_price {
        tidegate_shop::set_price(&options, product, price).map_err(classify)?;
        return Ok(Outcome::Done);
    }
    options.listen = fixed(args.listen)?;
    let public_url = public_url(args.public_url.as_deref(), "http", options.listen, "")?;
    // A long population comes first: a processor that is started must not wait for it.
    tidegate_shop::prepare(&options).map_err(classify)?;
    let (running, card) = processor(&args, public_url)?;
    let own = running.as_ref().map_or_else(String::new, |card| format!("card: {}\n", card.url));
    options.card = Some(card);
    let site = tidegate_shop::start(&options).map_err(classify)?;
    until_signalled(format!("{own}site: http://{}\n", site.address()))?;
    site.shutdown();
    Ok(Outcome::Done)
}

/// The processor that is named, or one that is started.
fn processor(
    args: &Args,
    public_url: String,
) -> anyhow::Result<(Option<RunningProcessor>, CardOptions)> {
    if let Some((url, key_file)) = args.card_processor.clone().zip(args.card_key_file.clone()) {
        return Ok((None, CardOptions { url, key_file, ca: args.card_ca.clone(), public_url }));
    }
    let listen = args.card_listen;
    if !listen.ip().is_loopback() {
        return Err(bad_input(format!(
            "--card-listen {listen}: must be an address of this machine, such as 127.0.0.1:8090; \
             for customers elsewhere start `tidegate site card --tls 1.3` by itself, and name it \
             by --card-processor"
        )));
    }
    let returns_to = return_url(&public_url, RETURNED).map_err(classify)?.to_string();
    let folder = args.data.join("card");
    let processor = CardProcessor::prepare(&folder, MERCHANT, listen, returns_to)?;
    let launch = Launch::this_program("card processor").inherit_errors();
    let running = processor.start(launch)?;
    let (url, key_file) = (running.url.clone(), processor.key_file().to_owned());
    Ok((Some(running), CardOptions { url, key_file, ca: None, public_url }))
}

fn price(text: &str) -> Result<(i64, Cents), String> {
    let parts = text.split_once('=');
    let read = parts.and_then(|(id, price)| Some((id.parse().ok()?, Cents::parse(price)?)));
    read.ok_or_else(|| "must be the number of a product and its price, such as 17=12.50".into())
}
