//! The gate's threads beside its cores.

use crate::admission::tickets::Keyring;
use crate::control_loop::ControlLoop;
use crate::error::Error;
use crate::fleet;
use crate::generation::Generation;
use crate::handover::door::Door;
use crate::handover::giver::Service;
use crate::status;
use crate::supervision::{Component, Supervisor};
use crate::telemetry::admin::Admin;
use crate::upstream::reachability;
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::watch;

/// What runs beside the cores.
pub struct Control {
    /// Reads the cores, and decides.
    pub control: ControlLoop,
    /// The configuration in force.
    pub generations: watch::Receiver<Arc<Generation>>,
    /// The admin pages.
    pub admin: Option<Admin>,
    /// Where the next gate asks.
    pub door: Option<Arc<Door>>,
    /// What is handed over.
    pub service: Service,
    /// The ticket keys, which gates of a fleet share.
    pub keyring: Arc<Keyring>,
}

impl Control {
    /// Runs the control loop, the watch over the upstream, the admin pages and the door for the
    /// next gate, until `stopped`.
    ///
    /// # Errors
    /// The runtime could not be started.
    pub fn run(
        self,
        stopped: watch::Receiver<bool>,
        supervisor: &Supervisor,
    ) -> std::io::Result<()> {
        let Self { control, generations, admin, door, service, keyring } = self;
        run_until(stopped, async {
            if let Some(admin) = admin {
                let address = Some(admin.address());
                let (shared, sessions) = (control.shared.clone(), control.sessions.clone());
                let history = shared.history.clone();
                let source = move || status::snapshot(&shared, &sessions, address);
                let serve = admin.serve(Arc::new(source), history);
                let serve = until_handed_over(service.handed_over(), serve);
                tokio::spawn(supervisor.clone().watch(Component::Admin, serve));
            }
            if let Some(door) = door {
                let handed_over = service.handed_over();
                let serve = async move { door.serve(service).await };
                let serve = until_handed_over(handed_over, serve);
                tokio::spawn(supervisor.clone().watch(Component::ControlLoop, serve));
            }
            if let Some(fleet) = control.shared.fleet.clone() {
                let (shared, sessions) = (control.shared.clone(), control.sessions.clone());
                let part = fleet::run(fleet, shared, sessions, keyring);
                tokio::task::spawn_local(supervisor.clone().watch(Component::ControlLoop, part));
            }
            let watched = reachability::run(control.shared.clone(), generations);
            tokio::task::spawn_local(supervisor.clone().watch(Component::ControlLoop, watched));
            supervisor.clone().watch(Component::ControlLoop, control.run()).await;
        })
    }
}

/// Serves until another process does; then the socket is its own.
pub async fn until_handed_over(
    mut handed_over: watch::Receiver<bool>,
    serve: impl Future<Output = ()>,
) {
    tokio::select! {
        () = serve => return,
        _ = handed_over.wait_for(|handed_over| *handed_over) => {}
    }
    std::future::pending().await
}

/// Starts a thread.
///
/// # Errors
/// The system starts no more.
pub fn spawn(
    name: &'static str,
    work: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, Error> {
    let thread = std::thread::Builder::new().name(name.into()).spawn(work);
    thread.map_err(|source| Error::System { what: "a thread", source })
}

/// Runs work on this thread, until `stopped`.
///
/// # Errors
/// The runtime could not be started.
pub fn run_until(
    mut stopped: watch::Receiver<bool>,
    work: impl Future<Output = ()>,
) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(tokio::runtime::LocalOptions::default())?;
    runtime.block_on(async {
        tokio::select! {
            () = work => {}
            _ = stopped.wait_for(|stopped| *stopped) => {}
        }
    });
    Ok(())
}
