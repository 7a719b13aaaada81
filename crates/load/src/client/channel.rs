//! Connections that stay open for messages: WebSockets, and streams of events. Over HTTP/1.1.
//!
//! Source: RFC 6455 for WebSockets; WHATWG HTML, section 9.2, for streams of events.

use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::{FutureExt as _, SinkExt as _, StreamExt as _};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

use super::connections::Close;
use super::event_stream::{data_of, split_event};
use super::http::body::{Body, KEPT};
use super::http::coding::Coding;
use super::http::exchange::{Answer, LARGEST_HEAD, failure};
use super::http::head::Head;
use super::transport::Transport;
use crate::outcome::{Failure, Stage};
use crate::scenario::page::ChannelKind;

/// Largest message that is received, in bytes.
const LARGEST_MESSAGE: usize = 16 << 20;
/// Buffer for reading: thousands of channels may be open.
const READ: usize = 4096;
/// Follows the key in what the server hashes.
const SUFFIX: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// An open WebSocket or stream of events. Dropping it resets the connection.
pub(crate) enum Channel {
    WebSocket(Box<WebSocketStream<Wire>>),
    Events(Box<Events>),
}

/// A new channel, or the answer that refused it.
pub(crate) struct Opened {
    pub(crate) answer: Answer,
    pub(crate) channel: Option<Channel>,
    /// The head of the answer.
    pub(crate) head: Vec<u8>,
}

/// What a WebSocket's server must answer to a key.
fn accept(key: &str) -> String {
    STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, &[key.as_bytes(), SUFFIX].concat()))
}

impl Channel {
    /// Sends the request for a channel, which has this key if it asks for a WebSocket, and reads
    /// the head of the answer.
    ///
    /// # Errors
    /// There is no answer, or one that is of HTTP and does not fit.
    pub(crate) async fn open(
        kind: ChannelKind,
        transport: Transport,
        (bytes, key): (&[u8], &str),
        stage: &Cell<Stage>,
    ) -> Result<Opened, Failure> {
        let mut wire = Wire(transport);
        stage.set(Stage::FirstByte);
        let sent = Instant::now();
        wire.0.send(bytes).await.map_err(|error| failure(&error))?;
        let mut buffer = Vec::new();
        let wanted = ["sec-websocket-accept", "content-type"].map(str::to_owned);
        let (used, head) = loop {
            match Head::parse(&buffer, false, &wanted) {
                Ok(Some((used, head))) if head.status >= 200 || head.status == 101 => {
                    break (used, head);
                }
                Ok(Some((used, _))) => {
                    buffer.drain(..used);
                    continue;
                }
                Ok(None) if buffer.len() <= LARGEST_HEAD => {}
                Ok(None) | Err(()) => return Err(Failure::Http),
            }
            buffer.reserve(READ);
            if wire.read_buf(&mut buffer).await.map_err(|error| failure(&error))? == 0 {
                return Err(Failure::Closed);
            }
        };
        let came = Instant::now();
        let rest = buffer.split_off(used);
        let field = |name: &str| {
            let fields = head.fields.as_ref()?;
            let found = fields.headers.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.as_str())
        };
        let channel = match kind {
            ChannelKind::WebSocket if head.status == 101 => {
                if field("sec-websocket-accept") != Some(&*accept(key)) {
                    return Err(Failure::Http);
                }
                let config = WebSocketConfig::default()
                    .read_buffer_size(READ)
                    .write_buffer_size(0)
                    .max_message_size(Some(LARGEST_MESSAGE))
                    .max_frame_size(Some(LARGEST_MESSAGE));
                let role = Role::Client;
                let socket = WebSocketStream::from_partially_read(wire, rest, role, Some(config));
                Some(Self::WebSocket(Box::new(socket.await)))
            }
            ChannelKind::Events if head.status == 200 => {
                let is_stream = field("content-type")
                    .and_then(|value| value.split(';').next())
                    .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("text/event-stream"));
                if !is_stream {
                    return Err(Failure::NotOpened);
                }
                if head.coding != Coding::Identity {
                    return Err(Failure::Decoding);
                }
                let mut events = Events { wire, body: head.body, text: Vec::new() };
                events.take(&rest)?;
                Some(Self::Events(Box::new(events)))
            }
            _ if head.status == 101 => return Err(Failure::Http),
            // The failure of a status from 400 is named by it.
            _ if head.status < 400 => return Err(Failure::NotOpened),
            _ => None,
        };
        let answer = Answer {
            status: head.status,
            reusable: false,
            coding: Coding::Identity,
            fields: head.fields,
            sent,
            first_byte: came,
            last_byte: came,
            received_bytes: (used + rest_length(&channel)) as u64,
        };
        Ok(Opened { answer, channel, head: buffer })
    }

    /// Sends a message of text.
    ///
    /// # Errors
    /// The connection broke, or it is a stream of events.
    pub(crate) async fn send(&mut self, text: String) -> Result<(), Failure> {
        match self {
            Self::WebSocket(socket) => {
                socket.send(Message::text(text)).await.map_err(|error| failure_of(&error))
            }
            Self::Events(_) => Err(Failure::NotOpened),
        }
    }

    /// The next message or event; pings are answered.
    ///
    /// # Errors
    /// The channel ended.
    pub(crate) async fn receive(&mut self) -> Result<Vec<u8>, Failure> {
        match self {
            Self::WebSocket(socket) => loop {
                match socket.next().await {
                    Some(Ok(Message::Text(text))) => return Ok(text.as_bytes().to_vec()),
                    Some(Ok(Message::Binary(bytes))) => return Ok(bytes.to_vec()),
                    Some(Ok(Message::Close(_))) | None => return Err(Failure::Closed),
                    Some(Ok(_)) => {}
                    Some(Err(error)) => return Err(failure_of(&error)),
                }
            },
            Self::Events(events) => events.next().await,
        }
    }

    /// Closes it, with a Close frame as far as the kernel takes it at once.
    pub(crate) fn finish(self, close: Close) {
        match self {
            Self::WebSocket(mut socket) => {
                let _ = WebSocketStream::close(&mut socket, None).now_or_never();
                socket.get_mut().0.finish(close);
            }
            Self::Events(mut events) => events.wire.0.finish(close),
        }
    }
}

