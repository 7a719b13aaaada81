//! Events of customers with their times. Customers only append events; all counting and
//! presentation happens elsewhere.

use std::time::Duration;

use tidegate_stats::Observation;

use crate::client::connection::{CompletedHandshake, Progress};
use crate::client::http::coding::Coding;
use crate::client::http::exchange::Answer;
use crate::outcome::{Cause, Failure, Offered, Outcome};
use crate::result::failure::Sample;

/// One event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    /// Since the start of the run. Arrivals have their intended time, all
    /// others the time when they happened.
    pub(crate) at: Duration,
    pub(crate) kind: EventKind,
}

impl Event {
    /// The response time of a request, from its intended start: to the last byte, or as long as
    /// it waited for a response that did not come.
    pub(super) fn response(&self) -> Option<Observation> {
        let EventKind::Request(Request { outcome, intended, .. }) = &self.kind else {
            return None;
        };
        let time = self.at.saturating_sub(*intended);
        match outcome {
            None => Some(Observation::Exact(time)),
            Some(Outcome::CutOff) => Some(Observation::Open(time)),
            Some(outcome) => outcome.is_wait_in_vain().then_some(Observation::Lost(time)),
        }
    }

    /// The response time, if it is the request of a page: those of assets are apart.
    pub(super) fn page_response(&self) -> Option<Observation> {
        match &self.kind {
            EventKind::Request(Request { asset: None, .. }) => self.response(),
            _ => None,
        }
    }
}

/// Sessions of the same class and the same entry of the arrivals; figures are kept for each
/// class and each entry. There are at most a hundred of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SessionGroup {
    /// The class of the customer.
    pub(crate) class: u8,
    /// The entry of the arrivals.
    pub(crate) model: u8,
}

/// Kind of an event.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EventKind {
    /// An arrival.
    Offered { group: SessionGroup },
    /// A session was not started: limit in flight.
    NotStarted { group: SessionGroup },
    /// A customer returned after a refusal or lost patience.
    Returned { group: SessionGroup },
    /// A request that exceeded the patience was repeated.
    Reloaded { group: SessionGroup },
    /// The answer was a page of a gate's waiting room, to a session of which a request was
    /// answered before, or not.
    WaitingPage { inside: bool },
    /// A customer was let in from the waiting room.
    LetIn(LetIn),
    /// A session began.
    Started { group: SessionGroup },
    /// An arrival or request began, this long after its intended start.
    Begun { late: Duration },
    /// The first handshake of a session is complete.
    Admitted { group: SessionGroup },
    /// A TCP connection was made to the address of this index.
    Connected { took: Duration, address: u8 },
    /// The address of this index did not accept a connection; the next was tried.
    PassedOver { address: u8 },
    /// A handshake begins, with a ticket or without.
    Hello { offered: Offered },
    /// A handshake is complete.
    Handshake(CompletedHandshake),
    /// A request has ended.
    Request(Request),
    /// A page and its assets have come, this long after the intended start of the page.
    PageLoad { page: u16, time: Observation },
    /// The page did not offer the next step.
    Fallback(Fallback),
    /// A redirect was followed.
    Redirect,
    /// A request was sent again on a new connection.
    Retry,
    /// A response failed a check, or did not offer the next step.
    CheckFailed { page: u16, expectation: Expectation },
    /// A session ended.
    Ended { group: SessionGroup, outcome: Outcome, admitted: bool },
    /// How late the heartbeat of the event loop was.
    Heartbeat { late: Duration },
}

/// A customer was let in from a gate's waiting room.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LetIn {
    /// How long they waited.
    pub(crate) after: Duration,
    /// Whether their first estimate was right, if they had one.
    pub(crate) as_estimated: Option<bool>,
    /// Pairs with others who were let in before them.
    pub(crate) pairs: u32,
    /// Those of these in which the other one should have come in after them.
    pub(crate) disordered: u32,
}

impl EventKind {
    /// The group, for events that are counted by group.
    pub(crate) fn group(&self) -> Option<SessionGroup> {
        match self {
            Self::Offered { group }
            | Self::NotStarted { group }
            | Self::Returned { group }
            | Self::Reloaded { group }
            | Self::Started { group }
            | Self::Admitted { group }
            | Self::Ended { group, .. } => Some(*group),
            Self::Request(request) => Some(request.group),
            _ => None,
        }
    }
}

