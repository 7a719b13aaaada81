//! What is studied, and how.

use std::path::PathBuf;
use std::time::Duration;

use tidegate_lab::Result;
use tidegate_load::Plan;

use super::staircase::Thoroughness;
use crate::site::step::Limit;
use crate::site::times::{Budget, Fixed, Times};

/// What is studied, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The load of a step, but for its rate and times: the site, what customers do there, the
    /// threads and the seed. The operator says with `attack_remote` that a site which is not on
    /// this machine is theirs.
    pub plan: Plan,
    /// The scenario is one page, as of a URL alone: sessions are visits of it.
    pub one_page: bool,
    /// The response times that count as served.
    pub limit: Limit,
    /// Highest rate that is offered, in sessions per second.
    pub max_rate: f64,
    /// At most ten minutes, with rougher figures; else an hour.
    pub quick: bool,
    /// Compares with the site behind the gate.
    pub gate: bool,
    /// Folder of the results.
    pub out: PathBuf,
    /// The site's processes; empty for those that listen at the target's address.
    pub processes: Vec<u32>,
    /// Factor on think times; `None`: 1, or less where sessions are too long for the time.
    pub time_scale: Option<f64>,
    /// Measured time of a step; `None`: by the length of sessions.
    pub step: Option<Duration>,
}

impl Options {
    /// Think time of a session in reality, in seconds.
    pub(super) fn think_s(&self) -> f64 {
        self.plan.scenario.session_duration().as_secs_f64()
    }

    /// The site's URL without a slash at its end.
    pub(super) fn site(&self) -> &str {
        self.plan.target.trim_end_matches('/')
    }

    /// How thorough the staircase is.
    pub(super) fn thoroughness(&self) -> Thoroughness {
        if self.quick { Thoroughness::QUICK } else { Thoroughness::FULL }
    }

    /// Times that the sessions fit into, if a request takes `response_s`.
    ///
    /// # Errors
    /// [`Error::Operator`](tidegate_experiment::Error::Operator): sessions are too long for the given scale.
    pub(super) fn times(&self, response_s: f64) -> Result<Times> {
        let thoroughness = self.thoroughness();
        let budget = Budget {
            whole: thoroughness.longest[usize::from(self.gate)],
            steps: thoroughness.steps(),
            shortest: thoroughness.shortest,
        };
        let fixed = Fixed { scale: self.time_scale, step: self.step };
        Times::fit(&self.plan.scenario, self.limit, budget, fixed, response_s)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::site::addresses::addresses;
    use tidegate_load::{PageRequest, Scenario};

    pub(in crate::capacity) fn options(target: &str) -> Options {
        let (scenario, target) = Scenario::one_page(target, &PageRequest::default());
        Options {
            plan: Plan { insecure: true, ..Plan::new(scenario, &target) },
            one_page: true,
            limit: Limit { ms: 500.0, percentile: 95 },
            max_rate: 1000.0,
            quick: true,
            gate: false,
            out: "out".into(),
            processes: Vec::new(),
            time_scale: None,
            step: None,
        }
    }

    /// The same of sessions of so many pages, with a think time before each but the first.
    pub(in crate::capacity) fn of_pages(name: &str, pages: usize, think: &str) -> Options {
        let mut options = options("https://127.0.0.1/");
        let steps = vec!["\"Page\""; pages].join(", ");
        let text = format!(
            "[session]\nsteps = [{steps}]\nthink = \"{think}\"\n[pages]\nPage = {{ path = \"/\" }}\n"
        );
        options.plan.scenario = Scenario::from_toml(&text, &format!("{name}.toml")).unwrap();
        options
    }

    #[test]
    fn a_site_elsewhere_is_refused_until_it_is_said_to_be_ones_own() {
        let mut options = options("https://192.0.2.1/");
        let error = addresses(&options.plan).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("--yes-this-is-mine"), "{error}");
        options.plan.attack_remote = true;
        assert_eq!(addresses(&options.plan).unwrap(), ["192.0.2.1:443".parse().unwrap()]);
    }

