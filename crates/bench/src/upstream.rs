//! The upstream that all servers share: 1 KiB of text for every request, and the echo of every
//! message of a WebSocket, over connections that stay open. It runs on the driver's core, so that its cost is not on
//! that of the servers.

use std::cell::Cell;
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, spawn_local};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

/// Longest message whose length is one byte.
const SHORT: usize = 125;

/// Bytes of the body.
pub const BODY: usize = 1024;

/// Counts of the upstream since it started.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Connections accepted: few if the server keeps them open.
    pub connections: u64,
    /// Requests and messages answered.
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
            if let Some(key) = websocket_key(&head) {
                return echo(stream, &key, seen).await;
            }
            count(&seen, |seen| seen.requests += 1);
            stream.write_all(&response).await?;
            head.clear();
        } else if head.len() > 64 * 1024 {
            break;
        }
    }
    Ok(())
}

/// The key of a request that opens a WebSocket.
fn websocket_key(head: &[u8]) -> Option<String> {
    std::str::from_utf8(head).ok()?.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("sec-websocket-key").then(|| value.trim().to_owned())
    })
}

/// Sends every message back, after the 101. Messages are those of the driver: short, whole and
/// masked (RFC 6455, section 5.2).
async fn echo(mut stream: TcpStream, key: &str, seen: Rc<Cell<Counts>>) -> std::io::Result<()> {
    let accept = derive_accept_key(key.as_bytes());
    let head = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    let (mut received, mut answer) = (Vec::with_capacity(2048), Vec::with_capacity(2048));
    while stream.read_buf(&mut received).await? > 0 {
        while let &[kind, length, a, b, c, d, ref rest @ ..] = &received[..] {
            let length = usize::from(length & 0x7f);
            if length > SHORT {
                return Ok(());
            }
            let Some(masked) = rest.get(..length) else { break };
            answer.extend([kind, length as u8]);
            answer.extend(masked.iter().zip([a, b, c, d].iter().cycle()).map(|(x, m)| x ^ m));
            received.drain(..6 + length);
            count(&seen, |seen| seen.requests += 1);
        }
        stream.write_all(&answer).await?;
        answer.clear();
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

    #[tokio::test]
    async fn every_message_of_a_websocket_comes_back_unmasked_and_is_counted_once() {
        LocalSet::new()
            .run_until(async {
                let upstream = Upstream::start().await.unwrap();
                let mut stream = TcpStream::connect(upstream.address()).await.unwrap();
                // Key and answer are those of RFC 6455, section 1.3.
                let head =
                    b"GET /1k HTTP/1.1\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
                stream.write_all(head).await.unwrap();
                let mut answer = vec![0; 2048];
                let read = stream.read(&mut answer).await.unwrap();
                let answered = String::from_utf8_lossy(&answer[..read]);
                assert!(
                    answered.contains("Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"),
                    "{answered}"
                );
                // "Hello", as section 5.7 masks it, in two parts, and once more.
                let frame = b"\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58";
                for part in [&frame[..7], &[&frame[7..], &frame[..]].concat()] {
                    stream.write_all(part).await.unwrap();
                }
                let mut echoes = [0; 14];
                stream.read_exact(&mut echoes).await.unwrap();
                assert_eq!(&echoes, b"\x81\x05Hello\x81\x05Hello");
                assert_eq!(upstream.seen().requests, 2);
            })
            .await;
    }
}
