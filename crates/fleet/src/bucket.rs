//! A key-value bucket of JetStream, made by the first write.

use crate::connection::{Connection, DEADLINE, Error};
use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::{GetStreamError, GetStreamErrorKind, KeyValueError};
use async_nats::jetstream::kv::{Config, Operation, Store, UpdateErrorKind};
use bytes::Bytes;
use tokio::sync::Mutex;

const REMEDY: &str = "nats-server needs --jetstream, and the user the rights of a gate \
                      (deploy/nats/server.conf)";
/// Most bytes that a bucket stores: values are few and small.
const MOST_STORED: i64 = 16 << 20;

/// A bucket.
#[derive(Debug)]
pub struct Bucket {
    connection: Connection,
    name: String,
    replicas: usize,
    store: Mutex<Option<Store>>,
}

/// The value of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The bytes; empty if it was deleted.
    pub value: Bytes,
    /// Grows with each change of the bucket.
    pub revision: u64,
}

impl Bucket {
    /// The bucket of this name, stored by so many servers if it must be made.
    pub fn new(connection: Connection, name: String, replicas: usize) -> Self {
        Self { connection, name, replicas, store: Mutex::default() }
    }

    /// The value of a key; `None` if it was never written, or there is no bucket.
    ///
    /// # Errors
    /// NATS does not answer within [`DEADLINE`] for each step.
    pub async fn get(&self, key: &str) -> Result<Option<Entry>, Error> {
        let read = async {
            let Some(store) = self.store(false).await? else { return Ok(None) };
            match store.entry(key).await {
                Ok(entry) => Ok(entry.map(|entry| Entry {
                    value: if entry.operation == Operation::Put {
                        entry.value
                    } else {
                        Bytes::new()
                    },
                    revision: entry.revision,
                })),
                Err(error) => Err(self.lost(causes(&error)).await),
            }
        };
        self.in_time(read).await
    }

    /// Writes a value if the key's revision is still this one, 0 for a key that was never written.
    /// Returns the new revision; `None` if it is another.
    ///
    /// # Errors
    /// NATS does not answer within [`DEADLINE`] for each step: whether it was written is not known.
    pub async fn put(
        &self,
        key: &str,
        value: Vec<u8>,
        revision: u64,
    ) -> Result<Option<u64>, Error> {
        let write = async {
            let Some(store) = self.store(true).await? else { return Ok(None) };
            match store.update(key, value.into(), revision).await {
                Ok(revision) => Ok(Some(revision)),
                Err(error) if error.kind() == UpdateErrorKind::WrongLastRevision => Ok(None),
                Err(error) => Err(self.lost(causes(&error)).await),
            }
        };
        self.in_time(write).await
    }

    async fn in_time<T>(&self, step: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        // The bucket may have to be found and made before.
        match tokio::time::timeout(DEADLINE * 3, step).await {
            Ok(done) => done,
            Err(_) => Err(Error::Lost("no answer in time".into())),
        }
    }

    /// The bucket may be gone with the server's disk: it is looked for again.
    async fn lost(&self, why: String) -> Error {
        *self.store.lock().await = None;
        Error::Lost(format!("bucket {}: {why}", self.name))
    }

    /// The bucket; `None` if it is not there and is not to be made.
    async fn store(&self, make: bool) -> Result<Option<Store>, Error> {
        if !self.connection.connected() {
            return Err(Error::Lost("not connected".into()));
        }
        let mut kept = self.store.lock().await;
        if let Some(store) = &*kept {
            return Ok(Some(store.clone()));
        }
        let lost = |why: String| Error::Lost(format!("bucket {}: {why}; {REMEDY}", self.name));
        let context = self.connection.jetstream();
        let store = match context.get_key_value(&self.name).await {
            Ok(store) => store,
            Err(error) if !is_missing(&error) => return Err(lost(causes(&error))),
            Err(_) if !make => return Ok(None),
            Err(_) => {
                let made = context.create_key_value(self.config()).await;
                made.map_err(|error| lost(causes(&error)))?
            }
        };
        Ok(Some(kept.insert(store).clone()))
    }

    fn config(&self) -> Config {
        Config {
            bucket: self.name.clone(),
            history: 1,
            max_value_size: crate::MOST_BYTES as i32,
            max_bytes: MOST_STORED,
            num_replicas: self.replicas,
            ..Config::default()
        }
    }
}

/// Whether there is no such bucket.
fn is_missing(error: &KeyValueError) -> bool {
    let source = std::error::Error::source(error);
    match source.and_then(|source| source.downcast_ref::<GetStreamError>()).map(|it| it.kind()) {
        Some(GetStreamErrorKind::JetStream(error)) => {
            error.error_code() == ErrorCode::STREAM_NOT_FOUND
        }
        _ => false,
    }
}

fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}
