//! What the gate knows of its upstreams: whether each can be reached, and how they failed
//! requests.

use crate::config::{Config, Origin};
use crate::telemetry::counters::Count;
use crate::telemetry::troubles::{Subject, Troubles, UpstreamFailure};
use arc_swap::ArcSwap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is known of all upstreams.
#[derive(Debug)]
pub struct Upstreams {
    /// That of `[upstream]` first, then those of routes.
    known: ArcSwap<Vec<Arc<UpstreamHealth>>>,
    cores: usize,
    failures: Mutex<Vec<UpstreamFailure>>,
    /// Attempts of the gate itself that failed.
    pub troubles: Troubles,
}

impl Upstreams {
    /// Those of a configuration, for so many cores.
    pub fn new(config: &Config, cores: usize) -> Self {
        let new = Self {
            known: ArcSwap::default(),
            cores,
            failures: Mutex::default(),
            troubles: Troubles::default(),
        };
        new.renew(config);
        new
    }

    /// Those of another configuration. What is known of an upstream with the same URL stays.
    pub fn renew(&self, config: &Config) {
        let former = self.all();
        let health = |(at, url): (usize, &Origin)| {
            let routed = at > 0;
            let known = former.iter().find(|known| known.url == *url && known.routed() == routed);
            known.cloned().unwrap_or_else(|| Arc::new(UpstreamHealth::new(url, routed, self.cores)))
        };
        let urls = config.upstreams().into_iter().map(|upstream| &upstream.url);
        let renewed = urls.enumerate().map(health).collect();
        self.known.store(Arc::new(renewed));
    }

    /// All, that of `[upstream]` first.
    pub fn all(&self) -> Arc<Vec<Arc<UpstreamHealth>>> {
        self.known.load_full()
    }

    /// The one with this URL. A configuration that is no longer in force may name others, of
    /// which nobody asks.
    pub fn of(&self, url: &Origin) -> Arc<UpstreamHealth> {
        let known = self.all();
        let found = known.iter().find(|known| known.url == *url);
        found.cloned().unwrap_or_else(|| Arc::new(UpstreamHealth::new(url, true, self.cores)))
    }

    /// Causes for which they failed requests in the last minute.
    pub fn failures(&self) -> Vec<UpstreamFailure> {
        lock(&self.failures).clone()
    }

    /// Sets these causes.
    pub fn set_failures(&self, failures: Vec<UpstreamFailure>) {
        *lock(&self.failures) = failures;
    }
}

/// What is known of one upstream.
#[derive(Debug)]
pub struct UpstreamHealth {
    url: Origin,
    /// Its URL as text, if it is that of a route.
    pub name: Option<Arc<str>>,
    problem: Mutex<Option<String>>,
    /// Responses, by core.
    responses: Box<[OfCore]>,
}

/// A count of one core, on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct OfCore(Count);

impl UpstreamHealth {
    fn new(url: &Origin, routed: bool, cores: usize) -> Self {
        Self {
            url: url.clone(),
            name: routed.then(|| url.to_string().into()),
            problem: Mutex::default(),
            responses: (0..cores).map(|_| OfCore::default()).collect(),
        }
    }

    fn routed(&self) -> bool {
        self.name.is_some()
    }

    /// Why it cannot be reached now; none where it can, or where that is not known.
    pub fn problem(&self) -> Option<String> {
        lock(&self.problem).clone()
    }

    /// Sets why it cannot be reached, for the log too, which says when it can again.
    pub fn found(&self, problem: Option<String>, troubles: &Troubles) {
        let subject = Subject::Upstream(self.name.clone());
        if let Some(why) = &problem {
            troubles.note_unreachable(subject.clone(), why.clone());
        }
        let before = std::mem::replace(&mut *lock(&self.problem), problem.clone());
        if before.is_some() && problem.is_none() {
            tracing::info!("{subject} can be reached again");
        }
    }

    /// Counts a response; only the thread of this core may.
    pub fn responded(&self, core: usize) {
        self.responses[core].0.add(1);
    }

    /// Its responses.
    pub fn responses(&self) -> u64 {
        self.responses.iter().map(|core| core.0.get()).sum()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
