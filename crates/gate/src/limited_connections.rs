//! The open connections of an address with few pages, at most so many: beyond that the one closes
//! that is used least. So clients that keep connections and send nothing, or send slowly,
//! keep nobody from the pages.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tokio::task::{AbortHandle, JoinSet};

/// The open connections. Dropped, it closes them.
#[derive(Debug)]
pub struct LimitedConnections {
    most: usize,
    tasks: JoinSet<()>,
    /// In the order of their arrival.
    open: Vec<(AbortHandle, Uses)>,
    /// Requests on all of them.
    requests: Arc<AtomicU64>,
}

/// The use of one connection.
#[derive(Clone, Debug, Default)]
pub struct Uses {
    /// The number of its last request among those of all connections; 0 before the first.
    last: Arc<AtomicU64>,
    requests: Arc<AtomicU64>,
}

impl Uses {
    /// A request has arrived.
    pub fn request(&self) {
        self.last.store(self.requests.fetch_add(1, Relaxed) + 1, Relaxed);
    }
}

impl LimitedConnections {
    /// None is open.
    pub fn new(most: usize) -> Self {
        Self { most, tasks: JoinSet::new(), open: Vec::new(), requests: Arc::default() }
    }

    /// Begins the task of a connection, which reports its requests. At the limit another
    /// connection is closed.
    pub fn begin<T>(&mut self, task: impl FnOnce(Uses) -> T)
    where
        T: Future<Output = ()> + Send + 'static,
    {
        while self.tasks.try_join_next().is_some() {}
        self.open.retain(|(task, _)| !task.is_finished());
        while self.open.len() >= self.most.max(1) {
            self.close_least_used();
        }
        let uses = Uses { last: Arc::default(), requests: self.requests.clone() };
        let task = self.tasks.spawn(task(uses.clone()));
        self.open.push((task, uses));
    }

    /// Closes the connection that has gone longest without a request: the oldest of those
    /// without any, if there are such.
    pub fn close_least_used(&mut self) {
        let uses = self.open.iter().map(|(_, uses)| uses.last.load(Relaxed));
        if let Some((place, _)) = uses.enumerate().min_by_key(|(_, last)| *last) {
            self.open.remove(place).0.abort();
        }
    }
}
