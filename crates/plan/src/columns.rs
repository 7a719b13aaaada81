//! Tables of measurements as CSV: their rows, and columns that may have other names.

use csv::StringRecord;

/// Most rows of a table.
const MOST_ROWS: usize = 100_000;

/// The columns that say what the processors did.
pub(crate) const USE: [&str; 4] = ["busy_cpus", "utilisation_pct", "cpus", "mhz"];

/// The head of a table, and its rows with their lines. Lines that begin with `#` are left out.
///
/// # Errors
/// What is wrong, where, and how to mend it.
pub(crate) fn records(text: &str) -> Result<(StringRecord, Vec<(usize, StringRecord)>), String> {
    let mut reader = csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .trim(csv::Trim::All)
        .flexible(false)
        .from_reader(text.as_bytes());
    let head = reader.headers().map_err(|error| error.to_string())?.clone();
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| format!("{error}; give each row every column"))?;
        let line = record.position().map_or(0, |position| position.line() as usize);
        if rows.len() == MOST_ROWS {
            return Err(format!("line {line}: more than {MOST_ROWS} rows; leave some out"));
        }
        rows.push((line, record));
    }
    Ok((head, rows))
}

/// Where a table has what.
pub(crate) struct Columns {
    /// Known columns that the table has, with their places.
    places: Vec<(String, usize)>,
    /// All names of the table.
    has: String,
}

impl Columns {
    /// Of the head of a table. `names` gives columns of the table that have other names than those
    /// that are known.
    ///
    /// # Errors
    /// A name of something that is not known, or that the table does not have.
    pub(crate) fn of(
        head: &StringRecord,
        names: &[(String, String)],
        known: &[&str],
    ) -> Result<Self, String> {
        let has = head.iter().collect::<Vec<_>>().join(", ");
        if let Some((column, _)) = names.iter().find(|(it, _)| !known.contains(&it.as_str())) {
            return Err(format!("{column} is no column; use {}", known.join(", ")));
        }
        let mut places = Vec::new();
        for column in known {
            let given = names.iter().find(|(it, _)| it == column).map(|(_, name)| name.as_str());
            match (given, head.iter().position(|it| it == given.unwrap_or(column))) {
                (Some(name), None) => return Err(format!("has no column {name}; it has {has}")),
                (_, Some(at)) => places.push(((*column).to_owned(), at)),
                (None, None) => {}
            }
        }
        Ok(Self { places, has })
    }

    /// # Errors
    /// The table does not have the column.
    pub(crate) fn must_have(&self, column: &str) -> Result<(), String> {
        match self.place(column) {
            Some(_) => Ok(()),
            None => Err(format!(
                "has no column {column}; it has {}: name the one that is, as in --columns {column}=NAME",
                self.has
            )),
        }
    }

    /// # Errors
    /// The table does not say what the processors did.
    pub(crate) fn must_have_use(&self) -> Result<(), String> {
        let has = |column: &str| self.place(column).is_some();
        match has("busy_cpus") || (has("utilisation_pct") && has("cpus")) {
            true => Ok(()),
            false => Err(format!(
                "does not say what the processors did: it needs busy_cpus, or utilisation_pct and cpus; it has {}",
                self.has
            )),
        }
    }

    pub(crate) fn place(&self, column: &str) -> Option<usize> {
        self.places.iter().find(|(it, _)| it == column).map(|(_, at)| *at)
    }

    /// The text of a cell; empty where there is none.
    pub(crate) fn text<'r>(&self, record: &'r StringRecord, column: &str) -> &'r str {
        self.place(column).and_then(|at| record.get(at)).unwrap_or_default()
    }

    /// The number of a cell, at least 0; `None` of an empty one.
    ///
    /// # Errors
    /// It is none.
    pub(crate) fn number(
        &self,
        record: &StringRecord,
        line: usize,
        column: &str,
    ) -> Result<Option<f64>, String> {
        match self.text(record, column) {
            "" => Ok(None),
            text => match text.parse::<f64>().ok().filter(|it| it.is_finite() && *it >= 0.0) {
                Some(number) => Ok(Some(number)),
                None => {
                    Err(format!("line {line}: {column} = {text:?}: must be a number of at least 0"))
                }
            },
        }
    }

    /// CPU seconds per second of a row, and megahertz of a processor where they are known.
    ///
    /// # Errors
    /// A cell is no number, or the row does not say it.
    pub(crate) fn busy(
        &self,
        record: &StringRecord,
        line: usize,
    ) -> Result<(f64, Option<f64>), String> {
        let number = |column: &str| self.number(record, line, column);
        let (cpus, mhz) = (number("cpus")?, number("mhz")?);
        let share = number("utilisation_pct")?.map(|percent| percent / 100.0);
        let busy = number("busy_cpus")?.or_else(|| Some(share? * cpus?));
        let busy = busy.ok_or_else(|| {
            format!("line {line}: does not say what the processors did; leave the row out")
        })?;
        Ok((busy, mhz))
    }
}
