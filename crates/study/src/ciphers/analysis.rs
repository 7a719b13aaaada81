//! What sessions cost by kind of connection and way of use, from the runs. Pure.
//!
//! The cost of a session is CPU time where the site's processes are seen, else response time.
//! Differences are those of runs of the same round, with intervals by Student's t.

use serde::Serialize;
use tidegate_experiment::turns::by_round;
use tidegate_stats::{Interval, mean};

use super::modes::Mode;
use super::trial::Trial;

/// What sessions of one kind of connection cost in one way of use.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Session {
    /// Index of the kind.
    pub kind: usize,
    /// How connections were used.
    pub mode: Mode,
    /// CPU milliseconds; `None` where the site is seen from outside only.
    pub cpu_ms: Option<Interval>,
    /// Response times of a session together, in milliseconds.
    pub response_ms: Option<Interval>,
    /// Bytes above TCP, both ways.
    pub bytes: Option<f64>,
    /// Round trips.
    pub round_trips: Option<f64>,
    /// Full handshakes.
    pub full: f64,
    /// Resumed ones.
    pub resumed: f64,
    /// By round: the cost in milliseconds, NaN where a run does not count.
    #[serde(skip)]
    cost: Vec<f64>,
    /// Milliseconds of the gate for a full handshake and for one that resumes, by its own clocks.
    pub gate_ms: [Option<f64>; 2],
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Costs are CPU time, not response time.
    pub is_cpu: bool,
    /// What sessions cost, by kind, then by mode.
    pub sessions: Vec<Session>,
}

/// What a connection with its handshake costs, in milliseconds of the cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// With a full handshake.
    pub full: Interval,
    /// With one that resumes; `None` where it cannot be told.
    pub resumed: Option<Interval>,
}

impl Found {
    /// From the runs; those that are not sound do not count.
    pub(super) fn of(trials: &[Trial]) -> Self {
        let is_cpu = trials.iter().all(|it| it.cpu_ms.is_some() || it.round.is_none());
        let sound = || trials.iter().filter(|it| it.is_sound());
        let mut places: Vec<(usize, Mode)> =
            trials.iter().filter_map(|it| Some((it.kind, it.mode?))).collect();
        places.sort_unstable();
        places.dedup();
        let session = |(kind, mode): (usize, Mode)| {
            let own = || sound().filter(move |it| (it.kind, it.mode) == (kind, Some(mode)));
            let rounds = || own().filter(|it| it.round.is_some());
            let series = |of: &dyn Fn(&Trial) -> Option<f64>| {
                by_round(rounds().filter_map(|it| Some((it.round?, of(it)?))))
            };
            let whole = |of: &dyn Fn(&Trial) -> Option<f64>| {
                let values: Vec<f64> = rounds().filter_map(of).collect();
                Interval::of_mean(&values).map(Interval::not_negative)
            };
            let figure = |of: &dyn Fn(&Trial) -> Option<f64>| mean(own().filter_map(of));
            Session {
                kind,
                mode,
                cpu_ms: whole(&|it| it.cpu_ms),
                response_ms: whole(&|it| Some(it.response_ms)),
                bytes: figure(&|it| it.bytes),
                round_trips: figure(&|it| it.round_trips),
                full: mean(rounds().map(|it| it.full)).unwrap_or(0.0),
                resumed: mean(rounds().map(|it| it.resumed)).unwrap_or(0.0),
                cost: series(&|it| if is_cpu { it.cpu_ms } else { Some(it.response_ms) }),
                gate_ms: [figure(&|it| it.gate_full_ms), figure(&|it| it.gate_resumed_ms)],
            }
        };
        Self { is_cpu, sessions: places.into_iter().map(session).collect() }
    }

    /// Sessions of a kind in a mode, if they were measured.
    pub fn session(&self, kind: usize, mode: Mode) -> Option<&Session> {
        self.sessions.iter().find(|it| (it.kind, it.mode) == (kind, mode))
    }

    /// What sessions of a kind in a mode cost more than others, in milliseconds.
    pub fn difference(&self, (kind, mode): (usize, Mode), less: (usize, Mode)) -> Option<Interval> {
        let (one, other) = (self.session(kind, mode)?, self.session(less.0, less.1)?);
        let pairs = one.cost.iter().zip(&other.cost).map(|(one, other)| one - other);
        Interval::of_mean(&pairs.filter(|it| it.is_finite()).collect::<Vec<_>>())
    }

    /// What sessions cost, in milliseconds.
    pub fn cost(&self, kind: usize, mode: Mode) -> Option<Interval> {
        let session = self.session(kind, mode)?;
        if self.is_cpu { session.cpu_ms } else { session.response_ms }
    }

