//! The dispatcher of a core's admission queue: admits the next queued connection when the
//! controller allows it, and refuses those whose time is up.
//!
//! It runs after everything else that the event loop had to do: only then is it known
//! which requests of active sessions have arrived, and whether the backlog is below its
//! limit.

use crate::admission::decide::{Admitted, Decider, NewSession, SessionEntry};
use crate::admission::entrance::{Comes, Entered, RequestQueue, Verdict};
use crate::admission::queue::{AdmissionQueue, QueueLimits, Removed};
use crate::admission::starting::Starting;
use crate::admission::wake::Wake;
use crate::context::CoreContext;
use crate::listen::task::{Pending, Tasks};
use crate::places::{Full, Place, PlaceKind, Prefix};
use crate::refusal::refuse;
use crate::shutdown::Stage;
use crate::socket;
use crate::telemetry::labels::{Class, End, RoomVisit};
use std::cell::RefCell;
use std::net::IpAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tidegate_control::{Decision, Discipline};
use tidegate_trace::Outcome;
use tokio::sync::oneshot;
use tokio::task::yield_now;
use tokio::time::timeout_at;

/// When to look again whether entries of other cores have had their turn.
const BETWEEN_CORES: Duration = Duration::from_millis(2);

/// A new session in the queue.
pub struct Queued {
    new: NewSession,
    by: Newcomer,
}

/// By what a new session came.
enum Newcomer {
    /// By a connection. The tasks begin it when it is admitted, with the configuration that it was
    /// classified by.
    Connection(Pending, Rc<Tasks>),
    /// By a request on the connection of a proxy, which waits for the verdict.
    Request(oneshot::Sender<Verdict>, Comes),
}

/// The admission queue of a core and its dispatcher.
pub struct Dispatcher {
    /// With the configuration in force now.
    context: RefCell<Rc<CoreContext>>,
    decider: Rc<Decider>,
    queue: AdmissionQueue<Queued>,
    /// When to decide.
    pub wake: Rc<Wake>,
}

impl Dispatcher {
    /// An empty queue.
    pub fn new(decider: Rc<Decider>) -> Rc<Self> {
        let context = decider.context.clone();
        Rc::new(Self {
            queue: AdmissionQueue::new(
                queue_limits(&context),
                context.counters.clone(),
                context.shared.turns.clone(),
                context.core,
            ),
            wake: Rc::new(Wake::new(context.counters.clone())),
            decider,
            context: RefCell::new(context),
        })
    }

    /// Puts another configuration in force.
    pub fn renew(&self, context: Rc<CoreContext>) {
        self.queue.set_limits(queue_limits(&context));
        self.context.replace(context);
        // The policy may be another one.
        self.wake.decide_soon();
    }

    /// Takes a place for a connection. A newcomer in the queue may have to leave for it.
    /// `None` if there is none.
    pub fn take_place(&self, prefix: Prefix, kind: PlaceKind) -> Option<Place> {
        let places = self.context().places.clone();
        match places.make_room(prefix, kind) {
            Ok(()) => {}
            Err(Full::ForThisPrefix) => return None,
            Err(Full::UntilQueuedLeaves(other)) => {
                let now = Instant::now();
                let displaced = self.queue.pop_oldest_of(other, now)?;
                self.refuse(displaced, now, Some(End::Displaced));
            }
        }
        Some(places.take(prefix, kind))
    }

    fn context(&self) -> Rc<CoreContext> {
        self.context.borrow().clone()
    }

    /// Queues a new session. The dispatcher decides on it in the same turn of the event
    /// loop, unless others are before it.
    pub fn enqueue(&self, mut pending: Pending, new: NewSession, tasks: Rc<Tasks>) {
        pending.arrival.enter(tidegate_trace::Phase::Queue);
        if let Some(line) = &mut pending.arrival.line {
            line.pause();
        }
        let bytes = pending.first_flight.len();
        let prefix = pending.place.prefix();
        self.push(prefix, Queued { new, by: Newcomer::Connection(pending, tasks) }, bytes);
    }

    fn push(&self, prefix: Prefix, queued: Queued, bytes: usize) {
        let now = Instant::now();
        if self.queue.is_empty() || self.queue.newest_first(now) {
            self.wake.decide_from(now);
        }
        if queued.has_waited() {
            // They were offered when they came.
            self.queue.push_again(prefix, queued, bytes, now);
        } else {
            self.context().shared.controller().offered();
            self.queue.push(prefix, queued, bytes, now);
        }
        self.wake.notify();
    }