    #[test]
    fn a_host_of_the_scenario_elsewhere_is_refused_as_the_site_is() {
        let mut options = options("https://127.0.0.1:1/");
        let text = "[session]\nsteps = [\"A\"]\n[pages]\nA = { path = \"/\" }\n\
                    [hosts]\nsso = { url = \"https://192.0.2.1\" }\n";
        options.plan.scenario = Scenario::from_toml(text, "shop.toml").unwrap();
        let error = addresses(&options.plan).unwrap_err().to_string();
        assert!(error.contains("https://192.0.2.1: 192.0.2.1:443 is not this machine"), "{error}");
        options.plan.attack_remote = true;
        assert_eq!(addresses(&options.plan).unwrap().len(), 1);
    }

    #[test]
    fn a_site_on_this_machine_needs_no_word() {
        assert!(addresses(&options("https://127.0.0.9:1/").plan).is_ok());
    }

    #[test]
    fn a_step_warms_up_until_nearly_all_sessions_are_over() {
        let five = of_pages("x", 5, "1s");
        let times = five.times(0.02).unwrap();
        // Erlang with four stages of 1 s: 99 % within 10.05 s; the responses take 0.1 s.
        assert!((times.warm_up.as_secs_f64() - 10.15).abs() < 0.5, "{times:?}");
        assert_eq!(times.scale, 1.0);
        let page = options("x").times(0.01).unwrap();
        assert_eq!((page.scale, page.warm_up), (1.0, Duration::from_secs(2)));
        // Twenty limits of 500 ms.
        assert_eq!(page.measure, Duration::from_secs(10));
    }

    #[test]
    fn windows_are_longer_where_chance_would_hide_a_fault() {
        let five = Options { quick: false, ..of_pages("x", 5, "1s") };
        let times = five.times(0.02).unwrap();
        assert_eq!(times.window(1000.0, 20.0), times.measure);
        let slow = times.window(2.0, 20.0);
        // 3 √(2 · 2/s · 1.1 s · t) / (2/s · t) = 0.1, with t = 31 s.
        assert!((slow.as_secs_f64() - 31.0).abs() < 2.0, "{slow:?}");
        assert_eq!(times.window(0.001, 20.0), times.longest);
    }

    #[test]
    fn long_sessions_are_shortened_to_the_time_and_short_ones_are_not() {
        let long = of_pages("x", 13, "7s");
        let shop = long.times(0.01).unwrap();
        assert!(shop.scale < 0.2, "{shop:?}");
        let steps = long.thoroughness().steps() as f64;
        assert!(steps * (shop.warm_up + shop.measure).as_secs_f64() <= 600.0, "{shop:?}");
    }

    #[test]
    fn windows_of_slow_sites_and_of_long_limits_keep_to_the_time() {
        for gate in [false, true] {
            let slow = Options { gate, limit: Limit { ms: 30e3, percentile: 95 }, ..options("x") };
            let times = slow.times(5.0).unwrap();
            let budget = Thoroughness::QUICK.longest[usize::from(gate)].as_secs_f64();
            let step = (times.warm_up + times.longest).as_secs_f64();
            assert!(times.measure <= times.longest, "{times:?}");
            assert!(slow.thoroughness().steps() as f64 * step <= budget * 1.001, "{times:?}");
        }
    }

    #[test]
    fn a_scale_that_does_not_fit_is_refused_with_one_that_does() {
        let scaled = |it: Options| Options { time_scale: Some(1.0), ..it };
        let error = scaled(of_pages("x", 13, "7s")).times(0.01).unwrap_err();
        assert!(error.to_string().contains("give at most 0."), "{error}");
        assert!(scaled(of_pages("x", 2, "1s")).times(0.1).is_ok());
    }
}
