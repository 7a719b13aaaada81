//! The outcome of a simulated run.

use super::room::RoomOutcome;

/// What happened from the start of the measuring window on.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Length of the measuring window, in seconds.
    pub seconds: f64,
    /// New sessions offered, those of customers who returned after a failure included.
    pub offered: u64,
    /// Of these, those of customers who returned after a failure.
    pub retries: u64,
    /// New sessions admitted.
    pub admitted: u64,
    /// New sessions refused, at once or after having been held.
    pub refused: u64,
    /// Of these, those whose customer hung up in the admission queue.
    pub hung_up: u64,
    /// Times in the admission queue of new sessions that were admitted, in seconds, in
    /// ascending order.
    pub admission_waits_s: Vec<f64>,
    /// Sessions whose last request was answered.
    pub completed: u64,
    /// Admitted sessions that timed out, got an error, or were refused another connection.
    pub abandoned: u64,
    /// Of these, those refused another connection: without a ticket it was queued as a new
    /// session.
    pub cut_off: u64,
    /// Connections of attackers, and how many of them were admitted.
    pub attacks: (u64, u64),
    /// Full handshakes begun.
    pub full_handshakes: u64,
    /// Resumed handshakes begun.
    pub resumed_handshakes: u64,
    /// Requests of customers that were answered in time.
    pub answered: u64,
    /// Requests of customers with a high priority that were answered in time, and those that were
    /// not: refused, or given up.
    pub high: (u64, u64),
    /// Response times of customers with an admitted session, in seconds, in ascending order:
    /// from the intended start to the whole response, or until the customer gave up.
    pub waits_s: Vec<f64>,
    /// Work done for customers, in mean sessions: for those who completed, those who gave
    /// up, and those with an active session at the end. See [`Outcome::goodput`].
    pub carried: f64,
    /// See above.
    pub dropped: f64,
    /// See above.
    pub under_way: f64,
    /// Mean sessions that could have been carried at best.
    pub best: f64,
    /// CPU seconds spent, and those of them spent in vain.
    pub cpu_s: f64,
    /// See above.
    pub wasted_cpu_s: f64,
    /// Short and long sessions.
    pub by_length: [Cohort; 2],
    /// Sessions by the address prefix that they come from, attackers included.
    pub by_prefix: [Cohort; 8],
    /// The waiting room.
    pub room: RoomOutcome,
    /// The course of the whole run.
    pub course: Vec<Tenth>,
    /// The policy's reason at the end of the run.
    pub why: String,
}

/// A group of sessions whose customers arrived for the first time in the measuring window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cohort {
    /// Customers who arrived, each counted once.
    pub offered: u64,
    /// Sessions that completed, successful attackers included.
    pub completed: u64,
    /// Sessions that were admitted and did not complete.
    pub abandoned: u64,
    /// Active sessions at the end.
    pub under_way: u64,
}

impl Cohort {
    /// Sessions served: those that completed and, of those under way, the share
    /// that completes at the rate of those that ended.
    pub fn served(&self) -> f64 {
        let ended = self.completed + self.abandoned;
        let share = ratio(self.completed as f64, ended as f64).unwrap_or(1.0);
        self.completed as f64 + share * self.under_way as f64
    }
}

/// A tenth of a second of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tenth {
    /// When it ended.
    pub at_s: f64,
    /// New sessions offered.
    pub offered: u64,
    /// Sessions admitted.
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
    /// Active sessions at its end.
    pub active: u32,
    /// Work answered, in mean sessions.
    pub carried: f64,
    /// Mean sessions that could have been carried at best.
    pub best: f64,
    /// Mean sessions that processors and threads would still have had time for.
    pub room: f64,
    /// The queue as the time that the busiest host, or the upstream's threads, need to
    /// process it: the least and the most of the tenth, in seconds.
    pub owed_s: (f64, f64),
}

impl Tenth {
    /// A host or the threads have a queue of this many seconds at least and at most.
    pub(crate) fn owes(&mut self, least_s: f64, most_s: f64) {
        self.owed_s = (self.owed_s.0.max(least_s), self.owed_s.1.max(most_s));
    }
}

