//! From raw windows to figures: a cost per server and row, and the gate's
//! ratio to each peer.

use crate::rows::Row;
use crate::windows::Window;
use serde::Serialize;
use tidegate_experiment::turns::by_round;
use tidegate_lab::peers::Kind;
use tidegate_stats::{Ratio, Summary, ratio_of_pairs};

/// Share of held customers above which a row is judged without admission.
pub const HELD: f64 = 0.01;

/// One server's cost in one row.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    /// The server.
    pub server: Kind,
    /// CPU microseconds per operation; `None` without a valid window.
    pub cpu_us: Option<Summary>,
    /// The same, with each window scaled by its calibration loop.
    pub normalised_cpu_us: Option<Summary>,
    /// Connections that the server opened to the upstream, per request: near 0
    /// with keep-alive.
    pub upstream_connections_per_request: f64,
    /// Share of the operations that the gate first held; the cost of holding is
    /// included.
    pub held_share: f64,
    /// Share of its core that the server used, median of the windows.
    pub utilisation: f64,
    /// Why there is no cost, or from fewer windows than planned.
    pub note: Option<String>,
    /// Half or more of its windows are invalid: the run failed.
    pub failed: bool,
}

/// The gate against one peer, window by window.
#[derive(Clone, Debug, Serialize)]
pub struct Against {
    /// The peer.
    pub peer: Kind,
    /// Cost of the gate over that of the peer, from the pairs of each round.
    pub ratio: Ratio,
}

/// All of one row.
#[derive(Clone, Debug, Serialize)]
pub struct RowSummary {
    /// The row.
    pub row: &'static Row,
    /// One cell per server, in the table's order.
    pub cells: Vec<Cell>,
    /// The gate that goals are judged on: its default policy, unless it held
    /// customers. Its cost then includes holding, which no peer does, and the gate
    /// without admission control is compared.
    pub judged: Kind,
    /// The gate against its peers.
    pub against: Vec<Against>,
}

impl RowSummary {
    /// Summarises the windows of one row. `absent`: servers that cannot do this
    /// work, with the reason.
    pub fn of(
        row: &'static Row,
        servers: &[Kind],
        absent: &[(Kind, &str)],
        windows: &[Window],
        reference_ms: f64,
    ) -> Self {
        let cells: Vec<_> = servers
            .iter()
            .map(|server| match absent.iter().find(|(kind, _)| kind == server) {
                Some((_, why)) => Cell {
                    server: *server,
                    cpu_us: None,
                    normalised_cpu_us: None,
                    upstream_connections_per_request: 0.0,
                    held_share: 0.0,
                    utilisation: 0.0,
                    note: Some((*why).to_owned()),
                    failed: false,
                },
                None => cell(row, *server, windows, reference_ms),
            })
            .collect();
        let holds = |cell: &Cell| cell.server == Kind::Tide && cell.held_share > HELD;
        let off_stands_in =
            cells.iter().any(|cell| cell.server == Kind::Off && cell.cpu_us.is_some());
        let judged = if cells.iter().any(holds) && off_stands_in { Kind::Off } else { Kind::Tide };
        let against = Kind::PEERS
            .into_iter()
            .filter_map(|peer| {
                let ours = series(row, judged, windows);
                let ratio = ratio_of_pairs(&ours, &series(row, peer, windows))?;
                Some(Against { peer, ratio })
            })
            .collect();
        Self { row, cells, judged, against }
    }

    /// The cost of a server in this row, in CPU microseconds.
    pub fn cost(&self, server: Kind) -> Option<Summary> {
        self.cells.iter().find(|cell| cell.server == server)?.cpu_us
    }

    /// The ratio to a peer.
    pub fn ratio(&self, peer: Kind) -> Option<Ratio> {
        Some(self.against.iter().find(|against| against.peer == peer)?.ratio)
    }
}

fn of<'a>(row: &Row, server: Kind, windows: &'a [Window]) -> impl Iterator<Item = &'a Window> {
    let id = row.id;
    windows.iter().filter(move |window| window.row == id && window.server == server)
}

/// Costs by round; an invalid window is NaN and left out of pairs.
fn series(row: &Row, server: Kind, windows: &[Window]) -> Vec<f64> {
    let valid = of(row, server, windows).filter(|window| window.valid());
    by_round(valid.map(|window| (window.round, window.cpu_us_per_operation)))
}

