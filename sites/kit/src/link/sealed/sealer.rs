//! The client's end: seals requests, and opens their answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use aws_lc_rs::aead::{Aad, LessSafeKey};

use super::envelope::{Direction, Header, Id, Place, SENDER};
use super::keys::KeyRing;
use super::opener::DerivedKeys;
use crate::{Error, Result};

/// Seals the requests of one process.
pub struct Sealer {
    ring: Arc<KeyRing>,
    key: LessSafeKey,
    sender: [u8; SENDER],
    numbers: AtomicU64,
    /// Keys of the servers that have answered.
    servers: DerivedKeys,
}

impl Sealer {
    /// A sealer whose messages have the first key of the ring.
    ///
    /// # Errors
    /// There is no randomness.
    pub fn new(ring: Arc<KeyRing>) -> Result<Self> {
        let sender = sender()?;
        let key = ring.first().of_sender(&sender, Direction::Request);
        Ok(Self { ring, key, sender, numbers: AtomicU64::new(0), servers: DerivedKeys::default() })
    }

    /// Seals a request to this path at this address; its identity is for [`open`](Self::open).
    pub fn seal(&self, path: &str, to: &str, body: &[u8], now_ms: u64) -> (Vec<u8>, Id) {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let id = Id { sender: self.sender, number };
        let name = self.ring.first().name.as_bytes();
        let header = Header { key: name, id, time_ms: now_ms };
        let place = Place::Request { path, to };
        (encrypt(&self.key, &header, &place, body), id)
    }

    /// Opens the answer to a request; `None`: it is not the other tier's answer to it.
    pub fn open(&self, path: &str, status: u16, request: Id, message: &[u8]) -> Option<Vec<u8>> {
        let (header, length) = Header::read(message)?;
        let place = Place::Answer { path, status, request };
        let key = self.ring.named(header.key)?;
        self.servers.open(key, &header, &place, message, length)
    }
}

/// A new sender.
pub(super) fn sender() -> Result<[u8; SENDER]> {
    let mut sender = [0; SENDER];
    aws_lc_rs::rand::fill(&mut sender)
        .map_err(|_| Error::Internal("the system has no random bytes".into()))?;
    Ok(sender)
}

/// A whole message.
pub(super) fn encrypt(
    key: &LessSafeKey,
    header: &Header<'_>,
    place: &Place<'_>,
    body: &[u8],
) -> Vec<u8> {
    let mut message = header.write(body.len());
    let length = message.len();
    let associated = Aad::from(place.associated(&message));
    message.extend_from_slice(body);
    let tag = key
        .seal_in_place_separate_tag(header.id.nonce(), associated, &mut message[length..])
        .expect("a body is shorter than the cipher's limit of 64 GiB");
    message.extend_from_slice(tag.as_ref());
    message
}

crate::printed_by!(Sealer: ring);
