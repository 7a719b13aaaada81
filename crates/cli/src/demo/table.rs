//! The result as a table of plain text.

use super::summary::{Goal, Point, Summary};

/// Table and goals.
pub fn text(summary: &Summary) -> String {
    let mut text = format!(
        "\nCapacity {:.0} sessions/s, peak {:.0} completed/s\n\n{}",
        summary.capacity_sessions_per_s, summary.peak_completed_per_s, HEAD
    );
    let mut before = "";
    for point in &summary.points {
        if before != point.policy && !before.is_empty() {
            text.push('\n');
        }
        before = &point.policy;
        text += &row(point, summary.share_of_peak(point));
    }
    text.push('\n');
    summary.goals.iter().for_each(|goal| text += &goal_line(goal));
    summary.remarks.iter().for_each(|remark| text += &format!("\n{remark}\n"));
    text
}

const HEAD: &str = "\
policy  load   offered admitted  refused completed  of peak  p50    p95     full hs  admitted
               /s      /s        /s      /s                  ms     ms      share    completed
";

/// One point as a line, ending in a line feed.
pub fn row(p: &Point, share_of_peak: f64) -> String {
    format!(
        "{:<6} {:>4}× {:>8.0} {:>8.0} {:>8.0} {:>9.0} {:>7.0} % {:>6.1} {:>7.1} {:>6.0} % {:>7.1} %{}\n",
        p.policy,
        p.multiple,
        p.offered_per_s,
        p.admitted_per_s,
        p.refused_per_s,
        p.completed_per_s,
        100.0 * share_of_peak,
        p.response_p50_ms,
        p.response_p95_ms,
        100.0 * p.full_handshake_share,
        100.0 * p.admitted_completed_ratio,
        p.disturbance().map_or(String::new(), |what| format!("  {what}")),
    )
}

fn goal_line(goal: &Goal) -> String {
    format!("{:13}  {}: {}\n", goal.verdict.words(), goal.text, goal.measured)
}
