//! Sums over sessions, from which means have their intervals.

use tidegate_stats::{Estimate, Interval};

/// What a session did.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// Seconds from its first request to its last.
    pub(super) length_s: f64,
    /// Operations by index, with how often it has each; each once.
    pub(super) operations: Vec<(u32, u32)>,
}

/// Sums over sessions.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    pub(super) sessions: u64,
    /// Operations of a session in all: the sum, and that of squares.
    all: (f64, f64),
    length_s: (f64, f64),
    operations: Vec<OperationSums>,
}

/// Of an operation: the sum, that of squares, and that of products with all operations of the
/// session.
#[derive(Clone, Copy, Debug, Default)]
struct OperationSums {
    count: f64,
    squares: f64,
    with_all: f64,
}

impl Sums {
    pub(super) fn add(&mut self, session: &Session) {
        let all: f64 = session.operations.iter().map(|(_, count)| f64::from(*count)).sum();
        self.sessions += 1;
        add(&mut self.all, (all, all * all));
        add(&mut self.length_s, (session.length_s, session.length_s * session.length_s));
        for (operation, count) in &session.operations {
            let (at, count) = (*operation as usize, f64::from(*count));
            if self.operations.len() <= at {
                self.operations.resize(at + 1, OperationSums::default());
            }
            let sums = &mut self.operations[at];
            sums.count += count;
            sums.squares += count * count;
            sums.with_all += count * all;
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.sessions += other.sessions;
        add(&mut self.all, other.all);
        add(&mut self.length_s, other.length_s);
        if self.operations.len() < other.operations.len() {
            self.operations.resize(other.operations.len(), OperationSums::default());
        }
        for (own, other) in self.operations.iter_mut().zip(&other.operations) {
            own.count += other.count;
            own.squares += other.squares;
            own.with_all += other.with_all;
        }
    }

    /// Mean length of a session in seconds.
    pub(super) fn length_s(&self) -> Interval {
        self.mean(self.length_s)
    }

    /// How often a session has an operation on average.
    pub(super) fn per_session(&self, operation: usize) -> Interval {
        let OperationSums { count, squares, .. } = self.of(operation);
        self.mean((count, squares))
    }

    /// How often there was an operation in all.
    pub(super) fn count(&self, operation: usize) -> u64 {
        self.of(operation).count as u64
    }

    /// Other operations for each of one, with the 95 % interval of a ratio of sums. `None` where
    /// there is none of it.
    ///
    /// Source: Cochran, "Sampling Techniques", 6.3.
    pub(super) fn others_for_each(&self, operation: usize) -> Option<Interval> {
        let OperationSums { count, squares, with_all } = self.of(operation);
        if count <= 0.0 {
            return None;
        }
        let ratio = (self.all.0 - count) / count;
        // Squares of b − R · k over sessions, b = all − k.
        let (bb, bk) = (self.all.1 - 2.0 * with_all + squares, with_all - squares);
        let left = (bb - 2.0 * ratio * bk + ratio * ratio * squares).max(0.0);
        let mean = count / self.sessions as f64;
        let error = Estimate::of_sums(self.sessions, 0.0, left)?.error / mean;
        let freedom = (self.sessions - 1) as f64;
        Some(Interval::from(Estimate { value: ratio, error, freedom }).not_negative())
    }

    fn of(&self, operation: usize) -> OperationSums {
        self.operations.get(operation).copied().unwrap_or_default()
    }

    fn mean(&self, (sum, squares): (f64, f64)) -> Interval {
        match Estimate::of_sums(self.sessions, sum, squares) {
            Some(estimate) => Interval::from(estimate).not_negative(),
            None => Interval::point(sum / (self.sessions.max(1) as f64)),
        }
    }
}

fn add(to: &mut (f64, f64), more: (f64, f64)) {
    *to = (to.0 + more.0, to.1 + more.1);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(length_s: f64, operations: &[(u32, u32)]) -> Session {
        Session { length_s, operations: operations.to_vec() }
    }

    #[test]
    fn means_and_their_intervals_worked_out_by_hand() {
        let (mut sums, mut more) = (Sums::default(), Sums::default());
        sums.add(&session(10.0, &[(0, 10)]));
        sums.add(&session(12.0, &[(0, 12), (2, 1)]));
        more.add(&session(14.0, &[(0, 14), (2, 1)]));
        sums.merge(&more);
        // Mean 12, s = 2: ± 4.3027 · 2/√3.
        for it in [sums.length_s(), sums.per_session(0)] {
            assert_eq!(it.value, 12.0);
            assert!((it.low - 7.0317).abs() < 1e-3 && (it.high - 16.9683).abs() < 1e-3, "{it:?}");
        }
        assert_eq!((sums.count(2), sums.count(1), sums.per_session(9).value), (2, 0, 0.0));
        // 36 others for two: z = 10, −6, −4; √(152/2/3) = 5.033, over 2/3: 7.5498; t of 2: 4.3027.
        let ratio = sums.others_for_each(2).unwrap();
        assert_eq!((ratio.value, ratio.low), (18.0, 0.0));
        assert!((ratio.high - 18.0 - 4.3027 * 7.5498).abs() < 1e-2, "{ratio:?}");
        assert_eq!(sums.others_for_each(1), None);
    }
}
