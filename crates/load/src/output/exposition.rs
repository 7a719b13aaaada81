//! Figures as Prometheus reads them.
//!
//! Source: Prometheus documentation, "Exposition formats", text format 0.0.4.

use std::fmt::{Arguments, Display, Write};

use super::metrics::{BOUNDS_S, Buckets, Sample, Samples, families};
use crate::result::snapshot::Snapshot;

/// The snapshot as text for a scrape.
pub fn exposition(snapshot: &Snapshot) -> String {
    let mut text = Text(String::new());
    for family in families(snapshot) {
        let name = family.name();
        let kind = match family.samples {
            Samples::Counters(_) => "counter",
            Samples::Gauges(_) => "gauge",
            Samples::Histogram(_) => "histogram",
        };
        text.line(format_args!("# HELP {name} {}", family.help));
        text.line(format_args!("# TYPE {name} {kind}"));
        match family.samples {
            Samples::Counters(samples) => text.samples(&name, &samples),
            Samples::Gauges(samples) => text.samples(&name, &samples),
            Samples::Histogram(buckets) => text.durations(&name, &buckets),
        }
    }
    text.0
}

struct Text(String);

impl Text {
    fn samples<T: Display>(&mut self, name: &str, samples: &[Sample<T>]) {
        for Sample { label, value } in samples {
            match label {
                Some((label, of)) => self.line(format_args!("{name}{{{label}=\"{of}\"}} {value}")),
                None => self.line(format_args!("{name} {value}")),
            }
        }
    }

    fn durations(&mut self, name: &str, buckets: &Buckets) {
        let bounds = BOUNDS_S.iter().map(f64::to_string).chain(["+Inf".to_owned()]);
        let mut below = 0;
        for (bound, count) in bounds.zip(buckets.counts) {
            below += count;
            self.line(format_args!("{name}_bucket{{le=\"{bound}\"}} {below}"));
        }
        self.line(format_args!("{name}_sum {}", buckets.sum.as_secs_f64()));
        self.line(format_args!("{name}_count {below}"));
    }

    fn line(&mut self, text: Arguments<'_>) {
        writeln!(self.0, "{text}").expect("a String takes all");
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::result::series::Point;
    use crate::result::snapshot::RunStage;
    use crate::totals::Totals;
    use tidegate_stats::Percentiles;

    fn snapshot() -> Snapshot {
        let mut buckets = Buckets::default();
        for ms in [1, 2, 3, 300_001] {
            buckets.record(Duration::from_millis(ms));
        }
        let before = Totals { offered: 5, full_ok: 2, ..Totals::default() };
        let refused_by_kind = [("alert".into(), 3)].into();
        Snapshot {
            started_at_unix_ms: 1_700_000_000_000,
            elapsed_s: 12.5,
            planned_s: 40.0,
            stage: RunStage::Measure,
            before,
            totals: Totals { offered: 7, refused: 3, refused_by_kind, ..Totals::default() },
            response: Percentiles::default(),
            buckets,
            in_flight: 4,
            last: Point { driver_cpu_share: 0.25, ..Point::default() },
            second: None,
            drivers: Vec::new(),
            driver_warnings: vec!["busy".to_owned()],
            histograms: None,
        }
    }

    #[test]
    fn counters_go_on_from_the_warm_up_and_buckets_add_up() {
        let text = exposition(&snapshot());
        let value = |series: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
            line.unwrap_or_else(|| panic!("no {series} in\n{text}")).to_owned()
        };
        assert_eq!(value("tidegate_load_sessions_offered_total"), "12");
        assert_eq!(value("tidegate_load_handshakes_total{kind=\"full\"}"), "2");
        assert_eq!(value("tidegate_load_refusals_total{kind=\"alert\"}"), "3");
        assert_eq!(value("tidegate_load_sessions_active"), "4");
        assert_eq!(value("tidegate_load_driver_saturated"), "1");
        assert_eq!(value("tidegate_load_stage{stage=\"measure\"}"), "1");
        assert_eq!(value("tidegate_load_stage{stage=\"warm_up\"}"), "0");
        let bucket =
            |le| value(&format!("tidegate_load_request_duration_seconds_bucket{{le=\"{le}\"}}"));
        assert_eq!(
            ["0.001", "0.0025", "0.005", "300", "+Inf"].map(bucket),
            ["1", "2", "3", "3", "4"]
        );
        assert_eq!(value("tidegate_load_request_duration_seconds_count"), "4");
        assert_eq!(value("tidegate_load_request_duration_seconds_sum"), "300.007");
    }

    #[test]
    fn every_sample_follows_the_help_and_type_of_its_family() {
        let text = exposition(&snapshot());
        let mut family = String::new();
        let mut helped = String::new();
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                helped = rest.split(' ').next().unwrap().to_owned();
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').unwrap();
                assert_eq!(name, helped);
                assert_eq!(name.ends_with("_total"), kind == "counter", "{line}");
                family = name.to_owned();
            } else {
                assert!(line.starts_with(&family), "{line} is not of {family}");
                line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap();
            }
        }
        assert!(text.ends_with('\n'));
    }
}
