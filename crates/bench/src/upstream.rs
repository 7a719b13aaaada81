//! The upstream that all servers share: 1 KiB of text for every request, over
//! connections that stay open. It runs on the driver's core, so that its cost is not on
//! that of the servers.

use std::cell::Cell;
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, spawn_local};

/// Bytes of the body.
pub const BODY: usize = 1024;

/// Counts of the upstream since it started.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Connections accepted: few if the server keeps them open.
    pub connections: u64,
    /// Requests answered.
    pub requests: u64,
}

/// A running upstream.
#[derive(Clone, Debug)]
pub struct Upstream {
    address: SocketAddr,
    seen: Rc<Cell<Counts>>,
}

impl Upstream {
    /// Starts it on a free port, in the current local task set.
    ///
    /// # Errors
    /// It cannot listen.
    pub async fn start() -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let upstream = Self { address: listener.local_addr()?, seen: Rc::default() };
        let seen = Rc::clone(&upstream.seen);
        spawn_local(async move {
            while let Ok((stream, _)) = listener.accept().await {
                count(&seen, |seen| seen.connections += 1);
                spawn_local(serve(stream, Rc::clone(&seen)));
            }
        });
        Ok(upstream)
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The counts so far.
    pub fn seen(&self) -> Counts {
        self.seen.get()
    }

    /// Keeps the upstream from sleeping until the value is dropped. On one machine a write
    /// to a sleeping peer wakes it, at the writer's cost: up to a fifth of a keep-alive
    /// request, and more often the faster the server is. Over a network no server has that
    /// cost.
    pub fn stay_awake() -> Awake {
        Awake(spawn_local(async {
            loop {
                tokio::task::yield_now().await;
                // Leaves the core to the driver's process.
                std::thread::yield_now();
            }
        }))
    }
}

/// While it lives the thread of the upstream does not sleep.
#[derive(Debug)]
pub struct Awake(JoinHandle<()>);

impl Drop for Awake {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn count(seen: &Cell<Counts>, change: impl FnOnce(&mut Counts)) {
    let mut now = seen.get();
    change(&mut now);
    seen.set(now);
}

/// Answers requests without a body, one after the other.
async fn serve(mut stream: TcpStream, seen: Rc<Cell<Counts>>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let response = response();
    let mut head = Vec::with_capacity(2048);
    while stream.read_buf(&mut head).await? > 0 {
        if head.ends_with(b"\r\n\r\n") {
            count(&seen, |seen| seen.requests += 1);
            stream.write_all(&response).await?;
            head.clear();
        } else if head.len() > 64 * 1024 {
            break;
        }
    }
    Ok(())
}

fn response() -> Vec<u8> {
    let head =
        format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {BODY}\r\n\r\n");
    let mut response = head.into_bytes();
    response.resize(response.len() + BODY, b'x');
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::task::LocalSet;

    #[tokio::test]
    async fn every_request_is_answered_whole_and_counted_once() {
        LocalSet::new()
            .run_until(async {
                let upstream = Upstream::start().await.unwrap();
                let mut stream = TcpStream::connect(upstream.address()).await.unwrap();
                let mut answer = vec![0; response().len()];
                for _ in 0..3 {
                    stream.write_all(b"GET /1k HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
                    stream.read_exact(&mut answer).await.unwrap();
                    assert!(answer.starts_with(b"HTTP/1.1 200 OK\r\n") && answer.ends_with(b"xx"));
                }
                let Counts { connections, requests } = upstream.seen();
                assert_eq!((connections, requests), (1, 3));
            })
            .await;
    }
}
