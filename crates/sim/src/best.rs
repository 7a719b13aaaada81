//! The best possible: what a gate would carry that knew everything.
//!
//! A fluid on whatever limits the service most: what customers inside ask for goes
//! into a queue, and new sessions are admitted as long as no customer has to wait in it
//! for longer than their patience. As it is never idle while somebody could be served,
//! and nobody inside is lost, no policy carries more, but for chance and for what
//! it saves by leaving new connections in the kernel's backlog until they give up: here
//! every connection is accepted.

use std::collections::VecDeque;

use super::capacity::Worth;
use super::random::Random;
use super::scenario::{AfterFailure, Customers, Scenario};

/// Sessions by which is learned how requests are spread over a session.
const SAMPLES: u32 = 5000;
const TENTH_S: f64 = 0.1;

/// The fluid, a tenth of a second at a time.
pub(crate) struct Best {
    classes: Vec<Class>,
    /// The longest that any customer waits for a response.
    patience_s: f64,
    /// In a closed loop, the most sessions per second that its customers can make.
    closed_per_s: Option<f64>,
    /// The queue, in mean sessions.
    owed: f64,
    /// Connections of this tenth that depend on no policy: of customers who come for the
    /// first time, and of attackers.
    connections: f64,
}

/// Customers of a class.
struct Class {
    /// Of the requests after the first, the share that falls due in each tenth
    /// after the first.
    spread: Vec<f64>,
    /// Requests that fall due in the next tenths.
    due: VecDeque<f64>,
    /// Those who came in this tenth.
    came: NewSessions,
    /// Those who were not let in and come back, and until when.
    waiting: VecDeque<(f64, NewSessions)>,
    /// For how long they do.
    returns_s: f64,
    /// How often each of them connects meanwhile, per second.
    retries_per_s: f64,
}

/// Customers, and the requests that they want after their first.
#[derive(Clone, Copy, Debug, Default)]
struct NewSessions {
    customers: f64,
    later: f64,
}

impl Best {
    pub(crate) fn new(scenario: &Scenario, load: f64) -> Self {
        let response_s = scenario.response_s();
        let class = |class: &Customers| Class {
            spread: spread(class, response_s, scenario.duration_s),
            due: VecDeque::new(),
            came: NewSessions::default(),
            waiting: VecDeque::new(),
            returns_s: returns_s(class),
            retries_per_s: retries_per_s(class),
        };
        Self {
            classes: scenario.customers.iter().map(class).collect(),
            patience_s: scenario.customers.iter().map(|c| c.patience.mean()).fold(0.0, f64::max),
            owed: 0.0,
            connections: 0.0,
            closed_per_s: scenario
                .arrivals
                .closed
                .map(|number| load * f64::from(number) / cycle_s(scenario, response_s)),
        }
    }

    /// A customer comes, for the first time, for so many requests.
    pub(crate) fn comes(&mut self, class: usize, requests: u32) {
        let came = &mut self.classes[class].came;
        came.customers += 1.0;
        came.later += f64::from(requests) - 1.0;
        self.connections += 1.0;
    }

    /// An attacker connects.
    pub(crate) fn is_attacked(&mut self) {
        self.connections += 1.0;
    }

    /// New connections per second in the tenth that ends now, each of which has to be
    /// accepted: those that the seed draws, and as many retries as customers make who
    /// wait in the fluid. No policy changes either. In a closed loop nobody connects
    /// whom the fluid does not carry.
    pub(crate) fn connections_per_s(&mut self) -> f64 {
        let drawn = std::mem::take(&mut self.connections);
        if self.closed_per_s.is_some() {
            return 0.0;
        }
        let retries = |class: &Class| class.waits().customers * class.retries_per_s;
        drawn / TENTH_S + self.classes.iter().map(retries).sum::<f64>()
    }

