//! `tidegate gate`: run the gate before a service.

use std::path::PathBuf;

use anyhow::Context;
use tidegate_gate::Gate;
use tidegate_gate::config::{Config, Flags, LogFormat};

use crate::exit::{Outcome, bad_input};
use crate::signals::Signals;
use tidegate_lab::READY;

/// Flags of `tidegate gate`. A flag overrides the configuration file.
#[derive(clap::Args)]
pub struct Args {
    /// Configuration file; docs/configuration.md lists every key
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The service behind the gate, http or https
    #[arg(long, value_name = "URL")]
    upstream: Option<String>,
    /// Address that customers connect to [default: 0.0.0.0:8443]
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Address for plain HTTP as well [default: off]
    #[arg(long, value_name = "ADDR")]
    clear: Option<String>,
    /// Certificate chain (PEM); without one the gate makes a self-signed one
    #[arg(long, value_name = "FILE")]
    cert: Option<String>,
    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE")]
    key: Option<String>,
    /// Address of metrics, health and status [default: 127.0.0.1:9443]
    #[arg(long, value_name = "ADDR")]
    admin: Option<String>,
    /// Admission policy: off, static, eac or tide [default: tide]
    #[arg(long, value_name = "POLICY")]
    policy: Option<String>,
    /// New sessions per second of the policy `static`
    #[arg(long, value_name = "N")]
    rate: Option<String>,
    /// Processors to work on, such as 0,2-3 [default: all]
    #[arg(long, value_name = "LIST")]
    cores: Option<String>,
    /// What to log, such as info or tidegate_gate=debug [default: info]
    #[arg(long, value_name = "FILTER")]
    log: Option<String>,
}

/// Serves until SIGTERM or SIGINT, then drains.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let config = configuration(args)?;
    start_log(&config)?;
    let gate = Gate::start(config).map_err(classify)?;
    let mut signals = Signals::catch().context("cannot wait for signals")?;
    announce(&gate);
    signals.wait();
    gate.drain();
    gate.join()?;
    Ok(Outcome::Done)
}

fn configuration(args: Args) -> anyhow::Result<Config> {
    let Args { config, upstream, listen, clear, cert, key, admin, policy, rate, cores, log } = args;
    let flags = Flags { upstream, listen, clear, cert, key, admin, policy, rate, cores, log };
    if config.is_none() && flags.upstream.is_none() {
        return Err(bad_input(
            "no service to protect: give --upstream, such as tidegate gate --upstream \
             http://127.0.0.1:8080, or --config FILE",
        ));
    }
    match config {
        Some(file) => Config::from_file_and_flags(&file, &flags),
        None => Config::from_flags(&flags),
    }
    .map_err(bad_input)
}

fn classify(error: tidegate_gate::Error) -> anyhow::Error {
    use tidegate_gate::Error::{Admin, Certificate, Core, Listen, Roots, SelfSigned, System};
    match error {
        Listen { .. } | Admin(_) | Core { .. } | Certificate(_) | Roots(_) => bad_input(error),
        SelfSigned(_) | System { .. } => error.into(),
    }
}

/// Announces addresses and readiness on standard output, for scripts.
fn announce(gate: &Gate) {
    println!("gate: https://{}", gate.address());
    if let Some(clear) = gate.clear_address() {
        println!("clear: http://{clear}");
    }
    if let Some(admin) = gate.admin_address() {
        println!("admin: http://{admin}");
    }
    println!("{READY}");
}

fn start_log(config: &Config) -> anyhow::Result<()> {
    let filter = tracing_subscriber::EnvFilter::try_new(&config.log.level).map_err(bad_input)?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match config.log.format {
        LogFormat::Text => {
            log.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).init()
        }
        LogFormat::Json => log.json().init(),
    }
    Ok(())
}
