//! The fleets that ship.

use std::ops::Range;

use super::{Fault, Fleet, Network, Spread, What};

/// A fleet with a name.
#[derive(Clone, Debug)]
pub struct Named {
    /// Its name.
    pub name: &'static str,
    /// What it shows.
    pub about: &'static str,
    /// What is simulated.
    pub fleet: Fleet,
}

/// All fleets that ship.
pub fn scenarios() -> Vec<Named> {
    let even = || Fleet { spread: Spread::Even, ..small() };
    let with = |what, gates: Range<usize>, time_s: Range<f64>| Fleet {
        faults: vec![Fault { what, gates, time_s }],
        ..even()
    };
    let named = |name, about, fleet| Named { name, about, fleet };
    let load = |load| Fleet { load: vec![(0.0, load)], ..small() };
    let network = |delay_s, loss| Fleet {
        network: Network { delay_s, jitter_s: delay_s / 4.0, loss },
        ..small()
    };
    vec![
        named("moving-2", "3 gates, 2 times the capacity; demand moves each 10 s", load(2.0)),
        named("moving-4", "the same at 4 times", load(4.0)),
        named("moving-10", "the same at 10 times", load(10.0)),
        named(
            "unseen",
            "the same at 4 times; the service's CPU time is out of view",
            Fleet { in_view: false, ..small() },
        ),
        named("killed", "a gate dies after 20 s", with(What::Down, 2..3, 20.0..FOREVER)),
        named("holder-killed", "the one that divides dies", with(What::Down, 0..1, 20.0..FOREVER)),
        named("new", "a gate starts after 20 s", with(What::Down, 2..3, 0.0..20.0)),
        named(
            "joining",
            "a fourth gate starts after 20 s",
            Fleet { gates: 4, ..with(What::Down, 3..4, 0.0..20.0) },
        ),
        named("apart", "a gate is cut off from 20 to 40 s", with(What::Apart, 2..3, 20.0..40.0)),
        named(
            "holder-apart",
            "the gate that divides is cut off from 20 to 40 s",
            with(What::Apart, 0..1, 20.0..40.0),
        ),
        named(
            "nats-gone",
            "no gate reaches NATS from 20 to 50 s",
            with(What::Unreachable, 0..3, 20.0..50.0),
        ),
        named("loss", "a quarter of all messages is lost", network(0.002, 0.25)),
        named("delay-100", "messages take 125 ms", network(0.1, 0.0)),
        named("delay-250", "messages take 310 ms", network(0.25, 0.0)),
        named("delay-500", "messages take 625 ms", network(0.5, 0.0)),
        named("internet", "1,000 gates, 10 million sessions; demand moves each 10 s", large()),
        named(
            "lost-region",
            "the same; 100 gates die after 20 s, and return after 40 s",
            Fleet {
                spread: Spread::Even,
                faults: vec![Fault { what: What::Down, gates: 100..200, time_s: 20.0..40.0 }],
                ..large()
            },
        ),
    ]
}

/// A time after the end of every run.
const FOREVER: f64 = 1e9;

/// The fleet of this name.
pub fn named(name: &str) -> Option<Named> {
    scenarios().into_iter().find(|it| it.name == name)
}

/// Three gates at four times the load that the service carries.
fn small() -> Fleet {
    Fleet {
        gates: 3,
        divided: true,
        learns: true,
        cpus: 16.0,
        in_view: true,
        request_cpu_s: 0.002,
        requests_per_session: 20.0,
        think_s: 1.0,
        load: vec![(0.0, 4.0)],
        spread: Spread::Moving { every_s: 10.0, crowded: 0.8 },
        seconds: 60.0,
        step_s: 0.001,
        network: Network { delay_s: 0.001, jitter_s: 0.001, loss: 0.0 },
        faults: Vec::new(),
        active: 0,
        seed: 1,
    }
}

/// A thousand gates and ten million sessions, on several continents.
fn large() -> Fleet {
    let (cpus, request_cpu_s, think_s) = (1360.0, 0.004, 30.0);
    Fleet {
        gates: 1000,
        cpus,
        request_cpu_s,
        think_s,
        step_s: 0.004,
        network: Network { delay_s: 0.05, jitter_s: 0.02, loss: 0.001 },
        active: 10_000_000,
        ..small()
    }
}
