//! The gate as a whole: starts its threads, drains them, waits for them.

use crate::admission::sessions::{Rules, Sessions};
use crate::config::{Config, Mistakes};
use crate::control_loop::ControlLoop;
use crate::error::Error;
use crate::fleet::state::FleetState;
use crate::generation::Generation;
use crate::handover::Role;
use crate::handover::door::Door;
use crate::handover::giver::{Service, Socket};
use crate::handover::inherited::Inherited;
use crate::listen::core::{self, Parts};
use crate::listen::sockets::{self, Sockets};
use crate::redirect::Redirect;
use crate::reload::Reloader;
use crate::shared::{Addresses, Shared};
use crate::status;
use crate::supervision::{Component, InjectedFault, Report, Reports, Supervisor};
use crate::telemetry::admin::Admin;
use crate::telemetry::counters::Totals;
use crate::telemetry::snapshot::Snapshot;
use crate::threads::{Control, run_until, spawn};
use crate::upkeep::{self, TicketKeys};
use std::net::SocketAddr;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;
use tidegate_host::Cores;
use tidegate_trace::Tracing;
use tokio::sync::watch;

/// A running gate. Dropped, it closes at once.
pub struct Gate {
    shared: Arc<Shared>,
    sessions: Arc<Sessions>,
    reloader: Arc<Reloader>,
    keys: Arc<TicketKeys>,
    admin: Option<SocketAddr>,
    redirect: Option<SocketAddr>,
    service: Service,
    door: Option<Arc<Door>>,
    stop: watch::Sender<bool>,
    reports: Reports,
    /// Ends after the threads.
    tracing: Option<Tracing>,
    /// Cores that have not drained yet.
    serving: usize,
    threads: Vec<JoinHandle<()>>,
}

impl Gate {
    /// Starts a gate: when this returns, customers can connect.
    ///
    /// # Errors
    /// An address cannot be listened on, a core does not exist, or the certificate cannot
    /// be used.
    pub fn start(config: Config) -> Result<Self, Error> {
        Self::start_from(config, Inherited::default())
    }

    /// Starts a gate with sockets that are open already, or in the place of another gate: when
    /// this returns, that one accepts no connections any more.
    ///
    /// # Errors
    /// As of [`Gate::start`]. The other gate then stays in service.
    pub fn start_from(config: Config, inherited: Inherited) -> Result<Self, Error> {
        Self::start_with(config, inherited, None)
    }

