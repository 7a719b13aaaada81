//! Results as they were saved.

use std::path::Path;

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use super::repeat::{Repeated, RepeatedFigure};
use super::window::Window;
use crate::result::LARGEST_FILE;
use crate::result::summary::Summary;

/// What `--json` wrote: one run, or those of `--repeat`.
#[derive(Clone, Debug)]
pub struct SavedResult {
    /// The runs, at least one.
    pub runs: Vec<SavedRun>,
    /// The figures over several runs; empty for one.
    pub figures: Vec<RepeatedFigure>,
}

/// A run, read back from the JSON of its [`Summary`].
#[derive(Clone, Debug)]
pub struct SavedRun {
    /// File it was read from, and which of several in it.
    pub name: String,
    /// Its result.
    pub summary: Summary,
    pub(super) window: Window,
}

/// The fields that identify the kind of a file.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Head {
    format: Option<Value>,
    runs: Option<IgnoredAny>,
    rows: Option<IgnoredAny>,
}

impl SavedResult {
    /// Reads a result of `--json`.
    ///
    /// # Errors
    /// A sentence: what is wrong with which file, and what to do.
    pub fn read(path: &Path) -> Result<Self, String> {
        let name = path.display().to_string();
        let bytes = tidegate_config::read_bytes(path, LARGEST_FILE)
            .map_err(|error| format!("{name}: {error}"))?;
        Self::parse(&name, &bytes)
    }

    /// Reads the text of a result; `name` is that of its file.
    ///
    /// # Errors
    /// As [`SavedResult::read`].
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Self, String> {
        Self::parse_unnamed(name, bytes).map_err(|why| format!("{name}: {why}"))
    }

    fn parse_unnamed(name: &str, bytes: &[u8]) -> Result<Self, String> {
        let head = match bytes.trim_ascii_start().first() {
            Some(b'{') => json(bytes)?,
            _ => json::<IgnoredAny>(bytes).map(|_| Head::default())?,
        };
        match head.format {
            Some(format) if format == Summary::FORMAT => {}
            Some(other) => {
                return Err(format!(
                    "has format {other}, and this tidegate reads format {}; use the version that \
                     wrote it, or run the test again",
                    Summary::FORMAT
                ));
            }
            None => {
                return Err("says no format: it is not a result of `tidegate load --json`, or \
                            one of a version that wrote none; run the test again"
                    .to_owned());
            }
        }
        if head.rows.is_some() {
            return Err("is a comparison, not a result; give a file that `tidegate load --json` \
                        wrote"
                .to_owned());
        }
        let Repeated { runs, figures, .. } = match head.runs {
            Some(_) => json(bytes)?,
            None => {
                Repeated { format: Summary::FORMAT, figures: Vec::new(), runs: vec![json(bytes)?] }
            }
        };
        if runs.is_empty() {
            return Err("holds no run; run the test again".to_owned());
        }
        let several = runs.len() > 1;
        let run = |(number, summary): (usize, Summary)| {
            let name = if several { format!("{name} (run {number})") } else { name.to_owned() };
            let window = window(&summary).map_err(|what| {
                format!("{what}; the file is damaged: give it as `tidegate load --json` wrote it")
            })?;
            Ok(SavedRun { name, summary, window })
        };
        let runs: Result<_, String> = (1..).zip(runs).map(run).collect();
        Ok(Self { runs: runs?, figures })
    }
}

fn json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    serde_json::from_slice(bytes)
        .map_err(|error| format!("{error}; give a file that `tidegate load --json` wrote"))
}

/// Most seconds of a run: a day and a partial second.
const MOST_SECONDS: usize = 86_401;

