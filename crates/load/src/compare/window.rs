//! The measured window of a run, as its figures are worked out from it.

use tidegate_stats::CensoredHistogram;

use crate::result::series::Subwindow;

/// Most stretches of a run; what has more was not written by a run.
const MOST_STRETCHES: usize = 32;
/// Lengths of a stretch, in seconds, and counts within which no sum leaves the
/// range of its type: a nanosecond, a day, and what an f64 counts exactly.
const SHORTEST_S: f64 = 1e-9;
const LONGEST_S: f64 = 86_400.0;
const MOST_COUNTED: u64 = 1 << 53;

/// A run's stretches with their histograms opened.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub(super) stretches: Vec<Subwindow>,
    /// Response times of each stretch.
    pub(super) responses: Vec<CensoredHistogram>,
}

impl TryFrom<Vec<Subwindow>> for Window {
    type Error = String;

    /// Decodes the histograms, and checks what later sums rely on.
    fn try_from(stretches: Vec<Subwindow>) -> Result<Self, String> {
        if stretches.len() > MOST_STRETCHES {
            return Err(format!("stretches: {}, at most {MOST_STRETCHES}", stretches.len()));
        }
        let mut responses = Vec::with_capacity(stretches.len());
        for (index, stretch) in stretches.iter().enumerate() {
            if !(SHORTEST_S..=LONGEST_S).contains(&stretch.length_s) {
                return Err(format!("stretches[{index}].length_s = {}", stretch.length_s));
            }
            let counts = stretch.counts();
            if let Some(count) = counts.into_iter().find(|count| *count > MOST_COUNTED) {
                return Err(format!("stretches[{index}] counts {count}"));
            }
            let response =
                stretch.times().filter(|response| response.count() <= MOST_COUNTED).ok_or_else(
                    || format!("stretches[{index}].response is not a histogram of a run"),
                )?;
            responses.push(response);
        }
        Ok(Self { stretches, responses })
    }
}
