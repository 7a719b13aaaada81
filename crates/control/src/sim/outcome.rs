//! What came of a simulated run.

/// What happened from one moment of a run on.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// How long it was watched.
    pub seconds: f64,
    /// New sessions that customers asked for, those of customers who came back
    /// included.
    pub offered: u64,
    /// Of these, how many came back after a disappointment.
    pub retries: u64,
    /// New sessions let in.
    pub admitted: u64,
    /// New sessions refused, at once or after having been held.
    pub refused: u64,
    /// Sessions that got all that they came for.
    pub completed: u64,
    /// Admitted sessions that left for want of an answer, got an error, or were
    /// refused another connection.
    pub abandoned: u64,
    /// Of these, those who were refused another connection: they brought no
    /// ticket, and stood in line among the new.
    pub cut_off: u64,
    /// Connections of attackers, and how many of them were let in.
    pub attacks: (u64, u64),
    /// Full handshakes begun.
    pub full_handshakes: u64,
    /// Resumed handshakes begun.
    pub resumed_handshakes: u64,
    /// Response times, from the customer's wish to the whole response, in
    /// seconds, in ascending order.
    pub responses_s: Vec<f64>,
    /// Sessions that could have been completed at best.
    pub best: f64,
    /// CPU seconds spent, and those of them on what came to nothing.
    pub cpu_s: f64,
    /// See above.
    pub wasted_cpu_s: f64,
    /// Sessions offered and completed, of short and of long sessions.
    pub by_length: [(u64, u64); 2],
    /// Sessions offered and completed, by address prefix.
    pub by_prefix: [(u64, u64); 8],
    /// The course of the whole run.
    pub course: Vec<Tenth>,
    /// The policy's last word.
    pub why: String,
}

/// A tenth of a second of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tenth {
    /// When it ended.
    pub at_s: f64,
    /// New sessions that customers asked for.
    pub offered: u64,
    /// Sessions let in.
    pub admitted: u64,
    /// Sessions refused, those cut off included.
    pub refused: u64,
    /// Sessions completed.
    pub completed: u64,
    /// Sessions abandoned.
    pub abandoned: u64,
    /// Responses.
    pub responses: u64,
    /// Sum of their times, in seconds.
    pub response_time_s: f64,
    /// Sessions inside at its end.
    pub inside: u32,
    /// Sessions that could have been carried at best.
    pub best: f64,
    /// Sessions that processors would still have had time for.
    pub room: f64,
    /// How long the tightest host would have worked at what it owed: the least
    /// and the most of the tenth, in seconds.
    pub owed_s: (f64, f64),
}

impl Outcome {
    /// Completed sessions, as a share of the best possible; 1 where nobody came.
    pub fn goodput(&self) -> f64 {
        ratio(self.completed as f64, self.best, 1.0)
    }

    /// Of the admitted sessions that ended, the share that did not complete.
    pub fn lost(&self) -> f64 {
        ratio(self.abandoned as f64, (self.completed + self.abandoned) as f64, 0.0)
    }

    /// Of the admitted sessions that ended, the share that was refused another
    /// connection.
    pub fn cut_off(&self) -> f64 {
        ratio(self.cut_off as f64, (self.completed + self.abandoned) as f64, 0.0)
    }

    /// Share of those offered that were refused.
    pub fn refused(&self) -> f64 {
        ratio(self.refused as f64, self.offered as f64, 0.0)
    }

    /// Share of the CPU time spent that came to nothing: refusals, sessions
    /// that did not complete, attackers.
    pub fn wasted(&self) -> f64 {
        ratio(self.wasted_cpu_s, self.cpu_s, 0.0)
    }

    /// The response time that a share `q` of all responses did not exceed, in
    /// milliseconds; 0 where there was none.
    pub fn response_ms(&self, q: f64) -> f64 {
        let last = self.responses_s.len().saturating_sub(1) as f64;
        let rank = (q.clamp(0.0, 1.0) * last).round() as usize;
        self.responses_s.get(rank).map_or(0.0, |seconds| seconds * 1e3)
    }

    /// Share of those offered that were refused in a second in which processors
    /// would have had time for them.
    pub fn refused_idle(&self) -> f64 {
        let idle: f64 = self
            .watched()
            .chunks(10)
            .map(|second| {
                let refused: u64 = second.iter().map(|tenth| tenth.refused).sum();
                let room: f64 = second.iter().map(|tenth| tenth.room).sum();
                room.min(refused as f64)
            })
            .sum();
        ratio(idle, self.offered as f64, 0.0)
    }

    /// The longest queue that did not go away within a second, as the time that
    /// the tightest host would have worked at it, in milliseconds.
    ///
    /// Source: Nichols and Jacobson 2012, "Controlling Queue Delay", ACM Queue
    /// 10(5): a standing queue is the least that a window sees.
    pub fn standing_ms(&self) -> f64 {
        let least = |window: &[Tenth]| {
            window.iter().map(|tenth| tenth.owed_s.0).fold(f64::INFINITY, f64::min)
        };
        self.watched().windows(10).map(least).fold(0.0, f64::max) * 1e3
    }

    /// The longest queue of all, in milliseconds of the tightest host's work.
    pub fn overshoot_ms(&self) -> f64 {
        self.watched().iter().map(|tenth| tenth.owed_s.1).fold(0.0, f64::max) * 1e3
    }

