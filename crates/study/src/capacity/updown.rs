//! The rate that is carried in half of the steps, by the method of up and down.
//!
//! After a step that was carried the next rate is a factor higher, after one that was not as much
//! lower. Around the rate that is carried as often as not the steps are tightest, and their levels
//! tell where it is and how sharply the one outcome turns into the other.
//!
//! Source: Dixon and Mood 1948, "A method for obtaining and analyzing sensitivity data".

use tidegate_stats::{Estimate, Interval};

/// A step of the method: its rate, and whether it was carried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// Sessions per second, above 0.
    pub rate: f64,
    /// It was carried.
    pub carried: bool,
}

/// The least variance term for which the formula of the spread holds.
const FORMULA: f64 = 0.3;

/// The rate that is carried as often as not, from steps whose rates are a factor `factor` apart:
/// the normal distribution's mean and spread of the logarithm. `None` without at least one step of
/// either outcome.
///
/// With `i` the level above the lowest of the less frequent outcome, `N = Σn`, `A = Σin`,
/// `B = Σi²n` over its steps and `d = ln factor`: the mean is `y₀ + d(A/N ± ½)`, plus where the
/// less frequent outcome is the carried one; the spread is `1.62 d ((NB − A²)/N² + 0.029)`, or
/// `0.53 d` where the term is below 0.3; the standard error is spread/√N, with N − 1 degrees of
/// freedom, at least 1.
pub fn up_and_down(trials: &[Trial], factor: f64) -> Option<Interval> {
    let d = factor.ln();
    if d.is_nan() || d <= 0.0 {
        return None;
    }
    let of = |carried: bool| trials.iter().filter(move |trial| trial.carried == carried);
    let (carried, lost) = (of(true).count(), of(false).count());
    let fewer_are_carried = carried <= lost;
    let logs: Vec<f64> = of(fewer_are_carried).map(|trial| trial.rate.ln()).collect();
    let lowest = logs.iter().copied().fold(f64::INFINITY, f64::min);
    if logs.is_empty() || !lowest.is_finite() {
        return None;
    }
    let count = logs.len() as f64;
    let levels = || logs.iter().map(|log| ((log - lowest) / d).round());
    let (a, b) = (levels().sum::<f64>(), levels().map(|level| level * level).sum::<f64>());
    let half = if fewer_are_carried { 0.5 } else { -0.5 };
    let mean = lowest + d * (a / count + half);
    let term = (count * b - a * a) / (count * count);
    let spread = if term > FORMULA { 1.62 * d * (term + 0.029) } else { 0.53 * d };
    let freedom = (count - 1.0).max(1.0);
    let log = Estimate { value: mean, error: spread / count.sqrt(), freedom };
    Some(Interval::from(log).map(f64::exp))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn trials(of: &[(f64, bool)]) -> Vec<Trial> {
        of.iter().map(|&(rate, carried)| Trial { rate, carried }).collect()
    }

    #[test]
    fn levels_worked_out_by_hand() {
        // Levels 0 1 2 1 2 1 2 1 of 100·1.1ⁱ: lost at 2, 2, 2 and once at 1, carried four times.
        let level = |i: i32| 100.0 * 1.1f64.powi(i);
        let of = [
            (level(0), true),
            (level(1), true),
            (level(2), false),
            (level(1), true),
            (level(2), false),
            (level(1), true),
            (level(2), false),
            (level(1), false),
        ];
        // The carried ones: levels 0 1 1 1, N 4, A 3, B 3; mean at level 3/4 + 1/2; the term
        // (12 − 9)/16 is below 0.3, so the spread is 0.53 d and the error half of that.
        let found = up_and_down(&trials(&of), 1.1).unwrap();
        assert!((found.value - 100.0 * 1.1f64.powf(1.25)).abs() < 1e-9, "{found:?}");
        let half = 3.1824 * 0.53 * 1.1f64.ln() / 2.0;
        assert!((found.high / found.value - half.exp()).abs() < 1e-4, "{found:?}");
        assert!((found.value / found.low - half.exp()).abs() < 1e-4, "{found:?}");
    }

    #[test]
    fn one_outcome_alone_says_nothing() {
        assert_eq!(up_and_down(&trials(&[(1.0, true), (1.1, true)]), 1.1), None);
        assert_eq!(up_and_down(&[], 1.1), None);
        let both = trials(&[(1.0, true), (1.1, false)]);
        assert_eq!(up_and_down(&both, 1.0), None);
        let found = up_and_down(&both, 1.1).unwrap();
        assert!((found.value - 1.1f64.sqrt()).abs() < 1e-9 && found.low < 1.0, "{found:?}");
    }

    proptest! {
        #[test]
        fn a_sharp_threshold_is_found_within_a_step(threshold in 10.0f64..1e5, first in 0.8f64..1.25) {
            let (factor, mut rate) = (1.06, threshold * first);
            let mut of = Vec::new();
            for _ in 0..20 {
                let carried = rate <= threshold;
                of.push(Trial { rate, carried });
                rate *= if carried { factor } else { 1.0 / factor };
            }
            let found = up_and_down(&of[6..], factor).unwrap();
            prop_assert!((found.value / threshold).ln().abs() <= factor.ln(), "{found:?}");
            prop_assert!(found.low <= found.value && found.value <= found.high);
        }
    }
}
