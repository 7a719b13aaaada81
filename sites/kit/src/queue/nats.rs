//! Hands the entries of a queue out through NATS JetStream, to the workers of any process.
//!
//! The table stays the outbox. A relay publishes the number of each entry that is due, under a
//! message id by which JetStream drops what comes twice. A worker claims the entry by its number,
//! does it, stores how that ended, and only then acknowledges the message. So a message that
//! comes twice, or for an entry that is done, does nothing; and an entry whose message is lost
//! with the server's disk is published again after [`REPUBLISHED`]. A queue that is full or gone
//! leaves the entries where they are.

use std::error::Error as _;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, pull};
use async_nats::jetstream::context::{ContextBuilder, PublishError, PublishErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{self, DiscardPolicy, RetentionPolicy};
use async_nats::jetstream::{AckKind, Context, ErrorCode, Message};
use async_nats::{Client, ConnectOptions};
use futures_util::Stream as _;
use percent_encoding::percent_decode_str;
use rustls::{ClientConfig, RootCertStore};
use tokio::task::JoinSet;
use tokio::time::sleep;
use url::Url;

use super::task::{claim_due, now, perform};
use super::{Entry, Health, Settings, Task, Trouble, Worker, work_off};
use crate::error::causes;
use crate::when::ms;
use crate::{Error, Result, log_once};

/// Entries that are being published at once.
const PUBLISHED_AT_ONCE: usize = 64;
/// After so long an entry that was claimed to be published is published by somebody else.
const CLAIMED: Duration = Duration::from_secs(10);
/// How long JetStream remembers message ids.
const REMEMBERED: Duration = Duration::from_secs(50);
/// After so long an entry that is not done is published again: longer than its id is remembered.
const REPUBLISHED: Duration = Duration::from_secs(60);
/// How long an answer of the server is awaited.
const DEADLINE: Duration = Duration::from_secs(3);
/// The server says as often as this that it is there.
const HEARTBEAT: Duration = Duration::from_secs(2);
/// Pause before the server is tried again.
const PAUSE: Duration = Duration::from_millis(500);
/// Pauses between attempts to connect grow to so many of these.
const SLOWEST: usize = 8;
/// How often an entry is claimed that changes at the same moment.
const CLAIMS: u32 = 3;
/// Most digits of an entry's number.
const LONGEST_NUMBER: usize = 19;

/// A connection to NATS, and the stream of one database. It belongs to the runtime that made it,
/// and connects again whenever it is lost.
#[derive(Clone, Debug)]
pub struct Nats {
    context: Context,
    place: String,
    stream: String,
    most: i64,
}

impl Nats {
    /// Begins to connect to the server at this URL. The stream has the name of the site and an
    /// `id` that is its database's own, both of letters, digits, `-` and `_`; it holds at most
    /// `most` messages.
    ///
    /// # Errors
    /// The URL cannot be used: an error for the operator. That the server is gone is none.
    pub async fn connect(url: &Url, site: &str, id: &str, most: i64) -> Result<Self> {
        let place = super::Place::Nats(url.clone()).to_string();
        let mut options = ConnectOptions::new()
            .name(format!("tidegate {site}"))
            .retry_on_initial_connect()
            .reconnect_delay_callback(|attempts| PAUSE * attempts.clamp(1, SLOWEST) as u32)
            // By default each attempt to connect would be a line of the log.
            .event_callback(|event| async move { tracing::debug!(%event, "NATS") })
            .tls_client_config(tls()?);
        if let Some(password) = url.password() {
            options = options.user_and_password(decoded(url.username()), decoded(password));
        } else if !url.username().is_empty() {
            options = options.token(decoded(url.username()));
        }
        let client: Client = options.connect(url.as_str()).await.map_err(|error| {
            Error::Operator(format!("--queue {place}: cannot be used: {error}"))
        })?;
        let context = ContextBuilder::new().timeout(DEADLINE).ack_timeout(DEADLINE).build(client);
        Ok(Self { context, place, stream: format!("{site}-{id}"), most })
    }

    fn subject(&self, task: &str) -> String {
        format!("{}.{task}", self.stream)
    }

    /// Makes the stream, or sets what it holds.
    async fn stream(&self) -> Result<(), String> {
        let config = stream::Config {
            name: self.stream.clone(),
            subjects: vec![self.subject("*")],
            retention: RetentionPolicy::WorkQueue,
            discard: DiscardPolicy::New,
            max_messages: self.most,
            duplicate_window: REMEMBERED,
            ..stream::Config::default()
        };
        let made = self.context.create_or_update_stream(config).await;
        made.map(drop).map_err(|error| error.to_string())
    }

    /// The messages of a task.
    async fn messages(&self, task: &str, settings: Settings) -> Result<pull::Stream, String> {
        self.stream().await?;
        let config = pull::Config {
            durable_name: Some(task.to_owned()),
            ack_policy: AckPolicy::Explicit,
            ack_wait: settings.claim,
            filter_subject: self.subject(task),
            // No worker holds more than it works on.
            max_ack_pending: i64::try_from(settings.at_once).unwrap_or(1),
            ..pull::Config::default()
        };
        let consumer = self.context.create_consumer_on_stream(config, &self.stream).await;
        let consumer = consumer.map_err(|error| error.to_string())?;
        let messages = consumer
            .stream()
            .max_messages_per_batch(settings.at_once)
            .heartbeat(HEARTBEAT)
            .messages();
        messages.await.map_err(|error| error.to_string())
    }

    /// Publishes an entry of a task. Whether the same was published before makes no difference.
    async fn publish<T>(&self, task: &str, entry: &Entry<T>) -> Result<(), (Trouble, String)> {
        match self.try_publish(task, entry).await {
            Err(error) if error.kind() == PublishErrorKind::StreamNotFound => {
                // It has lost its data, or this is the first entry.
                self.stream().await.map_err(|why| (Trouble::Gone, why))?;
                self.try_publish(task, entry).await
            }
            published => published,
        }
        .map_err(|error| {
            let refused = error
                .source()
                .and_then(|source| source.downcast_ref::<async_nats::jetstream::Error>())
                .is_some_and(|error| error.error_code() == ErrorCode::STREAM_STORE_FAILED);
            (if refused { Trouble::Full } else { Trouble::Gone }, causes(&error))
        })
    }

    async fn try_publish<T>(&self, task: &str, entry: &Entry<T>) -> Result<(), PublishError> {
        let message = PublishMessage::build()
            // An entry that has failed is to come again.
            .message_id(format!("{task}-{}-{}", entry.id, entry.attempts))
            .payload(entry.id.to_string().into());
        self.context.send_publish(self.subject(task), message).await?.await.map(drop)
    }

    fn log(&self, trouble: Trouble, why: &str) {
        let cause = format!("queue {} is {}: {why}", self.place, trouble.name());
        log_once!(warn by &cause, cause, "entries wait in the database");
    }
}

/// A part of a URL without its escapes.
fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// TLS with the certificates of the system, where the URL is `tls://`.
fn tls() -> Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    Ok(ClientConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::Internal(format!("TLS: {error}")))?
        .with_root_certificates(roots)
        .with_no_client_auth())
}

