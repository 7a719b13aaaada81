//! The goals, and whether a run met them.

use crate::in_process::{DecisionCost, HelloCost};
use crate::rows::{FULL_CONNECTION, INSPECTION_OF_REFUSAL, REFUSAL, REFUSAL_OF_FULL};
use crate::summary::RowSummary;
use serde::Serialize;
use tidegate_lab::peers::Kind;

/// One goal and its measured value, both as ratios.
#[derive(Clone, Debug, Serialize)]
pub struct Goal {
    /// Id of its row.
    pub row: &'static str,
    /// The two figures that are compared.
    pub what: String,
    /// The measured ratio.
    pub value: f64,
    /// Highest ratio that meets the goal; a limit of 1 itself does not.
    pub limit: f64,
    /// Whether the median meets the limit.
    pub met: bool,
    /// Whether the interval of the ratio contains the limit: then this run is not
    /// conclusive, and the median decides.
    pub close: bool,
}

/// The verdict on a goal as text; `close`: the interval contains the limit.
pub fn verdict(met: bool, close: bool) -> &'static str {
    match (met, close) {
        (true, false) => "met",
        (true, true) => "met, close: within the spread",
        (false, false) => "MISSED",
        (false, true) => "MISSED, close: within the spread",
    }
}

/// Highest cost of a decision, in CPU nanoseconds.
const DECISION_NS: f64 = 1000.0;

impl Goal {
    fn new(row: &'static str, what: String, value: f64, limit: f64, spread: (f64, f64)) -> Self {
        // At 1 the gate must cost less; below 1 the limit itself is enough.
        let met = if limit < 1.0 { value <= limit } else { value < limit };
        Self { row, what, value, limit, met, close: spread.0 < limit && limit < spread.1 }
    }
}

/// The goals for everything that was measured.
pub fn of(rows: &[RowSummary], hellos: &[HelloCost], decisions: &[DecisionCost]) -> Vec<Goal> {
    let mut goals: Vec<Goal> = rows.iter().flat_map(against_peers).collect();
    let cost = |id| {
        let row = rows.iter().find(|summary| summary.row.id == id)?;
        row.cost(row.judged)
    };
    if let (Some(refusal), Some(full)) = (cost(REFUSAL), cost(FULL_CONNECTION)) {
        let spread = (refusal.lower_quartile / full.median, refusal.upper_quartile / full.median);
        let value = refusal.median / full.median;
        let what = format!("refusal / full connection ({FULL_CONNECTION})");
        goals.push(Goal::new(REFUSAL, what, value, REFUSAL_OF_FULL, spread));
    }
    if let Some(refusal) = cost(REFUSAL) {
        goals.extend(hellos.iter().map(|hello| {
            let share = |nanoseconds: f64| nanoseconds / 1e3 / refusal.median;
            let cost = hello.nanoseconds;
            let spread = (share(cost.lower_quartile), share(cost.upper_quartile));
            let what = format!("reading the hello ({}) / refusal", hello.hello);
            Goal::new(REFUSAL, what, share(cost.median), INSPECTION_OF_REFUSAL, spread)
        }));
    }
    goals.extend(decisions.iter().filter(|decision| decision.per_connection).map(|decision| {
        let of_limit = |nanoseconds: f64| nanoseconds / DECISION_NS;
        let cost = decision.nanoseconds;
        let spread = (of_limit(cost.lower_quartile), of_limit(cost.upper_quartile));
        let what = format!("{} / 1 microsecond", decision.what);
        Goal::new("decision", what, of_limit(cost.median), 1.0, spread)
    }));
    goals
}

fn against_peers(summary: &RowSummary) -> Vec<Goal> {
    let limits =
        [(Kind::Nginx, summary.row.most_of_nginx), (Kind::Haproxy, summary.row.most_of_haproxy)];
    limits
        .into_iter()
        .filter_map(|(peer, limit)| {
            let ratio = summary.ratio(peer)?;
            let what = format!("gate / {}", peer.title());
            Some(Goal::new(summary.row.id, what, ratio.median, limit, (ratio.low, ratio.high)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::ROWS;
    use crate::windows::Window;
    use crate::windows::tests::window;
    use tidegate_stats::Summary;

    fn summary(id: &str, costs: &[(Kind, f64)]) -> RowSummary {
        let row = ROWS.iter().find(|row| row.id == id).unwrap();
        let windows: Vec<Window> =
            costs.iter().map(|(server, us)| window(row.id, *server, 0, *us)).collect();
        RowSummary::of(row, &Kind::ALL, &[], &windows, 5.0)
    }

    #[test]
    fn every_row_must_cost_less_than_both_peers_and_some_much_less() {
        let costs = [(Kind::Tide, 46.0), (Kind::Nginx, 46.0), (Kind::Haproxy, 100.0)];
        let goals = of(&[summary("full13-p256", &costs)], &[], &[]);
        let verdicts: Vec<_> = goals.iter().map(|goal| (goal.limit, goal.met)).collect();
        assert_eq!(verdicts, [(1.0, false), (0.45, false)]);
        let goals = of(&[summary("resumed13", &costs)], &[], &[]);
        assert!(!goals[0].met && goals[1].met);
    }

    #[test]
    fn a_refusal_may_cost_a_tenth_and_a_hello_a_fiftieth_of_that() {
        let rows = [
            summary("full13-p256", &[(Kind::Tide, 170.0)]),
            summary("refused", &[(Kind::Tide, 17.0)]),
        ];
        let hello =
            HelloCost { hello: "any", bytes: 200, nanoseconds: Summary::of(&[341.0]).unwrap() };
        let goals = of(&rows, &[hello], &[]);
        assert_eq!(goals.iter().map(|goal| goal.met).collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn a_decision_for_a_connection_may_cost_a_microsecond() {
        let decision = |per_connection, ns| DecisionCost {
            what: "any",
            per_connection,
            nanoseconds: Summary::of(&[ns]).unwrap(),
        };
        let decisions = [decision(true, 999.0), decision(true, 1000.0), decision(false, 5000.0)];
        let goals = of(&[], &[], &decisions);
        assert_eq!(goals.iter().map(|goal| goal.met).collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn figures_that_were_not_measured_have_no_goal() {
        assert!(of(&[summary("refused", &[(Kind::Nginx, 20.0)])], &[], &[]).is_empty());
    }

    #[test]
    fn a_goal_is_close_if_its_interval_contains_the_limit() {
        assert!(Goal::new("r", String::new(), 0.44, 0.45, (0.43, 0.46)).close);
        assert!(!Goal::new("r", String::new(), 0.44, 0.45, (0.43, 0.449)).close);
    }
}
