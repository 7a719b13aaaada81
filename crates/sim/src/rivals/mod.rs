//! Other people's ways to control overload, in our own code, from their papers
//! and documentation: what [`tide`](tidegate_control::PolicyKind::Tide) has to beat.
//!
//! Times that their authors gave for people at their own pace are shortened
//! with the scenario's customers ([`Pace`]); times that concern machines are
//! taken as they are. Rules that work by the response see each one, and those that
//! stand in the service are told the queueing time that it would measure.
//!
//! What a source leaves open, or tells its user to tune, was swept, and the single
//! set that does best is used: "Swept" at a file's head. It was judged by the mean
//! goodput ("carried") of 17 runs of 20 s, seed 1: `flash-crowd`, and `demo`,
//! `even-sessions`, `own-hosts`, `heavy-first`, `heavy-later`, `short-sessions`,
//! `unseen-slow` and `two-cores` at two and ten times the capacity; then by response
//! times, and by who was refused at 0.9.

mod aimd;
mod breakwater;
mod codel;
mod dagor;
mod gradient;
mod gradient2;
mod limit;
mod pi;
mod sbac;

pub(super) use aimd::Aimd;
pub(super) use breakwater::Breakwater;
pub(super) use codel::CoDel;
pub(super) use dagor::Dagor;
pub(super) use gradient::Gradient;
pub(super) use gradient2::Gradient2;
pub(super) use limit::Limited;
pub(super) use pi::Pi;
pub(super) use sbac::Sbac;

use std::time::Duration;

use tidegate_control::Decision;

/// How much faster than people the scenario's customers are: 1 or less.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace(pub(super) f64);

impl Pace {
    /// A time of human life at this pace, in seconds.
    fn of(self, seconds: f64) -> f64 {
        seconds * self.0
    }
}

/// To ask again at the next poll is as good as any other time.
const NOT_NOW: Decision = Decision::NotNow { retry_after: Duration::from_millis(1) };

fn admit_if(may: bool) -> Decision {
    if may { Decision::Admit } else { NOT_NOW }
}
