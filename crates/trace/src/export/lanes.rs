//! Lanes: the connections of a process, next to each other as far as they overlap in time. So a
//! viewer shows as many rows as there were connections at a time, not one for each.

use crate::format::record::Line;
use std::collections::{BTreeMap, BinaryHeap};

/// The lane of each line, and the number of lanes.
pub struct Lanes {
    /// By index of the line.
    pub of_line: Vec<u32>,
    /// How many there are.
    pub count: u32,
}

impl Lanes {
    /// Assigns lanes to the connections of a process; two on one lane have no time in common.
    pub fn of(lines: &[Line]) -> Self {
        let mut spans: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        for line in lines {
            let end = line.start_ns.saturating_add(line.took_ns());
            let span = spans.entry(line.connection).or_insert((line.start_ns, end));
            *span = (span.0.min(line.start_ns), span.1.max(end));
        }
        let mut order: Vec<(u64, (u64, u64))> = spans.into_iter().collect();
        order.sort_by_key(|(connection, (start, _))| (*start, *connection));
        let (mut lanes, mut count) = (BTreeMap::new(), 0);
        // By the end of their last connection, the earliest first.
        let mut free: BinaryHeap<std::cmp::Reverse<(u64, u32)>> = BinaryHeap::new();
        for (connection, (start, end)) in order {
            let lane = match free.peek() {
                Some(std::cmp::Reverse((ended, lane))) if *ended < start => {
                    let lane = *lane;
                    free.pop();
                    lane
                }
                _ => {
                    count += 1;
                    count - 1
                }
            };
            free.push(std::cmp::Reverse((end, lane)));
            lanes.insert(connection, lane);
        }
        Self { of_line: lines.iter().map(|line| lanes[&line.connection]).collect(), count }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::record::Step;
    use crate::phase::{Outcome, Phase};

    fn line(connection: u64, start_ns: u64, took_ns: u64) -> Line {
        let steps = vec![Step { phase: Phase::Service, took_ns, cpu_ns: 0 }];
        Line {
            connection,
            request: 1,
            start_ns,
            measured: false,
            outcome: Outcome::Open,
            status: 0,
            context: None,
            steps,
        }
    }

    #[test]
    fn a_lane_is_used_again_when_its_connection_is_over() {
        let lines =
            [line(1, 0, 10), line(2, 5, 10), line(1, 10, 10), line(3, 16, 1), line(4, 17, 9)];
        let lanes = Lanes::of(&lines);
        assert_eq!((lanes.of_line, lanes.count), (vec![0, 1, 0, 1, 2], 3));
        assert_eq!(Lanes::of(&[]).count, 0);
    }
}
