//! Programs beside the user's terminal that are told how a run stands.

use std::net::SocketAddr;

use tidegate_load::Snapshot;

use super::metrics::Metrics;
use super::otlp::Otlp;
use crate::stdout::print;

/// Those that were asked for.
pub struct Exporters {
    metrics: Option<Metrics>,
    otlp: Option<Otlp>,
}

impl Exporters {
    /// Gets them ready, before anything runs.
    ///
    /// # Errors
    /// An address cannot be listened at, or is none.
    pub fn open(metrics: Option<SocketAddr>, otlp: Option<&str>) -> anyhow::Result<Self> {
        let otlp = otlp.map(Otlp::open).transpose()?;
        let metrics = metrics.map(Metrics::serve).transpose()?;
        if let Some(metrics) = &metrics {
            print(format!("metrics: http://{}/metrics\n", metrics.address()))?;
        }
        Ok(Self { metrics, otlp })
    }

    /// Hands on how the run stands, without waiting for anybody. Gives what the user
    /// should know, if there is something new.
    pub fn show(&mut self, snapshot: &Snapshot) -> Option<String> {
        if let Some(metrics) = &self.metrics {
            metrics.show(snapshot);
        }
        self.otlp.as_mut()?.show(snapshot)
    }

    /// Sees that the last figures are told, within bounds.
    pub fn finish(self) {
        if let Some(trouble) = self.otlp.and_then(Otlp::finish) {
            // A broken pipe is not the measurement's concern.
            drop(print(format!("{trouble}\n")));
        }
    }
}
