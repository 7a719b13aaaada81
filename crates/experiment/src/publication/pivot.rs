//! Tables of a page that are made from published ones, below a comment that says how:
//!
//! ```text
//! <!-- table: overload/points | rows: policy, load | columns: processors | cells: requests_per_s | where: handshake=TLS 1.3, P-256 -->
//! ```

use serde_json::json;
use tidegate_report::number::significant;

use super::expression::rows_with;
use super::figures::comment;
use super::sheet::{Sheet, Sheets};
use crate::wording::{cell, head, is_share};

/// How the comment begins.
pub(super) const TABLE: &str = "table:";

/// What a comment asks for.
#[derive(Debug, Default)]
struct Pivot<'t> {
    sheet: &'t str,
    rows: Vec<&'t str>,
    column: Option<&'t str>,
    cells: Vec<&'t str>,
    levels: Vec<(String, String)>,
    intervals: bool,
}

/// The page with its tables made anew.
///
/// # Errors
/// The line of a comment, and what is wrong with it.
pub fn renew(page: &str, sheets: &Sheets) -> Result<String, String> {
    let mut renewed = String::new();
    let mut lines = page.lines().enumerate().peekable();
    while let Some((number, line)) = lines.next() {
        renewed += line;
        renewed += "\n";
        let Some(spec) = comment(line).and_then(|it| it.strip_prefix(TABLE)) else { continue };
        let table = Pivot::read(spec).and_then(|pivot| pivot.markdown(sheets));
        renewed += &table.map_err(|error| format!("line {}: {error}", number + 1))?;
        while lines.next_if(|(_, line)| line.starts_with('|')).is_some() {}
    }
    Ok(renewed)
}

impl<'t> Pivot<'t> {
    fn read(spec: &'t str) -> Result<Self, String> {
        let mut parts = spec.split(" | ").map(str::trim);
        let mut pivot = Self { sheet: parts.next().unwrap_or_default(), ..Self::default() };
        let list = |text: &'t str| text.split(',').map(str::trim).collect::<Vec<_>>();
        for part in parts {
            let (key, value) = part.split_once(':').unwrap_or((part, ""));
            match (key.trim(), value.trim()) {
                ("rows", value) => pivot.rows = list(value),
                ("columns", value) => pivot.column = Some(value),
                ("cells", value) => pivot.cells = list(value),
                ("intervals", "") => pivot.intervals = true,
                ("where", value) => {
                    let level = |text: &str| {
                        let (name, level) = text.split_once('=')?;
                        Some((name.trim().to_owned(), level.trim().to_owned()))
                    };
                    let levels = value.split(';').map(level).collect::<Option<_>>();
                    pivot.levels = levels
                        .ok_or_else(|| format!("{value:?}: write where: NAME=LEVEL; NAME=LEVEL"))?;
                }
                (key, _) => {
                    return Err(format!(
                        "{key:?} is unknown; write rows, columns, cells, where or intervals"
                    ));
                }
            }
        }
        if pivot.rows.is_empty() || pivot.cells.is_empty() {
            return Err("a table needs rows: NAMES and cells: COLUMNS".into());
        }
        if pivot.column.is_some() && pivot.cells.len() != 1 {
            return Err("with columns: NAME a table has one column in cells:".into());
        }
        Ok(pivot)
    }

    fn markdown(&self, sheets: &Sheets) -> Result<String, String> {
        let sheet = &*sheets.sheet(self.sheet)?;
        let selected = rows_with(self.sheet, sheet, &self.levels)?;
        let place = |name: &str| sheet.column(name).map_err(|it| format!("{} {it}", self.sheet));
        let row_places = self.rows.iter().map(|name| place(name)).collect::<Result<Vec<_>, _>>()?;
        let column_place = self.column.map(place).transpose()?;
        let mut columns: Vec<&str> = Vec::new();
        let mut rows: Vec<(Vec<&str>, Vec<&[String]>)> = Vec::new();
        for row in selected {
            let labels: Vec<&str> = row_places.iter().map(|at| row[*at].as_str()).collect();
            if let Some(at) = column_place
                && !columns.contains(&row[at].as_str())
            {
                columns.push(&row[at]);
            }
            match rows.iter_mut().find(|(known, _)| *known == labels) {
                Some((_, of)) => of.push(row),
                None => rows.push((labels, vec![row])),
            }
        }
        // Rows with the same level of the first column stand together, in the order of the table.
        let order = |at: usize, label: &str| sheet.rows.iter().position(|row| row[at] == label);
        rows.sort_by_key(|(labels, _)| {
            let places = row_places.iter().zip(labels);
            places.map(|(at, label)| order(*at, label)).collect::<Vec<_>>()
        });
        let heads = self.rows.iter().map(|name| name.replace('_', " "));
        let heads: Vec<String> = match column_place {
            Some(_) => heads.chain(columns.iter().map(|it| (*it).to_owned())).collect(),
            None => heads.chain(self.cells.iter().map(|name| head(name))).collect(),
        };
        let mut text = line(&heads) + &line(&vec!["---".to_owned(); heads.len()]);
        let mut last = "";
        for (labels, of) in &rows {
            let first = if labels[0] == last { "" } else { labels[0] };
            last = labels[0];
            let mut cells = vec![first.to_owned()];
            cells.extend(labels[1..].iter().map(|label| (*label).to_owned()));
            match (column_place, &of[..]) {
                (Some(at), _) => {
                    for column in &columns {
                        let row = of.iter().find(|row| row[at] == **column);
                        cells.push(match row {
                            Some(row) => self.cell(sheet, row, self.cells[0])?,
                            None => "–".into(),
                        });
                    }
                }
                (None, [row]) => {
                    for name in &self.cells {
                        cells.push(self.cell(sheet, row, name)?);
                    }
                }
                (None, _) => {
                    return Err(format!(
                        "{} rows have {labels:?}; name more columns in rows: or levels in where:",
                        of.len()
                    ));
                }
            }
            text += &line(&cells);
        }
        Ok(text)
    }

