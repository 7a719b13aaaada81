//! How a quantity varies: work of a request, think time, patience.

use rand_distr::Distribution as _;
use statrs::function::erf::erfc;
use statrs::function::gamma::{gamma, gamma_ur};

use super::random::Random;

/// A distribution of values from 0 on, by its mean and its shape. The unit is
/// that of the mean.
///
/// Mean, spread and tail are known in closed form, so that what a service
/// carries is worked out rather than sampled.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    mean: f64,
    shape: Shape,
}

/// Shapes of mean 1.
#[derive(Clone, Debug, PartialEq)]
enum Shape {
    Constant,
    Exponential,
    /// So much to either side of the mean, 0 to 1.
    Uniform(f64),
    /// The sum of so many exponentials.
    Erlang(u32),
    /// Of two exponentials whose parts of the mean are equal, the share of the
    /// shorter one: ½ to 1.
    Hyperexponential(f64),
    /// Its squared coefficient of variation, and how it is drawn.
    Gamma(f64, rand_distr::Gamma<f64>),
    /// Standard deviation of the logarithm, and how it is drawn.
    LogNormal(f64, rand_distr::LogNormal<f64>),
    /// Exponent and scale, and how it is drawn.
    Weibull(f64, f64, rand_distr::Weibull<f64>),
    Pareto(Pareto),
    /// Values and the share of those that are not larger, in ascending order.
    Empirical(Vec<(f64, f64)>),
}

impl Distribution {
    /// Always the same.
    pub fn constant(mean: f64) -> Self {
        Self { mean, shape: Shape::Constant }
    }

    /// Memoryless.
    pub fn exponential(mean: f64) -> Self {
        Self { mean, shape: Shape::Exponential }
    }

    /// The usual shape of a squared coefficient of variation: 0 is a constant,
    /// below 1 an Erlang distribution with the nearest number of stages, from 1
    /// on a mixture of two exponentials with balanced means.
    pub fn of_scv(mean: f64, scv: f64) -> Self {
        if scv <= 0.0 {
            Self::constant(mean)
        } else if scv < 1.0 {
            Self::erlang(mean, (1.0 / scv).round() as u32)
        } else {
            Self::hyperexponential(mean, scv)
        }
    }

    /// Even over a range around the mean; `scv` is at most 1/3, where the range
    /// begins at 0.
    pub fn uniform(mean: f64, scv: f64) -> Self {
        Self { mean, shape: Shape::Uniform((3.0 * scv).sqrt().min(1.0)) }
    }

    /// The sum of so many equal exponentials; at least one.
    pub fn erlang(mean: f64, stages: u32) -> Self {
        Self { mean, shape: Shape::Erlang(stages.max(1)) }
    }

    /// One of two exponentials whose parts of the mean are equal; `scv` is at
    /// least 1.
    ///
    /// Source: Whitt 1982, "Approximating a point process by a renewal
    /// process, I", section 3.
    pub fn hyperexponential(mean: f64, scv: f64) -> Self {
        let scv = scv.max(1.0);
        let share = 0.5 * (1.0 + ((scv - 1.0) / (scv + 1.0)).sqrt());
        Self { mean, shape: Shape::Hyperexponential(share) }
    }

    /// Gamma, of any `scv` above 0.
    pub fn gamma(mean: f64, scv: f64) -> Self {
        let drawn = rand_distr::Gamma::new(1.0 / scv, scv).expect("scv is above 0");
        Self { mean, shape: Shape::Gamma(scv, drawn) }
    }

    /// Lognormal, of any `scv` above 0.
    pub fn lognormal(mean: f64, scv: f64) -> Self {
        // The mean is e^(μ + σ²/2), the scv e^σ² − 1.
        let variance = (1.0 + scv).ln();
        let drawn = rand_distr::LogNormal::new(-variance / 2.0, variance.sqrt());
        let drawn = drawn.expect("a standard deviation is finite");
        Self { mean, shape: Shape::LogNormal(variance.sqrt(), drawn) }
    }

    /// Weibull, of any `scv` from 0.001 to 100; above 1 its tail is heavier than
    /// an exponential's.
    pub fn weibull(mean: f64, scv: f64) -> Self {
        let exponent = bisect(0.1, 50.0, |exponent| weibull_scv(exponent) > scv);
        let scale = 1.0 / gamma(1.0 + 1.0 / exponent);
        let drawn = rand_distr::Weibull::new(scale, exponent).expect("both are above 0");
        Self { mean, shape: Shape::Weibull(exponent, scale, drawn) }
    }

    /// Pareto with the tail index `index`, cut at `max`, above the mean.
    pub fn pareto(mean: f64, index: f64, max: f64) -> Self {
        Self { mean, shape: Shape::Pareto(Pareto::new(index, max / mean)) }
    }

