//! ORCA: what an upstream says of its load in the head of a response.
//!
//! Source: Envoy's `orca_parser`: `endpoint-load-metrics` with `TEXT name=value,…`, `JSON {…}` or
//! `BIN` and Base64, and `endpoint-load-metrics-bin` with Base64 alone; the message
//! `xds.data.orca.v3.OrcaLoadReport`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use http::{HeaderMap, HeaderName, HeaderValue};
use prost::Message as _;
use serde::Deserialize;

const FIELD: HeaderName = HeaderName::from_static("endpoint-load-metrics");
const BINARY: HeaderName = HeaderName::from_static("endpoint-load-metrics-bin");

/// The longest value that is read, in bytes.
const LONGEST: usize = 4096;
/// The greatest utilization that is believed: more than 1 is beyond a soft limit.
const MOST: f64 = 100.0;

/// Removes the reports from the head of a response.
///
/// Returns the utilization of the processors, as a share of those that the upstream has; `None`
/// if it has no report, or none that can be read.
pub fn take(headers: &mut HeaderMap) -> Option<f64> {
    // Both are removed.
    let text = headers.remove(&FIELD);
    let binary = headers.remove(&BINARY);
    text.as_ref().and_then(read).or_else(|| base64(binary.as_ref()?.to_str().ok()?))
}

/// Reads `endpoint-load-metrics`.
pub fn read(value: &HeaderValue) -> Option<f64> {
    let text = value.to_str().ok().filter(|text| text.len() <= LONGEST)?;
    let (format, report) = text.trim().split_once(' ')?;
    match format {
        "TEXT" => by_name(report),
        "JSON" => serde_json::from_str::<Json>(report).ok().and_then(|report| {
            sound(report.cpu_utilization).or_else(|| sound(report.application_utilization))
        }),
        "BIN" => base64(report),
        _ => None,
    }
}

fn by_name(report: &str) -> Option<f64> {
    let of = |wanted: &str| {
        let mut metrics = report.split(',').filter_map(|metric| metric.split_once(['=', ':']));
        let (_, value) = metrics.find(|(name, _)| name.trim() == wanted)?;
        sound(value.trim().parse().ok()?)
    };
    of("cpu_utilization").or_else(|| of("application_utilization"))
}

fn base64(text: &str) -> Option<f64> {
    let text = text.trim().trim_end_matches('=');
    let short = (text.len() <= LONGEST).then_some(text)?;
    let bytes = STANDARD_NO_PAD.decode(short).ok()?;
    let report = Report::decode(&*bytes).ok()?;
    sound(report.cpu_utilization).or_else(|| sound(report.application_utilization))
}

/// A utilization that was set: 0 is a field that is not there.
fn sound(utilization: f64) -> Option<f64> {
    (utilization > 0.0 && utilization <= MOST).then_some(utilization)
}

/// The fields of `OrcaLoadReport` that count.
#[derive(Clone, PartialEq, prost::Message)]
struct Report {
    #[prost(double, tag = "1")]
    cpu_utilization: f64,
    #[prost(double, tag = "9")]
    application_utilization: f64,
}

/// The same in JSON.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Json {
    #[serde(alias = "cpuUtilization")]
    cpu_utilization: f64,
    #[serde(alias = "applicationUtilization")]
    application_utilization: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(text: &str) -> Option<f64> {
        read(&HeaderValue::from_str(text).unwrap())
    }

    #[test]
    fn every_format_is_read_and_cpu_goes_before_the_applications_own_measure() {
        assert_eq!(of("TEXT cpu_utilization=0.3,mem_utilization=0.8,rps_fractional=10"), Some(0.3));
        assert_eq!(of("TEXT application_utilization=0.9, cpu_utilization=1.2"), Some(1.2));
        assert_eq!(of("TEXT named_metrics.kv=0.4,application_utilization=0.5"), Some(0.5));
        assert_eq!(of(r#"JSON {"cpu_utilization": 0.25, "named_metrics": {"x": 1}}"#), Some(0.25));
        assert_eq!(of(r#"JSON {"cpuUtilization": 0.5, "eps": 1}"#), Some(0.5));
        // Tag 1, a double: 09, then 0.75 in eight bytes, the least significant first.
        let bytes = [9, 0, 0, 0, 0, 0, 0, 0xe8, 0x3f];
        let binary = STANDARD_NO_PAD.encode(bytes);
        assert_eq!(of(&format!("BIN {binary}")), Some(0.75));
        let mut head = HeaderMap::new();
        head.insert(BINARY, binary.parse().unwrap());
        assert_eq!(take(&mut head), Some(0.75));
    }

    #[test]
    fn reports_are_removed_also_if_they_cannot_be_read() {
        let mut head = HeaderMap::new();
        for (name, value) in [(FIELD, "TEXT x"), (FIELD, "TEXT cpu_utilization=9"), (BINARY, "?")] {
            head.append(name, value.parse().unwrap());
        }
        head.insert("content-type", "text/html".parse().unwrap());
        assert_eq!(take(&mut head), None);
        assert_eq!(head.len(), 1);
    }

    #[test]
    fn what_is_no_report_is_none() {
        for junk in [
            "",
            "TEXT",
            "TEXT cpu_utilization",
            "TEXT cpu_utilization=NaN",
            "TEXT cpu_utilization=-1",
            "TEXT cpu_utilization=inf",
            "TEXT cpu_utilization=1e9",
            "JSON []",
            "JSON {\"cpu_utilization\": \"x\"}",
            "BIN !!",
            "XML <a/>",
            "cpu_utilization=0.3",
        ] {
            assert_eq!(of(junk), None, "{junk:?}");
        }
        assert_eq!(of(&format!("TEXT cpu_utilization=0.3,{}", "x".repeat(LONGEST))), None);
    }

    proptest! {
        #[test]
        fn no_value_panics(bytes in proptest::collection::vec(32_u8..127, 0..60), format in 0..3_usize) {
            let text = String::from_utf8(bytes).unwrap();
            of(&format!("{} {text}", ["TEXT", "JSON", "BIN"][format]));
        }
    }
}
