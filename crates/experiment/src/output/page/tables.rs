//! The tables of a page.

use maud::{Markup, html};
use serde_json::Value;
use tidegate_report::{Cell, Page, Table};

use super::{Report, scalability};
use crate::metrics::messages;
use crate::summary::Row;
use crate::wording::{BY_REFERENCE, cell, head};

/// Every table that is short enough to read; the others are in the summary.
pub(super) fn all(page: Page, report: &Report<'_>) -> Page {
    let of = |name: &str| report.summary.tables.get(name).map(Vec::as_slice).unwrap_or_default();
    let beside = |rows: &[Row], name: &str| rows.iter().any(|row| row.contains_key(name));
    let section = |page: Page, title: &str, about: Markup, of: &[Row]| {
        let table = rows(report, of);
        page.only_if(!of.is_empty(), |page| page.heading(title).soft(about).table(&table))
    };
    let folded = |page: Page, title: &str, of: &[Row]| {
        page.only_if(!of.is_empty(), |page| page.folded(title, rows(report, of)))
    };
    let (points, series) = (of("points"), of("series"));
    let (in_series, in_windows): (&[Row], &[Row]) =
        if series.is_empty() { (&[], points) } else { (points, &[]) };
    let about = html! { "Means over the rounds, from the start of each service on. "
    @if beside(points, "paper_overall_per_s") { "Columns of the paper: Tomcat 5 on two processors of 450 MHz; of GT3, a SOAP toolkit of that time, it reports the rate alone." } };
    let page = section(page, "Key numbers", about, in_series);
    let about = html! { "Times divided by those of the other level in the same round." };
    let page = section(page, "Compared with another level", about, of("ratios"));
    let page = folded(page, "Every series", series);
    let (costs, knee) = (of("costs"), of("knee"));
    let about = html! { "At the number of customers with the highest throughput." };
    let page = section(page, "What a request costs", about, costs);
    let about = html! { "New clients per second at the load with the highest throughput. Overload is from 1.5 times the capacity on, with a row for each such load; shares are of the capacity that a baseline without admission control measured in the same round."
    @if beside(knee, "paper_new_clients_per_s") { " Columns of the paper: Tables 1 and 2, on one to four processors of 1.4 GHz with RSA-1024." } };
    let page = section(page, "Peak, and what is left in overload", about, knee);
    let page = report.experiment.tables.iter().fold(page, |page, table| {
        let about = html! { (table.note) };
        section(page, &table.title, about, of(&table.id))
    });
    let about = html! { "Whole servers of each group, by the capacity of one." };
    let page = section(page, "Servers", about, of("servers"));
    let about = html! { "What a kind of connection adds to an interaction, and the CPU time that an interaction must take in the clear so that it adds at most the share. The added time is that of all transactions together, weighted by the inverse square of their CPU time." };
    let page = section(page, "How much work hides the connection", about, of("crossing"));
    let about = html! { "Differences and ratios of runs of the same round. The work is the CPU time in the clear." };
    let page = section(page, "What a connection adds to each transaction", about, of("overhead"));
    let page = scalability::section(page, report, of("scalability"));
    let about = html! { "At each load." };
    let page = section(page, "Share of full handshakes", about, of("handshakes"));
    let page = folded(page, "Every combination, mean over the rounds", in_windows);
    let about = html! { "Mean milliseconds" @if costs.is_empty() { ", at each load" } ". Phases of " code { "customer" } " are those that the customers observe." };
    let page = section(page, "Time by phase", about, &by_phase(of("phases")));
    folded(page, "Capacities and baselines", of("baselines"))
}

/// A row for each combination, with a column for each phase.
fn by_phase(rows: &[Row]) -> Vec<Row> {
    let mut wide: Vec<(Row, Row)> = Vec::new();
    for row in rows {
        let is_level = |name: &str| name != "phase" && !name.starts_with("mean_ms");
        let levels = row.iter().filter(|(name, _)| is_level(name));
        let levels: Row = levels.map(|(name, value)| (name.clone(), value.clone())).collect();
        let phase = row.get("phase").and_then(Value::as_str).unwrap_or_default();
        // A second column for each would make the table too wide; they are in the summary.
        if phase.ends_with(".cpu") {
            continue;
        }
        let of_phase = row.iter().filter_map(|(name, value)| {
            let end = name.strip_prefix("mean_ms")?;
            Some((format!("{phase}{end}"), value.clone()))
        });
        match wide.iter_mut().find(|(known, _)| *known == levels) {
            Some((_, phases)) => phases.extend(of_phase),
            None => wide.push((levels, of_phase.collect())),
        }
    }
    let joined = |(mut levels, phases): (Row, Row)| {
        levels.extend(phases);
        levels
    };
    wide.into_iter().map(joined).collect()
}