    /// How evenly short and long sessions were served: see [`jain`].
    pub fn fair_lengths(&self) -> f64 {
        fairness(&self.by_length)
    }

    /// How evenly customers of all address prefixes were served: see [`jain`].
    pub fn fair_prefixes(&self) -> f64 {
        fairness(&self.by_prefix)
    }

    /// Seconds after `step_s` until, up to `until_s`, each half second carries
    /// at least 85 % of the best and no queue stands longer than `queue_s`.
    pub(crate) fn settled_after(
        &self,
        step_s: f64,
        until_s: f64,
        requests: f64,
        queue_s: f64,
    ) -> f64 {
        let between: Vec<_> = self
            .course
            .iter()
            .filter(|tenth| tenth.at_s > step_s + 0.05 && tenth.at_s <= until_s)
            .collect();
        let unsettled = between.windows(5).rfind(|window| {
            let answered: u64 = window.iter().map(|tenth| tenth.responses).sum();
            let best: f64 = window.iter().map(|tenth| tenth.best).sum();
            let queue = window.iter().map(|tenth| tenth.owed_s.0).fold(f64::INFINITY, f64::min);
            (answered as f64) < 0.85 * best * requests || queue > queue_s
        });
        unsettled.map_or(0.0, |window| window[4].at_s - step_s)
    }

    /// Seconds after `step_s` until, up to `until_s`, nobody is refused.
    pub(crate) fn open_after(&self, step_s: f64, until_s: f64) -> f64 {
        let last = self.course.iter().rfind(|tenth| {
            tenth.at_s > step_s + 0.05 && tenth.at_s <= until_s && tenth.refused > 0
        });
        last.map_or(0.0, |tenth| tenth.at_s - step_s)
    }

    fn watched(&self) -> &[Tenth] {
        let tenths = (self.seconds * 10.0).round() as usize;
        &self.course[self.course.len().saturating_sub(tenths)..]
    }
}

fn ratio(part: f64, whole: f64, otherwise: f64) -> f64 {
    if whole > 0.0 { part / whole } else { otherwise }
}

/// Fairness between groups, by the share of those offered that completed.
fn fairness(groups: &[(u64, u64)]) -> f64 {
    let shares: Vec<f64> = groups
        .iter()
        .filter(|(offered, _)| *offered > 0)
        .map(|(offered, completed)| *completed as f64 / *offered as f64)
        .collect();
    jain(&shares)
}

/// Jain's index of fairness, `(Σx)² ∕ (n Σx²)`: 1 if all are equal, 1 ∕ n if
/// one has everything; 1 where nobody has anything.
///
/// Source: Jain, Chiu and Hawe 1984, DEC-TR-301.
pub fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|x| x * x).sum();
    ratio(sum * sum, shares.len() as f64 * squares, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenths(of: impl Fn(usize) -> Tenth) -> Vec<Tenth> {
        (0..30).map(|n| Tenth { at_s: (n + 1) as f64 / 10.0, ..of(n) }).collect()
    }

    #[test]
    fn jains_index_by_hand() {
        assert_eq!(jain(&[0.5, 0.5]), 1.0);
        assert_eq!(jain(&[1.0, 0.0]), 0.5);
        // (1 + 3)² ∕ (2 × 10)
        assert!((jain(&[1.0, 3.0]) - 0.8).abs() < 1e-12);
        assert_eq!(jain(&[0.0, 0.0]), 1.0);
    }

    #[test]
    fn a_queue_stands_only_if_a_whole_second_sees_it() {
        let course = tenths(|n| Tenth {
            // Half a second long 1 s owed, later a second and a half long 0.2 s.
            owed_s: match n {
                2..7 => (1.0, 1.5),
                12..27 => (0.2, 0.3),
                _ => (0.0, 0.1),
            },
            ..Tenth::default()
        });
        let outcome = Outcome { seconds: 3.0, course, ..Outcome::default() };
        assert!((outcome.standing_ms() - 200.0).abs() < 1e-9);
        assert!((outcome.overshoot_ms() - 1500.0).abs() < 1e-9);
    }

    #[test]
    fn only_those_are_refused_in_vain_for_whom_there_was_time() {
        let course =
            tenths(|n| Tenth { refused: 3, room: [2.0, 5.0, 0.0][n / 10], ..Tenth::default() });
        let outcome = Outcome { seconds: 3.0, offered: 100, course, ..Outcome::default() };
        // Of 30 a second: 20, 30, and none.
        assert!((outcome.refused_idle() - 0.5).abs() < 1e-12);
    }

    #[test]
    fn settled_means_that_it_stays_so() {
        let course = tenths(|n| Tenth {
            best: 1.0,
            responses: if n < 4 || n == 15 { 0 } else { 2 },
            refused: u64::from(n == 15),
            ..Tenth::default()
        });
        let outcome = Outcome { seconds: 3.0, course, ..Outcome::default() };
        // The tenth without an answer is in the half seconds that end by 2.0.
        assert!((outcome.settled_after(0.0, 3.0, 2.0, 1.0) - 2.0).abs() < 1e-9);
        assert!((outcome.open_after(1.0, 3.0) - 0.6).abs() < 1e-9);
        assert_eq!(outcome.open_after(2.0, 3.0), 0.0);
    }
}