/// The window of a run whose times are in order and within a day.
fn window(run: &Summary) -> Result<Window, String> {
    if run.series.len() > MOST_SECONDS {
        return Err(format!("series: {}, at most {MOST_SECONDS}", run.series.len()));
    }
    let day = 0.0..=MOST_SECONDS as f64;
    let mut last = 0.0;
    for (index, second) in run.series.iter().enumerate() {
        let in_order = second.at_s >= last && day.contains(&second.at_s);
        if !in_order || !day.contains(&second.length_s) {
            return Err(format!("series[{index}].at_s = {}", second.at_s));
        }
        last = second.at_s;
    }
    if let Some(time) = [run.warm_up_s, run.measured_s].into_iter().find(|time| !day.contains(time))
    {
        return Err(format!("a time is {time} s"));
    }
    Window::try_from(run.stretches.clone())
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};
    use tidegate_stats::Histogram;

    use super::*;
    use crate::result::driver::{Driver, Machine};
    use crate::result::series::Subwindow;
    use crate::scenario::length::SessionLength;

    /// A run's JSON: in each second, so many sessions completed, one request
    /// each, all of them within so many milliseconds.
    pub(in crate::compare) fn saved(seed: u64, seconds: &[(u64, u64)]) -> Value {
        let stretches: Vec<Subwindow> = seconds
            .iter()
            .map(|&(completed, ms)| {
                let mut response = Histogram::new();
                response.record_many(Duration::from_millis(ms), completed);
                Subwindow {
                    length_s: 1.0,
                    offered: 50,
                    completed,
                    admitted_ended: 50,
                    requests_ok: completed,
                    full_handshakes: 1,
                    resumed_handshakes: 3,
                    response: response.encode(),
                    ..Subwindow::default()
                }
            })
            .collect();
        let summary = Summary {
            format: 1,
            scenario: "auction-bidding".to_owned(),
            target: "https://127.0.0.1:8443".to_owned(),
            seed,
            machine: Machine { cpu: "some".to_owned(), cpus: 2, kernel: "6".to_owned() },
            started_at_unix_ms: seed,
            warm_up_s: 10.0,
            measured_s: seconds.len() as f64,
            time_scale: 1.0,
            patience_ms: 10_000.0,
            session_length: SessionLength { mean_requests: 8.5, ..SessionLength::default() },
            driver: Driver { threads: 1, ..Driver::default() },
            stretches,
            ..Summary::default()
        };
        serde_json::to_value(summary).unwrap()
    }

    pub(in crate::compare) fn read(json: &Value) -> Vec<SavedRun> {
        SavedResult::parse("x.json", &serde_json::to_vec(json).unwrap()).unwrap().runs
    }

    fn refusal(json: &Value) -> String {
        SavedResult::parse("x.json", &serde_json::to_vec(json).unwrap()).unwrap_err()
    }

    #[test]
    fn one_run_and_several_are_read_alike() {
        let one = saved(1, &[(10, 5), (12, 5)]);
        assert_eq!(read(&one)[0].window.responses[1].count(), 12);
        let several = read(&json!({ "format": 1, "runs": [one.clone(), one], "figures": [] }));
        let names: Vec<&str> = several.iter().map(|run| run.name.as_str()).collect();
        assert_eq!(names, ["x.json (run 1)", "x.json (run 2)"]);
    }

    #[test]
    fn what_is_no_result_of_this_version_is_refused_with_its_reason() {
        let with = |key: &str, value: Value| {
            let mut json = saved(1, &[(10, 5)]);
            json[key] = value;
            refusal(&json)
        };
        assert!(
            with("format", json!(2)).contains("has format 2, and this tidegate reads format 1")
        );
        assert!(with("format", Value::Null).contains("says no format"));
        assert!(with("seed", json!("x")).contains("give a file that `tidegate load --json` wrote"));
        assert!(with("stretches", json!([{ "length_s": 1 }])).contains("missing field"));
        assert!(
            refusal(&json!({ "format": 1, "runs": [], "figures": [] })).contains("holds no run")
        );
        assert!(refusal(&json!([1, 2])).contains("x.json: "));
        let mut damaged = saved(1, &[(10, 5)]);
        damaged["stretches"][0]["response"] = json!("AAAA");
        assert!(refusal(&damaged).contains("stretches[0].response is not a histogram"));
        damaged["stretches"][0]["length_s"] = json!(-1);
        assert!(refusal(&damaged).contains("stretches[0].length_s = -1"));
        damaged["stretches"][0] = saved(1, &[(10, 5)])["stretches"][0].clone();
        damaged["stretches"][0]["failed"] = json!(u64::MAX);
        assert!(refusal(&damaged).contains("stretches[0] counts 18446744073709551615"));
        let many = saved(1, &[(1, 1); 33]);
        assert!(refusal(&many).contains("stretches: 33, at most 32"));
    }
}
