//! What about a plan makes its figures hard to read, in words.

use std::collections::BTreeSet;

use super::Plan;
use crate::feeder::Pick;
use crate::scenario::fed::file_name;

impl Plan {
    /// Why the figures of this run will not be those of whole sessions, and what to do about it;
    /// empty if nothing is wrong.
    pub fn warnings(&self) -> Vec<String> {
        self.long_sessions().into_iter().chain(self.few_rows()).collect()
    }

    /// A warning for each feeder that gives a row once and has too few of them.
    fn few_rows(&self) -> Vec<String> {
        let definition = self.scenario.definition();
        let used = definition.fed.iter().flatten();
        let used: BTreeSet<usize> = used.map(|index| usize::from(*index)).collect();
        let feeders = used.into_iter().map(|index| &definition.feeders[index]);
        let sessions = self.max_sessions.map_or_else(|| self.arrivals_of_run(), |most| most as f64);
        let few = feeders.filter(|it| it.pick == Pick::Once && (it.rows.len() as f64) < sessions);
        few.map(|feeder| {
            let (file, count) = (file_name(feeder), feeder.rows.len());
            let rows = if count == 1 { "row" } else { "rows" };
            format!(
                "{file} has {count} {rows}, each for one session, and about {sessions:.0} sessions \
                 arrive: further ones fail. Add rows, write pick = \"in-turn\", or make the run \
                 shorter."
            )
        })
        .collect()
    }

    /// The expected number of arrivals by the rates; 0 for a closed model.
    fn arrivals_of_run(&self) -> f64 {
        const STEPS: u32 = 1000;
        let Ok(arrivals) = self.arrivals() else { return 0.0 };
        let step = (self.warm_up + self.measure) / STEPS;
        let middles = (0..STEPS).map(|n| step * n + step / 2);
        middles.map(|at| arrivals.rate_at(at) * step.as_secs_f64()).sum()
    }

    /// A warning where a session lasts longer than the whole run.
    fn long_sessions(&self) -> Option<String> {
        if self.arrivals().is_ok_and(|arrivals| arrivals.is_open()) {
            return None;
        }
        let run = (self.warm_up + self.measure).as_secs_f64();
        let unscaled = self.scenario.session_duration().as_secs_f64();
        let session = unscaled * self.time_scale;
        if session <= run {
            return None;
        }
        // Twice a session: about half of those that arrive then end within the window.
        let duration = (session * 0.2).ceil() * 10.0;
        let requests = self.scenario.session_length().mean_requests;
        let longest = (Self::LONGEST - self.warm_up.min(Self::LONGEST)).as_secs_f64();
        let longer = match duration <= longest {
            true => format!("a longer window (--duration {duration:.0}) or "),
            false => String::new(),
        };
        Some(format!(
            "sessions are longer than the run: a session thinks for {} on average \
             ({requests:.0} requests), and the run lasts {}. Most sessions cannot end in it, so \
             completed sessions per second say little. Use {longer}shorter think times \
             (--time-scale {}, which shortens patience too).",
            span(session),
            span(run),
            rounded_down(run / (2.0 * unscaled)),
        ))
    }
}

/// Seconds in words: `45 s`, or `7.5 min` from two minutes on.
fn span(seconds: f64) -> String {
    if seconds < 1.0 {
        format!("{:.0} ms", seconds * 1000.0)
    } else if seconds < 120.0 {
        format!("{seconds:.0} s")
    } else {
        format!("{:.1} min", seconds / 60.0)
    }
}

