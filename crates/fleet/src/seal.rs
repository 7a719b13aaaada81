//! Sealed messages: whoever does not have the operator's secret can neither read nor make one.
//!
//! A message is `version (1) · length of the sender (1) · sender · incarnation (16) · sequence (8) ·
//! sent (8) · sealed · tag (16)`, integers big-endian. Sealed is the content as JSON, by AES-256-GCM;
//! all that stands before it and the subject are its associated data. Each incarnation of a sender
//! has a key of its own, derived by HKDF-SHA256 (RFC 5869), and its sequence is the nonce, so that
//! no nonce is used twice with a key.
//!
//! An incarnation begins with the time of its start. A receiver takes each sequence of a sender and
//! subject once, in ascending order, and no message that is older than [`MOST_AGE`].

use crate::refused::Refused;
use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::{error::Unspecified, hkdf, rand};
use serde::{Serialize, de::DeserializeOwned};
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, SystemTime};
use tidegate_config::Problem;
use zeroize::Zeroizing;

/// Largest message, in bytes; NATS allows 1 MiB by default.
pub const MOST_BYTES: usize = 64 << 10;
/// Longest name of a fleet or a sender, in bytes.
pub const MOST_NAME: usize = 64;
/// How much older or newer than the receiver's clock a message may be. Tickets need clocks that
/// agree anyway.
pub const MOST_AGE: Duration = Duration::from_secs(60);
/// Most senders and subjects that a receiver keeps apart.
const MOST_SENDERS: usize = 10_000;

/// Version of the layout; a receiver refuses a newer one.
const VERSION: u8 = 1;
const TAG: usize = 16;
/// Incarnation, sequence and time.
const NUMBERS: usize = 32;

/// One start of a sender: the time in milliseconds since 1970, then random bytes. A later start is
/// greater.
pub type Incarnation = [u8; 16];

/// The operator's secret, for one fleet.
#[derive(Clone)]
pub struct Secret {
    root: hkdf::Prk,
    fleet: String,
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

/// Compared by what is derived from them.
impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        let derived = |secret: &Self| {
            let mut bytes = [0; 32];
            let okm = secret.root.expand(&[b"comparison"], hkdf::HKDF_SHA256);
            okm.and_then(|okm| okm.fill(&mut bytes)).map(|()| bytes)
        };
        self.fleet == other.fleet && derived(self).ok() == derived(other).ok()
    }
}

impl Secret {
    /// The secret of these bytes for the fleet of this name: what is sealed for one fleet does not
    /// open in another.
    ///
    /// # Errors
    /// It is too short or too long, with a remedy.
    pub fn new(bytes: &[u8], fleet: &str) -> Result<Self, Problem> {
        tidegate_config::check_secret(bytes)?;
        let root = hkdf::Salt::new(hkdf::HKDF_SHA256, b"tidegate fleet").extract(bytes);
        Ok(Self { root, fleet: fleet.to_owned() })
    }

    /// Reads a file; white space at its end is not part of the secret.
    ///
    /// # Errors
    /// It cannot be read, others may read it, or its length is wrong; with a remedy.
    pub fn read(path: &Path, fleet: &str) -> Result<Self, Problem> {
        Self::new(&tidegate_config::read_secret(path)?, fleet)
    }

    /// The name of the fleet.
    pub fn fleet(&self) -> &str {
        &self.fleet
    }

    fn key(&self, sender: &[u8], incarnation: &[u8]) -> Result<LessSafeKey, Unspecified> {
        let info = [b"message\0", self.fleet.as_bytes(), b"\0", sender, b"\0", incarnation];
        Ok(LessSafeKey::new(UnboundKey::from(self.root.expand(&info, &AES_256_GCM)?)))
    }

