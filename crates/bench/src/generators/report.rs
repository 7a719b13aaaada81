//! The result: raw windows, figures, goals, and a table for people.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use serde::Serialize;
use tidegate_stats::{Ratio, Summary, ratio_of_pairs};

use super::customers::{Customers, Kept, Memory, NEAR};
use super::tool::{Tool, Work};
use super::turn::Turn;
use crate::goals::verdict;
use crate::machine::Machine;

/// Name of the file within the output folder.
pub const FILE: &str = "load.json";
/// The peers that Tidegate shall cost no more than.
const PEERS: [Tool; 2] = [Tool::Wrk, Tool::H2load];
/// Most bytes of an idle customer.
const MEMORY: f64 = 8.0 * 1024.0;
/// Largest deviation of an achieved rate, up to this use of the processor.
const RATE: f64 = 0.01;
const USE: f64 = 0.8;
/// Widths of the table's columns.
const TITLE: usize = 32;
const COLUMN: usize = 18;

/// One kind of operation.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Which.
    pub work: Work,
    /// What each generator took, in the table's order.
    pub cells: Vec<Cell>,
    /// Tidegate's cost in that of each peer, from the pairs of each round.
    pub against: Vec<(Tool, Ratio)>,
    /// Generator, round and what was measured.
    pub turns: Vec<(Tool, u32, Turn)>,
}

/// One generator in one row.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Cell {
    /// Which.
    pub tool: Tool,
    /// CPU microseconds per operation; `None` where it did none as they should be.
    pub cpu_us: Option<Summary>,
    /// Operations per second of the whole run, median.
    pub per_s: f64,
    /// Share of handshakes that were of the row's kind.
    pub of_kind: f64,
}

/// One goal.
#[derive(Clone, Debug, Serialize)]
pub struct Goal {
    /// What it is about.
    pub what: String,
    /// What was measured.
    pub value: f64,
    /// The most that it may be.
    pub limit: f64,
    /// Whether it is not exceeded.
    pub met: bool,
    /// Whether the interval of a ratio lies on both sides of the limit: then this
    /// run cannot tell, and the median decides.
    pub close: bool,
}

/// Everything about one run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Machine, commit, command.
    pub machine: Machine,
    /// What each generator says of its version.
    pub versions: Vec<(Tool, String)>,
    /// Generators that are not installed.
    pub absent: Vec<Tool>,
    /// Connections busy at once.
    pub connections: u32,
    /// Windows per generator and row.
    pub rounds: u32,
    /// Length of a window.
    pub window_s: f64,
    /// Figures by row.
    pub rows: Vec<Row>,
    /// Memory of idle customers.
    pub memory: Vec<Memory>,
    /// Rates asked for.
    pub rates: Vec<Kept>,
    /// Parts that gave no figures.
    pub failed: Vec<Failure>,
}

/// A part that failed.
#[derive(Clone, Debug, Serialize)]
pub struct Failure {
    /// Which.
    pub part: &'static str,
    /// Why.
    pub why: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: FAILED: {}", self.part, self.why)
    }
}

impl Turn {
    /// Share of the handshakes that were of the kind that the work is about; 1 in
    /// clear, or where connections stay open.
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
        // The first connection has nothing to resume.
        if self.of_kind(work) < 0.98 { f64::NAN } else { self.cpu_us() }
    }
}

