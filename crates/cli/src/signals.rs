//! SIGTERM and SIGINT.

use tidegate_load::Stop;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGTERM and SIGINT, caught from now on.
pub struct Signals {
    runtime: Runtime,
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Installs the handlers. A service does so before it reports that it is ready, so that
    /// every later signal stops it in order.
    ///
    /// # Errors
    /// When the handlers cannot be installed.
    pub fn catch() -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (terminate, interrupt) = {
            let _within = runtime.enter();
            (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?)
        };
        Ok(Self { runtime, terminate, interrupt })
    }

    /// Waits for the next of them.
    pub fn wait(&mut self) {
        let Self { runtime, terminate, interrupt } = self;
        runtime.block_on(async {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        });
    }
}

/// A stop that the first SIGTERM or SIGINT requests; the second one ends the process at once.
///
/// # Errors
/// When the handlers or their thread cannot be started.
pub fn stop_on_signal() -> anyhow::Result<Stop> {
    let stop = Stop::default();
    let requested = stop.clone();
    let mut signals = Signals::catch()?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        loop {
            signals.wait();
            if requested.is_stopped() {
                crate::screen::restore();
                std::process::exit(3);
            }
            requested.stop();
        }
    })?;
    Ok(stop)
}
