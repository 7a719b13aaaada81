//! `tidegate gate`: run the gate before a service.

use std::path::PathBuf;

use anyhow::Context;
use tidegate_gate::Gate;
use tidegate_gate::config::{Config, Flags, LogFormat, Mistakes};

use crate::exit::{Outcome, bad_input};
use crate::signals::{Event, ServiceSignals};
use tidegate_lab::READY;
use tracing_subscriber::EnvFilter;

const SIGNALS: &str = "Signals: SIGHUP reads the configuration and certificates again; SIGTERM and \
                       SIGINT drain, a second one ends the gate at once.";

/// Flags of `tidegate gate`. A flag overrides the configuration file.
#[derive(clap::Args)]
#[command(after_help = SIGNALS)]
pub struct Args {
    /// Configuration file; docs/configuration.md lists every key
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The service behind the gate, http or https
    #[arg(long, value_name = "URL")]
    upstream: Option<String>,
    /// Address that customers connect to; several with commas [default: 0.0.0.0:8443]
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
    /// Record what every connection does, for `tidegate trace` [default: off]
    #[arg(long, value_name = "FILE")]
    trace: Option<String>,
}

/// Serves until SIGTERM or SIGINT, then drains; the second signal ends that. SIGHUP reloads
/// the configuration.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    // First of all: no signal ends the gate otherwise than in order.
    let mut signals = ServiceSignals::catch().context("cannot wait for signals")?;
    let source = Source::of(args)?;
    let config = source.read().map_err(bad_input)?;
    let set_log_level = start_log(&config)?;
    let gate = Gate::start(config).map_err(classify)?;
    announce(&gate);
    serve(gate, &mut signals, || source.read(), set_log_level)
}

/// Serves until the gate has drained or fails.
fn serve(
    mut gate: Gate,
    signals: &mut ServiceSignals,
    read: impl Fn() -> Result<Config, Mistakes>,
    set_log_level: impl Fn(&str),
) -> anyhow::Result<Outcome> {
    let mut draining = false;
    loop {
        match signals.wait_or(gate.ended()) {
            Event::Over(Ok(())) => return Ok(Outcome::Done),
            Event::Over(Err(error)) => {
                // Not dropped: it would wait for what still runs.
                std::mem::forget(gate);
                return Err(error.into());
            }
            Event::Stop if draining => {
                let open = gate.snapshot().connections_active;
                tracing::warn!("stopped by a second signal: {open} open connections are closed");
                gate.close();
            }
            Event::Stop => {
                draining = true;
                let longest = gate.config().listen.drain_deadline;
                tracing::info!("draining for at most {longest:?}; another signal ends it at once");
                gate.drain();
            }
            Event::Reload if draining => tracing::warn!("not reloaded: the gate is draining"),
            Event::Reload => {
                if gate.reload(&read) {
                    set_log_level(&gate.config().log.level);
                }
            }
        }
    }
}

/// Where the configuration comes from, now and at a reload.
struct Source {
    file: Option<PathBuf>,
    flags: Flags,
}

impl Source {
    fn of(args: Args) -> anyhow::Result<Self> {
        let Args {
            config,
            upstream,
            listen,
            clear,
            cert,
            key,
            admin,
            policy,
            rate,
            cores,
            log,
            trace,
        } = args;
        let flags =
            Flags { upstream, listen, clear, cert, key, admin, policy, rate, cores, log, trace };
        if config.is_none() && flags.upstream.is_none() {
            return Err(bad_input(
                "no service to protect: give --upstream, such as tidegate gate --upstream \
                 http://127.0.0.1:8080, or --config FILE",
            ));
        }
        Ok(Self { file: config, flags })
    }

    fn read(&self) -> Result<Config, Mistakes> {
        match &self.file {
            Some(file) => Config::from_file_and_flags(file, &self.flags),
            None => Config::from_flags(&self.flags),
        }
    }
}

fn classify(error: tidegate_gate::Error) -> anyhow::Error {
    use tidegate_gate::Error::{
        AccessLog, Admin, Certificate, Core, Failed, Listen, ProxiesToItself, Roots, SelfSigned,
        System, TicketKeys, Trace,
    };
    match error {
        Listen { .. }
        | Admin(_)
        | Core { .. }
        | Certificate(_)
        | Roots(_)
        | TicketKeys(_)
        | AccessLog(_)
        | Trace(_)
        | ProxiesToItself { .. } => bad_input(error),
        SelfSigned(_) | System { .. } | Failed { .. } => error.into(),
    }
}

/// Announces addresses and readiness on standard output, for scripts.
fn announce(gate: &Gate) {
    for address in gate.addresses() {
        println!("gate: https://{address}");
    }
    if let Some(clear) = gate.clear_address() {
        println!("clear: http://{clear}");
    }
    if let Some(admin) = gate.admin_address() {
        println!("admin: http://{admin}");
    }
    println!("{READY}");
}

/// Changes the level of the log.
type SetLevel = Box<dyn Fn(&str)>;

/// Starts the log.
fn start_log(config: &Config) -> anyhow::Result<SetLevel> {
    let filter = EnvFilter::try_new(&config.log.level).map_err(bad_input)?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    Ok(match config.log.format {
        LogFormat::Text => {
            let log = log.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()));
            let log = log.with_filter_reloading();
            let handle = log.reload_handle();
            log.init();
            Box::new(move |level| set_level(level, |filter| handle.reload(filter)))
        }
        LogFormat::Json => {
            let log = log.json().with_filter_reloading();
            let handle = log.reload_handle();
            log.init();
            Box::new(move |level| set_level(level, |filter| handle.reload(filter)))
        }
    })
}

fn set_level<E: std::fmt::Display>(level: &str, set: impl FnOnce(EnvFilter) -> Result<(), E>) {
    let set = match EnvFilter::try_new(level) {
        Ok(filter) => set(filter).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    if let Err(error) = set {
        tracing::error!("log.level = {level:?} was not set: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_gate::{Component, InjectedFault};

    #[test]
    fn a_gate_of_which_a_part_fails_ends_with_the_code_of_a_failed_run() {
        let flags = Flags {
            upstream: Some("http://127.0.0.1:9".into()),
            listen: Some("127.0.0.1:0".into()),
            admin: Some("127.0.0.1:0".into()),
            ..Flags::default()
        };
        for part in [Component::Dispatcher, Component::ControlLoop, Component::Core] {
            let (fault, switch) = InjectedFault::of(part);
            let config = Config::from_flags(&flags).unwrap();
            let mut signals = ServiceSignals::catch().unwrap();
            let gate = Gate::start_with(config, Some(fault)).unwrap();
            switch.send(true).unwrap();
            let read = || unreachable!("nobody asks for a reload");
            let error = serve(gate, &mut signals, read, |_| {}).unwrap_err();
            assert_eq!(crate::exit::code_of(&error), 3);
            assert!(error.to_string().contains(part.name()), "{error}");
        }
    }
}
