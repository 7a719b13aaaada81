//! The waiting room: who waits for admission, in the order in which they came.
//!
//! A place is in the customer's own token, so the room stores nothing that must outlive it. What
//! it keeps in memory are those that still ask for their page: from these follow places and
//! estimates. Admission is a threshold in the order of arrival that moves with what the controller
//! admits: whoever came before it asks the controller with their next request. It never moves
//! back, unless another opening orders all anew.

mod admitted;
mod calls;
mod closing;
mod cpu_share;
mod estimate;
mod order;
mod refresh;

pub use closing::{CLOSED_FOR, Closing};
pub use cpu_share::{Asks, CpuShare, least_refresh};
pub use estimate::Estimate;
pub use order::{Doors, Order};

use self::admitted::Admitted;
pub use self::admitted::MOST_TOLD_BYTES;
use self::calls::{PUNCTUAL_MS, Pace, Punctual};
use self::closing::LastWord;
use self::estimate::LastMinute;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Most customers in the waiting room of a gate: about 200 bytes each.
pub const WAITING: usize = 200_000;

/// How long a place is kept without a sign of its customer.
pub const KEPT: Duration = Duration::from_secs(300);
/// A customer who is so much later than the page told the browser counts as gone.
const LATE: Duration = Duration::from_secs(15);

/// The room of a gate, shared by its cores. Times are in milliseconds since 1970.
#[derive(Debug, Default)]
pub struct WaitingRoom {
    state: Mutex<State>,
    waiting: AtomicU64,
    /// Somebody waits who was not called.
    is_first: AtomicBool,
    lapsed: AtomicU64,
    /// What the service said last of the line.
    word: Mutex<LastWord>,
    /// The share of the processors for handshakes and pages.
    pub cpu: CpuShare,
}

/// Identifies a place in the room, and the session of whoever is admitted from it: random,
/// unguessable, never sent outside a token.
pub type WaitingId = [u8; 16];

/// What a customer's token says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingToken {
    /// The place.
    pub id: WaitingId,
    /// When the customer came, in milliseconds since 1970.
    pub arrived_ms: u64,
    /// When they were last seen, in milliseconds since 1970.
    pub seen_ms: u64,
}

impl WaitingToken {
    /// A new place for somebody who comes now.
    pub fn new(id: WaitingId, now_ms: u64) -> Self {
        Self { id, arrived_ms: now_ms, seen_ms: now_ms }
    }
}

/// A place in the line: by the time of arrival in microseconds, then by identifier.
type Rank = (u64, WaitingId);

#[derive(Debug, Default)]
struct State {
    /// The opening by which the line is ordered.
    opens_ms: Option<u64>,
    /// Those that are here.
    line: BTreeMap<Rank, Waiting>,
    /// How many of them came in each second, for places.
    by_second: BTreeMap<u64, u32>,
    /// Since when the line has not been empty, in milliseconds since 1970.
    stands_since_ms: u64,
    /// When each counts as gone, in milliseconds.
    due: BTreeSet<(u64, Rank)>,
    /// Those up to this rank may ask for admission.
    called: Rank,
    /// Places of which a request waits for the controller. A place whose token is of a clock ahead
    /// of this one has another rank with each visit, and asks once at a time nevertheless.
    asking: HashSet<WaitingId>,
    /// Calls that are due, as a fraction.
    calls_due: f64,
    pace: Pace,
    /// When somebody asked for a page last.
    visited_ms: u64,
    /// How many of those who were called ask when they should.
    punctual: Punctual,
    admitted: Admitted,
    admissions: LastMinute,
    /// Those who have gone without having been admitted, and those who came back after that.
    gone: LastMinute,
    back: LastMinute,
    /// For how long customers were in the line of whom it is known since whether they stayed, in
    /// milliseconds.
    watched_ms: LastMinute,
    /// Shortest time between pages, so that their CPU time stays within the share.
    least_refresh: Duration,
    ticked_ms: u64,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// When they asked last.
    seen_ms: u64,
    /// When their next request is due.
    next_ms: u64,
    /// When they count as gone without one.
    due_ms: u64,
    /// They were called while their next request was still to come.
    expected: bool,
}

