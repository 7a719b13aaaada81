//! The division of a whole by what gates need and ask.

/// Part of the whole that is divided equally whatever gates ask for, so that a gate where a
/// crowd begins can admit the first of it.
pub(super) const FLOOR: f64 = 0.02;

/// Divides `whole` among gates, of which each is `(committed, asking)`: what its active sessions
/// use, and what its new sessions would use if all were admitted, as shares of the service.
/// The shares add up to `whole`, and none is below its part of a floor of 2 %.
///
/// First, each gate gets what its active sessions use. The rest is divided in proportion to
/// what new sessions ask for, so that a new session has the same chance at each gate. What they
/// leave is divided half equally and half in proportion to all demand. Where active sessions
/// alone need more than there is, the whole is divided in proportion to their need.
pub fn divide(whole: f64, demands: &[(f64, f64)]) -> Vec<f64> {
    let gates = demands.len() as f64;
    let floor = whole * FLOOR / gates;
    let whole = whole * (1.0 - FLOOR);
    let sum = |of: fn(&(f64, f64)) -> f64| demands.iter().map(of).sum::<f64>();
    let (committed, asking) = (sum(|demand| demand.0), sum(|demand| demand.1));
    let of_committed = if committed > whole { whole / committed } else { 1.0 };
    let left = (whole - committed).max(0.0);
    let of_asking = if asking > left { left / asking } else { 1.0 };
    let spare = (left - asking).max(0.0);
    let all = committed + asking;
    let share = |(committed, asking): &(f64, f64)| {
        let in_proportion = if all > 0.0 { (committed + asking) / all } else { 1.0 / gates };
        floor
            + committed * of_committed
            + asking * of_asking
            + spare * f64::midpoint(in_proportion, 1.0 / gates)
    };
    demands.iter().map(share).collect()
}
