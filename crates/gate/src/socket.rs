//! Sockets at the level where the kernel's own words matter: listening with
//! several cores on one port, accepting without a runtime, and closing by reset.

use crate::error::Error;
use socket2::{Domain, Protocol, SockAddr, SockRef, Socket, Type};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWrite};

/// How long a connection that is closed with a last word stays around for the
/// customer to hear it.
pub const LINGER: Duration = Duration::from_secs(2);

/// Seconds that the kernel keeps a connection on which nothing was sent from
/// the gate. Clients of TLS and HTTP speak first, so an accepted connection then
/// has its hello or request with it: one wake-up instead of two, and who only
/// connects costs the gate nothing.
const DEFER_ACCEPT_S: libc::c_int = 1;

/// Opens one listening socket per core on one port; port 0 takes a free one.
///
/// # Errors
/// The address cannot be listened on.
pub fn listen(address: SocketAddr, cores: usize, backlog: u32) -> Result<Vec<TcpListener>, Error> {
    let mut address = address;
    if address.port() != 0 {
        probe(address).map_err(|source| Error::Listen { address, source })?;
    }
    let mut listeners = Vec::with_capacity(cores);
    for _ in 0..cores {
        let opened = open(address, backlog);
        let listener = opened.map_err(|source| Error::Listen { address, source })?;
        if address.port() == 0 {
            let bound = listener.local_addr();
            address = bound.map_err(|source| Error::Listen { address, source })?;
        }
        listeners.push(listener);
    }
    Ok(listeners)
}

/// Sees whether anyone listens already. The kernel lets all processes of a user
/// share a port once they ask for sharing, as the cores of a gate do; but two
/// gates on one port are a mistake, and must be told.
fn probe(address: SocketAddr) -> io::Result<()> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())
}

fn open(address: SocketAddr, backlog: u32) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    if address.is_ipv6() {
        let _ = socket.set_only_v6(false);
    }
    // Accepted sockets inherit this.
    socket.set_tcp_nodelay(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
    let seconds = DEFER_ACCEPT_S;
    // SAFETY: the option's value is a live c_int of the given size. Failure is
    // harmless: connections are then accepted before they speak.
    unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_DEFER_ACCEPT,
            (&raw const seconds).cast(),
            size_of_val(&seconds) as libc::socklen_t,
        );
    }
    Ok(socket.into())
}

/// What customers of a listener speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// HTTP over TLS.
    Https,
    /// HTTP in clear.
    Http,
}

/// What `accept` brought.
pub struct Arrival {
    /// The connection, not blocking.
    pub socket: TcpStream,
    /// Who connected.
    pub peer: SocketAddr,
    /// What is spoken on it.
    pub scheme: Scheme,
}

/// Accepts one connection; `WouldBlock` if none waits.
///
/// # Errors
/// What the kernel said.
pub fn accept(listener: &TcpListener, scheme: Scheme) -> io::Result<Arrival> {
    let accept = |storage: *mut libc::sockaddr_storage, length: *mut libc::socklen_t| {
        let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: both places are valid for writing, as `try_init` gives them.
        match unsafe { libc::accept4(listener.as_raw_fd(), storage.cast(), length, flags) } {
            -1 => Err(io::Error::last_os_error()),
            // SAFETY: the kernel just gave this descriptor to us alone.
            fd => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        }
    };
    // SAFETY: on success the kernel has filled in the address and its length.
    let (fd, peer) = unsafe { SockAddr::try_init(|at, length| accept(at.cast(), length)) }?;
    let peer = peer.as_socket().unwrap_or_else(|| SocketAddr::from(([0, 0, 0, 0], 0)));
    Ok(Arrival { socket: fd.into(), peer, scheme })
}

/// Reads what has arrived; `WouldBlock` if nothing has.
///
/// # Errors
/// What the kernel said.
pub fn receive(socket: &TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
    io::Read::read(&mut &*socket, buffer)
}

/// Whether the peer has closed or reset, with nothing left to read before it.
pub fn has_ended(socket: &TcpStream) -> bool {
    match socket.peek(&mut [0]) {
        Ok(read) => read == 0,
        Err(error) => error.kind() != io::ErrorKind::WouldBlock,
    }
}

/// Closes by reset, so that nothing of the connection stays in the kernel.
pub fn reset(socket: TcpStream) {
    reset_on_close(&socket);
}

/// Lets the close that follows be a reset.
pub fn reset_on_close(socket: &impl AsFd) {
    let _ = SockRef::from(socket).set_linger(Some(Duration::ZERO));
}

/// Sends a few last bytes as far as the kernel takes them, and closes.
pub fn send_and_close(socket: TcpStream, bytes: &[u8]) {
    let _ = SockRef::from(&socket).send(bytes);
    // What was read no more would turn the close into a reset, and the reset
    // would overtake the last bytes.
    let mut rest = [MaybeUninit::uninit(); 4096];
    let _ = SockRef::from(&socket).shutdown(std::net::Shutdown::Write);
    let _ = SockRef::from(&socket).recv(&mut rest);
}

/// Bytes in several parts that are cheaper to copy than to have the kernel
/// gather: a head with a small page.
const COPIED: usize = 4096;

/// Writes what the kernel takes.
pub fn poll_write(
    socket: &mut tokio::net::TcpStream,
    cx: &mut Context<'_>,
    bufs: &[IoSlice<'_>],
) -> Poll<io::Result<usize>> {
    let socket = Pin::new(socket);
    let length: usize = bufs.iter().map(|buf| buf.len()).sum();
    match bufs {
        [buf] => socket.poll_write(cx, buf),
        bufs if length <= COPIED => {
            let mut copied = [0; COPIED];
            let mut end = 0;
            for buf in bufs {
                copied[end..end + buf.len()].copy_from_slice(buf);
                end += buf.len();
            }
            socket.poll_write(cx, &copied[..end])
        }
        bufs => socket.poll_write_vectored(cx, bufs),
    }
}

/// Reads and forgets until the peer closes, a megabyte at most.
pub async fn drain(socket: &mut tokio::net::TcpStream) {
    let mut scratch = [0; 4096];
    for _ in 0..256 {
        if !matches!(socket.read(&mut scratch).await, Ok(1..)) {
            return;
        }
    }
}
