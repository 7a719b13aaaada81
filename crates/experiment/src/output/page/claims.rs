//! The first tables of a page: conclusions with their verdicts.

use maud::{Markup, html};
use tidegate_report::{Cell, Page, Table};

use super::Report;
use crate::claim::Verdict;
use crate::conclusions::{self, Conclusion, HEADS};

/// A table for the paper's conclusions, one for the claims of the project, and one for checks.
pub(super) fn all(page: Page, report: &Report<'_>) -> Page {
    let tables = conclusions::tables(&report.summary.claims);
    tables.iter().fold(page, |page, (heading, rows)| page.heading(heading).table(&table(rows)))
}

/// A row for each conclusion; levels of the same one stand together.
fn table(rows: &[Conclusion]) -> Table {
    let mut table = Table::new(HEADS).class("claims").words(&[1, 2, 3, 4]);
    let mut last = "";
    for row in rows {
        let conclusion = match row.text == last {
            true => Cell::default(),
            false => {
                let shown = html! { (row.text) small { (row.source) } };
                Cell::from(row.text.as_str()).class("claim").markup(shown)
            }
        };
        let here = html! { b { (row.here) } @if !row.of.is_empty() { small { (row.of) } } };
        let cells = [
            conclusion,
            if row.text == last { Cell::default() } else { Cell::from(row.paper.as_str()) },
            Cell::from(row.here.as_str()).markup(here),
            Cell::from(row.verdict.words()).markup(verdict(row.verdict)),
            Cell::from(row.why.as_str()).class("why"),
        ];
        match row.text == last {
            true => table.part(cells),
            false => table.row(cells),
        }
        last = &row.text;
    }
    table
}

fn verdict(verdict: Verdict) -> Markup {
    let (class, sign) = match verdict {
        Verdict::Holds => ("holds", "✓"),
        Verdict::DoesNotHold => ("does-not-hold", "✗"),
        Verdict::Undecided => ("undecided", "≈"),
    };
    html! { span class=(class) { (sign) " " (verdict.words()) } }
}
