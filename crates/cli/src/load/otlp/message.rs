//! The figures as an OTLP message: the same families and names as for Prometheus,
//! cumulative since the start of the run.
//!
//! Source: OpenTelemetry Protocol 1.10, opentelemetry/proto/metrics/v1/metrics.proto.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint,
    ResourceMetrics, ScopeMetrics, Sum, number_data_point,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use tidegate_load::Snapshot;
use tidegate_load::metrics::{BOUNDS_S, Buckets, Family, Sample, Samples, families};

const CUMULATIVE: i32 = AggregationTemporality::Cumulative as i32;

/// The resource that the metrics describe.
pub fn resource(attributes: BTreeMap<String, String>) -> Resource {
    let attributes = attributes.into_iter().map(|(key, value)| attribute(&key, value)).collect();
    Resource { attributes, ..Resource::default() }
}

/// The state of a run at a time.
pub fn request(
    snapshot: &Snapshot,
    resource: &Resource,
    at: SystemTime,
) -> ExportMetricsServiceRequest {
    let start = UNIX_EPOCH + Duration::from_millis(snapshot.started_at_unix_ms);
    // After the clock was set back the end must not lie before the start.
    let times = Times { start: nanos(start), at: nanos(at.max(start)) };
    let scope = InstrumentationScope {
        name: "tidegate_load".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..InstrumentationScope::default()
    };
    let metrics = families(snapshot).into_iter().filter_map(|family| times.metric(family));
    let scope_metrics = vec![ScopeMetrics {
        scope: Some(scope),
        metrics: metrics.collect(),
        ..ScopeMetrics::default()
    }];
    let resource = Some(resource.clone());
    let of_this = ResourceMetrics { resource, scope_metrics, ..ResourceMetrics::default() };
    ExportMetricsServiceRequest { resource_metrics: vec![of_this] }
}

/// Start and time of the data points of an export, in nanoseconds since 1970.
#[derive(Clone, Copy)]
struct Times {
    start: u64,
    at: u64,
}

impl Times {
    /// `None` if there is no data point yet.
    fn metric(self, family: Family) -> Option<Metric> {
        let (name, unit) = (family.name(), family.unit().to_owned());
        let data = match family.samples {
            Samples::Counters(samples) if samples.is_empty() => return None,
            Samples::Gauges(samples) if samples.is_empty() => return None,
            Samples::Counters(samples) => Data::Sum(Sum {
                data_points: self.points(samples, |count| {
                    number_data_point::Value::AsInt(count.try_into().unwrap_or(i64::MAX))
                }),
                aggregation_temporality: CUMULATIVE,
                is_monotonic: true,
            }),
            Samples::Gauges(samples) => Data::Gauge(Gauge {
                data_points: self.points(samples, number_data_point::Value::AsDouble),
            }),
            Samples::Histogram(buckets) => Data::Histogram(Histogram {
                data_points: vec![self.histogram(&buckets)],
                aggregation_temporality: CUMULATIVE,
            }),
        };
        let description = family.help.to_owned();
        Some(Metric { name, description, unit, data: Some(data), ..Metric::default() })
    }

    fn points<T>(
        self,
        samples: Vec<Sample<T>>,
        value: impl Fn(T) -> number_data_point::Value,
    ) -> Vec<NumberDataPoint> {
        let point = |sample: Sample<T>| NumberDataPoint {
            attributes: sample.label.map(|(name, of)| attribute(name, of)).into_iter().collect(),
            start_time_unix_nano: self.start,
            time_unix_nano: self.at,
            value: Some(value(sample.value)),
            ..NumberDataPoint::default()
        };
        samples.into_iter().map(point).collect()
    }

