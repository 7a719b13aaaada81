//! The datagrams: a query, and the reading that answers it.
//!
//! Both have [`SIZE`] bytes. Integers and floating-point numbers are big-endian.
//!
//! | offset | query | answer |
//! | --- | --- | --- |
//! | 0 | `TGQ1` | `TGA1` |
//! | 4 | nonce, 16 bytes | the query's nonce |
//! | 20 | zeros | run of the agent, 8 bytes |
//! | 28 | | time since the agent's start in ns, 8 |
//! | 36 | | CPU time used since then in ns, 8 |
//! | 44 | | capacity in processors, `f64` |
//! | 52 | | idle share of the processors, `f64`; NaN: unknown |
//! | 60 | | boot id of the machine, 16 |
//! | 76 | | processors, a bit for each of 1024, the least significant of each byte first |
//! | 204 | | 1 if the service can be seen, else 0 |
//! | 205 | | length of the note in bytes, up to 160 |
//! | 206 | | the note, UTF-8, padded with zeros |
//! | 366 | | zeros |
//! | 384 | HMAC-SHA256 of bytes 0 to 384 | the same |

use std::collections::BTreeSet;
use std::time::Duration;

use crate::secret::{SIGNATURE, Secret};

/// Bytes of every datagram.
pub const SIZE: usize = 416;
/// Length of a nonce.
pub(crate) const NONCE: usize = 16;

const QUERY: [u8; 4] = *b"TGQ1";
const ANSWER: [u8; 4] = *b"TGA1";
/// Processors that the bits have room for.
const PROCESSORS: usize = 1024;
/// Longest note, in bytes.
const NOTE: usize = 160;
/// Most processors that a capacity may name.
const MOST_CPUS: f64 = 100_000.0;

/// A question to an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query {
    /// Random, and used once.
    pub nonce: [u8; NONCE],
}

impl Query {
    /// The signed datagram.
    pub fn datagram(&self, secret: &Secret) -> [u8; SIZE] {
        let mut datagram = [0; SIZE];
        datagram[..4].copy_from_slice(&QUERY);
        datagram[4..20].copy_from_slice(&self.nonce);
        secret.sign(&mut datagram);
        datagram
    }

    /// Reads a datagram; `None` if it is not a query that was signed with this secret.
    pub fn read(datagram: &[u8], secret: &Secret) -> Option<Self> {
        let mut fields = Fields::of(datagram, QUERY, secret)?;
        Some(Self { nonce: fields.take() })
    }
}

/// CPU capacity and use of a service, at one time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// Another number for each start of the agent: times of different runs are not comparable.
    pub run: u64,
    /// Time since the agent's start.
    pub at: Duration,
    /// CPU time that the service used since the agent's start.
    pub used: Duration,
    /// CPU seconds per second that the service may use, by affinity and quota.
    pub capacity_cpus: f64,
    /// Share of the last moment, 0 to 1, in which its processors had nothing to do for anybody.
    pub idle: Option<f64>,
    /// Which run of which machine's kernel this is: agents of the same value share processors.
    pub boot: [u8; 16],
    /// Processors that the service may use; above 1023 they are left out.
    pub processors: BTreeSet<usize>,
    /// Whether the service can be seen; else use and capacity say nothing.
    pub seen: bool,
    /// What an operator should know of it, without control characters; may be empty.
    pub note: String,
}

