//! The drivers of a fleet: finds the agents, and carries messages between them and the lead on a
//! thread of its own.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use tidegate_load::AgentOf;
use tidegate_load::fleet::clock::ClockOffset;
use tidegate_load::fleet::coordinator::{Chosen, Coordinator, Event, Order};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::args::FleetArgs;
use super::post::{Clock, Post, Side, own_name};
use crate::load::drivers::lead::{DriverEvent, Drivers, Observer};
use crate::load::drivers::message::{Message, Start};

/// Time in which agents answer.
const FIND: Duration = Duration::from_secs(1);
/// Time from the start being sent to it, and how long before it all must have confirmed it.
const START_DELAY: Duration = Duration::from_millis(1500);
const CONFIRMED: Duration = Duration::from_millis(500);
/// Interval in which the coordinator looks for what is due.
const TICK: Duration = Duration::from_millis(20);
/// Time for the last packets to be written.
const LAST_WORDS: Duration = Duration::from_millis(100);
/// Messages of agents that wait for the lead.
const UNREAD: usize = 1024;
/// An offset that is not known better than this is worth a warning.
const VAGUE_NS: u64 = 20_000_000;

/// The chosen agents of a run. They leave the test when it is dropped.
pub struct FleetSet {
    agents: Vec<Chosen>,
    /// Their clocks when the start was sent.
    clocks: Arc<Mutex<Vec<ClockOffset>>>,
    endings: Vec<Option<String>>,
    /// Agents that the lead gave up, whose end it was not told.
    killed: Vec<usize>,
    commands: UnboundedSender<Command>,
    events: Receiver<(usize, DriverEvent)>,
    thread: Option<JoinHandle<()>>,
}

enum Command {
    Order(usize, Order),
    Begin(SystemTime),
    Dismiss(usize, &'static str),
    Over,
}

impl FleetSet {
    /// Finds the agents and chooses those of the test.
    ///
    /// # Errors
    /// The flags or the servers cannot be used, or there are too few agents, or of another version.
    pub fn open(args: &FleetArgs, notes: &mut dyn Observer) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (commands, orders) = unbounded_channel();
        let (sender, events) = sync_channel(UNREAD);
        let mut carrier = runtime.block_on(Carrier::find(args, orders, sender))?;
        let agents = carrier.choose(args.agents)?;
        for Chosen { name, clock } in &agents {
            let [ahead, error] = [clock.ahead_ns as f64, clock.error_ns as f64].map(|ns| ns / 1e6);
            notes.note(&format!("agent {name}: clock {ahead:+.1} ± {error:.1} ms"));
            if clock.error_ns > VAGUE_NS {
                notes.note(&format!(
                    "WARNING: the clock of {name} is known to {error:.0} ms only, so that it may \
                     start so much earlier or later than the others"
                ));
            }
        }
        let clocks = Arc::new(Mutex::new(agents.iter().map(|agent| agent.clock).collect()));
        carrier.clocks = Arc::clone(&clocks);
        let carry = move || runtime.block_on(carrier.carry());
        let thread = std::thread::Builder::new().name("fleet".into()).spawn(carry)?;
        let endings = agents.iter().map(|_| None).collect();
        let killed = Vec::new();
        Ok(Self { agents, clocks, endings, killed, commands, events, thread: Some(thread) })
    }

    /// Number of agents.
    pub fn len(&self) -> usize {
        self.agents.len()
    }

    /// Sends an order to an agent.
    pub fn order(&mut self, index: usize, order: Order) {
        self.command(Command::Order(index, order));
    }

    fn command(&self, command: Command) {
        // The thread ends with this value only.
        let _ = self.commands.send(command);
    }
}

impl Drivers for FleetSet {
    fn next_event(&mut self, timeout: Duration) -> Option<(usize, DriverEvent)> {
        if let Some(index) = self.killed.pop() {
            return Some((index, DriverEvent::End));
        }
        let (index, event) = self.events.recv_timeout(timeout).ok()?;
        let event = match event {
            DriverEvent::Message(Message::Done(result)) => match result.check() {
                Ok(()) => DriverEvent::Message(Message::Done(result)),
                Err(why) => DriverEvent::Invalid(why),
            },
            DriverEvent::Message(Message::Ended(how)) if self.endings[index].is_none() => {
                self.endings[index] = Some(how);
                DriverEvent::End
            }
            // It ended before.
            DriverEvent::Message(Message::Ended(_)) => return None,
            other => other,
        };
        Some((index, event))
    }

    fn begin(&mut self, at: SystemTime) {
        self.command(Command::Begin(at));
    }

    fn stop(&mut self) {
        (0..self.len()).for_each(|index| self.order(index, Order::Stop));
    }

    fn ended(&mut self, index: usize) -> String {
        self.command(Command::Dismiss(index, "the test is over"));
        self.endings[index].clone().unwrap_or_default()
    }

    fn kill(&mut self, index: usize) {
        self.command(Command::Dismiss(index, "the coordinator gave it up"));
        if self.endings[index].is_none() {
            self.endings[index] = Some("was given up".to_owned());
            self.killed.push(index);
        }
    }

