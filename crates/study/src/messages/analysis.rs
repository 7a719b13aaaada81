//! From the series to figures and tables.

use serde_json::{Value, json};
use tidegate_stats::{Difference, Estimate, Interval};

use super::configuration::Configuration;
use super::plan::{FIRST, Volume};
use super::series::{Measured, Question, Reuse, Sample, Series, Start, mean_ms};
use tidegate_experiment::Row;

/// What paper 002 reports of a configuration: the first request and the average once warm in
/// milliseconds, requests per second. Of GT3 it has the last alone.
pub(super) fn paper(configuration: Configuration) -> [Option<f64>; 3] {
    match configuration {
        Configuration::JspClear => [Some(937.0), Some(4.0), Some(444.0)],
        Configuration::JspHttps => [Some(1255.0), Some(11.0), Some(153.0)],
        Configuration::SoapClear => [None, None, Some(174.0)],
        Configuration::SoapWss => [None, None, Some(10.0)],
        _ => [None; 3],
    }
}

/// The paper's ratio of requests per second in the clear to those with security.
pub(super) fn paper_ratio(configuration: Configuration) -> Option<f64> {
    match configuration {
        Configuration::JspHttps => Some(2.9),
        Configuration::SoapWss => Some(17.4),
        _ => None,
    }
}

impl Measured {
    /// The series of a configuration with this question, by round.
    pub(super) fn of(
        &self,
        configuration: Configuration,
        question: Question,
    ) -> impl Iterator<Item = &Series> {
        self.series
            .iter()
            .filter(move |it| it.configuration == configuration && it.question == question)
    }

    /// The configurations that were measured.
    pub(super) fn configurations(&self) -> Vec<Configuration> {
        let has = |it: &Configuration| self.starts.iter().any(|start| start.configuration == *it);
        Configuration::ALL.into_iter().filter(has).collect()
    }

    /// Mean time of the warm requests of each round, in milliseconds. The rounds are replicates,
    /// each with a server of its own; batches of one server are not.
    fn rounds(&self, configuration: Configuration, question: Question) -> Vec<f64> {
        self.of(configuration, question).map(|series| mean_ms(series.warm())).collect()
    }

    /// The mean time once warm, in milliseconds.
    pub(super) fn time(
        &self,
        configuration: Configuration,
        question: Question,
    ) -> Option<Interval> {
        Interval::of_mean(&self.rounds(configuration, question))
    }

    /// Logarithm of the mean time once warm.
    pub(super) fn log_time(
        &self,
        configuration: Configuration,
        question: Question,
    ) -> Option<Estimate> {
        let rounds = self.rounds(configuration, question);
        let logs: Vec<f64> = rounds.into_iter().map(f64::ln).collect();
        Estimate::of_mean(&logs)
    }

    /// Requests per second of both clients together: without think time their number divided
    /// by the mean time (Little's law).
    pub(super) fn frequency(&self, configuration: Configuration) -> Option<Interval> {
        let question = Question::TwoClients;
        let rounds = self.rounds(configuration, question);
        let per_s = |ms: f64| question.clients() as f64 * 1e3 / ms;
        let rates: Vec<f64> = rounds.into_iter().map(per_s).collect();
        Interval::of_mean(&rates)
    }

    /// How many times fewer requests per second `secured` answers than `clear`.
    pub(super) fn slowdown(
        &self,
        clear: Configuration,
        secured: Configuration,
    ) -> Option<Interval> {
        let log = |it| self.log_time(it, Question::TwoClients);
        Some(ratio(log(secured)?, log(clear)?))
    }

    /// The first request after the start, in milliseconds, mean over the rounds.
    pub(super) fn first(&self, configuration: Configuration) -> Option<f64> {
        first_times(self, configuration).first().filter(|it| it.0 == 1).map(|it| it.1)
    }

    fn ready(&self, configuration: Configuration) -> Option<f64> {
        let of = self.starts.iter().filter(|it| it.configuration == configuration);
        mean(&of.map(|it| it.ready_s).collect::<Vec<_>>())
    }
}

