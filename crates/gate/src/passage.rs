//! What passes of requests by their priorities: the control loop decides it at each tick, and the
//! cores read it for each request, without a lock.

use crate::admission::tickets::SessionId;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tidegate_control::{Pass, Passage, Priority};

/// The passage in force. The values of a tick may be seen apart for a moment: each holds by itself.
#[derive(Debug, Default)]
pub struct SharedPassage {
    low: SharedPass,
    normal: SharedPass,
}

/// The bits of the numbers.
#[derive(Debug)]
struct SharedPass {
    share: AtomicU64,
    in_flight_max: AtomicU64,
}

impl Default for SharedPass {
    fn default() -> Self {
        let Pass { share, in_flight_max } = Pass::ALL;
        let bits = |value: f64| AtomicU64::new(value.to_bits());
        Self { share: bits(share), in_flight_max: bits(in_flight_max) }
    }
}

impl SharedPassage {
    /// Puts a passage in force.
    pub fn set(&self, passage: Passage) {
        for (shared, pass) in [(&self.low, passage.low), (&self.normal, passage.normal)] {
            shared.share.store(pass.share.to_bits(), Relaxed);
            shared.in_flight_max.store(pass.in_flight_max.to_bits(), Relaxed);
        }
    }

    /// Whether a request of this priority passes whose session has this number, beside a number
    /// of others at the service.
    pub fn admits(
        &self,
        priority: Priority,
        session: f64,
        in_flight: impl FnOnce() -> u32,
    ) -> bool {
        let shared = match priority {
            Priority::High => return true,
            Priority::Normal => &self.normal,
            Priority::Low => &self.low,
        };
        let number = |bits: &AtomicU64| f64::from_bits(bits.load(Relaxed));
        let pass =
            Pass { share: number(&shared.share), in_flight_max: number(&shared.in_flight_max) };
        pass.admits(session, in_flight())
    }
}

/// The number of a session: evenly distributed from 0 to below 1, the same for all its requests.
pub fn number_of(session: &SessionId) -> f64 {
    let [a, b, c, d, ..] = *session;
    f64::from(u32::from_be_bytes([a, b, c, d])) / 4_294_967_296.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_holds_for_its_priority() {
        let shared = SharedPassage::default();
        let all = [Priority::Low, Priority::Normal, Priority::High];
        let admitted = |session| all.map(|it| shared.admits(it, session, || 9));
        assert_eq!(admitted(0.99), [true; 3], "nothing was set");
        shared.set(Passage {
            low: Pass { share: 0.5, in_flight_max: 8.0 },
            normal: Pass { share: 0.5, in_flight_max: 16.0 },
        });
        assert_eq!(admitted(0.25), [false, true, true]);
        assert_eq!(admitted(0.75), [false, false, true]);
    }

    #[test]
    fn numbers_of_sessions_are_below_one() {
        assert_eq!(number_of(&[0; 16]), 0.0);
        assert_eq!(number_of(&[128, 0, 0, 0, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9]), 0.5);
        assert!(number_of(&[255; 16]) < 1.0);
    }
}
