//! `tidegate agent`: tell a gate elsewhere the CPU capacity and use of a service.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use tidegate_agent::{Agent, Sampler, Secret};
use tidegate_host::service::{Place, Target};
use tidegate_host::sockets::Endpoint;
use tidegate_lab::READY;

use crate::exit::{Outcome, bad_input};
use crate::signals::Signals;

/// Flags of `tidegate agent`.
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("service").required(true))]
#[command(
    after_help = "The gate needs the same secret and load_from = \"agent://HOST:9444\" under \
                        [upstream]; see docs/agent.md."
)]
pub struct Args {
    /// Address and UDP port that gates ask
    #[arg(long, value_name = "ADDR", default_value = "0.0.0.0:9444")]
    listen: SocketAddr,
    /// File with the secret that the gate has too
    #[arg(long, value_name = "FILE")]
    secret: PathBuf,
    /// Measure the processes that listen on this TCP port, and their descendants
    #[arg(long, value_name = "PORT", group = "service", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// Measure the processes of these numbers, such as 812,815
    #[arg(long, value_name = "LIST", group = "service", value_delimiter = ',')]
    processes: Vec<u32>,
    /// Measure a control group, as a path below the cgroup mount, such as /system.slice/shop.service
    #[arg(long, value_name = "PATH", group = "service")]
    cgroup: Option<PathBuf>,
    /// Measure everything on this machine, or in this container
    #[arg(long, group = "service")]
    machine: bool,
}

/// Answers gates until SIGTERM or SIGINT.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let mut signals = Signals::catch()?;
    let secret = Secret::read(&args.secret).map_err(|problem| {
        let file = args.secret.display();
        bad_input(format!("--secret {file}: {}; {}", problem.rule, problem.remedy))
    })?;
    let agent = Agent::bind(args.listen, secret).map_err(|error| {
        bad_input(format!("--listen {}: {error}; choose another address or port", args.listen))
    })?;
    let log = tracing_subscriber::fmt().with_writer(std::io::stderr);
    log.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).init();
    let mut sampler = Sampler::new(args.target());
    let first = sampler.read();
    if !first.note.is_empty() {
        tracing::warn!("the service cannot be measured: {}; the agent goes on looking", first.note);
    }
    println!("agent: udp://{}", agent.address()?);
    println!("{READY}");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let served = scope.spawn(|| {
            let served = agent.serve(sampler, &stop);
            if served.is_err() {
                // Wakes the thread that waits for signals.
                let _ = rustix::process::kill_process(
                    rustix::process::getpid(),
                    rustix::process::Signal::TERM,
                );
            }
            served
        });
        signals.wait();
        stop.store(true, Ordering::Relaxed);
        let counts = served.join().expect("the agent does not panic")?;
        tracing::info!("answered {} queries, refused {}", counts.answered, counts.refused);
        Ok(Outcome::Done)
    })
}

impl Args {
    fn target(&self) -> Target {
        match (self.port, &self.cgroup) {
            (Some(port), _) => {
                Target::Listeners(vec![Place::Port(Endpoint { address: None, port })])
            }
            (None, Some(group)) => Target::Group(group.clone()),
            (None, None) if self.machine => Target::Group("/".into()),
            (None, None) => Target::Processes(self.processes.clone()),
        }
    }
}