    /// Measured values, each as often as its weight says; `None` without a
    /// weight above 0.
    pub fn empirical(values: &[(f64, f64)]) -> Option<Self> {
        let total: f64 = values.iter().map(|(_, weight)| weight).sum();
        if !(total > 0.0 && total.is_finite()) {
            return None;
        }
        let mean = values.iter().map(|(value, weight)| value * weight / total).sum::<f64>();
        if mean <= 0.0 {
            return Some(Self::constant(0.0));
        }
        let mut values = values.to_vec();
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        let steps = values.iter().scan(0.0, |sum, (value, weight)| {
            *sum += weight / total;
            Some((value / mean, *sum))
        });
        Some(Self { mean, shape: Shape::Empirical(steps.collect()) })
    }

    /// Its mean.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The same shape with another mean.
    #[must_use]
    pub fn with_mean(&self, mean: f64) -> Self {
        Self { mean, ..self.clone() }
    }

    /// The same, every value times so much.
    #[must_use]
    pub fn times(&self, factor: f64) -> Self {
        self.with_mean(self.mean * factor)
    }

    /// Squared coefficient of variation: variance over the mean squared.
    pub fn scv(&self) -> f64 {
        match &self.shape {
            Shape::Constant => 0.0,
            Shape::Exponential => 1.0,
            Shape::Uniform(width) => width * width / 3.0,
            Shape::Erlang(stages) => 1.0 / f64::from(*stages),
            Shape::Hyperexponential(share) => 0.5 / share + 0.5 / (1.0 - share) - 1.0,
            Shape::Gamma(scv, _) => *scv,
            Shape::LogNormal(deviation, _) => (deviation * deviation).exp_m1(),
            Shape::Weibull(exponent, ..) => weibull_scv(*exponent),
            Shape::Pareto(pareto) => pareto.moment(2.0) - 1.0,
            Shape::Empirical(steps) => {
                let shares = steps.iter().scan(0.0, |before, (value, sum)| {
                    Some(value * value * (sum - std::mem::replace(before, *sum)))
                });
                shares.sum::<f64>() - 1.0
            }
        }
    }

    /// The share of values above `value`.
    pub fn above(&self, value: f64) -> f64 {
        if self.mean <= 0.0 || value < 0.0 {
            return f64::from(u8::from(value < self.mean));
        }
        let x = value / self.mean;
        match &self.shape {
            Shape::Constant => f64::from(u8::from(x < 1.0)),
            Shape::Exponential => (-x).exp(),
            Shape::Uniform(0.0) => f64::from(u8::from(x < 1.0)),
            Shape::Uniform(width) => ((1.0 + width - x) / (2.0 * width)).clamp(0.0, 1.0),
            Shape::Erlang(stages) => gamma_above(f64::from(*stages), x),
            Shape::Hyperexponential(p) => {
                p * (-2.0 * p * x).exp() + (1.0 - p) * (-2.0 * (1.0 - p) * x).exp()
            }
            Shape::Gamma(scv, _) => gamma_above(1.0 / scv, x),
            Shape::LogNormal(_, _) if x == 0.0 => 1.0,
            Shape::LogNormal(deviation, _) => {
                let score = (x.ln() + deviation * deviation / 2.0) / deviation;
                0.5 * erfc(score / std::f64::consts::SQRT_2)
            }
            Shape::Weibull(exponent, scale, _) => (-(x / scale).powf(*exponent)).exp(),
            Shape::Pareto(pareto) => pareto.above(x),
            Shape::Empirical(steps) => {
                // A value is not above itself, whatever dividing by the mean did to it.
                let not_above = steps.partition_point(|(step, _)| *step <= x * (1.0 + 1e-12));
                let below = not_above.checked_sub(1).map_or(0.0, |last| steps[last].1);
                (1.0 - below).max(0.0)
            }
        }
    }

    /// Draws a value.
    pub fn draw(&self, random: &mut Random) -> f64 {
        self.draw_times(1.0, random)
    }

    /// Draws a value and multiplies it; a constant takes no random number.
    pub fn draw_times(&self, factor: f64, random: &mut Random) -> f64 {
        let mean = self.mean * factor;
        match &self.shape {
            Shape::Constant => mean,
            Shape::Exponential => random.exponential(mean),
            Shape::Uniform(width) => mean * (1.0 + width * (2.0 * random.uniform() - 1.0)),
            Shape::Erlang(stages) => {
                let each = mean / f64::from(*stages);
                (0..*stages).map(|_| random.exponential(each)).sum()
            }
            Shape::Hyperexponential(p) => {
                let share = if random.uniform() <= *p { *p } else { 1.0 - p };
                random.exponential(mean / (2.0 * share))
            }
            Shape::Gamma(_, drawn) => mean * drawn.sample(random),
            Shape::LogNormal(_, drawn) => mean * drawn.sample(random),
            Shape::Weibull(_, _, drawn) => mean * drawn.sample(random),
            Shape::Pareto(pareto) => mean * pareto.at(random.uniform()),
            Shape::Empirical(steps) => {
                let draw = random.uniform();
                let place = steps.partition_point(|(_, sum)| *sum < draw);
                // Rounding may leave the last sum just below 1.
                mean * steps[place.min(steps.len() - 1)].0
            }
        }
    }
}

