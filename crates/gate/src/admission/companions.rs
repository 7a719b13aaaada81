//! Connections that a browser opens before it has a ticket. Once one of an address is admitted, a
//! few others of that address are of the same session; and once one is shown the waiting room, a
//! few others are of the same visit.
//!
//! What an address may gain is bounded: within [`WITHIN`] of an admission so many connections as
//! the configuration says, all of one session and within its limits, and only while that session
//! is connected. An address with more admissions than a browser could cause is that of a network:
//! its connections are admitted one by one.

use crate::admission::tickets::SessionId;
use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A browser opens its connections within this time after its first one is admitted.
pub const WITHIN: Duration = Duration::from_secs(10);
/// Admissions that a browser may cause meanwhile: browsers open two connections at first, and
/// where there is room both are admitted.
const OF_ONE_BROWSER: usize = 2;
/// Addresses that are remembered: about 150 bytes each. Beyond them, no browser of another one is
/// recognized for a moment.
const ADDRESSES: usize = 100_000;

/// What addresses did lately at a gate; shared by its cores.
#[derive(Debug, Default)]
pub struct Companions {
    admitted: Mutex<Recent<Admitted>>,
    /// How many connections were shown the waiting room.
    refused: Mutex<Recent<u32>>,
}

/// The admissions of an address without a pause of [`WITHIN`].
#[derive(Debug, Default)]
struct Admitted {
    /// The first of them.
    sessions: Vec<SessionId>,
    are_more: bool,
    /// Connections that were admitted with them.
    companions: u32,
}

impl Companions {
    /// A new session of this address was admitted.
    pub fn note(&self, address: IpAddr, session: SessionId, now: Duration) {
        let mut recent = lock(&self.admitted);
        let Some(admitted) = recent.touch(address, now) else { return };
        if admitted.sessions.len() < OF_ONE_BROWSER {
            admitted.sessions.push(session);
        } else {
            admitted.are_more = true;
        }
    }

    /// The session of which a further connection of this address is, of `most` that may be.
    /// `is_connected` tells whether a session has an open connection.
    pub fn take(
        &self,
        address: IpAddr,
        most: u32,
        now: Duration,
        is_connected: impl Fn(&SessionId) -> bool,
    ) -> Option<SessionId> {
        let mut recent = lock(&self.admitted);
        let admitted = recent.get(address, now)?;
        if admitted.are_more || admitted.companions >= most {
            return None;
        }
        let session = admitted.sessions.iter().copied().find(|id| is_connected(id))?;
        admitted.companions += 1;
        Some(session)
    }

    /// Whether a connection of this address that is shown the waiting room counts as refused: the
    /// next `most` of the address are of the same visit. An address with more is a network's.
    pub fn counts_as_refused(&self, address: IpAddr, most: u32, now: Duration) -> bool {
        let mut recent = lock(&self.refused);
        let Some(refused) = recent.touch(address, now) else { return true };
        *refused = refused.saturating_add(1);
        *refused == 1 || *refused - 1 > most
    }
}

/// What is known of addresses, as long as they do something again within [`WITHIN`].
#[derive(Debug)]
struct Recent<T> {
    /// With the time when they did it.
    known: HashMap<IpAddr, (Duration, T)>,
    /// When each may be forgotten, about in this order.
    ends: VecDeque<(Duration, IpAddr)>,
}

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self { known: HashMap::new(), ends: VecDeque::new() }
    }
}

impl<T: Default> Recent<T> {
    fn get(&mut self, address: IpAddr, now: Duration) -> Option<&mut T> {
        let (at, known) = self.known.get_mut(&address)?;
        (now < *at + WITHIN).then_some(known)
    }

    /// An address does something now; `None` where too many are known.
    fn touch(&mut self, address: IpAddr, now: Duration) -> Option<&mut T> {
        self.forget(now);
        if !self.known.contains_key(&address) {
            if self.known.len() >= ADDRESSES {
                return None;
            }
            self.ends.push_back((now + WITHIN, address));
        }
        let (at, known) = self.known.entry(address).or_insert_with(|| (now, T::default()));
        if *at + WITHIN <= now {
            *known = T::default();
        }
        *at = now;
        Some(known)
    }

