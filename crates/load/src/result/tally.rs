//! The counts and histograms from which the figures of a result are computed. They add up:
//! the sum over shards is what a single load generator would have recorded.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tidegate_stats::{CensoredHistogram, Histogram};

use crate::client::tls::algorithms::Agreed;
use crate::counted::{Counted, counted};
use crate::result::assets::AssetTally;
use crate::result::failure::RequestFailure;
use crate::result::figures::{
    AddressFigures, CheckFigures, FailedCheck, GroupFigures, Negotiated, PageFigures, Phases,
};
use crate::result::series::Subwindow;
use crate::totals::Totals;

/// Counts and histograms of the measured window.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Tally {
    pub(crate) totals: Totals,
    #[serde(rename = "spreads")]
    pub(crate) distributions: Distributions,
    /// Full and resumed handshakes by negotiated parameters.
    pub(crate) agreed: Vec<(Agreed, [u64; 2])>,
    /// By name; only requested pages.
    pub(crate) pages: BTreeMap<String, PageTally>,
    /// In the scenario's order; empty for a single class.
    pub(crate) classes: Vec<GroupTally>,
    /// In the order of the arrivals; empty for a single entry.
    pub(crate) models: Vec<GroupTally>,
    #[serde(rename = "unmet")]
    pub(crate) failed_checks: Vec<FailedCheck>,
    pub(crate) failures: Vec<RequestFailure>,
    /// Responses by status.
    pub(crate) statuses: BTreeMap<u16, u64>,
    pub(crate) stretches: Vec<Subwindow>,
    /// In the order of the first shard.
    pub(crate) addresses: Vec<AddressFigures>,
}

counted! {
    /// Histograms of durations.
    #[derive(Clone, Debug, Default, Serialize, Deserialize)]
    pub(crate) struct Distributions {
        /// Of requests, from the intended start.
        pub(crate) response: CensoredHistogram,
        pub(crate) uncorrected: Histogram,
        pub(crate) connect: Histogram,
        pub(crate) full_handshake: Histogram,
        pub(crate) resumed_handshake: Histogram,
        pub(crate) first_byte: Histogram,
        pub(crate) last_byte: Histogram,
        pub(crate) start_delay: Histogram,
        pub(crate) loop_delay: Histogram,
    }
}

counted! {
    /// Counts of a page.
    #[derive(Clone, Debug, Default, Serialize, Deserialize)]
    pub(crate) struct PageTally {
        pub(crate) ok: u64,
        pub(crate) failed: u64,
        pub(crate) response: CensoredHistogram,
        /// `None` for a page without assets.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub(crate) assets: Option<Box<AssetTally>>,
    }
}

/// Counts of a class of customers, or of an entry of the arrivals.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct GroupTally {
    pub(crate) name: String,
    pub(crate) totals: Totals,
    pub(crate) response: CensoredHistogram,
}

impl Tally {
    /// Adds another shard of the same test.
    ///
    /// # Errors
    /// What does not belong to the same test, in words.
    pub(crate) fn merge(&mut self, other: Self) -> Result<(), String> {
        let Self {
            totals,
            distributions,
            agreed,
            pages,
            classes,
            models,
            failed_checks,
            failures,
            statuses,
            stretches,
            addresses,
        } = other;
        self.totals.merge(&totals);
        self.distributions.merge(&distributions);
        for (agreed, [full, resumed]) in agreed {
            let all = entry(&mut self.agreed, agreed);
            all[0] += full;
            all[1] += resumed;
        }
        Counted::merge(&mut self.pages, &pages);
        merge_groups(&mut self.classes, classes).ok_or("has other classes of customers")?;
        merge_groups(&mut self.models, models).ok_or("has other arrivals")?;
        failed_checks
            .into_iter()
            .for_each(|failed_checks| add_failed_check(&mut self.failed_checks, failed_checks));
        failures.into_iter().for_each(|it| add_failure(&mut self.failures, it));
        Counted::merge(&mut self.statuses, &statuses);
        addresses.into_iter().for_each(|it| add_address(&mut self.addresses, it));
        merge_stretches(&mut self.stretches, stretches)
    }