    fn histogram(self, buckets: &Buckets) -> HistogramDataPoint {
        HistogramDataPoint {
            start_time_unix_nano: self.start,
            time_unix_nano: self.at,
            count: buckets.counts.iter().sum(),
            sum: Some(buckets.sum.as_secs_f64()),
            // Bounds are inclusive upper bounds, as in Prometheus.
            bucket_counts: buckets.counts.to_vec(),
            explicit_bounds: BOUNDS_S.to_vec(),
            ..HistogramDataPoint::default()
        }
    }
}

fn attribute(key: &str, value: impl Into<String>) -> KeyValue {
    let value = AnyValue { value: Some(Value::StringValue(value.into())) };
    KeyValue { key: key.to_owned(), value: Some(value), ..KeyValue::default() }
}

fn nanos(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_nanos().try_into().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use tidegate_load::{Point, RunStage, Totals};

    use super::*;

    fn snapshot() -> Snapshot {
        let totals = Totals {
            offered: 7,
            refused: 3,
            refused_by_kind: [("alert".into(), 3)].into(),
            received_bytes: 12,
            ..Totals::default()
        };
        let mut buckets = Buckets { sum: Duration::from_millis(2500), ..Buckets::default() };
        (buckets.counts[9], buckets.counts[16]) = (2, 1);
        Snapshot {
            started_at_unix_ms: 1000,
            elapsed_s: 12.5,
            planned_s: 40.0,
            stage: RunStage::Measure,
            before: Totals { offered: 5, ..Totals::default() },
            totals,
            response: Default::default(),
            buckets,
            in_flight: 4,
            last: Point::default(),
            second: None,
            drivers: Vec::new(),
            driver_warnings: Vec::new(),
            histograms: None,
        }
    }

    fn metrics(at: SystemTime) -> Vec<Metric> {
        let mut request = request(&snapshot(), &resource(BTreeMap::new()), at);
        request.resource_metrics.remove(0).scope_metrics.remove(0).metrics
    }

    fn metric(name: &str) -> Metric {
        let mut metrics = metrics(UNIX_EPOCH + Duration::from_secs(13)).into_iter();
        metrics.find(|metric| metric.name == format!("tidegate_load_{name}")).expect(name)
    }

    #[test]
    fn counters_are_cumulative_since_the_start_of_the_run_warm_up_included() {
        let Some(Data::Sum(sum)) = metric("sessions_offered_total").data else { panic!() };
        assert!(sum.is_monotonic);
        assert_eq!(sum.aggregation_temporality(), AggregationTemporality::Cumulative);
        let point = &sum.data_points[0];
        assert_eq!(point.value, Some(number_data_point::Value::AsInt(12)));
        assert_eq!(
            (point.start_time_unix_nano, point.time_unix_nano),
            (1_000_000_000, 13_000_000_000)
        );
        let Some(Data::Sum(sum)) = metric("refusals_total").data else { panic!() };
        assert_eq!(sum.data_points[0].attributes, [attribute("kind", "alert")]);
    }

    #[test]
    fn buckets_have_the_bounds_of_prometheus_and_are_not_cumulative() {
        let metric = metric("request_duration_seconds");
        assert_eq!(
            (metric.unit.as_str(), self::metric("received_bytes_total").unit),
            ("s", "By".into())
        );
        let Some(Data::Histogram(histogram)) = metric.data else { panic!() };
        let point = &histogram.data_points[0];
        assert_eq!((point.count, point.sum), (3, Some(2.5)));
        assert_eq!(point.explicit_bounds[9], 1.0);
        assert_eq!((point.bucket_counts[9], point.bucket_counts[16]), (2, 1));
        assert_eq!(point.bucket_counts.len(), 1 + point.explicit_bounds.len());
    }

    #[test]
    fn empty_families_are_left_out_and_no_time_is_before_the_start() {
        let metrics = metrics(UNIX_EPOCH);
        assert!(metrics.iter().all(|metric| metric.name != "tidegate_load_failures_total"));
        let Some(Data::Sum(sum)) = &metrics[0].data else { panic!() };
        assert_eq!(sum.data_points[0].time_unix_nano, 1_000_000_000);
    }
}
