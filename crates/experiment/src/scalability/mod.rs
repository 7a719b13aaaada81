//! Laws of scalability: how throughput follows the load, fitted to measured points.

mod bootstrap;
mod model;
mod solve;

use serde::Serialize;

use bootstrap::Refitted;
use model::Curve;
use solve::{Free, Weighed, least_squares, linear_start};

/// A measured point of a scalability curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ScalePoint {
    /// The load N: processors, or customers at a time. Above 0, at most 10⁹; it need not be whole.
    pub n: f64,
    /// Throughput X at this load, in any unit, 0 to 10¹².
    pub throughput: f64,
}

/// What is known of λ, the throughput of one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Single {
    /// Nothing: it is fitted too.
    Fitted,
    /// It was measured: the curve goes through X(1), as where speed-ups are stated.
    Given(f64),
}

/// How far measurements are from the law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errors {
    /// By the same amount at every load: residuals are those of throughput.
    Alike,
    /// By the same share of throughput: residuals are divided by it, so that small figures count
    /// as much as large ones. No throughput may be 0.
    InProportion,
}

/// How a law is fitted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fitting {
    /// What is known of the throughput of one.
    pub single: Single,
    /// What is made smallest.
    pub errors: Errors,
    /// Bounds.
    pub bootstrap: Bootstrap,
}

impl Default for Fitting {
    /// All coefficients are fitted, by residuals of throughput.
    fn default() -> Self {
        Self { single: Single::Fitted, errors: Errors::Alike, bootstrap: Bootstrap::default() }
    }
}

/// How often and from which seed points are drawn anew for the bounds of coefficients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bootstrap {
    /// Number of draws; 1000 give the 95 % bounds to about a tenth of their width.
    pub draws: u32,
    /// The same seed gives the same bounds.
    pub seed: u64,
}

impl Default for Bootstrap {
    fn default() -> Self {
        Self { draws: 1000, seed: 1 }
    }
}

/// A coefficient and the bounds that 95 % of the draws lie within.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Coefficient {
    /// Of the measured points.
    pub value: f64,
    /// 2.5 % of the draws are below.
    pub low: f64,
    /// 2.5 % of the draws are above.
    pub high: f64,
}

/// A coefficient outside of what the law allows: the points are not explained by contention and
/// coherency, or there are too few of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unphysical {
    /// α, or Amdahl's σ, is negative: throughput grows faster than the load.
    NegativeContention,
    /// α, or σ, is above 1: a second one takes more than all of the first one's time.
    ContentionAboveOne,
    /// β is negative: throughput bends upwards, and beyond some load the law has no meaning.
    NegativeCoherency,
}

impl Unphysical {
    /// What it means, in one sentence.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::NegativeContention => {
                "contention is negative: throughput grows faster than the load, which the law \
                 does not explain"
            }
            Self::ContentionAboveOne => {
                "contention is above 1: throughput falls from the first step on"
            }
            Self::NegativeCoherency => {
                "coherency is negative, which is not physical: there are too few points beyond \
                 the peak, or the load is limited by something else; do not extrapolate"
            }
        }
    }
}

/// A law that was fitted to points.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScaleFit {
    /// λ: throughput of one; without width where it was given.
    pub single: Coefficient,
    /// α: contention, the share of work that is done one at a time; Amdahl's σ.
    pub contention: Coefficient,
    /// β: coherency, the cost of each pair that has to agree; `None` in Amdahl's law.
    pub coherency: Option<Coefficient>,
    /// The load of the highest throughput; `None` if throughput grows without end.
    pub peak_at: Option<f64>,
    /// The highest throughput, or the limit that it approaches; `None` without either.
    pub peak: Option<f64>,
    /// Largest deviation of a point from the curve, as a share of the point; infinite if a point
    /// without throughput is not on it.
    pub largest_error: f64,
    /// Share of the variance of throughput that the curve explains; 1 is all of it.
    pub r_squared: f64,
    /// Number of points.
    pub points: usize,
    /// Draws that gave a curve.
    pub draws: u32,
    /// Coefficients that the law does not allow.
    pub unphysical: Vec<Unphysical>,
}