    /// What can be carried of a tenth that ends now, in mean sessions.
    pub(crate) fn tenth(&mut self, now: f64, worth: &Worth) -> f64 {
        let all = worth.carried_per_s * TENTH_S;
        if let Some(per_s) = self.closed_per_s {
            return all.min(per_s * TENTH_S);
        }
        for (class, [_, later]) in self.classes.iter_mut().zip(&worth.of_request) {
            self.owed += class.due.pop_front().unwrap_or(0.0) * later;
            let came = std::mem::take(&mut class.came);
            class.waiting.push_back((now + class.returns_s, came));
            while class.waiting.front().is_some_and(|(until, _)| *until < now) {
                class.waiting.pop_front();
            }
        }
        let demanded: f64 = self
            .classes
            .iter()
            .zip(&worth.of_request)
            .map(|(class, [first, _])| class.waits().customers * first)
            .sum();
        if demanded > 0.0 {
            let room = (all + self.patience_s * worth.carried_per_s - self.owed).max(0.0);
            let share = (room / demanded).min(1.0);
            self.classes.iter_mut().for_each(|class| class.admit(share));
            self.owed += share * demanded;
        }
        let carried = self.owed.min(all);
        self.owed -= carried;
        carried
    }
}

impl Class {
    fn waits(&self) -> NewSessions {
        self.waiting.iter().fold(NewSessions::default(), |sum, (_, waiting)| NewSessions {
            customers: sum.customers + waiting.customers,
            later: sum.later + waiting.later,
        })
    }

    /// Lets a share of those who wait in.
    fn admit(&mut self, share: f64) {
        let later = share * self.waits().later;
        if share < 1.0 {
            for (_, waiting) in &mut self.waiting {
                waiting.customers *= 1.0 - share;
                waiting.later *= 1.0 - share;
            }
        } else {
            self.waiting.clear();
        }
        if later > 0.0 {
            self.due.resize(self.due.len().max(self.spread.len()), 0.0);
            self.due.iter_mut().zip(&self.spread).for_each(|(due, share)| *due += later * share);
        }
    }
}

/// How the requests of a class after the first are spread over tenths.
fn spread(class: &Customers, response_s: f64, duration_s: f64) -> Vec<f64> {
    let mut random = Random::new(1);
    let mut spread = vec![0.0; (duration_s / TENTH_S).ceil() as usize + 1];
    let mut requests = 0.0;
    for _ in 0..SAMPLES {
        let mut at_s = TENTH_S / 2.0;
        for _ in 1..class.requests.draw(&mut random) {
            at_s += response_s + class.think.draw(&mut random);
            // What falls due in the tenth of the admission is done in the next.
            let tenth = ((at_s / TENTH_S) as usize).max(1) - 1;
            if let Some(share) = spread.get_mut(tenth) {
                *share += 1.0;
            }
            requests += 1.0;
        }
    }
    let last = spread.iter().rposition(|share| *share > 0.0);
    spread.truncate(last.map_or(0, |last| last + 1));
    spread.iter_mut().for_each(|share| *share /= f64::max(requests, 1.0));
    spread
}

/// How long a session and the think time after it take, undisturbed.
///
/// Source: Denning and Buzen 1978, "The Operational Analysis of Queueing Network
/// Models", ACM Computing Surveys 10(3): the asymptotic bounds of a closed network,
/// `X ≤ min(N ∕ (R + Z), 1 ∕ D_max)`.
fn cycle_s(scenario: &Scenario, response_s: f64) -> f64 {
    let of_class = |class: &Customers| {
        let requests = class.requests.mean();
        let handshake_s = scenario.work.accept + scenario.tls(class).full();
        let round_trips = 2.0 + requests;
        let each_s = response_s + class.think.mean();
        class.share * (handshake_s + round_trips * class.rtt_s + requests * each_s)
    };
    scenario.customers.iter().map(of_class).sum()
}

/// For how long customers come back who were not let in.
fn returns_s(class: &Customers) -> f64 {
    match class.after_failure {
        AfterFailure::Leaves => 0.0,
        AfterFailure::Returns { back_off_s, times } => {
            f64::from(times) * (back_off_s + class.patience.mean())
        }
    }
}

