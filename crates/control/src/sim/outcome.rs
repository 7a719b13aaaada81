//! What came of a simulated run.

/// What happened from one moment of a run on, by default from its start.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// How long it was watched.
    pub seconds: f64,
    /// New sessions that arrived.
    pub offered: u64,
    /// New sessions let in.
    pub admitted: u64,
    /// New sessions refused, at once or after having been held.
    pub refused: u64,
    /// Sessions that got all that they came for.
    pub completed: u64,
    /// Admitted sessions that left for want of an answer.
    pub abandoned: u64,
    /// Full handshakes begun.
    pub full_handshakes: u64,
    /// Resumed handshakes begun.
    pub resumed_handshakes: u64,
    /// Response times, from the customer's wish to the whole response, in
    /// seconds, in ascending order.
    pub responses_s: Vec<f64>,
    /// The course, in tenths of a second, whole run.
    pub course: Vec<Second>,
    /// The controller's last word.
    pub why: String,
}

/// A tenth of a second of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Second {
    /// When it ended.
    pub at_s: f64,
    /// Sessions let in.
    pub admitted: u64,
    /// Sessions refused.
    pub refused: u64,
    /// Sessions completed.
    pub completed: u64,
    /// Sessions abandoned.
    pub abandoned: u64,
    /// Responses.
    pub responses: u64,
    /// Sum of their times, in seconds.
    pub response_time_s: f64,
    /// Sessions inside at its end.
    pub inside: u32,
}

impl Outcome {
    /// Completed sessions per second.
    pub fn goodput(&self) -> f64 {
        self.completed as f64 / self.seconds
    }

    /// Of the admitted sessions that ended, the share that completed; 1 where
    /// none ended.
    pub fn completed_ratio(&self) -> f64 {
        match self.completed + self.abandoned {
            0 => 1.0,
            ended => self.completed as f64 / ended as f64,
        }
    }

    /// Share of those offered that were refused.
    pub fn refused_ratio(&self) -> f64 {
        if self.offered == 0 { 0.0 } else { self.refused as f64 / self.offered as f64 }
    }

    /// The response time that a share `q` of all responses did not exceed, in
    /// milliseconds; 0 where there was none.
    pub fn response_ms(&self, q: f64) -> f64 {
        let last = self.responses_s.len().saturating_sub(1) as f64;
        let rank = (q.clamp(0.0, 1.0) * last).round() as usize;
        self.responses_s.get(rank).map_or(0.0, |seconds| seconds * 1e3)
    }
}
