//! The log of a Java virtual machine's garbage collector, as `-Xlog:gc:file=…:timenanos` writes
//! it. Source: JEP 158, Unified JVM Logging.

use std::ops::Range;

/// Times in which all threads of the application stood still for the garbage collector.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GcPauses {
    /// How many.
    pub count: u64,
    /// Their sum in milliseconds.
    pub sum_ms: f64,
    /// The longest in milliseconds.
    pub longest_ms: f64,
}

impl GcPauses {
    /// The pauses that ended in a window of the monotonic clock, in nanoseconds. Lines of other
    /// events, and a last line that is not complete, are passed over.
    pub fn of(log: &str, window: Range<u64>) -> Self {
        let mut pauses = Self::default();
        for pause_ms in log.lines().filter_map(|line| pause(line, &window)) {
            pauses.count += 1;
            pauses.sum_ms += pause_ms;
            pauses.longest_ms = pauses.longest_ms.max(pause_ms);
        }
        pauses
    }
}

/// `[123456789ns] GC(7) Pause Young (Normal) (G1 Evacuation Pause) 31M->12M(512M) 4.217ms`
fn pause(line: &str, window: &Range<u64>) -> Option<f64> {
    let (at, event) = line.strip_prefix('[')?.split_once("ns]")?;
    let is_pause = event.split(' ').any(|word| word == "Pause");
    let last = event.rsplit(' ').next()?.strip_suffix("ms")?;
    let at: u64 = at.trim().parse().ok()?;
    let milliseconds: f64 = last.parse().ok()?;
    (is_pause && window.contains(&at)).then_some(milliseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_that_end_in_the_window_are_counted_and_nothing_else_is() {
        let log = "[100ns] Using Serial\n\
                   [200ns] GC(0) Pause Young (Allocation Failure) 136M->4M(494M) 9.500ms\n\
                   [300ns] GC(1) Pause Young (Normal) (G1 Evacuation Pause) 140M->5M(494M) 2.250ms\n\
                   [350ns] GC(2) Concurrent Mark Cycle 12.000ms\n\
                   [400ns] GC(3) Pause Full (Metadata GC Threshold) 20M->6M(494M) 30.750ms\n\
                   [500ns] GC(4) Pause Young (Allocation Failure) 140M->6M(494M) 1.000ms\n\
                   [499ns] GC(5) Pause You";
        let pauses = GcPauses::of(log, 250..500);
        assert_eq!(pauses, GcPauses { count: 2, sum_ms: 33.0, longest_ms: 30.75 });
        assert_eq!(GcPauses::of("", 0..u64::MAX), GcPauses::default());
        assert_eq!(GcPauses::of("[1ns]\n[x] Pause 1ms\n[2ns] Pause", 0..10), GcPauses::default());
    }
}