fn cell(row: &Row, server: Kind, windows: &[Window], reference_ms: f64) -> Cell {
    let all: Vec<_> = of(row, server, windows).collect();
    let valid: Vec<_> = all.iter().filter(|window| window.valid()).collect();
    let raw: Vec<f64> = valid.iter().map(|window| window.cpu_us_per_operation).collect();
    let normalised: Vec<f64> = valid
        .iter()
        .map(|window| window.cpu_us_per_operation * reference_ms / window.calibration())
        .collect();
    let fault = all.iter().find_map(|window| window.fault());
    let note = fault.map(|why| {
        format!("{} of {} windows are invalid: {why}", all.len() - valid.len(), all.len())
    });
    let sum = |of: fn(&Window) -> u64| valid.iter().map(|window| of(window)).sum::<u64>() as f64;
    let requests = sum(|window| window.upstream_requests);
    let utilisation: Vec<f64> = valid.iter().map(|window| window.utilisation).collect();
    Cell {
        server,
        cpu_us: Summary::of(&raw),
        normalised_cpu_us: Summary::of(&normalised),
        upstream_connections_per_request: sum(|window| window.upstream_connections)
            / requests.max(1.0),
        held_share: sum(|window| window.held) / sum(|window| window.tally.operations).max(1.0),
        utilisation: Summary::of(&utilisation).map_or(0.0, |share| share.median),
        note,
        failed: valid.len() * 2 <= all.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::ROWS;
    use crate::windows::tests::window;

    const SERVERS: [Kind; 3] = [Kind::Tide, Kind::Nginx, Kind::Haproxy];

    fn windows(costs: &[(Kind, [f64; 3])]) -> Vec<Window> {
        let each = |(server, costs): &(Kind, [f64; 3])| {
            let server = *server;
            let rounds = costs.iter().zip(0..);
            rounds.map(|(us, round)| window(ROWS[0].id, server, round, *us)).collect::<Vec<_>>()
        };
        costs.iter().flat_map(each).collect()
    }

    #[test]
    fn ratios_pair_the_windows_of_a_round() {
        // The machine is twice as slow in the second round: 40/100, 80/200, 50/100.
        let all =
            windows(&[(Kind::Tide, [40.0, 80.0, 50.0]), (Kind::Nginx, [100.0, 200.0, 100.0])]);
        let summary = RowSummary::of(&ROWS[0], &SERVERS, &[], &all, 5.0);
        assert_eq!(summary.ratio(Kind::Nginx).unwrap().median, 0.4);
        assert!(summary.ratio(Kind::Haproxy).is_none());
        assert_eq!(summary.cost(Kind::Tide).unwrap().median, 50.0);
    }

    #[test]
    fn a_gate_that_held_customers_is_compared_without_admission_control() {
        let mut all =
            windows(&[(Kind::Tide, [50.0; 3]), (Kind::Off, [40.0; 3]), (Kind::Nginx, [100.0; 3])]);
        assert_eq!(RowSummary::of(&ROWS[0], &Kind::ALL, &[], &all, 5.0).judged, Kind::Tide);
        all[1].held = 31;
        let summary = RowSummary::of(&ROWS[0], &Kind::ALL, &[], &all, 5.0);
        assert_eq!(summary.judged, Kind::Off);
        assert_eq!(summary.ratio(Kind::Nginx).unwrap().median, 0.4);
    }

    #[test]
    fn a_window_beside_a_slow_calibration_loop_is_scaled_down() {
        let mut all = windows(&[(Kind::Tide, [40.0, 40.0, 40.0])]);
        all[1].cpu_us_per_operation = 80.0;
        all[1].calibration_ms = [10.0, 10.0];
        let summary = RowSummary::of(&ROWS[0], &SERVERS, &[], &all, 5.0);
        assert_eq!(summary.cells[0].normalised_cpu_us.unwrap().max, 40.0);
        assert_eq!(summary.cells[0].cpu_us.unwrap().max, 80.0);
    }

    #[test]
    fn a_cell_without_a_majority_of_valid_windows_has_failed_and_an_absent_one_has_not() {
        let mut all = windows(&[(Kind::Tide, [40.0; 3])]);
        all[0].tally.failures = 500;
        assert!(!RowSummary::of(&ROWS[0], &SERVERS, &[], &all, 5.0).cells[0].failed);
        all[1].tally.failures = 500;
        let absent = [(Kind::Nginx, "why"), (Kind::Haproxy, "why")];
        let summary = RowSummary::of(&ROWS[0], &SERVERS, &absent, &all, 5.0);
        assert!(summary.cells[0].failed && !summary.cells[1].failed);
        assert!(summary.cells[0].note.as_ref().unwrap().starts_with("2 of 3 windows"));
    }
}
