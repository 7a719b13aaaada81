//! How long the sessions of the demo's customers are.

use super::distribution::Distribution;
use super::length::SessionLength;

/// Numbers of requests, and how many of 4000 sessions have so many.
///
/// Source: the bidding mix of RUBiS with every row divided by its sum, walked by the
/// load generator's customers (`auction-bidding-normalised`), undisturbed.
#[rustfmt::skip]
const SESSIONS: [(u32, u32); 67] = [
    (3, 150), (4, 394), (5, 491), (6, 338), (7, 285), (8, 224), (9, 208), (10, 189),
    (11, 159), (12, 142), (13, 126), (14, 139), (15, 109), (16, 90), (17, 107),
    (18, 103), (19, 65), (20, 58), (21, 60), (22, 51), (23, 54), (24, 41), (25, 46),
    (26, 47), (27, 32), (28, 27), (29, 25), (30, 23), (31, 17), (32, 14), (33, 14),
    (34, 16), (35, 14), (36, 14), (37, 11), (38, 13), (39, 9), (40, 5), (41, 11),
    (42, 6), (43, 9), (44, 8), (45, 9), (46, 8), (47, 4), (48, 5), (49, 2), (50, 2),
    (51, 3), (53, 1), (54, 1), (55, 1), (56, 1), (57, 1), (59, 1), (60, 3), (62, 2),
    (63, 3), (66, 1), (67, 1), (68, 1), (73, 1), (74, 1), (75, 1), (78, 1), (86, 1),
    (91, 1),
];

impl SessionLength {
    /// Sessions of the demo's customers: three requests and more, nine in the median,
    /// 12.3 on average, one in a hundred longer than 46.
    pub fn bidding_mix() -> Self {
        let later = SESSIONS.map(|(requests, often)| (f64::from(requests - 1), f64::from(often)));
        Self::one_and(Distribution::empirical(&later).expect("sessions were counted"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn sessions_of_the_mix_are_as_long_as_it_says() {
        // 49 179 requests in 4000 sessions.
        let mix = SessionLength::bidding_mix();
        assert!((mix.mean() - 12.29475).abs() < 1e-9, "{}", mix.mean());
        let mut random = Random::new(5);
        let mut lengths: Vec<u32> = (0..40_000).map(|_| mix.draw(&mut random)).collect();
        lengths.sort_unstable();
        assert_eq!([lengths[0], lengths[20_000], lengths[39_999]], [3, 9, 91]);
        assert!((44..=48).contains(&lengths[39_600]), "{}", lengths[39_600]);
    }
}
