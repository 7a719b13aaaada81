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

/// What a correlation that no batches are free of adds to an error.
const DRIFTING_ERROR: f64 = 3.0;
/// Degrees of freedom beside it.
const DRIFTING_FREEDOM: f64 = 2.0;

/// How much a run may be trusted to be steady.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Caution {
    /// Neighbours count as correlated by this at least, 0 to below 1. Of stretches that are shorter
    /// than what a service takes to change, a test of 8 to 32 batches does not find every
    /// correlation.
    pub correlation: f64,
    /// The run drifts: even the longest batches are correlated. They get three times their
    /// error and two degrees of freedom, which tells differences that exceed the drift by far.
    pub drifts: bool,
}

/// A ratio of sums over a run, with its standard error. Neighbouring stretches are joined
/// in pairs until they are no longer correlated.
///
/// With `R = Σy/Σx` over `k` batches the error is `√(Σz² / (k(k − 1)))`,
/// `z = (y − R·x) / x̄`, with `k − 1` degrees of freedom. A remaining correlation `c > 0` of
/// neighbours reduces the effective number of batches by the factor `(1 − c)/(1 + c)`. With the
/// caution of a run that drifts, batches that remain correlated are no error.
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
pub fn ratio_of_sums(parts: &[RatioTerm], caution: Caution) -> Result<Estimate, Inconclusive> {
    let estimate = steady(parts, caution)?;
    Ok(if caution.drifts { drifting(estimate) } else { estimate })
}

/// The estimate of a run as if it were steady, where it drifts that of the longest batches.
fn steady(parts: &[RatioTerm], caution: Caution) -> Result<Estimate, Inconclusive> {
    let whole = Whole::of(parts)?;
    let mut joined = 1;
    loop {
        let batches = whole.batches(parts, joined);
        let count = batches.residuals.len() as f64;
        let is_last = parts.len() / (2 * joined) < FEWEST;
        let limit = CORRELATED_Z * ((count - 2.0) / (count * count - 1.0)).sqrt();
        if batches.correlation <= limit && !caution.drifts || caution.drifts && is_last {
            return Ok(batches.estimate(whole.ratio, caution.correlation));
        }
        if is_last {
            return Err(Inconclusive::Correlated);
        }
        joined *= 2;
    }
}

fn drifting(estimate: Estimate) -> Estimate {
    Estimate { error: DRIFTING_ERROR * estimate.error, freedom: DRIFTING_FREEDOM, ..estimate }
}

/// The sums over a run.
struct Whole {
    ratio: f64,
    /// Σx.
    whole: f64,
}

impl Whole {
    fn of(parts: &[RatioTerm]) -> Result<Self, Inconclusive> {
        let sum = |of: fn(&RatioTerm) -> f64| parts.iter().map(of).sum::<f64>();
        let (part, whole) = (sum(|p| p.part), sum(|p| p.whole));
        let usable = |p: &RatioTerm| p.part.is_finite() && p.whole.is_finite() && p.whole >= 0.0;
        if whole <= 0.0 || !parts.iter().all(usable) {
            return Err(Inconclusive::NoData);
        }
        if parts.len() < FEWEST {
            return Err(Inconclusive::TooShort);
        }
        Ok(Self { ratio: part / whole, whole })
    }

    /// Batches of `joined` stretches each.
    fn batches(&self, parts: &[RatioTerm], joined: usize) -> Batches {
        let batches = join(parts, joined);
        let count = batches.len() as f64;
        let residual = |p: &RatioTerm| (p.part - self.ratio * p.whole) * count / self.whole;
        let residuals: Vec<f64> = batches.iter().map(residual).collect();
        Batches { correlation: neighbours(&residuals), residuals }
    }
}

/// Batches by how much they differ from the ratio of all.
struct Batches {
    residuals: Vec<f64>,
    /// Of neighbours.
    correlation: f64,
}

impl Batches {
    /// `least` is the least correlation that they count as having.
    fn estimate(&self, ratio: f64, least: f64) -> Estimate {
        let count = self.residuals.len() as f64;
        let squares: f64 = self.residuals.iter().map(|z| z * z).sum();
        // A correlation that the test does not reject reduces the effective number.
        let correlation = self.correlation.max(least);
        let worth = (1.0 - correlation) / (1.0 + correlation);
        let error = (squares / (count * (count - 1.0) * worth)).sqrt();
        Estimate { value: ratio, error, freedom: (count - 1.0) * worth }
    }
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
    caution: Caution,
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
    let share = steady(&parts, caution)?;
    // The interval of a run that drifts would reach beyond all its values: one error then, to the
    // side that is further.
    let t = if caution.drifts { 1.0 } else { t_quantile(share.freedom, 0.95) };
    let (low, high) = (exact(q - t * share.error)?, exact(q + t * share.error)?);
    let spread = match caution.drifts {
        true => (high - value).max(value - low),
        false => (high - low) / (2.0 * t),
    };
    // A value anywhere within a rounding step has the variance step²/12.
    let rounding = Histogram::RESOLUTION * value / 12f64.sqrt();
    let estimate = Estimate { value, error: spread.hypot(rounding), freedom: share.freedom };
    Ok(if caution.drifts { drifting(estimate) } else { estimate })
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

    const STEADY: Caution = Caution { correlation: 0.0, drifts: false };
    const DRIFTS: Caution = Caution { correlation: 0.0, drifts: true };

