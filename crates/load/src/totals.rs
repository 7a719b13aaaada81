//! Counts of a stretch of time.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::counted::counted;
use crate::outcome::Name;

counted! {
    /// Counts of an interval.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    #[serde(default)]
    pub struct Totals {
        /// Sessions offered by the schedule.
        pub offered: u64,
        /// Additional sessions of customers who returned after a refusal or lost patience.
        pub sessions_returned: u64,
        /// Sessions started.
        pub started: u64,
        /// Sessions offered or returned but not started: limit in flight.
        pub not_started: u64,
        /// Sessions whose first handshake completed.
        pub admitted: u64,
        /// Sessions refused.
        pub refused: u64,
        /// The same by kind: `reset`, `alert`, `closed`.
        pub refused_by_kind: BTreeMap<Name, u64>,
        /// Sessions that failed.
        pub failed: u64,
        /// The same by kind, see [`Failure`](crate::outcome::Failure).
        pub failed_by_kind: BTreeMap<Name, u64>,
        /// Sessions abandoned by an impatient customer.
        pub abandoned: u64,
        /// The same by the stage of the request.
        pub abandoned_by_stage: BTreeMap<Name, u64>,
        /// Admitted sessions that were abandoned.
        pub abandoned_admitted: u64,
        /// Admitted sessions that failed.
        pub failed_admitted: u64,
        /// Sessions completed.
        pub completed: u64,
        /// Sessions still running at the end of the run.
        pub cut_off: u64,
        /// Admitted sessions of which a later connection was refused (also in `failed`).
        pub returning_refused: u64,
        /// Requests answered completely with an allowed status.
        pub requests_ok: u64,
        /// Requests without a response, or with a status that the page does not allow.
        pub requests_failed: u64,
        /// Assets of pages among `requests_ok`.
        pub assets_ok: u64,
        /// Assets of pages among `requests_failed`.
        pub assets_failed: u64,
        /// Requests without a response because a connection was refused, failed or broke (also in
        /// `requests_failed`).
        pub connection_errors: u64,
        /// Requests still open at the end of the run; neither ok nor failed.
        pub requests_cut_off: u64,
        /// Soft checks that did not hold.
        pub soft_checks_failed: u64,
        /// Responses by class of status: `2xx` and so on.
        pub responses_by_class: BTreeMap<Name, u64>,
        /// Bytes of responses with heads, without TLS; for HTTP/2 with frames.
        pub received_bytes: u64,
        /// Responses with a content coding, such as gzip.
        pub encoded_responses: u64,
        /// Bytes of their bodies after decoding. Only bodies that a page needs are decoded, and at most
        /// 256 KiB of each.
        pub decoded_bytes: u64,
        /// Repetitions of requests that exceeded the patience (within the same request).
        pub requests_reloaded: u64,
        /// Pages of a gate's waiting room (within the same request).
        pub waiting_pages: u64,
        /// Requests that were let in from the waiting room. Those who left it are
        /// `abandoned_by_stage.waiting`.
        pub waited: u64,
        /// How long these waited together, in milliseconds.
        pub waited_ms: u64,
        /// Pages of the waiting room for sessions of which a request was answered before.
        pub waiting_pages_inside: u64,
        /// Of `waited`, those whose first page with an estimate was right within a third, or
        /// within their longest time between two pages.
        pub waited_as_estimated: u64,
        /// Of `waited`, those who had an estimate.
        pub waited_with_estimate: u64,
        /// Pairs of customers who were let in one after the other, each with the last
        /// thousand before.
        pub waited_pairs: u64,
        /// Of these, those of which the one who came later was let in before the other by more
        /// than twice that one's longest time between two pages.
        pub waited_pairs_disordered: u64,
        /// Redirects followed (within the same request).
        pub redirects: u64,
        /// Requests repeated because the server had just closed the connection.
        pub retries: u64,
        /// Steps not offered by the page for which the last id was used.
        pub fallback_last_id: u64,
        /// Steps replaced by the page that leads there.
        pub fallback_via: u64,
        /// Steps replaced by going one page back.
        pub fallback_back: u64,
        /// Full handshakes started.
        pub full_attempted: u64,
        /// Full handshakes completed.
        pub full_ok: u64,
        /// Handshakes started with a ticket.
        pub resumed_attempted: u64,
        /// Handshakes resumed.
        pub resumed_ok: u64,
        /// Handshakes with a ticket that the server answered with a full handshake (also in
        /// `full_ok`).
        pub resumption_declined: u64,
        /// Handshakes started full because no ticket was available, although the share of full
        /// handshakes required a resumption (also in `full_attempted`).
        pub resumption_without_ticket: u64,
        /// Arrivals and requests started by the load generator.
        pub starts: u64,
        /// Starts later than [`MISSED`](crate::result::saturation::MISSED).
        pub missed_starts: u64,
    }
}

impl Totals {
    /// Requests, answered as the page allows or not.
    pub fn requests(&self) -> u64 {
        self.requests_ok.saturating_add(self.requests_failed)
    }

    /// Responses of a class of status, such as `4xx`.
    pub fn responses(&self, class: &str) -> u64 {
        self.responses_by_class.get(class).copied().unwrap_or_default()
    }

    /// Requests without a response that exceeded the patience.
    pub fn timed_out(&self) -> u64 {
        let answered = self.responses_by_class.values().copied().fold(0, u64::saturating_add);
        self.requests().saturating_sub(answered).saturating_sub(self.connection_errors)
    }

    /// Sessions that ended by themselves.
    pub fn ended(&self) -> u64 {
        self.completed + self.refused + self.failed + self.abandoned
    }

    /// Share of the admitted sessions that ended which completed; 0 if none ended.
    pub fn completed_ratio(&self) -> f64 {
        share(self.completed, self.admitted_ended())
    }

    /// Admitted sessions that ended by themselves.
    pub fn admitted_ended(&self) -> u64 {
        self.completed + self.abandoned_admitted + self.failed_admitted
    }

    /// Share of the completed handshakes that were full; 0 if none completed.
    pub fn full_handshake_share(&self) -> f64 {
        share(self.full_ok, self.full_ok + self.resumed_ok)
    }
}

/// `part / whole`, 0 if the whole is 0.
pub(crate) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
