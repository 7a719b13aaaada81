//! Sealed packets over NATS: who may be heard, and under which subjects.

use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use tidegate_fleet::{
    Connection, Error, FleetAccess, MOST_NAME, Opener, Refused, RefusedCounts, Sealer,
    Subscription, is_name, unix_now,
};
use tidegate_load::fleet::clock::Now;

use crate::exit::bad_input;
use crate::load::values;
use crate::nats::NatsArgs;

/// Packets that wait to be read.
const WAITING: usize = 2048;
/// Digits of an address beside its name.
const DIGITS: usize = 8;
const NO_RANDOM: &str = "the system's random generator failed";

/// Flags for the servers of NATS.
#[derive(clap::Args)]
pub struct AccessArgs {
    #[command(flatten)]
    nats: NatsArgs,
    /// The other side is lost when it was not heard for so long: an agent ends its load, and a
    /// coordinator goes on without the agent
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = silence, help_heading = "Fleet")]
    pub silence: Duration,
}

fn silence(text: &str) -> Result<Duration, String> {
    let within = Duration::from_secs(1)..=Duration::from_secs(60);
    let time = values::time(text).ok().filter(|time| within.contains(time));
    time.ok_or_else(|| "must be 1s to 60s, such as 3s".to_owned())
}

/// A connection to the fleet, under an [address](tidegate_load::fleet::coordinator::name_of).
pub struct Post {
    pub connection: Connection,
    /// The servers, as they can be shown.
    pub servers: String,
    fleet: String,
    sealer: Sealer,
    opener: Opener,
    own: Subscription,
    calls: Option<Subscription>,
    refused: RefusedCounts,
}

/// The side of a fleet that a process is on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// It has a test.
    Coordinator,
    /// It waits for one.
    Agent,
}

impl AccessArgs {
    /// Connects to the fleet; `flag` names the servers. Waits up to five seconds for one.
    pub async fn open(
        &self,
        flag: &str,
        servers: &[String],
        name: &str,
        side: Side,
    ) -> anyhow::Result<Post> {
        let FleetAccess { access, secret } = self.nats.read(flag, servers)?;
        if !is_name(name) || name.len() > MOST_NAME - DIGITS - 1 {
            return Err(bad_input(format!(
                "--name {name}: must have 1 to 55 letters, digits or .-_:, such as lon-1"
            )));
        }
        let mut digits = [0; DIGITS / 2];
        aws_lc_rs::rand::fill(&mut digits).map_err(|_| anyhow::anyhow!(NO_RANDOM))?;
        // Two agents of one name would answer as one, and each would generate the load of both.
        let address = format!("{name}:{:08x}", u32::from_ne_bytes(digits));
        let of_user = |error| match error {
            Error::Operator(why) => bad_input(format!("{flag}: {why}")),
            Error::Lost(why) => anyhow::anyhow!("{flag}: {why}"),
            Error::Refused(_) => anyhow::anyhow!("{flag}: {error}"),
        };
        let fleet = secret.fleet().to_owned();
        let connection = Connection::connect(&access, &fleet, name).await.map_err(of_user)?;
        let subscribe =
            async |subject: String| connection.subscribe(&subject, WAITING).await.map_err(of_user);
        let own = subscribe(subject(&fleet, side, &address)).await?;
        let calls = match side {
            Side::Agent => Some(subscribe(calls(&fleet)).await?),
            Side::Coordinator => None,
        };
        let sealer =
            Sealer::new(&secret, &address, unix_now()).map_err(|_| anyhow::anyhow!(NO_RANDOM))?;
        let (opener, refused) = (Opener::new(secret), RefusedCounts::default());
        let servers = access.shown();
        let post = Post { connection, servers, fleet, sealer, opener, own, calls, refused };
        let begun = Instant::now();
        while !post.connection.connected() && begun.elapsed() < Duration::from_secs(5) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(post)
    }
}

/// The subject of a side's process.
fn subject(fleet: &str, side: Side, name: &str) -> String {
    match side {
        Side::Coordinator => format!("tidegate.{fleet}.load.coordinator.{name}"),
        Side::Agent => format!("tidegate.{fleet}.load.agent.{name}"),
    }
}

/// The subject on which coordinators call all agents.
fn calls(fleet: &str) -> String {
    format!("tidegate.{fleet}.load.call")
}

impl Post {
    /// Sends a packet to the process of this address on that side; to all agents without one.
    pub fn send(&self, side: Side, to: Option<&str>, packet: &[u8]) {
        let subject = to.map_or_else(|| calls(&self.fleet), |to| subject(&self.fleet, side, to));
        let content = BASE64_STANDARD.encode(packet);
        // What is not sent now is sent again, or too late to be of use.
        if let Ok(message) = self.sealer.seal(&subject, &content, unix_now()) {
            self.connection.publish(&subject, message);
        }
    }

    /// The next packet that was not refused, with the address of its sender. Can be dropped and called
    /// again.
    pub async fn receive(&mut self) -> (String, Vec<u8>) {
        loop {
            let message = match &mut self.calls {
                None => self.own.next().await,
                Some(calls) => tokio::select! {
                    message = calls.next() => message,
                    message = self.own.next() => message,
                },
            };
            let opened = self.opener.open::<String>(&message.subject, &message.payload, unix_now());
            let packet = opened.and_then(|opened| {
                let packet = BASE64_STANDARD.decode(opened.content);
                packet.map(|packet| (opened.sender, packet)).map_err(|_| Refused::Broken)
            });
            match packet {
                Ok(packet) => return packet,
                Err(reason) => self.refused.add(reason),
            }
        }
    }

    /// Why the fleet cannot be heard, in words: the connection is lost, or messages were refused.
    pub fn trouble(&self) -> Option<String> {
        if !self.connection.connected() {
            let why = self.connection.fault().map(|why| format!(" ({why})")).unwrap_or_default();
            return Some(format!("no NATS server answers at {}{why}", self.servers));
        }
        let refused = self.refused.all().filter(|(_, count)| *count > 0);
        let refused: Vec<_> = refused.map(|(why, count)| format!("{count} {why}")).collect();
        (!refused.is_empty()).then(|| format!("messages were refused: {}", refused.join(", ")))
    }
}

/// The clocks of this process.
pub struct Clock(Instant);

impl Clock {
    /// Begins to count.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Now, by both clocks.
    pub fn now(&self) -> Now {
        let wall_ns = u64::try_from(unix_now().as_nanos()).unwrap_or(u64::MAX);
        Now { at: self.0.elapsed(), wall_ns }
    }
}

/// A name for this process that no other has: that of its machine, and its number.
pub fn own_name() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let fits = |c: &char| c.is_ascii_alphanumeric() || ".-_".contains(*c);
    let host: String = host.trim().chars().filter(fits).take(40).collect();
    let host = if host.is_empty() { "host".to_owned() } else { host };
    format!("{host}-{}", std::process::id())
}
