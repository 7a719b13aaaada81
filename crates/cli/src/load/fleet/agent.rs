//! `tidegate load-agent`: waits for the tests of coordinators and generates its shard of each.

use std::io::{BufRead, BufReader, Write};
use std::process::ChildStdin;
use std::time::{Duration, Instant};

use anyhow::Context;
use tidegate_lab::{Launch, Process};
use tidegate_load::Allow;
use tidegate_load::fleet::agent::{Agent, LARGEST_ORDER, Task};
use tidegate_load::fleet::coordinator::name_of;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::MissedTickBehavior;

use super::post::{AccessArgs, Clock, Post, Side, own_name};
use crate::exit::{Outcome, bad_input};
use crate::load::drivers::message::{DRIVER, Job, Limits, Message};
use crate::load::drivers::set::ending;
use crate::load::values;
use crate::stdout::print;

/// Lines of the driver that wait to be sent, and most bytes of those on their way: beyond, the
/// driver waits to write, and its measurement goes on.
const LINES: usize = 16;
const BACKLOG: usize = LARGEST_ORDER;
/// Time in which a driver that was stopped must send its result.
const STOPPED: Duration = Duration::from_secs(30);
/// Interval in which refused messages are told.
const TOLD: Duration = Duration::from_secs(60);
const TICK: Duration = Duration::from_millis(20);

/// Flags of `tidegate load-agent`.
#[derive(clap::Args)]
#[command(
    after_help = "A test is started by `tidegate load --fleet URL SCENARIO`; see docs/load-fleet.md."
)]
pub struct Args {
    /// Servers of NATS where coordinators call, such as nats://10.0.0.2:4222
    #[arg(long, value_name = "URL", value_delimiter = ',', required = true)]
    nats: Vec<String>,
    #[command(flatten)]
    access: AccessArgs,
    /// A service that may be loaded from here, by its name or address; repeat the flag for several.
    /// A name stands for the addresses that this machine finds for it
    #[arg(long, value_name = "HOST:PORT", required = true, value_parser = allowed)]
    allow: Vec<String>,
    /// Name of this agent in reports [default: machine and process number]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Most open connections of a test
    #[arg(long, value_name = "N")]
    most_connections: Option<usize>,
    /// Longest test, such as 10m, warm-up included
    #[arg(long, value_name = "TIME", value_parser = values::length)]
    longest: Option<Duration>,
}

fn allowed(text: &str) -> Result<String, String> {
    Allow::parse(text).map(|_| text.to_owned())
}

/// Runs tests until SIGTERM or SIGINT.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    if args.most_connections == Some(0) {
        return Err(bad_input("--most-connections 0: must be at least 1, such as 10000"));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(serve(args))
}

async fn serve(args: Args) -> anyhow::Result<Outcome> {
    let (mut terminate, mut interrupt) =
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let name = args.name.clone().unwrap_or_else(own_name);
    let post = args.access.open("--nats", &args.nats, &name, Side::Agent).await?;
    say(&format!(
        "agent {name} waits for tests at {}; it may load {}",
        post.servers,
        args.allow.join(", ")
    ));
    let (sender, lines) = channel(LINES);
    let limits = Limits {
        allow: args.allow,
        most_connections: args.most_connections,
        longest: args.longest,
    };
    let agent = Agent::new(env!("CARGO_PKG_VERSION"), args.access.silence);
    let mut host = Host {
        agent,
        post,
        clock: Clock::start(),
        limits,
        driver: None,
        tests: 0,
        sender,
        trouble: Default::default(),
    };
    let mut lines: Receiver<Line> = lines;
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let room = host.agent.backlog() < BACKLOG;
        tokio::select! {
            (from, packet) = host.post.receive() => {
                let task = host.agent.receive(&from, &packet, host.clock.now());
                host.carry_out(task);
            }
            Some((test, line)) = lines.recv(), if room => host.pass_on(test, line),
            _ = tick.tick() => host.check(),
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
        }
        host.send_due();
    }
    host.agent.quit("was ended by its operator", host.clock.now());
    host.driver = None;
    host.send_due();
    tokio::time::sleep(Duration::from_millis(100)).await;
    say(&format!("agent {name} has ended"));
    Ok(Outcome::Done)
}

/// Output of the driver of a test: a line, or its end.
type Line = (u64, Option<Vec<u8>>);

/// The agent with its driver.
struct Host {
    agent: Agent,
    post: Post,
    clock: Clock,
    limits: Limits,
    driver: Option<Driver>,
    /// Number of tests so far.
    tests: u64,
    sender: Sender<Line>,
    /// The trouble that was told last, whether NATS was lost, and when.
    trouble: (Option<String>, bool, Duration),
}

