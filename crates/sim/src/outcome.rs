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
    /// Requests of customers that were answered in time.
    pub answered: u64,
    /// Waits of customers inside, in seconds, in ascending order: from the wish to
    /// the whole response, or until they gave up.
    pub waits_s: Vec<f64>,
    /// What customers got, in mean sessions: those who completed, those who gave
    /// up, and those inside at the end. See [`Outcome::goodput`].
    pub carried: f64,
    /// See above.
    pub dropped: f64,
    /// See above.
    pub under_way: f64,
    /// Mean sessions that could have been carried at best.
    pub best: f64,
    /// CPU seconds spent, and those of them on what came to nothing.
    pub cpu_s: f64,
    /// See above.
    pub wasted_cpu_s: f64,
    /// Short and long sessions.
    pub by_length: [Cohort; 2],
    /// Sessions by the address prefix that they come from, attackers included.
    pub by_prefix: [Cohort; 8],
    /// The course of the whole run.
    pub course: Vec<Tenth>,
    /// The policy's last word.
    pub why: String,
}

/// A group of sessions whose customers came for the first time while watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cohort {
    /// Customers who came, each counted once.
    pub offered: u64,
    /// Sessions that completed; attackers who got what they wanted.
    pub completed: u64,
    /// Sessions that were let in and did not complete.
    pub abandoned: u64,
    /// Sessions inside at the end.
    pub under_way: u64,
}

impl Cohort {
    /// Sessions served: those that completed and, of those under way, the share
    /// that will if they fare as the others did.
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
    /// What was answered, in mean sessions.
    pub carried: f64,
    /// Mean sessions that could have been carried at best.
    pub best: f64,
    /// Mean sessions that processors and threads would still have had time for.
    pub room: f64,
    /// How long the tightest host, or the upstream's threads, would have worked at
    /// what waited: the least and the most of the tenth, in seconds.
    pub owed_s: (f64, f64),
}

impl Tenth {
    /// Something has a queue of so many seconds at least and at most.
    pub(crate) fn owes(&mut self, least_s: f64, most_s: f64) {
        self.owed_s = (self.owed_s.0.max(least_s), self.owed_s.1.max(most_s));
    }
}

impl Outcome {
    /// Completed sessions, as a share of the best possible; `None`: nobody came.
    ///
    /// Each counts for the work that its requests take on average of what limits
    /// the service most, in those of a mean session, as far as they were answered
    /// while watched: one policy completes many short sessions with what another
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

    /// Share of those offered that were refused; `None`: nobody came.
    pub fn refused(&self) -> Option<f64> {
        ratio(self.refused as f64, self.offered as f64)
    }

    /// Share of the CPU time spent that came to nothing: refusals, sessions
    /// that did not complete, attackers; `None`: none was spent.
    pub fn wasted(&self) -> Option<f64> {
        ratio(self.wasted_cpu_s, self.cpu_s)
    }

    /// The wait that a share `q` of all waits of customers inside did not exceed,
    /// in milliseconds, one given up counting for as long as it was; `None`:
    /// nobody was answered.
    pub fn response_ms(&self, q: f64) -> Option<f64> {
        let last = self.waits_s.len().saturating_sub(1) as f64;
        let rank = (q.clamp(0.0, 1.0) * last).round() as usize;
        self.waits_s.get(rank).filter(|_| self.answered > 0).map(|seconds| seconds * 1e3)
    }

    /// Share of those offered that were refused in a second in which processors
    /// and threads would have had time for them; `None`: nobody came.
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

    /// The longest queue that did not go away within a second, as the time that
    /// the tightest host or the upstream's threads would have worked at it, in
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

    /// How evenly short and long sessions were served, by the share of those who
    /// came: see [`jain`].
    pub fn fair_lengths(&self) -> Option<f64> {
        let came = self.by_length.iter().filter(|group| group.offered > 0);
        let shares: Vec<f64> = came.map(|group| group.served() / group.offered as f64).collect();
        jain(&shares)
    }

    /// How evenly address prefixes were served, by the share of what each would
    /// have got of the same sessions had all been given as many as they want, and
    /// where that is too many, equally many: see [`jain`] and [`max_min`].
    pub fn fair_prefixes(&self) -> Option<f64> {
        let came: Vec<_> = self.by_prefix.iter().filter(|group| group.offered > 0).collect();
        let wanted: Vec<f64> = came.iter().map(|group| group.offered as f64).collect();
        let served: Vec<f64> = came.iter().map(|group| group.served()).collect();
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

/// A total divided among those who want so much each: nobody gets more than he
/// wants, and who gets less gets as much as the most that anybody gets.
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
        let group = Cohort { offered: 40, completed: 9, abandoned: 3, under_way: 4 };
        assert_eq!(group.served(), 12.0);
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
