//! The fleets that ship.

use super::{Fleet, Network, Spread};

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
    vec![Named { name: "moving", about: "demand moves from gate to gate", fleet: small() }]
}

/// The fleet of this name.
pub fn named(name: &str) -> Option<Named> {
    scenarios().into_iter().find(|it| it.name == name)
}

/// Three gates at four times the load that the service carries.
pub fn small() -> Fleet {
    Fleet {
        gates: 3,
        divided: true,
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
        seed: 1,
    }
}
