//! The waiting room: who waits for admission, in the order in which they came.
//!
//! A place is in the customer's own token, so the room stores nothing that must outlive it. What
//! it keeps in memory are those that still ask for their page: from these follow places and
//! estimates. Admission is a threshold in the order of arrival that moves with what the controller
//! admits: whoever came before it asks the controller with their next request. It never moves
//! back.

mod admitted;
mod cpu_share;
mod estimate;

pub use cpu_share::{Asks, CpuShare};
pub use estimate::Estimate;

use self::admitted::Admitted;
use self::estimate::Admissions;
use crate::admission::tickets::SessionId;
use crate::admission::waiting_token::{WaitingId, WaitingToken};
use crate::limits::WAITING;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Lots of those who came before the opening, in microseconds before it: as many as an hour has,
/// so that few share a second.
const LOTS: u64 = 3_600_000_000;

/// How long a place is kept without a sign of its customer.
pub const KEPT: Duration = Duration::from_secs(300);
/// Shortest and longest time between two pages of a customer.
const REFRESH: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(30));
/// The same while nothing is known of how fast the line moves.
const REFRESH_UNKNOWN: Duration = Duration::from_secs(5);
/// A customer who is so much later than the page told the browser counts as gone.
const LATE: Duration = Duration::from_secs(15);
/// The rate of admissions that the threshold follows is measured over this.
const RECENT: Duration = Duration::from_secs(10);

/// The room of a gate, shared by its cores.
#[derive(Debug)]
pub struct WaitingRoom {
    state: Mutex<State>,
    waiting: AtomicU64,
    lapsed: AtomicU64,
    /// Until when the service has closed the line, in milliseconds since 1970.
    closed_until_ms: AtomicU64,
    /// The share of the processors for handshakes and pages.
    pub cpu: CpuShare,
    started: Instant,
    started_ms: u64,
}

/// A place in the line: by the time of arrival in microseconds, then by identifier.
type Rank = (u64, WaitingId);

#[derive(Debug, Default)]
struct State {
    /// Those that are here.
    line: BTreeMap<Rank, Waiting>,
    /// How many of them came in each second, for places.
    by_second: BTreeMap<u64, u32>,
    /// When each counts as gone, in milliseconds.
    due: BTreeSet<(u64, Rank)>,
    /// Those up to this rank may ask for admission.
    called: Rank,
    /// Calls that are due, as a fraction.
    calls_due: f64,
    admitted: Admitted,
    admissions: Admissions,
    /// Admissions from the room since the last tick.
    just_admitted: u64,
    /// Shortest time between pages, so that their CPU time stays within the share.
    least_refresh: Duration,
    ticked_ms: u64,
}

#[derive(Debug)]
struct Waiting {
    due_ms: u64,
    /// A request of theirs waits for the controller.
    asks: bool,
}

/// What a customer in the room learns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// Their token, as of now.
    pub token: WaitingToken,
    /// Their place in the line, from 1.
    pub place: u64,
    /// When they will probably be admitted, from now; `None` while too few were.
    pub estimate: Option<Estimate>,
    /// When they are to ask again.
    pub refresh: Duration,
    /// It is their turn: they are to ask the controller now, and then to tell what came of it by
    /// [`WaitingRoom::admits`] or [`WaitingRoom::asks_no_more`].
    pub may_ask: bool,
}

/// Orders a line: first come first served, or by lot among those who came before the opening.
#[derive(Clone, Copy, Debug, Default)]
pub struct Order {
    /// When admissions begin, in milliseconds since 1970, if that is set.
    pub opens_ms: Option<u64>,
    /// Nobody is admitted: the site is being maintained.
    pub shut: bool,
}

impl Order {
    /// The rank of a token. Before the opening the lot decides: the identifier is random, and
    /// the customer cannot read it.
    fn rank(self, token: &WaitingToken) -> Rank {
        let micros = match self.opens_ms {
            Some(opens) if token.arrived_ms < opens => {
                let lot = token.id.iter().take(8).fold(0, |lot, byte| lot << 8 | u64::from(*byte));
                opens.saturating_mul(1000).saturating_sub(1 + lot % LOTS)
            }
            _ => token.arrived_ms.saturating_mul(1000),
        };
        (micros, token.id)
    }

