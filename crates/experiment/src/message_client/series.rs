//! What is measured: requests one by one, in series of the same kind.

use serde_json::json;

use crate::metrics::Figures;
use crate::metrics::messages::SERIES;
use crate::summary::Row;

/// Requests whose times are shown one by one: those of the paper.
const FIRST: usize = 17;
/// Bytes of the payload unless the size is the question.
const USUAL_PAYLOAD: usize = 200;
/// The payload from which on fewer messages are sent, in inverse proportion.
const LARGE: usize = 16 * 1024;
/// Fewest messages of a series.
const FEWEST: usize = 20;
/// Most requests of a batch: those of the paper.
const BATCH: usize = 100;
/// Most of a batch of the whole series.
const LARGE_BATCH: usize = 1000;

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    /// From before the message is made until its answer was verified, in microseconds.
    pub us: u64,
    /// Bytes sent on the connection, the handshake's included.
    pub out: u64,
    /// Bytes received.
    pub into: u64,
}

/// What requests share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reuse {
    /// One connection.
    Keep,
    /// The session of TLS; each has a connection of its own.
    Resumed,
    /// Nothing.
    New,
}

impl Reuse {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Resumed => "resumed",
            Self::New => "new",
        }
    }
}

/// What the requests of a series have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Kind {
    /// Its name, of [`SERIES`].
    pub name: &'static str,
    /// Fewest requests.
    pub requests: usize,
    /// Most of them: it goes on so long until the service is warm.
    pub at_most: usize,
    pub clients: usize,
    pub reuse: Reuse,
    /// Bytes of the payload.
    pub payload: usize,
}

/// The series of a service in the order of measurement. The first two have `requests` requests, and
/// up to `at_most` until the service is warm; the others have fewer in proportion. Without TLS there
/// is no session to resume.
pub(crate) fn kinds(requests: usize, at_most: Option<usize>, is_tls: bool) -> Vec<Kind> {
    let some = (requests / 4).max(FEWEST);
    let at_most = at_most.unwrap_or(requests).max(requests);
    let kind = |(name, _): (&'static str, &str)| {
        let usual = Kind {
            name,
            requests: some,
            at_most: some,
            clients: 1,
            reuse: Reuse::Keep,
            payload: USUAL_PAYLOAD,
        };
        Some(match name {
            "warm_up" => Kind { requests, at_most, ..usual },
            "two_clients" => Kind { requests, at_most, clients: 2, ..usual },
            "resumed" => Kind { reuse: Reuse::Resumed, ..usual },
            "new" => Kind { reuse: Reuse::New, ..usual },
            _ => {
                let Some(size) = name.strip_prefix("size_") else { return Some(usual) };
                let payload: usize = size.parse().ok()?;
                let requests = (some * LARGE / payload.max(LARGE)).max(FEWEST);
                Kind { requests, at_most: requests, payload, ..usual }
            }
        })
    };
    let all = SERIES.into_iter().filter_map(kind);
    all.filter(|kind| is_tls || kind.reuse != Reuse::Resumed).collect()
}

/// A series of requests.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Series {
    pub kind: Kind,
    /// In the order of their starts.
    pub samples: Vec<Sample>,
    /// The first of those that show a warm service; none where it was not warm.
    pub settled: Option<usize>,
    /// CPU seconds of the service during the series.
    pub server_cpu_s: f64,
    /// CPU seconds of the clients' threads.
    pub client_cpu_s: f64,
}

impl Series {
    /// The requests once warm: those that show a warm service, else the second half.
    fn warm(&self) -> &[Sample] {
        &self.samples[self.settled.unwrap_or(self.samples.len() / 2)..]
    }

    /// The first requests, as many as the series has at least: those of the paper.
    fn first(&self) -> &[Sample] {
        &self.samples[..self.kind.requests.min(self.samples.len())]
    }

    fn cpu_us(&self, cpu_s: f64) -> f64 {
        cpu_s / self.samples.len().max(1) as f64 * 1e6
    }

    /// Requests of a batch: 100, in short series a tenth.
    fn batch(&self) -> usize {
        BATCH.min(self.first().len() / 10).max(1)
    }

    /// The requests, a row each.
    pub(crate) fn rows(&self, configuration: &str, round: u32) -> Vec<Row> {
        let Kind { name, clients, reuse, payload, .. } = self.kind;
        let row = |(index, sample): (usize, &Sample)| {
            let cells = [
                ("round", json!(round + 1)),
                ("configuration", json!(configuration)),
                ("series", json!(name)),
                ("clients", json!(clients)),
                ("connection", json!(reuse.name())),
                ("payload_bytes", json!(payload)),
                ("request", json!(index + 1)),
                ("us", json!(sample.us)),
                ("bytes_out", json!(sample.out)),
                ("bytes_in", json!(sample.into)),
            ];
            cells.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
        };
        self.samples.iter().enumerate().map(row).collect()
    }
}

