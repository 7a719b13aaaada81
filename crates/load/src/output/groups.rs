//! The table of the classes of customers, or of the entries of the arrivals.

use tidegate_stats::Percentiles;

use super::paragraph::WIDTH;
use super::percentiles::percentile;
use crate::result::figures::GroupFigures;

/// The columns of numbers; together with the unit of the last ones they fill a line.
const COLUMNS: [(&str, usize); 9] = [
    ("offered", 8),
    ("refused", 8),
    ("completed", 10),
    ("abandoned", 10),
    ("failed", 8),
    ("requests", 9),
    ("p50", 8),
    ("p95", 8),
    ("p99", 8),
];

/// A table of the groups, if there are several. Their names may be long, so each has a line of
/// its own, behind what they are.
pub(super) fn groups(kind: &str, groups: &[GroupFigures]) -> Vec<String> {
    if groups.is_empty() {
        return Vec::new();
    }
    let head: String = COLUMNS.iter().map(|(name, width)| format!("{name:>width$}")).collect();
    let mut lines = vec![format!("{head} ms")];
    for group in groups {
        lines.push(shortened(&format!("{kind} {}", group.name), WIDTH));
        lines.push(figures(group));
    }
    lines
}

fn figures(group: &GroupFigures) -> String {
    let counts = [
        group.offered,
        group.refused,
        group.completed,
        group.abandoned,
        group.failed,
        group.requests_ok,
    ];
    let times: &Percentiles = &group.response;
    let times = [0.5, 0.95, 0.99].map(|q| match times.is_empty() {
        true => "-".to_owned(),
        false => percentile(times, q),
    });
    let widths = COLUMNS.iter().map(|(_, width)| *width);
    let counts = counts.into_iter().zip(widths.clone());
    let counts = counts.map(|(count, width)| format!("{:>width$}", short(count, width - 1)));
    let times = times.iter().zip(widths.skip(counts.len()));
    let times = times.map(|(time, width)| format!("{time:>width$}"));
    counts.chain(times).collect()
}

/// A count of at most so many characters: of thousands or millions where it is longer.
fn short(count: u64, width: usize) -> String {
    let plain = count.to_string();
    if plain.len() <= width {
        return plain;
    }
    let thousands = [("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12)];
    let shown = thousands.map(|(unit, of)| format!("{:.1}{unit}", count as f64 / of));
    shown.into_iter().find(|shown| shown.len() <= width).unwrap_or(plain)
}

/// A text of at most so many characters.
pub(super) fn shortened(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_fits_a_terminal_whatever_its_names_and_numbers() {
        let response = Percentiles {
            count: 864_000_000,
            p50_ms: 59_000.0,
            p95_ms: 60_000.0,
            p99_ms: 3_599_999.0,
            ..Percentiles::default()
        };
        let group = GroupFigures {
            name: "partly open: sessions in a wave of 123.456/s ± 50 %, Poisson (a class whose name is long)".to_owned(),
            offered: 864_000_000,
            refused: 99_999_999,
            completed: 864_000_000,
            requests_ok: 8_640_000_000,
            response,
            ..GroupFigures::default()
        };
        let lines = groups("arrivals", &[group.clone(), group]);
        assert_eq!(lines.len(), 5);
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH), "{lines:#?}");
        assert_eq!(lines[0].chars().count(), WIDTH);
        assert!(lines[1].starts_with("arrivals partly open: sessions in a wave"), "{lines:#?}");
        let cells: Vec<&str> = lines[2].split_whitespace().collect();
        let expected =
            ["864.0M", "100.0M", "864000000", "0", "0", "8640.0M", "59000", "60000", "3599999"];
        assert_eq!(cells, expected);
        assert!(groups("class", &[]).is_empty());
    }

    #[test]
    fn a_cohort_without_an_answer_has_no_percentiles() {
        let lines =
            groups("class", &[GroupFigures { name: "bots".to_owned(), ..Default::default() }]);
        assert_eq!(lines[1], "class bots");
        assert!(lines[2].ends_with("0       -       -       -"), "{lines:#?}");
    }

    #[test]
    fn a_long_name_is_cut() {
        assert_eq!(shortened("Home", 36), "Home");
        let cut = shortened(&"é".repeat(50), 36);
        assert_eq!((cut.chars().count(), cut.ends_with("é…")), (36, true));
    }
}