    /// The largest count.
    pub(crate) fn most(&self) -> u64 {
        let Self {
            totals,
            distributions,
            agreed,
            pages,
            classes,
            models,
            failed_checks,
            failures,
            statuses,
            stretches,
            addresses,
        } = self;
        let whole = [totals.most(), distributions.most(), pages.most(), statuses.most()];
        let agreed = agreed.iter().flat_map(|(_, counts)| *counts);
        let groups = classes.iter().chain(models);
        let groups = groups.flat_map(|it| [it.totals.most(), it.response.count()]);
        let failed_checks = failed_checks.iter().map(|it| it.count);
        let failures = failures.iter().map(|it| it.count);
        let stretches = stretches.iter().flat_map(Subwindow::counts);
        let addresses = addresses.iter().flat_map(|it| [it.connections, it.passed_over]);
        let all = whole.into_iter().chain(agreed).chain(groups).chain(failed_checks);
        all.chain(failures).chain(stretches).chain(addresses).max().unwrap_or_default()
    }

    /// Percentiles by phase.
    pub(crate) fn phases(&self) -> Phases {
        let distributions = &self.distributions;
        Phases {
            connect: distributions.connect.percentiles(),
            full_handshake: distributions.full_handshake.percentiles(),
            resumed_handshake: distributions.resumed_handshake.percentiles(),
            first_byte: distributions.first_byte.percentiles(),
            last_byte: distributions.last_byte.percentiles(),
        }
    }

    /// Negotiated parameters, the most frequent first.
    pub(crate) fn negotiated(&self) -> Vec<Negotiated> {
        let mut all: Vec<Negotiated> = self.agreed.iter().map(Negotiated::from).collect();
        all.sort_by_cached_key(|it| {
            (Reverse(it.full + it.resumed), it.version.clone(), it.suite.clone(), it.group.clone())
        });
        all
    }

    /// Figures by page.
    pub(crate) fn page_figures(&self) -> BTreeMap<String, PageFigures> {
        let figures = |page: &PageTally| PageFigures {
            ok: page.ok,
            failed: page.failed,
            response: page.response.percentiles(),
            assets: page.assets.as_ref().map(|assets| assets.figures()),
            page_load: page.assets.as_ref().map(|assets| assets.page_load.percentiles()),
        };
        self.pages.iter().map(|(name, page)| (name.clone(), figures(page))).collect()
    }

    /// Every check of the scenario.
    pub(crate) fn checks(&self) -> Vec<CheckFigures> {
        let of_scenario = ["check", "soft_check", "extraction"];
        let all = self.failed_checks.iter().filter(|check| of_scenario.contains(&&*check.kind));
        let figures = |check: &FailedCheck| CheckFigures {
            page: check.page.clone(),
            kind: check.kind.clone(),
            expected: check.expected.clone(),
            failed: check.count,
        };
        all.map(figures).collect()
    }

    /// Failed checks, the most frequent first.
    pub(crate) fn failed_checks(&self) -> Vec<FailedCheck> {
        let mut all = self.failed_checks.clone();
        all.retain(|check| check.count > 0);
        let key = |failed_checks: &FailedCheck| {
            (
                Reverse(failed_checks.count),
                failed_checks.page.clone(),
                failed_checks.kind.clone(),
                failed_checks.expected.clone(),
            )
        };
        all.sort_by_cached_key(key);
        all
    }
}

impl Tally {
    /// Failed requests by page and cause, the most frequent first.
    pub(crate) fn failures(&self) -> Vec<RequestFailure> {
        let mut all = self.failures.clone();
        all.sort_by_cached_key(|it| {
            (Reverse(it.count), it.page.clone(), it.asset.clone(), it.cause.clone())
        });
        all
    }
}

