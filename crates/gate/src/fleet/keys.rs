//! The ticket keys of the fleet, in a bucket. The holder of the lease makes them; every gate takes
//! them over, and goes on with those that it has while NATS is gone.

use super::state::{FleetState, KEYS_AWAITED};
use crate::admission::rotation::renewed;
use crate::admission::tickets::{GRACE, Keyring};
use crate::config::ticket_keys;
use crate::shared::Shared;
use crate::telemetry::clock::unix_now;
use crate::ticket_secret::Secret;
use std::time::{Duration, Instant};
use tidegate_fleet::{Bucket, Connection, Opened};

/// Key of the bucket. Its value is a file of ticket keys, sealed.
const KEY: &str = "ticket_keys";
/// Time between two looks at it: a key that was written must be read before it seals its first
/// ticket.
const INTERVAL: Duration = Duration::from_secs(1);
/// The same while the gate waits for the keys and accepts no connections.
const AT_FIRST: Duration = Duration::from_millis(50);
/// Most keys of its own that a gate keeps beside those of the fleet.
const MOST_OWN: usize = 64;

/// Shares the ticket keys until dropped.
pub(super) async fn run(
    state: &FleetState,
    shared: &Shared,
    connection: &Connection,
    bucket: &Bucket,
    keyring: &Keyring,
) {
    let (mut keys, begun) = (SharedKeys::default(), Instant::now());
    loop {
        let awaited = !keys.joined && begun.elapsed() < KEYS_AWAITED;
        tokio::time::sleep(if awaited { AT_FIRST } else { INTERVAL }).await;
        if !connection.connected() || shared.draining() {
            continue;
        }
        let Ok(entry) = bucket.get(KEY).await else { continue };
        let revision = entry.as_ref().map_or(0, |entry| entry.revision);
        let stored = entry.and_then(|entry| {
            let opened = state.secret().open::<String>(KEY, &entry.value);
            let text = opened.map_err(|reason| state.refuse(reason)).ok()?;
            let Opened { content, .. } = text;
            let content = zeroize::Zeroizing::new(content);
            ticket_keys::parse(&content).ok()
        });
        let holds = state.lease().held(Instant::now()).is_some();
        let stepped = keys.step(keyring, revision, stored, holds, unix_now());
        let Ok(write) = stepped else {
            tracing::error!("fleet: no ticket key could be made: the system has no random numbers");
            continue;
        };
        if let Some(new) = write {
            let text = ticket_keys::text(&new);
            let sealed = state.sealer.seal(KEY, &*text, tidegate_fleet::unix_now());
            // Another was faster, or it cannot be told: the next look shows what.
            let written = match sealed {
                Ok(sealed) => bucket.put(KEY, sealed, revision).await.ok().flatten().is_some(),
                Err(_) => false,
            };
            if written {
                tracing::info!("fleet: this gate wrote the ticket keys");
            }
        }
        let joined = keys.joined;
        if joined && !std::mem::replace(&mut state.seen().keys_shared, true) {
            tracing::info!("fleet: this gate has the fleet's ticket keys");
        }
    }
}

/// What a gate knows of the keys in the bucket.
#[derive(Default)]
struct SharedKeys {
    /// The revision that was taken over.
    revision: Option<u64>,
    joined: bool,
    /// Keys that the bucket does not have, and until when tickets of them are good: of the time
    /// before the gate joined, or before the bucket was lost.
    own: Vec<(Secret, u64)>,
}

