//! Warm-up and measured window: as stated, else by the schedule of the arrivals.

use std::fmt;
use std::time::Duration;

use tidegate_config::show_duration;

use super::Plan;
use crate::arrivals::Arrivals;
use crate::scenario::RunTimes;

/// Warm-up and measured window of a run, and what the length of the run follows from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Time before the measured window.
    pub warm_up: Duration,
    /// The measured window.
    pub measure: Duration,
    /// What decided about the measured window.
    pub by: WindowBy,
}

/// What decides about a measured window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowBy {
    /// A flag or the scenario.
    Stated,
    /// The end of the arrivals' schedule.
    Schedule,
    /// Neither: the default.
    Default,
}

impl Window {
    /// What is stated, else a run until the end of the schedule; without either the default.
    ///
    /// The default is 10 s and 30 s. A closed model needs longer until what it offers and what
    /// it gets have settled: 30 s and 60 s. Where arrivals have a schedule with an end, all of it
    /// is measured: a warm-up would cut off the beginning of a ramp.
    pub(crate) fn choose(arrivals: Option<&Arrivals>, stated: RunTimes) -> Self {
        let closed = arrivals.is_some_and(Arrivals::is_closed);
        let (warm_up, measure) = if closed { (30, 60) } else { (10, 30) };
        let (warm_up, measure) = (Duration::from_secs(warm_up), Duration::from_secs(measure));
        let schedule = arrivals.and_then(Arrivals::end);
        let unasked = if schedule.is_some() { Duration::ZERO } else { warm_up };
        let before = stated.warm_up.unwrap_or(unasked);
        // What goes on beside the segments needs the default in any case.
        let decides = |end: &Duration| {
            arrivals.is_some_and(Arrivals::has_lengths_only) || *end > before + measure
        };
        let end = schedule.filter(decides).map(|end| end.min(Plan::LONGEST));
        let rest = end.map(|end| end.saturating_sub(before)).filter(|rest| !rest.is_zero());
        let (measure, by) = match (stated.duration, rest) {
            (Some(duration), _) => (duration, WindowBy::Stated),
            (None, Some(rest)) => (rest, WindowBy::Schedule),
            (None, None) => (measure, WindowBy::Default),
        };
        Self { warm_up: before, measure, by }
    }
}

impl fmt::Display for Window {
    /// In words, such as `10s of warm-up, then 30s measured (default)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (warm_up, measure) = (show_duration(self.warm_up), show_duration(self.measure));
        match self.warm_up.is_zero() {
            true => write!(f, "{measure}, measured from the start")?,
            false => write!(f, "{warm_up} of warm-up, then {measure} measured")?,
        }
        f.write_str(match self.by {
            WindowBy::Stated => "",
            WindowBy::Schedule => " (until the end of the schedule; --duration changes it)",
            WindowBy::Default => " (default; --duration changes it)",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    const SECOND: Duration = Duration::from_secs(1);

    fn of(arrivals: &str, stated: RunTimes) -> (u64, u64, WindowBy) {
        let arrivals = Arrivals::from_line(arrivals, "--arrivals").unwrap();
        let Window { warm_up, measure, by } = Window::choose(Some(&arrivals), stated);
        (warm_up.as_millis() as u64, measure.as_millis() as u64, by)
    }

    #[test]
    fn a_run_lasts_until_the_schedule_ends() {
        let crowd =
            "segments = [{ for = \"40s\", rate = 5 }, { for = \"20s\", from = 5, to = 50 }]";
        let none = RunTimes::default();
        assert_eq!(of(crowd, none), (0, 60_000, WindowBy::Schedule));
        let one = "segments = [{ for = \"2min\", rate = 5 }]";
        assert_eq!(of(one, none), (0, 120_000, WindowBy::Schedule));
        let short = "segments = [{ for = \"8s\", rate = 5 }]";
        assert_eq!(of(short, none), (0, 8_000, WindowBy::Schedule));
        // Sessions of the last instants need time as well.
        assert_eq!(of("times = [\"0s\", \"1s\"]", none), (0, 30_000, WindowBy::Default));
        assert_eq!(of("times = [\"35s\"]", none), (0, 35_000, WindowBy::Schedule));
        assert_eq!(of("times = [\"2min\"]", none), (0, 120_000, WindowBy::Schedule));
        let built_in = Scenario::built_in("auction-crowd").unwrap();
        let plan = Plan::new(built_in, "https://127.0.0.1:1");
        assert_eq!(plan.warm_up + plan.measure, 134 * SECOND);
    }

    #[test]
    fn without_a_schedule_that_ends_the_defaults_apply() {
        let none = RunTimes::default();
        for endless in
            ["rate = 5", "wave = { mean = 5, swing = 0.5 }", "model = \"open\", rate = 0"]
        {
            assert_eq!(of(endless, none), (10_000, 30_000, WindowBy::Default), "{endless}");
        }
        assert_eq!(of("customers = 5", none), (30_000, 60_000, WindowBy::Default));
    }

    #[test]
    fn arrivals_beside_a_schedule_have_the_default_at_least() {
        let both = |segment: u64| {
            let ramp = format!("segments = [{{ for = \"{segment}s\", from = 0, to = 9 }}]");
            let ramp = Arrivals::from_line(&ramp, "--arrivals").unwrap();
            let all = Arrivals::side_by_side([Arrivals::poisson(5.0), ramp]);
            Window::choose(Some(&all), RunTimes::default()).measure
        };
        assert_eq!([both(20), both(70)], [30 * SECOND, 70 * SECOND]);
    }

    #[test]
    fn what_is_stated_goes_first_and_the_rest_follows_it() {
        let ramp = "segments = [{ for = \"40s\", from = 0, to = 5 }]";
        let stated = |warm_up: Option<u64>, duration: Option<u64>| RunTimes {
            warm_up: warm_up.map(Duration::from_secs),
            duration: duration.map(Duration::from_secs),
        };
        assert_eq!(of(ramp, stated(Some(1), None)), (1_000, 39_000, WindowBy::Schedule));
        assert_eq!(of(ramp, stated(None, Some(7))), (0, 7_000, WindowBy::Stated));
        assert_eq!(of(ramp, stated(Some(0), Some(7))), (0, 7_000, WindowBy::Stated));
        // After the end of the schedule there is still a window.
        assert_eq!(of(ramp, stated(Some(60), None)), (60_000, 30_000, WindowBy::Default));
    }

    #[test]
    fn a_plan_has_the_times_of_its_scenario() {
        let text = "[session]\nsteps = [\"Home\"]\n[pages]\nHome = { path = \"/\" }\n\
                    [arrivals]\nrate = 1\n[run]\nwarm_up = \"3s\"\nduration = \"90s\"\n";
        let scenario = Scenario::from_toml(text, "shop.toml").unwrap();
        let plan = Plan::new(scenario, "https://127.0.0.1:1");
        assert_eq!((plan.warm_up, plan.measure), (3 * SECOND, 90 * SECOND));
        let flags = RunTimes { warm_up: None, duration: Some(5 * SECOND) };
        let window = plan.window(flags);
        assert_eq!(window.to_string(), "3s of warm-up, then 5s measured");
        assert_eq!(plan.window(RunTimes::default()).by, WindowBy::Stated);
    }
}
