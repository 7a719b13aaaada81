//! Where a figure comes from: cells of a table, a quotient or difference of two, and what is taken
//! of the rows.
//!
//! ```text
//! mean overload/points[policy=off; load=2|4].completed_per_s / max [policy=off; processors=*].completed_per_s
//! ```
//!
//! `|` separates levels. After ` / ` or ` - ` the table is the same one if none is named, and the row is the
//! same one if no levels are given; `*` is the level of the row on the left.

use super::sheet::{Sheet, Sheets};

/// Cells, a quotient or difference, and what is taken of it.
#[derive(Clone, Debug)]
pub struct Expression {
    cells: Cells,
    right: Option<(Operator, Cells)>,
}

/// What is done with the cells on both sides.
type Operator = fn(f64, f64) -> f64;

const OPERATORS: [(&str, Operator); 2] =
    [(" / ", |left, right| left / right), (" - ", |left, right| left - right)];

/// Cells of a column.
#[derive(Clone, Debug, PartialEq)]
struct Cells {
    take: Option<Take>,
    /// The same one, if it has none.
    sheet: Option<String>,
    /// Levels by column; none at all for the same row, or for every one.
    levels: Option<Vec<(String, String)>>,
    column: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Take {
    Mean,
    Least,
    Largest,
    Sum,
}

const TAKES: [(&str, Take); 4] =
    [("mean", Take::Mean), ("min", Take::Least), ("max", Take::Largest), ("sum", Take::Sum)];

impl Expression {
    /// Reads one.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(text: &str) -> Result<Self, String> {
        // A level may contain a stroke; the operator stands outside of brackets.
        let mut depth = 0;
        let operator = text.char_indices().find_map(|(at, letter)| {
            match letter {
                '[' => depth += 1,
                ']' => depth -= 1,
                _ => {}
            }
            let is_here = |(sign, _): &&(&str, Operator)| text[at..].starts_with(sign);
            OPERATORS.iter().find(is_here).filter(|_| depth == 0).map(|it| (at, it))
        });
        let (left, right) = match operator {
            Some((at, (sign, operator))) => {
                (&text[..at], Some((*operator, Cells::read(&text[at + sign.len()..])?)))
            }
            None => (text, None),
        };
        let cells = Cells::read(left)?;
        if cells.sheet.is_none() {
            return Err(format!("{left:?} names no table; write STUDY/TABLE[levels].column"));
        }
        Ok(Self { cells, right })
    }

    /// The column on the left, if the other side has the same unit or there is none.
    pub fn column(&self) -> Option<&str> {
        let is_same = |(_, right): &(Operator, Cells)| right.column == self.cells.column;
        self.right.as_ref().is_none_or(is_same).then_some(self.cells.column.as_str())
    }

    /// Its value.
    ///
    /// # Errors
    /// There is no such table, column or row, several rows of which nothing is taken, or no figure.
    pub fn value(&self, sheets: &Sheets) -> Result<f64, String> {
        let name = self.cells.sheet.as_deref().unwrap_or_default();
        let sheet = sheets.sheet(name)?;
        let mut values = Vec::new();
        for row in self.cells.rows(name, &sheet, None)? {
            let value = self.cells.number(name, &sheet, row)?;
            values.push(match &self.right {
                Some((operator, cells)) => {
                    operator(value, cells.beside(name, sheets, (&sheet, row))?)
                }
                None => value,
            });
        }
        self.cells.taken(name, &values)
    }
}

impl Cells {
    fn read(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let wrong = || format!("{text:?} is no cell; write STUDY/TABLE[level=value].column");
        let (take, rest) = match text.split_once(' ') {
            Some((word, rest)) if TAKES.iter().any(|(known, _)| *known == word) => {
                (TAKES.iter().find(|(known, _)| *known == word).map(|it| it.1), rest.trim())
            }
            _ => (None, text),
        };
        let (sheet, levels, column) = match rest.split_once('[') {
            Some((sheet, rest)) => {
                let (levels, column) = rest.rsplit_once("].").ok_or_else(wrong)?;
                let level = |text: &str| {
                    let (name, value) = text.split_once('=')?;
                    Some((name.trim().to_owned(), value.trim().to_owned()))
                };
                let levels = levels.split(';').map(level).collect::<Option<Vec<_>>>();
                (sheet, Some(levels.ok_or_else(wrong)?), column)
            }
            None => {
                let (sheet, column) = rest.split_once('.').ok_or_else(wrong)?;
                (sheet, None, column)
            }
        };
        if column.is_empty() {
            return Err(wrong());
        }
        let sheet = Some(sheet.trim()).filter(|sheet| !sheet.is_empty()).map(str::to_owned);
        Ok(Self { take, sheet, levels, column: column.to_owned() })
    }