/// Publishes what is due and does what comes, until it is dropped.
pub(super) async fn run<T: Task>(task: T, settings: Settings, nats: Nats, health: Arc<Health>) {
    let relay = Relay { task: task.clone(), nats: nats.clone(), health: Arc::clone(&health) };
    tokio::join!(work_off(relay, PUBLISHED_AT_ONCE), receive(task, settings, nats, health));
}

/// Publishes entries that are due.
#[derive(Clone)]
struct Relay<T> {
    task: T,
    nats: Nats,
    health: Arc<Health>,
}

impl<T: Task> Worker for Relay<T> {
    type Entry = Entry<T::Content>;

    fn number(entry: &Self::Entry) -> i64 {
        entry.id
    }

    async fn due(&mut self, free: usize) -> Vec<Self::Entry> {
        let due = claim_due(&self.task, free, ms(CLAIMED)).await;
        if due.is_empty() && free > 0 {
            // Nothing waits to be published, whoever has done it.
            self.health.succeeded();
        }
        due
    }

    async fn work(&self, entry: Self::Entry) {
        let published = self.nats.publish(T::NAME, &entry).await;
        let again = match published {
            Ok(()) => {
                self.health.succeeded();
                REPUBLISHED
            }
            Err((trouble, why)) => {
                self.health.failed(trouble);
                self.nats.log(trouble, &why);
                PAUSE
            }
        };
        let until = now() + ms(again);
        let stored = T::QUEUE.put_off(self.task.database(), &entry, until).await;
        if let Err(error) = stored {
            log_once!(warn by &error.to_string(), %error, "an entry is published again");
        }
    }

