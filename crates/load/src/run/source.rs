//! Where sessions come from: a schedule that does not wait for them, or
//! customers who do. Each model of the arrivals is a task or several; what a
//! session does and how it is recorded is the same for all.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use tokio::task::{spawn_local, yield_now};

use crate::Rng;
use crate::arrivals::{Arrivals, Closed, Model, Schedule, Stream};
use crate::outcome::Outcome;
use crate::plan::Keep;
use crate::plan::shard::Share;
use crate::recorder::Group;
use crate::run::worker::{Arrived, Shared};
use crate::session::customer::{Customer, Kept, Left};

/// Numbers of a session's seed for the times away after it.
const AWAY: u64 = 0x9FB2_1C65_1E98_DF25;
/// Numbers of a model's seed for its customers.
const CUSTOMERS: u64 = 0xD134_2543_DE82_EF95;

/// An entry of the arrivals.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// Which, from 0.
    pub(crate) model: u8,
    /// The class of its customers, if it says so.
    pub(crate) class: Option<u8>,
}

/// The sources of a thread that may still bring sessions.
pub(crate) struct Sources(Rc<Cell<usize>>);

impl Sources {
    /// Whether no session will begin any more.
    pub(crate) fn are_over(&self) -> bool {
        self.0.get() == 0
    }

    fn spawn(&self, source: impl Future<Output = ()> + 'static) {
        let left = self.0.clone();
        left.set(left.get() + 1);
        // Awaited where it was moved in, it would lie in the task twice.
        let source = Box::pin(source);
        spawn_local(async move {
            source.await;
            left.set(left.get() - 1);
        });
    }
}

/// Starts this thread's share of all models.
pub(crate) fn start(shared: &Rc<Shared>, arrivals: &Arrivals) -> Sources {
    let sources = Sources(Rc::default());
    let share = shared.share;
    let models = arrivals.models().iter().zip(arrivals.classes());
    for (index, (model, class)) in models.enumerate() {
        let class = class.as_ref().and_then(|name| shared.parts.class(name));
        let entry = Entry { model: index as u8, class };
        let seed = shared.seed_of_model(index);
        let numbers = Numbers::of_model(index, arrivals.models().len());
        let arriving = |schedule| numbers.arriving(schedule, share, seed);
        match model {
            Model::PartlyOpen(schedule) => {
                sources.spawn(open(shared.clone(), arriving(schedule), u32::MAX, entry));
            }
            Model::Open(schedule) => {
                sources.spawn(open(shared.clone(), arriving(schedule), 1, entry));
            }
            Model::Closed(model) => {
                let think = model.think.unwrap_or(shared.parts.rules(class).think);
                let think = think.mul_f64(shared.time_scale);
                for (customer, first) in firsts(share, model, think) {
                    let rng = Rng::seed_from_u64(seed ^ (customer + 1).wrapping_mul(CUSTOMERS));
                    let hers = numbers.of_customer(customer, model.customers);
                    sources.spawn(closed(shared.clone(), *model, first, hers, entry, rng));
                }
            }
        }
    }
    sources
}

/// Numbers of sessions in the whole test: each source gives its own, in order,
/// whatever the others do. They decide what a session does, so it is the same
/// however many drivers and threads share the test.
#[derive(Clone, Copy, Debug)]
struct Numbers {
    next: u64,
    step: u64,
}

impl Numbers {
    /// Those of one of several models side by side.
    fn of_model(index: usize, models: usize) -> Self {
        Self { next: index as u64, step: models as u64 }
    }

    /// What arrives by the model's schedule of a thread's own share: numbers and
    /// instants since the start of the run.
    fn arriving(self, schedule: &Schedule, share: Share, seed: u64) -> Arriving {
        let numbers = self.every(share.first as u64, share.every as u64);
        Arriving { numbers, stream: schedule.stream(share.first, share.every, seed) }
    }

