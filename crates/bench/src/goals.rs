//! The goals, and whether a run met them.

use crate::idle::{self, Idle};
use crate::in_process::{DecisionCost, HelloCost};
use crate::rows::{FULL_CONNECTION, INSPECTION_OF_REFUSAL, REFUSAL, REFUSAL_OF_FULL};
use crate::summary::RowSummary;
use serde::Serialize;
use tidegate_lab::peers::Kind;
use tidegate_stats::Verdict;

/// One goal: a figure that is to be at most its limit.
#[derive(Clone, Debug, Serialize)]
pub struct Goal {
    /// The figure.
    pub what: String,
    /// The measured value.
    pub value: f64,
    /// Highest value that meets the goal.
    pub limit: f64,
    /// Whether it is met, by the interval of the value.
    pub verdict: Verdict,
}

impl Goal {
    /// Of a value with its interval.
    pub fn at_most(limit: f64, what: String, value: f64, interval: (f64, f64)) -> Self {
        Self { what, value, limit, verdict: Verdict::at_most(limit, interval) }
    }
}

/// Highest cost of a decision, in CPU nanoseconds.
const DECISION_NS: f64 = 1000.0;

/// The goals for everything that was measured.
pub fn of(
    rows: &[RowSummary],
    hellos: &[HelloCost],
    decisions: &[DecisionCost],
    idle: &[Idle],
) -> Vec<Goal> {
    let mut goals: Vec<Goal> = rows.iter().flat_map(against_peers).collect();
    let cost = |id| {
        let row = rows.iter().find(|summary| summary.row.id == id)?;
        row.cost(row.judged)
    };
    if let (Some(refusal), Some(full)) = (cost(REFUSAL), cost(FULL_CONNECTION)) {
        let spread = (refusal.lower_quartile / full.median, refusal.upper_quartile / full.median);
        let value = refusal.median / full.median;
        let what = format!("{REFUSAL}: refusal / full connection ({FULL_CONNECTION})");
        goals.push(Goal::at_most(REFUSAL_OF_FULL, what, value, spread));
    }
    if let Some(refusal) = cost(REFUSAL) {
        goals.extend(hellos.iter().map(|hello| {
            let share = |nanoseconds: f64| nanoseconds / 1e3 / refusal.median;
            let cost = hello.nanoseconds;
            let spread = (share(cost.lower_quartile), share(cost.upper_quartile));
            let what = format!("{REFUSAL}: reading the hello ({}) / refusal", hello.hello);
            Goal::at_most(INSPECTION_OF_REFUSAL, what, share(cost.median), spread)
        }));
    }
    goals.extend(decisions.iter().filter(|decision| decision.per_connection).map(|decision| {
        let of_limit = |nanoseconds: f64| nanoseconds / DECISION_NS;
        let cost = decision.nanoseconds;
        let spread = (of_limit(cost.lower_quartile), of_limit(cost.upper_quartile));
        let what = format!("decision: {} / 1 microsecond", decision.what);
        Goal::at_most(1.0, what, of_limit(cost.median), spread)
    }));
    goals.extend(idle.iter().filter(|it| it.server == Kind::Tide).map(|it| {
        let what = format!("idle connection, {}: bytes", it.what());
        Goal::at_most(idle::MOST, what, it.bytes_each, (it.bytes_each, it.bytes_each))
    }));
    goals
}

fn against_peers(summary: &RowSummary) -> Vec<Goal> {
    let limit = |peer| match peer {
        Kind::Nginx => summary.row.most_of_nginx,
        Kind::Haproxy => summary.row.most_of_haproxy,
        _ => 1.0,
    };
    Kind::PEERS
        .into_iter()
        .filter_map(|peer| {
            let ratio = summary.ratio(peer)?;
            let what = format!("{}: gate / {}", summary.row.id, peer.title());
            Some(Goal::at_most(limit(peer), what, ratio.median, (ratio.low, ratio.high)))
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
        let goals = of(&[summary("full13-p256", &costs)], &[], &[], &[]);
        let verdicts: Vec<_> = goals.iter().map(|goal| (goal.limit, goal.verdict)).collect();
        assert_eq!(verdicts, [(1.0, Verdict::Holds), (0.45, Verdict::DoesNotHold)]);
        let goals = of(&[summary("resumed13", &costs)], &[], &[], &[]);
        assert_eq!(goals[0].verdict, Verdict::Holds);
        assert_eq!(goals[1].verdict, Verdict::Holds);
    }

    #[test]
    fn a_refusal_may_cost_a_tenth_and_a_hello_a_fiftieth_of_that() {
        let rows = [
            summary("full13-p256", &[(Kind::Tide, 170.0)]),
            summary("refused", &[(Kind::Tide, 17.0)]),
        ];
        let hello =
            HelloCost { hello: "any", bytes: 200, nanoseconds: Summary::of(&[341.0]).unwrap() };
        let goals = of(&rows, &[hello], &[], &[]);
        assert_eq!(
            goals.iter().map(|goal| goal.verdict).collect::<Vec<_>>(),
            [Verdict::Holds, Verdict::DoesNotHold]
        );
    }

    #[test]
    fn a_decision_for_a_connection_may_cost_a_microsecond() {
        let decision = |per_connection, ns| DecisionCost {
            what: "any",
            per_connection,
            nanoseconds: Summary::of(&[ns]).unwrap(),
        };
        let decisions = [decision(true, 1000.0), decision(true, 1001.0), decision(false, 5000.0)];
        let goals = of(&[], &[], &decisions, &[]);
        assert_eq!(
            goals.iter().map(|goal| goal.verdict).collect::<Vec<_>>(),
            [Verdict::Holds, Verdict::DoesNotHold]
        );
    }

    #[test]
    fn figures_that_were_not_measured_have_no_goal() {
        assert!(of(&[summary("refused", &[(Kind::Nginx, 20.0)])], &[], &[], &[]).is_empty());
    }
}
