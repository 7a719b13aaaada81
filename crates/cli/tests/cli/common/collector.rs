//! A collector of OpenTelemetry that keeps what it is sent.

use std::io::{BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex};

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use opentelemetry_proto::tonic::metrics::v1::{AggregationTemporality, HistogramDataPoint};
use prost::Message;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::upstream::read_request;

/// What it answers.
#[derive(Clone, Copy)]
pub enum Answers {
    /// With this status.
    With(u16),
    Never,
}

pub struct Collector {
    pub url: String,
    exports: Arc<Mutex<Vec<Export>>>,
}

/// One that came.
#[derive(Clone, Debug)]
pub struct Export {
    pub head: String,
    pub message: ExportMetricsServiceRequest,
}

impl Collector {
    /// On a free port; ends with the process.
    pub fn start(answers: Answers) -> Self {
        Self::serve("http", answers, |stream| stream)
    }

    /// Over TLS, with a certificate that is written here.
    pub fn over_tls(certificate: &Path) -> Self {
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        std::fs::write(certificate, made.cert.pem()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![CertificateDer::from(made.cert)], key)
            .unwrap();
        let config = Arc::new(config);
        Self::serve("https", Answers::With(200), move |stream| {
            let connection = rustls::ServerConnection::new(config.clone()).unwrap();
            rustls::StreamOwned::new(connection, stream)
        })
    }

    fn serve<S: Read + Write + 'static>(
        scheme: &str,
        answers: Answers,
        wrap: impl Fn(std::net::TcpStream) -> S + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("{scheme}://{}", listener.local_addr().unwrap());
        let exports = Arc::<Mutex<Vec<Export>>>::default();
        let kept = exports.clone();
        std::thread::spawn(move || {
            let mut silent = Vec::new();
            for stream in listener.incoming().map_while(Result::ok) {
                let mut reader = BufReader::new(wrap(stream));
                let (head, body) = read_request(&mut reader);
                if head.is_empty() {
                    continue;
                }
                let message = ExportMetricsServiceRequest::decode(&*body).expect("it is OTLP");
                kept.lock().unwrap().push(Export { head, message });
                match answers {
                    Answers::With(status) => {
                        let answer = format!(
                            "HTTP/1.1 {status} Said\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                        );
                        let _ = reader.get_mut().write_all(answer.as_bytes());
                        let _ = reader.get_mut().flush();
                    }
                    Answers::Never => silent.push(reader),
                }
            }
        });
        Self { url, exports }
    }

    pub fn exports(&self) -> Vec<Export> {
        self.exports.lock().unwrap().clone()
    }

    pub fn last(&self) -> Export {
        self.exports().pop().expect("something was exported")
    }
}

impl Export {
    fn data(&self, name: &str) -> Option<&Data> {
        let metrics = &self.message.resource_metrics[0].scope_metrics[0].metrics;
        metrics.iter().find(|metric| metric.name == name)?.data.as_ref()
    }

    /// A counter or gauge, by its name and its label if it has one; 0 if it is not there.
    pub fn value(&self, name: &str, label: Option<(&str, &str)>) -> f64 {
        let points = match self.data(name) {
            Some(Data::Sum(sum)) => {
                assert!(sum.is_monotonic, "{name}");
                assert_eq!(sum.aggregation_temporality(), AggregationTemporality::Cumulative);
                &sum.data_points
            }
            Some(Data::Gauge(gauge)) => &gauge.data_points,
            _ => return 0.0,
        };
        let label: Vec<_> = label.into_iter().collect();
        let point = points.iter().find(|point| texts(&point.attributes) == label);
        match point.and_then(|point| point.value) {
            Some(Number::AsInt(count)) => count as f64,
            Some(Number::AsDouble(value)) => value,
            None => 0.0,
        }
    }

    pub fn histogram(&self, name: &str) -> &HistogramDataPoint {
        match self.data(name) {
            Some(Data::Histogram(histogram)) => {
                assert_eq!(histogram.aggregation_temporality(), AggregationTemporality::Cumulative);
                &histogram.data_points[0]
            }
            other => panic!("{name} is {other:?}"),
        }
    }

    /// What the resource says of itself by this key.
    pub fn attribute(&self, key: &str) -> &str {
        let resource = self.message.resource_metrics[0].resource.as_ref().unwrap();
        let of_key = texts(&resource.attributes).into_iter().find(|(named, _)| *named == key);
        of_key.unwrap_or_else(|| panic!("no {key}")).1
    }
}

fn texts(attributes: &[KeyValue]) -> Vec<(&str, &str)> {
    attributes
        .iter()
        .map(|attribute| match &attribute.value {
            Some(AnyValue { value: Some(Value::StringValue(text)) }) => {
                (attribute.key.as_str(), text.as_str())
            }
            other => panic!("no text: {other:?}"),
        })
        .collect()
}
