//! A connection to NATS that nobody waits for: messages are dropped and counted where it is lost or
//! slow, and it is made again for ever.

use crate::access::{Access, User};
use crate::refused::Refused;
use async_nats::connection::State;
use async_nats::jetstream::{Context, context::ContextBuilder};
use async_nats::{Client, ConnectOptions, Event};
use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _};
use percent_encoding::percent_decode_str;
use rustls::{ClientConfig, RootCertStore};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

/// Longest time to connect, and to have an answer of the server.
pub const DEADLINE: Duration = Duration::from_secs(1);
/// After three of these without an answer the connection counts as lost.
const PING: Duration = Duration::from_millis(500);
/// Pauses between attempts to connect grow by this, up to [`SLOWEST`] of them.
const PAUSE: Duration = Duration::from_millis(100);
const SLOWEST: usize = 5;
/// What a failed connection by TLS may mean.
const UNTRUSTED: &str = ", or its certificate is not of an authority that is trusted here";
/// Messages that wait to be sent.
const SENDING: usize = 256;

/// Why a connection cannot be used, or a bucket.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operator's settings cannot be used.
    #[error("NATS cannot be used: {0}")]
    Operator(String),
    /// The connection is lost, or the server did not answer.
    #[error("NATS does not answer: {0}")]
    Lost(String),
    /// What others stored or said cannot be opened.
    #[error("what the gates say is refused, since it is {0}: give the secret that they have")]
    Refused(Refused),
}

/// A connection to NATS. Clones share it.
#[derive(Clone)]
pub struct Connection {
    client: Client,
    jetstream: Context,
    state: Arc<Standing>,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("connected", &self.connected()).finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct Standing {
    lost: Mutex<Option<Instant>>,
    fault: Mutex<Option<String>>,
    unsent: AtomicU64,
    /// It is by TLS.
    tls: bool,
}

impl Connection {
    /// Begins to connect, as the client of this name. Answers come to subjects below `_INBOX.` and
    /// the name of the fleet. That no server can be reached is no error.
    ///
    /// # Errors
    /// [`Error::Operator`]: the servers, the user or the certificates cannot be used.
    pub async fn connect(access: &Access, fleet: &str, name: &str) -> Result<Self, Error> {
        let operator = |error: String| Error::Operator(error);
        let state = Arc::new(Standing { tls: access.uses_tls(), ..Standing::default() });
        *lock(&state.lost) = Some(Instant::now());
        let events = state.clone();
        let mut options = ConnectOptions::new()
            .name(format!("tidegate {name}"))
            .custom_inbox_prefix(format!("_INBOX.{fleet}"))
            .retry_on_initial_connect()
            .max_reconnects(None)
            .ignore_discovered_servers()
            .connection_timeout(DEADLINE)
            .request_timeout(Some(DEADLINE))
            .ping_interval(PING)
            .client_capacity(SENDING)
            .reconnect_delay_callback(|attempts| PAUSE * attempts.clamp(1, SLOWEST) as u32)
            .event_callback(move |event| {
                events.note(&event);
                std::future::ready(())
            })
            .tls_client_config(tls(access)?);
        options = options.require_tls(access.authorities.is_some());
        options = match &access.user {
            User::Credentials(text) => {
                options.credentials(text).map_err(|error| operator(error.to_string()))?
            }
            User::Nkey(seed) => options.nkey(seed.to_string()),
            User::OfUrl => match access.servers.first() {
                Some(url) if url.password().is_some() => options.user_and_password(
                    decoded(url.username()),
                    decoded(url.password().unwrap_or_default()),
                ),
                Some(url) if !url.username().is_empty() => options.token(decoded(url.username())),
                _ => options,
            },
        };
        let servers: Vec<&str> = access.servers.iter().map(url::Url::as_str).collect();
        let client = options.connect(servers).await.map_err(|error| operator(error.to_string()))?;
        let jetstream =
            ContextBuilder::new().timeout(DEADLINE).ack_timeout(DEADLINE).build(client.clone());
        Ok(Self { client, jetstream, state })
    }

    /// Whether a server answers.
    pub fn connected(&self) -> bool {
        self.client.connection_state() == State::Connected
    }

    /// Since when none does; `None` while one does.
    pub fn lost_since(&self) -> Option<Instant> {
        *lock(&self.state.lost)
    }

    /// Why, or what the server refused last: for people.
    pub fn fault(&self) -> Option<String> {
        let fault = lock(&self.state.fault).clone()?;
        // The library does not say more of a failed TLS handshake.
        let may_be_tls = self.state.tls && fault.contains("IO error");
        Some(fault + if may_be_tls { UNTRUSTED } else { "" })
    }

