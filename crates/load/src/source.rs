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
use crate::customer::{Customer, Kept};
use crate::worker::{Arrived, Shared};

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
                let kept = Kept::default();
                let customer = Customer::new(shared.clone(), session, class, max_requests, kept);
                let shared = shared.clone();
                spawn_local(async move {
                    customer.run(arrival).await.finish(&shared);
                    shared.leave(class);
                });
            }
        }
        // With arrivals overdue, let those who are here go on.
        count = count.wrapping_add(1);
        if count.is_multiple_of(16) {
            yield_now().await;
        }
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
                let customer = Customer::new(shared.clone(), session, class, u32::MAX, kept);
                kept = customer.run(intended).await;
                shared.leave(class);
            }
        }
        intended = Instant::now() + shared.think(think, rules.think_cap, &mut rng);
        // Where sessions fail at once and nobody thinks, others get their turn.
        yield_now().await;
    }
    kept.finish(&shared);
}
