//! One row of the table: the cost of an operation at each generator.

use std::fmt::Write as _;

use serde::Serialize;
use tidegate_experiment::turns::by_round;
use tidegate_stats::{Ratio, Summary, ratio_of_pairs};

use super::tool::{Tool, Work};
use super::turn::Turn;

/// One kind of operation.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The generator or the work.
    pub work: Work,
    /// The cost at each generator, in the table's order.
    pub cells: Vec<Cell>,
    /// Tidegate's cost over that of each peer, from the pairs of each round.
    pub against: Vec<(Tool, Ratio)>,
    /// Generator, round and window.
    pub turns: Vec<(Tool, u32, Turn)>,
}

/// One generator in one row.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Cell {
    /// The generator or the work.
    pub tool: Tool,
    /// CPU microseconds per operation; `None` where its handshakes were not of the
    /// row's kind.
    pub cpu_us: Option<Summary>,
    /// Operations per second of the whole run, median.
    pub per_s: f64,
    /// Share of handshakes that were of the row's kind.
    pub of_kind: f64,
}

impl Turn {
    /// Share of the handshakes that were of the work's kind; 1 over plain HTTP, or
    /// where connections stay open.
    fn of_kind(&self, work: Work) -> f64 {
        let of = |part: u64| match self.full + self.resumed {
            0 => 0.0,
            all => part as f64 / all as f64,
        };
        match work {
            Work::Full => of(self.full),
            Work::Resumed => of(self.resumed),
            Work::KeepAliveTls | Work::KeepAliveClear => 1.0,
        }
    }

    fn cost(&self, work: Work) -> f64 {
        // The first connection cannot resume.
        if self.of_kind(work) < 0.98 { f64::NAN } else { self.cpu_us() }
    }
}

impl Row {
    /// Summarises the windows of a row.
    pub fn of(work: Work, turns: Vec<(Tool, u32, Turn)>) -> Self {
        let of = |tool: Tool| turns.iter().filter(move |(of, ..)| *of == tool);
        let costs = |tool| by_round(of(tool).map(|(_, round, turn)| (*round, turn.cost(work))));
        let median = |values: Vec<f64>| Summary::of(&values).map_or(0.0, |all| all.median);
        let cells = Tool::ALL.into_iter().filter(|tool| of(*tool).count() > 0).map(|tool| {
            let turns: Vec<&Turn> = of(tool).map(|(_, _, turn)| turn).collect();
            Cell {
                tool,
                cpu_us: Summary::of(&costs(tool)),
                per_s: median(turns.iter().map(|t| t.requests as f64 / t.wall_s).collect()),
                of_kind: median(turns.iter().map(|turn| turn.of_kind(work)).collect()),
            }
        });
        let cells = cells.collect();
        let own = costs(Tool::Tidegate);
        let peers = Tool::ALL.into_iter().skip(1);
        let against =
            peers.filter_map(|peer| Some((peer, ratio_of_pairs(&own, &costs(peer))?))).collect();
        Self { work, cells, against, turns }
    }

    /// The cost of a generator, in CPU microseconds.
    pub fn cost(&self, tool: Tool) -> Option<Summary> {
        self.cells.iter().find(|cell| cell.tool == tool)?.cpu_us
    }

    /// For standard error, while the run goes on.
    pub fn line(&self) -> String {
        let mut line = format!("{}:", self.work.id());
        for cell in &self.cells {
            if let Some(cost) = cell.cpu_us {
                let _ = write!(line, "  {} {:.1}", cell.tool.name(), cost.median);
            }
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(cpu_s: f64, full: u64, resumed: u64) -> Turn {
        Turn { cpu_s, wall_s: 1.0, requests: 1000, full, resumed, server_cpu_s: 0.5 }
    }

    #[test]
    fn costs_are_compared_round_by_round() {
        let turns = vec![
            (Tool::Tidegate, 0, turn(0.01, 16, 0)),
            (Tool::Wrk, 0, turn(0.02, 16, 0)),
            (Tool::Wrk, 1, turn(0.08, 16, 0)),
            (Tool::Tidegate, 1, turn(0.02, 16, 0)),
        ];
        let row = Row::of(Work::KeepAliveTls, turns);
        assert_eq!(row.cost(Tool::Tidegate).unwrap().median, 15.0);
        let (peer, ratio) = row.against[0];
        assert_eq!((peer, ratio.median, ratio.low), (Tool::Wrk, 0.375, 0.25));
    }

    #[test]
    fn handshakes_of_the_other_kind_give_no_cost() {
        let resuming = |resumed| Row::of(Work::Full, vec![(Tool::Oha, 0, turn(0.1, 100, resumed))]);
        assert_eq!(resuming(0).cost(Tool::Oha).unwrap().median, 100.0);
        assert!(resuming(50).cost(Tool::Oha).is_none());
        let row = Row::of(Work::Resumed, vec![(Tool::Tidegate, 0, turn(0.1, 1, 99))]);
        assert!(row.cost(Tool::Tidegate).is_some());
    }
}