impl From<Progress> for EventKind {
    fn from(step: Progress) -> Self {
        match step {
            Progress::PassedOver { address } => Self::PassedOver { address },
            Progress::Hello { offered } => Self::Hello { offered },
        }
    }
}

/// What a customer did when the last page did not offer the next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fallback {
    /// Took the id used last.
    LastId,
    /// Went to the page before it.
    Via,
    /// Went one page back.
    Back,
}

/// The expectation of a page that was not met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Expectation {
    /// One of its rules, by its index.
    Rule(u16),
    /// One of its soft checks, by its index among the rules.
    Soft(u16),
    /// The last page does not offer it.
    NotOffered,
    /// A value cannot be sent in its request.
    Unsendable,
    /// It answers with a page of the target.
    Here,
    /// A feeder has a row for the session that begins with it.
    Row { feeder: u8 },
}

/// What was found instead of the expectation; the first of each kind on a thread.
#[derive(Clone, Debug)]
pub(crate) struct Example {
    pub(crate) page: u16,
    pub(crate) expectation: Expectation,
    pub(crate) found: String,
}

/// One request, answered or not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) session: u64,
    pub(crate) group: SessionGroup,
    pub(crate) page: u16,
    /// One of the page's assets, by its index; `None` for the page itself.
    pub(crate) asset: Option<u16>,
    /// Intended start since the start of the run.
    pub(crate) intended: Duration,
    /// How late it really began.
    pub(crate) late: Duration,
    /// 0 if there was no answer.
    pub(crate) status: u16,
    pub(crate) ok: bool,
    /// Why not, if it ended without an answer.
    pub(crate) outcome: Option<Outcome>,
    /// Why not, if its answer did not suffice.
    pub(crate) failed: Option<Failure>,
    /// From sending to first byte, and from first byte to last.
    pub(crate) first_byte: Duration,
    pub(crate) last_byte: Duration,
    pub(crate) received_bytes: u64,
    /// The response has a content coding.
    pub(crate) encoded: bool,
    /// Length of its decoded body, as far as it was decoded.
    pub(crate) decoded_bytes: u64,
}

impl Request {
    /// A request that begins, without its end.
    pub(crate) fn begun(session: u64, group: SessionGroup, page: u16, intended: Duration) -> Self {
        Self {
            session,
            group,
            page,
            asset: None,
            intended,
            late: Duration::ZERO,
            status: 0,
            ok: false,
            outcome: None,
            failed: None,
            first_byte: Duration::ZERO,
            last_byte: Duration::ZERO,
            received_bytes: 0,
            encoded: false,
            decoded_bytes: 0,
        }
    }

    /// Takes over what is known of its response.
    pub(crate) fn answered(&mut self, answer: &Answer) {
        self.status = answer.status;
        self.first_byte = answer.first_byte - answer.sent;
        self.last_byte = answer.last_byte - answer.first_byte;
        self.received_bytes = answer.received_bytes;
        self.encoded = answer.coding != Coding::Identity;
    }

    /// Why it failed; `None` if it did not, or was open at the end of the run.
    pub(crate) fn cause(&self) -> Option<Cause> {
        match self.outcome {
            _ if self.ok => None,
            None => Some(Cause::of_answer(self.failed, self.status)),
            Some(Outcome::Completed | Outcome::CutOff) => None,
            Some(Outcome::Failed(failure)) => Some(Cause::Failed(failure)),
            Some(Outcome::Refused(refusal)) => Some(Cause::Refused(refusal)),
            Some(Outcome::Abandoned(stage)) => Some(Cause::Abandoned(stage)),
        }
    }
}

/// The page of a failed request, its asset if it was one, and the cause.
pub(crate) type FailureKey = (u16, Option<u16>, Cause);

/// A failed request; the first of its kind on a thread.
#[derive(Clone, Debug)]
pub(crate) struct FailureSample {
    pub(crate) key: FailureKey,
    pub(crate) sample: Sample,
}

/// Events of one thread, with its state at the time of sending.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) thread: usize,
    /// Everything that happened before this is in this batch or an earlier
    /// one.
    pub(crate) until: Duration,
    pub(crate) events: Vec<Event>,
    pub(crate) examples: Vec<Example>,
    pub(crate) samples: Vec<FailureSample>,
    /// CPU time of the thread so far.
    pub(crate) cpu: Duration,
    pub(crate) in_flight: u64,
    /// Events dropped so far.
    pub(crate) lost: u64,
    /// The last batch.
    pub(crate) last: bool,
}