    fn forget(&mut self, now: Duration) {
        while let Some((end, address)) = self.ends.front().copied()
            && end <= now
        {
            self.ends.pop_front();
            let Some((at, _)) = self.known.get(&address) else { continue };
            let end = *at + WITHIN;
            if end <= now {
                self.known.remove(&address);
            } else {
                self.ends.push_back((end, address));
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BROWSER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const OTHER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));
    const FIRST: SessionId = [1; 16];
    const SECOND: SessionId = [2; 16];

    fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn take(companions: &Companions, now: Duration) -> Option<SessionId> {
        companions.take(BROWSER, 5, now, |_| true)
    }

    #[test]
    fn the_next_five_of_an_address_are_of_the_session_that_was_admitted() {
        let companions = Companions::default();
        assert_eq!(take(&companions, s(99)), None, "nothing was admitted");
        companions.note(BROWSER, FIRST, s(100));
        assert_eq!(companions.take(OTHER, 5, s(100), |_| true), None);
        let taken: Vec<_> = (0..7).map(|_| take(&companions, s(101))).collect();
        assert_eq!(taken, [vec![Some(FIRST); 5], vec![None; 2]].concat());
    }

    #[test]
    fn after_ten_seconds_and_once_the_session_has_no_connection_there_are_none() {
        let companions = Companions::default();
        companions.note(BROWSER, FIRST, s(100));
        assert_eq!(companions.take(BROWSER, 5, s(101), |id| *id != FIRST), None);
        assert_eq!(companions.take(BROWSER, 0, s(101), |_| true), None, "it is switched off");
        assert_eq!(take(&companions, s(109)), Some(FIRST));
        assert_eq!(take(&companions, s(110)), None);
    }

    #[test]
    fn a_network_behind_one_address_gets_five_in_all_however_many_it_has_admitted() {
        let companions = Companions::default();
        // Two a second are admitted for a minute, and a hundred others come in each second.
        let mut taken = 0;
        for tick in 0..120 {
            let now = s(100) + tick * Duration::from_millis(500);
            companions.note(BROWSER, [tick as u8 + 1; 16], now);
            taken += (0..50).filter(|_| take(&companions, now).is_some()).count();
        }
        assert_eq!(taken, 5);
        // After a pause it counts as a browser again.
        companions.note(BROWSER, SECOND, s(200));
        assert_eq!(take(&companions, s(200)), Some(SECOND));
    }

    #[test]
    fn both_connections_that_a_browser_opens_at_first_may_be_admitted() {
        let companions = Companions::default();
        companions.note(BROWSER, FIRST, s(100));
        companions.note(BROWSER, SECOND, s(100));
        assert_eq!(take(&companions, s(101)), Some(FIRST));
        companions.note(BROWSER, SECOND, s(102));
        assert_eq!(take(&companions, s(103)), None, "a third one is not a browser's");
    }

    #[test]
    fn of_two_customers_behind_one_address_the_one_who_is_connected_has_companions() {
        let companions = Companions::default();
        companions.note(BROWSER, FIRST, s(100));
        companions.note(BROWSER, SECOND, s(103));
        assert_eq!(companions.take(BROWSER, 5, s(104), |id| *id == SECOND), Some(SECOND));
    }

    #[test]
    fn one_visit_counts_as_one_refusal_and_each_of_a_network_as_its_own() {
        let companions = Companions::default();
        let counted = |count: u32, at| {
            let refused = (0..count).filter(|_| companions.counts_as_refused(BROWSER, 5, s(at)));
            refused.count()
        };
        assert_eq!(counted(6, 100), 1);
        assert_eq!(counted(50, 101), 50);
        assert_eq!(counted(50, 110), 50, "it is a network's while it goes on");
        assert_eq!(counted(6, 120), 1, "after a pause it is a browser's");
        assert!((0..3).all(|_| companions.counts_as_refused(OTHER, 0, s(120))), "switched off");
    }

    #[test]
    fn addresses_are_forgotten_and_their_number_is_bounded() {
        let companions = Companions::default();
        for n in 0..ADDRESSES as u32 + 10 {
            companions.note(std::net::Ipv4Addr::from(n).into(), FIRST, s(100));
        }
        assert_eq!(lock(&companions.admitted).known.len(), ADDRESSES);
        companions.note(BROWSER, FIRST, s(110));
        let recent = lock(&companions.admitted);
        assert_eq!((recent.known.len(), recent.ends.len()), (1, 1));
    }
}
