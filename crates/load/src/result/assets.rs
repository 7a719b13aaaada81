//! Counts and figures of the assets of a page, and of the page with its assets.

use serde::{Deserialize, Serialize};
use tidegate_stats::{CensoredHistogram, Observation, Percentiles};

use crate::counted::counted;
use crate::outcome::Outcome;
use crate::recorder::event::Request;

/// Figures of the assets of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AssetFigures {
    /// Requests answered with a status below 400.
    pub ok: u64,
    /// Requests that failed.
    pub failed: u64,
    /// From the start of the request, with its connection if it needs a new one, to the last byte.
    pub response: Percentiles,
}

counted! {
    /// Counts of the assets of a page.
    #[derive(Clone, Debug, Default, Serialize, Deserialize)]
    pub(crate) struct AssetTally {
        ok: u64,
        failed: u64,
        response: CensoredHistogram,
        /// From the intended start of the page to the last byte of its last asset.
        pub(crate) page_load: CensoredHistogram,
    }
}

impl AssetTally {
    /// Adds a request with its response time.
    pub(crate) fn request(&mut self, request: &Request, time: Option<Observation>) {
        if request.ok {
            self.ok += 1;
        } else if request.outcome != Some(Outcome::CutOff) {
            self.failed += 1;
        }
        time.into_iter().for_each(|time| self.response.record(time));
    }

    pub(crate) fn figures(&self) -> AssetFigures {
        AssetFigures { ok: self.ok, failed: self.failed, response: self.response.percentiles() }
    }
}
