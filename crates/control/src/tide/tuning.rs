//! The constants of [`PolicyKind::Tide`](crate::PolicyKind::Tide), in one place.

/// Constants of `tide`. [`Tuning::default`] is what production uses; other values serve
/// the simulator's ablation. docs/controller.md tells how sensitive results are to each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuning {
    // The plan.
    /// Share of the backlog that is subtracted from the next interval. The rest is
    /// worked off while the backlog limit keeps new sessions waiting.
    pub backlog_share: f64,
    /// Utilization that the trim aims at while new sessions wait, 0 to 1.
    pub target_utilization: f64,
    /// Rise of the trim, per second and unit of missing utilization. Faster than its
    /// fall: the backlog limit corrects a plan that is too large, and nothing else
    /// corrects one that is too small.
    pub trim_rise_per_s: f64,
    /// Fall of the trim, per second and unit of excess utilization.
    pub trim_fall_per_s: f64,
    /// Return of the trim to 1 per second while the resource does not limit admission.
    pub trim_return_per_s: f64,
    /// Least and greatest trim.
    pub trim_range: (f64, f64),
    /// Weight of the last tick in the rate of refusals.
    pub refusals_weight: f64,
    /// Shortest and longest interval that is planned, in seconds.
    pub interval_range_s: (f64, f64),

    // The demand forecast.
    /// How long think times are remembered at most, in seconds: long enough for a few
    /// hundred requests, short enough to follow a change of behaviour.
    pub forecast_memory_s: f64,
    /// Requests per second of thinking before anything was measured: more than people
    /// make, whose think times are seconds.
    pub forecast_prior_per_s: f64,
    /// Evidence that the prior counts as, in seconds of thinking or in responses.
    pub forecast_prior_weight: f64,

    // The backlog limit.
    /// Handshakes beyond one per processor that the limit leaves room for, times the
    /// square root of the processors. With more the queue is longer; with fewer, a
    /// program finds less work at each wake-up, and a request costs more.
    pub reserve_handshakes: f64,
    /// The same in requests, where a handshake costs less than a request or another
    /// resource: with fewer, this one idles while a new session's handshake is under way.
    pub reserve_requests: f64,
    /// The least limit in requests where the limiting resource is out of sight.
    pub unseen_requests: f64,
    /// Utilization below which processors have time to spare, so that part of what is
    /// in flight waits for something else.
    pub spare_utilization: f64,
    /// Utilization from which a new session waits for the limit although processors
    /// have time to spare. Below it, the backlog may never fall below the limit.
    pub waiting_utilization: f64,
    /// Greatest share of the burst that must be left for an admission above the limit.
    pub spare_tokens: f64,
    /// Multiple of the limit above which no new session is admitted, as at the start of
    /// a crowd, when the bucket is full and costs are guesses.
    pub flood: f64,

    // The latency limit.
    /// Capacity at which an upstream out of sight is first tried, requests per second.
    pub first_try_per_s: f64,
    /// Growth of what is tried, per second, while no limit was met: e^7, twofold per
    /// tick of 100 ms.
    pub start_growth_per_s: f64,
    /// Share of the capacity estimate that must be used before more is tried.
    pub used_share: f64,
    /// Growth of the capacity estimate, per second, after a limit was met.
    pub probe_growth_per_s: f64,
    /// Share of the capacity estimate that is planned for.
    pub capacity_share: f64,
    /// Congested: response time above this multiple of the calm one, plus a slack.
    pub slowdown: f64,
    /// The slack where the upstream is out of sight, in seconds.
    pub slack_unseen_s: f64,
    /// The slack where it is in sight and has time to spare: the backlog limit keeps
    /// queues for its processors short, so a longer one is somewhere else.
    pub slack_spare_s: f64,
    /// The slack where processors in sight are busy: short queues are the price of full
    /// utilization, and their CPU time is planned already.
    pub slack_busy_s: f64,
    /// Utilization of any processors in sight from which they count as busy.
    pub busy_utilization: f64,
    /// Memory of response times where responses are many, in seconds.
    pub latency_memory_s: f64,
    /// Memory of response times where responses are few, in seconds.
    pub latency_memory_max_s: f64,
    /// Responses that the memory of response times should hold; a tenth of it must.
    pub latency_responses: f64,
    /// Memory of the calm response time, in halves, seconds.
    pub calm_half_memory_s: f64,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            backlog_share: 0.5,
            target_utilization: 0.99,
            trim_rise_per_s: 0.3,
            trim_fall_per_s: 0.1,
            trim_return_per_s: 0.2,
            trim_range: (0.85, 1.12),
            refusals_weight: 0.3,
            interval_range_s: (0.01, 1.0),

            forecast_memory_s: 20.0,
            forecast_prior_per_s: 1.0,
            forecast_prior_weight: 2.0,

            reserve_handshakes: 0.5,
            reserve_requests: 1.0,
            unseen_requests: 4.0,
            spare_utilization: 0.93,
            waiting_utilization: 0.5,
            spare_tokens: 0.9,
            flood: 10.0,

            first_try_per_s: 100.0,
            start_growth_per_s: 7.0,
            used_share: 0.6,
            probe_growth_per_s: 0.1,
            capacity_share: 0.97,
            slowdown: 3.0,
            slack_unseen_s: 0.002,
            slack_spare_s: 0.006,
            slack_busy_s: 0.025,
            busy_utilization: 0.9,
            latency_memory_s: 0.3,
            latency_memory_max_s: 2.0,
            latency_responses: 100.0,
            calm_half_memory_s: 15.0,
        }
    }
}