/// What a customer in the room learns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// Their token, as of now.
    pub token: WaitingToken,
    /// They have come now: they had no place, or it was not kept.
    pub came: bool,
    /// Their place in the line, from 1.
    pub place: u64,
    /// Whether anybody is admitted.
    pub doors: Doors,
    /// When they will probably be admitted, from now; `None` while too few were, or nobody is.
    pub estimate: Option<Estimate>,
    /// When they are to ask again.
    pub refresh: Duration,
    /// It is their turn: they are to ask the controller now, and then to tell what came of it by
    /// [`WaitingRoom::admits`] or [`WaitingRoom::asks_no_more`].
    pub may_ask: bool,
}

impl WaitingRoom {
    /// Customers who wait.
    pub fn waiting(&self) -> u64 {
        self.waiting.load(Relaxed)
    }

    /// Whether somebody waits who was not called, so that whoever comes newly is behind them. Where
    /// all were called, the controller admits whoever asks: a line does not last for as long as
    /// newcomers keep it up.
    pub fn someone_is_first(&self) -> bool {
        self.is_first.load(Relaxed)
    }

    /// Customers who left the room without having been admitted.
    pub fn lapsed(&self) -> u64 {
        self.lapsed.load(Relaxed)
    }

    /// The service closes the line for so long; for no time: it opens it.
    pub fn close_for(&self, time: Duration, now_ms: u64) {
        self.word().say(time, now_ms);
    }

    /// What the service said last of the line, for whoever takes the gate's place.
    pub fn closing(&self) -> Closing {
        self.word().closing
    }

    /// The same for the other gates of a fleet, if that has changed since the last call.
    pub fn take_closing(&self, now_ms: u64) -> Option<Closing> {
        self.word().take_untold(now_ms)
    }

    /// What the service said last to another gate.
    pub fn expect_closing(&self, closing: Closing, now_ms: u64) {
        self.word().hear(closing, now_ms);
    }

    /// Whether anybody is admitted.
    pub fn doors(&self, order: Order, now_ms: u64) -> Doors {
        if order.shut {
            Doors::Maintenance
        } else if self.closing().until_ms > now_ms {
            Doors::Closed
        } else if order.opens_ms.is_some_and(|opens| now_ms < opens) {
            Doors::Before
        } else {
            Doors::Open
        }
    }

    /// A customer asks for a page, with the token that they were given if they show one that
    /// opens. A place lapses after [`KEPT`]: then, and where it was used for an admission, they get
    /// a new one at the end, with an identifier of `new_id`. `None`: the room is full, or there is
    /// no identifier.
    pub fn visit(
        &self,
        shown: Option<WaitingToken>,
        order: Order,
        now_ms: u64,
        new_id: impl FnOnce() -> Option<WaitingId>,
    ) -> Option<Standing> {
        let mut state = self.state();
        state.follows(order);
        state.visited_ms = now_ms;
        // Gates with one key may differ by their clocks.
        let shown = shown.map(|token| WaitingToken {
            arrived_ms: token.arrived_ms.min(now_ms),
            seen_ms: token.seen_ms.min(now_ms),
            ..token
        });
        let token = match shown.filter(|token| state.keeps(token, now_ms)) {
            Some(token) => WaitingToken { seen_ms: now_ms, ..token },
            None => WaitingToken::new(new_id()?, now_ms),
        };
        let is_new = shown.is_none_or(|shown| shown.id != token.id);
        let rank = order.rank(&token);
        let before = state.line.get(&rank).copied();
        if before.is_none() && state.line.len() >= WAITING {
            return None;
        }
        if state.line.is_empty() {
            state.stands_since_ms = now_ms;
        }
        let (place, ahead) = state.place(rank);
        let window = state.admissions.window(now_ms);
        let doors = self.doors(order, now_ms);
        let refresh = match doors {
            Doors::Open => state.refresh(rank, ahead, window.per_s(), now_ms),
            Doors::Before => state.refresh_before(rank, order.opens_ms.unwrap_or(now_ms), now_ms),
            Doors::Closed | Doors::Maintenance => state.refresh_seldom(rank, now_ms),
        };
        let open = doors == Doors::Open;
        let may_ask = open && !is_new && rank <= state.called && !state.asking.contains(&token.id);
        let next_ms = now_ms + refresh.as_millis() as u64;
        let due_ms = next_ms + (refresh / 4 + LATE).as_millis() as u64;
        let expected = rank <= state.called;
        if let Some(before) = before {
            state.due.remove(&(before.due_ms, rank));
            state.notes_request(&token.id, before, now_ms);
        } else {
            if !is_new {
                state.back.note(now_ms);
            }
            *state.by_second.entry(second_of(rank)).or_default() += 1;
        }
        if may_ask {
            state.asking.insert(token.id);
        }
        state.due.insert((due_ms, rank));
        state.line.insert(rank, Waiting { seen_ms: now_ms, next_ms, due_ms, expected });
        self.tell(&state);
        // Before the line began, more were admitted: the service had not been full.
        let since_ms = state.stands_since_ms;
        let moved = state.admissions.since(since_ms, now_ms);
        let estimate = moved.estimate(place, state.leave_per_s(now_ms)).filter(|_| open);
        Some(Standing { token, came: is_new, place, doors, estimate, refresh, may_ask })
    }

