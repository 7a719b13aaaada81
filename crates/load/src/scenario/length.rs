//! How long sessions are: the mean session length goes with every result,
//! because it decides what a session costs.
//!
//! Back makes the chain a pushdown one, which has no simple closed form, so
//! it is simulated with the walk that the customers use.

use std::time::Duration;

use rand::SeedableRng;
use serde::{Deserialize, Serialize};

use super::{Class, Lasting, Parts, draw};
use crate::Rng;
use crate::scenario::walk::{Step, Walk, exponential};

/// Sessions simulated: the mean of the longest table shipped (standard
/// deviation about its mean) comes out within 2 %.
const SESSIONS: usize = 4000;
/// Requests after which no other session is simulated: sessions may be very long.
const REQUESTS: u64 = 1_000_000;

/// Requests of a session that nothing disturbs, by simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionLength {
    /// Mean.
    pub mean_requests: f64,
    /// Median.
    pub median_requests: u32,
    /// 99th percentile.
    pub p99_requests: u32,
    /// Share of steps that go back.
    pub back_share: f64,
}

impl SessionLength {
    /// Of sessions of one request.
    pub const ONE: Self =
        Self { mean_requests: 1.0, median_requests: 1, p99_requests: 1, back_share: 0.0 };
}

/// Simulated sessions.
#[derive(Debug)]
pub(crate) struct Sessions {
    /// How many requests each has, in ascending order.
    pub(super) lengths: Vec<u32>,
    pub(super) summary: SessionLength,
}

pub(super) fn simulate(parts: &Parts) -> Sessions {
    let mut rng = Rng::seed_from_u64(7);
    let (mut backs, mut total) = (0u64, 0u64);
    let mut lengths: Vec<u32> = Vec::with_capacity(SESSIONS);
    let shares = parts.classes.iter().any(|class| class.share > 0.0);
    while lengths.len() < SESSIONS && total < REQUESTS {
        let class = match shares {
            true => usize::from(draw(&parts.classes, lengths.len() as u64)),
            false => lengths.len() % parts.classes.len(),
        };
        let class = &parts.classes[class];
        if is_endless(class) {
            total += u64::from(class.session.max_requests);
            lengths.push(class.session.max_requests);
            continue;
        }
        let mut walk: Walk<()> = Walk::new(class.start);
        walk.visit(class.start, ());
        let mut clock = class.lasting.map(|lasting| Clock::new(lasting, lengths.len() as u64));
        while let Some(step) = walk.step(&class.course, class.session.max_requests, &mut rng) {
            if clock.as_ref().is_some_and(|clock| clock.ends(step)) {
                break;
            }
            match step {
                Step::Visit(page) => walk.visit(page, ()),
                Step::Again => walk.again(),
                Step::Back => {
                    backs += 1;
                    walk.back(|page| parts.pages[page as usize].repeat);
                }
            }
            if let Some(clock) = &mut clock {
                clock.think(class, parts.pages[walk.page() as usize].think);
            }
        }
        total += u64::from(walk.requests());
        lengths.push(walk.requests());
    }
    lengths.sort_unstable();
    let count = lengths.len();
    let summary = SessionLength {
        mean_requests: total as f64 / count as f64,
        median_requests: lengths[count / 2],
        p99_requests: lengths[count * 99 / 100],
        back_share: backs as f64 / total as f64,
    };
    Sessions { lengths, summary }
}

/// Whether each of its sessions has as many requests as the scenario allows.
fn is_endless(class: &Class) -> bool {
    let table = class.course.table();
    class.lasting.is_none() && table.is_some_and(|table| table.is_endless(class.start))
}

/// Virtual time of a session that ends by the clock: what customers think; answers
/// take none. With numbers of its own, so that steps are those of any session.
struct Clock {
    lasting: Lasting,
    session: u64,
    rng: Rng,
    now: Duration,
}

impl Clock {
    fn new(lasting: Lasting, session: u64) -> Self {
        Self { lasting, session, rng: Rng::seed_from_u64(session), now: Duration::ZERO }
    }

    fn ends(&self, step: Step) -> bool {
        self.lasting.ends(step, self.now, 1.0, self.session)
    }

    /// `page` is the mean of the page that comes, if it has one of its own.
    fn think(&mut self, class: &Class, page: Option<Duration>) {
        let mean = page.unwrap_or(class.session.think);
        self.now += mean.mul_f64(exponential(class.session.think_cap, &mut self.rng));
    }
}

#[cfg(test)]
mod tests {
    use super::REQUESTS;
    use crate::scenario::Scenario;

    fn scenario(transitions: &str) -> Scenario {
        let text = format!(
            "[session]\nstart = \"Page\"\nmax_requests = 1000000\n\
             [pages]\nPage = {{ path = \"/\" }}\n[transitions]\nPage = {{ {transitions} }}\n"
        );
        Scenario::from_toml(&text, "long.toml").unwrap()
    }

    #[test]
    fn sessions_without_an_end_have_as_many_requests_as_they_may() {
        let endless = scenario("Page = 1");
        assert!(endless.session_lengths().iter().all(|length| *length == 1_000_000));
        assert_eq!(endless.session_length().mean_requests, 1e6);
        assert_eq!(endless.session_length().back_share, 0.0);
    }

    #[test]
    fn very_long_sessions_are_simulated_within_bounds() {
        for (transitions, back_share) in
            [("Page = 0.999999, End = 0.000001", 0.0), ("Back = 1", 1.0)]
        {
            let long = scenario(transitions);
            let simulated: u64 =
                long.session_lengths().iter().map(|length| u64::from(*length)).sum();
            assert!((REQUESTS..REQUESTS + 1_000_000).contains(&simulated), "{simulated}");
            assert!((long.session_length().back_share - back_share).abs() < 1e-5);
        }
    }
}
