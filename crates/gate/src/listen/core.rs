//! The thread of one core: builds its parts, runs its tasks, drains them.

use crate::admission::sessions::Sessions;
use crate::context::CoreContext;
use crate::generation::Generation;
use crate::listen::accept::Acceptor;
use crate::listen::pipeline::Pipeline;
use crate::shared::Shared;
use crate::shutdown::Stage;
use crate::socket::Scheme;
use crate::supervision::{Component, Supervisor};
use crate::telemetry::cpu::{self, Metered};
use crate::telemetry::labels::Bucket;
use crate::threads::until_handed_over;
use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::rc::Rc;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::spawn_local;

/// How often a core brings its CPU counters up to date.
const SETTLE: Duration = Duration::from_millis(50);

/// The listening sockets of one core, and the protocol of each.
pub type Listeners = Vec<(Arc<TcpListener>, Scheme)>;

/// The deadline by which a core must have drained, once it is to drain.
pub type Drain = watch::Receiver<Option<Instant>>;

/// What each core of a gate receives.
#[derive(Clone)]
pub struct Parts {
    /// The shared state.
    pub shared: Arc<Shared>,
    /// The sessions.
    pub sessions: Arc<Sessions>,
    /// What connections begin with.
    pub generations: watch::Receiver<Arc<Generation>>,
    /// When to drain.
    pub drain: Drain,
    /// Whether another process takes the gate's place.
    pub handed_over: watch::Receiver<bool>,
    /// Learns that a core accepts connections.
    pub accepts: mpsc::Sender<()>,
    /// Held for as long as connections are accepted.
    pub accepting: mpsc::Sender<Infallible>,
    /// Watches the tasks of the core.
    pub supervisor: Supervisor,
}

/// Runs the core of this index until it has drained.
///
/// # Errors
/// The runtime could not be started.
pub fn run(parts: Parts, index: usize, listeners: Listeners) -> io::Result<()> {
    // Dropped after the runtime and its tasks, whose lines end with them.
    let _traced = parts.shared.tracing.as_ref().map(tidegate_trace::Handle::attach);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(tokio::runtime::LocalOptions::default())?;
    cpu::attach(parts.shared.cores[index].clone());
    let supervisor = parts.supervisor.clone();
    let work = run_until_drained(parts, index, listeners);
    let ended = runtime.block_on(supervisor.with_fault(Component::Core, work));
    // A disk or a resolver that hangs is not waited for.
    runtime.shutdown_background();
    ended
}

async fn run_until_drained(parts: Parts, index: usize, listeners: Listeners) -> io::Result<()> {
    let Parts { shared, sessions, mut generations, mut drain, handed_over, .. } = parts;
    let Parts { accepts, accepting, supervisor, .. } = parts;
    let generation = generations.borrow_and_update().clone();
    let context = CoreContext::new(shared, index).renewed(generation.config.clone());
    let pipeline = Pipeline::new(&context, &generation, sessions);
    let dispatcher = pipeline.dispatcher.clone();
    let acceptor = Acceptor::new(pipeline, context.counters.clone());

    if let Some(fleet) = &context.shared.fleet {
        fleet.keys_come().await;
    }
    let mut accept_loops = Vec::new();
    for (listener, scheme) in listeners {
        let (accept, accepting) =
            (acceptor.clone().accept_on(listener, scheme)?, accepting.clone());
        let accept = async move {
            accept.await;
            drop(accepting);
        };
        let accept = until_handed_over(handed_over.clone(), accept);
        accept_loops.push(spawn_local(supervisor.clone().watch(Component::AcceptLoop, accept)));
    }
    let dispatch = supervisor.clone().watch(Component::Dispatcher, dispatcher.clone().run());
    spawn_local(Metered::new(Bucket::Arrival, dispatch));
    let upkeep = supervisor.watch(Component::CoreUpkeep, upkeep(acceptor.clone()));
    spawn_local(Metered::new(Bucket::Upkeep, upkeep));
    let _ = accepts.send(());
    drop((accepts, accepting));

    while drain.borrow_and_update().is_none() {
        tokio::select! {
            changed = drain.changed() => if changed.is_err() { break },
            Ok(()) = generations.changed() => {
                let generation = generations.borrow_and_update().clone();
                acceptor.renew(|pipeline| pipeline.renewed(&generation));
            }
        }
    }
    // Closes the listeners.
    for accept in accept_loops {
        accept.abort();
        let _ = accept.await;
    }
    if *handed_over.borrow() {
        context.shutdown.advance(Stage::Leaving);
    } else {
        context.shutdown.advance(Stage::Draining);
        dispatcher.refuse_all();
    }
    // The deadline may come nearer.
    let deadline_passed = || drain.borrow().is_none_or(|deadline| Instant::now() >= deadline);
    while context.counters.open.get() > 0 && !deadline_passed() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    context.shutdown.advance(Stage::Closed);
    tokio::task::yield_now().await;
    Ok(())
}

/// Counts CPU time, and keeps the pools that are in use free of stale connections.
async fn upkeep(acceptor: Rc<Acceptor>) {
    let mut turns = 0u32;
    loop {
        tokio::time::sleep(SETTLE).await;
        cpu::settle();
        turns += 1;
        if turns.is_multiple_of(20) {
            acceptor.pipeline().sweep_pools();
        }
    }
}
