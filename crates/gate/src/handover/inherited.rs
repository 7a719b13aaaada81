//! What a gate has from the one before, or from the service manager.

use crate::admission::tickets::SessionId;
use crate::config::ticket_keys;
use crate::error::Error;
use crate::handover::{FORMAT, Header, Ready, Role, START_DEADLINE, STEP_DEADLINE, part, wire};
use crate::ticket_secret::Secret;
use socket2::SockRef;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use tidegate_control::Learned;
use tidegate_control::waiting_room::Closing;

/// What a gate begins with beside its configuration.
#[derive(Debug, Default)]
pub struct Inherited {
    sockets: Vec<Passed>,
    /// Ticket keys, the newest first; none: the gate makes or reads its own.
    pub(crate) keys: Vec<Secret>,
    /// What the controller before has learned.
    pub(crate) learned: Option<Learned>,
    /// Sessions that are active.
    pub(crate) sessions: Vec<SessionId>,
    /// Places in the waiting room that were used.
    pub(crate) used_places: Vec<u8>,
    /// What the service said last of the waiting room's line.
    pub(crate) closing: Option<Closing>,
    /// By how many milliseconds its clock of the waiting room was ahead of the system's.
    pub(crate) room_clock_ahead_ms: Option<i64>,
    /// Share of the service that the gate had in its fleet.
    pub(crate) share: Option<f64>,
    predecessor: Option<Predecessor>,
}

/// A socket that was open before.
#[derive(Debug)]
struct Passed {
    claim: Claim,
    socket: OwnedFd,
}

/// How a socket's role is known.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Claim {
    /// The gate before used it so, at an address that may be configured no more.
    Before(Role),
    /// The service manager's name of it is that of a role.
    Named(Role),
    /// By its address alone.
    Address,
}

/// The gate in service, which waits for this one.
#[derive(Debug)]
struct Predecessor {
    stream: UnixStream,
    pid: u32,
}

/// Listening sockets at one address.
pub(crate) type AtAddress = (SocketAddr, Vec<TcpListener>);

impl Inherited {
    /// Sockets of the service manager, with their names (`FileDescriptorName=`): `tls`,
    /// `clear`, `redirect` and `admin` say what a socket is for; of others the address does.
    ///
    /// # Errors
    /// One of them does not listen for TCP connections.
    pub fn activated(sockets: impl IntoIterator<Item = (OwnedFd, String)>) -> Result<Self, Error> {
        let passed = |(socket, name): (OwnedFd, String)| {
            let claim = match &*name {
                "tls" => Claim::Named(Role::Tls),
                "clear" => Claim::Named(Role::Clear),
                "redirect" => Claim::Named(Role::Redirect),
                "admin" => Claim::Named(Role::Admin),
                _ => Claim::Address,
            };
            if listening_at(&socket).is_none() {
                return Err(Error::Handover(format!(
                    "the socket {name:?} of the service manager does not listen for TCP \
                     connections; write ListenStream= with an address and a port, and Accept=no"
                )));
            }
            Ok(Passed { claim, socket })
        };
        let sockets = sockets.into_iter().map(passed).collect::<Result<_, _>>()?;
        Ok(Self { sockets, ..Self::default() })
    }

    /// Receives what the gate at the other end hands over.
    ///
    /// # Errors
    /// It has gone, refuses, or hands over what this version does not understand.
    pub fn receive(stream: UnixStream) -> Result<Self, Error> {
        let failed = |error: io::Error| {
            Error::Handover(format!("the gate in service did not hand over: {error}; see its log"))
        };
        stream.set_read_timeout(Some(STEP_DEADLINE)).map_err(failed)?;
        stream.set_write_timeout(Some(STEP_DEADLINE)).map_err(failed)?;
        let (kind, bytes) = wire::receive(&stream).map_err(failed)?;
        let header: Option<Header> = serde_json::from_slice(&bytes).ok();
        let header = header.filter(|header| kind == part::HEADER && header.format == FORMAT);
        let header = header.ok_or_else(|| {
            let rule = "the gate in service is of a version that hands over in another way";
            Error::Handover(format!("{rule}; stop it, and start this one without --replace"))
        })?;
        let Header { pid, version, sockets: roles, .. } = header;
        let sockets = wire::take(&stream, roles.len()).map_err(failed)?;
        let passed = roles.into_iter().zip(sockets);
        let passed = passed.map(|(role, socket)| Passed { claim: Claim::Before(role), socket });
        let mut inherited = Self { sockets: passed.collect(), ..Self::default() };
        loop {
            let (kind, bytes) = wire::receive(&stream).map_err(failed)?;
            match kind {
                part::KEYS => inherited.keys = keys(&bytes),
                part::LEARNED => inherited.learned = serde_json::from_slice(&bytes).ok(),
                part::SESSIONS => inherited.sessions = bytes.as_chunks().0.to_vec(),
                part::USED_PLACES => inherited.used_places = bytes.to_vec(),
                part::CLOSING => inherited.closing = serde_json::from_slice(&bytes).ok(),
                part::ROOM_CLOCK => {
                    inherited.room_clock_ahead_ms = serde_json::from_slice(&bytes).ok();
                }
                part::SHARE => inherited.share = serde_json::from_slice(&bytes).ok(),
                part::END => break,
                _ => {}
            }
        }
        tracing::info!("taking the place of process {pid}, version {version}");
        inherited.predecessor = Some(Predecessor { stream, pid });
        Ok(inherited)
    }

