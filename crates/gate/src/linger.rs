//! Lingering close: after the last bytes were sent, what the customer still sends is
//! read and discarded for a while. A socket that is closed with unread bytes is reset,
//! and the reset can overtake the answer (RFC 9112, section 9.6).

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep, timeout};

/// How long a closed connection stays for the customer to read the last bytes.
pub const LINGER: Duration = Duration::from_secs(2);
/// Bytes discarded at most: a longer upload does not react to the answer.
pub const BYTES: usize = 4 << 20;

/// The state of a lingering close.
pub struct Linger {
    until: Pin<Box<Sleep>>,
    left: usize,
}

impl Linger {
    /// Begins now.
    pub fn new() -> Self {
        Self { until: Box::pin(sleep(LINGER)), left: BYTES }
    }

    /// Ready when the customer has closed, or the time or the bytes are used up.
    pub fn poll(&mut self, socket: &mut TcpStream, cx: &mut Context<'_>) -> Poll<()> {
        let mut scratch = [0; 8192];
        while self.left > 0 && self.until.as_mut().poll(cx).is_pending() {
            let mut buf = ReadBuf::new(&mut scratch);
            match ready!(Pin::new(&mut *socket).poll_read(cx, &mut buf)) {
                Ok(()) if !buf.filled().is_empty() => {
                    self.left = self.left.saturating_sub(buf.filled().len());
                }
                _ => break,
            }
        }
        Poll::Ready(())
    }
}

/// Sends the last bytes and closes, lingering.
pub async fn send_and_close(mut socket: TcpStream, bytes: &[u8]) {
    let closed = timeout(LINGER, async {
        socket.write_all(bytes).await?;
        socket.shutdown().await?;
        let mut linger = Linger::new();
        poll_fn(|cx| linger.poll(&mut socket, cx)).await;
        std::io::Result::Ok(())
    });
    // The connection is closed whatever became of the bytes.
    let _ = closed.await;
}
