//! Simulates session lengths, and how often sessions request each page. The mean length is part of
//! every result, because it determines the cost of a session.
//!
//! With Back the process is a pushdown chain without a simple closed form, so it is
//! simulated with the walk of the customers.

use std::time::Duration;

use rand::SeedableRng;

use super::class::{Class, draw};
use super::definition::ScenarioDefinition;
use super::duration::MinimumDuration;
use super::length::{DrawnSession, PageVisits, SessionLength, Sessions};
use super::walk::{Step, Walk, exponential};
use crate::rng::Rng;

/// Sessions simulated: the mean of the longest table shipped (standard
/// deviation about its mean) comes out within 2 %.
const SESSIONS: usize = 4000;
/// Requests after which no other session is simulated: sessions may be very long.
const REQUESTS: u64 = 1_000_000;
/// Requests beyond which sessions that all have as many are not walked through.
const MANY: u32 = 1000;

pub(super) fn simulate(definition: &ScenarioDefinition) -> Sessions {
    let mut rng = Rng::seed_from_u64(7);
    let (mut backs, mut total, mut think_s) = (0u64, 0u64, 0.0);
    let mut drawn: Vec<DrawnSession> = Vec::with_capacity(SESSIONS);
    let shares = definition.classes.iter().any(|class| class.share > 0.0);
    let pages = definition.pages.len();
    let (mut visits, mut of_one) = (PageVisits::none(pages), vec![0.0; pages]);
    let mut class_visits = vec![PageVisits::none(pages); definition.classes.len()];
    while drawn.len() < SESSIONS && total < REQUESTS {
        let index = match shares {
            true => usize::from(draw(&definition.classes, drawn.len() as u64)),
            false => drawn.len() % definition.classes.len(),
        };
        let class = &definition.classes[index];
        let requests = class.session.max_requests;
        if requests > MANY && is_endless(class) {
            let thinks = f64::from(requests - 1) * class.session.think.as_secs_f64();
            total += u64::from(requests);
            think_s += thinks;
            // The sum of many think times is close to its mean.
            sample(class, drawn.len() as u64, &mut of_one);
            visits.add(&of_one);
            class_visits[index].add(&of_one);
            drawn.push(DrawnSession { requests, think: seconds(thinks) });
            continue;
        }
        let mut walk: Walk<()> = Walk::new(class.start);
        walk.visit(class.start, ());
        of_one.fill(0.0);
        of_one[usize::from(class.start)] = 1.0;
        let mut clock = VirtualClock::new(class.duration, drawn.len() as u64);
        while let Some(step) = walk.step(&class.navigation, class.session.max_requests, &mut rng) {
            if clock.ends(step) {
                break;
            }
            match step {
                Step::Visit(page) => walk.visit(page, ()),
                Step::Again => walk.again(),
                Step::Back => {
                    backs += 1;
                    walk.back(|page| definition.pages[page as usize].repeat);
                }
            }
            of_one[usize::from(walk.page())] += 1.0;
            let mean = mean_think(class, &walk, definition);
            // The mean of a negative exponential that is cut at a multiple of its mean.
            think_s += mean.mul_f64(1.0 - (-class.session.think_cap).exp()).as_secs_f64();
            clock.think(mean, class.session.think_cap);
        }
        total += u64::from(walk.requests());
        visits.add(&of_one);
        class_visits[index].add(&of_one);
        drawn.push(DrawnSession { requests: walk.requests(), think: clock.now });
    }
    let mut lengths: Vec<u32> = drawn.iter().map(|session| session.requests).collect();
    lengths.sort_unstable();
    let count = lengths.len();
    let summary = SessionLength {
        mean_requests: total as f64 / count as f64,
        median_requests: lengths[count / 2],
        p99_requests: lengths[count * 99 / 100],
        back_share: backs as f64 / total as f64,
    };
    let mean_think = seconds(think_s / count as f64);
    Sessions { visits, class_visits, drawn, lengths, summary, mean_think }
}

/// Visits of a session without an end, by those of its first requests.
fn sample(class: &Class, session: u64, visits: &mut [f64]) {
    // It has its own random numbers, so that other sessions do not depend on it.
    let mut rng = Rng::seed_from_u64(session);
    let mut walk: Walk<()> = Walk::new(class.start);
    walk.visit(class.start, ());
    visits.fill(0.0);
    let each = f64::from(class.session.max_requests) / f64::from(MANY);
    visits[usize::from(class.start)] = each;
    while let Some(step) = walk.step(&class.navigation, MANY, &mut rng) {
        match step {
            Step::Visit(page) => walk.visit(page, ()),
            // Endless sessions do not go back.
            Step::Again | Step::Back => walk.again(),
        }
        visits[usize::from(walk.page())] += each;
    }
}

fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

