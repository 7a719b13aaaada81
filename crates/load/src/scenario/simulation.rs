//! Simulates session lengths. The mean length is part of every result, because it determines
//! the cost of a session.
//!
//! With Back the process is a pushdown chain without a simple closed form, so it is
//! simulated with the walk of the customers.

use std::time::Duration;

use rand::SeedableRng;

use super::class::{Class, draw};
use super::duration::MinimumDuration;
use super::length::{SessionLength, Sessions};
use super::parts::Parts;
use super::walk::{Step, Walk, exponential};
use crate::rng::Rng;

/// Sessions simulated: the mean of the longest table shipped (standard
/// deviation about its mean) comes out within 2 %.
const SESSIONS: usize = 4000;
/// Requests after which no other session is simulated: sessions may be very long.
const REQUESTS: u64 = 1_000_000;

pub(super) fn simulate(parts: &Parts) -> Sessions {
    let mut rng = Rng::seed_from_u64(7);
    let (mut backs, mut total, mut think_s) = (0u64, 0u64, 0.0);
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
            think_s +=
                f64::from(class.session.max_requests - 1) * class.session.think.as_secs_f64();
            lengths.push(class.session.max_requests);
            continue;
        }
        let mut walk: Walk<()> = Walk::new(class.start);
        walk.visit(class.start, ());
        let mut clock =
            class.duration.map(|lasting| VirtualClock::new(lasting, lengths.len() as u64));
        while let Some(step) = walk.step(&class.navigation, class.session.max_requests, &mut rng) {
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
            think_s += mean_think(class, &walk, parts).as_secs_f64();
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
    let mean_think = Duration::try_from_secs_f64(think_s / count as f64).unwrap_or(Duration::MAX);
    Sessions { lengths, summary, mean_think }
}

/// Mean think time before the request that the walk has just counted.
fn mean_think(class: &Class, walk: &Walk<()>, parts: &Parts) -> Duration {
    let steps = class.navigation.steps();
    let step = steps.and_then(|steps| steps.get((walk.requests() as usize).checked_sub(1)?));
    let page = parts.pages[walk.page() as usize].think;
    let mean = step.and_then(|step| step.think).or(page).unwrap_or(class.session.think);
    // The mean of a negative exponential that is cut at a multiple of its mean.
    mean.mul_f64(1.0 - (-class.session.think_cap).exp())
}

/// Whether every session has the largest number of requests.
fn is_endless(class: &Class) -> bool {
    let table = class.navigation.table();
    class.duration.is_none() && table.is_some_and(|table| table.is_endless(class.start))
}

/// Virtual time of a session that ends by time: think times only, responses take none. It has
/// its own random numbers, so that the steps do not depend on it.
struct VirtualClock {
    lasting: MinimumDuration,
    session: u64,
    rng: Rng,
    now: Duration,
}

impl VirtualClock {
    fn new(lasting: MinimumDuration, session: u64) -> Self {
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
