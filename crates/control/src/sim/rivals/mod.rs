//! Other people's ways to control overload, in our own code, from their papers
//! and documentation: what [`tide`](crate::PolicyKind::Tide) has to beat.
//!
//! Times that their authors gave for people at their own pace are shortened
//! with the scenario's customers ([`Pace`]); times that concern machines are
//! taken as they are.

mod breakwater;
mod codel;
mod dagor;
mod limit;
mod pi;
mod sbac;

pub(super) use breakwater::Breakwater;
pub(super) use codel::CoDel;
pub(super) use dagor::Dagor;
pub(super) use limit::{Aimd, Gradient, Limited};
pub(super) use pi::Pi;
pub(super) use sbac::Sbac;

use std::time::Duration;

use crate::Decision;
use crate::reading::Reading;

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

/// The mean time of the upstream's responses, in seconds; `None`: there was none.
fn mean_response_s(reading: &Reading) -> Option<f64> {
    (reading.upstream_responses > 0)
        .then(|| reading.upstream_time_s / reading.upstream_responses as f64)
}