fn rows(report: &Report<'_>, rows: &[Row]) -> Table {
    let mut columns: Vec<&str> = Vec::new();
    for name in rows.iter().flat_map(|row| row.keys()) {
        if !name.ends_with("_95") && !columns.contains(&name.as_str()) {
            columns.push(name);
        }
    }
    // Factors first: a map of JSON is in the order of its letters.
    let place = |name: &str| report.experiment.factors.iter().position(|it| it.name == name);
    columns.sort_by_key(|name| (place(name).unwrap_or(usize::MAX), order(name)));
    let is_text = |name: &str| rows.iter().any(|row| row.get(name).is_some_and(Value::is_string));
    let words: Vec<usize> = (0..columns.len()).filter(|at| is_text(columns[*at])).collect();
    let heads = columns.iter().map(|name| match *name {
        "processors" => report.unit.to_owned(),
        name => head(name),
    });
    let mut table = Table::new(heads).class("dense levels").words(&words);
    for row in rows {
        table.row(columns.iter().map(|name| match row.get(*name) {
            Some(Value::String(text)) => Cell::from(text.as_str()).class(text),
            value => {
                let range = interval(name, row);
                let shown =
                    html! { (cell(name, value)) @if let Some(range) = range { small { (range) } } };
                Cell::from(cell(name, value)).markup(shown)
            }
        }));
    }
    table
}

/// The interval of a figure: `12 to 14`.
fn interval(name: &str, row: &Row) -> Option<String> {
    let end = |end: &str| Some(cell(name, Some(row.get(&format!("{name}_{end}_95"))?)));
    Some(format!("{} to {}", end("low")?, end("high")?))
}

/// Columns in the order of reading.
fn order(name: &str) -> usize {
    const ORDER: [&str; 62] = [
        "run",
        "series",
        "compared_with",
        "at",
        "customer.connect",
        "customer.full_handshake",
        "customer.resumed_handshake",
        "customer.first_byte",
        "customer.last_byte",
        "rounds",
        "customers",
        "site",
        "busy_servers",
        "servers",
        "work_ms",
        "added_cpu_ms",
        "added_cpu_share",
        "added_response_ms",
        "crossing_ms",
        "customers_per_server",
        "price",
        "price_per_customer",
        "customers_at_a_time",
        "customers_of_capacity",
        "capacity_per_s",
        "server_use",
        "busy_cpus",
        "context_switches_per_s",
        "requests_in_progress",
        "processors",
        "certificate",
        "tls",
        "offered_per_s",
        "new_clients_per_s",
        "paper_new_clients_per_s",
        "peak_requests_per_s",
        "paper_peak_requests_per_s",
        "overloaded_at",
        "overloaded_requests_per_s",
        "paper_overloaded_requests_per_s",
        "overloaded_requests_of_capacity",
        "paper_overloaded_share_of_peak",
        "overloaded_completed_of_capacity",
        "overloaded_completed_per_offered",
        "requests_per_s",
        "requests_of_capacity",
        "completed_per_s",
        "completed_of_capacity",
        "completed_per_offered",
        "refused_per_s",
        "completed_ratio",
        "response_mean_ms",
        "response_p95_ms",
        "handshake_time_share",
        "full_handshake_share",
        "cpu_ms_per_request",
        "web_cpu_ms_per_request",
        "app_cpu_ms_per_request",
        "data_cpu_ms_per_request",
        "database_cpu_ms_per_request",
        "cpu_ms_per_session",
        "bytes_per_request",
    ];
    let of_paper = name.trim_start_matches("paper_").trim_end_matches(BY_REFERENCE);
    let place = |name: &str| {
        let quantities = messages::QUANTITIES.map(|(quantity, ..)| quantity);
        messages::OF_POINTS.into_iter().chain(quantities).position(|known| known == name)
    };
    let known = ORDER.iter().position(|known| *known == name);
    known.unwrap_or_else(|| ORDER.len() + place(of_paper).unwrap_or(usize::MAX - ORDER.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn phases_stand_side_by_side_in_the_row_of_their_combination() {
        let row = |at: &str, phase: &str, mean: f64| json!({ "policy": "off", "at": at, "phase": phase, "mean_ms": mean });
        let rows = [row("below", "a", 1.0), row("below", "b", 2.0), row("overloaded", "a", 3.0)];
        let rows: Vec<Row> = rows.iter().map(|row| row.as_object().unwrap().clone()).collect();
        let wide = by_phase(&rows);
        assert_eq!(wide.len(), 2);
        assert_eq!((&wide[0]["a"], &wide[0]["b"]), (&json!(1.0), &json!(2.0)));
        assert_eq!(wide[1].get("b"), None);
    }
}
