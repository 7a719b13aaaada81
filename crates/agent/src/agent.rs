//! The agent: answers the gate's queries.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::message::{Query, SIZE};
use crate::sampler::Sampler;
use crate::secret::Secret;

/// How soon a stop is noticed.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Most datagrams within a second; the others wait, or are dropped by the kernel. A hundred
/// gates ask as often, and as many forged ones take half a percent of a processor.
const MOST_PER_S: u32 = 1000;
/// Time between two lines of the log about datagrams that were refused.
const LOG_EVERY: Duration = Duration::from_secs(60);

/// The agent's socket.
#[derive(Debug)]
pub struct Agent {
    socket: UdpSocket,
    secret: Secret,
}

/// What an agent did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Queries that were answered.
    pub answered: u64,
    /// Datagrams that were not queries signed with the secret.
    pub refused: u64,
}

impl Agent {
    /// Opens the socket.
    ///
    /// # Errors
    /// The address is not of this host, or its port is in use.
    pub fn bind(address: impl ToSocketAddrs, secret: Secret) -> io::Result<Self> {
        let socket = UdpSocket::bind(address)?;
        socket.set_read_timeout(Some(LOOK_EVERY))?;
        Ok(Self { socket, secret })
    }

    /// The address that queries are sent to.
    ///
    /// # Errors
    /// The kernel does not tell it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Answers until `stop` is set.
    ///
    /// # Errors
    /// The socket no longer works.
    pub fn serve(&self, mut sampler: Sampler, stop: &AtomicBool) -> io::Result<Counts> {
        let mut counts = Counts::default();
        let mut second = (Instant::now(), 0);
        let mut log = RefusalLog::default();
        // One byte more, so that longer datagrams are not taken for cut ones.
        let mut datagram = [0; SIZE + 1];
        while !stop.load(Ordering::Relaxed) {
            let (length, from) = match self.socket.recv_from(&mut datagram) {
                Ok(received) => received,
                Err(error) if is_passing(&error) => continue,
                Err(error) => return Err(error),
            };
            match Query::read(&datagram[..length], &self.secret) {
                Some(query) => {
                    let answer = sampler.read().datagram(query, &self.secret);
                    // An answer that cannot be sent is as one that is lost.
                    let _ = self.socket.send_to(&answer, from);
                    counts.answered += 1;
                }
                None => {
                    counts.refused += 1;
                    log.add(from);
                }
            }
            second.1 += 1;
            let passed = second.0.elapsed();
            if passed >= Duration::from_secs(1) {
                second = (Instant::now(), 0);
            } else if second.1 >= MOST_PER_S {
                std::thread::sleep(Duration::from_secs(1) - passed);
            }
        }
        Ok(counts)
    }
}

/// Errors of one datagram: nothing came in time, or the kernel reports that an earlier answer
/// did not arrive.
fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{
        ConnectionRefused, ConnectionReset, HostUnreachable, Interrupted, NetworkUnreachable,
        TimedOut, WouldBlock,
    };
    matches!(
        error.kind(),
        WouldBlock
            | TimedOut
            | Interrupted
            | ConnectionRefused
            | ConnectionReset
            | HostUnreachable
            | NetworkUnreachable
    )
}

/// Reports refused datagrams, a line a minute at most.
#[derive(Debug, Default)]
struct RefusalLog {
    since: u64,
    written: Option<Instant>,
}

impl RefusalLog {
    fn add(&mut self, from: SocketAddr) {
        self.since += 1;
        if self.written.is_none_or(|at| at.elapsed() >= LOG_EVERY) {
            tracing::warn!(
                "{} datagrams were not queries signed with this secret, the last from {from}; \
                 gate and agent need the same secret",
                self.since
            );
            (self.since, self.written) = (0, Some(Instant::now()));
        }
    }
}