    /// Those of one of a model's customers, one for each of her sessions.
    fn of_customer(self, customer: u64, customers: u32) -> Self {
        self.every(customer, u64::from(customers))
    }

    fn every(self, first: u64, step: u64) -> Self {
        Self { next: self.next + first * self.step, step: self.step * step }
    }

    fn take(&mut self) -> u64 {
        let number = self.next;
        self.next += self.step;
        number
    }
}

/// Sessions that arrive by a schedule.
struct Arriving {
    numbers: Numbers,
    stream: Stream,
}

impl Iterator for Arriving {
    type Item = (u64, Duration);

    fn next(&mut self) -> Option<(u64, Duration)> {
        self.stream.next().map(|at| (self.numbers.take(), at))
    }
}

/// Begins sessions at the instants of a schedule, whatever becomes of them.
async fn open(shared: Rc<Shared>, arriving: Arriving, max_requests: u32, entry: Entry) {
    let mut count = 0u32;
    for (session, offset) in arriving {
        let Some(arrival) = shared.instant(offset) else { return };
        shared.clock.at(arrival).await;
        match shared.arrive(arrival, session, entry) {
            Arrived::Enough => return,
            Arrived::Full => {}
            Arrived::Session(group) => {
                let visits = Visits::new(shared.clone(), session, group);
                spawn_local(visits.run(arrival, max_requests));
            }
        }
        // With arrivals overdue, let those who are here go on.
        count = count.wrapping_add(1);
        if count.is_multiple_of(16) {
            yield_now().await;
        }
    }
}

/// The sessions of one customer: the first, and those for which she comes back.
struct Visits {
    shared: Rc<Shared>,
    group: Group,
    first: u64,
    /// Sessions so far.
    count: u32,
}

impl Visits {
    fn new(shared: Rc<Shared>, first: u64, group: Group) -> Self {
        Self { shared, group, first, count: 0 }
    }

    /// The next session.
    async fn session(&mut self, intended: Instant, max_requests: u32, kept: Kept) -> Left {
        // Thus unique, as no run begins as many, and the same however long anybody
        // was away.
        let number = self.first + u64::from(self.count) * 1_000_000_000_000;
        self.count += 1;
        let shared = self.shared.clone();
        // She lies in the task once, since her session only borrows her, and that has a
        // place of its own: moved or awaited where they were made, both would lie there
        // twice.
        let mut customer = Customer::new(shared, number, self.group, max_requests, kept);
        let left = Box::pin(customer.run(intended)).await;
        self.shared.leave(self.group);
        left
    }

    /// When she comes back after her last session, if she does: she is away
    /// then.
    fn returns(&self, outcome: Outcome) -> Option<Instant> {
        let rules = self.shared.parts.rules(Some(self.group.class));
        let mean = rules.impatience.back_off(self.count)?;
        if !outcome.is_disappointment() {
            return None;
        }
        let seed = self.shared.seed_of(self.first) ^ u64::from(self.count).wrapping_mul(AWAY);
        let away = self.shared.think(mean, f64::MAX, &mut Rng::seed_from_u64(seed));
        let at = Instant::now().checked_add(away).filter(|at| *at < self.shared.end)?;
        self.shared.go_away(self.group).then_some(at)
    }

    async fn run(mut self, arrival: Instant, max_requests: u32) {
        let mut left = self.session(arrival, max_requests, Kept::default()).await;
        while let Some(at) = self.returns(left.outcome) {
            self.shared.clock.at(at).await;
            let kept = left.anew(&self.shared);
            if !self.shared.come_back(at, self.group) {
                return;
            }
            left = self.session(at, max_requests, kept).await;
        }
        left.kept.finish(&self.shared);
    }
}

/// A thread's customers of a closed model: their number in it, and when their
/// first sessions begin since the start of the run.
fn firsts(
    share: Share,
    model: &Closed,
    think: Duration,
) -> impl Iterator<Item = (u64, Duration)> + use<> {
    let (within, customers) = (model.within.unwrap_or(think), model.customers);
    let mine = (0..customers).skip(share.first).step_by(share.every);
    mine.map(move |n| (u64::from(n), within.mul_f64(f64::from(n) / f64::from(customers))))
}

