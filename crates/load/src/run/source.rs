//! Starts sessions: by a schedule (open models) or for a fixed set of customers (closed
//! model). Each entry of the arrivals is one task or several.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use tokio::task::{spawn_local, yield_now};

use crate::arrivals::{Arrivals, Closed, Model, Schedule, Stream};
use crate::client::connections::KeepAlive;
use crate::outcome::{Failure, Outcome};
use crate::plan::shard::ThreadShard;
use crate::recorder::event::SessionGroup;
use crate::rng::Rng;
use crate::session::context::{Arrived, Entry, ThreadContext};
use crate::session::customer::{Customer, RETURNED};
use crate::session::returning::{Departure, ReturningState};

/// Modifier of a session's seed for back-offs.
const AWAY: u64 = 0x9FB2_1C65_1E98_DF25;
/// Multiplier for the seeds of a model's customers.
const CUSTOMERS: u64 = 0xD134_2543_DE82_EF95;

/// The sources of a thread that may still start sessions.
#[derive(Default)]
pub(crate) struct Sources {
    /// Schedules whose next session is due before the end of the run.
    schedules: Rc<Cell<usize>>,
    /// Customers of closed models.
    customers: Rc<Cell<usize>>,
}

impl Sources {
    /// Whether no session will begin any more.
    pub(crate) fn are_over(&self) -> bool {
        self.have_caught_up() && self.customers.get() == 0
    }

    /// Whether all sessions of a schedule that are due before the end of the run have begun.
    pub(crate) fn have_caught_up(&self) -> bool {
        self.schedules.get() == 0
    }

    fn spawn(left: &Rc<Cell<usize>>, source: impl Future<Output = ()> + 'static) {
        let left = left.clone();
        left.set(left.get() + 1);
        // Unboxed, the future would be stored in the task twice.
        let source = Box::pin(source);
        spawn_local(async move {
            source.await;
            left.set(left.get() - 1);
        });
    }
}

/// Starts this thread's shard of all models.
pub(crate) fn start(context: &Rc<ThreadContext>, arrivals: &Arrivals) -> Sources {
    let sources = Sources::default();
    let shard = context.shard;
    let models = arrivals.models().iter().zip(arrivals.classes());
    for (index, (model, class)) in models.enumerate() {
        let class = class.as_ref().and_then(|name| context.definition.class(name));
        let entry = Entry { model: index as u8, class };
        let seed = context.seed_of_model(index);
        let numbers = SessionNumbers::of_model(index, arrivals.models().len());
        let arriving = |schedule| numbers.arriving(schedule, shard, seed);
        match model {
            Model::PartlyOpen(schedule) => {
                let arriving = arriving(schedule);
                Sources::spawn(
                    &sources.schedules,
                    open(context.clone(), arriving, u32::MAX, entry),
                );
            }
            Model::Open(schedule) => {
                let arriving = arriving(schedule);
                Sources::spawn(&sources.schedules, open(context.clone(), arriving, 1, entry));
            }
            Model::Closed(model) => {
                let think = model.think.unwrap_or(context.definition.rules(class).think);
                let think = think.mul_f64(context.time_scale);
                for (customer, first) in firsts(shard, model, think) {
                    let rng = Rng::seed_from_u64(seed ^ (customer + 1).wrapping_mul(CUSTOMERS));
                    let own = numbers.of_customer(customer, model.customers);
                    let customer = closed(context.clone(), *model, first, own, entry, rng);
                    Sources::spawn(&sources.customers, customer);
                }
            }
        }
    }
    sources
}

/// SessionNumbers of sessions in the whole test: each source gives its own, in order,
/// whatever the others do. They decide what a session does, so it is the same
/// however many drivers and threads shard the test.
#[derive(Clone, Copy, Debug)]
struct SessionNumbers {
    next: u64,
    step: u64,
}

