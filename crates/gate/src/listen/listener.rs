//! Listening with several cores on one port, and accepting without a runtime.

use crate::error::Error;
use crate::socket::{self, Arrival, Scheme};
use socket2::{Domain, Protocol, SockAddr, SockRef, Socket, Type};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use tidegate_trace::{Line, Phase};

/// Seconds for which the kernel does not report a connection on which nothing has
/// arrived. Clients of TLS and HTTP send first, so an accepted connection has its hello
/// or request with it: one wake-up instead of two, and a connection without data costs
/// the gate nothing.
const DEFER_ACCEPT_S: libc::c_int = 1;

/// Opens one listening socket per core on one port; port 0 chooses a free one. Those of an
/// IPv6 address take no IPv4 if `only_v6`, and else what the system has them take.
///
/// # Errors
/// The address cannot be listened on.
pub fn listen(
    address: SocketAddr,
    cores: usize,
    backlog: u32,
    only_v6: bool,
) -> Result<Vec<TcpListener>, Error> {
    let mut address = address;
    if address.port() != 0 {
        probe(address, only_v6).map_err(|source| Error::Listen { address, source })?;
    }
    let mut listeners = Vec::with_capacity(cores);
    for _ in 0..cores {
        let opened = open(address, backlog, only_v6);
        let listener = opened.map_err(|source| Error::Listen { address, source })?;
        if address.port() == 0 {
            let bound = listener.local_addr();
            address = bound.map_err(|source| Error::Listen { address, source })?;
        }
        listeners.push(listener);
    }
    Ok(listeners)
}

/// Fails if a process listens there already. The kernel lets all processes of a user
/// share a port with `SO_REUSEPORT`, as the cores of a gate do; but two gates on one
/// port are a mistake, which this reports.
fn probe(address: SocketAddr, only_v6: bool) -> io::Result<()> {
    unbound(address, only_v6)?.bind(&address.into())
}

fn unbound(address: SocketAddr, only_v6: bool) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    if only_v6 {
        socket.set_only_v6(true)?;
    }
    Ok(socket)
}

fn open(address: SocketAddr, backlog: u32, only_v6: bool) -> io::Result<TcpListener> {
    let socket = unbound(address, only_v6)?;
    socket.set_reuse_port(true)?;
    socket.bind(&address.into())?;
    let listener = socket.into();
    prepare(&listener, backlog)?;
    Ok(listener)
}

/// Opens another socket at the address of one, if both may share the port.
///
/// # Errors
/// They may not.
pub fn beside(listener: &TcpListener, backlog: u32) -> io::Result<TcpListener> {
    let socket = SockRef::from(listener);
    if !socket.reuse_port()? {
        return Err(io::ErrorKind::AddrInUse.into());
    }
    let address = listener.local_addr()?;
    open(address, backlog, address.is_ipv6() && socket.only_v6()?)
}

/// Makes a bound socket listen as the gate needs it; also one that listens already.
///
/// # Errors
/// The kernel's error.
pub fn prepare(listener: &TcpListener, backlog: u32) -> io::Result<()> {
    let socket = SockRef::from(listener);
    // Accepted sockets inherit this.
    socket.set_tcp_nodelay(true)?;
    socket.set_nonblocking(true)?;
    socket.listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
    let seconds = DEFER_ACCEPT_S;
    // SAFETY: the option's value is a live c_int of the given size. Failure is
    // harmless: connections are then accepted before their first bytes.
    unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_DEFER_ACCEPT,
            (&raw const seconds).cast(),
            size_of_val(&seconds) as libc::socklen_t,
        );
    }
    Ok(())
}

/// Accepts one connection; `WouldBlock` if there is none.
///
/// # Errors
/// The kernel's error.
pub fn accept(listener: &TcpListener, scheme: Scheme) -> io::Result<Arrival> {
    let accept = |storage: *mut libc::sockaddr_storage, length: *mut libc::socklen_t| {
        let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: both pointers are valid for writing, as `try_init` provides them.
        match unsafe { libc::accept4(listener.as_raw_fd(), storage.cast(), length, flags) } {
            -1 => Err(io::Error::last_os_error()),
            // SAFETY: the descriptor is new and has no other owner.
            fd => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        }
    };
    // SAFETY: on success the kernel has filled in the address and its length.
    let (fd, peer) = unsafe { SockAddr::try_init(|at, length| accept(at.cast(), length)) }?;
    let peer = peer.as_socket().unwrap_or_else(|| SocketAddr::from(([0, 0, 0, 0], 0)));
    let socket = TcpStream::from(fd);
    // The kernel passes a connection on when its first bytes are there.
    let line = Line::begin_ago(Phase::Accept, || socket::waited_unread(&socket));
    Ok(Arrival { socket, peer, scheme, line })
}