impl ScaleFit {
    /// Throughput at a load by the fitted law; `None` where it has no meaning.
    pub fn throughput(&self, n: f64) -> Option<f64> {
        self.curve().throughput(n)
    }

    fn curve(&self) -> Curve {
        Curve {
            single: self.single.value,
            contention: self.contention.value,
            coherency: self.coherency.map_or(0.0, |coefficient| coefficient.value),
        }
    }
}

/// Why a law could not be fitted.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ScaleError {
    /// A value is not finite or out of range.
    #[error(
        "point {index} (load {n}, throughput {throughput}) cannot be used: a load must be above 0 \
         and at most 1e9, a throughput 0 to 1e12"
    )]
    Unusable {
        /// Which point, from 0.
        index: usize,
        /// Its load.
        n: f64,
        /// Its throughput.
        throughput: f64,
    },
    /// Errors in proportion to a throughput of 0.
    #[error(
        "point {0} has throughput 0, of which no error is a share: leave it out, or fit by \
         throughput itself"
    )]
    NoShare(usize),
    /// λ was given and is not a throughput.
    #[error("the throughput of one is {0}; it must be above 0 and at most 1e12")]
    Single(f64),
    /// There are fewer different loads than coefficients and one more.
    #[error(
        "{have} different loads are too few for {coefficients} coefficients: measure at least \
         {need}"
    )]
    TooFew {
        /// Different loads that tell something about the coefficients.
        have: usize,
        /// Coefficients to fit.
        coefficients: usize,
        /// Fewest loads.
        need: usize,
    },
    /// The points do not determine the coefficients, as where nothing was completed.
    #[error("the points determine no curve: they are the same, or throughput is 0 at nearly all")]
    Degenerate,
    /// The search found no minimum.
    #[error("no curve of the law comes near these points")]
    NoCurve,
}

/// Fits the Universal Scalability Law `X(N) = λN / (1 + α(N − 1) + βN(N − 1))` by least squares
/// (Levenberg and Marquardt), with bounds by resampling of residuals.
///
/// # Errors
/// [`ScaleError`]: the points are too few or no measurements, or have no such curve.
///
/// Source: Gunther 2007, "Guerrilla Capacity Planning", chapters 5 and 6; Gunther, Puglia and
/// Tomasette 2015, "Hadoop superlinear scalability", for negative contention.
pub fn universal_scalability(
    points: &[ScalePoint],
    fitting: Fitting,
) -> Result<ScaleFit, ScaleError> {
    fit(points, true, fitting)
}

/// Fits Amdahl's law `X(N) = λN / (1 + σ(N − 1))`, as [`universal_scalability`].
///
/// # Errors
/// As there.
pub fn amdahl(points: &[ScalePoint], fitting: Fitting) -> Result<ScaleFit, ScaleError> {
    fit(points, false, fitting)
}

fn fit(points: &[ScalePoint], coherency: bool, fitting: Fitting) -> Result<ScaleFit, ScaleError> {
    let free = Free { single: fitting.single == Single::Fitted, coherency };
    let given = check(points, fitting)?;
    // With λ given the curve passes through one point at N = 1 whatever the coefficients.
    let tells = |point: &&ScalePoint| free.single || (point.n - 1.0).abs() > 1e-9;
    let told: Vec<ScalePoint> = points.iter().filter(tells).copied().collect();
    let (have, need) = (levels(&told), free.count() + 1);
    if have < need {
        return Err(ScaleError::TooFew { have, coefficients: free.count(), need });
    }
    // Throughput in shares of the highest, so that no unit is too large or too small.
    let unit = told.iter().map(|point| point.throughput).fold(0.0, f64::max);
    if told.iter().filter(|point| point.throughput > 0.0).count() < need {
        return Err(ScaleError::Degenerate);
    }
    let weighed = |point: &ScalePoint| {
        let x = point.throughput / unit;
        let weight = if fitting.errors == Errors::Alike { 1.0 } else { 1.0 / x };
        Weighed { n: point.n, x, weight }
    };
    let told: Vec<Weighed> = told.iter().map(weighed).collect();
    let start = linear_start(&told, free, given / unit).ok_or(ScaleError::Degenerate)?;
    let curve = least_squares(&told, free, start).ok_or(ScaleError::NoCurve)?;
    let refitted = bootstrap::refit(&told, free, curve, fitting.bootstrap);
    Ok(summary(points, curve, unit, free, &refitted))
}