    fn is_open(self, now_ms: u64) -> bool {
        !self.shut && self.opens_ms.is_none_or(|opens| now_ms >= opens)
    }
}

impl Default for WaitingRoom {
    fn default() -> Self {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            state: Mutex::default(),
            waiting: AtomicU64::new(0),
            lapsed: AtomicU64::new(0),
            closed_until_ms: AtomicU64::new(0),
            cpu: CpuShare::default(),
            started: Instant::now(),
            started_ms: unix.as_millis() as u64,
        }
    }
}

impl WaitingRoom {
    /// The time by which the room goes, in milliseconds since 1970: the system's clock at the
    /// start, and since then one that nobody steps.
    pub fn now_ms(&self) -> u64 {
        self.started_ms.saturating_add(self.started.elapsed().as_millis() as u64)
    }

    /// Customers who wait.
    pub fn waiting(&self) -> u64 {
        self.waiting.load(Relaxed)
    }

    /// Customers who left the room without having been admitted.
    pub fn lapsed(&self) -> u64 {
        self.lapsed.load(Relaxed)
    }

    /// The service closes the line until then, in milliseconds since 1970; 0 opens it.
    pub fn close_until(&self, until_ms: u64) {
        self.closed_until_ms.store(until_ms, Relaxed);
    }

    /// Whether the service has closed the line.
    pub fn is_closed(&self, now_ms: u64) -> bool {
        self.closed_until_ms.load(Relaxed) > now_ms
    }

    /// A customer asks for a page, with the token that they were given if they show one that
    /// opens. A place lapses after [`KEPT`]: then, and where it was used for an admission, they get
    /// a new one at the end. `None`: the room is full, or the system has no random numbers.
    pub fn visit(
        &self,
        shown: Option<WaitingToken>,
        order: Order,
        now_ms: u64,
    ) -> Option<Standing> {
        let mut state = self.state();
        // Gates with one key may differ by their clocks.
        let shown = shown.map(|token| WaitingToken {
            arrived_ms: token.arrived_ms.min(now_ms),
            seen_ms: token.seen_ms.min(now_ms),
            ..token
        });
        let token = match shown.filter(|token| state.keeps(token, now_ms)) {
            Some(token) => WaitingToken { seen_ms: now_ms, ..token },
            None => WaitingToken::new(now_ms).ok()?,
        };
        let is_new = shown.is_none_or(|shown| shown.id != token.id);
        let rank = order.rank(&token);
        let before = state.line.get(&rank).map(|waiting| (waiting.due_ms, waiting.asks));
        if before.is_none() && state.line.len() >= WAITING {
            return None;
        }
        let (place, ahead) = state.place(rank);
        let window = state.admissions.window(now_ms);
        let refresh = state.refresh(rank, ahead, window.per_s());
        let asks = before.is_some_and(|(_, asks)| asks);
        let open = order.is_open(now_ms) && !self.is_closed(now_ms);
        let may_ask = open && !is_new && !asks && rank <= state.called;
        let due_ms = now_ms + (refresh.mul_f64(1.25) + LATE).as_millis() as u64;
        if let Some((due_ms, _)) = before {
            state.due.remove(&(due_ms, rank));
        } else {
            *state.by_second.entry(second_of(rank)).or_default() += 1;
        }
        state.due.insert((due_ms, rank));
        state.line.insert(rank, Waiting { due_ms, asks: asks || may_ask });
        self.waiting.store(state.line.len() as u64, Relaxed);
        let estimate = if open { window.estimate(place) } else { None };
        Some(Standing { token, place, estimate, refresh, may_ask })
    }

    /// A customer who asked is admitted, with the session of this identifier. Their place is used.
    pub fn admits(&self, token: &WaitingToken, order: Order, session: SessionId, now_ms: u64) {
        let mut state = self.state();
        state.leaves(order.rank(token));
        state.admitted.add(token.id, now_ms);
        if session != token.id {
            state.admitted.add(session, now_ms);
        }
        state.just_admitted += 1;
        self.waiting.store(state.line.len() as u64, Relaxed);
    }

    /// A customer who asked is not admitted, or left before the answer. Their place stays.
    pub fn asks_no_more(&self, token: &WaitingToken, order: Order) {
        if let Some(waiting) = self.state().line.get_mut(&order.rank(token)) {
            waiting.asks = false;
        }
    }

