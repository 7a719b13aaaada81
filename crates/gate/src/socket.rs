//! A customer's socket before it belongs to the runtime: reading without waiting,
//! closing by reset, and writing several buffers at once.

use socket2::{SockRef, TcpKeepalive};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tidegate_trace::{Line, Outcome, Phase};
use tokio::io::AsyncWrite;

/// The protocol of a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// HTTP over TLS.
    Https,
    /// Plain HTTP.
    Http,
}

/// An accepted connection.
pub struct Arrival {
    /// Its socket, not blocking.
    pub socket: TcpStream,
    /// The customer's address.
    pub peer: SocketAddr,
    /// The protocol of its listener.
    pub scheme: Scheme,
    /// What it is doing, where that is traced.
    pub line: Option<Box<Line>>,
}

impl Arrival {
    /// Another phase begins.
    pub fn enter(&mut self, phase: Phase) {
        if let Some(line) = &mut self.line {
            line.enter(phase);
        }
    }

    /// How it ends, unless a task takes it over.
    pub fn ends(&mut self, outcome: Outcome) {
        if let Some(line) = &mut self.line {
            line.ends(outcome);
        }
    }
}

/// How long ago the peer's last bytes arrived: what a new connection's first bytes have waited
/// to be read. Zero if the kernel does not tell.
///
/// Source: tcp(7), TCP_INFO, `tcpi_last_data_recv` in milliseconds.
pub fn waited_unread(socket: &impl AsRawFd) -> Duration {
    let info = tcp_info(socket);
    info.map_or(Duration::ZERO, |info| Duration::from_millis(info.tcpi_last_data_recv.into()))
}

/// How long ago the peer closed, of a connection that [has ended](has_ended) and was sent
/// nothing: the time since its last segment. Zero after a reset, which the kernel does not
/// date.
///
/// Source: tcp(7), TCP_INFO, `tcpi_last_ack_recv` in milliseconds.
pub fn silent_since_end(socket: &TcpStream) -> Duration {
    match (socket.peek(&mut [0]), tcp_info(socket)) {
        (Ok(0), Some(info)) => Duration::from_millis(info.tcpi_last_ack_recv.into()),
        _ => Duration::ZERO,
    }
}

/// What the kernel says of a connection.
fn tcp_info(socket: &impl AsRawFd) -> Option<libc::tcp_info> {
    // SAFETY: all fields are numbers, and 0 is a value of each.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = size_of_val(&info) as libc::socklen_t;
    // SAFETY: the descriptor is open as long as its owner is borrowed; the kernel writes at most
    // `length` bytes.
    let told = unsafe {
        let info = (&raw mut info).cast();
        libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, info, &mut length)
    };
    (told == 0).then_some(info)
}

/// Reads what has arrived; `WouldBlock` if nothing has.
///
/// # Errors
/// The kernel's error.
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

/// The bytes in the kernel's queue that the peer has not acknowledged, or on a unix socket not
/// read; 0 if the kernel does not tell.
///
/// Source: tcp(7), SIOCOUTQ, which has the number of TIOCOUTQ; Linux, `unix_ioctl`.
pub fn unacknowledged(socket: &impl AsRawFd) -> u64 {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the descriptor is open as long as its owner is borrowed, and the request
    // writes one c_int.
    let told = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    if told == 0 { u64::try_from(bytes).unwrap_or_default() } else { 0 }
}

/// Has the kernel ask the peer whether it is still there, once nothing has been exchanged
/// for a while: for a connection that may be silent for long. A peer that is not ends it
/// within a minute.
pub fn enable_keepalive(socket: &impl AsFd) {
    let keepalive = TcpKeepalive::new()
        .with_time(Duration::from_secs(30))
        .with_interval(Duration::from_secs(10))
        .with_retries(3);
    let _ = SockRef::from(socket).set_tcp_keepalive(&keepalive);
}

/// Closes by reset, so that nothing of the connection stays in the kernel.
pub fn reset(socket: TcpStream) {
    reset_on_close(&socket);
}

/// Makes the close that follows a reset.
pub fn reset_on_close(socket: &impl AsFd) {
    let _ = SockRef::from(socket).set_linger(Some(Duration::ZERO));
}

/// Sends a few last bytes as far as the kernel accepts them at once, and closes without
/// waiting: for refusals, which must cost little.
pub fn send_and_close(socket: TcpStream, bytes: &[u8]) {
    let _ = SockRef::from(&socket).send(bytes);
    // Bytes left unread would turn the close into a reset, and the reset could
    // overtake the last bytes.
    let mut rest = [MaybeUninit::uninit(); 4096];
    let _ = SockRef::from(&socket).shutdown(std::net::Shutdown::Write);
    let _ = SockRef::from(&socket).recv(&mut rest);
}

/// Up to this many bytes in several buffers cost less to copy than to have the kernel
/// gather: a head with a small page.
const COPIED: usize = 4096;

/// Writes as much as the kernel accepts.
pub fn poll_write(
    socket: &mut (impl AsyncWrite + Unpin),
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