impl Row {
    /// Summarises the windows of a row.
    pub fn of(work: Work, turns: Vec<(Tool, u32, Turn)>) -> Self {
        let series = |tool: Tool| {
            let mut of: Vec<_> = turns.iter().filter(|(of, ..)| *of == tool).collect();
            of.sort_by_key(|(_, round, _)| *round);
            of.into_iter().map(|(_, _, turn)| *turn).collect::<Vec<Turn>>()
        };
        let costs = |tool| series(tool).iter().map(|turn| turn.cost(work)).collect::<Vec<_>>();
        let median = |values: Vec<f64>| Summary::of(&values).map_or(0.0, |all| all.median);
        let cells = Tool::ALL.into_iter().filter(|tool| !series(*tool).is_empty()).map(|tool| {
            let turns = series(tool);
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

impl Report {
    /// What was to come out, and whether it did.
    pub fn goals(&self) -> Vec<Goal> {
        let goal = |what: String, value: f64, limit: f64| Goal {
            what,
            value,
            limit,
            met: value <= limit,
            close: false,
        };
        let mut goals = Vec::new();
        for row in &self.rows {
            for (peer, ratio) in row.against.iter().filter(|(peer, _)| PEERS.contains(peer)) {
                let what = format!("{}: CPU of tidegate / {}", row.work.id(), peer.name());
                let close = ratio.low < 1.0 && 1.0 < ratio.high;
                goals.push(Goal { close, ..goal(what, ratio.median, 1.0) });
            }
        }
        for memory in &self.memory {
            let how = if memory.tls { "over TLS" } else { "in clear" };
            let Customers { number, asked } = memory.customers;
            let fewer = match number < asked {
                true => format!(", {number} of {asked} (open files)"),
                false => String::new(),
            };
            let what = format!("bytes of an idle customer {how}{fewer}");
            goals.push(goal(what, memory.bytes_per_customer, MEMORY));
        }
        let judged = |kept: &&Kept| kept.cpu_share <= USE + NEAR && kept.is_the_drivers();
        for kept in self.rates.iter().filter(judged) {
            let what = format!(
                "{:.0} requests/s, {:.0} % of a core: off the asked rate by",
                kept.asked_per_s,
                100.0 * kept.cpu_share
            );
            goals.push(goal(what, (kept.achieved_per_s / kept.asked_per_s - 1.0).abs(), RATE));
        }
        goals
    }

    /// 3 where a part failed, else 1 where a goal is missed, else 0.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code())
    }

    fn code(&self) -> u8 {
        let missed = self.goals().iter().any(|goal| !goal.met);
        if self.failed.is_empty() { u8::from(missed) } else { 3 }
    }

    /// Writes the result as JSON.
    ///
    /// # Errors
    /// The folder or the file cannot be written.
    pub fn write(&self, folder: &Path) -> anyhow::Result<()> {
        let path = folder.join(FILE);
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&path, serde_json::to_string_pretty(self)? + "\n"))
            .with_context(|| format!("cannot write {}", path.display()))
    }

    /// Renders it as plain text.
    pub fn render(&self) -> String {
        let mut text = if self.rows.is_empty() { String::new() } else { self.table() };
        let mut put = |part: std::fmt::Arguments<'_>| {
            text.write_fmt(part).expect("a String takes all");
        };
        put(format_args!("\nGoals\n"));
        for goal in self.goals() {
            let digits = if goal.limit > 100.0 {
                0
            } else if goal.limit < 0.1 {
                4
            } else {
                2
            };
            let verdict = verdict(goal.met, goal.close);
            let (value, limit) = (goal.value, goal.limit);
            put(format_args!("  {:64}", goal.what));
            put(format_args!("{value:>9.digits$}  at most {limit:.digits$}: {verdict}\n"));
        }
        put(format_args!("\n"));
        for kept in self.rates.iter().filter(|kept| !kept.is_the_drivers()) {
            let (asked, full) = (kept.asked_per_s, 100.0 * kept.server_share);
            put(format_args!(
                "{asked:.0} requests/s: not judged, the server used {full:.0} % of its core\n"
            ));
        }
        for failure in &self.failed {
            put(format_args!("{failure}\n"));
        }
        for tool in &self.absent {
            put(format_args!("{}: not installed, not measured\n", tool.name()));
        }
        for row in &self.rows {
            for cell in row.cells.iter().filter(|cell| cell.cpu_us.is_none()) {
                let (id, name, share) = (row.work.id(), cell.tool.name(), 100.0 * cell.of_kind);
                put(format_args!(
                    "{id}, {name}: {share:.0} % of its handshakes were of this kind\n"
                ));
            }
        }
        text
    }

    /// The costs of all generators, a row each.
    fn table(&self) -> String {
        let mut text = format!(
            "\nDriver CPU microseconds per operation: median (min-max) of {} windows of {} s\n{:TITLE$}",
            self.rounds, self.window_s, ""
        );
        let mut put = |part: std::fmt::Arguments<'_>| {
            text.write_fmt(part).expect("a String takes all");
        };
        let tools: Vec<Tool> = self.versions.iter().map(|(tool, _)| *tool).collect();
        tools.iter().for_each(|tool| put(format_args!("{:>COLUMN$}", tool.name())));
        PEERS
            .iter()
            .for_each(|peer| put(format_args!("{:>COLUMN$}", format!("/ {}", peer.name()))));
        put(format_args!("\n"));
        for row in &self.rows {
            put(format_args!("{:TITLE$}", row.work.title()));
            for tool in &tools {
                put(format_args!("{:>COLUMN$}", row.cost(*tool).map_or("-".to_owned(), cost)));
            }
            for peer in PEERS {
                let found = row.against.iter().find(|(tool, _)| *tool == peer);
                put(format_args!("{:>COLUMN$}", found.map_or("-".to_owned(), |(_, r)| ratio(*r))));
            }
            put(format_args!("\n"));
        }
        text
    }
}

