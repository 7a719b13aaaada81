//! The laws of scalability as functions of the load.

/// Coefficients of a law of scalability.
///
/// Source: Gunther 2007, "Guerrilla Capacity Planning", chapter 6: the Universal Scalability
/// Law; Amdahl 1967, "Validity of the single processor approach", is the case without
/// coherency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Curve {
    /// λ: throughput of one.
    pub(super) single: f64,
    /// α, Amdahl's σ: contention.
    pub(super) contention: f64,
    /// β: coherency.
    pub(super) coherency: f64,
}

impl Curve {
    /// `1 + α(N − 1) + βN(N − 1)`.
    pub(super) fn slowdown(&self, n: f64) -> f64 {
        1.0 + self.contention * (n - 1.0) + self.coherency * n * (n - 1.0)
    }

    /// `X(N) = λN / (1 + α(N − 1) + βN(N − 1))`; `None` where the denominator is not above 0:
    /// there the law has no meaning.
    pub(super) fn throughput(&self, n: f64) -> Option<f64> {
        let slowdown = self.slowdown(n);
        (slowdown > 0.0).then(|| self.single * n / slowdown)
    }

    /// The load of the highest throughput: `√((1 − α) / β)`, or 1 where throughput falls from
    /// the first step on. `None` if there is none, because throughput grows without end.
    pub(super) fn peak_at(&self) -> Option<f64> {
        if self.coherency <= 0.0 {
            return None;
        }
        let square = (1.0 - self.contention) / self.coherency;
        Some(if square > 0.0 { square.sqrt() } else { 1.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_law_worked_out_by_hand() {
        // N = 5: 1 + 0.1·4 + 0.01·5·4 = 1.6; 100·5/1.6.
        let curve = Curve { single: 100.0, contention: 0.1, coherency: 0.01 };
        assert!((curve.throughput(5.0).unwrap() - 312.5).abs() < 1e-9);
        assert_eq!(curve.throughput(1.0), Some(100.0));
        // √(0.9 / 0.01).
        assert!((curve.peak_at().unwrap() - 9.486_833).abs() < 1e-6);
    }

    #[test]
    fn without_coherency_there_is_no_peak_and_a_negative_denominator_is_no_throughput() {
        let amdahl = Curve { single: 1.0, contention: 0.5, coherency: 0.0 };
        assert_eq!(amdahl.peak_at(), None);
        let strange = Curve { contention: -0.5, ..amdahl };
        assert_eq!(strange.throughput(3.0), None);
        // Of loads below 1: √(0.5 / 2).
        let early = Curve { coherency: 2.0, ..amdahl };
        assert_eq!(early.peak_at(), Some(0.5));
        let retrograde = Curve { contention: 2.0, coherency: 0.1, ..amdahl };
        assert_eq!(retrograde.peak_at(), Some(1.0));
    }
}
