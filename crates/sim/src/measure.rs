//! The measures of a run.

/// A figure of the runs of one scenario, policy and load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Measure {
    /// Completed sessions, as a share of the best possible: see
    /// [`Outcome::goodput`](crate::Outcome::goodput).
    Goodput,
    /// Median of the response times of customers with an admitted session, in milliseconds.
    P50,
    /// 95th percentile of it.
    P95,
    /// 99th percentile of it.
    P99,
    /// 95th percentile of the time in the admission queue of those admitted, in milliseconds.
    AdmissionWait,
    /// Hung up in the admission queue, of those offered.
    HungUp,
    /// Goodput in the worst ten seconds: answered work, as a share of the best possible.
    LeastGoodput,
    /// 95th percentile, as a multiple of that of the same scenario at a steady load of 0.8.
    P95Ratio,
    /// Queue that stands a second or longer, in milliseconds.
    Standing,
    /// Longest queue, in milliseconds.
    Overshoot,
    /// Refused, of those offered.
    Refused,
    /// Refused although processors and threads were free, of those offered.
    RefusedIdle,
    /// Not completed, of those admitted.
    Lost,
    /// Refused in the middle of their visit, of those admitted.
    CutOff,
    /// CPU time spent in vain, as a share of all CPU time.
    Wasted,
    /// Seconds until settled after the load stepped above the capacity.
    Settle,
    /// Seconds until no session is refused after it stepped below.
    Reopen,
    /// Jain's index between short and long sessions.
    FairLengths,
    /// Jain's index between address prefixes.
    FairPrefixes,
    /// Answered in time, of the requests of customers with a high priority.
    HighAnswered,
    /// Goodput as a share of the best possible without the CPU time of the waiting room.
    GoodputNet,
    /// CPU time of the waiting room, as a share of the gate's cores.
    RoomCpu,
    /// Pairs admitted from the room out of order, of all: see
    /// [`RoomOutcome::disorder`](crate::RoomOutcome::disorder).
    RoomDisorder,
    /// Estimates of the room that were kept: see
    /// [`RoomOutcome::estimates_kept`](crate::RoomOutcome::estimates_kept).
    EstimatesKept,
}

impl Measure {
    /// All of them, in the order of a table.
    pub const ALL: [Self; 24] = [
        Self::Goodput,
        Self::P50,
        Self::P95,
        Self::P99,
        Self::AdmissionWait,
        Self::HungUp,
        Self::LeastGoodput,
        Self::P95Ratio,
        Self::Standing,
        Self::Overshoot,
        Self::Refused,
        Self::RefusedIdle,
        Self::Lost,
        Self::CutOff,
        Self::Wasted,
        Self::Settle,
        Self::Reopen,
        Self::FairLengths,
        Self::FairPrefixes,
        Self::HighAnswered,
        Self::GoodputNet,
        Self::RoomCpu,
        Self::RoomDisorder,
        Self::EstimatesKept,
    ];

    /// Its name in files and results, with its unit at the end.
    pub fn name(self) -> &'static str {
        match self {
            Self::Goodput => "goodput",
            Self::P50 => "p50_ms",
            Self::P95 => "p95_ms",
            Self::P99 => "p99_ms",
            Self::AdmissionWait => "admission_wait_p95_ms",
            Self::HungUp => "hung_up",
            Self::LeastGoodput => "least_goodput",
            Self::P95Ratio => "p95_ratio",
            Self::Standing => "standing_ms",
            Self::Overshoot => "overshoot_ms",
            Self::Refused => "refused",
            Self::RefusedIdle => "refused_idle",
            Self::Lost => "lost",
            Self::CutOff => "cut_off",
            Self::Wasted => "wasted",
            Self::Settle => "settle_s",
            Self::Reopen => "reopen_s",
            Self::FairLengths => "fair_lengths",
            Self::FairPrefixes => "fair_prefixes",
            Self::HighAnswered => "high_answered",
            Self::GoodputNet => "goodput_net",
            Self::RoomCpu => "room_cpu",
            Self::RoomDisorder => "room_disorder",
            Self::EstimatesKept => "estimates_kept",
        }
    }
}
