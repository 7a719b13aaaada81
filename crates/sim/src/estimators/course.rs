//! A course: what all estimators said while it was played, beside the truth.

use std::time::Duration;

use super::{ConnectionCosts, Estimators, NAMES};
use crate::policy::{Policy, Response, User};
use crate::scenario::{Changed, Scenario};
use crate::{policies, run};
use tidegate_control::{self as control, Decision, Reading, Time};

/// What was played, and what everybody said at each tick.
#[derive(Clone, Debug)]
pub struct Course {
    /// Its name.
    pub name: String,
    /// What it is about, in a sentence.
    pub about: String,
    /// From when on it counts.
    pub watch_from_s: f64,
    /// When costs jump, if they do.
    pub step_s: Option<f64>,
    /// One per seed, in order of time.
    pub runs: Vec<Vec<Moment>>,
}

/// A tick.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// When, from the beginning of the run.
    pub at_s: f64,
    /// What connections cost.
    pub truth: ConnectionCosts,
    /// What each of [`NAMES`] said that they cost.
    pub estimates: [ConnectionCosts; NAMES.len()],
}

/// Plays a scenario at its heaviest load with the seeds 1 to `seeds`, under
/// `tide`, so that the service does not collapse.
pub fn played(scenario: &Scenario, seeds: u64) -> Course {
    let load = scenario.loads.iter().copied().fold(0.0, f64::max);
    let step_s = scenario.changes.iter().find_map(|change| match change.what {
        Changed::Cost { over_s: 0.0, .. } => Some(change.at_s),
        _ => None,
    });
    let play = |seed| {
        let mut listener = Listener::new(scenario);
        run(scenario, load, seed, &mut listener);
        listener.moments
    };
    Course {
        name: scenario.name.clone(),
        about: scenario.about.clone(),
        watch_from_s: scenario.watch_from_s,
        step_s,
        runs: (1..=seeds).map(play).collect(),
    }
}

/// The production policy, with estimators that listen in on its readings.
struct Listener<'a> {
    scenario: &'a Scenario,
    policy: Box<dyn Policy>,
    estimators: Estimators,
    /// New sessions offered and admitted since the last reading.
    offered: u64,
    admitted: u64,
    /// What connections cost by what work is multiplied by: summed up anew only
    /// when that changes.
    truth: ((f64, f64), ConnectionCosts),
    moments: Vec<Moment>,
}

impl<'a> Listener<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        Self {
            truth: (scenario.factors(0.0), scenario.connection_costs(0.0)),
            scenario,
            policy: policies::named("tide", scenario).expect("it is the production policy"),
            estimators: Estimators::new(scenario.connection_costs(0.0)),
            offered: 0,
            admitted: 0,
            moments: Vec::new(),
        }
    }
}

impl Policy for Listener<'_> {
    fn offered(&mut self) {
        self.offered += 1;
        self.policy.offered();
    }

    fn decide(&mut self, now: Time, user: User, moment: control::Moment) -> Decision {
        let decision = self.policy.decide(now, user, moment);
        self.admitted += u64::from(decision.is_admit());
        decision
    }

    fn price(&self, entry: control::Entry) -> Option<Duration> {
        self.policy.price(entry)
    }

    fn refuses_one(&self) -> bool {
        self.policy.refuses_one()
    }

    fn drops_oldest(&mut self, now: Time, waited: Duration) -> bool {
        self.policy.drops_oldest(now, waited)
    }

    fn returning(&mut self, now: Time) {
        self.policy.returning(now);
    }

    fn request(&mut self, now: Time, user: User, moment: control::Moment) -> bool {
        self.policy.request(now, user, moment)
    }

    fn responded(&mut self, now: Time, response: &Response) {
        self.policy.responded(now, response);
    }

    fn observe(&mut self, now: Time, reading: &Reading) {
        // As the controller counts them.
        let refused = self.offered.saturating_sub(self.admitted);
        (self.offered, self.admitted) = (0, 0);
        self.estimators.observe(reading, refused);
        let at_s = now.as_secs_f64();
        let factors = self.scenario.factors(at_s);
        if factors != self.truth.0 {
            self.truth = (factors, self.scenario.connection_costs(at_s));
        }
        let (truth, estimates) = (self.truth.1, self.estimators.costs());
        self.moments.push(Moment { at_s, truth, estimates });
        self.policy.observe(now, reading);
    }

    fn why(&self, now: Time) -> String {
        self.policy.why(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_sees_every_reading_and_changes_nothing() {
        let scenario = Scenario { duration_s: 4.0, watch_from_s: 0.0, ..Scenario::default() };
        let mut listener = Listener::new(&scenario);
        let heard = run(&scenario, 2.0, 1, &mut listener);
        let mut alone = policies::named("tide", &scenario).unwrap();
        assert_eq!(heard.completed, run(&scenario, 2.0, 1, alone.as_mut()).completed);
        assert_eq!(listener.moments.len(), 40);
    }
}