    /// Opens a message that may be opened more than once: the value of a bucket. Its key is the
    /// subject.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn open<T: DeserializeOwned>(
        &self,
        subject: &str,
        message: &[u8],
    ) -> Result<Opened<T>, Refused> {
        if message.len() > MOST_BYTES {
            return Err(Refused::TooLarge);
        }
        let (&version, rest) = message.split_first().ok_or(Refused::Broken)?;
        if version != VERSION {
            return Err(Refused::Version);
        }
        let (&length, rest) = rest.split_first().ok_or(Refused::Broken)?;
        let (sender, rest) = rest.split_at_checked(length.into()).ok_or(Refused::Broken)?;
        let (numbers, sealed) = rest.split_first_chunk::<NUMBERS>().ok_or(Refused::Broken)?;
        let name = std::str::from_utf8(sender).ok().filter(|name| is_name(name));
        let name = name.ok_or(Refused::Broken)?;
        let (incarnation, rest) = numbers.split_first_chunk::<16>().ok_or(Refused::Broken)?;
        let (sequence, sent) = rest.split_first_chunk::<8>().ok_or(Refused::Broken)?;
        let sent = sent.first_chunk::<8>().ok_or(Refused::Broken)?;
        let head = message.get(..message.len() - sealed.len()).ok_or(Refused::Broken)?;
        let key = self.key(sender, incarnation).map_err(|_| Refused::Forged)?;
        let mut sealed = Zeroizing::new(sealed.to_vec());
        let content = key.open_in_place(nonce(*sequence), associated(head, subject), &mut sealed);
        let content = content.map_err(|_| Refused::Forged)?;
        Ok(Opened {
            sender: name.to_owned(),
            incarnation: *incarnation,
            sequence: u64::from_be_bytes(*sequence),
            sent: Duration::from_millis(u64::from_be_bytes(*sent)),
            content: serde_json::from_slice(content).map_err(|_| Refused::Broken)?,
        })
    }
}

/// Whether this may name a fleet, a gate or an agent: at most [`MOST_NAME`] letters, digits, `.`,
/// `-`, `_` and `:`.
pub fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:".contains(&byte);
    (1..=MOST_NAME).contains(&name.len()) && name.bytes().all(fits)
}

/// Whether this may name a fleet, and be part of subjects and of the name of a bucket: at most 32
/// letters, digits, `-` and `_`.
pub fn is_fleet(name: &str) -> bool {
    is_name(name) && name.len() <= 32 && !name.contains(['.', ':'])
}

fn nonce(sequence: [u8; 8]) -> Nonce {
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&sequence);
    Nonce::assume_unique_for_key(nonce)
}

/// The subject follows what has lengths of its own.
fn associated(head: &[u8], subject: &str) -> Aad<Vec<u8>> {
    Aad::from([head, subject.as_bytes()].concat())
}

/// The name under which a message was sealed, by its own word: it may be forged.
pub fn sender_of(message: &[u8]) -> Option<&str> {
    let (&[_, length], rest) = message.split_first_chunk()?;
    let name = std::str::from_utf8(rest.get(..length.into())?).ok()?;
    is_name(name).then_some(name)
}

/// Now, since 1970.
pub fn unix_now() -> Duration {
    SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default()
}

/// A message that was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened<T> {
    /// Who sealed it.
    pub sender: String,
    /// Which start of the sender.
    pub incarnation: Incarnation,
    /// Greater than that of the sender's message before.
    pub sequence: u64,
    /// When it was sealed by the sender's clock, since 1970.
    pub sent: Duration,
    /// What it says.
    pub content: T,
}

/// Seals the messages of one sender.
pub struct Sealer {
    key: LessSafeKey,
    /// Up to the incarnation.
    head: Vec<u8>,
    incarnation: Incarnation,
    sequence: AtomicU64,
}

impl std::fmt::Debug for Sealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sealer").field("incarnation", &self.incarnation).finish_non_exhaustive()
    }
}

impl Sealer {
    /// A sender of this name (see [`is_name`]) that starts at `now`, since 1970.
    ///
    /// # Errors
    /// The system's random generator failed, or the name is none.
    pub fn new(secret: &Secret, sender: &str, now: Duration) -> Result<Self, Unspecified> {
        if !is_name(sender) {
            return Err(Unspecified);
        }
        let mut incarnation = [0; 16];
        rand::fill(&mut incarnation)?;
        incarnation[..8].copy_from_slice(&millis(now).to_be_bytes());
        let key = secret.key(sender.as_bytes(), &incarnation)?;
        let mut head = vec![VERSION, sender.len() as u8];
        head.extend_from_slice(sender.as_bytes());
        head.extend_from_slice(&incarnation);
        Ok(Self { key, head, incarnation, sequence: AtomicU64::new(1) })
    }

