//! Watches whether upstreams can be reached: each by its responses to customers, and while there
//! are none by a connection of the gate's own, which is closed at once.

use crate::config::Config;
use crate::error::Error;
use crate::generation::Generation;
use crate::shared::Shared;
use crate::upstream::connector::Connector;
use crate::upstream::health::UpstreamHealth;
use rustls::crypto::aws_lc_rs::default_provider;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Watches the upstreams of the generation in force, until dropped.
pub async fn run(shared: Arc<Shared>, mut generations: watch::Receiver<Arc<Generation>>) {
    loop {
        let generation = generations.borrow_and_update().clone();
        let mut watched = JoinSet::new();
        for (upstream, connector) in
            generation.config.upstreams().iter().zip(&generation.connectors)
        {
            let health = shared.upstreams.of(&upstream.url);
            let (interval, connector) = (upstream.check_interval, connector.clone());
            watched.spawn(watch_one(shared.clone(), health, interval, connector));
        }
        tokio::select! {
            changed = generations.changed() => if changed.is_err() {
                return std::future::pending().await;
            },
            Some(Err(failed)) = watched.join_next() => std::panic::resume_unwind(failed.into_panic()),
        }
    }
}

/// Watches one upstream, until dropped.
async fn watch_one(
    shared: Arc<Shared>,
    health: Arc<UpstreamHealth>,
    interval: Duration,
    connector: Connector,
) {
    let troubles = &shared.upstreams.troubles;
    if interval.is_zero() {
        health.found(None, troubles);
        return std::future::pending().await;
    }
    let mut responses = 0;
    loop {
        let before = std::mem::replace(&mut responses, health.responses());
        let answers = responses != before;
        let problem = match answers {
            true => None,
            false => connector.reach().await.err().map(|error| error.to_string()),
        };
        health.found(problem, troubles);
        tokio::time::sleep(interval).await;
    }
}

/// Tries to reach the upstreams of a configuration. Returns those that cannot be reached: the key
/// that names each, its URL, and why.
///
/// # Errors
/// The roots for an https upstream cannot be used, or the runtime could not be started.
pub fn upstream_problems(config: &Config) -> Result<Vec<(String, String, String)>, Error> {
    let provider = Arc::new(default_provider());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|source| Error::System { what: "a runtime", source })?;
    let mut problems = Vec::new();
    for upstream in config.upstreams() {
        let connector = Connector::new(config, upstream, &provider)?;
        if let Err(error) = runtime.block_on(connector.reach()) {
            let url = &upstream.url;
            problems.push((config.key_of(url), url.to_string(), error.to_string()));
        }
    }
    // A resolver that hangs is not waited for.
    runtime.shutdown_background();
    Ok(problems)
}
