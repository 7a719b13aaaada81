//! The standard error of a figure of one run, by batch means. The seconds of a run are
//! correlated (a queue persists from one second to the next), so they are not independent
//! measurements; the means of sufficiently long batches nearly are.

use crate::censored::CensoredHistogram;
use crate::estimate::{Estimate, t_quantile};
use crate::histogram::Histogram;

/// What one of the equal stretches of a run contributes to a ratio of two sums, such as
/// sessions per second, completed per ended, or those below a limit per all.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RatioTerm {
    /// Contribution to the numerator.
    pub part: f64,
    /// Contribution to the denominator; 0 or more.
    pub whole: f64,
}

/// Why the standard error of a figure is not known from one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inconclusive {
    /// The denominator is 0, or a value is not finite.
    NoData,
    /// Fewer than [`FEWEST`] stretches: the run was too short.
    TooShort,
    /// Even the longest batches are correlated.
    Correlated,
    /// Only a lower bound of the quantile, or of its interval, is known: too many durations are
    /// only bounded from below.
    Unbounded,
}

/// Fewest batches for a standard error.
pub const FEWEST: usize = 8;

/// Critical value of the normal distribution, one-sided at 10 %: batches with a higher
/// correlation count as correlated. Not higher, because a missed correlation costs more
/// (an interval that is too narrow) than a false one (longer batches).
const CORRELATED_Z: f64 = 1.2816;

/// A ratio of sums over a run, with its standard error. Neighbouring stretches are joined
/// in pairs until they are no longer correlated.
///
/// With `R = Σy/Σx` over `k` batches the error is `√(Σz² / (k(k − 1)))`,
/// `z = (y − R·x) / x̄`, with `k − 1` degrees of freedom. A remaining correlation `c > 0` of
/// neighbours reduces the effective number of batches by the factor `(1 − c)/(1 + c)`.
///
/// # Errors
/// [`Inconclusive`]: why there is no standard error.
///
/// Source: Cochran, "Sampling Techniques", 6.3 (the variance of a ratio);
/// Schmeiser 1982, "Batch size effects in the analysis of simulation output":
/// 10 to 30 batches are enough; Fishman 1978, "Grouping observations in digital
/// simulation": join until von Neumann's test finds no correlation; Bayley and
/// Hammersley 1946, "The 'effective' number of independent observations in an
/// autocorrelated time series".
pub fn ratio_of_sums(parts: &[RatioTerm]) -> Result<Estimate, Inconclusive> {
    let sum = |of: fn(&RatioTerm) -> f64| parts.iter().map(of).sum::<f64>();
    let (part, whole) = (sum(|p| p.part), sum(|p| p.whole));
    let usable = |p: &RatioTerm| p.part.is_finite() && p.whole.is_finite() && p.whole >= 0.0;
    if whole <= 0.0 || !parts.iter().all(usable) {
        return Err(Inconclusive::NoData);
    }
    let ratio = part / whole;
    if parts.len() < FEWEST {
        return Err(Inconclusive::TooShort);
    }
    let mut joined = 1;
    while parts.len() / joined >= FEWEST {
        let batches = join(parts, joined);
        let count = batches.len() as f64;
        let residuals: Vec<f64> =
            batches.iter().map(|p| (p.part - ratio * p.whole) * count / whole).collect();
        let correlation = neighbours(&residuals);
        if correlation <= CORRELATED_Z * ((count - 2.0) / (count * count - 1.0)).sqrt() {
            let squares: f64 = residuals.iter().map(|z| z * z).sum();
            // A correlation that the test does not reject reduces the effective number.
            let worth = (1.0 - correlation.max(0.0)) / (1.0 + correlation.max(0.0));
            let error = (squares / (count * (count - 1.0) * worth)).sqrt();
            return Ok(Estimate { value: ratio, error, freedom: (count - 1.0) * worth });
        }
        joined *= 2;
    }
    Err(Inconclusive::Correlated)
}