    /// Whether there is a gate in service whose place this one takes.
    pub(crate) fn replaces(&self) -> Option<u32> {
        self.predecessor.as_ref().map(|before| before.pid)
    }

    /// Takes the sockets that the service manager names so, by address.
    pub(crate) fn named(&mut self, role: Role) -> Vec<AtAddress> {
        let taken = self.take(|passed, _| passed.claim == Claim::Named(role));
        let mut by_address: Vec<AtAddress> = Vec::new();
        for (address, listener) in taken {
            match by_address.iter_mut().find(|(at, _)| *at == address) {
                Some((_, listeners)) => listeners.push(listener),
                None => by_address.push((address, vec![listener])),
            }
        }
        by_address
    }

    /// Takes the socket of a role that has one: that which the service manager names so, or that
    /// of the configured address.
    pub(crate) fn only(
        &mut self,
        role: Role,
        configured: SocketAddr,
    ) -> Option<(SocketAddr, TcpListener)> {
        let named = self.named(role).pop();
        let (at, mut listeners) = named.or_else(|| self.at(role, configured))?;
        Some((at, listeners.pop()?))
    }

    /// Takes the sockets of a configured address. Port 0 is that of any.
    pub(crate) fn at(&mut self, role: Role, configured: SocketAddr) -> Option<AtAddress> {
        let fits = |claim: &Claim| matches!(claim, Claim::Address) || *claim == Claim::Before(role);
        let matches = |at: SocketAddr| {
            at == configured || (configured.port() == 0 && at.ip() == configured.ip())
        };
        let found = self.sockets.iter().filter(|passed| fits(&passed.claim));
        let address = found.filter_map(|passed| listening_at(&passed.socket));
        let address = address.into_iter().find(|at| matches(*at))?;
        let taken = self.take(|passed, at| fits(&passed.claim) && at == address);
        Some((address, taken.into_iter().map(|(_, listener)| listener).collect()))
    }

    /// Takes the socket for gates that take this one's place, if it is at this path.
    pub(crate) fn door(&mut self, path: &Path) -> Option<UnixListener> {
        let role = Claim::Before(Role::Handover);
        let place = self.sockets.iter().position(|passed| passed.claim == role)?;
        let listener = UnixListener::from(self.sockets.swap_remove(place).socket);
        let at = listener.local_addr().ok()?;
        (at.as_pathname() == Some(path)).then_some(listener)
    }

    /// Closes the sockets that no key of the configuration names.
    ///
    /// # Errors
    /// One of them is the service manager's, which goes on to accept connections there.
    pub(crate) fn close_the_rest(&mut self) -> Result<(), Error> {
        for Passed { claim, socket } in self.sockets.drain(..) {
            let Some(address) = listening_at(&socket) else { continue };
            match claim {
                Claim::Before(_) => tracing::info!("listens at {address} no more"),
                Claim::Named(_) | Claim::Address => {
                    return Err(Error::Handover(format!(
                        "the service manager listens at {address}, which no key names: set \
                         listen.address (or listen.clear, admin.address) to it, or name its \
                         socket by FileDescriptorName=tls, clear or admin"
                    )));
                }
            }
        }
        Ok(())
    }

    /// Tells the gate before that this one accepts connections, and waits until it accepts no
    /// more. [`Inherited::used_places`] are up to date then.
    ///
    /// # Errors
    /// It stays in service, so this one must end.
    pub(crate) fn take_over(&mut self) -> Result<(), Error> {
        let Some(Predecessor { stream, pid }) = self.predecessor.take() else { return Ok(()) };
        let ready = Ready { pid: std::process::id() };
        let ready = serde_json::to_vec(&ready).unwrap_or_default();
        let answered = wire::send(&stream, part::READY, &ready)
            .and_then(|()| stream.set_read_timeout(Some(START_DEADLINE)))
            .and_then(|()| wire::receive(&stream));
        match answered {
            Ok((part::DRAINING, used_places)) => {
                self.used_places = used_places.to_vec();
                tracing::info!("process {pid} accepts no more connections and drains");
                Ok(())
            }
            Ok(_) => Err(Error::Handover(format!("process {pid} did not stop accepting"))),
            Err(error) => Err(Error::Handover(format!(
                "process {pid} stays in service, since this one was not ready in time ({error})"
            ))),
        }
    }

    fn take(
        &mut self,
        mut which: impl FnMut(&Passed, SocketAddr) -> bool,
    ) -> Vec<(SocketAddr, TcpListener)> {
        let mut taken = Vec::new();
        for passed in std::mem::take(&mut self.sockets) {
            match listening_at(&passed.socket) {
                Some(address) if which(&passed, address) => {
                    taken.push((address, TcpListener::from(passed.socket)));
                }
                _ => self.sockets.push(passed),
            }
        }
        taken
    }
}

/// The address of a socket that listens for TCP connections.
fn listening_at(socket: &OwnedFd) -> Option<SocketAddr> {
    let socket = SockRef::from(socket);
    let listens = socket.is_listener().unwrap_or_default();
    socket.local_addr().ok().filter(|_| listens)?.as_socket()
}

fn keys(bytes: &[u8]) -> Vec<Secret> {
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    ticket_keys::parse(text).unwrap_or_default()
}