impl SharedKeys {
    /// Takes over the keys that are `stored`, the newest first. Returns what the holder of the lease
    /// is to write.
    ///
    /// # Errors
    /// The system's random generator failed.
    fn step(
        &mut self,
        keyring: &Keyring,
        revision: u64,
        stored: Option<Vec<Secret>>,
        holds: bool,
        now: u64,
    ) -> Result<Option<Vec<Secret>>, aws_lc_rs::error::Unspecified> {
        let Some(stored) = stored else {
            // The bucket is new, or has lost what it had: every gate has it still.
            return Ok(holds.then(|| keyring.secrets()));
        };
        // The revisions of a bucket that was lost begin again.
        if self.revision != Some(revision) || !keyring.begins_with(&stored) {
            let known = |key: &Secret| stored.iter().any(|other| other.name == key.name);
            let mut missing = keyring.secrets();
            keyring.drop_expired(&mut missing, now, |key| key.since);
            let until = now + keyring.lifetime_s() + GRACE.as_secs();
            for key in missing.into_iter().filter(|key| !known(key)) {
                if !self.own.iter().any(|(own, _)| own.name == key.name) {
                    self.own.push((key, until));
                }
            }
            self.own.retain(|(key, until)| now <= *until && !known(key));
            self.own.drain(..self.own.len().saturating_sub(MOST_OWN));
            // The newest of the bucket seals; the gate's own only open.
            let own = self.own.iter().map(|(key, _)| key);
            let all: Vec<_> = stored.iter().chain(own).cloned().collect();
            keyring.adopt(&all)?;
            (self.revision, self.joined) = (Some(revision), true);
        }
        if holds { renewed(keyring, stored, now) } else { Ok(None) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::tickets::{Claims, Holder, Terms};

    const LIFETIME_S: u64 = 3_600;
    const ROTATION_S: u64 = 600;

    struct Gate {
        keyring: Keyring,
        keys: SharedKeys,
    }

    impl Gate {
        fn new(now: u64) -> Self {
            let (lifetime, rotation) =
                (Duration::from_secs(LIFETIME_S), Duration::from_secs(ROTATION_S));
            Self {
                keyring: Keyring::new(lifetime, rotation, now).unwrap(),
                keys: SharedKeys::default(),
            }
        }

        fn step(&mut self, bucket: &mut Bucket, holds: bool, now: u64) {
            let (revision, stored) = (bucket.revision, bucket.keys.clone());
            let write = self.keys.step(&self.keyring, revision, stored, holds, now).unwrap();
            if let Some(keys) = write {
                *bucket = Bucket { revision: revision + 1, keys: Some(keys) };
            }
        }

        fn ticket(&self, now: u64) -> Vec<u8> {
            let terms = Terms { version: 0x0304, suite: 0x1301, extended_master_secret: false };
            let (session, uses, server_name, client_auth) = ([7; 16], 0, 0, 0);
            let (began, issued, holder) = (now, now, Holder::Session);
            let claims =
                Claims { session, holder, began, issued, uses, terms, server_name, client_auth };
            self.keyring.seal(&claims, b"state").unwrap()
        }

        fn opens(&self, ticket: &[u8], now: u64) -> bool {
            self.keyring.open(ticket, now).is_ok()
        }
    }

    #[derive(Clone, Default)]
    struct Bucket {
        revision: u64,
        keys: Option<Vec<Secret>>,
    }

    #[test]
    fn the_holder_makes_keys_and_no_ticket_is_foreign_to_another_gate() {
        let mut bucket = Bucket::default();
        let mut gates = [Gate::new(0), Gate::new(0), Gate::new(0)];
        for now in 0..4_000 {
            // Each looks every third second; the holder changes.
            let (at, holder) = ((now % 3) as usize, (now / 700 % 3) as usize);
            gates[at].step(&mut bucket, at == holder, now);
            if now < 10 {
                continue;
            }
            let ticket = gates[at].ticket(now);
            assert!(gates.iter().all(|gate| gate.opens(&ticket, now)), "second {now}");
        }
        // The first, one at 600 s and so on.
        assert!(bucket.revision >= 6, "{}", bucket.revision);
        assert!(bucket.keys.unwrap().len() <= 8);
    }

    #[test]
    fn tickets_from_before_a_gate_joined_open_for_their_lifetime() {
        let mut bucket = Bucket::default();
        let (mut first, mut late) = (Gate::new(0), Gate::new(100));
        first.step(&mut bucket, true, 1);
        first.step(&mut bucket, true, 2);
        let ticket = late.ticket(300);
        late.step(&mut bucket, false, 300);
        assert!(late.opens(&ticket, 301 + LIFETIME_S - 2));
        // What it seals now, the first opens.
        assert!(first.opens(&late.ticket(301), 301));
        for now in 301..=301 + 2 * LIFETIME_S {
            first.step(&mut bucket, true, now);
            late.step(&mut bucket, false, now);
        }
        assert!(late.keys.own.len() < 3);
    }

    #[test]
    fn a_bucket_that_was_lost_is_filled_again_and_nobody_becomes_a_stranger() {
        let mut bucket = Bucket::default();
        let (mut first, mut second) = (Gate::new(0), Gate::new(0));
        for now in 1..4 {
            first.step(&mut bucket, true, now);
            second.step(&mut bucket, false, now);
        }
        let ticket = second.ticket(5);
        // A gate that knows none of the keys gets the lease when the bucket is empty.
        let mut stranger = Gate::new(6);
        bucket = Bucket { revision: 9, keys: None };
        for now in 7..12 {
            stranger.step(&mut bucket, true, now);
            first.step(&mut bucket, false, now);
            second.step(&mut bucket, false, now);
        }
        assert!(first.opens(&ticket, 12) && second.opens(&ticket, 12));
        assert!(first.opens(&stranger.ticket(12), 12));
    }

    #[test]
    fn a_gate_that_does_not_hold_the_lease_never_makes_a_key() {
        let (mut bucket, mut gate) = (Bucket::default(), Gate::new(0));
        gate.step(&mut bucket, false, 10_000);
        assert!(bucket.keys.is_none());
        bucket.keys = Some(gate.keyring.secrets());
        gate.step(&mut bucket, false, 10_000);
        assert_eq!(bucket.keys.map(|keys| keys.len()), Some(1));
    }
}