fn cost(cost: Summary) -> String {
    let digits = usize::from(cost.median < 100.0);
    format!("{:.digits$} ({:.0}-{:.0})", cost.median, cost.min, cost.max)
}

fn ratio(ratio: Ratio) -> String {
    format!("{:.2} ({:.2}-{:.2})", ratio.median, ratio.low, ratio.high)
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

    fn report() -> Report {
        let turns = vec![(Tool::Tidegate, 0, turn(0.01, 16, 0)), (Tool::Wrk, 0, turn(0.02, 16, 0))];
        Report {
            machine: Machine::read(),
            versions: vec![(Tool::Tidegate, "1".to_owned()), (Tool::Wrk, "4".to_owned())],
            absent: Vec::new(),
            connections: 16,
            rounds: 1,
            window_s: 1.0,
            rows: vec![Row::of(Work::KeepAliveTls, turns)],
            memory: Vec::new(),
            rates: Vec::new(),
            failed: Vec::new(),
        }
    }

    #[test]
    fn a_rate_that_the_server_could_not_answer_is_not_the_drivers_fault() {
        let kept = |server_share| Kept {
            asked_per_s: 1000.0,
            achieved_per_s: 800.0,
            cpu_share: 0.6,
            server_share,
            missed_share: 0.0,
        };
        let rates = |server_share| Report { rates: vec![kept(server_share)], ..report() };
        let missed = |report: &Report| report.goals().iter().filter(|goal| !goal.met).count();
        let (of_driver, of_server) = (rates(0.9), rates(0.99));
        assert_eq!(missed(&of_driver), missed(&of_server) + 1);
        let told = "1000 requests/s: not judged, the server used 99 % of its core";
        assert!(of_server.render().contains(told) && !of_driver.render().contains(told));
    }

    #[test]
    fn a_ratio_whose_interval_has_the_limit_within_is_called_close() {
        let goal = |own: [f64; 2]| {
            let of = |tool, cpu_s: [f64; 2]| {
                (0..2).zip(cpu_s).map(move |(round, cpu_s)| (tool, round, turn(cpu_s, 16, 0)))
            };
            let turns = of(Tool::Tidegate, own).chain(of(Tool::Wrk, [0.02, 0.02]));
            let row = Row::of(Work::KeepAliveTls, turns.collect());
            let report = Report { rows: vec![row], ..report() };
            let goal = report.goals().remove(0);
            (goal.met, goal.close, report.render().contains(": MISSED, close: within the spread"))
        };
        assert_eq!(goal([0.015, 0.019]), (true, false, false));
        assert_eq!(goal([0.019, 0.023]), (false, true, true));
        assert_eq!(goal([0.023, 0.024]), (false, false, false));
    }

    #[test]
    fn a_part_that_fails_takes_no_other_with_it_and_is_named() {
        let whole = report();
        assert_eq!(whole.code(), 0, "{}", whole.render());
        let why = "2000 customers did not come within a minute".to_owned();
        let failed = Report { failed: vec![Failure { part: "memory over TLS", why }], ..whole };
        let text = failed.render();
        let row = text.lines().find(|line| line.starts_with("keep-alive GET 1 KiB, TLS 1.3 "));
        assert!(row.is_some_and(|row| row.contains("10.0 (10-10)")), "{text}");
        assert!(text.contains("\nmemory over TLS: FAILED: 2000 customers did not come"), "{text}");
        assert_eq!(failed.code(), 3);
        let json = serde_json::to_value(&failed).unwrap();
        assert_eq!(json["failed"][0]["part"], "memory over TLS");
    }

    #[test]
    fn a_row_of_fewer_customers_than_asked_for_says_so() {
        let memory = |number| Memory {
            tls: true,
            customers: Customers { number, asked: 20_000 },
            resident_mb: 200.0,
            bytes_per_customer: 7000.0,
        };
        let with = |number| Report { memory: vec![memory(number)], ..report() };
        let row = "bytes of an idle customer over TLS";
        assert!(with(20_000).render().contains(&format!("  {row}   ")));
        let fewer = with(19_900);
        assert!(fewer.render().contains(&format!("  {row}, 19900 of 20000 (open files)")));
        assert_eq!(serde_json::to_value(&fewer).unwrap()["memory"][0]["customers"], 19_900);
        assert_eq!(fewer.code(), 0);
    }
}
