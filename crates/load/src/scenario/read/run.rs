//! Reads `[run]`.

use std::time::Duration;

use tidegate_config::Preset::Else;
use tidegate_config::{Section, Time, keys};

use super::limits::DAY;
use crate::scenario::run_times::RunTimes;

keys! {
    /// How long a run lasts, unless `--warm-up` and `--duration` say otherwise. Both together are
    /// at most 24h.
    pub(super) static RUN: RunKeys {
        /// Time before the measured window.
        warm_up: Time("0s", "24h") = Else("none where the arrivals have an end, such as a ramp; else 10s, 30s in the closed model");
        /// The measured window.
        duration: Time("1ms", "24h") = Else("until the end of the arrivals' segments and times; without any 30s, in the closed model 60s");
    }
}

pub(super) fn read(section: &Section<'_>) -> RunTimes {
    section.known(&RUN);
    let times =
        RunTimes { warm_up: section.given(&RUN.warm_up), duration: section.given(&RUN.duration) };
    let sum: Duration = [times.warm_up, times.duration].into_iter().flatten().sum();
    if sum > DAY {
        section.wrong("lasts longer than 24h in all", "write duration = \"10min\"");
    }
    times
}

#[cfg(test)]
mod tests {
    use super::super::mistakes;
    use crate::scenario::Scenario;

    const SHOP: &str = "[session]\nsteps = [\"Home\"]\n[pages]\nHome = { path = \"/\" }\n[run]\n";

    #[test]
    fn a_scenario_states_its_warm_up_and_its_duration() {
        let text = format!("{SHOP}warm_up = \"1min\"\nduration = \"2h\"\n");
        let run = Scenario::from_toml(&text, "shop.toml").unwrap().run();
        let seconds = [run.warm_up, run.duration].map(|time| time.unwrap().as_secs());
        assert_eq!(seconds, [60, 7200]);
    }

    #[test]
    fn every_mistake_of_a_run_is_reported() {
        let text = format!("{SHOP}warm_up = 10\nduration = \"0s\"\nlenght = \"1s\"\n");
        let found = mistakes(&text);
        assert_eq!(found.len(), 3, "{found:#?}");
        assert!(found[0].starts_with("shop.toml:6: run.warm_up = 10: must be a duration of 0s to"));
        assert!(found[1].starts_with("shop.toml:7: run.duration = \"0s\": must be"), "{found:#?}");
        assert!(found[2].starts_with("shop.toml:8: run.lenght = \"1s\": is not a known key"));
        let long = format!("{SHOP}warm_up = \"1h\"\nduration = \"24h\"\n");
        let found = Scenario::from_toml(&long, "shop.toml").unwrap_err().to_string();
        assert!(found.contains("run: lasts longer than 24h in all"), "{found}");
    }
}
