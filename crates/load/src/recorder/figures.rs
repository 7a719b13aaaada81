//! Counts and distributions of one stretch of time.

use std::cmp::Reverse;

use tidegate_stats::Latency;

use super::event::{Event, Fallback, Request, What};
use crate::algorithms::Agreed;
use crate::client::Shaken;
use crate::driver::MISSED;
use crate::outcome::{Failure, Handshake, Offered, Outcome};
use crate::summary::{Negotiated, PageFigures, Phases, Totals};

/// Everything that is kept of a stretch.
#[derive(Debug, Default)]
pub(super) struct Figures {
    pub(super) totals: Totals,
    pub(super) response: Latency,
    pub(super) uncorrected: Latency,
    connect: Latency,
    full: Latency,
    resumed: Latency,
    /// Full and resumed handshakes by what they agreed on.
    agreed: Vec<(Agreed, [u64; 2])>,
    first_byte: Latency,
    last_byte: Latency,
    pub(super) start_delay: Latency,
    pub(super) loop_delay: Latency,
    pages: Vec<Page>,
}

#[derive(Debug, Default)]
struct Page {
    ok: u64,
    failed: u64,
    response: Latency,
}

impl Figures {
    pub(super) fn new(pages: usize) -> Self {
        Self { pages: (0..pages).map(|_| Page::default()).collect(), ..Self::default() }
    }

    pub(super) fn add(&mut self, event: &Event) {
        count(&mut self.totals, event);
        match event.what {
            What::Begun { late } => self.start_delay.record(late),
            What::Heartbeat { late } => self.loop_delay.record(late),
            What::Connected { took } => self.connect.record(took),
            What::Handshaken(shaken) => self.handshake(&shaken),
            What::Request(request) => self.request(event, &request),
            _ => {}
        }
    }

    fn handshake(&mut self, shaken: &Shaken) {
        // What can be agreed on is what was offered: a few combinations.
        let known = self.agreed.iter().position(|(agreed, _)| *agreed == shaken.agreed);
        let index = known.unwrap_or_else(|| {
            self.agreed.push((shaken.agreed, [0; 2]));
            self.agreed.len() - 1
        });
        let [full, resumed] = &mut self.agreed[index].1;
        match shaken.kind {
            Handshake::Full => {
                *full += 1;
                self.full.record(shaken.took);
            }
            Handshake::Resumed => {
                *resumed += 1;
                self.resumed.record(shaken.took);
            }
        }
    }

    /// What handshakes agreed on, the most frequent first.
    pub(super) fn negotiated(&self) -> Vec<Negotiated> {
        let mut all: Vec<Negotiated> = self.agreed.iter().map(Negotiated::from).collect();
        all.sort_by_key(|it| (Reverse(it.full + it.resumed), it.suite, it.group));
        all
    }

    fn request(&mut self, event: &Event, request: &Request) {
        let page = self.pages.get_mut(request.page as usize);
        if request.outcome.is_some() {
            page.into_iter().for_each(|page| page.failed += 1);
            return;
        }
        let response = event.at.saturating_sub(request.intended);
        self.response.record(response);
        self.uncorrected.record(response.saturating_sub(request.late));
        self.first_byte.record(request.first_byte);
        self.last_byte.record(request.last_byte);
        if let Some(page) = page {
            page.response.record(response);
            if request.ok {
                page.ok += 1;
            } else {
                page.failed += 1;
            }
        }
    }

    pub(super) fn phases(&self) -> Phases {
        Phases {
            connect: self.connect.summary(),
            full_handshake: self.full.summary(),
            resumed_handshake: self.resumed.summary(),
            first_byte: self.first_byte.summary(),
            last_byte: self.last_byte.summary(),
        }
    }

    /// Figures of each page, by index.
    pub(super) fn pages(&self) -> impl Iterator<Item = PageFigures> + '_ {
        self.pages.iter().map(|page| PageFigures {
            ok: page.ok,
            failed: page.failed,
            response: page.response.summary(),
        })
    }
}

/// Adds one event to the counts.
pub(super) fn count(totals: &mut Totals, event: &Event) {
    match event.what {
        What::Offered { .. } => totals.offered += 1,
        What::NotStarted { .. } => totals.not_started += 1,
        What::Returned { .. } => totals.sessions_returned += 1,
        What::Reloaded { .. } => totals.requests_reloaded += 1,
        What::Started { .. } => totals.started += 1,
        What::Begun { late } => {
            totals.starts += 1;
            totals.missed_starts += u64::from(late > MISSED);
        }
        What::Admitted { .. } => totals.admitted += 1,
        What::Connected { .. } | What::Heartbeat { .. } | What::Unmet { .. } => {}
        What::Hello { offered: Offered::Ticket } => totals.resumed_attempted += 1,
        What::Hello { offered } => {
            totals.full_attempted += 1;
            totals.resumption_without_ticket += u64::from(offered == Offered::NoneLeft);
        }
        What::Handshaken(Shaken { kind: Handshake::Full, offered, .. }) => {
            totals.full_ok += 1;
            totals.resumption_declined += u64::from(offered == Offered::Ticket);
        }
        What::Handshaken(Shaken { kind: Handshake::Resumed, .. }) => totals.resumed_ok += 1,
        What::Request(request) => {
            totals.received_bytes += request.received_bytes;
            if request.ok {
                totals.requests_ok += 1;
            } else if request.outcome != Some(Outcome::CutOff) {
                totals.requests_failed += 1;
            }
            if request.status > 0 {
                *totals.responses_by_class.entry(class(request.status)).or_default() += 1;
            }
        }
        What::Fallback(Fallback::Back) => totals.fallback_back += 1,
        What::Fallback(Fallback::Via) => totals.fallback_via += 1,
        What::Fallback(Fallback::LastId) => totals.fallback_last_id += 1,
        What::Redirect => totals.redirects += 1,
        What::Retry => totals.retries += 1,
        What::Ended { outcome, admitted, .. } => ended(totals, outcome, admitted),
    }
}

fn ended(totals: &mut Totals, outcome: Outcome, admitted: bool) {
    match outcome {
        Outcome::Completed => totals.completed += 1,
        Outcome::Refused(kind) => {
            totals.refused += 1;
            *totals.refused_by_kind.entry(kind.name()).or_default() += 1;
        }
        Outcome::Failed(kind) => {
            totals.failed += 1;
            totals.failed_admitted += u64::from(admitted);
            totals.returning_refused += u64::from(kind == Failure::ReturningRefused);
            *totals.failed_by_kind.entry(kind.name()).or_default() += 1;
        }
        Outcome::Abandoned(stage) => {
            totals.abandoned += 1;
            totals.abandoned_admitted += u64::from(admitted);
            *totals.abandoned_by_stage.entry(stage.name()).or_default() += 1;
        }
        Outcome::CutOff => totals.cut_off += 1,
    }
}

fn class(status: u16) -> &'static str {
    match status {
        100..=199 => "1xx",
        200..=299 => "2xx",
        300..=399 => "3xx",
        400..=499 => "4xx",
        500..=599 => "5xx",
        _ => "other",
    }
}
