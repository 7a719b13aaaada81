//! Waiting for the operator's word to stop.

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
    /// Installs the handlers: before a service says that it is ready, so that
    /// nobody's first word ends it unawares.
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

/// A stop that Ctrl-C and SIGTERM pull; the second one ends the demo at once.
///
/// # Errors
/// When the handlers or their thread cannot be started.
pub fn stop_on_signal() -> anyhow::Result<Stop> {
    let stop = Stop::default();
    let pulled = stop.clone();
    let mut signals = Signals::catch()?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        loop {
            signals.wait();
            if pulled.is_stopped() {
                crate::screen::give_back();
                std::process::exit(3);
            }
            pulled.stop();
        }
    })?;
    Ok(stop)
}
