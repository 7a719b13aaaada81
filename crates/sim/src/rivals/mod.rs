//! Published overload controls, implemented from their papers and documentation: the
//! rivals that [`tide`](tidegate_control::PolicyKind::Tide) is compared with.
//!
//! Times that a source gives for people are shortened to the pace of the scenario's
//! customers ([`Pace`]); times that concern machines are unchanged. Rules that work by
//! response times see each response. Rules that run in the service get the queueing time
//! that the service would measure.
//!
//! Constants that a source leaves open, or leaves to its user, were swept, and the single
//! best set is used: "Swept" at a file's head. The criterion is the mean goodput
//! ("carried") of 17 runs of 20 s, seed 1: `flash-crowd`, and `demo`,
//! `even-sessions`, `own-hosts`, `heavy-first`, `heavy-later`, `short-sessions`,
//! `unseen-slow` and `two-cores` at two and ten times the capacity; then response
//! times, and the share refused at 0.9.

mod aimd;
mod breakwater;
mod dagor;
mod gradient;
mod gradient2;
mod limit;
mod pi;
mod sbac;
mod topfull;

pub(super) use aimd::Aimd;
pub(super) use breakwater::Breakwater;
pub(super) use dagor::Dagor;
pub(super) use gradient::Gradient;
pub(super) use gradient2::Gradient2;
pub(super) use limit::Limited;
pub(super) use pi::Pi;
pub(super) use sbac::Sbac;
pub(super) use topfull::TopFull;

use std::time::Duration;

use tidegate_control::Decision;

/// How much faster than people the scenario's customers are: 1 or less.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace(pub(super) f64);

impl Pace {
    /// A time given for people, at this pace, in seconds.
    fn of(self, seconds: f64) -> f64 {
        seconds * self.0
    }
}

/// The next poll may decide otherwise: no wait is known.
const NOT_NOW: Decision = Decision::NotNow { retry_after: Duration::from_millis(1) };

fn admit_if(may: bool) -> Decision {
    if may { Decision::Admit } else { NOT_NOW }
}
