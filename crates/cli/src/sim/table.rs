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
    let value = |measure| run.value(measure);
    let percent = |measure| 100.0 * run.value(measure);
    format!(
        "{:<13} {:>5} {:>8.1} {:>8.1} {:>8.1} {:>8.1} {:>7.2} {:>9.1} {:>8.1} {:>5.1} {:>6.1} {:>7.1} {:>7.1} {:>7.1} {:>5.2}\n",
        run.policy,
        format!("{}×", run.load),
        percent(Goodput),
        value(P50),
        value(P95),
        value(P99),
        value(P95Ratio),
        value(Standing),
        percent(Refused),
        percent(RefusedIdle),
        percent(Lost),
        percent(Wasted),
        value(Settle),
        value(Reopen),
        value(FairLengths).min(value(FairPrefixes)),
    )
}
