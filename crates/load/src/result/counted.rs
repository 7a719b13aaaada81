//! Counts that add up, and the largest of them: what was read from a file must
//! not leave the range of its type when it is added to others.

use std::collections::BTreeMap;

use tidegate_stats::Latency;

use crate::result::summary::{Stretch, Totals};

/// Something counted.
pub(crate) trait Counted {
    /// Adds what another part of the same test counted.
    fn merge(&mut self, other: &Self);

    /// The largest of its counts.
    fn most(&self) -> u64;
}

/// The fields of [`Totals`]: numbers, and numbers by kind. Named in full, so that
/// none can be forgotten that is added to it.
macro_rules! fields {
    ($totals:expr, numbers: [$($number:ident),* $(,)?], kinds: [$($kind:ident),* $(,)?]) => {{
        let Totals { $($number,)* $($kind,)* } = $totals;
        ([$($number),*], [$($kind),*])
    }};
}

macro_rules! totals {
    ($totals:expr) => {
        fields!($totals,
            numbers: [
                offered, sessions_returned, started, not_started, admitted, refused, failed,
                abandoned, abandoned_admitted, failed_admitted, completed, cut_off,
                returning_refused, requests_ok, requests_failed, received_bytes,
                requests_reloaded, redirects, retries, fallback_last_id, fallback_via,
                fallback_back, full_attempted, full_ok, resumed_attempted, resumed_ok,
                resumption_declined, resumption_without_ticket, starts, missed_starts,
            ],
            kinds: [refused_by_kind, failed_by_kind, abandoned_by_stage, responses_by_class])
    };
}

impl Counted for Totals {
    fn merge(&mut self, other: &Self) {
        let (mine, my_kinds) = totals!(self);
        let (theirs, their_kinds) = totals!(other);
        mine.into_iter().zip(theirs).for_each(|(mine, theirs)| *mine += *theirs);
        for (mine, theirs) in my_kinds.into_iter().zip(their_kinds) {
            theirs.iter().for_each(|(kind, count)| *mine.entry(*kind).or_default() += *count);
        }
    }

    fn most(&self) -> u64 {
        let (numbers, kinds) = totals!(self);
        let kinds = kinds.into_iter().flat_map(BTreeMap::values);
        numbers.into_iter().chain(kinds).copied().max().unwrap_or_default()
    }
}

impl Stretch {
    /// Adds the same stretch of another part; `None` if one of them has no
    /// histogram.
    pub(crate) fn merge(&mut self, other: &Self) -> Option<()> {
        let mut response = Latency::decode(&self.response)?;
        response.merge(&Latency::decode(&other.response)?);
        self.response = response.encode();
        self.length_s = self.length_s.max(other.length_s);
        let theirs = other.counts();
        self.counts_mut().into_iter().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
        Some(())
    }

    /// All its counts, in the order of [`Stretch::counts`].
    fn counts_mut(&mut self) -> [&mut u64; 10] {
        let Self {
            length_s: _,
            offered,
            completed,
            refused,
            abandoned,
            failed,
            admitted_ended,
            requests_ok,
            requests_failed,
            full_handshakes,
            resumed_handshakes,
            response: _,
        } = self;
        [
            offered,
            completed,
            refused,
            abandoned,
            failed,
            admitted_ended,
            requests_ok,
            requests_failed,
            full_handshakes,
            resumed_handshakes,
        ]
    }
}
