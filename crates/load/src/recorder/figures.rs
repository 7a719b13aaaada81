//! Everything that is kept of the measured window, and what every event counts as.

use std::collections::BTreeMap;

use tidegate_stats::Observation;

use super::event::{Event, EventKind, Expectation, Fallback, LetIn, Request};
use super::sum::PendingCounts;
use crate::client::connection::CompletedHandshake;
use crate::client::tls::algorithms::Agreed;
use crate::outcome::{Failure, Handshake, Offered, Outcome, status_class};
use crate::result::figures::AddressFigures;
use crate::result::saturation::MISSED;
use crate::result::tally::{Distributions, PageTally, entry};
use crate::totals::Totals;

/// Counts and distributions of the window.
#[derive(Debug, Default)]
pub(super) struct Figures {
    pub(super) totals: Totals,
    pub(super) distributions: Distributions,
    /// Full and resumed handshakes by what they agreed on.
    pub(super) agreed: Vec<(Agreed, [u64; 2])>,
    /// By index.
    pub(super) pages: Vec<PageTally>,
    /// By index.
    pub(super) addresses: Vec<AddressFigures>,
    /// Responses by status.
    pub(super) statuses: BTreeMap<u16, u64>,
}

impl Figures {
    pub(super) fn new(pages: usize) -> Self {
        Self { pages: vec![PageTally::default(); pages], ..Self::default() }
    }

    /// Adds the counts and response times of events.
    pub(super) fn add(&mut self, few: &PendingCounts) {
        few.add_to(&mut self.totals, &mut self.distributions.response);
    }

    /// Adds what else is kept of an event.
    pub(super) fn add_rest(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Begun { late } => self.distributions.start_delay.record(*late),
            EventKind::Heartbeat { late } => self.distributions.loop_delay.record(*late),
            EventKind::Connected { took, address } => {
                self.distributions.connect.record(*took);
                self.address(*address).into_iter().for_each(|it| it.connections += 1);
            }
            EventKind::PassedOver { address } => {
                self.address(*address).into_iter().for_each(|it| it.passed_over += 1);
            }
            EventKind::Handshake(shaken) => self.handshake(shaken),
            EventKind::Request(request) if request.asset.is_some() => {
                self.status(request.status);
                let page = self.pages.get_mut(request.page as usize);
                page.into_iter().for_each(|page| page.assets().request(request, event.response()));
            }
            EventKind::Request(request) => self.request(request, event.response()),
            EventKind::PageLoad { page, time } => {
                let page = self.pages.get_mut(*page as usize);
                page.into_iter().for_each(|page| page.assets().page_load.record(*time));
            }
            _ => {}
        }
    }

    fn address(&mut self, index: u8) -> Option<&mut AddressFigures> {
        self.addresses.get_mut(usize::from(index))
    }

    fn handshake(&mut self, shaken: &CompletedHandshake) {
        let [full, resumed] = entry(&mut self.agreed, shaken.agreed);
        match shaken.kind {
            Handshake::Full => {
                *full += 1;
                self.distributions.full_handshake.record(shaken.took);
            }
            Handshake::Resumed => {
                *resumed += 1;
                self.distributions.resumed_handshake.record(shaken.took);
            }
        }
    }

    fn status(&mut self, status: u16) {
        if status > 0 {
            *self.statuses.entry(status).or_default() += 1;
        }
    }

    fn request(&mut self, request: &Request, response: Option<Observation>) {
        self.status(request.status);
        if let Some(Observation::Exact(response)) = response {
            self.distributions.uncorrected.record(response.saturating_sub(request.late));
            self.distributions.first_byte.record(request.first_byte);
            self.distributions.last_byte.record(request.last_byte);
        }
        let Some(page) = self.pages.get_mut(request.page as usize) else { return };
        response.into_iter().for_each(|response| page.response.record(response));
        if request.ok {
            page.ok += 1;
        } else if request.outcome != Some(Outcome::CutOff) {
            page.failed += 1;
        }
    }
}

