//! Connections of which a TLS handshake or the head of a request is awaited. They cost a sender
//! next to nothing, so each address has a share of the places, and where places or file
//! descriptors run out, the address with the most gives way.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;

/// Such connections of one core.
#[derive(Debug)]
pub(super) struct Unfinished {
    /// Most of one address.
    share: usize,
    connections: Mutex<Connections>,
}

#[derive(Debug, Default)]
struct Connections {
    begun: u64,
    /// By address; of each the oldest first, with what closes it.
    of: HashMap<IpAddr, BTreeMap<u64, Arc<Notify>>>,
}

impl Unfinished {
    /// None yet; one address may have so many.
    pub(super) fn new(share: usize) -> Arc<Self> {
        Arc::new(Self { share, connections: Mutex::default() })
    }

    /// Counts a connection as unfinished until the entry is dropped. Where it is one too many
    /// of its address, the oldest of that address closes.
    pub(super) fn begin(self: &Arc<Self>, address: IpAddr, close: &Arc<Notify>) -> Entry {
        let mut connections = self.connections.lock().expect("no panic under this lock");
        connections.begun += 1;
        let number = connections.begun;
        let of_address = connections.of.entry(address).or_default();
        of_address.insert(number, Arc::clone(close));
        if of_address.len() > self.share {
            close_oldest(of_address);
        }
        Entry { of: Arc::clone(self), address, number }
    }

    /// Closes the oldest of the address with the most, if there is one.
    pub(super) fn give_way(&self) {
        let mut connections = self.connections.lock().expect("no panic under this lock");
        if let Some(most) = connections.of.values_mut().max_by_key(|of_address| of_address.len()) {
            close_oldest(most);
        }
    }
}

fn close_oldest(of_address: &mut BTreeMap<u64, Arc<Notify>>) {
    if let Some((_, close)) = of_address.pop_first() {
        close.notify_one();
    }
}

/// One connection that is unfinished.
#[derive(Debug)]
pub(super) struct Entry {
    of: Arc<Unfinished>,
    address: IpAddr,
    number: u64,
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut connections = self.of.connections.lock().expect("no panic under this lock");
        let Some(of_address) = connections.of.get_mut(&self.address) else { return };
        of_address.remove(&self.number);
        if of_address.is_empty() {
            connections.of.remove(&self.address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const OTHER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

    /// Whether it was closed since the last call.
    fn is_closed(close: &Notify) -> bool {
        let closed = std::pin::pin!(close.notified());
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        closed.poll(&mut cx).is_ready()
    }

    #[test]
    fn the_oldest_of_an_address_closes_where_it_has_too_many() {
        let unfinished = Unfinished::new(2);
        let closes: Vec<Arc<Notify>> = (0..4).map(|_| Arc::default()).collect();
        let of = |address, at: usize| unfinished.begin(address, &closes[at]);
        let (first, _second, _other) = (of(ONE, 0), of(ONE, 1), of(OTHER, 2));
        assert!(!closes.iter().any(|close| is_closed(close)));
        let _third = of(ONE, 3);
        let closed: Vec<_> = closes.iter().map(|close| is_closed(close)).collect();
        assert_eq!(closed, [true, false, false, false]);
        drop(first);
        unfinished.give_way();
        assert!(is_closed(&closes[1]), "of the address with the most");
    }

    #[test]
    fn what_is_finished_is_forgotten() {
        let unfinished = Unfinished::new(1);
        for _ in 0..3 {
            let close = Arc::default();
            drop(unfinished.begin(ONE, &close));
            assert!(!is_closed(&close));
        }
        assert!(unfinished.connections.lock().unwrap().of.is_empty());
        unfinished.give_way();
    }
}
