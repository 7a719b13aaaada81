//! Hands a gate over to the process that takes its place.

use crate::admission::sessions::Sessions;
use crate::admission::tickets::Keyring;
use crate::config::ticket_keys;
use crate::handover::{FORMAT, Header, Ready, Role, START_DEADLINE, STEP_DEADLINE, part, wire};
use crate::shared::Shared;
use std::convert::Infallible;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, mpsc};
use std::time::Instant;
use tokio::sync::watch;

/// A listening socket of a gate.
pub type Socket = Arc<dyn AsFd + Send + Sync>;

/// A gate in service, as seen by what ends that. Every copy is for the same gate.
#[derive(Clone)]
pub struct Service {
    shared: Arc<Shared>,
    sessions: Arc<Sessions>,
    keyring: Arc<Keyring>,
    /// None when the gate drains: nothing may hold them open then.
    sockets: Arc<Mutex<Vec<(Role, Socket)>>>,
    drain: watch::Sender<Option<Instant>>,
    handed_over: watch::Sender<bool>,
    /// Disconnected once no core accepts connections.
    no_core_accepts: Arc<Mutex<mpsc::Receiver<Infallible>>>,
    /// Held while the gate is being handed over.
    giving: Arc<Mutex<()>>,
}

/// Why a gate stays in service.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is being handed over, or drains already.
    #[error("{0}")]
    Busy(&'static str),
    /// The other process has failed, or not started in time.
    #[error("the process that was to take its place {0}")]
    Failed(String),
}

impl Service {
    /// The service of a gate that starts. Each core holds a sender to `no_core_accepts` for as long as
    /// it accepts connections.
    pub fn new(
        shared: Arc<Shared>,
        sessions: Arc<Sessions>,
        keyring: Arc<Keyring>,
        sockets: Vec<(Role, Socket)>,
        no_core_accepts: mpsc::Receiver<Infallible>,
    ) -> Self {
        Self {
            shared,
            sessions,
            keyring,
            sockets: Arc::new(Mutex::new(sockets)),
            drain: watch::Sender::new(None),
            handed_over: watch::Sender::new(false),
            no_core_accepts: Arc::new(Mutex::new(no_core_accepts)),
            giving: Arc::default(),
        }
    }

    /// When the cores are to have drained, once they are to drain.
    pub fn draining(&self) -> watch::Receiver<Option<Instant>> {
        self.drain.subscribe()
    }

    /// Whether another process has taken the gate's place.
    pub fn handed_over(&self) -> watch::Receiver<bool> {
        self.handed_over.subscribe()
    }

    /// Ends the service: from now on no connections are accepted.
    pub fn drain(&self) {
        let deadline = Instant::now() + self.shared.config().listen.drain_deadline;
        self.end();
        self.drain.send_if_modified(|drain| drain.is_none() && drain.replace(deadline).is_none());
    }

    /// The same, and closes all connections now.
    pub fn close(&self) {
        self.end();
        self.drain.send_replace(Some(Instant::now()));
    }

    fn end(&self) {
        self.shared.drain();
        lock(&self.sockets).clear();
    }

    /// Hands the gate over to the process at the other end, and drains once that accepts
    /// connections and `taken` was called with its id. Waits for up to a minute; not for async
    /// code.
    ///
    /// # Errors
    /// The gate stays in service, for this reason.
    pub fn hand_over(&self, stream: &UnixStream, taken: impl FnOnce(u32)) -> Result<(), Error> {
        let _giving = match self.giving.try_lock() {
            Ok(giving) => giving,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                return Err(Error::Busy("another process is about to take its place"));
            }
        };
        if self.shared.draining() {
            return Err(Error::Busy("it drains already"));
        }
        self.keyring.freeze(true);
        let given = self.give_until_ready(stream);
        // Also while it drains: the next gate would not know a newer key.
        self.keyring.freeze(given.is_ok());
        let pid = given?;
        self.handed_over.send_replace(true);
        self.end();
        // Nobody comes in here any more whom the next gate does not know.
        let _ = lock(&self.no_core_accepts).recv_timeout(STEP_DEADLINE);
        // It has begun to accept: if it is gone now, nothing could be taken back.
        let _ = wire::send(stream, part::DRAINING, &self.used_places());
        tracing::info!("process {pid} has taken this gate's place; draining");
        taken(pid);
        // Last: a gate without connections is over at once, and its process with it.
        self.drain();
        Ok(())
    }

    /// Returns the id of the process that accepts connections now.
    fn give_until_ready(&self, stream: &UnixStream) -> Result<u32, Error> {
        let failed = |error: io::Error| Error::Failed(reason(&error));
        self.give(stream).map_err(failed)?;
        stream.set_read_timeout(Some(START_DEADLINE)).map_err(failed)?;
        let (kind, bytes) = wire::receive(stream).map_err(failed)?;
        let ready: Option<Ready> = serde_json::from_slice(&bytes).ok();
        match ready.filter(|_| kind == part::READY) {
            Some(Ready { pid }) => Ok(pid),
            None => Err(Error::Failed("sent something else than that it is ready".into())),
        }
    }

    fn give(&self, stream: &UnixStream) -> io::Result<()> {
        stream.set_write_timeout(Some(STEP_DEADLINE))?;
        let sockets = lock(&self.sockets).clone();
        let header = Header {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").into(),
            pid: std::process::id(),
            sockets: sockets.iter().map(|(role, _)| *role).collect(),
        };
        wire::send(stream, part::HEADER, &serde_json::to_vec(&header)?)?;
        let open: Vec<_> = sockets.iter().map(|(_, it)| it.as_fd().as_raw_fd()).collect();
        wire::pass(stream, &open)?;
        wire::send(stream, part::KEYS, ticket_keys::text(&self.keyring.secrets()).as_bytes())?;
        let learned = self.shared.controller().learned();
        wire::send(stream, part::LEARNED, &serde_json::to_vec(&learned)?)?;
        wire::send(stream, part::SESSIONS, self.sessions.known().as_flattened())?;
        wire::send(stream, part::USED_PLACES, &self.used_places())?;
        wire::send(stream, part::CLOSING, &serde_json::to_vec(&self.shared.room.closing())?)?;
        let ahead_ms = self.shared.room_clock_ahead_ms();
        wire::send(stream, part::ROOM_CLOCK, &serde_json::to_vec(&ahead_ms)?)?;
        if let Some(fleet) = &self.shared.fleet {
            let share = fleet.member().standing().share;
            wire::send(stream, part::SHARE, &serde_json::to_vec(&share)?)?;
        }
        wire::send(stream, part::END, b"")
    }

    fn used_places(&self) -> Vec<u8> {
        self.shared.room.used(self.shared.unix_ms())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        // A reset, where it has not read everything.
        io::ErrorKind::UnexpectedEof
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::ConnectionReset => "ended before it was ready".into(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            format!("was not ready within {} s", START_DEADLINE.as_secs())
        }
        _ => format!("cannot be reached: {error}"),
    }
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Service").finish_non_exhaustive()
    }
}