/// Adds one event to the counts.
pub(super) fn count(totals: &mut Totals, event: &Event) {
    match &event.kind {
        EventKind::Offered { .. } => totals.offered += 1,
        EventKind::NotStarted { .. } => totals.not_started += 1,
        EventKind::Returned { .. } => totals.sessions_returned += 1,
        EventKind::Reloaded { .. } => totals.requests_reloaded += 1,
        EventKind::WaitingPage { inside } => {
            totals.waiting_pages += 1;
            totals.waiting_pages_inside += u64::from(*inside);
        }
        EventKind::LetIn(LetIn { after, as_estimated, pairs, disordered }) => {
            totals.waited += 1;
            totals.waited_ms += after.as_millis() as u64;
            totals.waited_with_estimate += u64::from(as_estimated.is_some());
            totals.waited_as_estimated += u64::from(as_estimated.unwrap_or(false));
            totals.waited_pairs += u64::from(*pairs);
            totals.waited_pairs_disordered += u64::from(*disordered);
        }
        EventKind::Started { .. } => totals.started += 1,
        EventKind::Begun { late } => {
            totals.starts += 1;
            totals.missed_starts += u64::from(*late > MISSED);
        }
        EventKind::Admitted { .. } => totals.admitted += 1,
        EventKind::CheckFailed { expectation: Expectation::Soft(_), .. } => {
            totals.soft_checks_failed += 1;
        }
        EventKind::Connected { .. }
        | EventKind::PassedOver { .. }
        | EventKind::PageLoad { .. }
        | EventKind::Heartbeat { .. }
        | EventKind::CheckFailed { .. } => {}
        EventKind::Hello { offered: Offered::Ticket } => totals.resumed_attempted += 1,
        EventKind::Hello { offered } => {
            totals.full_attempted += 1;
            totals.resumption_without_ticket += u64::from(*offered == Offered::NoneLeft);
        }
        EventKind::Handshake(CompletedHandshake { kind: Handshake::Full, offered, .. }) => {
            totals.full_ok += 1;
            totals.resumption_declined += u64::from(*offered == Offered::Ticket);
        }
        EventKind::Handshake(CompletedHandshake { kind: Handshake::Resumed, .. }) => {
            totals.resumed_ok += 1
        }
        EventKind::Request(request) => {
            totals.received_bytes += request.received_bytes;
            totals.encoded_responses += u64::from(request.encoded);
            totals.decoded_bytes += request.decoded_bytes;
            let assets = u64::from(request.asset.is_some());
            if request.ok {
                totals.requests_ok += 1;
                totals.assets_ok += assets;
            } else if request.outcome == Some(Outcome::CutOff) {
                totals.requests_cut_off += 1;
            } else {
                totals.requests_failed += 1;
                totals.assets_failed += assets;
            }
            if let Some(Outcome::Failed(_) | Outcome::Refused(_)) = request.outcome {
                totals.connection_errors += 1;
            }
            if request.status > 0 {
                *totals
                    .responses_by_class
                    .entry(status_class(request.status).into())
                    .or_default() += 1;
            }
        }
        EventKind::Fallback(Fallback::Back) => totals.fallback_back += 1,
        EventKind::Fallback(Fallback::Via) => totals.fallback_via += 1,
        EventKind::Fallback(Fallback::LastId) => totals.fallback_last_id += 1,
        EventKind::Redirect => totals.redirects += 1,
        EventKind::Retry => totals.retries += 1,
        EventKind::Ended { outcome, admitted, .. } => ended(totals, *outcome, *admitted),
    }
}

fn ended(totals: &mut Totals, outcome: Outcome, admitted: bool) {
    match outcome {
        Outcome::Completed => totals.completed += 1,
        Outcome::Refused(kind) => {
            totals.refused += 1;
            *totals.refused_by_kind.entry(kind.name().into()).or_default() += 1;
        }
        Outcome::Failed(kind) => {
            totals.failed += 1;
            totals.failed_admitted += u64::from(admitted);
            totals.returning_refused += u64::from(kind == Failure::ReturningRefused);
            *totals.failed_by_kind.entry(kind.name().into()).or_default() += 1;
        }
        Outcome::Abandoned(stage) => {
            totals.abandoned += 1;
            totals.abandoned_admitted += u64::from(admitted);
            *totals.abandoned_by_stage.entry(stage.name().into()).or_default() += 1;
        }
        Outcome::CutOff => totals.cut_off += 1,
    }
}