    /// The rows with these levels; `beside` has those that `*` stands for.
    fn rows<'s>(
        &self,
        name: &str,
        sheet: &'s Sheet,
        beside: Option<(&Sheet, &[String])>,
    ) -> Result<Vec<&'s [String]>, String> {
        let mut wanted = Vec::new();
        for (column, level) in self.levels.as_deref().unwrap_or_default() {
            let level = match (level.as_str(), beside) {
                ("*", Some((other, row))) => row[other.column(column)?].clone(),
                ("*", None) => {
                    return Err("`*` stands for a level on the left of an operator".into());
                }
                (level, _) => level.to_owned(),
            };
            wanted.push((column.clone(), level));
        }
        rows_with(name, sheet, &wanted)
    }

    /// What stands on the other side of a row of `beside`.
    fn beside(
        &self,
        name: &str,
        sheets: &Sheets,
        (beside, row): (&Sheet, &[String]),
    ) -> Result<f64, String> {
        let own = self.sheet.as_deref().unwrap_or(name);
        let sheet = sheets.sheet(own)?;
        if self.levels.is_none() && self.sheet.is_none() {
            return self.number(own, &sheet, row);
        }
        let rows = self.rows(own, &sheet, Some((beside, row)))?;
        let numbers = rows.into_iter().map(|row| self.number(own, &sheet, row));
        self.taken(own, &numbers.collect::<Result<Vec<_>, _>>()?)
    }

    fn number(&self, name: &str, sheet: &Sheet, row: &[String]) -> Result<f64, String> {
        let column = &self.column;
        let place = sheet.column(column).map_err(|error| format!("{name} {error}"))?;
        let text = &row[place];
        let number = text.parse().ok().filter(|number: &f64| number.is_finite());
        number.ok_or_else(|| format!("{name} has {text:?} and no figure as {column}"))
    }

    fn taken(&self, name: &str, values: &[f64]) -> Result<f64, String> {
        let sum = values.iter().sum::<f64>();
        match (self.take, values) {
            (None, [only]) => Ok(*only),
            (None, _) => Err(format!(
                "{name} has {} such rows; write mean, min, max or sum before it, or more levels",
                values.len()
            )),
            (Some(Take::Mean), _) => Ok(sum / values.len() as f64),
            (Some(Take::Sum), _) => Ok(sum),
            (Some(Take::Least), _) => Ok(values.iter().copied().fold(f64::INFINITY, f64::min)),
            (Some(Take::Largest), _) => {
                Ok(values.iter().copied().fold(f64::NEG_INFINITY, f64::max))
            }
        }
    }
}

/// The rows of a table with these levels by column, `|` between several; one at least.
///
/// # Errors
/// The table has no such column, or no such row.
pub(super) fn rows_with<'s>(
    name: &str,
    sheet: &'s Sheet,
    wanted: &[(String, String)],
) -> Result<Vec<&'s [String]>, String> {
    let place = |column: &str| sheet.column(column).map_err(|error| format!("{name} {error}"));
    let places = wanted.iter().map(|(column, _)| place(column)).collect::<Result<Vec<_>, _>>()?;
    let is_wanted = |row: &&[String]| {
        places
            .iter()
            .zip(wanted)
            .all(|(at, (_, levels))| levels.split('|').any(|level| same(&row[*at], level.trim())))
    };
    let rows: Vec<&[String]> = sheet.rows.iter().map(Vec::as_slice).filter(is_wanted).collect();
    match rows.is_empty() {
        true => Err(format!("{name} has no row with {wanted:?}; correct the levels")),
        false => Ok(rows),
    }
}

/// Whether a cell has a level, as text or as a number: `2` is `2.0`.
fn same(cell: &str, level: &str) -> bool {
    cell == level
        || matches!((cell.parse::<f64>(), level.parse::<f64>()), (Ok(cell), Ok(level)) if cell == level)
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINTS: &str = "\
policy,load,processors,done,came
off,1,1,10,10
off,1,2,20,20
off,4.0,1,5,40
off,4.0,2,18,80
tide,4.0,1,9,40
tide,4.0,2,,80
";

    fn value(text: &str) -> Result<f64, String> {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("a")).unwrap();
        std::fs::write(root.path().join("a/points.csv"), POINTS).unwrap();
        Expression::read(text)?.value(&Sheets::new(root.path()))
    }

    #[test]
    fn a_cell_a_quotient_and_what_is_taken_of_rows() {
        for (text, expected) in [
            ("a/points[policy=tide; load=4; processors=1].done", 9.0),
            ("max a/points[policy=off].done", 20.0),
            ("sum a/points[policy=off; load=1|4].came", 150.0),
            // (5/40 + 18/80) / 2
            ("mean a/points[policy=off; load=4].done / .came", 0.175),
            // (5/10 + 18/20) / 2
            ("mean a/points[policy=off; load=4].done / max [policy=off; processors=*].done", 0.7),
            ("min a/points.came", 10.0),
            (
                "a/points[policy=tide; load=4; processors=1].done - [policy=off; load=4; processors=*].done",
                4.0,
            ),
        ] {
            assert!((value(text).unwrap() - expected).abs() < 1e-12, "{text}: {:?}", value(text));
        }
    }

    #[test]
    fn what_is_not_one_figure_says_why() {
        for (text, expected) in [
            ("a/points[policy=off].done", "has 4 such rows"),
            ("a/points[policy=of].done", "has no row"),
            ("a/points[polcy=off].done", "has no column polcy"),
            ("a/points[policy=tide; processors=2].done", "no figure as done"),
            ("a/point[policy=off].done", "point.csv"),
            ("[policy=off].done", "names no table"),
            ("a/points[policy].done", "is no cell"),
            ("a/points[policy=*].done", "stands for a level"),
            ("17", "is no cell"),
        ] {
            let error = value(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
