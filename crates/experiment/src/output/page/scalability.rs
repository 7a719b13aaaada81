//! The laws of scalability of a page: peaks by processors, and the fitted coefficients.

use maud::html;
use serde_json::Value;
use tidegate_report::{Page, Table};

use super::Report;
use crate::summary::Row;

/// The coefficients: column in the row, and heading.
const COEFFICIENTS: [(&str, &str); 3] =
    [("usl_alpha", "α"), ("usl_beta", "β"), ("amdahl_sigma", "Amdahl's σ")];
/// The laws: column of the warning, and name.
const LAWS: [(&str, &str); 2] =
    [("usl_warning", "Universal Scalability Law"), ("amdahl_warning", "Amdahl's law")];
/// Around the number of processors in the name of a column.
const PEAK: (&str, &str) = ("peak_with_", "_requests_per_s_at_speed");

/// The section of the table `scalability`; nothing without rows.
pub(super) fn section(page: Page, report: &Report<'_>, rows: &[Row]) -> Page {
    if rows.is_empty() {
        return page;
    }
    let named = report.experiment.factors.iter().map(|factor| factor.name.as_str());
    let factors: Vec<&str> = named.filter(|name| has(rows, name)).collect();
    let processors = processors(rows);
    let is_published = has(rows, "paper_amdahl_sigma");
    let soft = html! {
        "Peak throughput in requests per second by number of " (report.unit) ", divided by the machine's speed at the time. "
        "Of the Universal Scalability Law X(N) = λN / (1 + α(N − 1) + βN(N − 1)) α is contention and β coherency; Amdahl's law is that with β = 0. "
        "In brackets the bounds that 95 % of 1000 bootstrap draws lie within."
        @if is_published { " The paper's coefficients are those of the same laws fitted to its Table 1." }
    };
    let published = || COEFFICIENTS.iter().filter(|_| is_published);
    let heads = factors.iter().map(|factor| (*factor).to_owned());
    let heads = heads.chain(processors.iter().map(|n| format!("peak with {n}")));
    let heads = heads.chain(COEFFICIENTS.map(|(_, head)| head.to_owned()));
    let heads = heads.chain(published().map(|(_, head)| format!("paper: {head}")));
    let words: Vec<usize> = (0..factors.len()).collect();
    let mut table = Table::new(heads).class("dense levels").words(&words);
    for row in rows {
        let cells = factors.iter().map(|factor| text(row, factor).to_owned());
        let cells = cells.chain(processors.iter().map(|n| peak(row, n)));
        let cells = cells.chain(COEFFICIENTS.map(|(name, _)| coefficient(row, name)));
        table.row(cells.chain(published().map(|(name, _)| number(row, &format!("paper_{name}")))));
    }
    page.heading("Scalability by processors")
        .soft(soft)
        .table(&table)
        .notes(&warnings(rows, &factors))
}

fn has(rows: &[Row], name: &str) -> bool {
    rows.iter().any(|row| row.contains_key(name))
}

/// The numbers of processors that have a column, from few to many.
fn processors(rows: &[Row]) -> Vec<&str> {
    let columns = rows.iter().flat_map(|row| row.keys());
    let numbers = columns.filter_map(|name| name.strip_prefix(PEAK.0)?.strip_suffix(PEAK.1));
    let mut all: Vec<&str> = numbers.collect();
    let value = |text: &str| text.parse().unwrap_or(f64::MAX);
    all.sort_by(|a, b| value(a).total_cmp(&value(b)));
    all.dedup();
    all
}

fn text<'r>(row: &'r Row, name: &str) -> &'r str {
    row.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn peak(row: &Row, processors: &str) -> String {
    let value = row.get(&format!("{}{processors}{}", PEAK.0, PEAK.1)).and_then(Value::as_f64);
    value.map_or_else(|| "–".into(), |value| format!("{value:.0}"))
}

fn number(row: &Row, name: &str) -> String {
    let value = row.get(name).and_then(Value::as_f64);
    value.map_or_else(|| "–".into(), |value| format!("{value:.3}"))
}

/// A coefficient with its bounds.
fn coefficient(row: &Row, name: &str) -> String {
    let [low, high] = ["low", "high"].map(|end| number(row, &format!("{name}_{end}_95")));
    match row.get(name).is_some_and(Value::is_number) {
        true => format!("{} ({low} to {high})", number(row, name)),
        false => "–".into(),
    }
}

/// What is wrong with the fits, each warning once with the configurations that it is of.
fn warnings(rows: &[Row], factors: &[&str]) -> Vec<String> {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    let mut add = |warning: String, of: String| match all.iter_mut().find(|it| it.0 == warning) {
        // The paper's figures stand beside several configurations.
        Some((_, known)) if known.contains(&of) => {}
        Some((_, known)) => known.push(of),
        None => all.push((warning, vec![of])),
    };
    for row in rows {
        let levels: Vec<&str> = factors.iter().map(|factor| text(row, factor)).collect();
        let of = if levels.is_empty() { "here".into() } else { levels.join(", ") };
        for (column, law) in LAWS {
            for (prefix, whose) in [("", of.as_str()), ("paper_", "the paper")] {
                let warning = row.get(&format!("{prefix}{column}")).and_then(Value::as_str);
                if let Some(warning) = warning {
                    add(format!("{law}: {warning}."), whose.to_owned());
                }
            }
        }
    }
    all.into_iter().map(|(warning, whose)| format!("{warning} ({})", whose.join("; "))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rows() -> Vec<Row> {
        let row = |policy: &str, paper: bool| {
            let mut row = json!({
                "policy": policy,
                "peak_with_2_requests_per_s_at_speed": 155.4,
                "peak_with_16_requests_per_s_at_speed": 400.0,
                "usl_beta": -0.0131,
                "usl_beta_low_95": -0.02,
                "usl_beta_high_95": -0.01,
                "usl_warning": "coherency is negative",
                "amdahl_sigma": null,
                "amdahl_warning": null,
            });
            if paper {
                row["paper_usl_warning"] = json!("coherency is negative");
            }
            row.as_object().unwrap().clone()
        };
        vec![row("off", true), row("eac", false), row("tide", true)]
    }

    #[test]
    fn coefficients_have_their_bounds_and_peaks_stand_by_processors() {
        let rows = rows();
        assert_eq!(processors(&rows), ["2", "16"]);
        assert_eq!(peak(&rows[0], "2"), "155");
        assert_eq!(coefficient(&rows[0], "usl_beta"), "-0.013 (-0.020 to -0.010)");
        assert_eq!(coefficient(&rows[0], "amdahl_sigma"), "–");
        assert_eq!(coefficient(&rows[0], "usl_alpha"), "–");
    }

    #[test]
    fn a_warning_stands_once_with_all_that_it_is_about() {
        assert_eq!(
            warnings(&rows(), &["policy"]),
            ["Universal Scalability Law: coherency is negative. (off; the paper; eac; tide)"]
        );
    }
}
