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
use crate::customer::{Customer, Kept, Left};
use crate::outcome::Outcome;
use crate::plan::Keep;
use crate::worker::{Arrived, Shared};

/// Numbers of a session's seed for the times away after it.
const AWAY: u64 = 0x9FB2_1C65_1E98_DF25;
/// Numbers of a model's seed for its customers.
const CUSTOMERS: u64 = 0xD134_2543_DE82_EF95;

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
    let models = arrivals.models().iter().zip(arrivals.classes());
    for (index, (model, class)) in models.enumerate() {
        let class = class.as_ref().and_then(|name| shared.parts.class(name));
        let seed = shared.seed_of_model(index);
        let stream = |schedule: &Schedule| schedule.stream(shared.thread, shared.threads, seed);
        match model {
            Model::PartlyOpen(schedule) => {
                sources.spawn(open(shared.clone(), stream(schedule), u32::MAX, class));
            }
            Model::Open(schedule) => {
                sources.spawn(open(shared.clone(), stream(schedule), 1, class))
            }
            Model::Closed(model) => {
                for (customer, first) in firsts(shared, model, class) {
                    let rng = Rng::seed_from_u64(seed ^ (customer + 1).wrapping_mul(CUSTOMERS));
                    sources.spawn(closed(shared.clone(), *model, first, class, rng));
                }
            }
        }
    }
    sources
}

/// Begins sessions at the instants of a schedule, whatever becomes of them.
async fn open(shared: Rc<Shared>, mut stream: Stream, max_requests: u32, class: Option<u16>) {
    let mut count = 0u32;
    while let Some(arrival) = stream.next().and_then(|offset| shared.instant(offset)) {
        shared.clock.at(arrival).await;
        match shared.arrive(arrival, class) {
            Arrived::Enough => return,
            Arrived::Full => {}
            Arrived::Session(session, class) => {
                let visits = Visits::new(shared.clone(), session, class);
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
    class: u16,
    first: u64,
    /// Sessions so far.
    count: u32,
}

impl Visits {
    fn new(shared: Rc<Shared>, first: u64, class: u16) -> Self {
        Self { shared, class, first, count: 0 }
    }

    /// The next session.
    async fn session(&mut self, intended: Instant, max_requests: u32, kept: Kept) -> Left {
        // Thus unique, and the same however long anybody was away.
        let number = self.first + u64::from(self.count) * 1_000_000_000;
        self.count += 1;
        let shared = self.shared.clone();
        let customer = Customer::new(shared, number, self.class, max_requests, kept);
        // In a place of its own: awaited where it was made, it would lie in the task twice.
        let left = Box::pin(customer.run(intended)).await;
        self.shared.leave(self.class);
        left
    }

    /// When she comes back after her last session, if she does: she is away
    /// then.
    fn returns(&self, outcome: Outcome) -> Option<Instant> {
        let rules = self.shared.parts.rules(Some(self.class));
        let mean = rules.impatience.back_off(self.count)?;
        if !outcome.is_disappointment() {
            return None;
        }
        let seed = self.shared.seed_of(self.first) ^ u64::from(self.count).wrapping_mul(AWAY);
        let away = self.shared.think(mean, f64::MAX, &mut Rng::seed_from_u64(seed));
        let at = Instant::now().checked_add(away).filter(|at| *at < self.shared.end)?;
        self.shared.go_away(self.class).then_some(at)
    }

    async fn run(mut self, arrival: Instant, max_requests: u32) {
        let mut left = self.session(arrival, max_requests, Kept::default()).await;
        while let Some(at) = self.returns(left.outcome) {
            self.shared.clock.at(at).await;
            let kept = left.anew(&self.shared);
            if !self.shared.come_back(at, self.class) {
                return;
            }
            left = self.session(at, max_requests, kept).await;
        }
        left.kept.finish(&self.shared);
    }
}

/// This thread's customers of a closed model: their number in it, and when their
/// first sessions begin since the start of the run.
fn firsts(
    shared: &Shared,
    model: &Closed,
    class: Option<u16>,
) -> impl Iterator<Item = (u64, Duration)> {
    let think = model.think.unwrap_or(shared.parts.rules(class).think).mul_f64(shared.time_scale);
    let (within, customers) = (model.within.unwrap_or(think), model.customers);
    let mine = (shared.thread as u32..customers).step_by(shared.threads);
    mine.map(move |n| (u64::from(n), within.mul_f64(f64::from(n) / f64::from(customers))))
}

/// A customer of the closed model: a session, a think time, and so on.
async fn closed(
    shared: Rc<Shared>,
    model: Closed,
    first: Duration,
    class: Option<u16>,
    mut rng: Rng,
) {
    let rules = *shared.parts.rules(class);
    let think = model.think.unwrap_or(rules.think);
    let Some(mut intended) = shared.instant(first) else { return };
    let mut kept = Kept::default();
    while intended < shared.end {
        kept.rest_until(&shared, intended).await;
        match shared.arrive(intended, class) {
            // Who finds no place now finds none later: it is the driver's own
            // limit, and is reported as such.
            Arrived::Enough | Arrived::Full => break,
            Arrived::Session(session, class) => {
                let mut visits = Visits::new(shared.clone(), session, class);
                let mut left = visits.session(intended, u32::MAX, kept).await;
                while let Some(at) = visits.returns(left.outcome) {
                    left.kept.rest_until(&shared, at).await;
                    let anew = match shared.keep {
                        Keep::Customer => left.kept,
                        _ => left.anew(&shared),
                    };
                    if !shared.come_back(at, class) {
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
