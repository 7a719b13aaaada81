//! The upstream that all servers share: 1 KiB of text for every request, over
//! connections that stay open. It runs in the driver's thread, so that its
//! cost is not on the servers' core.

use std::cell::Cell;
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::spawn_local;

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
