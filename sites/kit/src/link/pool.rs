//! Connections that wait for their next call.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::SendRequest;

/// Most idle connections to one server from one core.
const MOST: usize = 64;
/// How long a connection may be idle: shorter than a server keeps it open.
const LONGEST: Duration = Duration::from_secs(60);

/// An open connection.
pub(super) struct Open {
    pub(super) sender: SendRequest<Full<Bytes>>,
    /// The server's address, as sealed messages name it.
    pub(super) to: String,
}

/// Idle connections to one server.
#[derive(Default)]
pub(super) struct Pool(Mutex<Vec<(Open, Instant)>>);

impl Pool {
    /// The connection that was used last, if one is open still.
    pub(super) fn take(&self, now: Instant) -> Option<Open> {
        let mut idle = self.0.lock().expect("no panic under this lock");
        // All before one that has been idle for too long have been so for longer.
        if let Some(at) = idle.iter().rposition(|(_, since)| now - *since > LONGEST) {
            idle.drain(..=at);
        }
        while let Some((open, _)) = idle.pop() {
            if !open.sender.is_closed() {
                return Some(open);
            }
        }
        None
    }

    /// Keeps a connection for the next call.
    pub(super) fn put(&self, open: Open, now: Instant) {
        let mut idle = self.0.lock().expect("no panic under this lock");
        if idle.len() < MOST {
            idle.push((open, now));
        }
    }

    /// Closes all: the server was restarted, or is gone.
    pub(super) fn clear(&self) {
        self.0.lock().expect("no panic under this lock").clear();
    }
}