    fn name(&self, index: usize) -> String {
        format!("driver {} on {}", index + 1, self.agents[index].name)
    }

    fn agent(&self, index: usize) -> Option<AgentOf> {
        let clock = self.clocks.lock().unwrap_or_else(PoisonError::into_inner)[index];
        Some(AgentOf {
            name: self.agents[index].name.clone(),
            clock_ahead_ms: clock.ahead_ns as f64 / 1e6,
            clock_error_ms: clock.error_ns as f64 / 1e6,
        })
    }

    fn go_on_without(&self) -> bool {
        true
    }

    fn start_delay(&self) -> Duration {
        START_DELAY
    }
}

impl Drop for FleetSet {
    fn drop(&mut self) {
        self.command(Command::Over);
        if let Some(thread) = self.thread.take() {
            // A panic there was already told.
            let _ = thread.join();
        }
    }
}

/// Carries packets, orders and events.
struct Carrier {
    coordinator: Coordinator,
    post: Post,
    clock: Clock,
    clocks: Arc<Mutex<Vec<ClockOffset>>>,
    orders: UnboundedReceiver<Command>,
    events: SyncSender<(usize, DriverEvent)>,
}

impl Carrier {
    async fn find(
        args: &FleetArgs,
        orders: UnboundedReceiver<Command>,
        events: SyncSender<(usize, DriverEvent)>,
    ) -> anyhow::Result<Self> {
        let name = own_name();
        let post = args.access.open("--fleet", &args.fleet, &name, Side::Coordinator).await?;
        if !post.connection.connected() {
            anyhow::bail!("{}", post.trouble().unwrap_or_default());
        }
        let mut test = [0; 8];
        aws_lc_rs::rand::fill(&mut test)
            .map_err(|_| anyhow::anyhow!("the system's random generator failed"))?;
        let coordinator = Coordinator::new(
            env!("CARGO_PKG_VERSION"),
            u64::from_ne_bytes(test),
            args.access.silence,
        );
        let (clock, clocks) = (Clock::start(), Arc::default());
        let mut carrier = Self { coordinator, post, clock, clocks, orders, events };
        while carrier.clock.now().at < FIND {
            carrier.turn().await;
        }
        Ok(carrier)
    }

    fn choose(&mut self, wanted: Option<u32>) -> anyhow::Result<Vec<Chosen>> {
        let wanted = wanted.map(|wanted| wanted as usize);
        self.coordinator.choose(wanted, self.clock.now()).map_err(|why| {
            let trouble = self.post.trouble().map(|trouble| format!("; {trouble}"));
            anyhow::anyhow!("{why}{}", trouble.unwrap_or_default())
        })
    }

    /// Runs until the set is dropped.
    async fn carry(mut self) {
        loop {
            while let Ok(command) = self.orders.try_recv() {
                match command {
                    Command::Order(index, order) => self.coordinator.order(index, &order),
                    Command::Begin(at) => self.begin(at),
                    Command::Dismiss(index, why) => self.coordinator.dismiss(index, why),
                    Command::Over => {
                        self.coordinator.dismiss_all("the coordinator has ended the test");
                        self.send_due();
                        return tokio::time::sleep(LAST_WORDS).await;
                    }
                }
            }
            self.turn().await;
            while let Some((index, event)) = self.coordinator.event() {
                self.tell(index, event);
            }
        }
    }

    /// Sends what is due and takes what comes, for a moment.
    async fn turn(&mut self) {
        self.send_due();
        let tick = tokio::time::sleep(TICK);
        tokio::pin!(tick);
        loop {
            tokio::select! {
                () = &mut tick => return,
                (from, packet) = self.post.receive() => {
                    self.coordinator.receive(&from, &packet, self.clock.now());
                    self.send_due();
                }
            }
        }
    }

    fn send_due(&mut self) {
        for (to, packet) in self.coordinator.due(self.clock.now()) {
            self.post.send(Side::Agent, to.as_deref(), &packet);
        }
    }

    fn begin(&mut self, at: SystemTime) {
        let mut clocks = self.clocks.lock().unwrap_or_else(PoisonError::into_inner);
        for (index, clock) in clocks.iter_mut().enumerate() {
            *clock = self.coordinator.clock(index).unwrap_or(*clock);
            let start = Start::by_clock(at, clock.ahead_ns);
            let line = serde_json::to_string(&start).expect("plain data");
            self.coordinator.order(index, &Order::Line(line));
        }
        let ahead = at.duration_since(SystemTime::now()).unwrap_or_default();
        self.coordinator.confirm_by(self.clock.now().at + ahead.saturating_sub(CONFIRMED));
    }

    fn tell(&mut self, index: usize, event: Event) {
        let event = match event {
            Event::Lost(why) => DriverEvent::Message(Message::Ended(why)),
            Event::Message(message) => match serde_json::from_slice(&message) {
                Ok(message) => DriverEvent::Message(message),
                Err(error) => DriverEvent::Invalid(error.to_string()),
            },
        };
        match &event {
            // A lead that is behind misses states of the run, and nothing else.
            DriverEvent::Message(Message::Snapshot(_)) => {
                drop(self.events.try_send((index, event)))
            }
            _ => drop(self.events.send((index, event))),
        }
    }
}