    fn woken(&self) -> impl Future<Output = ()> + Send {
        self.task.woken()
    }
}

/// Does what comes.
async fn receive<T: Task>(task: T, settings: Settings, nats: Nats, health: Arc<Health>) {
    loop {
        let ended = match nats.messages(T::NAME, settings).await {
            Ok(messages) => {
                health.succeeded();
                work_on(&task, messages, settings).await
            }
            Err(why) => why,
        };
        health.failed(Trouble::Gone);
        nats.log(Trouble::Gone, &ended);
        sleep(PAUSE).await;
    }
}

/// Works on messages until their stream ends: why it did.
async fn work_on<T: Task>(task: &T, messages: pull::Stream, settings: Settings) -> String {
    let mut messages = pin!(messages);
    let mut under_way = JoinSet::new();
    loop {
        let free = under_way.len() < settings.at_once;
        let next = poll_fn(|context| messages.as_mut().poll_next(context));
        tokio::select! {
            message = next, if free => match message {
                Some(Ok(message)) => {
                    let task = task.clone();
                    under_way.spawn(async move { take(&task, &message, settings).await });
                }
                Some(Err(error)) => break causes(&error),
                None => break "its messages have ended".into(),
            },
            Some(_) = under_way.join_next() => {}
        }
    }
}

/// Does the entry that a message names, and answers the message.
async fn take<T: Task>(task: &T, message: &Message, settings: Settings) {
    let kind = match number(&message.payload) {
        // Not a message of ours.
        None => AckKind::Term,
        Some(number) => match claim(task, number, ms(settings.claim)).await {
            Claimed::Entry(entry) if perform(task, &entry).await => AckKind::Ack,
            Claimed::Entry(_) | Claimed::Busy => AckKind::Nak(Some(PAUSE)),
            Claimed::Over => AckKind::Ack,
        },
    };
    if let Err(error) = message.ack_with(kind).await {
        // It comes again, and finds its entry done.
        tracing::debug!(%error, "a message could not be answered");
    }
}

fn number(payload: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(payload.get(..payload.len().min(LONGEST_NUMBER + 1))?).ok()?;
    text.parse().ok()
}

enum Claimed<T> {
    Entry(Entry<T>),
    /// It is done or given up.
    Over,
    /// Somebody has just changed it, or the database failed.
    Busy,
}

async fn claim<T: Task>(task: &T, number: i64, claim_ms: i64) -> Claimed<T::Content> {
    for _ in 0..CLAIMS {
        match try_claim(task, number, claim_ms).await {
            Ok(Claimed::Busy) => {}
            Ok(claimed) => return claimed,
            Err(error) => {
                log_once!(warn by &error.to_string(), %error, "a queue cannot be read");
                break;
            }
        }
    }
    Claimed::Busy
}

async fn try_claim<T: Task>(task: &T, number: i64, claim_ms: i64) -> Result<Claimed<T::Content>> {
    let (database, values) = (task.database(), [number.into()]);
    let mut claimed = T::QUEUE.claim(database, T::ENTRY, &values, now() + claim_ms).await?;
    if let Some(entry) = claimed.pop() {
        return Ok(Claimed::Entry(entry));
    }
    // It is over, or the relay has put it off at this moment.
    let found: Option<Entry<T::Content>> = database.first(T::ENTRY, &values).await?;
    Ok(if found.is_some() { Claimed::Busy } else { Claimed::Over })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_name_entries() {
        assert_eq!(number(b"17"), Some(17));
        assert_eq!(number(i64::MAX.to_string().as_bytes()), Some(i64::MAX));
        for other in [&b""[..], b"x", b"1 ", b"\xff", b"99999999999999999999", &[b'1'; 4096]] {
            assert_eq!(number(other), None);
        }
    }
}
