//! What customers leave behind: events with their time. Customers only append
//! them; everything that is counted or drawn is folded from them elsewhere,
//! so that presentation never touches measurement.

use std::time::Duration;

use crate::client::Shaken;
use crate::outcome::{Offered, Outcome};

/// One event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    /// Since the start of the run. Arrivals have their intended time, all
    /// others the time when they happened.
    pub(crate) at: Duration,
    pub(crate) what: What,
}

impl Event {
    /// From the intended start to the last byte, if it is a request that was answered.
    pub(super) fn response(&self) -> Option<Duration> {
        match &self.what {
            What::Request(Request { outcome: None, intended, .. }) => {
                Some(self.at.saturating_sub(*intended))
            }
            _ => None,
        }
    }
}

/// Whose a session is; by default of the first of each. There are a hundred of each at
/// most, and every customer has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Group {
    /// The class of the customer.
    pub(crate) class: u8,
    /// The entry of the arrivals that brought her.
    pub(crate) model: u8,
}

/// What happened.
#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    /// A customer was to arrive.
    Offered { group: Group },
    /// Too many in flight for this one.
    NotStarted { group: Group },
    /// A customer came back who had been disappointed.
    Returned { group: Group },
    /// A request that took too long was sent again.
    Reloaded { group: Group },
    /// A session began.
    Started { group: Group },
    /// An arrival or request began, this long after its intended start.
    Begun { late: Duration },
    /// The first handshake of a session is complete.
    Admitted { group: Group },
    /// A TCP connection was made.
    Connected { took: Duration },
    /// A handshake begins, with a ticket or without.
    Hello { offered: Offered },
    /// A handshake is complete.
    Handshaken(Shaken),
    /// A request has ended.
    Request(Request),
    /// A page offered nothing to go on with.
    Fallback(Fallback),
    /// A redirect was followed.
    Redirect,
    /// A request was sent again on a new connection.
    Retry,
    /// An answer was not as expected, or offered no way to go on.
    Unmet { page: u16, why: Why },
    /// A session ended.
    Ended { group: Group, outcome: Outcome, admitted: bool },
    /// How late the heartbeat of the event loop was.
    Heartbeat { late: Duration },
}

impl What {
    /// Whose it is, if it is counted by that.
    pub(crate) fn group(&self) -> Option<Group> {
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

/// What a customer did where the last page offered nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fallback {
    /// Took the id used last.
    LastId,
    /// Went to the page before it.
    Via,
    /// Went one page back.
    Back,
}

/// What of a page's expectations was not met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Why {
    /// One of its rules, by its index.
    Rule(u16),
    /// The last page offers no way to it.
    NotOffered,
    /// A value cannot be sent in its request.
    Unsendable,
}

/// What came in place of what was expected; the first of each kind on a thread.
#[derive(Clone, Debug)]
pub(crate) struct Example {
    pub(crate) page: u16,
    pub(crate) why: Why,
    pub(crate) came: String,
}

/// One request, answered or not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) session: u64,
    pub(crate) group: Group,
    pub(crate) page: u16,
    /// Intended start since the start of the run.
    pub(crate) intended: Duration,
    /// How late it really began.
    pub(crate) late: Duration,
    /// 0 if there was no answer.
    pub(crate) status: u16,
    pub(crate) ok: bool,
    /// Why not, if it ended without an answer.
    pub(crate) outcome: Option<Outcome>,
    /// From sending to first byte, and from first byte to last.
    pub(crate) first_byte: Duration,
    pub(crate) last_byte: Duration,
    pub(crate) received_bytes: u64,
}

/// Events of one thread, with its condition at the moment they were sent.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) thread: usize,
    /// Everything that happened before this is in this batch or an earlier
    /// one.
    pub(crate) until: Duration,
    pub(crate) events: Vec<Event>,
    pub(crate) examples: Vec<Example>,
    /// CPU time of the thread so far.
    pub(crate) cpu: Duration,
    pub(crate) in_flight: u64,
    /// Events dropped so far because nobody took them.
    pub(crate) lost: u64,
    /// The last batch.
    pub(crate) last: bool,
}