/// The first figure divided by the second, from their logarithms.
pub(super) fn ratio(of: Estimate, to: Estimate) -> Interval {
    Interval::from(Difference::welch(to, of).estimate).map(f64::exp)
}

pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn row<const N: usize>(cells: [(&str, Value); N]) -> Row {
    cells.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn put(row: &mut Row, name: &str, figure: Option<Interval>) {
    row.insert(name.to_owned(), json!(figure.map(|it| it.value)));
    row.insert(format!("{name}_low_95"), json!(figure.map(|it| it.low)));
    row.insert(format!("{name}_high_95"), json!(figure.map(|it| it.high)));
}

/// The key numbers beside those of the paper.
pub(super) fn key_numbers(measured: &Measured) -> Vec<Row> {
    let of = |it: Configuration| {
        let [first, average, overall] = paper(it);
        let ready_s = measured.ready(it);
        let first_ms = measured.first(it);
        let answer_s = ready_s.zip(first_ms).map(|(ready, first)| ready + first / 1e3);
        let mut row = row([
            ("configuration", json!(it.name())),
            ("ready_s", json!(ready_s)),
            ("first_answer_s", json!(answer_s)),
            ("first_request_ms", json!(first_ms)),
            ("paper_first_request_ms", json!(first)),
            ("paper_average_ms", json!(average)),
            ("paper_overall_per_s", json!(overall)),
        ]);
        put(&mut row, "average_ms", measured.time(it, Question::WarmUp));
        put(&mut row, "overall_per_s", measured.frequency(it));
        row
    };
    measured.configurations().into_iter().map(of).collect()
}

/// Every start of a server, with its round from 1.
pub(super) fn starts(measured: &Measured) -> Vec<Row> {
    let of = |start: &Start| {
        row([
            ("configuration", json!(start.configuration.name())),
            ("round", json!(start.round + 1)),
            ("ready_s", json!(start.ready_s)),
        ])
    };
    measured.starts.iter().map(of).collect()
}

/// How many times fewer requests per second with security.
pub(super) fn overheads(measured: &Measured) -> Vec<Row> {
    let of = |it: Configuration| {
        let clear = it.unsecured()?;
        let mut row = row([
            ("configuration", json!(it.name())),
            ("compared_with", json!(clear.name())),
            ("paper_clear_by_secured", json!(paper_ratio(it))),
        ]);
        put(&mut row, "clear_by_secured", measured.slowdown(clear, it));
        Some(row)
    };
    measured.configurations().into_iter().filter_map(of).collect()
}

/// The first requests of a configuration, by their number from 1: milliseconds, mean over the
/// rounds.
pub(super) fn first_times(measured: &Measured, of: Configuration) -> Vec<(usize, f64)> {
    let time = |index: usize| {
        let series = measured.of(of, Question::WarmUp);
        let samples = series.filter_map(|it| it.samples.get(index));
        Some((index + 1, mean(&samples.map(|it| it.us as f64 / 1e3).collect::<Vec<_>>())?))
    };
    (0..FIRST).filter_map(time).collect()
}

/// [`first_times`] as a table.
pub(super) fn first_requests(measured: &Measured) -> Vec<Row> {
    let mut rows = Vec::new();
    for it in measured.configurations() {
        for (request, ms) in first_times(measured, it) {
            rows.push(row([
                ("configuration", json!(it.name())),
                ("request", json!(request)),
                ("ms", json!(ms)),
            ]));
        }
    }
    rows
}

/// The batches of the long series, mean over the rounds: configuration, last request, time
/// per request in milliseconds.
pub(super) fn warm_up(measured: &Measured, volume: &Volume) -> Vec<(Configuration, usize, f64)> {
    let mut points = Vec::new();
    for it in measured.configurations() {
        for number in 0..volume.requests / volume.batch() {
            let range = number * volume.batch()..(number + 1) * volume.batch();
            let of = measured.of(it, Question::WarmUp);
            let times: Vec<f64> =
                of.filter_map(|it| it.samples.get(range.clone())).map(mean_ms).collect();
            points.extend(mean(&times).map(|ms| (it, range.end, ms)));
        }
    }
    points
}

/// [`warm_up`] as a table.
pub(super) fn batches(measured: &Measured, volume: &Volume) -> Vec<Row> {
    let of = |(configuration, to, ms): (Configuration, usize, f64)| {
        row([
            ("configuration", json!(configuration.name())),
            ("to_request", json!(to)),
            ("ms_per_request", json!(ms)),
        ])
    };
    warm_up(measured, volume).into_iter().map(of).collect()
}

/// CPU of a message in microseconds and its bytes on the wire, mean over the rounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    pub server_cpu_us: f64,
    pub client_cpu_us: f64,
    pub bytes_out: f64,
    pub bytes_in: f64,
}