    /// What a connection of a kind costs: by the sessions that open one for each interaction and
    /// those of today's kind whose connections stay open, which have the same work without any.
    pub fn price(&self, kind: usize) -> Option<Price> {
        let open = (0, Mode::Open);
        let per = |mode: Mode, of: fn(&Session) -> f64| {
            let count = of(self.session(kind, mode)?);
            (count > LEAST).then_some(count)
        };
        let each = per(Mode::Full, |it| it.full)?;
        let full = self.difference((kind, Mode::Full), open)?.map(|it| it / each);
        // A session that resumes has a full handshake as well.
        let resumed = || {
            let session = self.session(kind, Mode::Resumed)?;
            let each = per(Mode::Resumed, |it| it.resumed)?;
            let with = self.difference((kind, Mode::Resumed), open)?;
            Some(with.map(|it| (it - session.full * full.value) / each))
        };
        Some(Price { full, resumed: resumed() })
    }

    /// The share of TLS handshakes and their connections in what a session costs.
    pub fn share(&self, kind: usize, mode: Mode) -> Option<f64> {
        let (session, price) = (self.session(kind, mode)?, self.price(kind)?);
        let resumed = price.resumed.map_or(0.0, |it| it.value * session.resumed);
        let all = self.cost(kind, mode)?.value;
        (all > 0.0).then(|| ((price.full.value * session.full + resumed) / all).clamp(0.0, 1.0))
    }
}

/// Handshakes of a session below which none is told.
const LEAST: f64 = 0.05;

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Runs of three rounds of each place: a session costs `cost` and its drift, which is 0, 10 and
    /// 20 ms, so that only differences within rounds are exact.
    pub(in crate::ciphers) fn trials(of: &[(usize, Mode, f64, [f64; 2])]) -> Vec<Trial> {
        let runs = (0..3u32).flat_map(|round| of.iter().map(move |it| (round, it)));
        runs.map(|(round, (kind, mode, cost, [full, resumed]))| Trial {
            kind: *kind,
            mode: Some(*mode),
            round: Some(round),
            requests: 100,
            full: *full,
            resumed: *resumed,
            response_ms: 2.0 * cost,
            // A little of chance beside the drift.
            cpu_ms: Some(
                cost + 10.0 * f64::from(round) + 0.01 * f64::from((round + *kind as u32) % 3),
            ),
            ..Trial::default()
        })
        .collect()
    }

    #[test]
    fn differences_are_those_within_rounds_and_prices_follow_from_them() {
        // Work of 20 ms, a full handshake of 2 ms and a resumed one of 0.5 ms, 10 interactions.
        let found = Found::of(&trials(&[
            (0, Mode::Full, 40.0, [10.0, 0.0]),
            (0, Mode::Resumed, 26.5, [1.0, 9.0]),
            (0, Mode::Kept, 22.0, [1.0, 0.0]),
            (0, Mode::Open, 20.0, [0.0, 0.0]),
        ]));
        assert!(found.is_cpu);
        let saved = found.difference((0, Mode::Full), (0, Mode::Kept)).unwrap();
        assert!((saved.value - 18.0).abs() < 1e-9 && saved.low > 17.9, "{saved:?}");
        let price = found.price(0).unwrap();
        assert!((price.full.value - 2.0).abs() < 1e-9, "{price:?}");
        assert!((price.resumed.unwrap().value - 0.5).abs() < 1e-9, "{price:?}");
        // (10 × 2 ms) / (40 ms and a mean drift of 10 ms)
        let share = found.share(0, Mode::Full).unwrap();
        assert!((share - 20.0 / 50.0).abs() < 1e-3, "{share}");
    }

    #[test]
    fn without_processes_in_view_sessions_cost_response_time() {
        let mut all = trials(&[(0, Mode::Kept, 5.0, [1.0, 0.0]), (1, Mode::Kept, 6.0, [1.0, 0.0])]);
        all.iter_mut().for_each(|it| it.cpu_ms = None);
        let found = Found::of(&all);
        assert!(!found.is_cpu);
        let more = found.difference((1, Mode::Kept), (0, Mode::Kept)).unwrap();
        assert!((more.value - 2.0).abs() < 1e-9, "{more:?}");
    }

    #[test]
    fn runs_with_many_failures_do_not_count() {
        let mut all = trials(&[(0, Mode::Kept, 5.0, [1.0, 0.0])]);
        all[2].requests_failed = 50;
        let found = Found::of(&all);
        assert_eq!(found.session(0, Mode::Kept).unwrap().cost.len(), 2);
    }
}
