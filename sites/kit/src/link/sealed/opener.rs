//! The server's end: opens requests and accepts each once, and seals their answers.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use aws_lc_rs::aead::{Aad, LessSafeKey};

use super::envelope::{Direction, Header, Id, Place, SENDER};
use super::keys::{Key, KeyRing};
use super::sealer::{encrypt, sender};
use crate::Result;
use crate::replay::{MOST_KEPT, NotAccepted, Replay, check_time};

/// Most derived keys kept: one for each process that has sent something.
const MOST_KEYS: usize = 1024;

/// Why a request is refused. The log names it; the sender is not told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It is not sealed.
    #[error("it is not a sealed message; is the link `sealed` on both sides?")]
    NotSealed,
    /// It names a key that this ring does not have.
    #[error("its key is not in the key file here; both tiers need the same file")]
    UnknownKey,
    /// It was altered, sealed with another key of the same name, or for another path or
    /// address.
    #[error(
        "it does not open: altered, of another key of the same name, or sent to another \
         path or address"
    )]
    DoesNotOpen,
    /// It is older than the window.
    #[error("it is more than 60 s old; are the clocks of both machines right?")]
    Stale,
    /// It is from the future.
    #[error("it is more than 5 s from the future; are the clocks of both machines right?")]
    Future,
    /// It is from before the start of this process, which has no memory of that time.
    #[error("it is from before this process started")]
    BeforeStart,
    /// It was received before.
    #[error("it was received before")]
    Replayed,
    /// No more can be remembered.
    #[error("too many messages within a minute to remember them all")]
    Full,
}

impl From<NotAccepted> for Refused {
    fn from(why: NotAccepted) -> Self {
        match why {
            NotAccepted::Stale => Self::Stale,
            NotAccepted::Future => Self::Future,
            NotAccepted::Replayed => Self::Replayed,
            NotAccepted::Full => Self::Full,
        }
    }
}

/// Opens the requests to one process.
pub struct Opener {
    ring: Arc<KeyRing>,
    started_ms: u64,
    clients: DerivedKeys,
    received: Mutex<Replay<Id>>,
    /// Under which its answers are sealed.
    sender: [u8; SENDER],
    own: DerivedKeys,
    numbers: AtomicU64,
}

impl Opener {
    /// An opener that has received nothing since it started, at `now_ms`.
    ///
    /// # Errors
    /// There is no randomness.
    pub fn new(ring: Arc<KeyRing>, now_ms: u64) -> Result<Self> {
        Self::with_capacity(ring, now_ms, MOST_KEPT)
    }

    /// The same, with room for so many requests.
    pub fn with_capacity(ring: Arc<KeyRing>, now_ms: u64, capacity: usize) -> Result<Self> {
        Ok(Self {
            ring,
            started_ms: now_ms,
            clients: DerivedKeys::default(),
            received: Mutex::new(Replay::new(capacity)),
            sender: sender()?,
            own: DerivedKeys::default(),
            numbers: AtomicU64::new(0),
        })
    }

    /// Opens a request that came to this path at one of these addresses, and accepts it
    /// once.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn open(
        &self,
        path: &str,
        addresses: &[&str],
        message: &[u8],
        now_ms: u64,
    ) -> Result<(Vec<u8>, Id), Refused> {
        let (header, length) = Header::read(message).ok_or(Refused::NotSealed)?;
        let key = self.ring.named(header.key).ok_or(Refused::UnknownKey)?;
        // What is not authentic must not take a place in any memory.
        let body = addresses
            .iter()
            .find_map(|to| {
                let place = Place::Request { path, to };
                self.clients.open(key, &header, &place, message, length)
            })
            .ok_or(Refused::DoesNotOpen)?;
        check_time(header.time_ms, now_ms)?;
        if header.time_ms < self.started_ms {
            return Err(Refused::BeforeStart);
        }
        let mut received = self.received.lock().expect("no panic under this lock");
        received.accept_sent(header.id, header.time_ms, now_ms)?;
        Ok((body, header.id))
    }

    /// Seals the answer to a request that was opened, with the request's key: its sender
    /// has that one.
    pub fn seal(
        &self,
        path: &str,
        status: u16,
        request: &[u8],
        body: &[u8],
        now_ms: u64,
    ) -> Option<Vec<u8>> {
        let (request, _) = Header::read(request)?;
        let key = self.ring.named(request.key)?;
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let id = Id { sender: self.sender, number };
        let header = Header { key: request.key, id, time_ms: now_ms };
        let place = Place::Answer { path, status, request: request.id };
        let derived = self.own.of(key, &self.sender, Direction::Answer);
        Some(encrypt(&derived, &header, &place, body))
    }
}

crate::printed_by!(Opener: ring);

/// The name of a key, and a sender.
type Derivation = (String, [u8; SENDER]);

/// Keys that were derived before.
#[derive(Default)]
pub(super) struct DerivedKeys(Mutex<HashMap<Derivation, Arc<LessSafeKey>>>);

