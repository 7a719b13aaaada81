//! The gate as a whole: starts its threads, drains them, waits for them.

use crate::config::{Config, Listen};
use crate::control_loop;
use crate::error::Error;
use crate::http::upstream::Route;
use crate::listen::accept::{self as core, Listeners};
use crate::shared::{Addresses, Shared};
use crate::socket;
use crate::telemetry::admin::Admin;
use crate::tls::configs::Tls;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;
use tokio::sync::watch;

/// A gate at work. Dropped, it closes at once.
#[derive(Debug)]
pub struct Gate {
    shared: Arc<Shared>,
    admin: Option<SocketAddr>,
    drain: watch::Sender<Option<Instant>>,
    stop: watch::Sender<bool>,
    cores: Vec<JoinHandle<std::io::Result<()>>>,
    tide: Option<JoinHandle<()>>,
}

impl Gate {
    /// Starts a gate: when this returns, customers can connect.
    ///
    /// # Errors
    /// An address is taken, a core is not there, or the certificate is unfit.
    pub fn start(config: Config) -> Result<Self, Error> {
        config.warnings().iter().for_each(|warning| tracing::warn!("{warning}"));
        let identity = config.identity()?;
        if identity.self_signed {
            tracing::warn!(
                "no certificate was given: the gate made a self-signed one for {}, which clients \
                 do not trust; set tls.certificate and tls.key",
                config.tls.self_signed_names.join(", ")
            );
        }
        let tls = Tls::new(&config, &identity)?;
        let route = Route::new(&config, &tls.provider)?;
        let system = |what| move |source| Error::System { what, source };
        let cores = config.listen.cores.resolve().map_err(system("reading the affinity"))?;
        let (listeners, addresses) = listen(&config.listen, cores.len())?;
        let admin = config.admin.address.map(Admin::bind).transpose()?;
        let admin_address = admin.as_ref().map(Admin::address);
        let shared = Arc::new(Shared::new(config, tls, addresses, cores.clone()));
        let (drain, drained) = watch::channel(None);
        let (stop, stopped) = watch::channel(false);
        let mut gate = Self {
            shared: shared.clone(),
            admin: admin_address,
            drain,
            stop,
            cores: Vec::new(),
            tide: None,
        };
        for (index, (core, listeners)) in cores.iter().copied().zip(listeners).enumerate() {
            let (shared, route, drained) = (shared.clone(), route.clone(), drained.clone());
            let thread =
                spawn_core(core, move || core::work(shared, index, listeners, route, drained));
            gate.cores.push(thread?);
        }
        let tide = std::thread::Builder::new().name("tide".into());
        let tide = tide.spawn(move || run_tide(shared, admin, stopped));
        gate.tide = Some(tide.map_err(system("the tick's thread"))?);
        Ok(gate)
    }

    /// Where customers connect, as bound.
    pub fn address(&self) -> SocketAddr {
        self.shared.addresses.tls
    }

    /// Where customers connect in clear, as bound; `None` if that is off.
    pub fn clear_address(&self) -> Option<SocketAddr> {
        self.shared.addresses.clear
    }

    /// Where the operator looks, as bound; `None` if that is off.
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.admin
    }

    /// What the gate counted up to now.
    pub fn snapshot(&self) -> crate::telemetry::metrics::Snapshot {
        control_loop::snapshot(&self.shared, &self.admin.map(|a| a.to_string()).unwrap_or_default())
    }

    /// What all cores counted up to now, in full.
    pub fn totals(&self) -> crate::telemetry::counters::Totals {
        self.shared.totals()
    }

    /// Takes no new connections from now on, lets requests finish and closes
    /// every connection as soon as it has none, at the latest after
    /// `listen.drain_deadline`. Returns at once; see [`Gate::join`].
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
        if let Some(tide) = self.tide.take() {
            let _ = tide.join();
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
        let listeners = socket::listen(address, cores, config.backlog)?;
        local_address(&listeners, address).map(|bound| (listeners, bound))
    };
    let (tls, address) = open(config.address)?;
    let (clear, clear_address) = config.clear.map(open).transpose()?.unzip();
    let mut clear = clear.into_iter().flatten();
    let listeners = tls.into_iter().map(|tls| Listeners { tls, clear: clear.next() });
    Ok((listeners.collect(), Addresses { tls: address, clear: clear_address }))
}

fn local_address(listeners: &[TcpListener], asked: SocketAddr) -> Result<SocketAddr, Error> {
    let Some(listener) = listeners.first() else { return Ok(asked) };
    listener.local_addr().map_err(|source| Error::Listen { address: asked, source })
}

/// Starts a thread that is pinned to a core before it works.
fn spawn_core(
    core: usize,
    work: impl FnOnce() -> std::io::Result<()> + Send + 'static,
) -> Result<JoinHandle<std::io::Result<()>>, Error> {
    let (told, pinned) = std::sync::mpsc::channel();
    let thread = std::thread::Builder::new().name(format!("core-{core}"));
    let thread = thread.spawn(move || {
        let pinned = pin(core);
        let ok = pinned.is_ok();
        let _ = told.send(pinned);
        if ok { work() } else { Ok(()) }
    });
    let thread = thread.map_err(|source| Error::System { what: "a core's thread", source })?;
    match pinned.recv() {
        Ok(Ok(())) => Ok(thread),
        Ok(Err(source)) => Err(Error::Core { core, source }),
        Err(_) => {
            let source = std::io::Error::other("its thread ended");
            Err(Error::System { what: "a core's thread", source })
        }
    }
}

/// Keeps this thread on a core.
fn pin(core: usize) -> std::io::Result<()> {
    // SAFETY: a set of cores is plain bits; zero is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    if core >= 8 * size_of_val(&set) {
        return Err(std::io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: `core` is within the set, as was just seen.
    unsafe { libc::CPU_SET(core, &mut set) };
    // SAFETY: the set lives through the call and has the size given; 0 is this thread.
    match unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// The tick and the admin pages, until told to stop.
fn run_tide(shared: Arc<Shared>, admin: Option<Admin>, mut stopped: watch::Receiver<bool>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return tracing::error!(%error, "the tick cannot run"),
    };
    runtime.block_on(async {
        if let Some(admin) = admin {
            let address = admin.address().to_string();
            let shared = shared.clone();
            tokio::spawn(admin.serve(Arc::new(move || control_loop::snapshot(&shared, &address))));
        }
        tokio::select! {
            () = control_loop::tick(shared) => {}
            _ = stopped.wait_for(|stopped| *stopped) => {}
        }
    });
}