/// Mean think time before the request that the walk has just counted, before it is cut.
fn mean_think(class: &Class, walk: &Walk<()>, definition: &ScenarioDefinition) -> Duration {
    let steps = class.navigation.steps();
    let step = steps.and_then(|steps| steps.get((walk.requests() as usize).checked_sub(1)?));
    let page = definition.pages[walk.page() as usize].think;
    step.and_then(|step| step.think).or(page).unwrap_or(class.session.think)
}

/// Whether every session has the largest number of requests.
fn is_endless(class: &Class) -> bool {
    let table = class.navigation.table();
    class.duration.is_none() && table.is_some_and(|table| table.is_endless(class.start))
}

/// Virtual time of a session: think times only, responses take none. It has its own random
/// numbers, so that the steps do not depend on it.
struct VirtualClock {
    lasting: Option<MinimumDuration>,
    session: u64,
    rng: Rng,
    now: Duration,
}

impl VirtualClock {
    fn new(lasting: Option<MinimumDuration>, session: u64) -> Self {
        Self { lasting, session, rng: Rng::seed_from_u64(session), now: Duration::ZERO }
    }

    fn ends(&self, step: Step) -> bool {
        self.lasting.is_some_and(|it| it.ends(step, self.now, 1.0, self.session))
    }

    fn think(&mut self, mean: Duration, cap: f64) {
        let think = mean.mul_f64(exponential(cap, &mut self.rng));
        self.now = self.now.saturating_add(think);
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
        assert_eq!(endless.page_visits().per_session(0).value, 1e6);
    }

    #[test]
    fn visits_of_a_page_are_those_of_the_chain_worked_out_by_hand() {
        // A session goes on with probability 1/2 after each request: from Home to Item, and back.
        let text = "[session]\nstart = \"Home\"\nthink = \"1s\"\n\
                    [pages]\nHome = { path = \"/\" }\nItem = { path = \"/item\" }\n\
                    [transitions]\nHome = { Item = 0.5, End = 0.5 }\nItem = { Back = 0.5, End = 0.5 }\n";
        let scenario = Scenario::from_toml(text, "two.toml").unwrap();
        let visits = scenario.page_visits();
        // 1 + 1/4 + 1/16 + ... and 1/2 + 1/8 + ...
        for (page, expected) in [(0, 4.0 / 3.0), (1, 2.0 / 3.0)] {
            let found = visits.per_session(page);
            assert!(found.low <= expected && expected <= found.high, "{found:?}");
            assert!(found.high - found.low < 0.1, "{found:?}");
        }
        let all: f64 = (0..2).map(|page| visits.per_session(page).value).sum();
        assert!((all - scenario.session_length().mean_requests).abs() < 1e-9);
        assert_eq!(visits.per_session(7).value, 0.0);
    }

    #[test]
    fn visits_are_known_by_class_and_by_their_shares() {
        let text = "[session]\nthink = \"1s\"\n[pages]\nA = { path = \"/a\" }\nB = { path = \"/b\" }\n\
                    [[classes]]\nname = \"often\"\nshare = 3\nsteps = [\"A\", \"B\", \"B\"]\n\
                    [[classes]]\nname = \"seldom\"\nshare = 1\nsteps = [\"A\"]\n";
        let scenario = Scenario::from_toml(text, "classes.toml").unwrap();
        let by_class: Vec<[f64; 2]> = scenario
            .class_visits()
            .iter()
            .map(|visits| [0, 1].map(|page| visits.per_session(page).value))
            .collect();
        assert_eq!(by_class, [[1.0, 2.0], [1.0, 0.0]]);
        let b = scenario.page_visits().per_session(1);
        assert!(b.low < 1.5 && 1.5 < b.high, "{b:?}");
    }

    #[test]
    fn the_think_times_of_drawn_sessions_vary_as_those_of_customers_do() {
        let text = "[session]\nsteps = [\"Page\", \"Page\", \"Page\", \"Page\", \"Page\"]\n\
                    think = \"1s\"\n[pages]\nPage = { path = \"/\" }\n";
        let drawn = Scenario::from_toml(text, "five.toml").unwrap();
        let mut thinks: Vec<f64> =
            drawn.drawn_sessions().iter().map(|it| it.think.as_secs_f64()).collect();
        thinks.sort_by(f64::total_cmp);
        assert!(drawn.drawn_sessions().iter().all(|session| session.requests == 5));
        // The sum of four exponential times of 1 s: Erlang with mean 4, 99 % within 10.05.
        let mean = thinks.iter().sum::<f64>() / thinks.len() as f64;
        let p99 = thinks[thinks.len() * 99 / 100];
        assert!((mean - 4.0).abs() < 0.1 && (p99 - 10.05).abs() < 0.4, "{mean} {p99}");
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