/// How often a customer connects who was not let in and comes back.
fn retries_per_s(class: &Customers) -> f64 {
    match class.after_failure {
        AfterFailure::Leaves => 0.0,
        AfterFailure::Returns { back_off_s, .. } => 1.0 / (back_off_s + class.patience.mean()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::length::SessionLength;

    /// Sessions of two requests, the second a second after the first; a mean
    /// session is one of them, and the first request half of it.
    fn best() -> (Best, Worth) {
        let class = Class {
            spread: [vec![0.0; 9], vec![1.0]].concat(),
            due: VecDeque::new(),
            came: NewSessions::default(),
            waiting: VecDeque::new(),
            returns_s: 0.0,
            retries_per_s: 0.0,
        };
        let worth = Worth { carried_per_s: 10.0, of_request: vec![[0.5, 0.5]] };
        let best = Best {
            classes: vec![class],
            patience_s: 0.25,
            closed_per_s: None,
            owed: 0.0,
            connections: 0.0,
        };
        (best, worth)
    }

    /// What is carried in each of so many tenths, of those who come in each.
    fn carried(came: impl Fn(usize) -> usize, tenths: usize) -> Vec<f64> {
        let (mut best, worth) = best();
        let tenth = |n: usize| {
            (0..came(n)).for_each(|_| best.comes(0, 2));
            best.tenth((n + 1) as f64 * TENTH_S, &worth)
        };
        (0..tenths).map(tenth).collect()
    }

    #[test]
    fn below_capacity_everything_is_carried_when_it_falls_due() {
        let carried = carried(|n| usize::from(n < 3), 20);
        // Three customers; half of each at once, and half a second later.
        assert_eq!(carried[..4], [0.5, 0.5, 0.5, 0.0]);
        assert_eq!(carried[9..14], [0.0, 0.5, 0.5, 0.5, 0.0]);
    }

    #[test]
    fn beyond_capacity_no_more_is_carried_than_can_be() {
        let carried = carried(|_| 9, 50);
        assert!(carried.iter().all(|tenth| (tenth - 1.0).abs() < 1e-9), "{carried:?}");
    }

    #[test]
    fn no_session_is_admitted_that_would_wait_for_longer_than_its_patience() {
        // Nine at once: seven fill this tenth and the next 250 ms.
        let carried = carried(|n| if n == 0 { 9 } else { 0 }, 20);
        assert_eq!(carried[..5], [1.0, 1.0, 1.0, 0.5, 0.0]);
        assert!((carried.iter().sum::<f64>() - 7.0).abs() < 1e-9, "{carried:?}");
    }

    #[test]
    fn customers_who_come_back_are_admitted_later() {
        let (mut best, worth) = best();
        best.classes[0].returns_s = 0.5;
        (0..9).for_each(|_| best.comes(0, 2));
        let carried: f64 = (1..=20).map(|n| best.tenth(f64::from(n) / 10.0, &worth)).sum();
        assert!((carried - 9.0).abs() < 1e-9, "{carried}");
    }

    #[test]
    fn connections_are_those_drawn_and_the_retries_of_customers_who_wait() {
        let (mut best, worth) = best();
        (best.classes[0].returns_s, best.classes[0].retries_per_s) = (5.0, 0.5);
        (0..9).for_each(|_| best.comes(0, 2));
        best.is_attacked();
        assert!((best.connections_per_s() - 100.0).abs() < 1e-9);
        best.tenth(0.1, &worth);
        // Seven of nine are let in; the others connect every other second.
        assert!((best.connections_per_s() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn requests_of_active_sessions_are_done_late_rather_than_never() {
        let (mut best, mut worth) = best();
        best.comes(0, 2);
        best.comes(0, 2);
        assert_eq!(best.tenth(0.1, &worth), 1.0);
        worth.carried_per_s = 4.0;
        let later: Vec<f64> = (2..=13).map(|n| best.tenth(f64::from(n) / 10.0, &worth)).collect();
        assert_eq!(later[8..11], [0.0, 0.4, 0.4]);
        assert!((later.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{later:?}");
    }

    #[test]
    fn requests_are_spread_as_customers_think() {
        let requests = SessionLength::power_law(2.0, 2.0);
        let class = Customers { requests, ..Customers::default() };
        let spread = spread(&class, 0.0, 30.0);
        assert!((spread.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        // Half a tenth on average after the admission: 1 − e^(−150/175) in two tenths.
        let soon: f64 = spread[..1].iter().sum();
        assert!((soon - 0.576).abs() < 0.03, "{soon}");
        let mean_s: f64 = spread.iter().enumerate().map(|(n, s)| (n as f64 + 1.0) * 0.1 * s).sum();
        assert!((mean_s - 0.2).abs() < 0.03, "{mean_s}");
    }

    #[test]
    fn customers_come_back_as_often_as_they_say() {
        let returns = AfterFailure::Returns { back_off_s: 1.0, times: 4 };
        let class = Customers { after_failure: returns, ..Customers::default() };
        assert!((returns_s(&class) - 5.0).abs() < 1e-9);
        assert_eq!(returns_s(&Customers::default()), 0.0);
    }
}