impl DerivedKeys {
    fn find(&self, key: &Key, sender: &[u8; SENDER]) -> Option<Arc<LessSafeKey>> {
        let keys = self.0.lock().expect("no panic under this lock");
        keys.get(&(key.name.clone(), *sender)).cloned()
    }

    fn keep(&self, key: &Key, sender: &[u8; SENDER], derived: &Arc<LessSafeKey>) {
        let mut keys = self.0.lock().expect("no panic under this lock");
        // Processes that send one message each leave theirs behind.
        if keys.len() >= MOST_KEYS {
            keys.clear();
        }
        keys.insert((key.name.clone(), *sender), Arc::clone(derived));
    }

    fn of(&self, key: &Key, sender: &[u8; SENDER], direction: Direction) -> Arc<LessSafeKey> {
        self.find(key, sender).unwrap_or_else(|| {
            let derived = Arc::new(key.of_sender(sender, direction));
            self.keep(key, sender, &derived);
            derived
        })
    }

    /// The body of a message whose header, of `length` bytes, was read. The derived key is
    /// kept only if the message opens: strangers fill no memory.
    pub(super) fn open(
        &self,
        key: &Key,
        header: &Header<'_>,
        place: &Place<'_>,
        message: &[u8],
        length: usize,
    ) -> Option<Vec<u8>> {
        let (head, sealed) = message.split_at(length);
        let known = self.find(key, &header.id.sender);
        let derived = known
            .clone()
            .unwrap_or_else(|| Arc::new(key.of_sender(&header.id.sender, place.direction())));
        let mut body = sealed.to_vec();
        let associated = Aad::from(place.associated(head));
        let opened = derived.open_in_place(header.id.nonce(), associated, &mut body).ok()?.len();
        body.truncate(opened);
        if known.is_none() {
            self.keep(key, &header.id.sender, &derived);
        }
        Some(body)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::link::sealed::{Cipher, Sealer};

    const NOW: u64 = 1_000_000;
    const TO: &str = "127.0.0.1:9001";
    const HERE: &[&str] = &[TO];

    fn ring() -> Arc<KeyRing> {
        Arc::new(KeyRing::generate("one", Cipher::Aes256Gcm).unwrap())
    }

    fn pair() -> (Sealer, Opener) {
        let ring = ring();
        let opener = Opener::new(Arc::clone(&ring), NOW - 100_000).unwrap();
        (Sealer::new(ring).unwrap(), opener)
    }

    #[test]
    fn both_ciphers_carry_a_request_and_its_answer() {
        for cipher in [Cipher::Aes256Gcm, Cipher::ChaCha20Poly1305] {
            let ring = Arc::new(KeyRing::generate("one", cipher).unwrap());
            let sealer = Sealer::new(Arc::clone(&ring)).unwrap();
            let opener = Opener::new(ring, NOW).unwrap();
            for text in ["", "text"] {
                let (sealed, id) = sealer.seal("/order", TO, text.as_bytes(), NOW);
                assert!(!sealed.windows(4).any(|bytes| bytes == b"text"));
                let (opened, same) = opener.open("/order", HERE, &sealed, NOW).unwrap();
                assert_eq!((opened.as_slice(), same), (text.as_bytes(), id));
                let answer = opener.seal("/order", 200, &sealed, b"done", NOW).unwrap();
                assert_eq!(sealer.open("/order", 200, id, &answer).unwrap(), b"done");
            }
        }
    }

    #[test]
    fn a_request_is_accepted_once_within_its_time_and_at_its_place() {
        let (sealer, opener) = pair();
        let (sealed, _) = sealer.seal("/order", TO, b"x", NOW);
        for (path, to, now, expected) in [
            ("/orders", TO, NOW, Refused::DoesNotOpen),
            ("/order", "127.0.0.1:9002", NOW, Refused::DoesNotOpen),
            ("/order", TO, NOW - 5_001, Refused::Future),
            ("/order", TO, NOW + 60_001, Refused::Stale),
        ] {
            assert_eq!(opener.open(path, &[to], &sealed, now), Err(expected), "{path} {to} {now}");
        }
        assert!(opener.open("/order", HERE, &sealed, NOW).is_ok());
        for now in [NOW, NOW + 59_000] {
            assert_eq!(opener.open("/order", HERE, &sealed, now), Err(Refused::Replayed));
        }
        let restarted = Opener::new(Arc::clone(&opener.ring), NOW + 1).unwrap();
        assert_eq!(restarted.open("/order", HERE, &sealed, NOW + 2), Err(Refused::BeforeStart));
    }

    #[test]
    fn a_request_is_accepted_at_every_address_under_which_the_process_is_known() {
        let (sealer, opener) = pair();
        let (sealed, _) = sealer.seal("/a", TO, b"x", NOW);
        assert!(opener.open("/a", &["10.0.0.1:1", TO], &sealed, NOW).is_ok());
        let (sealed, _) = sealer.seal("/a", TO, b"x", NOW);
        assert_eq!(opener.open("/a", &[], &sealed, NOW), Err(Refused::DoesNotOpen));
    }

    #[test]
    fn a_full_memory_refuses() {
        let ring = ring();
        let sealer = Sealer::new(Arc::clone(&ring)).unwrap();
        let opener = Opener::with_capacity(ring, NOW, 1).unwrap();
        let (first, second) =
            (sealer.seal("/a", TO, b"", NOW).0, sealer.seal("/a", TO, b"", NOW).0);
        assert!(opener.open("/a", HERE, &first, NOW).is_ok());
        assert_eq!(opener.open("/a", HERE, &second, NOW), Err(Refused::Full));
    }

    #[test]
    fn a_request_of_another_key_is_refused_whatever_its_name() {
        let (_, opener) = pair();
        for (name, expected) in [("one", Refused::DoesNotOpen), ("two", Refused::UnknownKey)] {
            let other = Arc::new(KeyRing::generate(name, Cipher::Aes256Gcm).unwrap());
            let sealed = Sealer::new(other).unwrap().seal("/a", TO, b"x", NOW).0;
            assert_eq!(opener.open("/a", HERE, &sealed, NOW), Err(expected));
        }
        assert_eq!(opener.open("/a", HERE, b"{}", NOW), Err(Refused::NotSealed));
    }

    #[test]
    fn an_answer_belongs_to_one_request_and_status_and_is_no_request() {
        let (sealer, opener) = pair();
        let (sealed, id) = sealer.seal("/a", TO, b"x", NOW);
        let (_, other) = sealer.seal("/a", TO, b"x", NOW);
        opener.open("/a", HERE, &sealed, NOW).unwrap();
        let answer = opener.seal("/a", 200, &sealed, b"y", NOW).unwrap();
        assert_eq!(sealer.open("/a", 200, other, &answer), None);
        assert_eq!(sealer.open("/a", 409, id, &answer), None);
        assert_eq!(sealer.open("/b", 200, id, &answer), None);
        assert_eq!(opener.open("/a", HERE, &answer, NOW), Err(Refused::DoesNotOpen));
        assert_eq!(sealer.open("/a", 200, id, &sealed), None, "a request is no answer");
        assert!(sealer.open("/a", 200, id, &answer).is_some());
    }

    #[test]
    fn during_a_rotation_each_side_opens_what_the_other_seals() {
        let mut both = KeyRing::generate("old", Cipher::Aes256Gcm).unwrap();
        both.add("new", Cipher::ChaCha20Poly1305).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("link.json");
        both.write(&path).unwrap();
        let mut swapped: serde_json::Value =
            serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        swapped["keys"].as_array_mut().unwrap().swap(0, 1);
        std::fs::write(&path, swapped.to_string()).unwrap();
        let (both, swapped) = (Arc::new(both), Arc::new(KeyRing::read(&path).unwrap()));
        for (client, server) in [(&both, &swapped), (&swapped, &both)] {
            let sealer = Sealer::new(Arc::clone(client)).unwrap();
            let opener = Opener::new(Arc::clone(server), NOW).unwrap();
            let (sealed, id) = sealer.seal("/a", TO, b"x", NOW);
            assert_eq!(opener.open("/a", HERE, &sealed, NOW).unwrap().0, b"x");
            let answer = opener.seal("/a", 200, &sealed, b"y", NOW).unwrap();
            assert_eq!(sealer.open("/a", 200, id, &answer).unwrap(), b"y");
        }
    }

    #[test]
    fn the_memory_of_derived_keys_is_bounded() {
        let ring = ring();
        let opener = Opener::new(Arc::clone(&ring), NOW).unwrap();
        for _ in 0..MOST_KEYS + 10 {
            let sealer = Sealer::new(Arc::clone(&ring)).unwrap();
            assert!(opener.open("/a", HERE, &sealer.seal("/a", TO, b"", NOW).0, NOW).is_ok());
        }
        assert!(opener.clients.0.lock().unwrap().len() <= MOST_KEYS);
    }

    proptest! {
        #[test]
        fn a_changed_byte_is_noticed_wherever_it_is(at: usize, change in 1u8..) {
            let (sealer, opener) = pair();
            let (mut sealed, _) = sealer.seal("/order", TO, b"{\"quantity\":100}", NOW);
            let at = at % sealed.len();
            sealed[at] ^= change;
            prop_assert!(opener.open("/order", HERE, &sealed, NOW).is_err());
        }

        #[test]
        fn arbitrary_bytes_behind_a_right_header_never_open(bytes: Vec<u8>) {
            let (sealer, opener) = pair();
            let (sealed, _) = sealer.seal("/order", TO, b"", NOW);
            let header = &sealed[..sealed.len() - 16];
            prop_assert!(opener.open("/order", HERE, &[header, &bytes].concat(), NOW).is_err());
        }
    }
}
