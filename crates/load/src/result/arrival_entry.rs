//! The arrivals as a result keeps them: enough to tell whether two runs had the same load.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::arrivals::{Arrivals, Closed, Model, Process, Rate, Schedule, Segment};
use crate::fnv::Fnv;

/// An entry of the arrivals. What does not apply to its model is left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ArrivalEntry {
    /// In words, as in the report.
    pub name: String,
    /// `open`, `partly_open` or `closed`.
    pub model: String,
    /// Class of its customers; `None` where it is drawn for each session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Of the closed model: number of customers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub customers: Option<u32>,
    /// Of the closed model: mean think time between two sessions, before the time scale.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub think_ms: Option<f64>,
    /// Of the closed model: the time over which the first sessions begin, before the time scale.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within_ms: Option<f64>,
    /// How a rate becomes arrivals: `poisson` or `even`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<String>,
    /// `rate` (constant), `segments`, `wave`, `bursts`, or `times` (listed or replayed).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    /// A constant rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<f64>,
    /// Fingerprint of segments, wave, bursts or times: equal for equal ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
}

impl ArrivalEntry {
    /// The entries of arrivals, in order. `think` is the mean think time between two sessions of
    /// a class, or of customers of no class in particular.
    pub(crate) fn all(arrivals: &Arrivals, think: impl Fn(Option<&str>) -> Duration) -> Vec<Self> {
        let models = arrivals.models().iter().zip(arrivals.classes()).zip(arrivals.words());
        let entry = |((model, class), name): ((&Model, &Option<String>), String)| {
            let base = Self { name, class: class.clone(), ..Self::default() };
            match model {
                Model::Closed(model) => base.closed(model, think(class.as_deref())),
                Model::Open(schedule) => base.open("open", schedule),
                Model::PartlyOpen(schedule) => base.open("partly_open", schedule),
            }
        };
        models.map(entry).collect()
    }

    fn closed(self, model: &Closed, think: Duration) -> Self {
        let think = model.think.unwrap_or(think);
        let ms = |time: Duration| Some(time.as_secs_f64() * 1000.0);
        Self {
            model: "closed".to_owned(),
            customers: Some(model.customers),
            think_ms: ms(think),
            within_ms: ms(model.within.unwrap_or(think)),
            ..self
        }
    }

    fn open(self, model: &str, schedule: &Schedule) -> Self {
        let model = model.to_owned();
        let (process, rate) = match schedule {
            Schedule::Times(times) => {
                let fingerprint = fingerprint(times.iter().map(Duration::as_secs_f64));
                let schedule = Some("times".to_owned());
                return Self { model, schedule, fingerprint, ..self };
            }
            Schedule::Rate(process, rate) => (process, rate),
        };
        let process = match process {
            Process::Poisson => "poisson",
            Process::Even => "even",
        };
        let s = |time: Duration| time.as_secs_f64();
        let (schedule, rate_per_s, fingerprint) = match rate {
            Rate::Segments(segments) => match segments.as_slice() {
                // After its end the rate of the last segment holds.
                [only] if only.from_per_s == only.to_per_s => ("rate", Some(only.to_per_s), None),
                all => {
                    let numbers = |it: &Segment| [s(it.lasts), it.from_per_s, it.to_per_s];
                    ("segments", None, fingerprint(all.iter().flat_map(numbers)))
                }
            },
            Rate::Wave(wave) => {
                let numbers = [wave.mean_per_s, wave.swing, s(wave.period), s(wave.peak)];
                ("wave", None, fingerprint(numbers))
            }
            Rate::Bursts(it) => {
                let numbers = [it.calm_per_s, it.burst_per_s, s(it.calm_for), s(it.burst_for)];
                ("bursts", None, fingerprint(numbers))
            }
        };
        let (process, schedule) = (Some(process.to_owned()), Some(schedule.to_owned()));
        Self { model, process, schedule, rate_per_s, fingerprint, ..self }
    }
}

/// A hash of numbers, the same in every version of the program.
fn fingerprint(numbers: impl IntoIterator<Item = f64>) -> Option<String> {
    let mut hash = Fnv::default();
    numbers.into_iter().for_each(|number| hash.add(&number.to_bits().to_le_bytes()));
    Some(hash.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(line: &str) -> Vec<ArrivalEntry> {
        let arrivals = Arrivals::from_line(line, "--arrivals").unwrap();
        ArrivalEntry::all(&arrivals, |class| {
            Duration::from_secs(if class.is_some() { 9 } else { 7 })
        })
    }

    fn json(line: &str) -> serde_json::Value {
        serde_json::to_value(&entries(line)[0]).unwrap()
    }

    #[test]
    fn a_constant_rate_and_customers_are_kept_as_numbers() {
        assert_eq!(
            json("rate = 5"),
            serde_json::json!({
                "name": "partly open: sessions at 5/s, Poisson", "model": "partly_open",
                "process": "poisson", "schedule": "rate", "rate_per_s": 5.0
            })
        );
        // A single step has no end but that of the run.
        assert_eq!(json("segments = [{ for = \"9s\", rate = 5 }]"), json("rate = 5"));
        assert_eq!(
            json("customers = 50, within = \"1s\", class = \"bots\""),
            serde_json::json!({
                "name": "closed: 50 customers (bots)", "model": "closed", "class": "bots",
                "customers": 50, "think_ms": 9000.0, "within_ms": 1000.0
            })
        );
        assert_eq!(json("customers = 50")["within_ms"], 7000.0);
    }

    #[test]
    fn schedules_that_differ_in_one_number_have_another_fingerprint() {
        for (one, other) in [
            (
                "bursts = { calm = 5, burst = 50, calm_for = \"8s\", burst_for = \"2s\" }",
                "bursts = { calm = 5, burst = 50, calm_for = \"4s\", burst_for = \"1s\" }",
            ),
            ("wave = { mean = 5, swing = 0.5 }", "wave = { mean = 5, swing = 0.5, peak = \"1h\" }"),
            ("times = [\"1s\", \"2s\"]", "times = [\"1s\", \"3s\"]"),
            (
                "segments = [{ for = \"1s\", rate = 5 }, { for = \"1s\", rate = 6 }]",
                "segments = [{ for = \"2s\", rate = 5 }, { for = \"1s\", rate = 6 }]",
            ),
        ] {
            let fingerprint = |line| entries(line).remove(0).fingerprint.expect("it has one");
            assert_eq!(entries(one)[0].name, entries(other)[0].name, "{one}");
            assert_eq!(fingerprint(one), fingerprint(one));
            assert_ne!(fingerprint(one), fingerprint(other), "{one}");
        }
    }
}
