//! `tidegate gate`: run the gate before a service.

mod log;
mod pid_file;
mod successor;
mod systemd;

use std::path::PathBuf;

use anyhow::Context;
use tidegate_gate::Gate;
use tidegate_gate::config::{Config, Flags, Mistakes};
use tidegate_gate::handover::{Inherited, knock};

use crate::exit::{Outcome, bad_input};
use crate::signals::{Event, ServiceSignals};
use pid_file::PidFile;
use successor::Program;
use tidegate_lab::READY;

const SIGNALS: &str = "Signals: SIGHUP reads the configuration and certificates again; SIGUSR2 \
                       starts the program again, which takes this process's place without \
                       refusing a connection; SIGTERM and SIGINT drain, a second one ends the \
                       gate at once.";

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
    /// Take the place of the gate that waits at `listen.handover`, if there is one; it drains
    /// once this one accepts connections
    #[arg(long)]
    replace: bool,
    /// File to write the process id to, once the gate accepts connections
    #[arg(long, value_name = "FILE")]
    pid_file: Option<PathBuf>,
}

/// Serves until SIGTERM or SIGINT, then drains; the second signal ends that. SIGHUP reloads
/// the configuration. After SIGUSR2 another process serves, and this one drains.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    // First of all: no signal ends the gate otherwise than in order.
    let mut signals = ServiceSignals::catch().context("cannot wait for signals")?;
    let program = Program::of_this_process();
    let (replace, pid_file) = (args.replace, args.pid_file.clone());
    let source = Source::of(args)?;
    let config = source.read().map_err(bad_input)?;
    let set_log_level = log::start(&config)?;
    let inherited = inherit(&config, replace)?;
    let gate = Gate::start_from(config, inherited).map_err(classify)?;
    announce(&gate);
    let _pid_file = pid_file.map(PidFile::write).transpose()?;
    systemd::ready();
    serve(gate, &mut signals, &program, || source.read(), set_log_level)
}

/// What the gate begins with: from the process that started it to take its place, from the
/// one that it is to replace, or from the service manager.
fn inherit(config: &Config, replace: bool) -> anyhow::Result<Inherited> {
    if let Some(stream) = successor::predecessor()? {
        return Inherited::receive(stream).map_err(classify);
    }
    if replace {
        let path = config.listen.handover.as_deref().ok_or_else(|| {
            bad_input(
                "--replace: listen.handover is not set, at which the gate in service waits; add \
                 handover = \"/run/tidegate/handover\" under [listen], or send that gate SIGUSR2",
            )
        })?;
        match knock(path).map_err(classify)? {
            Some(stream) => return Inherited::receive(stream).map_err(classify),
            None => tracing::info!("no gate is in service at {}", path.display()),
        }
    }
    Inherited::activated(systemd::sockets()?).map_err(classify)
}

/// Serves until the gate has drained or fails.
fn serve(
    mut gate: Gate,
    signals: &mut ServiceSignals,
    program: &Program,
    read: impl Fn() -> Result<Config, Mistakes>,
    set_log_level: impl Fn(&str),
) -> anyhow::Result<Outcome> {
    loop {
        match signals.wait_or(gate.ended()) {
            Event::Over(Ok(())) => return Ok(Outcome::Done),
            Event::Over(Err(error)) => {
                // Not dropped: it would wait for what still runs.
                std::mem::forget(gate);
                return Err(error.into());
            }
            Event::Stop if gate.is_draining() => {
                let open = gate.snapshot().connections_active;
                tracing::warn!("stopped during the drain: {open} open connections are closed");
                gate.close();
            }
            Event::Stop => {
                systemd::stopping();
                let longest = gate.config().listen.drain_deadline;
                tracing::info!("draining for at most {longest:?}; another signal ends it at once");
                gate.drain();
            }
            Event::Reload if gate.is_draining() => {
                tracing::warn!("not reloaded: the gate is draining");
            }
            Event::Reload => {
                systemd::reloading();
                if gate.reload(&read) {
                    set_log_level(&gate.config().log.level);
                }
                systemd::ready();
            }
            Event::Replace => program.start(gate.service()),
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
            replace: _,
            pid_file: _,
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
        AccessLog, Admin, Certificate, Core, Failed, Handover, Listen, ProxiesToItself, Roots,
        SelfSigned, System, TicketKeys, Trace,
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
        | Handover(_)
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
            let gate = Gate::start_with(config, Inherited::default(), Some(fault)).unwrap();
            switch.send(true).unwrap();
            let read = || unreachable!("nobody asks for a reload");
            let program = Program::of_this_process();
            let error = serve(gate, &mut signals, &program, read, |_| {}).unwrap_err();
            assert_eq!(crate::exit::code_of(&error), 3);
            assert!(error.to_string().contains(part.name()), "{error}");
        }
    }
}