    /// Messages that were not sent, because the connection was lost or slow.
    pub fn unsent(&self) -> u64 {
        self.state.unsent.load(Relaxed)
    }

    /// Sends a message, and never waits. Whether it is on its way; otherwise it is dropped and
    /// counted: a message that waits for the connection would be old.
    pub fn publish(&self, subject: &str, message: Vec<u8>) -> bool {
        let sent = self.connected()
            && self
                .client
                .publish(subject.to_owned(), message.into())
                .now_or_never()
                .is_some_and(|sent| sent.is_ok());
        if !sent {
            self.state.unsent.fetch_add(1, Relaxed);
        }
        sent
    }

    /// Receives the messages of a subject, also after the connection was made again. At most `most`
    /// wait to be read; the oldest is dropped then.
    ///
    /// # Errors
    /// [`Error::Operator`]: the subject is none. [`Error::Lost`]: too much waits to be sent.
    pub async fn subscribe(&self, subject: &str, most: usize) -> Result<Subscription, Error> {
        let subscribed = tokio::time::timeout(DEADLINE, self.client.subscribe(subject.to_owned()));
        let mut messages = match subscribed.await {
            Ok(Ok(messages)) => messages,
            Ok(Err(error)) => return Err(Error::Operator(error.to_string())),
            Err(_) => return Err(Error::Lost("no answer in time".into())),
        };
        let queue = Arc::new(Queue { most, ..Queue::default() });
        let filled = queue.clone();
        let task = tokio::spawn(async move {
            while let Some(message) = messages.next().await {
                filled.push(Message {
                    subject: message.subject.to_string(),
                    payload: message.payload,
                });
            }
        });
        Ok(Subscription { queue, task: task.abort_handle() })
    }

    pub(crate) fn jetstream(&self) -> &Context {
        &self.jetstream
    }
}

impl Standing {
    fn note(&self, event: &Event) {
        match event {
            Event::Connected => {
                *lock(&self.lost) = None;
                *lock(&self.fault) = None;
            }
            Event::Disconnected | Event::Closed => {
                lock(&self.lost).get_or_insert_with(Instant::now);
            }
            Event::ServerError(error) => *lock(&self.fault) = Some(error.to_string()),
            Event::ClientError(error) => *lock(&self.fault) = Some(error.to_string()),
            _ => {}
        }
        // Each attempt to connect would be a line of the log.
        tracing::debug!(%event, "NATS");
    }
}

/// TLS by the authorities of the operator, or those of the system.
fn tls(access: &Access) -> Result<ClientConfig, Error> {
    let mut roots = RootCertStore::empty();
    match &access.authorities {
        Some(authorities) => {
            roots.add_parsable_certificates(authorities.iter().cloned());
        }
        None if access.uses_tls() => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        None => {}
    }
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    Ok(ClientConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::Operator(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth())
}

/// A part of a URL without its escapes.
fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A message as it came: see [`Opener`](crate::Opener).
#[derive(Clone, Debug)]
pub struct Message {
    /// Its subject.
    pub subject: String,
    /// Its bytes.
    pub payload: Bytes,
}

/// The messages of a subject, until it is dropped.
#[derive(Debug)]
pub struct Subscription {
    queue: Arc<Queue>,
    task: AbortHandle,
}

impl Subscription {
    /// The oldest message that waits, or the next one. May be dropped and called again.
    pub async fn next(&mut self) -> Message {
        loop {
            let woken = self.queue.woken.notified();
            if let Some(message) = lock(&self.queue.waiting).pop_front() {
                return message;
            }
            woken.await;
        }
    }

    /// Messages that were dropped since nobody read them.
    pub fn dropped(&self) -> u64 {
        self.queue.dropped.load(Relaxed)
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[derive(Debug, Default)]
struct Queue {
    waiting: Mutex<VecDeque<Message>>,
    woken: Notify,
    dropped: AtomicU64,
    most: usize,
}

impl Queue {
    fn push(&self, message: Message) {
        let mut waiting = lock(&self.waiting);
        if waiting.len() >= self.most.max(1) {
            waiting.pop_front();
            self.dropped.fetch_add(1, Relaxed);
        }
        waiting.push_back(message);
        drop(waiting);
        self.woken.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_that_nobody_reads_drops_the_oldest_and_counts() {
        let queue = Queue { most: 2, ..Queue::default() };
        for number in 0..5_u8 {
            let payload = Bytes::from(vec![number]);
            queue.push(Message { subject: String::new(), payload });
        }
        let left: Vec<u8> = lock(&queue.waiting).iter().map(|message| message.payload[0]).collect();
        assert_eq!((left, queue.dropped.load(Relaxed)), (vec![3, 4], 3));
    }
}
