//! SIGTERM and SIGINT; SIGHUP and SIGUSR2 of a service that can reload its configuration and
//! start again.

use tidegate_load::Stop;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGTERM and SIGINT, caught from now on.
pub struct Signals {
    runtime: Runtime,
    terminate: Signal,
    interrupt: Signal,
}

/// Signals of a service that can reload its configuration and start again, caught from now on.
pub struct ServiceSignals {
    signals: Signals,
    hang_up: Signal,
    user_2: Signal,
}

/// What a service was asked to do, or what became of it.
pub enum Event<T> {
    /// SIGTERM or SIGINT.
    Stop,
    /// SIGHUP.
    Reload,
    /// SIGUSR2: the program is to be started again, in this process's place.
    Replace,
    /// What was waited for beside the signals.
    Over(T),
}

impl ServiceSignals {
    /// Installs the handlers, as of [`Signals::catch`].
    ///
    /// # Errors
    /// When the handlers cannot be installed.
    pub fn catch() -> std::io::Result<Self> {
        let signals = Signals::catch()?;
        let (hang_up, user_2) = {
            let _within = signals.runtime.enter();
            (signal(SignalKind::hangup())?, signal(SignalKind::user_defined2())?)
        };
        Ok(Self { signals, hang_up, user_2 })
    }

    /// Waits for the next of them, or for something else.
    pub fn wait_or<T>(&mut self, other: impl Future<Output = T>) -> Event<T> {
        let Self { signals: Signals { runtime, terminate, interrupt }, hang_up, user_2 } = self;
        runtime.block_on(async {
            tokio::select! {
                over = other => Event::Over(over),
                _ = terminate.recv() => Event::Stop,
                _ = interrupt.recv() => Event::Stop,
                _ = hang_up.recv() => Event::Reload,
                _ = user_2.recv() => Event::Replace,
            }
        })
    }
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

    /// Waits for the next of them, for so long at most. Whether one came.
    pub fn wait_at_most(&mut self, time: std::time::Duration) -> bool {
        let Self { runtime, terminate, interrupt } = self;
        runtime.block_on(async {
            tokio::select! {
                _ = terminate.recv() => true,
                _ = interrupt.recv() => true,
                () = tokio::time::sleep(time) => false,
            }
        })
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
