//! The thread of one core: builds its parts, runs its tasks, drains them.

use crate::admission::decide::Decider;
use crate::admission::dispatcher::Dispatcher;
use crate::admission::sessions::Sessions;
use crate::connection::task::Tasks;
use crate::context::CoreContext;
use crate::http::pool::Pool;
use crate::http::requests::HttpServer;
use crate::http::upstream::Connector;
use crate::listen::accept::Acceptor;
use crate::shared::Shared;
use crate::shutdown::Phase;
use crate::socket::Scheme;
use crate::telemetry::cpu::{self, Metered};
use crate::telemetry::labels::Bucket;
use crate::tls::configs::ServerConfigs;
use std::io;
use std::net::TcpListener;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::spawn_local;

/// How often a core brings its CPU counters up to date.
const SETTLE: Duration = Duration::from_millis(50);

/// The listening sockets of one core.
pub struct Listeners {
    /// For customers over TLS.
    pub tls: TcpListener,
    /// For customers over plain HTTP.
    pub clear: Option<TcpListener>,
}

/// The deadline by which a core must have drained, once it is to drain.
pub type Drain = watch::Receiver<Option<Instant>>;

/// What each core of a gate receives.
#[derive(Clone)]
pub struct Parts {
    /// The shared state.
    pub shared: Arc<Shared>,
    /// The sessions.
    pub sessions: Arc<Sessions>,
    /// TLS towards customers.
    pub tls: Arc<ServerConfigs>,
    /// Connections to the upstream.
    pub connector: Connector,
    /// When to drain.
    pub drain: Drain,
}

/// Runs the core of this index until it has drained.
///
/// # Errors
/// The runtime could not be started.
pub fn run(parts: Parts, index: usize, listeners: Listeners) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(tokio::runtime::LocalOptions::default())?;
    cpu::attach(parts.shared.cores[index].clone());
    runtime.block_on(run_until_drained(parts, index, listeners))
}

async fn run_until_drained(parts: Parts, index: usize, listeners: Listeners) -> io::Result<()> {
    let Parts { shared, sessions, tls, connector, mut drain } = parts;
    let context = CoreContext::new(shared, index);
    let decider = Rc::new(Decider {
        context: context.clone(),
        offer: tls.offer.clone(),
        keyring: tls.keyring.clone(),
        sessions,
        seen: Default::default(),
    });
    let dispatcher = Dispatcher::new(decider.clone());
    let tasks = Tasks { context: context.clone(), tls, dispatcher: dispatcher.clone() };
    let http = HttpServer::new(context.clone(), connector);
    let acceptor = Acceptor::new(decider, Rc::new(tasks), http.clone());

    let mut accepting = vec![acceptor.accept_on(listeners.tls, Scheme::Https)?];
    if let Some(clear) = listeners.clear {
        accepting.push(acceptor.accept_on(clear, Scheme::Http)?);
    }
    let dispatch = dispatcher.clone().run(move |arrival, first_flight, admitted, place| {
        acceptor.begin(arrival, first_flight, admitted, place);
    });
    spawn_local(Metered::new(Bucket::Arrival, dispatch));
    spawn_local(Metered::new(Bucket::Upkeep, upkeep(http.pool.clone())));

    let deadline = loop {
        if let Some(deadline) = *drain.borrow_and_update() {
            break deadline;
        }
        if drain.changed().await.is_err() {
            break Instant::now();
        }
    };
    // Closes the listeners.
    for accepting in accepting {
        accepting.abort();
        let _ = accepting.await;
    }
    context.shutdown.advance(Phase::Draining);
    dispatcher.refuse_all();
    while context.counters.open.get() > 0 && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    context.shutdown.advance(Phase::Closed);
    tokio::task::yield_now().await;
    Ok(())
}

async fn upkeep(pool: Rc<Pool>) {
    let mut turns = 0u32;
    loop {
        tokio::time::sleep(SETTLE).await;
        cpu::settle();
        turns += 1;
        if turns.is_multiple_of(20) {
            pool.sweep();
        }
    }
}