    /// A customer who asked is admitted, with the session of this identifier. Their place is used.
    pub fn admits(&self, token: &WaitingToken, order: Order, session: WaitingId, now_ms: u64) {
        let mut state = self.state();
        state.asking.remove(&token.id);
        state.leaves(order.rank(token));
        state.admitted.add(token.id, now_ms);
        if session != token.id {
            state.admitted.add(session, now_ms);
        }
        self.tell(&state);
    }

    /// A customer who asked is not admitted, or left before the answer. Their place stays.
    pub fn asks_no_more(&self, token: &WaitingToken, order: Order, now_ms: u64) {
        let mut state = self.state();
        state.pace.somebody_asked_in_vain();
        state.asking.remove(&token.id);
        if let Some(waiting) = state.line.get_mut(&order.rank(token)) {
            // Their page came only now.
            waiting.next_ms += now_ms.saturating_sub(token.seen_ms);
        }
    }

    /// The places that were used so lately that their tokens are still good, for the gate that
    /// takes this one's place.
    pub fn used(&self, now_ms: u64) -> Vec<u8> {
        self.state().admitted.since(now_ms.saturating_sub(KEPT.as_millis() as u64))
    }

    /// Places that were used, for the other gates of a fleet, the oldest of which they were not
    /// told: at most [`MOST_TOLD_BYTES`].
    pub fn take_used(&self) -> Vec<u8> {
        self.state().admitted.take_untold()
    }

    /// What [`WaitingRoom::take_used`] returned could not be told.
    pub fn put_back_used(&self, used: &[u8]) {
        self.state().admitted.put_back_untold(used);
    }

    /// Counts places as used that another gate has admitted: [`WaitingRoom::used`] or
    /// [`WaitingRoom::take_used`] of it.
    pub fn expect_used(&self, used: &[u8]) {
        self.state().admitted.add_all(used);
    }

    /// Whether this identifier of a place was used for an admission, or a session of this
    /// identifier admitted, as far as the room remembers.
    pub fn has_admitted(&self, id: &WaitingId) -> bool {
        self.state().admitted.has(id)
    }

    /// A new session was admitted, whether from the room or not.
    pub fn note_admission(&self, now_ms: u64) {
        self.state().admissions.note(now_ms);
    }

    /// Moves the threshold, and strikes off those who have gone. `asking` requests from the room
    /// wait for the controller. Call it about ten times a second.
    pub fn tick(&self, order: Order, asking: u64, least_refresh: Duration, now_ms: u64) {
        let mut state = self.state();
        state.follows(order);
        state.least_refresh = least_refresh;
        let lapsed = state.strike_off(now_ms);
        self.lapsed.fetch_add(lapsed, Relaxed);
        let elapsed_ms = now_ms.saturating_sub(std::mem::replace(&mut state.ticked_ms, now_ms));
        if self.doors(order, now_ms) == Doors::Open {
            state.call(asking as f64, elapsed_ms.min(1000) as f64 / 1e3, now_ms);
        }
        self.tell(&state);
    }