impl Outcome {
    /// Completed sessions, as a share of the best possible; `None`: no customer arrived.
    ///
    /// Each counts for the work that its requests take on average of what limits
    /// the service most, in those of a mean session, as far as they were answered
    /// in the measuring window: one policy completes many short sessions with what another
    /// completes a few long ones with. Of what sessions under way at the end got,
    /// the same share counts as of those that ended.
    pub fn goodput(&self) -> Option<f64> {
        let kept = ratio(self.carried, self.carried + self.dropped).unwrap_or(0.0);
        ratio(self.carried + kept * self.under_way, self.best)
    }

    /// Of the admitted sessions that ended, the share that did not complete;
    /// `None`: none ended.
    pub fn lost(&self) -> Option<f64> {
        ratio(self.abandoned as f64, (self.completed + self.abandoned) as f64)
    }

    /// Of the admitted sessions that ended, the share that was refused another
    /// connection; `None`: none ended.
    pub fn cut_off(&self) -> Option<f64> {
        ratio(self.cut_off as f64, (self.completed + self.abandoned) as f64)
    }

    /// Share of those offered that were refused; `None`: no customer arrived.
    pub fn refused(&self) -> Option<f64> {
        ratio(self.refused as f64, self.offered as f64)
    }

    /// Share of those offered who hung up in the admission queue; `None`: no customer arrived.
    pub fn hung_up(&self) -> Option<f64> {
        ratio(self.hung_up as f64, self.offered as f64)
    }

    /// The `q` quantile of the times in the admission queue of those admitted, in
    /// milliseconds; `None`: none was admitted.
    pub fn admission_wait_ms(&self, q: f64) -> Option<f64> {
        quantile(&self.admission_waits_s, q).map(|seconds| seconds * 1e3)
    }

    /// Share of the requests of customers with a high priority that were answered in time; `None`:
    /// there were none.
    pub fn high_answered(&self) -> Option<f64> {
        let (answered, lost) = self.high;
        ratio(answered as f64, (answered + lost) as f64)
    }

    /// Work answered in the worst stretch of this length, as a share of the best possible;
    /// `None`: the window is shorter than a stretch, or in none could anything be carried.
    pub fn least_goodput(&self, stretch_s: f64) -> Option<f64> {
        let tenths = (stretch_s * 10.0).round().max(1.0) as usize;
        let share = |stretch: &[Tenth]| {
            let carried = stretch.iter().map(|tenth| tenth.carried).sum();
            ratio(carried, stretch.iter().map(|tenth| tenth.best).sum())
        };
        self.watched().windows(tenths).filter_map(share).reduce(f64::min)
    }

    /// Share of the CPU time that was spent in vain: refusals, sessions
    /// that did not complete, attackers; `None`: none was spent.
    pub fn wasted(&self) -> Option<f64> {
        ratio(self.wasted_cpu_s, self.cpu_s)
    }

    /// The `q` quantile of the response times of customers with an admitted session, in
    /// milliseconds; an abandoned wait counts with its length; `None`: no request was
    /// answered.
    pub fn response_ms(&self, q: f64) -> Option<f64> {
        quantile(&self.waits_s, q).filter(|_| self.answered > 0).map(|seconds| seconds * 1e3)
    }

    /// Share of those offered that were refused in a second in which processors
    /// and threads had time for them; `None`: no customer arrived.
    pub fn refused_idle(&self) -> Option<f64> {
        let idle: f64 = self
            .watched()
            .chunks(10)
            .map(|second| {
                let refused: u64 = second.iter().map(|tenth| tenth.refused).sum();
                let room: f64 = second.iter().map(|tenth| tenth.room).sum();
                room.min(refused as f64)
            })
            .sum();
        ratio(idle, self.offered as f64)
    }