pub(super) fn cost(
    measured: &Measured,
    configuration: Configuration,
    question: Question,
) -> Option<Cost> {
    let all: Vec<&Series> = measured.of(configuration, question).collect();
    let requests: f64 = all.iter().map(|it| it.samples.len() as f64).sum();
    let bytes = |of: fn(&Sample) -> u64| {
        let warm: Vec<f64> =
            all.iter().flat_map(|it| it.warm()).map(|sample| of(sample) as f64).collect();
        mean(&warm)
    };
    let cpu_us = |of: fn(&Series) -> f64| all.iter().map(|it| of(it)).sum::<f64>() / requests * 1e6;
    Some(Cost {
        server_cpu_us: cpu_us(|it| it.server_cpu_s),
        client_cpu_us: cpu_us(|it| it.client_cpu_s),
        bytes_out: bytes(|it| it.out)?,
        bytes_in: bytes(|it| it.into)?,
    })
}

fn cost_row(
    measured: &Measured,
    (configuration, question): (Configuration, Question),
    key: (&str, Value),
) -> Option<Row> {
    let cost = cost(measured, configuration, question)?;
    let mut row = row([
        ("configuration", json!(configuration.name())),
        key,
        ("server_cpu_us", json!(cost.server_cpu_us)),
        ("client_cpu_us", json!(cost.client_cpu_us)),
        ("bytes_out", json!(cost.bytes_out)),
        ("bytes_in", json!(cost.bytes_in)),
    ]);
    put(&mut row, "average_ms", measured.time(configuration, question));
    Some(row)
}

/// Kept, resumed and new connections.
pub(super) fn connections(measured: &Measured) -> Vec<Row> {
    let mut rows = Vec::new();
    for it in measured.configurations() {
        for reuse in [Reuse::Keep, Reuse::Resumed, Reuse::New] {
            let key = ("connection", json!(reuse.name()));
            rows.extend(cost_row(measured, (it, Question::Connections(reuse)), key));
        }
    }
    rows
}

/// Payloads.
pub(super) fn sizes(measured: &Measured, volume: &Volume) -> Vec<Row> {
    let mut rows = Vec::new();
    for it in measured.configurations() {
        for (size, _) in volume.sizes() {
            let key = ("payload_bytes", json!(size));
            rows.extend(cost_row(measured, (it, Question::Size(size)), key));
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_that_of_the_means_and_its_interval_contains_it() {
        let of = Estimate::of_mean(&[8.0f64.ln(), 8.2f64.ln(), 7.8f64.ln()]).unwrap();
        let to = Estimate::of_mean(&[2.0f64.ln(), 2.1f64.ln(), 1.9f64.ln()]).unwrap();
        let ratio = ratio(of, to);
        assert!((ratio.value - 4.0).abs() < 0.05, "{ratio:?}");
        assert!(ratio.low < 4.0 && 4.0 < ratio.high && ratio.low > 3.0, "{ratio:?}");
    }

    #[test]
    fn the_papers_ratios_are_those_of_its_frequencies() {
        let overall = |it| paper(it)[2].unwrap();
        for it in [Configuration::JspHttps, Configuration::SoapWss] {
            let ratio = overall(it.unsecured().unwrap()) / overall(it);
            assert!((ratio - paper_ratio(it).unwrap()).abs() < 0.05, "{it}: {ratio}");
        }
    }
}
