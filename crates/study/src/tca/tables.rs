//! The tables, for a terminal and for the page.

use tidegate_plan::Range;
use tidegate_report::number::{bytes, number, or_none, percent, range, time};
use tidegate_report::{Cell, Column, Table};

use super::resources::Unit;
use super::verify::Verification;
use super::{Cost, Report};

/// An amount of a resource.
pub(super) fn amount(unit: Unit) -> fn(f64) -> String {
    match unit {
        Unit::CpuSeconds => |seconds| time(1e3 * seconds),
        Unit::Bytes => bytes,
        Unit::Share => |share| time(1e3 * share),
    }
}

/// The ends of an interval in an amount.
fn ends(of: Option<Range>, show: fn(f64) -> String) -> String {
    or_none(of, |it| range((it.low, it.high), show))
}

/// What each operation costs of each resource, and where its costs begin to rise.
pub(super) fn costs(report: &Report) -> Table {
    let mut heads =
        vec![Column::new("operation"), Column::new("a session"), Column::new("runs").rank(2)];
    let several = report.resources.iter().filter(|it| it.unit == Unit::CpuSeconds && !it.driver);
    let several = several.count() > 1;
    for it in &report.resources {
        let rank = u8::from(it.driver) * 2 + u8::from(it.unit == Unit::Bytes) * 3;
        let head = match it.unit {
            Unit::CpuSeconds if !it.driver && !several => "CPU time".to_owned(),
            Unit::CpuSeconds => format!("{}, CPU", it.name),
            _ => it.name.clone(),
        };
        heads.push(Column::new(head).rank(rank));
        heads.push(Column::new("95 %").rank(rank + u8::from(several)));
    }
    if report.options.mhz.is_some() {
        heads.push(Column::new("megacycles"));
    }
    heads.extend([Column::new("linear up to /s"), Column::new("then").words()]);
    let mut table = Table::new(heads);
    for (at, cost) in report.costs.operations.iter().enumerate() {
        if cost.is_unseen() {
            continue;
        }
        let mut cells: Vec<Cell> = vec![
            cost.operation.clone().into(),
            or_none(report.profile.per_session(&cost.operation), |it| number(it.value)).into(),
            cost.runs.to_string().into(),
        ];
        for (resource, used) in report.resources.iter().zip(&cost.used) {
            let show = amount(resource.unit);
            cells.push(or_none(*used, |it| show(it.value)).into());
            cells.push(ends(*used, show).into());
        }
        if let Some(mhz) = report.options.mhz {
            cells.push(or_none(report.cpu_s(at), |it| number(it.value * mhz)).into());
        }
        cells.push(or_none(cost.curve, |it| number(it.up_to)).into());
        cells.push(then(cost).into());
        table.row(cells);
    }
    table
}

/// What comes beyond the linear part of an operation's curve.
fn then(cost: &Cost) -> String {
    let mut text = match (cost.ceiling_per_s, cost.curve) {
        (Some(ceiling), _) => format!("no more than {}/s", number(ceiling)),
        (None, Some(curve)) if curve.ends => "costs rise".to_owned(),
        (None, Some(_)) => "not seen".to_owned(),
        (None, None) if cost.runs > 0 => "no line".to_owned(),
        (None, None) => String::new(),
    };
    if cost.group.is_some() {
        text += if text.is_empty() { "not told apart" } else { "; not told apart" };
    }
    text
}

/// What a session uses of each resource, and how many sessions it suffices for.
pub(super) fn sums(report: &Report) -> Table {
    let heads = ["resource", "a session", "95 %", "usable", "sessions /s", "95 %"];
    let mut table = Table::new(heads);
    for (at, it) in report.predicted.sums.iter().enumerate() {
        let show = amount(it.unit);
        let usable = match it.unit {
            Unit::CpuSeconds => or_none(it.usable_per_s, |it| format!("{} processors", number(it))),
            Unit::Bytes => or_none(it.usable_per_s, bytes),
            Unit::Share => or_none(it.usable_per_s, |_| "all of the time".to_owned()),
        };
        let tightest = if report.predicted.tightest == Some(at) { " (tightest)" } else { "" };
        table.row([
            format!("{}{tightest}", it.resource),
            show(it.session.value),
            range((it.session.low, it.session.high), show),
            usable,
            or_none(it.sessions_per_s, |it| number(it.value)),
            or_none(it.sessions_per_s, |it| range((it.low, it.high), number)),
        ]);
    }
    table
}

/// The steps of the verification.
pub(super) fn steps<'v>(steps: impl IntoIterator<Item = &'v Verification>) -> Table {
    let short = |head: &str, least: usize| Column::new(head).least(least);
    let mut table = Table::new([
        short("load", 6),
        short("arrived /s", 10),
        short("completed /s", 12),
        short("predicted, CPUs", 15),
        short("measured, CPUs", 14),
        short("error", 8),
        short("p95", 9).rank(1),
        short("outcome", 16).words(),
    ]);
    for it in steps {
        let error = it.cpus().map(|cpus| cpus / it.predicted_cpus.max(1e-9) - 1.0);
        table.row([
            format!("{}×", it.multiple),
            number(it.step.offered_per_s),
            number(it.step.completed_per_s),
            if it.cpus().is_some() {
                number(it.predicted_cpus)
            } else {
                or_none(None::<f64>, number)
            },
            or_none(it.cpus(), number),
            or_none(error, percent),
            time(it.step.response.ms),
            it.step.outcome.in_words().to_owned(),
        ]);
    }
    table
}