/// A Pareto distribution of mean 1 between two ends.
///
/// Source: Harchol-Balter 2013, "Performance Modeling and Design of Computer
/// Systems", chapter 20 (Bounded Pareto).
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pareto {
    index: f64,
    low: f64,
    high: f64,
}

impl Pareto {
    fn new(index: f64, high: f64) -> Self {
        let high = high.max(1.0 + 1e-9);
        let of = |log_low: f64| Self { index, low: log_low.exp(), high };
        of(bisect(-700.0, 0.0, |log_low| of(log_low).moment(1.0) < 1.0))
    }

    /// The mean of values to the power `n`.
    fn moment(&self, n: f64) -> f64 {
        let ratio = (self.high / self.low).ln();
        let rest = n - self.index;
        let integral = if rest.abs() < 1e-9 { ratio } else { (rest * ratio).exp_m1() / rest };
        self.index * self.low.powf(n) * integral / -(-self.index * ratio).exp_m1()
    }

    /// The share of values above `x`.
    fn above(&self, x: f64) -> f64 {
        let end = (self.low / self.high).powf(self.index);
        let x = x.clamp(self.low, self.high);
        ((self.low / x).powf(self.index) - end) / (1.0 - end)
    }

    /// The value that a share `q` does not exceed.
    fn at(&self, q: f64) -> f64 {
        let end = (self.low / self.high).powf(self.index);
        self.low * (1.0 - q * (1.0 - end)).powf(-1.0 / self.index)
    }
}

fn gamma_above(stages: f64, x: f64) -> f64 {
    if x <= 0.0 { 1.0 } else { gamma_ur(stages, stages * x) }
}

fn weibull_scv(exponent: f64) -> f64 {
    gamma(1.0 + 2.0 / exponent) / gamma(1.0 + 1.0 / exponent).powi(2) - 1.0
}

