//! Coordinators and agents in virtual time, over a network that loses and repeats packets.

use std::collections::BTreeMap;
use std::time::Duration;

use super::agent::{Agent, Task};
use super::clock::Now;
use super::coordinator::{Coordinator, Event, Order};

/// An agent with its clock and what it was told to do.
struct Machine {
    agent: Agent,
    ahead_ns: i64,
    /// Its packets get through.
    connected: bool,
    tasks: Vec<(u64, Task)>,
}

/// Packets take `delay_ms` each way; of all, about each `lost`-th is lost and each
/// `twice`-th comes twice.
struct World {
    ms: u64,
    delay_ms: u64,
    lost: u64,
    twice: u64,
    count: u64,
    leads: BTreeMap<&'static str, Coordinator>,
    agents: BTreeMap<&'static str, Machine>,
    /// Time of arrival, receiver, sender, bytes.
    under_way: Vec<(u64, String, String, Vec<u8>)>,
    events: Vec<(u64, usize, Event)>,
}

const SILENCE: Duration = Duration::from_secs(3);
/// No packet has this number.
const NEVER: u64 = u64::MAX;

impl World {
    fn new(agents: &[(&'static str, i64)]) -> Self {
        let machine = |ahead_ns: i64| Machine {
            agent: Agent::new("1.0.0", SILENCE),
            ahead_ns,
            connected: true,
            tasks: Vec::new(),
        };
        Self {
            ms: 0,
            delay_ms: 10,
            lost: NEVER,
            twice: NEVER,
            count: 0,
            leads: [("lead", Coordinator::new("1.0.0", 1, SILENCE))].into(),
            agents: agents.iter().map(|(name, ahead)| (*name, machine(*ahead))).collect(),
            under_way: Vec::new(),
            events: Vec::new(),
        }
    }

    fn now(&self, ahead_ns: i64) -> Now {
        let wall = (1u64 << 60) + self.ms * 1_000_000;
        Now { at: Duration::from_millis(self.ms), wall_ns: wall.saturating_add_signed(ahead_ns) }
    }

    fn lead(&mut self) -> &mut Coordinator {
        self.leads.get_mut("lead").unwrap()
    }

    fn carry(&mut self, from: &str, to: String, bytes: Vec<u8>) {
        assert!(bytes.len() <= super::packet::LARGEST);
        self.count += 1;
        // Which ones has no pattern.
        let drawn = self.count.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let times = match () {
            () if drawn.is_multiple_of(self.lost) => 0,
            () if drawn.is_multiple_of(self.twice) => 2,
            () => 1,
        };
        for late in 0..times {
            let at = self.ms + self.delay_ms + 300 * late;
            self.under_way.push((at, to.clone(), from.to_owned(), bytes.clone()));
        }
    }

    /// Lets time pass.
    fn pass(&mut self, ms: u64) {
        for _ in 0..ms / 10 {
            self.ms += 10;
            let leads: Vec<_> = self.leads.keys().copied().collect();
            for lead in leads {
                let now = self.now(0);
                let due = self.leads.get_mut(lead).unwrap().due(now);
                for (to, bytes) in due {
                    let all: Vec<_> = self.agents.keys().map(|name| (*name).to_owned()).collect();
                    let to = to.map_or(all, |to| vec![to]);
                    to.into_iter().for_each(|to| self.carry(lead, to, bytes.clone()));
                }
                while let Some((index, event)) = self.leads.get_mut(lead).unwrap().event() {
                    self.events.push((self.ms, index, event));
                }
            }
            let names: Vec<_> = self.agents.keys().copied().collect();
            for name in names {
                let now = self.now(self.agents[name].ahead_ns);
                let machine = self.agents.get_mut(name).unwrap();
                let task = machine.agent.check(now);
                machine.tasks.extend(task.map(|task| (self.ms, task)));
                let (due, connected) = (machine.agent.due(now), machine.connected);
                let due = due.into_iter().filter(|_| connected).collect::<Vec<_>>();
                due.into_iter().for_each(|(to, bytes)| self.carry(name, to, bytes));
            }
            let (came, left): (Vec<_>, Vec<_>) =
                self.under_way.drain(..).partition(|packet| packet.0 <= self.ms);
            self.under_way = left;
            for (_, to, from, bytes) in came {
                let now = self.now(0);
                if let Some(lead) = self.leads.get_mut(to.as_str()) {
                    lead.receive(&from, &bytes, now);
                } else if let Some(machine) = self.agents.get_mut(to.as_str())
                    && machine.connected
                {
                    let wall_ns = now.wall_ns.saturating_add_signed(machine.ahead_ns);
                    let task = machine.agent.receive(&from, &bytes, Now { wall_ns, ..now });
                    machine.tasks.extend(task.map(|task| (self.ms, task)));
                }
            }
        }
    }

    fn choose(&mut self, wanted: Option<usize>) -> Result<Vec<String>, String> {
        let now = self.now(0);
        let chosen = self.lead().choose(wanted, now)?;
        Ok(chosen.into_iter().map(|chosen| chosen.name).collect())
    }

    /// Agents that have taken a test.
    fn taken(agents: &[(&'static str, i64)]) -> Self {
        let mut world = Self::new(agents);
        world.pass(1000);
        let count = world.choose(None).unwrap().len();
        (0..count).for_each(|index| world.lead().order(index, &take("job")));
        world.pass(200);
        world
    }

    fn tasks(&self, name: &str) -> Vec<Task> {
        self.agents[name].tasks.iter().map(|(_, task)| task.clone()).collect()
    }
}

fn take(job: &str) -> Order {
    Order::Take { args: vec!["load".to_owned()], job: job.to_owned() }
}

#[test]
fn clocks_that_differ_by_hours_are_measured_within_their_error() {
    let hour = 3_600_000_000_000;
    let mut world = World::new(&[("a", hour), ("b", -hour - 7), ("c", 0)]);
    world.pass(1000);
    assert_eq!(world.choose(None).unwrap(), ["a", "b", "c"]);
    for (index, ahead) in [hour, -hour - 7, 0].into_iter().enumerate() {
        let clock = world.lead().clock(index).unwrap();
        assert!(clock.ahead_ns.abs_diff(ahead) <= clock.error_ns, "{clock:?}");
        assert!(clock.error_ns <= 20_000_000, "{clock:?}");
    }
}

#[test]
fn an_agent_of_another_version_is_named_and_the_others_can_be_chosen() {
    let mut world = World::new(&[("a", 0), ("b", 0), ("c", 0)]);
    world.agents.get_mut("b").unwrap().agent = Agent::new("0.9.0", SILENCE);
    world.pass(1000);
    let why = world.choose(None).unwrap_err();
    assert!(why.contains("b runs tidegate 0.9.0 and this is 1.0.0: install"), "{why}");
    let why = world.choose(Some(3)).unwrap_err();
    assert!(why.starts_with("3 agents are wanted and 2 wait; b runs"), "{why}");
    assert_eq!(world.choose(Some(2)).unwrap(), ["a", "c"]);
}

#[test]
fn two_agents_of_one_name_are_told_apart_and_no_test_starts() {
    let mut world = World::new(&[("a:1", 0), ("twin:2", 0), ("twin:3", 0)]);
    world.pass(1000);
    for wanted in [None, Some(1)] {
        let why = world.choose(wanted).unwrap_err();
        assert_eq!(why, "two agents are named twin; give each a --name of its own");
    }
    let mut world = World::new(&[("a:1", 0), ("b:c:2", 0)]);
    world.pass(1000);
    assert_eq!(world.choose(None).unwrap(), ["a", "b:c"]);
}

#[test]
fn without_an_agent_the_remedy_is_told() {
    let mut world = World::new(&[]);
    world.pass(1000);
    assert!(world.choose(None).unwrap_err().contains("start `tidegate load-agent`"));
}

#[test]
fn orders_and_results_are_complete_whatever_is_lost_late_or_repeated() {
    let mut world = World::new(&[("a", 0), ("b", 5)]);
    (world.lost, world.twice) = (4, 3);
    world.pass(2000);
    assert_eq!(world.choose(Some(2)).unwrap().len(), 2);
    let job = "x".repeat(300_000);
    world.lead().order(0, &take(&job));
    world.lead().order(1, &take("small"));
    world.lead().order(0, &Order::Line("start".to_owned()));
    world.pass(20_000);
    let start = |job: &str| Task::Start {
        coordinator: "lead".to_owned(),
        args: vec!["load".to_owned()],
        job: job.to_owned(),
    };
    assert_eq!(world.tasks("a"), [start(&job), Task::Line("start".to_owned())]);
    assert_eq!(world.tasks("b"), [start("small")]);
    let result = vec![7; 500_000];
    world.agents.get_mut("a").unwrap().agent.ended(&result);
    world.pass(20_000);
    let messages: Vec<_> = world.events.iter().filter(|(_, index, _)| *index == 0).collect();
    assert!(matches!(&messages[0].2, Event::Message(message) if *message == result));
    assert!(world.agents["a"].agent.is_free());
}

#[test]
fn an_agent_that_dies_is_lost_within_the_silence_and_the_others_go_on() {
    let mut world = World::taken(&[("a", 0), ("b", 0)]);
    world.agents.get_mut("a").unwrap().connected = false;
    let died = world.ms;
    world.pass(10_000);
    let [(at, 0, Event::Lost(why))] = world.events.as_slice() else { panic!("{:?}", world.events) };
    assert!((2700..=3300).contains(&(at - died)), "{}", at - died);
    assert_eq!(why, "was not heard for 3 s");
    assert_eq!(world.tasks("b").len(), 1);
}

#[test]
fn an_agent_ends_its_load_when_the_coordinator_is_silent_and_takes_the_next_test() {
    let mut world = World::taken(&[("a", 0)]);
    let lead = world.leads.remove("lead").unwrap();
    let died = world.ms;
    world.pass(10_000);
    let (at, task) = world.agents["a"].tasks.last().unwrap().clone();
    assert!((2700..=3300).contains(&(at - died)), "{}", at - died);
    assert_eq!(task, Task::Kill("has not heard the coordinator for 3 s".to_owned()));
    // One that was only cut off is told, and the next one finds the agent free.
    world.leads.insert("lead", lead);
    world.pass(1000);
    assert!(matches!(world.events.last(), Some((_, 0, Event::Lost(_)))));
    world.leads.insert("next", Coordinator::new("1.0.0", 2, SILENCE));
    world.pass(1000);
    let now = world.now(0);
    assert_eq!(world.leads.get_mut("next").unwrap().choose(None, now).unwrap().len(), 1);
}

#[test]
fn an_agent_runs_one_test_at_a_time() {
    let mut world = World::taken(&[("a", 0)]);
    world.leads.insert("other", Coordinator::new("1.0.0", 2, SILENCE));
    world.pass(1000);
    let now = world.now(0);
    let other = world.leads.get_mut("other").unwrap();
    let why = other.choose(None, now).unwrap_err();
    assert!(why.contains("a is busy: it runs a test of lead"), "{why}");
}

#[test]
fn a_start_that_one_agent_did_not_get_is_told_in_time_to_stop_the_others() {
    let mut world = World::taken(&[("a", 0), ("b", 0)]);
    world.agents.get_mut("b").unwrap().connected = false;
    (0..2).for_each(|index| world.lead().order(index, &Order::Line("start".to_owned())));
    let by = Duration::from_millis(world.ms + 500);
    world.lead().confirm_by(by);
    world.pass(600);
    let [(_, 1, Event::Lost(why))] = world.events.as_slice() else { panic!("{:?}", world.events) };
    assert_eq!(why, "did not confirm the start");
    world.lead().dismiss_all("nothing starts");
    world.pass(100);
    assert_eq!(world.tasks("a").last(), Some(&Task::Kill("nothing starts".to_owned())));
}

#[test]
fn an_agent_that_was_started_anew_is_lost_at_once_and_old_packets_start_nothing() {
    let mut world = World::taken(&[("a", 0)]);
    world.agents.get_mut("a").unwrap().agent.send(b"ready");
    world.pass(100);
    world.agents.get_mut("a").unwrap().agent = Agent::new("1.0.0", SILENCE);
    world.pass(400);
    assert_eq!(world.events.last().unwrap().2, Event::Lost("has started anew".to_owned()));
    assert!(world.agents["a"].agent.is_free());
}

#[test]
fn a_test_that_is_over_is_not_begun_again_by_a_packet_that_was_late() {
    let mut world = World::new(&[("a", 0)]);
    world.twice = 1;
    world.pass(1000);
    world.choose(None).unwrap();
    world.lead().order(0, &take("job"));
    world.pass(50);
    world.lead().dismiss(0, "stopped");
    world.pass(2000);
    assert_eq!(world.tasks("a").len(), 2, "{:?}", world.tasks("a"));
    assert!(world.agents["a"].agent.is_free());
}