    /// The longest queue that persisted for a second, as the time that
    /// the busiest host or the upstream's threads would have worked at it, in
    /// milliseconds.
    ///
    /// Source: Nichols and Jacobson 2012, "Controlling Queue Delay", ACM Queue
    /// 10(5): a standing queue is the least that a window sees.
    pub fn standing_ms(&self) -> f64 {
        let least = |window: &[Tenth]| {
            window.iter().map(|tenth| tenth.owed_s.0).fold(f64::INFINITY, f64::min)
        };
        self.watched().windows(10).map(least).fold(0.0, f64::max) * 1e3
    }

    /// The longest queue of all, in the same milliseconds.
    pub fn overshoot_ms(&self) -> f64 {
        self.watched().iter().map(|tenth| tenth.owed_s.1).fold(0.0, f64::max) * 1e3
    }

    /// Fairness between short and long sessions, by the share of arrivals served: see
    /// [`jain`].
    pub fn fair_lengths(&self) -> Option<f64> {
        let came = self.by_length.iter().filter(|cohort| cohort.offered > 0);
        let shares: Vec<f64> = came.map(|cohort| cohort.served() / cohort.offered as f64).collect();
        jain(&shares)
    }

    /// Fairness between address prefixes, by the share that each got of its max-min fair
    /// part of the sessions served: see [`jain`] and [`max_min`].
    pub fn fair_prefixes(&self) -> Option<f64> {
        let came: Vec<_> = self.by_prefix.iter().filter(|cohort| cohort.offered > 0).collect();
        let wanted: Vec<f64> = came.iter().map(|cohort| cohort.offered as f64).collect();
        let served: Vec<f64> = came.iter().map(|cohort| cohort.served()).collect();
        let fair = max_min(served.iter().sum(), &wanted);
        let shares = served.iter().zip(&fair).map(|(served, fair)| ratio(*served, *fair));
        jain(&shares.collect::<Option<Vec<_>>>()?)
    }

    /// Seconds after `step_s` until, up to `until_s`, each half second carries
    /// at least 85 % of the best and no queue stands longer than `queue_s`.
    pub(crate) fn settled_after(&self, step_s: f64, until_s: f64, queue_s: f64) -> f64 {
        let between: Vec<_> = self
            .course
            .iter()
            .filter(|tenth| tenth.at_s > step_s + 0.05 && tenth.at_s <= until_s)
            .collect();
        let unsettled = between.windows(5).rfind(|window| {
            let carried: f64 = window.iter().map(|tenth| tenth.carried).sum();
            let best: f64 = window.iter().map(|tenth| tenth.best).sum();
            let queue = window.iter().map(|tenth| tenth.owed_s.0).fold(f64::INFINITY, f64::min);
            carried < 0.85 * best || queue > queue_s
        });
        unsettled.map_or(0.0, |window| window[4].at_s - step_s)
    }

    /// Seconds after `step_s` until, up to `until_s`, no session is refused.
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

/// The `q` quantile of ascending values; `None`: there are none.
fn quantile(ascending: &[f64], q: f64) -> Option<f64> {
    let last = ascending.len().saturating_sub(1) as f64;
    ascending.get((q.clamp(0.0, 1.0) * last).round() as usize).copied()
}

fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// Jain's index of fairness, `(Σx)² ∕ (n Σx²)`: 1 if all are equal, 1 ∕ n if
/// one has everything; `None`: nobody has anything.
///
/// Source: Jain, Chiu and Hawe 1984, DEC-TR-301.
pub fn jain(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|x| x * x).sum();
    ratio(sum * sum, shares.len() as f64 * squares)
}

