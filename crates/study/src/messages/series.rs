//! What is measured: requests one by one, in series of the same kind.

use serde::{Deserialize, Serialize};

use super::configuration::Configuration;
use super::plan::USUAL_PAYLOAD;
use super::record::Record;

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sample {
    /// From before the message is made until its answer was verified, in microseconds.
    pub us: u64,
    /// Bytes sent on the connection, the handshake's included.
    pub out: u64,
    /// Bytes received.
    pub into: u64,
}

/// What requests share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reuse {
    /// One connection.
    Keep,
    /// The session of TLS; each has a connection of its own.
    Resumed,
    /// Nothing.
    New,
}

impl Reuse {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Resumed => "resumed",
            Self::New => "new",
        }
    }
}

/// What a series is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Question {
    /// The first requests after the start, and how they become faster.
    WarmUp,
    /// Two clients at a time.
    TwoClients,
    /// Connections.
    Connections(Reuse),
    /// Payloads of so many bytes.
    Size(usize),
}

impl Question {
    pub(super) fn clients(self) -> usize {
        if self == Self::TwoClients { 2 } else { 1 }
    }

    pub(super) fn reuse(self) -> Reuse {
        match self {
            Self::Connections(reuse) => reuse,
            _ => Reuse::Keep,
        }
    }

    pub(super) fn payload(self) -> usize {
        match self {
            Self::Size(size) => size,
            _ => USUAL_PAYLOAD,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::WarmUp => "warm-up",
            Self::TwoClients => "two-clients",
            Self::Connections(_) => "connections",
            Self::Size(_) => "size",
        }
    }
}

/// A series of requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Series {
    pub configuration: Configuration,
    /// From 0.
    pub round: u32,
    pub question: Question,
    /// In the order of their starts.
    pub samples: Vec<Sample>,
    /// CPU seconds of the server during the series.
    pub server_cpu_s: f64,
    /// CPU seconds of the clients' threads.
    pub client_cpu_s: f64,
}

/// A start of a server.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Start {
    pub configuration: Configuration,
    pub round: u32,
    /// From the start of the process until it is ready.
    pub ready_s: f64,
}

/// Everything that was measured, in any order.
#[derive(Debug, Default)]
pub(super) struct Measured {
    pub starts: Vec<Start>,
    pub series: Vec<Series>,
}

impl Measured {
    /// What these records hold.
    pub(super) fn of_records(records: Vec<Record>) -> Self {
        let starts = records.iter().map(|it| it.start).collect();
        Self { starts, series: records.into_iter().flat_map(|it| it.series).collect() }
    }
}

impl Series {
    /// The requests once warm: the second half.
    pub(super) fn warm(&self) -> &[Sample] {
        &self.samples[self.samples.len() / 2..]
    }
}

/// Mean time, in milliseconds.
pub(super) fn mean_ms(samples: &[Sample]) -> f64 {
    samples.iter().map(|it| it.us as f64).sum::<f64>() / samples.len().max(1) as f64 / 1e3
}
