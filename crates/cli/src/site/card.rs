//! `tidegate site card`: the card processor.

use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tidegate_card::{ForMerchant, Keys, Options, WebhookSecret};
use tidegate_host::Cores;
use tidegate_sitekit::private_file;
use tidegate_sitekit::tls::{Tls, TlsVersion};
use tracing_subscriber::EnvFilter;

use super::error::classify;
use super::serving::until_signalled;
use crate::exit::{Outcome, bad_input};
use crate::stdout::print;

/// Flags of `tidegate site card`.
#[derive(clap::Args)]
pub struct Args {
    /// Address to listen on; without --tls a loopback address
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8090")]
    listen: SocketAddr,
    /// PostgreSQL database, postgres://user@host/name [default: SQLite in --data]
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// Folder of the SQLite file, the keys and a self-signed certificate
    #[arg(long, value_name = "DIR", default_value = "data")]
    data: PathBuf,
    /// File of merchants and their API keys [default: card-keys.json in --data]
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// Make an API key for a merchant, add it to --keys, print it, and end
    #[arg(long, value_name = "MERCHANT")]
    make_key: Option<String>,
    /// Serve HTTPS with these versions of TLS: 1.2, 1.3 or both [default: plain HTTP]
    #[arg(long, value_name = "VERSIONS")]
    tls: Option<TlsVersion>,
    /// Certificate chain for --tls, PEM [default: a self-signed one, kept in --data]
    #[arg(long, value_name = "FILE", requires = "tls", requires = "key")]
    certificate: Option<PathBuf>,
    /// Private key of the certificate, PEM
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// URL under which customers reach the card form [default: that of --listen]
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// Where customers may return to; [MERCHANT=]URL, may be repeated
    #[arg(long, value_name = "URL")]
    return_url: Vec<ForMerchant>,
    /// Where events are delivered to; [MERCHANT=]URL, may be repeated
    #[arg(long, value_name = "URL", requires = "webhook_secret_file")]
    webhook: Vec<ForMerchant>,
    /// Secrets that sign the webhooks, one a line; one file for all, or one for each
    #[arg(long, value_name = "FILE", requires = "webhook")]
    webhook_secret_file: Vec<PathBuf>,
    /// Certificates that webhooks over HTTPS trust, PEM [default: those of the system]
    #[arg(long, value_name = "FILE")]
    webhook_ca: Option<PathBuf>,
    /// Write a new secret for webhooks to a file, and end
    #[arg(long, value_name = "FILE", exclusive = true)]
    make_webhook_secret: Option<PathBuf>,
    /// How long the slow test cards take, 0 to 3600 s
    #[arg(long, value_name = "S", default_value_t = 20.0, value_parser = seconds)]
    slow_card_seconds: f64,
    /// What to log, such as debug or tidegate_card=debug
    #[arg(long, value_name = "FILTER", default_value = "info")]
    log: String,
    /// Processors to run on, one thread pinned to each, such as 0,2-3
    #[arg(long, value_name = "LIST")]
    cores: Option<Cores>,
}

/// Serves until SIGTERM or SIGINT.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    if let Some(file) = &args.make_webhook_secret {
        return make_webhook_secret(file);
    }
    let filter = EnvFilter::try_new(&args.log)
        .map_err(|error| bad_input(format!("--log {}: {error}; try info", args.log)))?;
    let files = args.certificate.zip(args.key);
    let options = Options {
        listen: args.listen,
        database: args.database,
        data: args.data,
        keys: args.keys,
        tls: args.tls.map(|version| Tls { version, files, resumption: true, clients: None }),
        public_url: args.public_url,
        return_urls: args.return_url,
        webhooks: args.webhook,
        webhook_secret_files: args.webhook_secret_file,
        webhook_ca: args.webhook_ca,
        slow_card: Duration::from_secs_f64(args.slow_card_seconds),
        cores: args.cores.map(|cores| cores.list().to_vec()),
        ..Options::default()
    };
    if let Some(merchant) = args.make_key {
        return make_key(&options, &merchant);
    }
    let ansi = std::io::stderr().is_terminal();
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    log.with_ansi(ansi).init();
    let site = tidegate_card::start(&options).map_err(classify)?;
    let mut lines = format!("site: {}\n", site.url());
    if let Some(certificate) = site.certificate() {
        lines += &format!("certificate: {}\n", certificate.display());
    }
    until_signalled(lines)?;
    site.shutdown();
    Ok(Outcome::Done)
}

fn make_key(options: &Options, merchant: &str) -> anyhow::Result<Outcome> {
    let file = options.keys_file();
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).map_err(|error| {
            bad_input(format!("--keys {}: the folder cannot be made: {error}", file.display()))
        })?;
    }
    let mut keys = if file.exists() { Keys::read(&file) } else { Keys::generate() };
    let keys = keys.as_mut().map_err(|error| bad_input(&*error))?;
    let key = keys.add(merchant).map_err(classify)?;
    keys.write(&file).map_err(classify)?;
    // The key alone, so that a shell can keep it: KEY=$(tidegate site card --make-key shop).
    print(format!("{}\n", *key))?;
    Ok(Outcome::Done)
}

fn make_webhook_secret(file: &Path) -> anyhow::Result<Outcome> {
    let line = format!("{}\n", *WebhookSecret::generate());
    private_file::create(file, line.as_bytes()).map_err(|error| {
        bad_input(format!(
            "--make-webhook-secret {}: cannot be written: {error}; give a new file",
            file.display()
        ))
    })?;
    Ok(Outcome::Done)
}

fn seconds(text: &str) -> Result<f64, String> {
    let most = Options::SLOWEST_CARD.as_secs_f64();
    let value = text.parse::<f64>().ok().filter(|s| (0.0..=most).contains(s));
    value.ok_or_else(|| format!("must be 0 to {most} seconds, such as 20"))
}
