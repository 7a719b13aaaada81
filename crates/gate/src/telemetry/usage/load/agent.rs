//! Asks an agent ten times a second.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tidegate_agent::{Client, Reading, Secret};

use super::{Load, Slot, is_dropped};

/// How long a reading counts.
pub const STALE_AFTER: Duration = Duration::from_secs(1);
/// Time between two questions, and the longest wait for an answer.
const EVERY: Duration = Duration::from_millis(100);
/// Readings of less time than this apart say little of a rate.
const LEAST: Duration = Duration::from_millis(20);

/// Asks until the slot is nobody else's.
pub fn ask_until_dropped(address: &str, secret: Secret, own_boot: [u8; 16], slot: &Arc<Slot>) {
    let mut client = Client::new(address, secret);
    let mut rate = Rate::default();
    while !is_dropped(slot) {
        let asked = Instant::now();
        match client.ask(EVERY) {
            Ok((reading, at)) if reading.seen => slot.set(rate.load(&reading, own_boot), at),
            Ok((reading, _)) => {
                rate = Rate::default();
                slot.blind(format!(
                    "the agent {address} cannot see the service: {}; correct what it is told to \
                     measure",
                    reading.note
                ));
            }
            Err(silence) => slot.fail(silence.to_string()),
        }
        std::thread::sleep(EVERY.saturating_sub(asked.elapsed()));
    }
}

/// Use by two readings of the same run.
#[derive(Debug, Default)]
struct Rate {
    last: Option<(u64, Duration, Duration)>,
    used_cpus: Option<f64>,
}

impl Rate {
    fn load(&mut self, reading: &Reading, own_boot: [u8; 16]) -> Load {
        let Reading { run, at, used, .. } = *reading;
        match self.last.filter(|(last, ..)| *last == run) {
            Some((_, then, before)) => {
                let passed = at.saturating_sub(then);
                if passed >= LEAST {
                    let used_s = used.saturating_sub(before).as_secs_f64();
                    self.used_cpus = Some(used_s / passed.as_secs_f64());
                    self.last = Some((run, at, used));
                }
            }
            None => (self.last, self.used_cpus) = (Some((run, at, used)), None),
        }
        let is_here = reading.boot == own_boot && own_boot != [0; 16];
        Load {
            capacity_cpus: reading.capacity_cpus,
            used_cpus: self.used_cpus,
            idle: reading.idle,
            here: if is_here { reading.processors.clone() } else { Default::default() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(run: u64, at_ms: u64, used_ms: u64) -> Reading {
        Reading {
            run,
            at: Duration::from_millis(at_ms),
            used: Duration::from_millis(used_ms),
            capacity_cpus: 2.0,
            boot: [7; 16],
            processors: [1, 2].into(),
            seen: true,
            ..Reading::default()
        }
    }

    #[test]
    fn use_is_the_rate_between_readings_of_one_run_of_the_agent() {
        let mut rate = Rate::default();
        // In thousandths.
        let mut used = |run, at_ms, used_ms| {
            let used_cpus = rate.load(&reading(run, at_ms, used_ms), [1; 16]).used_cpus?;
            Some((used_cpus * 1e3).round() as u64)
        };
        assert_eq!(used(1, 1000, 300), None);
        assert_eq!(used(1, 1100, 450), Some(1500));
        assert_eq!(used(1, 1101, 460), Some(1500), "too soon after the last");
        // An answer was lost: the next one covers its time too.
        assert_eq!(used(1, 1300, 650), Some(1000));
        assert_eq!(used(2, 10, 0), None, "the agent was restarted");
        assert_eq!(used(2, 110, 50), Some(500));
    }

    #[test]
    fn processors_of_the_same_kernel_are_the_gates_own() {
        let here = |boot| Rate::default().load(&reading(1, 0, 0), boot).here;
        assert_eq!(here([7; 16]), [1, 2].into());
        assert!(here([8; 16]).is_empty());
    }
}