/// Where `is_low` ends, which holds at one end of the range and not at the other.
fn bisect(mut low: f64, mut high: f64, is_low: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if is_low(middle) { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every family, with a mean of 2 ms, and its squared coefficient of variation.
    fn families() -> Vec<(&'static str, Distribution, f64)> {
        let values = [(1e-3, 8.0), (2e-3, 1.0), (10e-3, 1.0)];
        vec![
            ("constant", Distribution::constant(2e-3), 0.0),
            ("exponential", Distribution::exponential(2e-3), 1.0),
            ("uniform", Distribution::uniform(2e-3, 0.2), 0.2),
            ("erlang", Distribution::erlang(2e-3, 4), 0.25),
            ("hyperexponential", Distribution::hyperexponential(2e-3, 4.0), 4.0),
            ("gamma", Distribution::gamma(2e-3, 0.3), 0.3),
            ("gamma of long tail", Distribution::gamma(2e-3, 3.0), 3.0),
            ("lognormal", Distribution::lognormal(2e-3, 2.0), 2.0),
            ("weibull", Distribution::weibull(2e-3, 3.0), 3.0),
            ("even weibull", Distribution::weibull(2e-3, 0.2), 0.2),
            // Worked out below.
            ("pareto", Distribution::pareto(2e-3, 2.0, 6e-3), 0.75 * 5f64.ln() - 1.0),
            // (8 × 1 + 1 × 4 + 1 × 100) ∕ 10 ∕ 2² − 1
            ("empirical", Distribution::empirical(&values).unwrap(), 1.8),
        ]
    }

    #[test]
    fn draws_have_the_mean_spread_and_tail_of_the_closed_form() {
        for (name, distribution, scv) in families() {
            let mut random = Random::new(7);
            let n = 400_000;
            let draws: Vec<f64> = (0..n).map(|_| distribution.draw(&mut random)).collect();
            let mean = draws.iter().sum::<f64>() / f64::from(n);
            let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(n);
            assert!((mean / 2e-3 - 1.0).abs() < 0.01, "{name}: mean {mean}");
            let drawn_scv = variance / mean.powi(2);
            assert!((drawn_scv - scv).abs() <= 0.05 * scv.max(0.01), "{name}: scv {drawn_scv}");
            for at in [0.5e-3, 1e-3, 1.9e-3, 3e-3, 5e-3] {
                let above = draws.iter().filter(|x| **x > at).count() as f64 / f64::from(n);
                let expected = distribution.above(at);
                assert!((above - expected).abs() < 0.004, "{name} at {at}: {above}, {expected}");
            }
        }
    }

    #[test]
    fn means_and_spreads_are_those_asked_for() {
        for (name, distribution, scv) in families() {
            assert!((distribution.mean() - 2e-3).abs() < 1e-12, "{name}");
            assert!((distribution.scv() - scv).abs() < 1e-6, "{name}: {}", distribution.scv());
            let twice = distribution.times(2.0);
            assert!((twice.mean() - 4e-3).abs() < 1e-12, "{name}");
            assert!((twice.scv() - scv).abs() < 1e-6, "{name}");
            assert!((twice.above(5e-3) - distribution.above(2.5e-3)).abs() < 1e-9, "{name}");
        }
    }

    #[test]
    fn tails_worked_out_by_hand() {
        let near = |found: f64, expected: f64| {
            assert!((found - expected).abs() < 1e-6, "{found}, expected {expected}");
        };
        near(Distribution::exponential(2.0).above(1.0), 0.606_530_7);
        // Two stages of 1 s: e^−1 (1 + 1).
        near(Distribution::erlang(2.0, 2).above(1.0), 0.735_758_9);
        // From 0 to 4.
        near(Distribution::uniform(2.0, 1.0 / 3.0).above(3.0), 0.25);
        // σ² = ln 2; the median is the mean over √2.
        near(Distribution::lognormal(2.0, 1.0).above(2.0 / 2f64.sqrt()), 0.5);
        // Exponent ½ has the scv Γ(5) ∕ Γ(3)² − 1 = 5; its scale is 2 ∕ Γ(3) = 1.
        near(Distribution::weibull(2.0, 5.0).above(4.0), (-2f64).exp());
        let measured = Distribution::empirical(&[(1.0, 9.0), (20.0, 1.0)]).unwrap();
        near(measured.mean(), 2.9);
        near(measured.above(1.0), 0.1);
        near(measured.above(20.0), 0.0);
    }

    #[test]
    fn a_bounded_pareto_worked_out_by_hand() {
        // Index 2 between L and H has the mean 2 L H ∕ (L + H): L = 1.2 and H = 6
        // give 2, and the second moment 2 L² ln(H ∕ L) ∕ (1 − (L ∕ H)²) = 3 ln 5.
        let pareto = Distribution::pareto(2.0, 2.0, 6.0);
        assert!((pareto.above(1.2 + 1e-9) - 1.0).abs() < 1e-6);
        assert!((pareto.scv() - (3.0 * 5f64.ln() / 4.0 - 1.0)).abs() < 1e-6);
        assert_eq!(pareto.above(6.0), 0.0);
        // ((1.2 ∕ 2.4)² − 0.04) ∕ 0.96
        assert!((pareto.above(2.4) - 0.218_75).abs() < 1e-6);
        // Index 1: the mean is ln(H ∕ L) L H ∕ (H − L), and no index is special.
        let one = Distribution::pareto(2.0, 1.0, 40.0).scv();
        let near_one = Distribution::pareto(2.0, 1.0 + 1e-7, 40.0).scv();
        assert!((one - near_one).abs() < 1e-4, "{one} {near_one}");
    }

    #[test]
    fn extremes_are_drawn_and_are_finite() {
        let extremes = [
            Distribution::lognormal(1.0, 100.0),
            Distribution::weibull(1.0, 100.0),
            Distribution::weibull(1.0, 0.001),
            Distribution::gamma(1.0, 100.0),
            Distribution::gamma(1.0, 0.001),
            Distribution::pareto(1.0, 0.1, 1.001),
            Distribution::pareto(1.0, 50.0, 1e9),
            Distribution::pareto(1.0, 0.1, 1e9),
            Distribution::exponential(0.0),
            Distribution::empirical(&[(0.0, 1.0)]).unwrap(),
        ];
        for distribution in extremes {
            let mut random = Random::new(3);
            let draws = (0..1000).map(|_| distribution.draw(&mut random));
            assert!(draws.into_iter().all(|x| x.is_finite() && x >= 0.0), "{distribution:?}");
            assert!((0.0..=1.0).contains(&distribution.above(0.5)), "{distribution:?}");
            assert!(distribution.scv().is_finite(), "{distribution:?}");
        }
        assert_eq!(Distribution::empirical(&[(1.0, 0.0)]), None);
        assert_eq!(Distribution::empirical(&[]), None);
    }

    #[test]
    fn a_spread_alone_gives_the_usual_shape() {
        assert_eq!(Distribution::of_scv(1.0, 0.0), Distribution::constant(1.0));
        assert_eq!(Distribution::of_scv(1.0, 0.3), Distribution::erlang(1.0, 3));
        assert_eq!(Distribution::of_scv(1.0, 4.0), Distribution::hyperexponential(1.0, 4.0));
    }
}
