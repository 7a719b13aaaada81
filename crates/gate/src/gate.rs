//! The gate as a whole: starts its threads, drains them, waits for them.

use crate::admission::sessions::{Rules, Sessions};
use crate::config::{Config, Listen};
use crate::control_loop::ControlLoop;
use crate::error::Error;
use crate::http::upstream::Connector;
use crate::listen::core::{self, Listeners, Parts};
use crate::listen::listener;
use crate::open_files;
use crate::shared::{Addresses, Shared};
use crate::status;
use crate::telemetry::admin::Admin;
use crate::telemetry::counters::Totals;
use crate::telemetry::snapshot::Snapshot;
use crate::tls::configs::ServerConfigs;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;
use tidegate_host::Cores;
use tokio::sync::watch;

/// A running gate. Dropped, it closes at once.
#[derive(Debug)]
pub struct Gate {
    shared: Arc<Shared>,
    sessions: Arc<Sessions>,
    admin: Option<SocketAddr>,
    drain: watch::Sender<Option<Instant>>,
    stop: watch::Sender<bool>,
    cores: Vec<JoinHandle<std::io::Result<()>>>,
    control: Option<JoinHandle<()>>,
}

impl Gate {
    /// Starts a gate: when this returns, customers can connect.
    ///
    /// # Errors
    /// An address cannot be listened on, a core does not exist, or the certificate cannot
    /// be used.
    pub fn start(mut config: Config) -> Result<Self, Error> {
        let files = tidegate_host::open_files::raise_limit();
        config.warnings().iter().for_each(|warning| tracing::warn!("{warning}"));
        let identity = config.identity()?;
        if identity.self_signed {
            tracing::warn!(
                "no certificate is configured: the gate made a self-signed one for {}, which \
                 clients do not trust; set tls.certificate and tls.key",
                config.tls.self_signed_names.join(", ")
            );
        }
        let tls = Arc::new(ServerConfigs::new(&config, &identity)?);
        let connector = Connector::new(&config, &tls.provider)?;
        let system = |what| move |source| Error::System { what, source };
        let processors = config.listen.cores.resolve().map_err(system("reading the affinity"))?;
        let places = open_files::connections_within(files, processors.len());
        config.limits.max_connections = config.limits.max_connections.min(places);
        let (listeners, addresses) = listen(&config.listen, processors.len())?;
        let admin = config.admin.address.map(Admin::bind).transpose()?;
        let admin_address = admin.as_ref().map(Admin::address);
        let sessions = Sessions::new(Rules::of(&config.admission));
        let shared = Arc::new(Shared::new(config, addresses, processors.clone()));
        let (drain, drained) = watch::channel(None);
        let (stop, stopped) = watch::channel(false);
        let mut gate = Self {
            shared: shared.clone(),
            sessions: sessions.clone(),
            admin: admin_address,
            drain,
            stop,
            cores: Vec::new(),
            control: None,
        };
        let keyring = tls.keyring.clone();
        let parts = Parts {
            shared: shared.clone(),
            sessions: sessions.clone(),
            tls,
            connector,
            drain: drained,
        };
        for (index, (processor, listeners)) in processors.into_iter().zip(listeners).enumerate() {
            let parts = parts.clone();
            let thread = spawn_core(processor, move || core::run(parts, index, listeners));
            gate.cores.push(thread?);
        }
        let control = ControlLoop { shared, sessions, keyring };
        let thread = std::thread::Builder::new().name("control".into());
        let thread = thread.spawn(move || run_control(control, admin, stopped));
        gate.control = Some(thread.map_err(system("the control loop's thread"))?);
        Ok(gate)
    }

    /// Where customers connect, as bound.
    pub fn address(&self) -> SocketAddr {
        self.shared.addresses.tls
    }

    /// Where customers connect by plain HTTP, as bound; `None` if that is off.
    pub fn clear_address(&self) -> Option<SocketAddr> {
        self.shared.addresses.clear
    }

