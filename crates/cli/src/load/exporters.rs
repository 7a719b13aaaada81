//! Exporters of live metrics: Prometheus and OpenTelemetry.

use std::net::SocketAddr;

use tidegate_load::Snapshot;

use super::metrics::Metrics;
use super::otlp::Otlp;
use crate::stdout::print;

/// The exporters that flags enable.
pub struct Exporters {
    metrics: Option<Metrics>,
    otlp: Option<Otlp>,
}

impl Exporters {
    /// Opens them before the run.
    ///
    /// # Errors
    /// An address is invalid, or cannot be listened on.
    pub fn open(metrics: Option<SocketAddr>, otlp: Option<&str>) -> anyhow::Result<Self> {
        let otlp = otlp.map(Otlp::open).transpose()?;
        let metrics = metrics.map(Metrics::serve).transpose()?;
        if let Some(metrics) = &metrics {
            print(format!("metrics: http://{}/metrics\n", metrics.address()))?;
        }
        Ok(Self { metrics, otlp })
    }

    /// Publishes a snapshot without blocking. Returns a new error for the user, if any.
    pub fn show(&mut self, snapshot: &Snapshot) -> Option<String> {
        if let Some(metrics) = &self.metrics {
            metrics.show(snapshot);
        }
        self.otlp.as_mut()?.show(snapshot)
    }

    /// Sends the last figures, within a time limit.
    pub fn finish(self) {
        if let Some(failure) = self.otlp.and_then(Otlp::finish) {
            // A broken pipe does not affect the measurement.
            drop(print(format!("{failure}\n")));
        }
    }
}