/// The first digit that counts of a number above 0.
fn rounded_down(scale: f64) -> f64 {
    let digits = 10f64.powi((-scale.log10().floor() as i32).clamp(0, 9));
    (scale * digits).floor().max(1.0) / digits
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::arrivals::{Arrivals, Model, Process, Rate, Schedule};
    use crate::scenario::Scenario;

    fn plan(session: &str) -> Plan {
        let text = format!(
            "[session]\n{session}\n[pages]\nHome = {{ path = \"/\" }}\n\
             Item = {{ path = \"/item\", think = \"20s\" }}\n[arrivals]\nrate = 1\n"
        );
        Plan::new(Scenario::from_toml(&text, "shop.toml").unwrap(), "https://127.0.0.1:1")
    }

    #[test]
    fn a_session_lasts_as_long_as_its_think_times() {
        let of = |session| plan(session).scenario.session_duration().as_secs_f64();
        // The first request needs no thought; a think time of 1 on average is cut at its cap:
        // 1 − e⁻¹⁰, and 1 − e⁻¹.
        let cut = |cap: f64| 1.0 - (-cap).exp();
        let steps = "steps = [\"Home\", \"Item\", { page = \"Home\", think = \"5s\" }, \"Home\"]";
        assert!((of(steps) - 32.0 * cut(10.0)).abs() < 1e-6, "{}", of(steps));
        let capped = format!("{steps}\nthink_cap = 1");
        assert!((of(&capped) - 32.0 * cut(1.0)).abs() < 1e-6);
        assert_eq!(of("steps = [\"Item\"]"), 0.0);
    }

    #[test]
    fn sessions_longer_than_the_run_are_warned_about_with_what_to_do() {
        let long = "steps = [\"Home\", { page = \"Home\", think = \"300s\" }]";
        let mut plan = plan(long);
        let [warning] = &plan.warnings()[..] else { panic!("one warning") };
        assert_eq!(
            warning,
            "sessions are longer than the run: a session thinks for 5.0 min on average \
             (2 requests), and the run lasts 40 s. Most sessions cannot end in it, so completed \
             sessions per second say little. Use a longer window (--duration 600) or shorter \
             think times (--time-scale 0.06, which shortens patience too)."
        );
        plan.measure = Duration::from_secs(600);
        assert!(plan.warnings().is_empty());
        (plan.measure, plan.time_scale) = (Duration::from_secs(30), 0.06);
        assert!(plan.warnings().is_empty());
    }

    #[test]
    fn requests_that_arrive_one_by_one_are_no_long_sessions() {
        let mut plan = plan("steps = [\"Home\", { page = \"Home\", think = \"300s\" }]");
        let schedule = Schedule::Rate(Process::Even, Rate::constant(1.0));
        plan.arrivals = Some(Arrivals::of(Model::Open(schedule)));
        assert!(plan.warnings().is_empty());
    }

    #[test]
    fn a_scale_is_rounded_down_to_one_digit() {
        let rounded = [2.7, 0.0999, 0.0666, 0.5].map(rounded_down);
        assert_eq!(rounded, [2.0, 0.09, 0.06, 0.5]);
    }

    #[test]
    fn a_feeder_with_fewer_rows_than_sessions_is_named_unless_its_rows_are_repeated() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("users.csv"), "name\nann\nbob\n").unwrap();
        let warnings = |pick: &str, change: fn(&mut Plan)| {
            let text = format!(
                "[session]\nsteps = [\"Home\"]\n[pages]\nHome = {{ path = \"/{{name}}\" }}\n\
                 [feeders.users]\nfile = \"users.csv\"\npick = \"{pick}\"\n\
                 [arrivals]\nrate = 2\n[run]\nwarm_up = \"1s\"\nduration = \"4s\"\n"
            );
            let file = folder.path().join("shop.toml");
            let scenario = Scenario::from_toml(&text, &file.to_string_lossy()).unwrap();
            let mut plan = Plan::new(scenario, "https://127.0.0.1:1");
            change(&mut plan);
            plan.warnings()
        };
        let few = warnings("once", |_| ());
        assert_eq!(few.len(), 1, "{few:?}");
        let expected = "users.csv has 2 rows, each for one session, and about 10 sessions arrive:";
        assert!(few[0].starts_with(expected), "{few:?}");
        assert_eq!(warnings("once", |plan| plan.max_sessions = Some(2)), [""; 0]);
        assert_eq!(warnings("once", |plan| plan.arrivals = Some(Arrivals::closed(9))), [""; 0]);
        assert_eq!(warnings("in-turn", |_| ()), [""; 0]);
    }
}