/// The quantile `q` (0 to 1) of durations of a run, in milliseconds, with its
/// standard error: the confidence interval of the share of values up to it,
/// mapped to durations by the distribution. The rounding error of the histogram is added.
/// Durations known by a bound count as in [`CensoredHistogram`].
///
/// # Errors
/// As [`ratio_of_sums`].
///
/// Source: Woodruff 1952, "Confidence intervals for medians and other position
/// measures".
pub fn quantile_of_batches(
    q: f64,
    stretches: &[&CensoredHistogram],
) -> Result<Estimate, Inconclusive> {
    let mut all = CensoredHistogram::new();
    stretches.iter().for_each(|stretch| all.merge(stretch));
    let exact = |q| match all.quantile(q) {
        quantile if quantile.is_lower_bound => Err(Inconclusive::Unbounded),
        quantile => Ok(quantile.ms),
    };
    let value = exact(q)?;
    let parts: Vec<RatioTerm> = stretches
        .iter()
        .map(|stretch| {
            let (part, whole) = stretch.count_up_to_ms(value);
            RatioTerm { part: part as f64, whole: whole as f64 }
        })
        .collect();
    let share = ratio_of_sums(&parts)?;
    let t = t_quantile(share.freedom, 0.95);
    let (low, high) = (exact(q - t * share.error)?, exact(q + t * share.error)?);
    let spread = (high - low) / (2.0 * t);
    // A value anywhere within a rounding step has the variance step²/12.
    let rounding = Histogram::RESOLUTION * value / 12f64.sqrt();
    Ok(Estimate { value, error: spread.hypot(rounding), freedom: share.freedom })
}

/// Joins `size` neighbours each; the last batch has the remainder.
fn join(parts: &[RatioTerm], size: usize) -> Vec<RatioTerm> {
    let count = parts.len() / size;
    let mut batches = vec![RatioTerm::default(); count];
    for (index, part) in parts.iter().enumerate() {
        let batch = &mut batches[(index / size).min(count - 1)];
        batch.part += part.part;
        batch.whole += part.whole;
    }
    batches
}

