//! The constants of [`PolicyKind::Tide`](crate::PolicyKind::Tide), in one place.

/// Defines the constants with their production values, and their setter by name.
macro_rules! tuning {
    ($($(#[$doc:meta])* $name:ident = $value:literal;)+) => {
        /// Constants of `tide`. [`Tuning::default`] is what production uses; other values
        /// serve the simulator's ablation. docs/controller.md tells how sensitive results
        /// are to each.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct Tuning {
            $($(#[$doc])* pub $name: f64,)+
        }

        impl Default for Tuning {
            fn default() -> Self {
                Self { $($name: $value,)+ }
            }
        }

        impl Tuning {
            /// The names of the constants.
            pub const NAMES: &[&str] = &[$(stringify!($name)),+];

            /// The constant of a name, to be changed; `None`: no such name.
            pub fn get_mut(&mut self, name: &str) -> Option<&mut f64> {
                match name {
                    $(stringify!($name) => Some(&mut self.$name),)+
                    _ => None,
                }
            }
        }
    };
}

impl Tuning {
    /// Greater than any rate, limit or multiple.
    pub const NONE: f64 = 1e12;

    /// Without plan, trim and latency limit: a limit of the work in flight alone.
    pub fn backlog_only() -> Self {
        Self {
            trim_min: Self::NONE,
            trim_max: Self::NONE,
            first_try_per_s: Self::NONE,
            slowdown: Self::NONE,
            spare_utilization: 0.0,
            ..Self::default()
        }
    }
}

tuning! {
    // The plan.
    /// Share of the backlog that is subtracted from the next interval. The rest is
    /// worked off while the backlog limit keeps new sessions waiting.
    backlog_share = 0.5;
    /// Utilization that the trim aims at while new sessions wait, 0 to 1.
    target_utilization = 0.99;
    /// Rise of the trim, per second and unit of missing utilization. Faster than its
    /// fall: the backlog limit corrects a plan that is too large, and nothing else
    /// corrects one that is too small.
    trim_rise_per_s = 0.3;
    /// Fall of the trim, per second and unit of excess utilization.
    trim_fall_per_s = 0.1;
    /// Return of the trim to 1 per second while the resource does not limit admission.
    trim_return_per_s = 0.2;
    /// Least trim, as a share of the resource.
    trim_min = 0.85;
    /// Greatest trim, as a share of the resource.
    trim_max = 1.2;
    /// A resource of which so much more is left for new sessions than of the tightest one, as shares
    /// of each, limits admission as well.
    limits_within = 0.1;
    /// Weight of the last tick in the rate of refusals.
    refusals_weight = 0.3;
    /// Shortest interval that is planned, in seconds.
    interval_min_s = 0.01;
    /// Longest interval that is planned, in seconds.
    interval_max_s = 1.0;

    // The demand forecast.
    /// How long think times are remembered at most, in seconds: long enough for a few
    /// hundred requests, short enough to follow a change of behaviour.
    forecast_memory_s = 20.0;
    /// Requests per second of thinking before anything was measured: more than people
    /// make, whose think times are seconds.
    forecast_prior_per_s = 1.0;
    /// Evidence that the prior counts as, in seconds of thinking or in responses.
    forecast_prior_weight = 2.0;

    // The backlog limit.
    /// Handshakes beyond one per processor that the limit leaves room for, times the
    /// square root of the processors. With more the queue is longer; with fewer, a
    /// program finds less work at each wake-up, and a request costs more.
    reserve_handshakes = 0.5;
    /// The same in requests, where a handshake costs less than a request or another
    /// resource: with fewer, this one idles while a new session's handshake is under way.
    reserve_requests = 1.0;
    /// Least backlog limit, as the time that processors need for it, in seconds: a queued
    /// session may be decided on again after a millisecond only, and processors need work
    /// until then. It matters where a handshake costs less.
    least_limit_s = 0.0005;
    /// The least limit in requests where the limiting resource is out of sight.
    unseen_requests = 4.0;
    /// Utilization below which processors have time to spare, so that part of what is
    /// in flight waits for something else.
    spare_utilization = 0.93;
    /// Utilization from which a new session waits for the limit although processors
    /// have time to spare. Below it, the backlog may never fall below the limit.
    waiting_utilization = 0.5;
    /// Greatest share of the burst that must be left for an admission above the limit.
    spare_tokens = 0.9;

    // The latency limit.
    /// Capacity at which an upstream out of sight is first tried, requests per second.
    first_try_per_s = 100.0;
    /// Growth of what is tried, per second, while no limit was met: e^7, twofold per
    /// tick of 100 ms.
    start_growth_per_s = 7.0;
    /// Share of the capacity estimate that must be used before more is tried.
    used_share = 0.6;
    /// How long a congestion must last before a capacity that was met is taken to be less, as a
    /// share of the memory of response times. The rate of responses is the capacity only if the
    /// queue stood all the while: before, it has a part of a time without, or of a pause. The
    /// backlog limit keeps new sessions out meanwhile.
    congestion_span = 1.0;
    /// Growth of the capacity estimate, per second, after a limit was met.
    probe_growth_per_s = 0.1;
    /// Share of the capacity estimate that is planned for.
    capacity_share = 0.97;
    /// Congested: response time above this multiple of the calm one, plus a slack.
    slowdown = 3.0;
    /// The slack where the upstream is out of sight, in seconds.
    slack_unseen_s = 0.002;
    /// The slack where it is in sight and has time to spare: the backlog limit keeps
    /// queues for its processors short, so a longer one is somewhere else.
    slack_spare_s = 0.006;
    /// The slack where processors in sight are busy: short queues are the price of full
    /// utilization, and their CPU time is planned already.
    slack_busy_s = 0.025;
    /// Utilization of any processors in sight from which they count as busy.
    busy_utilization = 0.9;
    /// Memory of response times where responses are many, in seconds.
    latency_memory_s = 0.3;
    /// Memory of response times where responses are few, in seconds.
    latency_memory_max_s = 2.0;
    /// Responses that the memory of response times should hold; a tenth of it must.
    latency_responses = 100.0;
    /// Share of the memory of response times that must have passed before they may be the
    /// calm ones: of requests begun together, the first responses are the shortest.
    calm_span = 0.5;
    /// Memory of the calm response time, in halves, seconds.
    calm_half_memory_s = 15.0;
}