    /// Starts a gate a part of which can be made to fail.
    ///
    /// # Errors
    /// As of [`Gate::start_from`].
    #[doc(hidden)]
    pub fn start_with(
        config: Config,
        mut inherited: Inherited,
        fault: Option<InjectedFault>,
    ) -> Result<Self, Error> {
        tidegate_host::open_files::raise_limit();
        config.warnings().iter().for_each(|warning| tracing::warn!("{warning}"));
        let before = std::mem::take(&mut inherited.keys);
        let keys = Arc::new(TicketKeys::new(&config, before)?);
        let generation = Generation::new(config.clone(), keys.keyring.clone())?;
        generation.warn_if_self_signed();
        let system = |what| move |source| Error::System { what, source };
        let processors = config.listen.cores.resolve().map_err(system("reading the affinity"))?;
        let Sockets { of_cores, all, addresses } =
            sockets::open(&config.listen, processors.len(), &mut inherited)?;
        let redirect = Redirect::open(&config.listen, addresses.tls[0], &mut inherited)?;
        let redirect_address = redirect.as_ref().map(Redirect::address);
        let admin = config.admin.address.map(|at| bind_admin(at, &mut inherited)).transpose()?;
        let admin_address = admin.as_ref().map(Admin::address);
        let door = config.listen.handover.as_deref();
        let door = door.map(|path| Door::open(path, &mut inherited)).transpose()?.map(Arc::new);
        inherited.close_the_rest()?;
        let sessions = Sessions::new(Rules::of(&config.admission));
        let tracing = trace(&config, &addresses, &inherited)?;
        let fleet = FleetState::new(&config, addresses.tls[0].port())?.map(Arc::new);
        let mut shared = Shared::new(config, addresses, processors.clone());
        shared.fleet = fleet;
        shared.tracing = tracing.as_ref().map(Tracing::handle);
        let shared = Arc::new(shared);
        shared.access_log.open(&shared.config().access_log).map_err(Error::AccessLog)?;
        continue_from(&mut inherited, &shared, &sessions);
        let (stop, stopped) = watch::channel(false);
        let (supervisor, reports) = Supervisor::new(fault);
        let customers = all.into_iter().map(|(role, socket)| (role, socket as Socket));
        let redirects = redirect.iter().map(|it| (Role::Redirect, it.socket() as Socket));
        let admins = admin.iter().map(|admin| (Role::Admin, admin.socket() as Socket));
        let doors = door.iter().map(|door| (Role::Handover, door.listener.clone() as Socket));
        let (accepting, no_core_accepts) = mpsc::channel();
        let service = Service::new(
            shared.clone(),
            sessions.clone(),
            keys.keyring.clone(),
            customers.chain(redirects).chain(admins).chain(doors).collect(),
            no_core_accepts,
        );
        let mut gate = Self {
            reloader: Arc::new(Reloader::new(shared.clone(), sessions.clone(), generation)),
            keys: keys.clone(),
            shared: shared.clone(),
            sessions: sessions.clone(),
            admin: admin_address,
            redirect: redirect_address,
            service: service.clone(),
            door: door.clone(),
            stop,
            reports,
            tracing,
            serving: 0,
            threads: Vec::new(),
        };
        let (accepts, all_accept) = mpsc::channel();
        let parts = Parts {
            shared: shared.clone(),
            sessions: sessions.clone(),
            generations: gate.reloader.subscribe(),
            drain: service.draining(),
            handed_over: service.handed_over(),
            accepts,
            accepting,
            supervisor: supervisor.clone(),
        };
        for (index, (processor, listeners)) in processors.into_iter().zip(of_cores).enumerate() {
            let parts = parts.clone();
            let work = move || core::run(parts, index, listeners);
            gate.threads.push(spawn_core(processor, supervisor.clone(), work)?);
            gate.serving += 1;
        }
        drop(parts);
        let (watch, log) = (supervisor.clone(), shared.access_log.clone());
        let work = move || {
            watch.run(Component::AccessLog, || {
                log.run(|| watch.check_fault(Component::AccessLog));
                Ok(())
            });
        };
        // Nobody waits for this one either: the disk may hang.
        spawn("access-log", work)?;
        let control = Control {
            control: ControlLoop { shared, sessions },
            generations: gate.reloader.subscribe(),
            admin,
            door,
            service,
            keyring: keys.keyring.clone(),
        };
        let (watch, until) = (supervisor.clone(), stopped.clone());
        let thread = spawn("control", move || {
            watch.run(Component::ControlLoop, || control.run(until, &watch));
        });
        gate.threads.push(thread?);
        if let Some(redirect) = redirect {
            let (watch, stopped) = (supervisor.clone(), stopped.clone());
            // Nor for this one: its challenges are files too.
            spawn("redirect", move || {
                watch.run(Component::AcceptLoop, || {
                    let serve = watch.clone().watch(Component::AcceptLoop, redirect.serve());
                    run_until(stopped, serve)
                });
            })?;
        }
        // Nobody waits for this one: it may be waiting for a file system.
        let reloader = gate.reloader.clone();
        spawn("files", move || {
            supervisor.run(Component::FileUpkeep, || {
                let upkeep =
                    supervisor.clone().watch(Component::FileUpkeep, upkeep::run(keys, reloader));
                run_until(stopped, upkeep)
            });
        })?;
        // If a core failed instead, its report is the gate's end.
        while all_accept.recv().is_ok() {}
        inherited.take_over()?;
        gate.shared.room.expect_used(&inherited.used_places);
        Ok(gate)
    }

    /// Where customers connect, as bound; the first, if there are several.
    pub fn address(&self) -> SocketAddr {
        self.shared.address()
    }

    /// Where customers connect, as bound; one at least.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.shared.addresses.tls
    }

    /// Where customers connect by plain HTTP, as bound; `None` if that is off.
    pub fn clear_address(&self) -> Option<SocketAddr> {
        self.shared.addresses.clear
    }

    /// Where customers are led from http to https, as bound; `None` if that is off.
    pub fn redirect_address(&self) -> Option<SocketAddr> {
        self.redirect
    }

    /// The address of the admin pages, as bound; `None` if that is off.
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.admin
    }

    /// The configuration in force. Keys that need a restart have the values of the start.
    pub fn config(&self) -> Arc<Config> {
        self.shared.config()
    }

    /// The snapshot that the admin pages show.
    pub fn snapshot(&self) -> Snapshot {
        status::snapshot(&self.shared, &self.sessions, self.admin)
    }

    /// The sums of all cores' counters, in full.
    pub fn totals(&self) -> Totals {
        self.shared.totals()
    }

    /// Reads a configuration with `read`, and puts it in force for connections that begin
    /// from now on; open ones keep the configuration that they began with. The log has the
    /// keys that changed and those that need a restart. A line that the service has closed is open
    /// again. Where the configuration has mistakes
    /// or cannot be used, the one in force stays, and the log says why. Returns whether it
    /// was put in force.
    pub fn reload(&self, read: impl FnOnce() -> Result<Config, Mistakes>) -> bool {
        let reloaded = self.reloader.reload(|_| read());
        if reloaded {
            self.keys.reopen();
            // The operator's way to open a line that nobody inside could open any more.
            self.shared.room.close_for(Duration::ZERO, self.shared.unix_ms());
        }
        // Also where the configuration has mistakes: the file may have been moved away.
        if let Err(error) = self.shared.access_log.open(&self.config().access_log) {
            tracing::error!("{error}; lines go where they went before");
        }
        reloaded
    }

    /// Accepts no new connections from now on, lets requests finish and closes every
    /// connection as soon as it has none, at the latest after `listen.drain_deadline`.
    /// Returns at once; see [`Gate::join`].
    pub fn drain(&self) {
        self.service.drain();
    }

    /// Closes all connections now, also if the gate drains already. Returns at once; see
    /// [`Gate::join`].
    pub fn close(&self) {
        self.service.close();
    }

    /// Whether the gate drains: because of [`Gate::drain`], or since another has taken its
    /// place.
    pub fn is_draining(&self) -> bool {
        self.shared.draining()
    }

    /// The service of this gate, to hand it over to another process.
    pub fn service(&self) -> Service {
        self.service.clone()
    }

    /// Waits until the gate has drained, which without a [`Gate::drain`] before is never, or
    /// a part of it failed. May be dropped and called again.
    ///
    /// # Errors
    /// A part failed without which the gate does not work.
    pub async fn ended(&mut self) -> Result<(), Error> {
        while self.serving > 0 {
            match self.reports.recv().await {
                Some(report) => self.note(report)?,
                None => break,
            }
        }
        Ok(())
    }

    /// Waits as [`Gate::ended`] does, then for the gate's threads. Not for async code.
    ///
    /// # Errors
    /// A part failed without which the gate does not work.
    pub fn join(mut self) -> Result<(), Error> {
        while self.serving > 0 {
            match self.reports.blocking_recv() {
                Some(report) => self.note(report)?,
                None => break,
            }
        }
        Ok(())
    }

    fn note(&mut self, report: Report) -> Result<(), Error> {
        match report {
            Report::Drained => self.serving = self.serving.saturating_sub(1),
            Report::Failed(error) => return Err(error),
        }
        Ok(())
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.close();
        if let Some(fleet) = &self.shared.fleet {
            fleet.gives_back();
        }
        let _ = self.stop.send(true);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        if let Some(door) = self.door.take()
            && !*self.service.handed_over().borrow()
        {
            door.remove();
        }
        self.shared.access_log.finish();
        if let Some(tracing) = self.tracing.take() {
            tracing::info!("{}", tracing.finish());
        }
    }
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gate").field("addresses", &self.shared.addresses).finish_non_exhaustive()
    }
}