    /// Whether somebody waits on this core.
    pub fn is_crowded(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Dispatches until dropped.
    pub async fn run(self: Rc<Self>) {
        let mut again: Option<Instant> = None;
        loop {
            match again {
                None => self.wake.notified().await,
                Some(at) => drop(timeout_at(at.into(), self.wake.notified()).await),
            }
            // Active sessions first: what they have sent by now is read.
            yield_now().await;
            again = self.dispatch(Instant::now());
        }
    }

    /// Refuses all queued connections: the gate closes.
    pub fn refuse_all(&self) {
        let now = Instant::now();
        while let Some(oldest) = self.queue.pop_oldest(now) {
            self.refuse(oldest, now, None);
        }
    }

    /// Admits as many as the controller allows, and refuses those beyond a limit of the
    /// queue. Returns when to dispatch again, `None` if the queue is empty.
    fn dispatch(&self, now: Instant) -> Option<Instant> {
        let context = self.context();
        if context.shutdown.stage() >= Stage::Draining {
            self.refuse_all();
        }
        // Admissions first: no session is refused because it waited while the event loop
        // was busy.
        while now >= self.wake.next_decision() {
            let Some(next) = self.queue.next(now) else {
                // Where entries wait for their turn, another core decides first.
                self.wake.decide_from(now + Discipline::ask_again_after(BETWEEN_CORES));
                break;
            };
            let look = |queued: &Queued, _| (queued.has_left(), queued.new, queued.address());
            let (has_left, new, address) = self.queue.peek(next, look)?;
            if has_left {
                let left = self.queue.pop(next, now)?;
                self.hung_up(left, now);
                continue;
            }
            match self.decider.query_controller(self.queue.allowed_backlog(now), new.entry()) {
                Decision::Admit => self.admit(self.queue.admit(next, now)?, now),
                Decision::NotNow { retry_after } => match self.companion(new, address) {
                    Some(admitted) => self.admit_companion(self.queue.pop(next, now)?, admitted),
                    None => self.wake.decide_from(now + Discipline::ask_again_after(retry_after)),
                },
            }
        }
        while self.queue.exceeds_limits() {
            self.refuse(self.queue.pop_for_room(now)?, now, None);
        }
        self.queue.note_wait(now);
        while let Some(expired) = self.queue.pop_expired(now) {
            self.refuse(expired, now, None);
        }
        while self.drops_oldest(now) {
            self.refuse(self.queue.pop_oldest(now)?, now, None);
        }
        context.counters.held[Class::New].add(self.queue.mark_held() as u64);
        self.queue.expires(now).map(|at| at.min(self.wake.next_decision()))
    }

    /// Whether the policy refuses the oldest entry by its wait.
    fn drops_oldest(&self, now: Instant) -> bool {
        let waited = self.queue.oldest_wait(now);
        waited.is_some_and(|waited| self.decider.drops_oldest(waited))
    }

    /// Admits a new session.
    fn admit(&self, removed: Removed<Queued>, now: Instant) {
        let Removed { item: Queued { new, by }, held, waited } = removed;
        let counters = &self.context().counters;
        let from_room = matches!(&by, Newcomer::Request(_, comes) if comes.has_waited());
        let count = || {
            let shared = &self.context().shared;
            shared.room.note_admission(shared.unix_ms());
            match held {
                _ if from_room => counters.room_visits[RoomVisit::Admitted].add(1),
                false => counters.admitted[Class::New].add(1),
                true => counters.hold_admitted.add(1),
            }
        };
        match by {
            Newcomer::Connection(mut pending, tasks) => {
                let Some(admitted) = self.decider.admit_new(new) else {
                    let by = Newcomer::Connection(pending, tasks);
                    let item = Queued { new, by };
                    return self.refuse(Removed { item, held, waited }, now, None);
                };
                count();
                if let SessionEntry::Proven(session) = &admitted.session {
                    let address = pending.arrival.peer.ip();
                    self.decider.expect_companions(new, address, session.id());
                }
                pending.queued = waited;
                pending.place.change(PlaceKind::New);
                tasks.begin(pending, admitted);
            }
            Newcomer::Request(verdict, comes) => {
                let of_connection = match comes {
                    Comes::FromRoomOn(id) => Some(id),
                    Comes::Directly | Comes::FromRoom => None,
                };
                let Some((session, price)) = self.decider.admit_request(of_connection) else {
                    let item = Queued { new, by: Newcomer::Request(verdict, comes) };
                    return self.refuse(Removed { item, held, waited }, now, None);
                };
                count();
                let starting = Starting::new(&self.context(), &self.wake, price);
                if let Err(Ok(entered)) = verdict.send(Ok(Entered { session, starting })) {
                    entered.session.end_session();
                }
            }
        }
    }

    fn companion(&self, new: NewSession, address: Option<IpAddr>) -> Option<Admitted> {
        self.decider.admit_companion(new, address?)
    }

    /// Begins a queued connection of a session that was admitted.
    fn admit_companion(&self, removed: Removed<Queued>, admitted: Admitted) {
        let Newcomer::Connection(mut pending, tasks) = removed.item.by else { return };
        let counters = &self.context().counters;
        match removed.held {
            false => counters.admitted[Class::Returning].add(1),
            true => counters.hold_joined.add(1),
        }
        pending.queued = removed.waited;
        pending.place.change(PlaceKind::Unproven);
        tasks.begin(pending, admitted);
    }

    /// Refuses a queued session. `reason` if it is another than the verdict.
    fn refuse(&self, removed: Removed<Queued>, now: Instant, reason: Option<End>) {
        if removed.item.has_left() {
            return self.hung_up(removed, now);
        }
        let context = self.context();
        let may_enter = reason.is_none() && context.shutdown.stage() < Stage::Draining;
        let Queued { new, .. } = removed.item;
        let address = removed.item.address().filter(|_| may_enter);
        if let Some(admitted) = self.companion(new, address) {
            return self.admit_companion(removed, admitted);
        }
        if !removed.item.has_waited() {
            // Those of the room are as many as are to wait, and ask again.
            self.queue.note_refusal(now);
        }
        let counters = &context.counters;
        let has_room = address.is_some() && removed.item.has_room();
        let room = has_room.then(|| self.decider.admit_to_room(new, true)).flatten();
        let joins = room.is_some() && !address.is_some_and(|it| self.decider.counts_as_refused(it));
        match removed.held {
            // They were refused when they came.
            _ if removed.item.has_waited() => {}
            false if joins => {}
            false => counters.refused[Class::New].add(1),
            true if joins => counters.hold_joined.add(1),
            true => counters.hold_expired.add(1),
        }
        let end = reason.unwrap_or(refusal_of(removed.held));
        match removed.item.by {
            Newcomer::Connection(pending, tasks) => {
                if let Some(admitted) = room {
                    return begin_in_room(pending, admitted, &tasks);
                }
                counters.end(end);
                let peer = pending.arrival.peer;
                context.log_refusal(peer, Class::New, end, Some(removed.waited));
                refuse(context.config.admission.refuse, pending.arrival);
            }
            Newcomer::Request(verdict, _) => drop(verdict.send(Err(end))),
        }
    }

    /// Takes a new session into the waiting room without asking the controller: others are before
    /// it. It is counted with its first page. Beyond the room's share of the processors it is
    /// refused.
    pub fn let_wait(&self, pending: Pending, new: NewSession, tasks: &Rc<Tasks>) {
        let context = self.context();
        let CoreContext { shared, counters, .. } = &*context;
        match self.decider.admit_to_room(new, false) {
            Some(admitted) => begin_in_room(pending, admitted, tasks),
            None => {
                shared.controller().offered();
                counters.refused[Class::New].add(1);
                counters.end(End::Refused);
                context.log_refusal(pending.arrival.peer, Class::New, End::Refused, None);
                refuse(context.config.admission.refuse, pending.arrival);
            }
        }
    }

    /// The customer left before the decision.
    fn hung_up(&self, removed: Removed<Queued>, now: Instant) {
        let context = self.context();
        if !removed.item.has_waited() {
            context.counters.hold_left.add(1);
        }
        let Newcomer::Connection(Pending { mut arrival, .. }, _) = removed.item.by else {
            return self.queue.note_hang_up(now, removed.waited);
        };
        // They left when their last segment arrived.
        let ago = socket::silent_since_end(&arrival.socket);
        self.queue.note_hang_up(now, removed.waited.saturating_sub(ago));
        arrival.ends(Outcome::TimedOut);
        context.counters.end(End::HoldLeft);
        context.log_refusal(arrival.peer, Class::New, End::HoldLeft, Some(removed.waited));
    }
}

impl RequestQueue for Dispatcher {
    fn enqueue_request(
        &self,
        prefix: Prefix,
        bytes: usize,
        comes: Comes,
    ) -> oneshot::Receiver<Verdict> {
        let (verdict, receiver) = oneshot::channel();
        let by = Newcomer::Request(verdict, comes);
        self.push(prefix, Queued { new: NewSession::PlainHttp, by }, bytes);
        receiver
    }
}

/// A core's share of the configured limits of the queue.
fn queue_limits(context: &CoreContext) -> QueueLimits {
    let admission = &context.config.admission;
    QueueLimits {
        most: context.share_of(admission.hold_connections),
        most_bytes: context.share_of(admission.hold_bytes),
        most_time: admission.hold_time,
    }
}

impl Queued {
    /// Whether the customer has closed. Not known, and false, where further bytes arrived
    /// before.
    fn has_left(&self) -> bool {
        match &self.by {
            Newcomer::Connection(pending, _) => socket::has_ended(&pending.arrival.socket),
            Newcomer::Request(verdict, _) => verdict.is_closed(),
        }
    }

