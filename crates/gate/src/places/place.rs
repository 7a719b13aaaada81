//! The place of one open connection.

use crate::connection::exchange::Activity;
use crate::connection::state::ConnectionState;
use crate::places::kind::PlaceKind;
use crate::places::prefix::Prefix;
use crate::places::table::Places;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::pin;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll, Waker};

/// The place of one open connection; free again when dropped.
pub struct Place {
    places: Rc<Places>,
    seat: Rc<Seat>,
}

/// What the table knows of a place.
#[derive(Debug)]
pub(super) struct Seat {
    /// The slot of its prefix.
    pub slot: u32,
    pub kind: Cell<PlaceKind>,
    /// Its index among the places of its slot and kind.
    pub index: Cell<usize>,
    /// The connection gives way: it is counted no longer, and ends.
    pub displaced: Cell<bool>,
    waker: RefCell<Option<Waker>>,
    /// The state of the connection, once it is ready for requests.
    state: RefCell<Weak<ConnectionState>>,
}

impl Seat {
    pub fn new(slot: u32, kind: PlaceKind) -> Rc<Self> {
        Rc::new(Self {
            slot,
            kind: Cell::new(kind),
            index: Cell::new(0),
            displaced: Cell::new(false),
            waker: RefCell::default(),
            state: RefCell::default(),
        })
    }

    /// What is lost if the connection ends now: the least gives way first.
    pub fn loss(&self) -> u32 {
        match self.state.borrow().upgrade().map(|state| state.activity()) {
            // In a handshake, which may be one that never finishes.
            None => 0,
            // A return costs a handshake from the ticket.
            Some(Activity::Idle) => 1,
            Some(Activity::Head | Activity::Queue | Activity::Lookup) => 2,
            Some(Activity::Upload) => 3,
            // Work of the upstream is lost.
            Some(Activity::Response | Activity::Tunnel) => 4,
            Some(Activity::Waiting) => 5,
        }
    }

    pub fn displace(&self) {
        self.displaced.set(true);
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

impl Place {
    pub(super) fn new(places: Rc<Places>, seat: Rc<Seat>) -> Self {
        Self { places, seat }
    }

    /// The prefix of its client.
    pub fn prefix(&self) -> Prefix {
        self.places.prefix_at(self.seat.slot)
    }

    /// From now on the connection holds it as another kind.
    pub fn change(&self, kind: PlaceKind) {
        self.places.change(&self.seat, kind);
    }

    /// From now on the connection serves requests, and has this state.
    pub fn serve(&self, state: &Rc<ConnectionState>) {
        *self.seat.state.borrow_mut() = Rc::downgrade(state);
    }

    /// Whether the connection has to end, since it gives way to another. If not, the task
    /// is woken when it does.
    pub fn is_displaced(&self, cx: &Context<'_>) -> bool {
        if self.seat.displaced.get() {
            return true;
        }
        let mut waker = self.seat.waker.borrow_mut();
        match &mut *waker {
            Some(waker) => waker.clone_from(cx.waker()),
            None => *waker = Some(cx.waker().clone()),
        }
        false
    }

    /// Runs `future` until it is ready; `None` if the connection has to give way before.
    pub async fn unless_displaced<F: Future>(&self, future: F) -> Option<F::Output> {
        let mut future = pin!(future);
        poll_fn(|cx| match self.is_displaced(cx) {
            true => Poll::Ready(None),
            false => future.as_mut().poll(cx).map(Some),
        })
        .await
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.leave(&self.seat);
    }
}