impl PageTally {
    /// Whether anything of it was requested.
    pub(crate) fn is_requested(&self) -> bool {
        self.ok + self.failed + self.response.count() > 0 || self.assets.is_some()
    }

    /// The counts of its assets.
    pub(crate) fn assets(&mut self) -> &mut AssetTally {
        self.assets.get_or_insert_default()
    }
}

impl GroupTally {
    pub(crate) fn new(name: String) -> Self {
        Self { name, totals: Totals::default(), response: CensoredHistogram::default() }
    }

    /// The figures.
    pub(crate) fn figures(&self) -> GroupFigures {
        let totals = self.totals.clone();
        GroupFigures {
            name: self.name.clone(),
            offered: totals.offered,
            sessions_returned: totals.sessions_returned,
            not_started: totals.not_started,
            started: totals.started,
            admitted: totals.admitted,
            completed_ratio: totals.completed_ratio(),
            completed: totals.completed,
            refused: totals.refused,
            refused_by_kind: totals.refused_by_kind,
            failed: totals.failed,
            failed_by_kind: totals.failed_by_kind,
            abandoned: totals.abandoned,
            abandoned_by_stage: totals.abandoned_by_stage,
            cut_off: totals.cut_off,
            requests_ok: totals.requests_ok,
            requests_failed: totals.requests_failed,
            requests_reloaded: totals.requests_reloaded,
            response: self.response.percentiles(),
        }
    }
}

/// `None` if they are not the same groups.
fn merge_groups(mine: &mut [GroupTally], theirs: Vec<GroupTally>) -> Option<()> {
    if !mine.iter().map(|group| &group.name).eq(theirs.iter().map(|group| &group.name)) {
        return None;
    }
    for (mine, theirs) in mine.iter_mut().zip(theirs) {
        mine.totals.merge(&theirs.totals);
        mine.response.merge(&theirs.response);
    }
    Some(())
}

/// The counts for negotiated parameters, added if missing.
pub(crate) fn entry(all: &mut Vec<(Agreed, [u64; 2])>, agreed: Agreed) -> &mut [u64; 2] {
    // There are only a few combinations.
    let index = all.iter().position(|(known, _)| *known == agreed).unwrap_or_else(|| {
        all.push((agreed, [0; 2]));
        all.len() - 1
    });
    &mut all[index].1
}

fn add_failed_check(all: &mut Vec<FailedCheck>, new: FailedCheck) {
    let same = |known: &&mut FailedCheck| {
        (&known.page, &known.kind, &known.expected) == (&new.page, &new.kind, &new.expected)
    };
    match all.iter_mut().find(same) {
        Some(known) => known.count += new.count,
        None => all.push(new),
    }
}

fn add_failure(all: &mut Vec<RequestFailure>, new: RequestFailure) {
    match all.iter_mut().find(|known| known.is_like(&new)) {
        Some(known) => {
            known.count += new.count;
            known.sample = known.sample.take().or(new.sample);
        }
        None => all.push(new),
    }
}

/// Shards may have found different addresses: each has its own sum.
fn add_address(all: &mut Vec<AddressFigures>, new: AddressFigures) {
    match all.iter_mut().find(|known| known.address == new.address) {
        Some(known) => {
            known.connections += new.connections;
            known.passed_over += new.passed_over;
            known.unreachable = known.unreachable.take().or(new.unreachable);
        }
        None => all.push(new),
    }
}

/// All shards have the same stretches; a shard whose customers have all left has fewer.
fn merge_stretches(mine: &mut Vec<Subwindow>, theirs: Vec<Subwindow>) -> Result<(), String> {
    for (index, stretch) in theirs.into_iter().enumerate() {
        match mine.get_mut(index) {
            Some(mine) => mine.merge(&stretch).ok_or("has a stretch without a histogram")?,
            None => mine.push(stretch),
        }
    }
    Ok(())
}
