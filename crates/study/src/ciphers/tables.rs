//! The tables, for a terminal and for the page.

use tidegate_report::number::{bytes, number, or_none, percent, range, time};
use tidegate_report::{Column, Table};
use tidegate_stats::Interval;

use super::Report;
use super::modes::Mode;

fn with_range(of: Option<Interval>) -> [String; 2] {
    [or_none(of, |it| time(it.value)), or_none(of, |it| range(it.ends(), time))]
}

/// What a session costs, by kind of connection and how connections are used.
pub(super) fn sessions(report: &Report) -> Table {
    let found = &report.found;
    let mut columns = vec![Column::new("connection"), Column::new("used as").words()];
    if found.is_cpu {
        columns.extend([Column::new("CPU time"), Column::new("95 %").rank(2)]);
    }
    columns.extend([
        Column::new("response time"),
        Column::new("95 %").rank(2),
        Column::new("bytes"),
        Column::new("round trips"),
        Column::new("handshakes").rank(1),
        Column::new("share of handshakes").rank(1),
    ]);
    let mut table = Table::new(columns);
    for it in &found.sessions {
        let mut cells = vec![report.kinds[it.kind].name(), it.mode.name().to_owned()];
        if found.is_cpu {
            cells.extend(with_range(it.cpu_ms));
        }
        cells.extend(with_range(it.response_ms));
        cells.extend([
            or_none(it.bytes, bytes),
            or_none(it.round_trips, number),
            number(it.full + it.resumed),
            or_none(found.share(it.kind, it.mode), percent),
        ]);
        table.row(cells);
    }
    table
}

/// What a connection costs, by kind.
pub(super) fn connections(report: &Report) -> Table {
    let has_gate = report.options.gate_admin.is_some();
    let mut columns = vec![
        Column::new("connection"),
        Column::new("full handshake"),
        Column::new("95 %"),
        Column::new("resumed"),
        Column::new("95 %"),
    ];
    if has_gate {
        columns.extend([Column::new("the gate's part, full"), Column::new("resumed")]);
    }
    let mut table = Table::new(columns);
    for (at, kind) in report.kinds.iter().enumerate() {
        let Some(price) = report.found.price(at) else { continue };
        let mut cells = vec![kind.name()];
        cells.extend(with_range(Some(price.full)));
        cells.extend(with_range(price.resumed));
        if has_gate {
            let of = |mode, which: usize| report.found.session(at, mode)?.gate_ms[which];
            cells.extend([of(Mode::Full, 0), of(Mode::Resumed, 1)].map(|it| or_none(it, time)));
        }
        table.row(cells);
    }
    table
}
