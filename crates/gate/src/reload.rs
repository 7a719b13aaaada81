//! Puts another configuration in force while the gate runs.

use crate::admission::sessions::{Rules, Sessions};
use crate::config::{Config, Mistakes};
use crate::error::Error;
use crate::generation::Generation;
use crate::shared::Shared;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;

/// Makes generations and passes them to the cores.
pub struct Reloader {
    shared: Arc<Shared>,
    sessions: Arc<Sessions>,
    current: watch::Sender<Arc<Generation>>,
    /// Held while a generation is made of the one before.
    reloading: Mutex<()>,
}

/// How often a configuration was reloaded.
#[derive(Debug, Default)]
pub struct ReloadCounts {
    /// It is in force.
    pub ok: AtomicU64,
    /// It has mistakes, or cannot be used: the former one stayed in force.
    pub failed: AtomicU64,
}

impl Reloader {
    /// Begins with the first generation.
    pub fn new(shared: Arc<Shared>, sessions: Arc<Sessions>, first: Generation) -> Self {
        let (current, _) = watch::channel(Arc::new(first));
        Self { shared, sessions, current, reloading: Mutex::default() }
    }

    /// Receives the generation in force, now and after each reload.
    pub fn subscribe(&self) -> watch::Receiver<Arc<Generation>> {
        self.current.subscribe()
    }

    /// The configuration in force.
    pub fn config(&self) -> Arc<Config> {
        self.current.borrow().config.clone()
    }

    /// Puts the configuration that `read` makes of the one in force in its place for
    /// connections that begin from now on, and logs what changed. Where it has mistakes or
    /// cannot be used, the one in force stays, and the log says why. Returns whether it was
    /// put in force.
    pub fn reload(&self, read: impl FnOnce(&Config) -> Result<Config, Mistakes>) -> bool {
        let _one_at_a_time = self.reloading.lock().unwrap_or_else(PoisonError::into_inner);
        let reloaded = match read(&self.config()) {
            Ok(config) => self.put_in_force(config).map_err(|error| vec![error.to_string()]),
            Err(Mistakes(mistakes)) => Err(mistakes.iter().map(ToString::to_string).collect()),
        };
        let counts = &self.shared.reloads;
        let Err(reasons) = reloaded else {
            counts.ok.fetch_add(1, Relaxed);
            return true;
        };
        reasons.iter().for_each(|reason| tracing::error!("{reason}"));
        tracing::error!("not reloaded: the former configuration stays in force");
        counts.failed.fetch_add(1, Relaxed);
        false
    }

    fn put_in_force(&self, mut config: Config) -> Result<(), Error> {
        let running = self.current.borrow().clone();
        let kept = config.keep_what_needs_a_restart(&running.config);
        if let Some(url) = self.shared.addresses.all().find_map(|own| config.upstream_at(own)) {
            return Err(Error::ProxiesToItself { upstream: url.to_string() });
        }
        let next = Arc::new(running.renewed(config)?);
        next.config.warnings().iter().for_each(|warning| tracing::warn!("{warning}"));
        for key in kept {
            tracing::warn!("{key} needs a restart: it stays as it was");
        }
        self.sessions.set_rules(Rules::of(&next.config.admission));
        next.tls
            .keyring
            .set_times(next.config.tls.ticket_lifetime, next.config.tls.ticket_rotation);
        self.shared.set_config(next.config.clone());
        self.current.send_replace(next.clone());
        let mut changed = next.config.changed_keys(&running.config);
        let former = &running.config.files.stamps;
        let contents = next.config.files.stamps.iter().filter(|file| !former.contains(file));
        changed.extend(contents.map(|(path, _)| format!("content of {}", path.display())));
        let changed = if changed.is_empty() { "nothing".to_owned() } else { changed.join(", ") };
        tracing::info!("{} reloaded; changed: {changed}", next.config.source);
        Ok(())
    }
}
