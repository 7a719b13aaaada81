//! How much is measured.

/// Bytes of the payload unless the size is the question.
pub(super) const USUAL_PAYLOAD: usize = 200;
/// Requests whose times are shown one by one.
pub(super) const FIRST: usize = 17;

/// Payloads, in bytes.
const SIZES: [usize; 5] = [200, 1024, 16 * 1024, 128 * 1024, 1024 * 1024];
/// The payload from which on fewer messages are sent, in inverse proportion.
const LARGE: usize = 16 * 1024;
/// Fewest messages of a series.
const FEWEST: usize = 20;
/// Most batches of a series: those of the paper.
const BATCH: usize = 100;

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Volume {
    /// Requests of the long series: at least 20.
    pub requests: usize,
    /// How often every configuration is started and measured.
    pub rounds: u32,
}

impl Volume {
    /// 3,900 requests, as in the paper; quick: 500. In five rounds, which a verdict takes.
    pub fn usual(quick: bool) -> Self {
        Self { requests: if quick { 500 } else { 3900 }, rounds: 5 }
    }

    /// Requests of a batch: 100, in short series a tenth.
    pub fn batch(&self) -> usize {
        BATCH.min(self.requests / 10).max(1)
    }

    /// Requests of a series whose connections are the question.
    pub(super) fn connections(&self) -> usize {
        (self.requests / 4).max(FEWEST)
    }

    /// The payloads, each with the requests of its series.
    pub(super) fn sizes(&self) -> impl Iterator<Item = (usize, usize)> {
        let usual = self.connections();
        SIZES.into_iter().map(move |size| (size, (usual * LARGE / size.max(LARGE)).max(FEWEST)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_payloads_are_sent_less_often_but_never_too_rarely_to_tell() {
        let sizes: Vec<_> = Volume::usual(true).sizes().collect();
        assert_eq!(sizes[0], (200, 125));
        assert_eq!(sizes[3], (128 * 1024, 20));
        assert_eq!(sizes[4], (1024 * 1024, 20));
        assert_eq!(Volume { requests: 20, rounds: 1 }.batch(), 2);
    }
}