/// Mean time, in milliseconds.
fn mean_ms(samples: &[Sample]) -> f64 {
    mean(samples, |it| it.us) / 1e3
}

fn mean(samples: &[Sample], of: fn(&Sample) -> u64) -> f64 {
    samples.iter().map(|it| of(it) as f64).sum::<f64>() / samples.len().max(1) as f64
}

/// The figures of a run. Times and bytes are means once warm, CPU is that of a whole series.
pub(crate) fn figures(ready_s: f64, all: &[Series]) -> Figures {
    let mut figures = Figures::from([("ready_s".to_owned(), ready_s)]);
    for series in all {
        let warm = series.warm();
        let time_ms = mean_ms(warm);
        for (quantity, value) in [
            ("ms", time_ms),
            ("server_cpu_us", series.cpu_us(series.server_cpu_s)),
            ("client_cpu_us", series.cpu_us(series.client_cpu_s)),
            ("bytes_out", mean(warm, |it| it.out)),
            ("bytes_in", mean(warm, |it| it.into)),
        ] {
            figures.insert(format!("{}_{quantity}", series.kind.name), value);
        }
        let mut put = |name: &str, value: f64| figures.insert(name.to_owned(), value);
        let settled_ms = series.settled.map(|_| time_ms);
        match series.kind.name {
            "warm_up" => {
                let batch = |number: usize| {
                    let size = series.batch();
                    // The first request has a figure of its own.
                    mean_ms(&series.samples[(number * size).max(1)..(number + 1) * size])
                };
                let first_ms = mean_ms(&series.samples[..1]);
                let late = &series.first()[series.first().len() / 2..];
                let (third, last) = late.split_at(late.len() / 2);
                put("early_ms", mean_ms(late));
                if let Some(value) = settled_ms {
                    put("settled_ms", value);
                }
                put("requests_until_warm", series.samples.len() as f64);
                put("first_request_ms", first_ms);
                put("first_answer_s", ready_s + first_ms / 1e3);
                put("first_by_warm", first_ms / time_ms);
                put("first_hundred_by_warm", batch(0) / time_ms);
                put("second_hundred_by_warm", batch(1) / time_ms);
                put("third_by_last_quarter", mean_ms(third) / mean_ms(last));
            }
            // Without think time their number divided by the mean time (Little's law).
            "two_clients" => {
                put("overall_per_s", series.kind.clients as f64 * 1e3 / time_ms);
                if let Some(value) = settled_ms {
                    put("settled_two_clients_ms", value);
                }
            }
            _ => {}
        }
    }
    figures
}