    /// The customer's address, of a connection.
    fn address(&self) -> Option<IpAddr> {
        match &self.by {
            Newcomer::Connection(pending, _) => Some(pending.arrival.peer.ip()),
            Newcomer::Request(..) => None,
        }
    }

    /// Whether its connection may be in the waiting room: it began when there was one.
    fn has_room(&self) -> bool {
        matches!(&self.by, Newcomer::Connection(_, tasks) if tasks.context.has_room())
    }

    /// Whether the customer has waited in the room.
    fn has_waited(&self) -> bool {
        matches!(&self.by, Newcomer::Request(_, comes) if comes.has_waited())
    }
}

/// Why the connection of a session that is refused ends.
fn refusal_of(held: bool) -> End {
    if held { End::HoldExpired } else { End::Refused }
}

fn begin_in_room(pending: Pending, admitted: Admitted, tasks: &Rc<Tasks>) {
    pending.place.change(PlaceKind::New);
    tasks.begin(pending, admitted);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listen::pipeline::Pipeline;
    use crate::listen::test_core::{TestCore, on_core};
    use crate::places::PrefixLengths;
    use std::net::TcpStream;

    /// A customer in the queue: their end of the connection.
    fn queued(core: &TestCore) -> TcpStream {
        let (pending, customer) = core.pending(PlaceKind::Queued);
        let Pipeline { dispatcher, tasks, .. } = &*core.pipeline;
        dispatcher.enqueue(pending, NewSession::PlainHttp, tasks.clone());
        customer
    }

    #[test]
    fn all_are_admitted_while_the_controller_allows_it() {
        on_core(async |core| {
            let _customers = [(); 3].map(|()| queued(&core));
            core.pipeline.dispatcher.dispatch(Instant::now());
            assert_eq!(core.context.shared.in_flight().handshakes, 3, "their tasks have begun");
            assert_eq!(core.context.counters.admitted[Class::New].get(), 3);
        });
    }

    #[test]
    fn those_of_the_room_wait_for_all_of_the_hold_time_however_many_asked_in_vain() {
        on_core(async |core| {
            let dispatcher = &core.pipeline.dispatcher;
            let hold_time = core.context.config.admission.hold_time;
            let prefix = PrefixLengths { ipv4: 24, ipv6: 56 }.prefix_of([127, 0, 0, 1].into());
            let ask = || dispatcher.enqueue_request(prefix, 100, Comes::FromRoom);
            let mut now = Instant::now();
            for _ in 0..8 {
                let _asks = ask();
                now += hold_time / 2;
                let in_vain = dispatcher.queue.pop_oldest(now).unwrap();
                dispatcher.refuse(in_vain, now, None);
            }
            let begin = Instant::now();
            let _many: Vec<_> = (0..40).map(|_| ask()).collect();
            assert!(dispatcher.queue.expires(now).unwrap() >= begin + hold_time);
        });
    }

    #[test]
    fn nobody_waits_longer_than_customers_stay() {
        on_core(async |core| {
            let dispatcher = &core.pipeline.dispatcher;
            let hold_time = core.context.config.admission.hold_time;
            let mut now = Instant::now();
            for _ in 0..4 {
                drop(queued(&core));
                now += Duration::from_millis(200);
                dispatcher.wake.decide_from(now);
                dispatcher.dispatch(now);
                assert!(dispatcher.queue.is_empty());
            }
            assert_eq!(core.context.counters.hold_left.get(), 4);
            assert_eq!(core.context.shared.in_flight().handshakes, 0, "all have left");
            let _stays = queued(&core);
            let wait = dispatcher.queue.expires(now).unwrap() - now;
            assert!(wait < hold_time / 2, "{wait:?}");
        });
    }
}
