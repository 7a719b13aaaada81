//! Watches whether the upstream can be reached: by its responses to customers, and while there
//! are none by a connection of the gate's own, which is closed at once.

use crate::config::Config;
use crate::error::Error;
use crate::generation::Generation;
use crate::shared::Shared;
use crate::upstream::connector::Connector;
use rustls::crypto::aws_lc_rs::default_provider;
use std::sync::Arc;
use tokio::sync::watch;

/// Watches the upstream of the generation in force, until dropped.
pub async fn run(shared: Arc<Shared>, mut generations: watch::Receiver<Arc<Generation>>) {
    let mut responses = 0;
    loop {
        let generation = generations.borrow_and_update().clone();
        let interval = generation.config.upstream.check_interval;
        if interval.is_zero() {
            shared.upstream.found(None);
            if generations.changed().await.is_err() {
                return std::future::pending().await;
            }
            continue;
        }
        let before = std::mem::replace(&mut responses, shared.totals().upstream_responses);
        let answers = responses != before;
        let problem = match answers {
            true => None,
            false => generation.connector.reach().await.err().map(|error| error.to_string()),
        };
        shared.upstream.found(problem);
        tokio::select! {
            () = tokio::time::sleep(interval) => {}
            Ok(()) = generations.changed() => {}
        }
    }
}

/// Tries to reach the upstream of a configuration. Returns why it cannot be reached, if so.
///
/// # Errors
/// The roots for an https upstream cannot be used, or the runtime could not be started.
pub fn upstream_problem(config: &Config) -> Result<Option<String>, Error> {
    let connector = Connector::new(config, &Arc::new(default_provider()))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|source| Error::System { what: "a runtime", source })?;
    let reached = runtime.block_on(connector.reach());
    // A resolver that hangs is not waited for.
    runtime.shutdown_background();
    Ok(reached.err().map(|error| error.to_string()))
}