impl SessionNumbers {
    /// The numbers of one of several models.
    fn of_model(index: usize, models: usize) -> Self {
        Self { next: index as u64, step: models as u64 }
    }

    /// What arrives by the model's schedule of a thread's own shard: numbers and
    /// instants since the start of the run.
    fn arriving(self, schedule: &Schedule, shard: ThreadShard, seed: u64) -> Arriving {
        let numbers = self.every(shard.first as u64, shard.every as u64);
        Arriving { numbers, stream: schedule.stream(shard.first, shard.every, seed) }
    }

    /// The numbers of a customer's sessions.
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
    numbers: SessionNumbers,
    stream: Stream,
}

impl Iterator for Arriving {
    type Item = (u64, Duration);

    fn next(&mut self) -> Option<(u64, Duration)> {
        self.stream.next().map(|at| (self.numbers.take(), at))
    }
}

/// Starts sessions at the times of a schedule, independent of their progress.
async fn open(context: Rc<ThreadContext>, arriving: Arriving, max_requests: u32, entry: Entry) {
    let mut count = 0u32;
    for (session, offset) in arriving {
        let Some(arrival) = context.instant(offset) else { return };
        context.timers.at(arrival).await;
        match context.arrive(arrival, session, entry) {
            Arrived::Enough => return,
            Arrived::Full => {}
            Arrived::Session(group) => {
                let visits = CustomerSessions::new(context.clone(), session, group);
                spawn_local(visits.run(arrival, max_requests));
            }
        }
        // With overdue arrivals, other tasks still get their turn.
        count = count.wrapping_add(1);
        if count.is_multiple_of(16) {
            yield_now().await;
        }
    }
}

/// The sessions of one customer: the first, and those after a return.
struct CustomerSessions {
    context: Rc<ThreadContext>,
    group: SessionGroup,
    first: u64,
    /// Sessions so far.
    count: u32,
}

impl CustomerSessions {
    fn new(context: Rc<ThreadContext>, first: u64, group: SessionGroup) -> Self {
        Self { context, group, first, count: 0 }
    }

    /// The next session.
    async fn session(
        &mut self,
        intended: Instant,
        max_requests: u32,
        kept: ReturningState,
    ) -> Departure {
        // Unique, because no run has as many sessions, and independent of back-offs.
        let number = self.first + u64::from(self.count) * RETURNED;
        self.count += 1;
        let context = self.context.clone();
        // The session borrows the customer and is boxed: otherwise both would be stored in
        // the task twice.
        let mut customer = Customer::new(context, number, self.group, max_requests, kept);
        let left = Box::pin(customer.run(intended)).await;
        self.context.leave(self.group);
        left
    }

    /// When the customer returns after the last session, if they do.
    fn returns(&self, outcome: Outcome) -> Option<Instant> {
        let rules = self.context.definition.rules(Some(self.group.class));
        let mean = rules.impatience.back_off(self.count)?;
        if !outcome.allows_return() {
            return None;
        }
        let seed = self.context.seed_of(self.first) ^ u64::from(self.count).wrapping_mul(AWAY);
        let away = self.context.think(mean, f64::MAX, &mut Rng::seed_from_u64(seed));
        let at = Instant::now().checked_add(away).filter(|at| *at < self.context.end)?;
        self.context.go_away(self.group).then_some(at)
    }

    async fn run(mut self, arrival: Instant, max_requests: u32) {
        let mut left = self.session(arrival, max_requests, ReturningState::default()).await;
        while let Some(at) = self.returns(left.outcome) {
            self.context.timers.at(at).await;
            let kept = left.anew(&self.context);
            if !self.context.come_back(at, self.group) {
                return;
            }
            left = self.session(at, max_requests, kept).await;
        }
        left.kept.finish(&self.context);
    }
}