    /// Whether this identifier of a place was used for an admission, or a session of this
    /// identifier admitted, as far as the room remembers.
    pub fn has_admitted(&self, id: &SessionId) -> bool {
        self.state().admitted.has(id)
    }

    /// A new session was admitted, whether from the room or not.
    pub fn note_admission(&self) {
        let now_ms = self.now_ms();
        self.state().admissions.note(now_ms);
    }

    /// Moves the threshold, and strikes off those who have gone. `asking` requests from the room
    /// wait for the controller. Call it about ten times a second.
    pub fn tick(&self, order: Order, asking: u64, least_refresh: Duration, now_ms: u64) {
        let mut state = self.state();
        state.least_refresh = least_refresh;
        let lapsed = state.strike_off(now_ms);
        self.lapsed.fetch_add(lapsed, Relaxed);
        self.waiting.store(state.line.len() as u64, Relaxed);
        let elapsed_ms = now_ms.saturating_sub(std::mem::replace(&mut state.ticked_ms, now_ms));
        let just_admitted = std::mem::take(&mut state.just_admitted) as f64;
        if !order.is_open(now_ms) || self.is_closed(now_ms) {
            return;
        }
        let elapsed_s = elapsed_ms.min(1000) as f64 / 1e3;
        let per_s = state.admissions.rate(now_ms, RECENT);
        // The controller should always find somebody who asks, and no more than it admits in about
        // a second: those who ask at the same time enter in the order of their requests. Those who
        // were called come with their next request, or have gone.
        state.calls_due += match asking {
            0 => elapsed_s * (1.25 * per_s + 1.0),
            some if some as f64 <= per_s.max(2.0) => just_admitted,
            _ => 0.0,
        };
        state.call();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
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

    /// When to ask again: the sooner, the nearer the turn; and not all at once.
    fn refresh(&self, rank: Rank, ahead: u64, per_s: f64) -> Duration {
        let (shortest, longest) = REFRESH;
        let wanted = if rank <= self.called {
            shortest
        } else if per_s > 0.0 {
            let until_called_s = (ahead as f64 / per_s).min(longest.as_secs_f64() * 4.0);
            Duration::from_secs_f64(until_called_s / 4.0).clamp(shortest, longest)
        } else {
            REFRESH_UNKNOWN
        };
        let spread = 1.0 + f64::from(rank.1[15]) / 1020.0;
        let wanted = wanted.max(self.least_refresh).mul_f64(spread);
        // Whole seconds are what the header field can say.
        Duration::from_secs(wanted.as_secs_f64().round() as u64)
    }

    fn leaves(&mut self, rank: Rank) {
        let Some(waiting) = self.line.remove(&rank) else { return };
        self.due.remove(&(waiting.due_ms, rank));
        let second = second_of(rank);
        if let Some(count) = self.by_second.get_mut(&second) {
            *count -= 1;
            if *count == 0 {
                self.by_second.remove(&second);
            }
        }
    }

    /// Strikes off those who have gone. Returns how many.
    fn strike_off(&mut self, now_ms: u64) -> u64 {
        let mut gone = 0;
        while let Some((due_ms, rank)) = self.due.first().copied()
            && due_ms < now_ms
        {
            if self.line.get(&rank).is_some_and(|waiting| waiting.asks) {
                // Their request is here.
                self.due.remove(&(due_ms, rank));
                let due_ms = now_ms + LATE.as_millis() as u64;
                self.due.insert((due_ms, rank));
                self.line.insert(rank, Waiting { due_ms, asks: true });
                continue;
            }
            self.leaves(rank);
            gone += 1;
        }
        gone
    }

    /// Moves the threshold by the calls that are due.
    fn call(&mut self) {
        let calls = self.calls_due.floor();
        self.calls_due -= calls;
        let uncalled = self.line.range((Excluded(self.called), Unbounded));
        let last = uncalled.take(calls as usize).last().map(|(rank, _)| *rank);
        if let Some(rank) = last {
            self.called = rank;
        }
    }
}

fn second_of(rank: Rank) -> u64 {
    rank.0 / 1_000_000
}

#[cfg(test)]
mod tests;