/// Bytes of events that came with the head.
fn rest_length(channel: &Option<Channel>) -> usize {
    match channel {
        Some(Channel::Events(events)) => events.text.len(),
        _ => 0,
    }
}

fn failure_of(error: &Error) -> Failure {
    match error {
        Error::ConnectionClosed | Error::AlreadyClosed => Failure::Closed,
        Error::Io(error) => failure(error),
        _ => Failure::Http,
    }
}

/// A stream of events.
pub(crate) struct Events {
    wire: Wire,
    body: Body,
    /// Decoded bytes of events that are not over yet.
    text: Vec<u8>,
}

impl Events {
    /// The data of the next event; comments are passed over.
    async fn next(&mut self) -> Result<Vec<u8>, Failure> {
        loop {
            while let Some(event) = split_event(&mut self.text) {
                if let Some(data) = data_of(&event) {
                    return Ok(data);
                }
            }
            if self.text.len() >= KEPT {
                return Err(Failure::Http);
            }
            if self.body.is_done() {
                return Err(Failure::Closed);
            }
            let mut bytes = Vec::with_capacity(READ);
            if self.wire.read_buf(&mut bytes).await.map_err(|error| failure(&error))? == 0 {
                return Err(Failure::Closed);
            }
            self.take(&bytes)?;
        }
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.body.take(bytes, &mut Some(&mut self.text)).map(drop)
    }
}

/// A transport with the traits of the runtime.
pub(crate) struct Wire(Transport);

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.0.poll_read(cx, buf)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // `Channel::finish` closes as the plan says.
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_accepted_key_is_that_of_the_standard() {
        // RFC 6455, section 1.3.
        assert_eq!(accept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }
}