/// A thread's customers of a closed model: their numbers, and the start of their first
/// sessions since the start of the run.
fn firsts(
    shard: ThreadShard,
    model: &Closed,
    think: Duration,
) -> impl Iterator<Item = (u64, Duration)> + use<> {
    let (within, customers) = (model.within.unwrap_or(think), model.customers);
    let mine = (0..customers).skip(shard.first).step_by(shard.every);
    mine.map(move |n| (u64::from(n), within.mul_f64(f64::from(n) / f64::from(customers))))
}

/// A customer of the closed model: a session, a think time, and so on.
async fn closed(
    context: Rc<ThreadContext>,
    model: Closed,
    first: Duration,
    mut numbers: SessionNumbers,
    entry: Entry,
    mut rng: Rng,
) {
    let rules = *context.definition.rules(entry.class);
    let think = model.think.unwrap_or(rules.think);
    let Some(mut intended) = context.instant(first) else { return };
    let mut kept = ReturningState::default();
    while intended < context.end {
        kept.rest_until(&context, intended).await;
        let session = numbers.take();
        match context.arrive(intended, session, entry) {
            // The limit in flight is that of the load generator and is reported as such.
            Arrived::Enough | Arrived::Full => break,
            Arrived::Session(group) => {
                let mut visits = CustomerSessions::new(context.clone(), session, group);
                let mut left = visits.session(intended, u32::MAX, kept).await;
                while let Some(at) = visits.returns(left.outcome) {
                    left.kept.rest_until(&context, at).await;
                    let anew = match context.keep {
                        KeepAlive::Customer => left.kept,
                        _ => left.anew(&context),
                    };
                    if !context.come_back(at, group) {
                        return anew.finish(&context);
                    }
                    left = visits.session(at, u32::MAX, anew).await;
                }
                kept = left.kept;
                if left.outcome == Outcome::Failed(Failure::RowsUsedUp) {
                    // SessionNumbers rise: all further sessions would fail, at once.
                    context.counts.set_rows_used_up();
                    break;
                }
            }
        }
        intended = Instant::now() + context.think(think, rules.think_cap, &mut rng);
        // If sessions fail at once without think time, other tasks still get their turn.
        yield_now().await;
    }
    kept.finish(&context);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::arrivals::any_schedule;
    use crate::plan::shard::Shard;

    /// The first sessions of all models side by side that a shard has: when each
    /// number begins, with the number of the customer for the closed model.
    fn sessions(models: &[Model], shard: ThreadShard, most: u64) -> BTreeMap<u64, (Duration, u64)> {
        let mut all = BTreeMap::new();
        for (index, model) in models.iter().enumerate() {
            let numbers = SessionNumbers::of_model(index, models.len());
            match model {
                Model::PartlyOpen(schedule) | Model::Open(schedule) => {
                    let first = shard.of_first(most) as usize;
                    let arriving = numbers.arriving(schedule, shard, index as u64).take(first);
                    all.extend(arriving.map(|(number, at)| (number, (at, 0))));
                }
                Model::Closed(model) => {
                    for (customer, at) in firsts(shard, model, Duration::from_secs(7)) {
                        let mut own = numbers.of_customer(customer, model.customers);
                        all.extend((0..3).map(|_| (own.take(), (at, customer))));
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
        fn shards_together_have_each_session_of_the_test_once(
            models in proptest::collection::vec(any_model(), 1..4),
            threads in proptest::collection::vec(1usize..4, 1..5),
        ) {
            let whole = sessions(&models, Shard::WHOLE.of_thread(0, 1), 200);
            let mut union = BTreeMap::new();
            for (index, count) in threads.iter().enumerate() {
                let shard = Shard::new(index as u32 + 1, threads.len() as u32).unwrap();
                for thread in 0..*count {
                    for (number, what) in sessions(&models, shard.of_thread(thread, *count), 200) {
                        prop_assert_eq!(union.insert(number, what), None, "twice: {}", number);
                    }
                }
            }
            prop_assert_eq!(union, whole);
        }
    }
}