/// The courses of a run by name: how requests become faster, and what they cost by payload.
pub(crate) fn courses(all: &[Series]) -> std::collections::BTreeMap<String, Vec<(f64, f64)>> {
    let mut courses = std::collections::BTreeMap::<String, Vec<(f64, f64)>>::new();
    for series in all {
        let mut put = |name: &str, at: usize, value: f64| {
            courses.entry(name.to_owned()).or_default().push((at as f64, value));
        };
        let payload = series.kind.payload;
        if series.kind.name == "warm_up" {
            for (index, first) in series.samples.iter().take(FIRST).enumerate() {
                put("first_requests", index + 1, first.us as f64 / 1e3);
            }
            for (index, batch) in series.first().chunks_exact(series.batch()).enumerate() {
                put("batches", (index + 1) * batch.len(), mean_ms(batch));
            }
            let large = LARGE_BATCH.min(series.samples.len() / 10).max(1);
            for (index, batch) in series.samples.chunks_exact(large).enumerate() {
                put("until_warm", (index + 1) * batch.len(), mean_ms(batch));
            }
        } else if series.kind.name.starts_with("size_") {
            put("server_cpu", payload, series.cpu_us(series.server_cpu_s));
            put("client_cpu", payload, series.cpu_us(series.client_cpu_s));
            put("bytes_beside", payload, mean(series.warm(), |it| it.out) - payload as f64);
        }
    }
    courses
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics;

    /// A series whose requests took these times in microseconds, by index.
    fn series(kind: Kind, us: impl Fn(usize) -> u64) -> Series {
        let sample = |index| Sample { us: us(index), out: 300, into: 200 };
        let samples = (0..kind.requests).map(sample).collect();
        Series { kind, samples, settled: None, server_cpu_s: 0.002, client_cpu_s: 0.004 }
    }

    #[track_caller]
    fn close(figures: &Figures, name: &str, expected: f64) {
        assert!((figures[name] - expected).abs() < 1e-9, "{name}: {}", figures[name]);
    }

    #[test]
    fn large_payloads_are_sent_less_often_but_never_too_rarely_to_tell() {
        let all = kinds(500, None, true);
        let of = |name: &str| all.iter().find(|kind| kind.name == name).unwrap().requests;
        assert_eq!((of("warm_up"), of("two_clients"), of("keep")), (500, 500, 125));
        assert_eq!([of("size_200"), of("size_131072"), of("size_1048576")], [125, 20, 20]);
        assert_eq!(all.len(), SERIES.len());
        assert_eq!(kinds(500, None, false).len(), SERIES.len() - 1, "no session to resume");
    }

    #[test]
    fn figures_are_those_of_their_series_and_the_registry_has_each() {
        let mut all: Vec<Series> =
            kinds(20, None, true).into_iter().map(|kind| series(kind, |_| 2000)).collect();
        all[..2].iter_mut().for_each(|series| series.settled = Some(5));
        let figures = figures(0.5, &all);
        // 20 requests of 2 ms each, 2 and 4 ms of CPU together.
        for (name, expected) in [
            ("ready_s", 0.5),
            ("first_answer_s", 0.502),
            ("first_request_ms", 2.0),
            ("warm_up_ms", 2.0),
            ("warm_up_server_cpu_us", 100.0),
            ("warm_up_client_cpu_us", 200.0),
            ("two_clients_bytes_out", 300.0),
            ("two_clients_bytes_in", 200.0),
            ("overall_per_s", 1000.0),
        ] {
            close(&figures, name, expected);
        }
        let registered = metrics::messages::all().iter().map(|metric| &*metric.name);
        assert_eq!(
            std::collections::BTreeSet::from_iter(figures.keys().map(String::as_str)),
            registered.collect()
        );
        let courses = courses(&all);
        assert!(metrics::COURSES.iter().all(|course| courses.contains_key(course.name)));
        let rows = all[0].rows("rust-clear", 1);
        assert_eq!(
            (rows.len(), &rows[19]["request"], &rows[0]["round"]),
            (20, &json!(20), &json!(2))
        );
    }

    #[test]
    fn a_series_that_still_gets_faster_in_its_last_quarter_has_not_settled() {
        // 40 requests are a batch: the second is that of 40 to 79.
        let settled = |index: usize| match index {
            0 => 3700,
            1..40 => 900,
            40..80 => 130,
            _ => 100,
        };
        let falling = |index: usize| match index {
            0..80 => 900,
            80..300 => 200,
            _ => 100,
        };
        let of =
            |us: &dyn Fn(usize) -> u64| figures(0.0, &[series(kinds(400, None, false)[0], us)]);
        let figures = of(&settled);
        close(&figures, "first_by_warm", 37.0);
        close(&figures, "first_hundred_by_warm", 9.0);
        close(&figures, "second_hundred_by_warm", 1.3);
        close(&figures, "third_by_last_quarter", 1.0);
        let figures = of(&falling);
        close(&figures, "second_hundred_by_warm", 6.0);
        close(&figures, "third_by_last_quarter", 2.0);
    }

    #[test]
    fn what_the_paper_saw_stands_beside_the_warm_part_of_a_long_series() {
        // 400 requests as in the paper take 900 and then 300 µs, those from 1,000 on 100.
        let kind = kinds(400, Some(2000), false)[0];
        let us = |index: usize| match index {
            0..200 => 900,
            200..1000 => 300,
            _ => 100,
        };
        let short = series(kind, us);
        let samples = (0..1600).map(|index| Sample { us: us(index), out: 1, into: 1 }).collect();
        let long = Series { samples, settled: Some(1200), ..short.clone() };
        let figures = figures(0.0, std::slice::from_ref(&long));
        close(&figures, "early_ms", 0.3);
        close(&figures, "settled_ms", 0.1);
        close(&figures, "warm_up_ms", 0.1);
        close(&figures, "requests_until_warm", 1600.0);
        close(&figures, "first_by_warm", 9.0);
        let courses = courses(&[long]);
        assert_eq!(courses["batches"].last(), Some(&(400.0, 0.3)));
        assert_eq!(courses["until_warm"].last(), Some(&(1600.0, 0.1)));
        // Without a warm part there is no such figure, so that no claim is decided by it; that of a
        // later series is another.
        let keep = Series { kind: kinds(400, None, false)[2], settled: Some(5), ..short.clone() };
        let figures = super::figures(0.0, &[short, keep]);
        assert_eq!(figures.get("settled_ms"), None);
        close(&figures, "early_ms", 0.3);
    }

    #[test]
    fn courses_have_the_first_requests_one_by_one_and_all_of_them_in_batches() {
        let all = [series(kinds(400, None, false)[0], |index| 1000 * (1 + index as u64 / 40))];
        let courses = courses(&all);
        assert_eq!(courses["first_requests"].len(), FIRST);
        assert_eq!(courses["batches"][..2], [(40.0, 1.0), (80.0, 2.0)]);
        assert_eq!(courses["batches"].len(), 10);
    }
}