    /// Tells of the line what is asked for without its lock.
    fn tell(&self, state: &State) {
        self.waiting.store(state.line.len() as u64, Relaxed);
        let last = state.line.last_key_value();
        self.is_first.store(last.is_some_and(|(rank, _)| *rank > state.called), Relaxed);
    }

    fn word(&self) -> MutexGuard<'_, LastWord> {
        self.word.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// With another opening all have another rank: who is here stands there with their next request,
    /// and nobody is called by a rank of before.
    fn follows(&mut self, order: Order) {
        if self.opens_ms != order.opens_ms {
            self.opens_ms = order.opens_ms;
            self.line.clear();
            self.by_second.clear();
            self.due.clear();
            self.called = Rank::default();
            self.pace = Pace::default();
        }
    }

    /// Whether a token's place is kept.
    fn keeps(&self, token: &WaitingToken, now_ms: u64) -> bool {
        let lapses_ms = token.seen_ms.saturating_add(KEPT.as_millis() as u64);
        now_ms <= lapses_ms && self.admitted.may_be_unused(&token.id, token.seen_ms)
    }

    /// The place of a rank, from 1, and how many before it are not yet called, up to a second's.
    fn place(&self, rank: Rank) -> (u64, u64) {
        let own = second_of(rank);
        let same = self.line.range((own * 1_000_000, WaitingId::default())..rank).count() as u64;
        let earlier = |from: u64| {
            let seconds = self.by_second.range(from.min(own)..own);
            seconds.map(|(_, count)| u64::from(*count)).sum::<u64>()
        };
        let called = second_of(self.called) + 1;
        let ahead = if rank <= self.called { 0 } else { earlier(called) + same };
        (1 + earlier(0) + same, ahead)
    }

    /// The probability with which a customer who waits leaves for good, per second: those who left
    /// by the time that was watched, since a line that grows is longer than it was when they left.
    fn leave_per_s(&mut self, now_ms: u64) -> f64 {
        let for_good = self.gone.number(now_ms) - self.back.number(now_ms);
        1e3 * for_good.max(0.0) / self.watched_ms.number(now_ms).max(1e3)
    }

    fn leaves(&mut self, rank: Rank) -> Option<Waiting> {
        let waiting = self.line.remove(&rank)?;
        self.due.remove(&(waiting.due_ms, rank));
        let second = second_of(rank);
        if let Some(count) = self.by_second.get_mut(&second) {
            *count -= 1;
            if *count == 0 {
                self.by_second.remove(&second);
            }
        }
        Some(waiting)
    }

    /// Strikes off those who have gone. Returns how many.
    fn strike_off(&mut self, now_ms: u64) -> u64 {
        let mut gone = 0;
        while let Some((due_ms, rank)) = self.due.first().copied()
            && due_ms < now_ms
        {
            let asks = self.asking.contains(&rank.1);
            if let Some(waiting) = self.line.get(&rank).copied().filter(|_| asks) {
                // Their request is here.
                self.due.remove(&(due_ms, rank));
                let due_ms = now_ms + LATE.as_millis() as u64;
                self.due.insert((due_ms, rank));
                self.line.insert(rank, Waiting { due_ms, ..waiting });
                continue;
            }
            if let Some(waiting) = self.leaves(rank) {
                if waiting.expected {
                    self.punctual.note(false);
                }
                // They left at some time before their next request.
                self.watched_ms.add((waiting.next_ms - waiting.seen_ms) / 2, now_ms);
            }
            self.gone.note(now_ms);
            gone += 1;
        }
        gone
    }

    /// Notes that somebody is still here and, of a customer who was called, whether in time.
    fn notes_request(&mut self, id: &WaitingId, waiting: Waiting, now_ms: u64) {
        self.watched_ms.add(now_ms.saturating_sub(waiting.seen_ms), now_ms);
        // A request too many, as of a second window, says nothing.
        let is_due = now_ms + PUNCTUAL_MS >= waiting.next_ms;
        if waiting.expected && is_due && !self.asking.contains(id) {
            self.punctual.note(now_ms <= waiting.next_ms + PUNCTUAL_MS);
        }
    }
}

fn second_of(rank: Rank) -> u64 {
    rank.0 / 1_000_000
}

#[cfg(test)]
mod tests;
