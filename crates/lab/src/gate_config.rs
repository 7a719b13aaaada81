//! The configuration of a gate in an experiment: its defaults, but for times.

/// The kind of key of the gate's certificate: RSA-2048, still the most common one; its
/// signature is the larger part of a full handshake.
pub const CERTIFICATE: &str = "rsa-2048";

/// Times in a gate that follow the customers' pace, in seconds.
#[derive(Clone, Copy, Debug)]
pub struct GateTimes {
    /// Longest time in the admission queue.
    pub hold_s: f64,
    /// Time after which an idle connection is closed.
    pub keep_alive_s: f64,
    /// Time after its last request for which a session stays admitted.
    pub linger_s: f64,
    /// Interval of the policy `eac`.
    pub interval_s: f64,
}

impl GateTimes {
    /// The gate's defaults, for customers whose times are multiplied by `scale`.
    pub fn scaled(scale: f64) -> Self {
        Self {
            hold_s: 3.0 * scale,
            keep_alive_s: 10.0 * scale,
            linger_s: 60.0 * scale,
            interval_s: 2.0 * scale,
        }
    }
}

/// The configuration file of a gate with a policy before an upstream.
pub fn gate_config(policy: &str, upstream: &str, times: GateTimes) -> String {
    let ms = |seconds: f64| (seconds * 1000.0).round();
    format!(
        "[listen]\naddress = \"127.0.0.1:0\"\n\n[tls]\nself_signed = \"{CERTIFICATE}\"\n\n\
         [upstream]\nurl = \"{upstream}\"\n\n\
         [admission]\npolicy = \"{policy}\"\nhold_time = \"{hold}ms\"\n\
         interval = \"{interval}ms\"\nsession_linger = \"{linger}ms\"\n\n\
         [limits]\nidle_deadline = \"{idle}ms\"\n\n\
         [admin]\naddress = \"127.0.0.1:0\"\n",
        hold = ms(times.hold_s),
        interval = ms(times.interval_s),
        linger = ms(times.linger_s),
        idle = ms(times.keep_alive_s),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_milliseconds_at_the_customers_pace() {
        let text = gate_config("tide", "http://127.0.0.1:1", GateTimes::scaled(0.025));
        for expected in ["hold_time = \"75ms\"", "session_linger = \"1500ms\"", "\"250ms\""] {
            assert!(text.contains(expected), "{expected} is missing in\n{text}");
        }
    }
}