/// Von Neumann's ratio as a correlation of neighbours:
/// `1 − Σ(z(i) − z(i−1))² / (2·Σz²)`, which for independent values has mean 0
/// and variance `(k − 2)/(k² − 1)`.
fn neighbours(residuals: &[f64]) -> f64 {
    let squares: f64 = residuals.iter().map(|z| z * z).sum();
    if squares == 0.0 {
        return 0.0;
    }
    let steps: f64 = residuals.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum();
    1.0 - steps / (2.0 * squares)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rand::SeedableRng;
    use rand::rngs::Xoshiro256PlusPlus;
    use rand_distr::{Distribution, StandardNormal};

    use super::*;
    use crate::censored::Observation;
    use crate::estimate::Difference;

    fn by_two(counts: &[f64]) -> Vec<RatioTerm> {
        counts.iter().map(|&part| RatioTerm { part, whole: 2.0 }).collect()
    }

    fn close(actual: f64, expected: f64) {
        assert!((actual - expected).abs() < 1e-4 * expected.abs(), "{actual} is not {expected}");
    }

    #[test]
    fn eight_stretches_worked_out_by_hand() {
        // R = 16/16; z = ±1/2; error² = 8/4 / (8·7) = 1/28.
        let found = ratio_of_sums(&by_two(&[3.0, 1.0, 3.0, 1.0, 3.0, 1.0, 3.0, 1.0])).unwrap();
        assert_eq!((found.value, found.freedom), (1.0, 7.0));
        close(found.error, (1.0f64 / 28.0).sqrt());
    }

    #[test]
    fn uneven_stretches_weigh_by_their_size() {
        // R = 12/24. y − R·x = −1 1 −1 1 −1 1 −1 1, x̄ = 3: Σz² = 8/9.
        let sizes = [2.0, 4.0, 2.0, 4.0, 2.0, 4.0, 2.0, 4.0];
        let parts: Vec<RatioTerm> = sizes
            .iter()
            .map(|&whole| RatioTerm { part: if whole == 2.0 { 0.0 } else { 3.0 }, whole })
            .collect();
        let found = ratio_of_sums(&parts).unwrap();
        assert_eq!(found.value, 0.5);
        close(found.error, (8.0f64 / 9.0 / 56.0).sqrt());
    }

    #[test]
    fn correlated_stretches_are_joined() {
        // Sixteen, three steps: 1 − 3·2² / (2·16) = 0.625, above
        // 1.28 × √(14/255) = 0.30. Joined to eight: 1 − 3·4² / (2·32) = 0.25,
        // below 1.28 × √(6/63) = 0.40. There z = ±1/2 as above; the 0.25 that
        // is left makes eight worth 0.75/1.25 = 3/5 as many.
        let fours: Vec<f64> = [3.0, 3.0, 3.0, 3.0, 1.0, 1.0, 1.0, 1.0].repeat(2);
        let found = ratio_of_sums(&by_two(&fours)).unwrap();
        assert_eq!(found.value, 1.0);
        close(found.freedom, 4.2);
        close(found.error, (5.0f64 / 3.0 / 28.0).sqrt());
    }

    #[test]
    fn equal_runs_differ_significantly_no_more_often_than_the_level() {
        // Each stretch has the correlation `kept` with the one before. If taken as
        // independent they would differ at 5 % in 5, 20 and 33 % of the cases.
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        for kept in [0.0f64, 0.4, 0.6] {
            let mut run = || {
                let mut now: f64 = StandardNormal.sample(&mut rng);
                let parts: Vec<RatioTerm> = (0..32)
                    .map(|_| {
                        let new: f64 = StandardNormal.sample(&mut rng);
                        now = kept * now + (1.0 - kept * kept).sqrt() * new;
                        RatioTerm { part: 100.0 + now, whole: 1.0 }
                    })
                    .collect();
                ratio_of_sums(&parts)
            };
            let differ = (0..2000)
                .filter(|_| match (run(), run()) {
                    (Ok(a), Ok(b)) => Difference::welch(a, b).p() < 0.05,
                    _ => false,
                })
                .count();
            // 5 % of 2000 are 100, with a deviation of 10.
            assert!((40..140).contains(&differ), "{differ} of 2000 at correlation {kept}");
        }
    }

    #[test]
    fn a_run_that_drifts_or_is_short_or_empty_has_no_standard_error() {
        let drift = by_two(&[1.0, 1.0, 1.0, 1.0, 3.0, 3.0, 3.0, 3.0]);
        assert_eq!(ratio_of_sums(&drift), Err(Inconclusive::Correlated));
        assert_eq!(ratio_of_sums(&by_two(&[1.0; 7])), Err(Inconclusive::TooShort));
        assert_eq!(ratio_of_sums(&[RatioTerm::default(); 9]), Err(Inconclusive::NoData));
        assert_eq!(ratio_of_sums(&by_two(&[f64::NAN; 9])), Err(Inconclusive::NoData));
    }

    #[test]
    fn constant_stretches_have_a_standard_error_of_zero() {
        let found = ratio_of_sums(&by_two(&[2.0; 10])).unwrap();
        assert_eq!((found.value, found.error, found.freedom), (1.0, 0.0, 9.0));
    }

    #[test]
    fn the_error_of_a_median_is_that_of_the_share_below_it() {
        // Eight stretches of 100: alternating 50 + 25 and 50 − 25 of them take
        // at most 100 ms, the rest (spread over 101 to 300 ms) more.
        let stretch = |below: u64| {
            let mut latency = CensoredHistogram::new();
            let mut record = |ms| latency.record(Observation::Exact(Duration::from_millis(ms)));
            (0..below).for_each(|i| record(1 + i));
            (below..100).for_each(|i| record(201 + i));
            latency
        };
        let (many, few) = (stretch(75), stretch(25));
        let stretches = [&many, &few, &many, &few, &many, &few, &many, &few];
        let found = quantile_of_batches(0.5, &stretches).unwrap();
        // Of 800: each of 1 to 25 ms eight times, of 26 to 75 ms four times.
        // The 400th is 75 ms. Share error √(Σz²/56), z = ±1/4: 0.0945; times
        // t(7) = 2.3646 that is ±0.2234. The quantile 0.2766 is the 222nd,
        // 31 ms (8·25 + 4·6 = 224); 0.7234 the 579th: 201 + 25 + … four each up to
        // 275 ms: 400 + 4·45 = 580, so 226 + 44 = 270 ms.
        close(found.value, 75.0);
        assert_eq!(found.freedom, 7.0);
        let expected = (270.0 - 31.0) / (2.0 * 2.3646);
        assert!((found.error - expected).abs() < 0.01 * expected, "{} {expected}", found.error);
    }

    #[test]
    fn a_quantile_whose_interval_reaches_beyond_the_exact_durations_has_no_error() {
        let mut stretch = CensoredHistogram::new();
        let ms = Duration::from_millis;
        (1..=90).for_each(|i| stretch.record(Observation::Exact(ms(i))));
        (0..10).for_each(|_| stretch.record(Observation::Lost(ms(500))));
        let stretches = [&stretch; 8];
        assert_eq!(quantile_of_batches(0.5, &stretches).map(|it| it.value.round()), Ok(50.0));
        assert_eq!(quantile_of_batches(0.95, &stretches), Err(Inconclusive::Unbounded));
    }
}
