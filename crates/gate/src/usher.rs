//! Sees to those who wait in a core's line: asks for them, leads them in, and
//! turns them away when their time is up.

use crate::account::End;
use crate::bell::Tide;
use crate::core::Core;
use crate::door::Newcomer;
use crate::life::{self, Open};
use crate::socket::{self, Arrival};
use std::rc::Rc;
use std::time::{Duration, Instant};
use tidegate_control::Decision;
use tokio::time::sleep_until;

/// A connection that waits for the next budget.
pub struct Held {
    arrival: Arrival,
    hello: Vec<u8>,
    newcomer: Newcomer,
    _open: Open,
}

/// Time between two questions for those who wait: not so short that asking is
/// work, and not so long that a lull passes or a change of plan is missed.
const BETWEEN: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(10));

impl Core {
    /// Puts a connection into the line, if need be in the place of who has
    /// waited longest; refuses it where there is no room at all. It is worth
    /// asking for it in `retry_after`.
    pub fn hold(self: &Rc<Self>, held: Held, retry_after: Duration) {
        let now = Instant::now();
        let bytes = held.hello.len();
        let mut held = held;
        while self.bell.tide() == Tide::Open {
            let was_empty = self.line.is_empty();
            match self.line.join(held, bytes, now) {
                Ok(()) => {
                    self.counters.held[0].add(1);
                    if was_empty {
                        self.ask_at.set(now + retry_after.clamp(BETWEEN.0, BETWEEN.1));
                        self.someone_waits.notify_one();
                    }
                    return;
                }
                Err(back) => held = back,
            }
            match self.line.take_oldest(now) {
                Some(oldest) => self.waited_in_vain(oldest, now),
                None => break,
            }
        }
        self.counters.refused[0].add(1);
        self.counters.end(End::Refused);
        self.line.turn_away(now);
        self.refuse(held.arrival.socket);
    }

    /// Sees to the line for ever.
    pub async fn usher(self: Rc<Self>) {
        loop {
            self.someone_waits.notified().await;
            while let Some(again) = self.see_to_line(Instant::now()) {
                sleep_until(again.into()).await;
            }
        }
    }

    /// Turns away everybody who waits: the gate closes.
    pub fn clear_line(&self) {
        let now = Instant::now();
        while let Some(held) = self.line.take_oldest(now) {
            self.waited_in_vain(held, now);
        }
    }

    /// Leads in whom the controller lets in and turns away whose time is up;
    /// when to come again, `None` if nobody waits.
    fn see_to_line(self: &Rc<Self>, now: Instant) -> Option<Instant> {
        loop {
            let expires = self.line.expires(now)?;
            if expires <= now {
                let oldest = self.line.take_oldest(now)?;
                self.waited_in_vain(oldest, now);
            } else if now < self.ask_at.get() {
                return Some(expires.min(self.ask_at.get()));
            } else if self.line.look(now, Held::has_left)? {
                drop(self.line.take(now));
                self.left();
            } else {
                match self.ask_again() {
                    Decision::Admit => self.lead_in(self.line.take(now)?, now),
                    Decision::NotNow { retry_after } => {
                        self.ask_at.set(now + retry_after.clamp(BETWEEN.0, BETWEEN.1));
                    }
                }
            }
        }
    }

    fn lead_in(self: &Rc<Self>, held: Held, now: Instant) {
        match self.admit(held.newcomer) {
            Some(pass) => {
                self.counters.hold_admitted[0].add(1);
                life::begin(self, held.arrival, life::Start::Admitted(held.hello, pass));
            }
            None => self.waited_in_vain(held, now),
        }
    }

    fn waited_in_vain(&self, held: Held, now: Instant) {
        if held.has_left() {
            return self.left();
        }
        self.line.turn_away(now);
        self.counters.hold_expired[0].add(1);
        self.counters.end(End::HoldExpired);
        self.refuse(held.arrival.socket);
    }

    fn left(&self) {
        self.counters.hold_left[0].add(1);
        self.counters.end(End::HoldLeft);
    }
}

impl Held {
    /// A connection, its hello as received, and what is known of the customer.
    pub fn new(core: &Rc<Core>, arrival: Arrival, hello: Vec<u8>, newcomer: Newcomer) -> Self {
        Self { arrival, hello, newcomer, _open: Open::new(core) }
    }

    /// Whether the customer hung up. Unknown, and no, where she sent more first.
    fn has_left(&self) -> bool {
        socket::has_ended(&self.arrival.socket)
    }
}