/// The process that generates the load. It is killed when this is dropped.
struct Driver {
    process: Process,
    input: Option<ChildStdin>,
    stopped: Option<Instant>,
}

impl Host {
    fn carry_out(&mut self, task: Option<Task>) {
        match task {
            None => {}
            Some(Task::Start { coordinator, args, job }) => {
                let coordinator = name_of(&coordinator);
                self.tests += 1;
                match self.start(&args, &job) {
                    Ok((driver, shard)) => {
                        say(&format!("test of {coordinator}: prepares shard {shard}"));
                        self.driver = Some(driver);
                    }
                    Err(error) => {
                        say(&format!("test of {coordinator}: {error:#}"));
                        let message =
                            Message::Failed { message: format!("{error:#}"), exit_code: 3 };
                        self.agent.send(&json(&message));
                        self.agent.ended(&json(&Message::Ended("could not start".to_owned())));
                    }
                }
            }
            Some(Task::Line(line)) => {
                let input = self.driver.as_mut().and_then(|driver| driver.input.as_mut());
                if let Some(input) = input {
                    say("the test begins");
                    // The end of the driver is told by its output.
                    let _ = writeln!(input, "{line}");
                }
            }
            Some(Task::Stop) => {
                if let Some(driver) = &mut self.driver {
                    say("the coordinator stops the test");
                    (driver.input, driver.stopped) = (None, Some(Instant::now()));
                }
            }
            Some(Task::Kill(why)) => {
                // What it still writes belongs to no test.
                self.tests += 1;
                if self.driver.take().is_some() {
                    say(&format!("the load is ended: {why}"));
                }
            }
        }
    }

    /// Starts the driver of a test, within the limits of this agent whatever the job says.
    fn start(&self, args: &[String], job: &str) -> anyhow::Result<(Driver, String)> {
        if args.first().is_none_or(|command| command != "load") {
            anyhow::bail!("an agent runs `tidegate load` and nothing else");
        }
        let job: Job = serde_json::from_str(job).context("the job cannot be read")?;
        let job = Job {
            files: Some(job.files.unwrap_or_default()),
            limits: Some(self.limits.clone()),
            ..Job::new(job.shard, job.run, Vec::new())
        };
        let launch = Launch::this_program("driver").args(args).env(DRIVER, "1").log_unnamed()?;
        let mut process = launch.piped().grace(Duration::ZERO).start()?;
        let mut input = process.take_stdin().context("the driver has no input")?;
        let output = process.take_stdout().context("the driver has no output")?;
        let (test, sender) = (self.tests, self.sender.clone());
        std::thread::Builder::new().name("driver-output".to_owned()).spawn(move || {
            let mut output = BufReader::with_capacity(64 * 1024, output);
            loop {
                let mut line = Vec::new();
                let more = matches!(output.read_until(b'\n', &mut line), Ok(1..));
                if sender.blocking_send((test, more.then_some(line))).is_err() || !more {
                    return;
                }
            }
        })?;
        let mut line = json(&job);
        line.push(b'\n');
        // If it fails, the end of the driver says more.
        let _ = input.write_all(&line);
        Ok((Driver { process, input: Some(input), stopped: None }, job.shard.to_string()))
    }

    /// Takes a line of the driver, or its end.
    fn pass_on(&mut self, test: u64, line: Option<Vec<u8>>) {
        if test != self.tests {
            return;
        }
        match (line, &mut self.driver) {
            (Some(line), _) => self.agent.send(&line),
            (None, Some(driver)) => {
                let how = driver.process.wait().map(|exit| ending(exit.status));
                let how = how.unwrap_or_else(|error| error.to_string());
                self.driver = None;
                say("the test is over");
                self.agent.ended(&json(&Message::Ended(how)));
            }
            (None, None) => {}
        }
    }

    fn check(&mut self) {
        let task = self.agent.check(self.clock.now());
        self.carry_out(task);
        if let Some(driver) = &mut self.driver
            && driver.stopped.is_some_and(|at| at.elapsed() > STOPPED)
        {
            driver.process.kill();
        }
        let trouble = self.post.trouble();
        let (now, lost) = (self.clock.now().at, !self.post.connection.connected());
        // A hostile sender must not fill the log.
        if trouble != self.trouble.0
            && (lost != self.trouble.1 || now.saturating_sub(self.trouble.2) > TOLD)
        {
            say(trouble.as_deref().unwrap_or("NATS answers again"));
            self.trouble = (trouble, lost, now);
        }
    }

    fn send_due(&mut self) {
        for (to, packet) in self.agent.due(self.clock.now()) {
            self.post.send(Side::Coordinator, Some(&to), &packet);
        }
    }
}

fn json(value: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("plain data")
}

/// One line for the operator.
fn say(text: &str) {
    // Without a reader the agent goes on.
    drop(print(format!("{text}\n")));
}
