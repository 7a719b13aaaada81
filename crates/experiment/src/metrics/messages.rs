//! The figures of a message service: those of its start, and of each of several series of
//! requests.

use std::sync::LazyLock;

use super::{Course, Metric, metric};

/// The name of the site.
pub const SITE: &str = "messages";

/// The series, in the order of measurement, and what their requests have in common.
pub const SERIES: [(&str, &str); 10] = [
    ("warm_up", "one client, from the start of the service on"),
    ("two_clients", "two clients at a time"),
    ("keep", "one connection"),
    ("resumed", "a connection for each request, with a resumed TLS session"),
    ("new", "a connection for each request"),
    ("size_200", "payloads of 200 bytes"),
    ("size_1024", "payloads of 1 KiB"),
    ("size_16384", "payloads of 16 KiB"),
    ("size_131072", "payloads of 128 KiB"),
    ("size_1048576", "payloads of 1 MiB"),
];

/// What is measured of each series: the end of the metric's name, its unit, and its meaning.
pub const QUANTITIES: [(&str, &str, &str); 5] = [
    ("ms", "ms", "mean time of a request once warm, until its answer was verified"),
    ("server_cpu_us", "µs", "CPU time of the service for each request"),
    ("client_cpu_us", "µs", "CPU time of the client for each request"),
    ("bytes_out", "bytes", "bytes sent for a request once warm, below TLS"),
    ("bytes_in", "bytes", "bytes received for a request once warm"),
];

/// The figures of a run as a whole.
const KEY: [Metric; 12] = [
    metric("ready_s", "s", "time from the start of the service's process until it is ready"),
    metric("first_answer_s", "s", "the same until the first request was answered"),
    metric("first_request_ms", "ms", "time of the first request after the start"),
    metric(
        "early_ms",
        "ms",
        "mean time of a request in the second half of the first `requests`, 3,900 in the study: as many as paper 002 lists",
    ),
    metric(
        "settled_ms",
        "ms",
        "mean time of a request of one client in the last three stretches of 5 s, which agree within 5 %, or else in the second half of 100,000 requests; a run that ends before has none",
    ),
    metric("settled_two_clients_ms", "ms", "the same of two clients at a time"),
    metric(
        "requests_until_warm",
        "requests",
        "requests of one client until the service and its client were warm, or most of them",
    ),
    metric("overall_per_s", "requests/s", "requests of two clients: 2 / mean time of a request"),
    metric("first_by_warm", "", "first request, divided by the mean once warm"),
    metric(
        "first_hundred_by_warm",
        "",
        "mean of the first batch without its first request, divided by that once warm",
    ),
    metric("second_hundred_by_warm", "", "mean of the second batch, divided by that once warm"),
    metric(
        "third_by_last_quarter",
        "",
        "mean of the third quarter of the first `requests`, divided by that of their last quarter",
    ),
];

/// The figures of the table `points`.
pub const OF_POINTS: [&str; 8] = [
    "ready_s",
    "first_answer_s",
    "first_request_ms",
    "early_ms",
    "warm_up_ms",
    "two_clients_ms",
    "requests_until_warm",
    "overall_per_s",
];

static ALL: LazyLock<Vec<Metric>> = LazyLock::new(|| {
    let of = |(series, about): (&str, &str)| {
        QUANTITIES.map(|(quantity, unit, meaning)| Metric {
            name: format!("{series}_{quantity}").into(),
            unit,
            meaning: format!("{meaning}: {about}").into(),
        })
    };
    KEY.into_iter().chain(SERIES.into_iter().flat_map(of)).collect()
});

/// Every figure.
pub fn all() -> &'static [Metric] {
    &ALL
}

/// Times and rates: what two studies are compared by.
pub fn compared() -> impl Iterator<Item = &'static str> {
    let is_compared = |metric: &&Metric| ["ms", "s", "requests/s"].contains(&metric.unit);
    ALL.iter().filter(is_compared).map(|metric| &*metric.name)
}

/// The courses of a run.
pub const COURSES: [Course; 6] = [
    Course {
        name: "batches",
        x: "requests since the start",
        unit: "ms",
        by_bytes: false,
        meaning: "mean time of each batch of the first `requests` of the long series, by its last request",
    },
    Course {
        name: "until_warm",
        x: "requests since the start",
        unit: "ms",
        by_bytes: false,
        meaning: "mean time of each thousand requests of the whole long series, by its last request",
    },
    Course {
        name: "first_requests",
        x: "request",
        unit: "ms",
        by_bytes: false,
        meaning: "time of each of the first 17 requests after the start",
    },
    Course {
        name: "server_cpu",
        x: "payload",
        unit: "µs",
        by_bytes: true,
        meaning: "CPU time of the service for a request, by payload",
    },
    Course {
        name: "client_cpu",
        x: "payload",
        unit: "µs",
        by_bytes: true,
        meaning: "CPU time of the client for a request, by payload",
    },
    Course {
        name: "bytes_beside",
        x: "payload",
        unit: "bytes",
        by_bytes: true,
        meaning: "bytes sent for a request beside its payload, by payload",
    },
];