    fn by_two(counts: &[f64]) -> Vec<RatioTerm> {
        counts.iter().map(|&part| RatioTerm { part, whole: 2.0 }).collect()
    }

    fn close(actual: f64, expected: f64) {
        assert!((actual - expected).abs() < 1e-4 * expected.abs(), "{actual} is not {expected}");
    }

    #[test]
    fn eight_stretches_worked_out_by_hand() {
        // R = 16/16; z = ±1/2; error² = 8/4 / (8·7) = 1/28.
        let found =
            ratio_of_sums(&by_two(&[3.0, 1.0, 3.0, 1.0, 3.0, 1.0, 3.0, 1.0]), STEADY).unwrap();
        assert_eq!((found.value, found.freedom), (1.0, 7.0));
        close(found.error, (1.0f64 / 28.0).sqrt());
    }

    #[test]
    fn a_correlation_that_is_assumed_widens_the_error() {
        // As above, and eight are worth (1 − 1/2)/(1 + 1/2) = 1/3 as many: 7/3 degrees.
        let counts = by_two(&[3.0, 1.0, 3.0, 1.0, 3.0, 1.0, 3.0, 1.0]);
        let found = ratio_of_sums(&counts, Caution { correlation: 0.5, drifts: false }).unwrap();
        close(found.error, (3.0f64 / 28.0).sqrt());
        close(found.freedom, 7.0 / 3.0);
    }

    #[test]
    fn uneven_stretches_weigh_by_their_size() {
        // R = 12/24. y − R·x = −1 1 −1 1 −1 1 −1 1, x̄ = 3: Σz² = 8/9.
        let sizes = [2.0, 4.0, 2.0, 4.0, 2.0, 4.0, 2.0, 4.0];
        let parts: Vec<RatioTerm> = sizes
            .iter()
            .map(|&whole| RatioTerm { part: if whole == 2.0 { 0.0 } else { 3.0 }, whole })
            .collect();
        let found = ratio_of_sums(&parts, STEADY).unwrap();
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
        let found = ratio_of_sums(&by_two(&fours), STEADY).unwrap();
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
                ratio_of_sums(&parts, STEADY)
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

    /// A run of 32 stretches of which each has the correlation `kept` with the one before.
    fn correlated(kept: f64, mean: f64, rng: &mut Xoshiro256PlusPlus) -> Vec<RatioTerm> {
        let mut now: f64 = StandardNormal.sample(rng);
        let next = |_| {
            let new: f64 = StandardNormal.sample(rng);
            now = kept * now + (1.0 - kept * kept).sqrt() * new;
            RatioTerm { part: mean + now, whole: 1.0 }
        };
        (0..32).map(next).collect()
    }

    #[test]
    fn runs_that_drift_are_called_different_no_more_often_and_only_for_large_differences() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
        let estimate = |parts: &[RatioTerm]| {
            ratio_of_sums(parts, STEADY).or_else(|_| ratio_of_sums(parts, DRIFTS)).unwrap()
        };
        for kept in [0.0, 0.6, 0.8, 0.9, 0.95, 0.98] {
            let mut differing = |by: f64| {
                let mut differ = |_: &i32| {
                    let a = estimate(&correlated(kept, 100.0, &mut rng));
                    let b = estimate(&correlated(kept, 100.0 + by, &mut rng));
                    Difference::welch(a, b).p() < 0.05
                };
                (0..1000).filter(|n| differ(n)).count()
            };
            // 5 % of 1000 are 50, with a deviation of 7.
            let equal = differing(0.0);
            assert!((20..80).contains(&equal), "{equal} of 1000 at correlation {kept}");
            // Forty deviations of a stretch, as of 14 and 145 ms.
            let other = differing(40.0);
            assert!(other > 950, "{other} of 1000 at correlation {kept}");
        }
    }

    #[test]
    fn a_run_that_drifts_or_is_short_or_empty_has_no_standard_error() {
        let drift = by_two(&[1.0, 1.0, 1.0, 1.0, 3.0, 3.0, 3.0, 3.0]);
        assert_eq!(ratio_of_sums(&drift, STEADY), Err(Inconclusive::Correlated));
        // R = 1, z = ±1/2, one step: c = 1 − 1/(2·2) = 3/4, worth 1/7. Error² = 9·2·7/(8·7).
        let found = ratio_of_sums(&drift, DRIFTS).unwrap();
        assert_eq!((found.value, found.freedom), (1.0, 2.0));
        close(found.error, 1.5);
        assert_eq!(ratio_of_sums(&by_two(&[1.0; 7]), DRIFTS), Err(Inconclusive::TooShort));
        assert_eq!(ratio_of_sums(&by_two(&[1.0; 7]), STEADY), Err(Inconclusive::TooShort));
        assert_eq!(ratio_of_sums(&[RatioTerm::default(); 9], STEADY), Err(Inconclusive::NoData));
        assert_eq!(ratio_of_sums(&by_two(&[f64::NAN; 9]), STEADY), Err(Inconclusive::NoData));
    }

    #[test]
    fn constant_stretches_have_a_standard_error_of_zero() {
        let found = ratio_of_sums(&by_two(&[2.0; 10]), STEADY).unwrap();
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
        let found = quantile_of_batches(0.5, &stretches, STEADY).unwrap();
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
        assert_eq!(
            quantile_of_batches(0.5, &stretches, STEADY).map(|it| it.value.round()),
            Ok(50.0)
        );
        assert_eq!(quantile_of_batches(0.95, &stretches, STEADY), Err(Inconclusive::Unbounded));
    }
}
