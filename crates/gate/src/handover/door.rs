//! The unix socket at which a gate waits for the process that takes its place.

use crate::error::Error;
use crate::handover::giver::Service;
use crate::handover::inherited::Inherited;
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use rustix::fs::Mode;
use socket2::{Domain, SockAddr, Socket, Type};
use std::io::{self, ErrorKind};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Pause after a failed accept.
const PAUSE: Duration = Duration::from_millis(100);
/// Processes that wait to be accepted; one at a time takes the gate's place.
const BACKLOG: libc::c_int = 8;

/// A socket at a path.
#[derive(Debug)]
pub struct Door {
    /// The socket. The gate that takes this one's place has it too.
    pub listener: Arc<UnixListener>,
    path: PathBuf,
}

impl Door {
    /// Takes the socket of the gate before, or makes one that only this user may use.
    ///
    /// # Errors
    /// Another gate has it, or it cannot be made.
    pub fn open(path: &Path, inherited: &mut Inherited) -> Result<Self, Error> {
        let open = inherited.door(path).map_or_else(|| bind(path), Ok);
        let failed = |error: io::Error| {
            Error::Handover(format!("listen.handover = {path:?}: {}", reason(&error)))
        };
        let listener = open.map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(Self { listener: Arc::new(listener), path: path.to_owned() })
    }

    /// Removes the path: no process waits there any more.
    pub fn remove(&self) {
        let _ = std::fs::remove_file(&self.path);
    }

    /// Hands the gate over to processes that ask for it, until dropped.
    pub async fn serve(&self, service: Service) {
        let listener = self.listener.try_clone().and_then(tokio::net::UnixListener::from_std);
        let listener = match listener {
            Ok(listener) => listener,
            Err(error) => return tracing::error!(%error, "listen.handover cannot be served"),
        };
        loop {
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream.into_std(),
                Err(error) => Err(error),
            };
            let service = service.clone();
            let given = match stream.and_then(|stream| own(&stream).map(|()| stream)) {
                Ok(stream) => tokio::task::spawn_blocking(move || give(&service, &stream)).await,
                Err(error) => {
                    tracing::warn!("nobody takes the gate's place: {error}");
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            if let Err(error) = given {
                tracing::error!("the gate stays in service: its handing over {error}");
            }
        }
    }
}

fn give(service: &Service, stream: &UnixStream) {
    let give = || {
        stream.set_nonblocking(false)?;
        // No service manager hears of it: it did not start the other process.
        Ok::<_, io::Error>(service.hand_over(stream, |_| {}))
    };
    match give() {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::error!("the gate stays in service: {error}"),
        Err(error) => tracing::error!("the gate stays in service: {error}"),
    }
}

/// Connects to the gate that is in service; `None` if there is none.
///
/// # Errors
/// It cannot be reached, or is another user's.
pub fn knock(path: &Path) -> Result<Option<UnixStream>, Error> {
    let failed = |error: io::Error| {
        Error::Handover(format!("listen.handover = {path:?}: {}", reason(&error)))
    };
    match UnixStream::connect(path) {
        Ok(stream) => own(&stream).map(|()| Some(stream)).map_err(failed),
        Err(error) if is_deserted(&error) => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

/// Checks that the other end is this user's, or root's.
fn own(stream: &UnixStream) -> io::Result<()> {
    let peer = getsockopt(stream, PeerCredentials)?.uid();
    if peer == rustix::process::geteuid().as_raw() || peer == 0 {
        return Ok(());
    }
    let why = format!("the other process is of user {peer}, not of this one");
    Err(io::Error::new(ErrorKind::PermissionDenied, why))
}

fn bind(path: &Path) -> io::Result<UnixListener> {
    match UnixStream::connect(path) {
        Ok(_) => return Err(ErrorKind::AddrInUse.into()),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => std::fs::remove_file(path)?,
        Err(_) => {}
    }
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    // Linux makes the file with this mode: only this user may connect, from the first moment.
    rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    socket.bind(&SockAddr::unix(path)?)?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

fn is_deserted(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::NotFound)
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::AddrInUse => "another gate is in service there; start this one with --replace \
                                 to take its place, or name another path"
            .into(),
        ErrorKind::NotFound => {
            "its folder does not exist; make it, writable by the gate's user".into()
        }
        ErrorKind::PermissionDenied => {
            format!(
                "this user may not use it ({error}); use a folder of the gate's user, such as /run/tidegate"
            )
        }
        _ => error.to_string(),
    }
}