impl Reading {
    /// The signed answer to a query.
    pub fn datagram(&self, query: Query, secret: &Secret) -> [u8; SIZE] {
        let mut datagram = [0; SIZE];
        let mut at = 0;
        let mut put = |bytes: &[u8]| {
            datagram[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        put(&ANSWER);
        put(&query.nonce);
        put(&self.run.to_be_bytes());
        put(&nanos(self.at).to_be_bytes());
        put(&nanos(self.used).to_be_bytes());
        put(&self.capacity_cpus.to_be_bytes());
        put(&self.idle.unwrap_or(f64::NAN).to_be_bytes());
        put(&self.boot);
        let mut bits = [0_u8; PROCESSORS / 8];
        for cpu in self.processors.iter().filter(|cpu| **cpu < PROCESSORS) {
            bits[cpu / 8] |= 1 << (cpu % 8);
        }
        put(&bits);
        let note = &self.note[..self.note.floor_char_boundary(NOTE)];
        put(&[u8::from(self.seen), note.len() as u8]);
        put(note.as_bytes());
        secret.sign(&mut datagram);
        datagram
    }

    /// Reads an answer and the nonce of its query; `None` if it was not signed with this
    /// secret, or its values are out of range.
    pub fn read(datagram: &[u8], secret: &Secret) -> Option<([u8; NONCE], Self)> {
        let mut fields = Fields::of(datagram, ANSWER, secret)?;
        let nonce = fields.take();
        let run = u64::from_be_bytes(fields.take());
        let mut time = || Duration::from_nanos(u64::from_be_bytes(fields.take()));
        let (at, used) = (time(), time());
        let capacity_cpus = f64::from_be_bytes(fields.take());
        let idle = f64::from_be_bytes(fields.take());
        let boot = fields.take();
        let bits: [u8; PROCESSORS / 8] = fields.take();
        let set = |cpu: &usize| bits[cpu / 8] & (1 << (cpu % 8)) != 0;
        let processors = (0..PROCESSORS).filter(set).collect();
        let [seen, note_bytes] = fields.take();
        let note: [u8; NOTE] = fields.take();
        let note = note.get(..note_bytes.into())?;
        let sound = (0.0..=MOST_CPUS).contains(&capacity_cpus)
            && (idle.is_nan() || (0.0..=1.0).contains(&idle))
            && seen <= 1;
        sound.then(|| {
            let note = String::from_utf8_lossy(note).replace(char::is_control, " ");
            let idle = (!idle.is_nan()).then_some(idle);
            let seen = seen == 1;
            (nonce, Self { run, at, used, capacity_cpus, idle, boot, processors, seen, note })
        })
    }
}

/// The fields of a datagram whose size, kind and signature are right.
struct Fields<'d>(&'d [u8]);

impl<'d> Fields<'d> {
    fn of(datagram: &'d [u8], kind: [u8; 4], secret: &Secret) -> Option<Self> {
        let sound = datagram.len() == SIZE && datagram[..4] == kind && secret.verifies(datagram);
        sound.then(|| Self(&datagram[4..SIZE - SIGNATURE]))
    }

    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (field, rest) =
            self.0.split_first_chunk().expect("the fields are shorter than a datagram");
        self.0 = rest;
        *field
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn secret() -> Secret {
        Secret::new(&[7; 32]).unwrap()
    }

    const QUESTION: Query = Query { nonce: [3; NONCE] };

    fn reading() -> Reading {
        Reading {
            run: 11,
            at: Duration::from_millis(1500),
            used: Duration::from_millis(700),
            capacity_cpus: 1.5,
            idle: Some(0.25),
            boot: [9; 16],
            processors: [0, 5, 1023].into(),
            seen: true,
            note: "no process listens on port 8080".into(),
        }
    }

    #[test]
    fn queries_and_answers_are_read_as_they_were_written_and_not_as_each_other() {
        let query = QUESTION.datagram(&secret());
        assert_eq!(Query::read(&query, &secret()), Some(QUESTION));
        assert_eq!(Reading::read(&query, &secret()), None);
        for reading in [reading(), Reading { idle: None, ..Reading::default() }] {
            let answer = reading.datagram(QUESTION, &secret());
            assert_eq!(Reading::read(&answer, &secret()), Some((QUESTION.nonce, reading)));
            assert_eq!(Query::read(&answer, &secret()), None);
        }
    }

    #[test]
    fn another_secret_and_any_changed_byte_are_refused() {
        let answer = reading().datagram(QUESTION, &secret());
        assert_eq!(Reading::read(&answer, &Secret::new(&[8; 32]).unwrap()), None);
        for at in 0..SIZE {
            let mut forged = answer;
            forged[at] ^= 0x10;
            assert_eq!(Reading::read(&forged, &secret()), None, "byte {at}");
        }
        assert_eq!(Reading::read(&answer[..SIZE - 1], &secret()), None);
    }

    #[test]
    fn values_out_of_range_are_refused_though_they_are_signed() {
        let read =
            |reading: Reading| Reading::read(&reading.datagram(QUESTION, &secret()), &secret());
        for capacity_cpus in [f64::NAN, f64::INFINITY, -1.0, 1e9] {
            assert_eq!(read(Reading { capacity_cpus, ..reading() }), None);
        }
        assert_eq!(read(Reading { idle: Some(1.5), ..reading() }), None);
    }

    #[test]
    fn a_long_note_is_cut_between_characters_and_controls_become_spaces() {
        let note = format!("a\u{1b}[31m\n{}", "é".repeat(100));
        let answer = Reading { note, ..reading() }.datagram(QUESTION, &secret());
        let read = Reading::read(&answer, &secret()).unwrap().1.note;
        assert!(
            read.starts_with("a [31m é") && read.ends_with('é') && read.len() <= NOTE,
            "{read}"
        );
    }

    proptest! {
        #[test]
        fn no_signed_bytes_panic(mut bytes in proptest::collection::vec(any::<u8>(), SIZE)) {
            bytes[..4].copy_from_slice(&ANSWER);
            secret().sign(&mut bytes);
            Reading::read(&bytes, &secret());
        }
    }
}
