//! What a run leaves that its figures are worked out from: counts and
//! histograms. They add up, so those of several drivers are what one driver would
//! have recorded.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tidegate_stats::Latency;

use super::counted::Counted;
use crate::client::tls::algorithms::Agreed;
use crate::result::summary::{
    GroupFigures, Negotiated, PageFigures, Phases, Stretch, Totals, Unmet,
};

/// Everything of a measured window.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Tally {
    pub(crate) totals: Totals,
    pub(crate) spreads: Spreads,
    /// Full and resumed handshakes by what they agreed on.
    pub(crate) agreed: Vec<(Agreed, [u64; 2])>,
    /// By name; only those that were asked for.
    pub(crate) pages: BTreeMap<String, PageTally>,
    /// In the scenario's order; none where all customers are of one.
    pub(crate) classes: Vec<GroupTally>,
    /// In the order of the arrivals; none where they are of one model.
    pub(crate) models: Vec<GroupTally>,
    pub(crate) unmet: Vec<Unmet>,
    pub(crate) stretches: Vec<Stretch>,
}

/// Distributions of times.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Spreads {
    pub(crate) response: Latency,
    pub(crate) uncorrected: Latency,
    pub(crate) connect: Latency,
    pub(crate) full_handshake: Latency,
    pub(crate) resumed_handshake: Latency,
    pub(crate) first_byte: Latency,
    pub(crate) last_byte: Latency,
    pub(crate) start_delay: Latency,
    pub(crate) loop_delay: Latency,
}

/// Of one page.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct PageTally {
    pub(crate) ok: u64,
    pub(crate) failed: u64,
    pub(crate) response: Latency,
}

/// Of one class of customers, or of one entry of the arrivals.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct GroupTally {
    pub(crate) name: String,
    pub(crate) totals: Totals,
    pub(crate) response: Latency,
}

impl Tally {
    /// Adds another part of the same test.
    ///
    /// # Errors
    /// What in it is not of the same test, in words.
    pub(crate) fn merge(&mut self, other: Self) -> Result<(), String> {
        let Self { totals, spreads, agreed, pages, classes, models, unmet, stretches } = other;
        self.totals.merge(&totals);
        self.spreads.merge(&spreads);
        for (agreed, [full, resumed]) in agreed {
            let all = entry(&mut self.agreed, agreed);
            all[0] += full;
            all[1] += resumed;
        }
        for (name, page) in pages {
            self.pages.entry(name).or_default().merge(&page);
        }
        merge_groups(&mut self.classes, classes).ok_or("has other classes of customers")?;
        merge_groups(&mut self.models, models).ok_or("has other arrivals")?;
        unmet.into_iter().for_each(|unmet| add_unmet(&mut self.unmet, unmet));
        merge_stretches(&mut self.stretches, stretches)
    }

    /// The largest number of anything counted.
    pub(crate) fn most(&self) -> u64 {
        let Self { totals, spreads, agreed, pages, classes, models, unmet, stretches } = self;
        let agreed = agreed.iter().flat_map(|(_, counts)| *counts);
        let pages = pages.values().flat_map(|it| [it.ok, it.failed, it.response.count()]);
        let groups = classes.iter().chain(models);
        let groups = groups.flat_map(|it| [it.totals.most(), it.response.count()]);
        let unmet = unmet.iter().map(|it| it.count);
        let stretches = stretches.iter().flat_map(Stretch::counts);
        let rest = [totals.most(), spreads.most()];
        let all = agreed.chain(pages).chain(groups).chain(unmet).chain(stretches).chain(rest);
        all.max().unwrap_or_default()
    }

    /// Where the time goes.
    pub(crate) fn phases(&self) -> Phases {
        let spreads = &self.spreads;
        Phases {
            connect: spreads.connect.summary(),
            full_handshake: spreads.full_handshake.summary(),
            resumed_handshake: spreads.resumed_handshake.summary(),
            first_byte: spreads.first_byte.summary(),
            last_byte: spreads.last_byte.summary(),
        }
    }