/// Begins to trace, if the configuration says so.
fn trace(
    config: &Config,
    addresses: &Addresses,
    inherited: &Inherited,
) -> Result<Option<Tracing>, Error> {
    let trace = &config.trace;
    let Some(file) = &trace.file else { return Ok(None) };
    if let Some(pid) = inherited.replaces() {
        // The gate before goes on to write its own file, under another name.
        let mut kept = file.clone().into_os_string();
        kept.push(format!(".{pid}"));
        let _ = std::fs::rename(file, kept);
    }
    let options = tidegate_trace::Options {
        file_bytes: trace.file_bytes as u64,
        buffer_bytes: trace.buffer_bytes,
        cpu_every: trace.cpu_every,
        sample: trace.sample_interval,
        ..tidegate_trace::Options::new(tidegate_trace::Role::Gate, file)
    };
    let tracing = Tracing::start(&options, |why| tracing::error!("trace.file: {why}"))?;
    tracing.handle().watch_ports(addresses.all().map(|address| address.port()));
    Ok(Some(tracing))
}

/// Starts a thread that is pinned to a processor before it works.
fn spawn_core(
    processor: usize,
    supervisor: Supervisor,
    work: impl FnOnce() -> std::io::Result<()> + Send + 'static,
) -> Result<JoinHandle<()>, Error> {
    let (sender, pinned) = std::sync::mpsc::channel();
    let thread = std::thread::Builder::new().name(format!("core-{processor}"));
    let thread = thread.spawn(move || {
        let pinned = Cores::one(processor).and_then(|core| core.pin_this_thread());
        let ok = pinned.is_ok();
        let _ = sender.send(pinned);
        if ok && supervisor.run(Component::Core, work).is_some() {
            supervisor.report(Report::Drained);
        }
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

/// The admin pages at this address, with the socket that is open already if there is one.
fn bind_admin(address: SocketAddr, inherited: &mut Inherited) -> Result<Admin, Error> {
    Ok(match inherited.only(Role::Admin, address) {
        Some((at, listener)) => Admin::listening(listener, at)?,
        None => Admin::bind(address)?,
    })
}

/// Goes on with what the gate before knew.
fn continue_from(inherited: &mut Inherited, shared: &Shared, sessions: &Sessions) {
    sessions.expect(std::mem::take(&mut inherited.sessions), shared.now());
    if let Some(ahead_ms) = inherited.room_clock_ahead_ms {
        shared.adopt_room_clock(ahead_ms);
    }
    shared.room.expect_used(&inherited.used_places);
    if let Some(closing) = inherited.closing {
        shared.room.expect_closing(closing, shared.unix_ms());
    }
    let learned = inherited.learned.take().map(|learned| shared.controller().adopt(learned));
    if inherited.replaces().is_some() && learned != Some(true) {
        tracing::warn!("the costs that the gate before had learned are of another version");
    }
    if let Some(fleet) = &shared.fleet {
        let share = inherited.share.filter(|_| learned == Some(true));
        fleet.begin(shared.now(), &mut shared.controller(), share);
    }
}
