//! A run as it was saved: what a comparison needs of a summary's JSON.

use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::window::Window;
use crate::result::LARGEST_FILE;
use crate::result::arrival_entry::ArrivalEntry;
use crate::result::driver::Machine;
use crate::result::summary::Summary;

/// A run, read back from the JSON of its [`Summary`].
#[derive(Clone, Debug, Deserialize)]
pub struct SavedRun {
    /// File it was read from, and which of several in it.
    #[serde(skip)]
    pub name: String,
    pub(super) scenario: String,
    pub(super) target: String,
    pub(super) seed: u64,
    pub(super) machine: Machine,
    pub(super) started_at_unix_ms: u64,
    pub(super) warm_up_s: f64,
    pub(super) measured_s: f64,
    pub(super) interrupted: bool,
    /// Why it lacks the figures of a driver.
    #[serde(default)]
    pub(super) incomplete: Vec<String>,
    pub(super) time_scale: f64,
    pub(super) patience_ms: f64,
    pub(super) session_length: Length,
    /// Missing in older results.
    #[serde(default)]
    pub(super) session_think_ms: Option<f64>,
    pub(super) driver: Driver,
    /// The arrivals in words; empty where a file does not tell.
    #[serde(default)]
    pub(super) arrivals: String,
    /// The arrivals in full; missing in older results.
    #[serde(default)]
    pub(super) arrival_entries: Vec<ArrivalEntry>,
    /// What each entry was offered, where there are several.
    #[serde(default)]
    pub(super) models: Vec<Model>,
    #[serde(default)]
    pub(super) max_sessions: Option<u64>,
    /// Version of HTTP, and what TLS handshakes agreed on; missing in older results.
    #[serde(default)]
    pub(super) http: Option<String>,
    #[serde(default)]
    pub(super) tls: Vec<Agreed>,
    #[serde(rename = "stretches")]
    pub(super) window: Window,
}

/// Of a session that is left to run its course.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Length {
    pub(super) mean_requests: f64,
}

/// An entry of the arrivals among several.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Model {
    pub(super) offered: u64,
}

/// TLS handshakes that agreed on the same.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Agreed {
    pub(super) version: String,
    pub(super) suite: String,
    pub(super) group: Option<String>,
    pub(super) full: u64,
    pub(super) resumed: u64,
}

/// Condition of the driver.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Driver {
    pub(super) threads: usize,
    pub(super) saturated_because: Vec<String>,
    /// Missing in older results.
    #[serde(default)]
    pub(super) warned_because: Vec<String>,
}

/// The fields that identify the kind of a file.
#[derive(Deserialize)]
struct Head {
    format: Option<u32>,
    runs: Option<Vec<IgnoredAny>>,
}

#[derive(Deserialize)]
struct Several {
    runs: Vec<SavedRun>,
}

impl SavedRun {
    /// Reads the runs of a file: one, or those of a repeated run.
    ///
    /// # Errors
    /// A sentence: what is wrong with which file, and what to do.
    pub fn read(path: &Path) -> Result<Vec<Self>, String> {
        let name = path.display().to_string();
        let bytes = tidegate_config::read_bytes(path, LARGEST_FILE)
            .map_err(|error| format!("{name}: {error}"))?;
        Self::parse(&name, &bytes)
    }

    fn parse(name: &str, bytes: &[u8]) -> Result<Vec<Self>, String> {
        let not_ours = |error: serde_json::Error| {
            format!("{name}: {error}; give a file that `tidegate load --json` wrote")
        };
        let head: Head = serde_json::from_slice(bytes).map_err(not_ours)?;
        match head.format {
            Some(Summary::FORMAT) => {}
            Some(other) => {
                return Err(format!(
                    "{name}: has format {other}, and this tidegate reads format {}; compare with \
                     the version that wrote it, or run it again",
                    Summary::FORMAT
                ));
            }
            None => {
                return Err(format!(
                    "{name}: says no format: no result of `tidegate load --json`, or one of a \
                     version that could not be compared yet; run it again"
                ));
            }
        }
        let mut runs = if head.runs.is_some() {
            serde_json::from_slice::<Several>(bytes).map_err(not_ours)?.runs
        } else {
            vec![serde_json::from_slice::<Self>(bytes).map_err(not_ours)?]
        };
        if runs.is_empty() {
            return Err(format!("{name}: holds no run"));
        }
        let several = runs.len() > 1;
        for (index, run) in runs.iter_mut().enumerate() {
            run.name =
                if several { format!("{name} (run {})", index + 1) } else { name.to_owned() };
        }
        Ok(runs)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};
    use tidegate_stats::Histogram;

    use super::*;
    use crate::result::series::Stretch;

    /// A run's JSON: in each second, so many sessions completed, one request
    /// each, all of them within so many milliseconds.
    pub(in crate::compare) fn saved(seed: u64, seconds: &[(u64, u64)]) -> Value {
        let stretches: Vec<Stretch> = seconds
            .iter()
            .map(|&(completed, ms)| {
                let mut response = Histogram::new();
                response.record_many(Duration::from_millis(ms), completed);
                Stretch {
                    length_s: 1.0,
                    offered: 50,
                    completed,
                    admitted_ended: 50,
                    requests_ok: completed,
                    full_handshakes: 1,
                    resumed_handshakes: 3,
                    response: response.encode(),
                    ..Stretch::default()
                }
            })
            .collect();
        json!({
            "format": 1, "scenario": "auction-bidding", "target": "https://127.0.0.1:8443",
            "seed": seed, "machine": { "cpu": "some", "cpus": 2, "kernel": "6" },
            "started_at_unix_ms": seed, "warm_up_s": 10.0, "measured_s": seconds.len(),
            "interrupted": false, "time_scale": 1.0, "patience_ms": 10000.0,
            "session_length": { "mean_requests": 8.5 },
            "driver": { "threads": 1, "saturated_because": [] },
            "stretches": stretches,
        })
    }

    pub(in crate::compare) fn read(json: &Value) -> Vec<SavedRun> {
        SavedRun::parse("x.json", &serde_json::to_vec(json).unwrap()).unwrap()
    }

    fn refusal(json: &Value) -> String {
        SavedRun::parse("x.json", &serde_json::to_vec(json).unwrap()).unwrap_err()
    }

    #[test]
    fn one_run_and_several_are_read_alike() {
        let one = saved(1, &[(10, 5), (12, 5)]);
        assert_eq!(read(&one)[0].window.responses[1].count(), 12);
        let several = read(&json!({ "format": 1, "runs": [one.clone(), one] }));
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
        assert!(refusal(&json!({ "format": 1, "runs": [] })).contains("holds no run"));
        assert!(refusal(&json!([1, 2])).contains("x.json: "));
        let mut damaged = saved(1, &[(10, 5)]);
        damaged["stretches"][0]["response"] = json!("AAAA");
        assert!(refusal(&damaged).contains("stretches[0].response is no histogram"));
        damaged["stretches"][0]["length_s"] = json!(-1);
        assert!(refusal(&damaged).contains("stretches[0].length_s = -1"));
        damaged["stretches"][0] = saved(1, &[(10, 5)])["stretches"][0].clone();
        damaged["stretches"][0]["failed"] = json!(u64::MAX);
        assert!(refusal(&damaged).contains("stretches[0] counts 18446744073709551615"));
        let many = saved(1, &[(1, 1); 33]);
        assert!(refusal(&many).contains("stretches: 33, at most 32"));
    }
}
