//! The results as a table of plain text.

use tidegate_control::sim::{Judged, Measure};

use super::summary::Summary;

/// Scenario by scenario, then what was expected and missed.
pub fn text(summary: &Summary) -> String {
    let mut text = String::new();
    for (scenario, results) in summary.by_scenario() {
        text += &format!(
            "{}: {}\ncapacity {:.0} sessions/s\n{HEAD}",
            scenario.name,
            scenario.about,
            scenario.capacity_per_s()
        );
        for run in results.iter().flat_map(|result| &result.runs) {
            text += &row(run);
        }
        text.push('\n');
    }
    let verdicts = summary.verdicts();
    for verdict in verdicts.iter().filter(|verdict| !verdict.met) {
        text += &format!("MISSED  {}\n", verdict.text());
    }
    let met = verdicts.iter().filter(|verdict| verdict.met).count();
    text + &format!(
        "{} of {} expectations met; means of {} {}\n",
        met,
        verdicts.len(),
        summary.seeds,
        if summary.seeds == 1 { "run" } else { "runs" }
    )
}

const HEAD: &str = "\
policy         load  goodput      p50      p95      p99   times  standing  refused  idle   lost  wasted  settle  reopen  fair
                      % best       ms       ms       ms    calm        ms        %     %      %       %       s       s
";

fn row(run: &Judged) -> String {
    use Measure::*;
    let fair = run.value(FairLengths).zip(run.value(FairPrefixes)).map(|(a, b)| a.min(b));
    let mut row = format!("{:<13} {:>5}", run.policy, format!("{}×", run.load));
    for (width, decimals, factor, value) in [
        (8, 1, 100.0, run.value(Goodput)),
        (8, 1, 1.0, run.value(P50)),
        (8, 1, 1.0, run.value(P95)),
        (8, 1, 1.0, run.value(P99)),
        (7, 2, 1.0, run.value(P95Ratio)),
        (9, 1, 1.0, run.value(Standing)),
        (8, 1, 100.0, run.value(Refused)),
        (5, 1, 100.0, run.value(RefusedIdle)),
        (6, 1, 100.0, run.value(Lost)),
        (7, 1, 100.0, run.value(Wasted)),
        (7, 1, 1.0, run.value(Settle)),
        (7, 1, 1.0, run.value(Reopen)),
        (5, 2, 1.0, fair),
    ] {
        let value =
            value.map_or("–".to_owned(), |value| format!("{:.decimals$}", factor * value));
        row += &format!(" {value:>width$}");
    }
    row + "\n"
}