/// The max-min fair division of a total among these demands: no part exceeds its demand,
/// and every part below its demand is as large as the largest part.
///
/// Source: Bertsekas and Gallager 1992, "Data Networks", section 6.5.2: max-min
/// fairness.
pub fn max_min(total: f64, wanted: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));
    let (mut fair, mut left) = (vec![0.0; wanted.len()], total);
    for (served, index) in order.into_iter().enumerate() {
        fair[index] = wanted[index].min(left / (wanted.len() - served) as f64);
        left -= fair[index];
    }
    fair
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenths(of: impl Fn(usize) -> Tenth) -> Vec<Tenth> {
        (0..30).map(|n| Tenth { at_s: (n + 1) as f64 / 10.0, ..of(n) }).collect()
    }

    #[test]
    fn jains_index_by_hand() {
        assert_eq!(jain(&[0.5, 0.5]), Some(1.0));
        assert_eq!(jain(&[1.0, 0.0]), Some(0.5));
        // (1 + 3)² ∕ (2 × 10)
        assert!((jain(&[1.0, 3.0]).unwrap() - 0.8).abs() < 1e-12);
        assert_eq!((jain(&[0.0, 0.0]), jain(&[])), (None, None));
    }

    #[test]
    fn sessions_under_way_count_as_those_that_ended_fared() {
        let outcome = Outcome {
            carried: 60.0,
            dropped: 20.0,
            under_way: 16.0,
            best: 120.0,
            ..Outcome::default()
        };
        // (60 + 3/4 × 16) ∕ 120
        assert_eq!(outcome.goodput(), Some(0.6));
        let cohort = Cohort { offered: 40, completed: 9, abandoned: 3, under_way: 4 };
        assert_eq!(cohort.served(), 12.0);
    }

    #[test]
    fn a_total_is_divided_evenly_among_those_who_want_more() {
        assert_eq!(max_min(12.0, &[9.0, 2.0, 8.0]), [5.0, 2.0, 5.0]);
        assert_eq!(max_min(30.0, &[9.0, 2.0, 8.0]), [9.0, 2.0, 8.0]);
    }

    #[test]
    fn who_crowds_others_out_of_their_places_is_served_unfairly() {
        let group = |offered, completed| Cohort { offered, completed, ..Cohort::default() };
        let mut outcome = Outcome::default();
        // Nine tenths come from one prefix, and everybody has the same chance.
        (outcome.by_prefix[0], outcome.by_prefix[1]) = (group(900, 90), group(100, 10));
        // Fair were 50 and 50: shares of 1.8 and 0.2; 2² ∕ (2 × 3.28).
        let unfair = outcome.fair_prefixes().unwrap();
        assert!((unfair - 4.0 / 6.56).abs() < 1e-12, "{unfair}");
        (outcome.by_prefix[0], outcome.by_prefix[1]) = (group(900, 50), group(100, 50));
        assert!((outcome.fair_prefixes().unwrap() - 1.0).abs() < 1e-12);
        // Between lengths it is the chance that counts.
        (outcome.by_length[0], outcome.by_length[1]) = (group(900, 90), group(100, 10));
        assert!((outcome.fair_lengths().unwrap() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn where_nothing_happened_there_is_no_value() {
        let nothing = Outcome::default();
        let shares = [nothing.goodput(), nothing.lost(), nothing.refused(), nothing.wasted()];
        assert_eq!(shares, [None; 4]);
        assert_eq!((nothing.refused_idle(), nothing.response_ms(0.95)), (None, None));
        // Waits that nobody was answered after are no response times.
        let waits_s = vec![0.25; 9];
        let in_vain = Outcome { waits_s: waits_s.clone(), ..Outcome::default() };
        assert_eq!(in_vain.response_ms(0.5), None);
        let hardly = Outcome { waits_s, answered: 1, ..Outcome::default() };
        assert_eq!(hardly.response_ms(0.5), Some(250.0));
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
        assert!((outcome.refused_idle().unwrap() - 0.5).abs() < 1e-12);
    }

    #[test]
    fn settled_means_that_it_stays_so() {
        let course = tenths(|n| Tenth {
            best: 1.0,
            carried: if n < 4 || n == 15 { 0.0 } else { 1.0 },
            refused: u64::from(n == 15),
            ..Tenth::default()
        });
        let outcome = Outcome { seconds: 3.0, course, ..Outcome::default() };
        // The tenth without an answer is in the half seconds that end by 2.0.
        assert!((outcome.settled_after(0.0, 3.0, 1.0) - 2.0).abs() < 1e-9);
        assert!((outcome.open_after(1.0, 3.0) - 0.6).abs() < 1e-9);
        assert_eq!(outcome.open_after(2.0, 3.0), 0.0);
    }
}