    /// The address of the admin pages, as bound; `None` if that is off.
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.admin
    }

    /// The snapshot that the admin pages show.
    pub fn snapshot(&self) -> Snapshot {
        status::snapshot(&self.shared, &self.sessions, self.admin)
    }

    /// The sums of all cores' counters, in full.
    pub fn totals(&self) -> Totals {
        self.shared.totals()
    }

    /// Accepts no new connections from now on, lets requests finish and closes every
    /// connection as soon as it has none, at the latest after `listen.drain_deadline`.
    /// Returns at once; see [`Gate::join`].
    pub fn drain(&self) {
        let deadline = Instant::now() + self.shared.config.listen.drain_deadline;
        self.shared.drain();
        self.drain.send_if_modified(|drain| drain.is_none() && drain.replace(deadline).is_none());
    }

    /// Waits until the gate has drained. Without a [`Gate::drain`] before, that
    /// is never.
    ///
    /// # Errors
    /// A core's thread failed.
    pub fn join(mut self) -> Result<(), Error> {
        self.wait()
    }

    fn wait(&mut self) -> Result<(), Error> {
        let mut result = Ok(());
        for core in self.cores.drain(..) {
            let failed = match core.join() {
                Ok(Ok(())) => continue,
                Ok(Err(source)) => source,
                Err(_) => std::io::Error::other("its thread panicked"),
            };
            result = Err(Error::System { what: "a core", source: failed });
        }
        let _ = self.stop.send(true);
        if let Some(control) = self.control.take() {
            let _ = control.join();
        }
        result
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.shared.drain();
        self.drain.send_replace(Some(Instant::now()));
        let _ = self.wait();
    }
}

/// Opens the listening sockets of every core.
fn listen(config: &Listen, cores: usize) -> Result<(Vec<Listeners>, Addresses), Error> {
    let open = |address| {
        let listeners = listener::listen(address, cores, config.backlog)?;
        local_address(&listeners, address).map(|bound| (listeners, bound))
    };
    let (tls, address) = open(config.address)?;
    let (clear, clear_address) = config.clear.map(open).transpose()?.unzip();
    let mut clear = clear.into_iter().flatten();
    let listeners = tls.into_iter().map(|tls| Listeners { tls, clear: clear.next() });
    Ok((listeners.collect(), Addresses { tls: address, clear: clear_address }))
}

fn local_address(listeners: &[TcpListener], configured: SocketAddr) -> Result<SocketAddr, Error> {
    let Some(listener) = listeners.first() else { return Ok(configured) };
    listener.local_addr().map_err(|source| Error::Listen { address: configured, source })
}

/// Starts a thread that is pinned to a processor before it works.
fn spawn_core(
    processor: usize,
    work: impl FnOnce() -> std::io::Result<()> + Send + 'static,
) -> Result<JoinHandle<std::io::Result<()>>, Error> {
    let (sender, pinned) = std::sync::mpsc::channel();
    let thread = std::thread::Builder::new().name(format!("core-{processor}"));
    let thread = thread.spawn(move || {
        let pinned = Cores::one(processor).and_then(|core| core.pin_this_thread());
        let ok = pinned.is_ok();
        let _ = sender.send(pinned);
        if ok { work() } else { Ok(()) }
    });
    let thread = thread.map_err(|source| Error::System { what: "a core's thread", source })?;
    match pinned.recv() {
        Ok(Ok(())) => Ok(thread),
        Ok(Err(source)) => Err(Error::Core { core: processor, source }),
        Err(_) => {
            let source = std::io::Error::other("its thread ended");
            Err(Error::System { what: "a core's thread", source })
        }
    }
}

/// Runs the control loop and the admin pages, until `stopped`.
fn run_control(control: ControlLoop, admin: Option<Admin>, mut stopped: watch::Receiver<bool>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return tracing::error!(%error, "the control loop cannot run"),
    };
    runtime.block_on(async {
        if let Some(admin) = admin {
            let address = Some(admin.address());
            let (shared, sessions) = (control.shared.clone(), control.sessions.clone());
            let source = move || status::snapshot(&shared, &sessions, address);
            tokio::spawn(admin.serve(Arc::new(source)));
        }
        tokio::select! {
            () = control.run() => {}
            _ = stopped.wait_for(|stopped| *stopped) => {}
        }
    });
}