    fn cell(&self, sheet: &Sheet, row: &[String], name: &str) -> Result<String, String> {
        let figure = |column: &str| -> Result<String, String> {
            let at = sheet.column(column).map_err(|it| format!("{} {it}", self.sheet))?;
            let number = row[at].parse::<f64>().ok();
            Ok(match number {
                Some(0.0) => "0".into(),
                Some(number) if number.abs() < 100.0 && !is_share(name) => significant(number, 3),
                number => cell(name, number.map(|number| json!(number)).as_ref()),
            })
        };
        let shown = figure(name)?;
        let ends = [format!("{name}_low_95"), format!("{name}_high_95")];
        // Of one round there is none.
        let is_known = |end: &String| sheet.column(end).is_ok_and(|at| !row[at].is_empty());
        if !self.intervals || !ends.iter().all(is_known) {
            return Ok(shown);
        }
        let [low, high] = [figure(&ends[0])?, figure(&ends[1])?];
        let without_unit = |end: &str| end.trim_end_matches(['\u{a0}', ' ', '%']).to_owned();
        Ok(format!("{shown} ({} to {})", without_unit(&low), without_unit(&high)))
    }
}

/// A row of a table of Markdown.
pub(super) fn line(cells: &[String]) -> String {
    let cells = cells.iter().map(|cell| cell.replace('|', "\\|").replace('\n', " "));
    format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renewed(page: &str) -> Result<String, String> {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("o")).unwrap();
        let points = "\
policy,load,requests_per_s,requests_per_s_low_95,requests_per_s_high_95,completed_ratio
off,0.9,123.4,100.1,146.7,1
off,4,7.04,0,20,0.05
tide,4,130.2,,,1
";
        let shares = "policy,use_share,use_share_low_95,use_share_high_95\noff,0.32,0.28,0.36\n";
        std::fs::write(root.path().join("o/shares.csv"), shares).unwrap();
        std::fs::write(root.path().join("o/points.csv"), points).unwrap();
        renew(page, &Sheets::new(root.path()))
    }

    #[test]
    fn a_level_of_one_factor_becomes_a_column_and_an_old_table_is_replaced() {
        let page = "a\n\n<!-- table: o/points | rows: policy | columns: load | cells: requests_per_s -->\n| old |\n\nb\n";
        let expected = "| policy | 0.9 | 4 |\n| --- | --- | --- |\n| off | 123 | 7.04 |\n| tide | – | 130 |\n\nb\n";
        let made = renewed(page).unwrap();
        assert!(made.ends_with(expected) && !made.contains("old"), "{made}");
        assert_eq!(renewed(&made).unwrap(), made);
    }

    #[test]
    fn rows_of_one_level_stand_together_in_the_order_of_the_table() {
        let made =
            renewed("<!-- table: o/points | rows: load, policy | cells: completed_ratio -->")
                .unwrap();
        let rows: Vec<&str> = made.lines().skip(3).collect();
        assert_eq!(rows, ["| 0.9 | off | 100 % |", "| 4 | off | 5.0 % |", "|  | tide | 100 % |"]);
    }

    #[test]
    fn several_metrics_stand_side_by_side_with_their_intervals() {
        let page = "<!-- table: o/points | rows: policy, load | cells: requests_per_s, completed_ratio | where: policy=off | intervals -->";
        let made = renewed(page).unwrap();
        let expected = "| policy | load | requests/s | completed ratio |\n| --- | --- | --- | --- |\n| off | 0.9 | 123 (100 to 147) | 100 % |\n|  | 4 | 7.04 (0 to 20.0) | 5.0 % |\n";
        assert!(made.ends_with(expected), "{made}");
    }

    #[test]
    fn an_interval_has_its_unit_once_and_one_round_has_none() {
        let page = "<!-- table: o/shares | rows: policy | cells: use_share | intervals -->";
        let made = renewed(page).unwrap();
        assert!(made.ends_with("| off | 32 % (28 to 36) |\n"), "{made}");
        let page = "<!-- table: o/points | rows: policy | columns: load | cells: requests_per_s | intervals -->";
        let made = renewed(page).unwrap();
        assert!(made.ends_with("| tide | – | 130 |\n"), "{made}");
    }

    #[test]
    fn a_table_that_cannot_be_made_says_in_which_line_and_why() {
        for (spec, expected) in [
            ("o/points | rows: policy", "line 2: a table needs"),
            ("o/points | rows: policy, load | cells: x", "has no column x"),
            ("o/points | rows: policy | cells: load", "name more columns"),
            ("o/points | row: policy", "\"row\" is unknown"),
            ("o/points | rows: policy | cells: load | where: policy=on", "has no row"),
        ] {
            let error = renewed(&format!("\n<!-- table: {spec} -->")).unwrap_err();
            assert!(error.contains(expected), "{spec}: {error}");
        }
    }
}
