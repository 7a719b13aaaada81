//! Numbers as they are measured: possibly wrong, never trusted.

/// The value, or 0 where it is negative or not finite.
pub fn sane(value: f64) -> f64 {
    if value.is_finite() { value.max(0.0) } else { 0.0 }
}

/// A multiple of a count, to the nearest whole number.
pub fn times(count: u64, factor: f64) -> u64 {
    (count as f64 * factor).round() as u64
}

/// As people read it: whole from a hundred on, with tenths below.
pub fn rounded(value: f64) -> String {
    if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}
