//! The table of steps, in full on the page and short on a terminal.

use tidegate_report::number::{number, or_none, time};
use tidegate_report::{Cell, CellOf, Column, Table};

use crate::site::host_use::HostUse;
use crate::site::step::{FIRST_BYTE, Limit, Outcome, Step};

/// A row for each step. `observed`: the site's processes are known.
pub(super) fn table<'s>(
    steps: impl IntoIterator<Item = &'s Step>,
    limit: Limit,
    observed: bool,
) -> Table {
    let percentile = format!("p{}", limit.percentile);
    let short = |head: &str, least: usize| Column::new(head).least(least);
    let full = |head: &str| Column::new(head).rank(1);
    let mut columns: Vec<(Column, CellOf<Step, Cell>)> = vec![
        (short("no.", 3), |it| it.number.to_string().into()),
        (full("rate /s"), |it| number(it.rate_per_s).into()),
        (short("outcome", 16).words(), outcome),
        (short("arrived /s", 10), |it| number(it.offered_per_s).into()),
        (short("completed /s", 12), |it| number(it.completed_per_s).into()),
        (full("expected /s"), |it| number(it.expected_per_s).into()),
        (short("lost /s", 7), |it| number(it.lost_per_s()).into()),
        (short("p50", 7), |it| time(it.response_p50_ms).into()),
        (short(&percentile, 9), response),
        (short("in progress", 11), |it| number(it.in_flight).into()),
        (full("first byte"), |it| or_none(it.phases[FIRST_BYTE], time).into()),
        (full("full handshakes"), |it| percent(it.full_handshake_share)),
    ];
    if observed {
        columns.extend([
            (short("site, CPUs", 10), (|it| cpus(it, |it| Some(it.cpus))) as CellOf<Step, Cell>),
            (full("busiest thread"), |it| cpus(it, |it| Some(it.busiest_thread))),
            (full("machine, CPUs"), |it| cpus(it, |it| it.machine_busy)),
            (full("accept queue"), |it| {
                or_none(it.host.as_ref(), |it| it.accept_queue.to_string()).into()
            }),
        ]);
    }
    columns.push((full("driver"), |it| percent(it.driver_cpu_share)));
    Table::of(steps, &columns)
}

/// The heading and the line of a step for a terminal, which align with those of other steps.
pub fn line(step: &Step, limit: Limit) -> (String, String) {
    let text = table([step], limit, true).text_within(0);
    let (heading, line) = text.split_once('\n').unwrap_or_default();
    (heading.to_owned(), line.trim_end().to_owned())
}

fn outcome(step: &Step) -> Cell {
    let missed = if step.outcome == Outcome::Carried { "" } else { "missed" };
    Cell::from(step.outcome.in_words()).class(missed)
}

fn response(step: &Step) -> Cell {
    let bound = if step.response.is_lower_bound { ">\u{a0}" } else { "" };
    format!("{bound}{}", time(step.response.ms)).into()
}

fn percent(share: f64) -> Cell {
    format!("{:.0} %", 100.0 * share).into()
}

fn cpus(step: &Step, of: fn(&HostUse) -> Option<f64>) -> Cell {
    or_none(step.host.as_ref().and_then(of), |cpus| format!("{cpus:.2}")).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::step::tests::{LIMIT, step};

    #[test]
    fn lines_of_a_terminal_align_with_their_heading_whatever_the_step() {
        let late = Step { host: Some(HostUse::default()), ..step(12_345.0, 9_876.0, 45_000.0) };
        let (heading, carried) = line(&step(20.0, 20.0, 120.0), LIMIT);
        let (again, lost) = line(&late, LIMIT);
        assert_eq!(heading, again);
        assert!(heading.contains("p95") && !heading.contains("expected"), "{heading}");
        assert!(carried.contains("carried") && carried.contains("120 ms"), "{carried}");
        let widths = [&heading, &carried, &lost].map(|line| line.chars().count());
        assert_eq!(widths, [widths[0]; 3], "{heading}\n{carried}\n{lost}");
    }
}