    /// Which start of the sender this is.
    pub fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    /// Seals a content for a subject, or for a key of a bucket.
    ///
    /// # Errors
    /// [`Refused::TooLarge`]: it would have more than [`MOST_BYTES`]. [`Refused::Broken`]: it is no
    /// JSON.
    pub fn seal(
        &self,
        subject: &str,
        content: &impl Serialize,
        now: Duration,
    ) -> Result<Vec<u8>, Refused> {
        self.seal_bytes(subject, serde_json::to_vec(content).map_err(|_| Refused::Broken)?, now)
    }

    /// Seals a content that may be no JSON.
    ///
    /// # Errors
    /// [`Refused::TooLarge`]: it would have more than [`MOST_BYTES`].
    #[doc(hidden)]
    pub fn seal_bytes(
        &self,
        subject: &str,
        mut content: Vec<u8>,
        now: Duration,
    ) -> Result<Vec<u8>, Refused> {
        let sequence = self.sequence.fetch_add(1, Relaxed).to_be_bytes();
        let mut message = self.head.clone();
        message.extend_from_slice(&sequence);
        message.extend_from_slice(&millis(now).to_be_bytes());
        if message.len() + content.len() + TAG > MOST_BYTES {
            return Err(Refused::TooLarge);
        }
        let associated = associated(&message, subject);
        let tag = self.key.seal_in_place_separate_tag(nonce(sequence), associated, &mut content);
        message.extend_from_slice(&content);
        message.extend_from_slice(tag.map_err(|_| Refused::Broken)?.as_ref());
        Ok(message)
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Opens the messages of all senders, each once.
#[derive(Debug)]
pub struct Opener {
    secret: Secret,
    /// The last message by subject and sender.
    last: HashMap<(String, String), Last>,
}

#[derive(Debug)]
struct Last {
    incarnation: Incarnation,
    sequence: u64,
    sent: Duration,
}

impl Opener {
    /// No message yet.
    pub fn new(secret: Secret) -> Self {
        Self { secret, last: HashMap::new() }
    }

    /// Opens a message that came with this subject at `now`, since 1970.
    ///
    /// # Errors
    /// Why it is refused; nothing changes then.
    pub fn open<T: DeserializeOwned>(
        &mut self,
        subject: &str,
        message: &[u8],
        now: Duration,
    ) -> Result<Opened<T>, Refused> {
        let opened: Opened<T> = self.secret.open(subject, message)?;
        let Opened { incarnation, sequence, sent, .. } = opened;
        if sent.abs_diff(now) > MOST_AGE {
            return Err(Refused::Clock);
        }
        let of = (subject.to_owned(), opened.sender.clone());
        let next = (incarnation, sequence);
        // No message that is older than the last of so long ago is taken, whoever sent it.
        let is_remembered = |last: &Last| last.sent + MOST_AGE * 2 > now;
        if let Some(last) = self.last.get(&of) {
            if next <= (last.incarnation, last.sequence) && is_remembered(last) {
                return Err(Refused::Replayed);
            }
        } else if self.last.len() >= MOST_SENDERS {
            self.last.retain(|_, last| is_remembered(last));
            if self.last.len() >= MOST_SENDERS {
                return Err(Refused::Crowded);
            }
        }
        self.last.insert(of, Last { incarnation, sequence, sent });
        Ok(opened)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: Duration = Duration::from_secs(1_800_000_000);

    fn secret(fleet: &str) -> Secret {
        Secret::new(&[7; 32], fleet).unwrap()
    }

    fn sealer(start: Duration) -> Sealer {
        Sealer::new(&secret("shop"), "gate-1", start).unwrap()
    }

    fn open(opener: &mut Opener, message: &[u8]) -> Result<String, Refused> {
        opener.open::<String>("demand", message, NOW).map(|opened| opened.content)
    }

    #[test]
    fn a_message_opens_once_under_its_subject_in_its_fleet() {
        let message = sealer(NOW).seal("demand", &"text", NOW).unwrap();
        let mut opener = Opener::new(secret("shop"));
        assert_eq!(opener.open::<String>("table", &message, NOW), Err(Refused::Forged));
        assert_eq!(open(&mut Opener::new(secret("other")), &message), Err(Refused::Forged));
        assert_eq!(open(&mut opener, &message).as_deref(), Ok("text"));
        assert_eq!(open(&mut opener, &message), Err(Refused::Replayed));
        assert_eq!(opener.secret.open::<u32>("demand", &message), Err(Refused::Broken));
    }

    #[test]
    fn an_earlier_sequence_or_start_is_refused_and_a_later_start_taken() {
        let (before, after) = (sealer(NOW - Duration::from_secs(5)), sealer(NOW));
        let mut opener = Opener::new(secret("shop"));
        let messages = [0, 1].map(|_| before.seal("demand", &"before", NOW).unwrap());
        assert!(open(&mut opener, &messages[1]).is_ok());
        assert_eq!(open(&mut opener, &messages[0]), Err(Refused::Replayed));
        assert!(open(&mut opener, &after.seal("demand", &"after", NOW).unwrap()).is_ok());
        let late = before.seal("demand", &"before", NOW).unwrap();
        assert_eq!(open(&mut opener, &late), Err(Refused::Replayed));
    }

    #[test]
    fn an_earlier_start_is_taken_again_when_the_later_one_is_long_gone() {
        let (before, after) = (sealer(NOW - Duration::from_secs(5)), sealer(NOW));
        let mut opener = Opener::new(secret("shop"));
        assert!(open(&mut opener, &after.seal("demand", &"after", NOW).unwrap()).is_ok());
        let mut at = |now| {
            let message = before.seal("demand", &"before", now).unwrap();
            opener.open::<String>("demand", &message, now).map(|opened| opened.content)
        };
        assert_eq!(at(NOW + MOST_AGE), Err(Refused::Replayed));
        assert_eq!(at(NOW + MOST_AGE * 2).as_deref(), Ok("before"));
    }

    #[test]
    fn a_recorded_message_is_refused_by_its_age_also_by_who_starts_later() {
        for age in [MOST_AGE + Duration::from_millis(1), Duration::from_secs(86_400)] {
            let old = sealer(NOW - age).seal("demand", &"old", NOW - age).unwrap();
            assert_eq!(open(&mut Opener::new(secret("shop")), &old), Err(Refused::Clock));
            let early = sealer(NOW).seal("demand", &"early", NOW + age).unwrap();
            assert_eq!(open(&mut Opener::new(secret("shop")), &early), Err(Refused::Clock));
        }
    }

    #[test]
    fn every_changed_byte_is_noticed_and_every_cut() {
        let message = sealer(NOW).seal("demand", &"text", NOW).unwrap();
        let mut opener = Opener::new(secret("shop"));
        for at in 0..message.len() {
            let mut changed = message.clone();
            changed[at] ^= 1;
            assert!(open(&mut opener, &changed).is_err(), "byte {at}");
            assert!(open(&mut opener, &message[..at]).is_err(), "cut at {at}");
        }
        let mut newer = message.clone();
        newer[0] = VERSION + 1;
        assert_eq!(open(&mut opener, &newer), Err(Refused::Version));
        assert!(open(&mut opener, &message).is_ok());
    }

    #[test]
    fn what_is_too_large_is_neither_sealed_nor_opened() {
        let text = "x".repeat(MOST_BYTES);
        assert_eq!(sealer(NOW).seal("demand", &text, NOW), Err(Refused::TooLarge));
        let opened = open(&mut Opener::new(secret("shop")), &vec![1; MOST_BYTES + 1]);
        assert_eq!(opened, Err(Refused::TooLarge));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(open(&mut Opener::new(secret("shop")), &bytes).is_err());
        }
    }
}
