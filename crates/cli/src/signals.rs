//! Waiting for the operator's word to stop.

use tidegate_load::Stop;
use tokio::signal::unix::{SignalKind, signal};

/// Resolves on the first SIGTERM or SIGINT.
///
/// # Errors
/// When the handlers cannot be installed.
pub async fn stop_requested() -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

/// A stop that Ctrl-C and SIGTERM pull; the second one ends the demo at once.
///
/// # Errors
/// When the handler's thread cannot be started.
pub fn stop_on_signal() -> anyhow::Result<Stop> {
    let stop = Stop::default();
    let pulled = stop.clone();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        runtime.block_on(async {
            // A second signal finds the handlers still installed, so it is
            // waited for as well.
            for _ in 0..2 {
                if stop_requested().await.is_err() {
                    return;
                }
                if pulled.is_stopped() {
                    std::process::exit(3);
                }
                pulled.stop();
            }
        });
    })?;
    Ok(stop)
}