    /// What handshakes agreed on, the most frequent first.
    pub(crate) fn negotiated(&self) -> Vec<Negotiated> {
        let mut all: Vec<Negotiated> = self.agreed.iter().map(Negotiated::from).collect();
        all.sort_by_key(|it| (Reverse(it.full + it.resumed), it.version, it.suite, it.group));
        all
    }

    /// Figures by page.
    pub(crate) fn page_figures(&self) -> BTreeMap<String, PageFigures> {
        let figures = |page: &PageTally| PageFigures {
            ok: page.ok,
            failed: page.failed,
            response: page.response.summary(),
        };
        self.pages.iter().map(|(name, page)| (name.clone(), figures(page))).collect()
    }

    /// What was expected of answers and did not come, the most frequent first.
    pub(crate) fn unmet(&self) -> Vec<Unmet> {
        let mut all = self.unmet.clone();
        let key = |unmet: &Unmet| {
            (Reverse(unmet.count), unmet.page.clone(), unmet.kind, unmet.expected.clone())
        };
        all.sort_by_cached_key(key);
        all
    }
}

impl Spreads {
    /// Adds another part of the same test.
    fn merge(&mut self, other: &Self) {
        let mine = self.all_mut();
        mine.into_iter().zip(other.all()).for_each(|(mine, theirs)| mine.merge(theirs));
    }

    /// The largest number of anything counted.
    fn most(&self) -> u64 {
        self.all().map(Latency::count).into_iter().max().unwrap_or_default()
    }

    fn all(&self) -> [&Latency; 9] {
        let Self {
            response,
            uncorrected,
            connect,
            full_handshake,
            resumed_handshake,
            first_byte,
            last_byte,
            start_delay,
            loop_delay,
        } = self;
        [
            response,
            uncorrected,
            connect,
            full_handshake,
            resumed_handshake,
            first_byte,
            last_byte,
            start_delay,
            loop_delay,
        ]
    }

    fn all_mut(&mut self) -> [&mut Latency; 9] {
        let Self {
            response,
            uncorrected,
            connect,
            full_handshake,
            resumed_handshake,
            first_byte,
            last_byte,
            start_delay,
            loop_delay,
        } = self;
        [
            response,
            uncorrected,
            connect,
            full_handshake,
            resumed_handshake,
            first_byte,
            last_byte,
            start_delay,
            loop_delay,
        ]
    }
}

impl PageTally {
    fn merge(&mut self, other: &Self) {
        let Self { ok, failed, response } = other;
        self.ok += ok;
        self.failed += failed;
        self.response.merge(response);
    }
}

impl GroupTally {
    pub(crate) fn new(name: String) -> Self {
        Self { name, totals: Totals::default(), response: Latency::default() }
    }

    /// Its figures.
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
            response: self.response.summary(),
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

/// The counts of what was agreed on; a new line for what was not before.
pub(crate) fn entry(all: &mut Vec<(Agreed, [u64; 2])>, agreed: Agreed) -> &mut [u64; 2] {
    // What can be agreed on is what was offered: a few combinations.
    let index = all.iter().position(|(known, _)| *known == agreed).unwrap_or_else(|| {
        all.push((agreed, [0; 2]));
        all.len() - 1
    });
    &mut all[index].1
}

fn add_unmet(all: &mut Vec<Unmet>, new: Unmet) {
    let same = |known: &&mut Unmet| {
        (&known.page, known.kind, &known.expected) == (&new.page, new.kind, &new.expected)
    };
    match all.iter_mut().find(same) {
        Some(known) => known.count += new.count,
        None => all.push(new),
    }
}

/// Stretches are cut alike; a part whose customers had all left has fewer.
fn merge_stretches(mine: &mut Vec<Stretch>, theirs: Vec<Stretch>) -> Result<(), String> {
    for (index, stretch) in theirs.into_iter().enumerate() {
        match mine.get_mut(index) {
            Some(mine) => mine.merge(&stretch).ok_or("has a stretch without a histogram")?,
            None => mine.push(stretch),
        }
    }
    Ok(())
}