/// # Errors
/// The first value that is not usable. Returns λ, 1 where it is fitted.
fn check(points: &[ScalePoint], fitting: Fitting) -> Result<f64, ScaleError> {
    let usable = |point: &ScalePoint| {
        point.n > 1e-9 && point.n <= 1e9 && (0.0..=1e12).contains(&point.throughput)
    };
    if let Some(index) = points.iter().position(|point| !usable(point)) {
        let ScalePoint { n, throughput } = points[index];
        return Err(ScaleError::Unusable { index, n, throughput });
    }
    let none = |point: &ScalePoint| point.throughput == 0.0;
    if let (Errors::InProportion, Some(index)) = (fitting.errors, points.iter().position(none)) {
        return Err(ScaleError::NoShare(index));
    }
    match fitting.single {
        Single::Fitted => Ok(1.0),
        Single::Given(single) if single > 0.0 && single <= 1e12 => Ok(single),
        Single::Given(single) => Err(ScaleError::Single(single)),
    }
}

/// How many different loads there are.
fn levels(points: &[ScalePoint]) -> usize {
    let mut loads: Vec<f64> = points.iter().map(|point| point.n).collect();
    loads.sort_by(f64::total_cmp);
    loads.dedup_by(|a, b| (*a - *b).abs() <= 1e-9 * b.abs());
    loads.len()
}

fn summary(
    points: &[ScalePoint],
    curve: Curve,
    unit: f64,
    free: Free,
    refitted: &Refitted,
) -> ScaleFit {
    let curve = Curve { single: curve.single * unit, ..curve };
    let mut unphysical = Vec::new();
    if curve.contention < 0.0 {
        unphysical.push(Unphysical::NegativeContention);
    }
    if curve.contention > 1.0 {
        unphysical.push(Unphysical::ContentionAboveOne);
    }
    if curve.coherency < 0.0 {
        unphysical.push(Unphysical::NegativeCoherency);
    }
    let peak_at = curve.peak_at();
    let approached =
        (curve.coherency == 0.0 && curve.contention > 0.0).then(|| curve.single / curve.contention);
    let peak = peak_at.and_then(|n| curve.throughput(n)).or(approached);
    let coefficient = |value, of: fn(&Curve) -> f64, unit: f64| {
        let (low, high) = refitted.bounds(of);
        Coefficient { value, low: low * unit, high: high * unit }
    };
    let single = match free.single {
        true => coefficient(curve.single, |curve| curve.single, unit),
        false => Coefficient { value: curve.single, low: curve.single, high: curve.single },
    };
    let mean = points.iter().map(|p| p.throughput).sum::<f64>() / points.len() as f64;
    let residual =
        |p: &ScalePoint| curve.throughput(p.n).map_or(f64::INFINITY, |x| x - p.throughput);
    let squares =
        |of: &dyn Fn(&ScalePoint) -> f64| points.iter().map(|p| of(p).powi(2)).sum::<f64>();
    let total = squares(&|p| p.throughput - mean);
    let left = squares(&residual);
    let relative = |p: &ScalePoint| match residual(p).abs() {
        0.0 => 0.0,
        error => error / p.throughput,
    };
    ScaleFit {
        single,
        contention: coefficient(curve.contention, |curve| curve.contention, 1.0),
        coherency: free
            .coherency
            .then(|| coefficient(curve.coherency, |curve| curve.coherency, 1.0)),
        peak_at,
        peak,
        largest_error: points.iter().map(relative).fold(0.0, f64::max),
        r_squared: if total > 0.0 { 1.0 - left / total } else { 0.0 },
        points: points.len(),
        draws: refitted.count(),
        unphysical,
    }
}

#[cfg(test)]
mod tests;