/// A customer of the closed model: a session, a think time, and so on.
async fn closed(
    shared: Rc<Shared>,
    model: Closed,
    first: Duration,
    mut numbers: Numbers,
    entry: Entry,
    mut rng: Rng,
) {
    let rules = *shared.parts.rules(entry.class);
    let think = model.think.unwrap_or(rules.think);
    let Some(mut intended) = shared.instant(first) else { return };
    let mut kept = Kept::default();
    while intended < shared.end {
        kept.rest_until(&shared, intended).await;
        let session = numbers.take();
        match shared.arrive(intended, session, entry) {
            // Who finds no place now finds none later: it is the driver's own
            // limit, and is reported as such.
            Arrived::Enough | Arrived::Full => break,
            Arrived::Session(group) => {
                let mut visits = Visits::new(shared.clone(), session, group);
                let mut left = visits.session(intended, u32::MAX, kept).await;
                while let Some(at) = visits.returns(left.outcome) {
                    left.kept.rest_until(&shared, at).await;
                    let anew = match shared.keep {
                        Keep::Customer => left.kept,
                        _ => left.anew(&shared),
                    };
                    if !shared.come_back(at, group) {
                        return anew.finish(&shared);
                    }
                    left = visits.session(at, u32::MAX, anew).await;
                }
                kept = left.kept;
            }
        }
        intended = Instant::now() + shared.think(think, rules.think_cap, &mut rng);
        // Where sessions fail at once and nobody thinks, others get their turn.
        yield_now().await;
    }
    kept.finish(&shared);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::arrivals::any_schedule;
    use crate::plan::shard::Part;

    /// The first sessions of all models side by side that a share has: when each
    /// number begins, for a customer of the closed model with the number of her.
    fn sessions(models: &[Model], share: Share, most: u64) -> BTreeMap<u64, (Duration, u64)> {
        let mut all = BTreeMap::new();
        for (index, model) in models.iter().enumerate() {
            let numbers = Numbers::of_model(index, models.len());
            match model {
                Model::PartlyOpen(schedule) | Model::Open(schedule) => {
                    let first = share.of_first(most) as usize;
                    let arriving = numbers.arriving(schedule, share, index as u64).take(first);
                    all.extend(arriving.map(|(number, at)| (number, (at, 0))));
                }
                Model::Closed(model) => {
                    for (customer, at) in firsts(share, model, Duration::from_secs(7)) {
                        let mut hers = numbers.of_customer(customer, model.customers);
                        all.extend((0..3).map(|_| (hers.take(), (at, customer))));
                    }
                }
            }
        }
        all
    }

    fn any_model() -> impl Strategy<Value = Model> {
        let closed = (1u32..60)
            .prop_map(|customers| Model::Closed(Closed { customers, think: None, within: None }));
        prop_oneof![
            any_schedule().prop_map(Model::PartlyOpen),
            any_schedule().prop_map(Model::Open),
            closed,
        ]
    }

    proptest! {
        #[test]
        fn parts_together_have_each_session_of_the_whole_test_once(
            models in proptest::collection::vec(any_model(), 1..4),
            threads in proptest::collection::vec(1usize..4, 1..5),
        ) {
            let whole = sessions(&models, Part::WHOLE.share(0, 1), 200);
            let mut union = BTreeMap::new();
            for (index, count) in threads.iter().enumerate() {
                let part = Part::new(index as u32 + 1, threads.len() as u32).unwrap();
                for thread in 0..*count {
                    for (number, what) in sessions(&models, part.share(thread, *count), 200) {
                        prop_assert_eq!(union.insert(number, what), None, "twice: {}", number);
                    }
                }
            }
            prop_assert_eq!(union, whole);
        }
    }
}
