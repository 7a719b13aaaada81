//! What operations cost, from a table of somebody's measurements.
//!
//! A row is a run: an operation, how many of them there were per second, and what the processors
//! did meanwhile, as a share of their time or as CPU seconds per second.

use csv::StringRecord;
use serde::Serialize;

use crate::rising::{Linear, Run, linear_part, megacycles};

/// Most rows of a table.
const MOST_ROWS: usize = 100_000;

/// The columns that a table can have.
pub const COLUMNS: [&str; 6] =
    ["operation", "per_s", "busy_cpus", "utilisation_pct", "cpus", "mhz"];

/// A run of an operation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// Line of the table, from 1.
    pub line: usize,
    /// The operation.
    pub operation: String,
    /// Operations per second; none where that was not measured.
    pub per_s: Option<f64>,
    /// CPU seconds per second.
    pub busy_cpus: f64,
    /// The same in megacycles per second, where the speed is known.
    pub megacycles: Option<f64>,
}

/// What an operation costs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// The operation.
    pub operation: String,
    /// Its runs that say how many operations there were.
    pub runs: usize,
    /// The linear part of its curve; none with fewer than two loads.
    #[serde(flatten)]
    pub linear: Option<Linear>,
    /// Megahertz of a processor, where they are known: CPU seconds times these are megacycles.
    pub mhz: Option<f64>,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Table {
    /// Its rows.
    pub rows: Vec<Measured>,
    /// The operations, in the order of the table.
    pub costs: Vec<Cost>,
}

impl Table {
    /// Reads a table as CSV; lines that begin with `#` are left out. `names` gives columns of the
    /// table that have other names: `("per_s", "asp_req_s")`.
    ///
    /// # Errors
    /// What is wrong, where, and how to mend it.
    pub fn read(text: &str, names: &[(String, String)]) -> Result<Self, String> {
        let mut reader = csv::ReaderBuilder::new()
            .comment(Some(b'#'))
            .trim(csv::Trim::All)
            .flexible(false)
            .from_reader(text.as_bytes());
        let head = reader.headers().map_err(|error| error.to_string())?.clone();
        let columns = Columns::of(&head, names)?;
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|error| format!("{error}; give each row every column"))?;
            let line = record.position().map_or(0, |position| position.line() as usize);
            if rows.len() == MOST_ROWS {
                return Err(format!("line {line}: more than {MOST_ROWS} rows; leave some out"));
            }
            rows.push(columns.row(&record, line)?);
        }
        if rows.is_empty() {
            return Err("has no rows; add a line for each run".to_owned());
        }
        let mut operations: Vec<&str> = Vec::new();
        for row in &rows {
            if !operations.contains(&row.operation.as_str()) {
                operations.push(&row.operation);
            }
        }
        let costs = operations.into_iter().map(|operation| cost(operation, &rows)).collect();
        Ok(Self { costs, rows })
    }
}

/// What an operation costs by its rows.
fn cost(operation: &str, rows: &[Measured]) -> Cost {
    let own = || rows.iter().filter(|row| row.operation == operation);
    let runs: Vec<Run> =
        own().filter_map(|row| Some(Run { per_s: row.per_s?, used: row.busy_cpus })).collect();
    let speed = own().find_map(|row| Some(row.megacycles? / row.busy_cpus));
    Cost {
        operation: operation.to_owned(),
        runs: runs.len(),
        linear: linear_part(&runs),
        mhz: speed.filter(|mhz| mhz.is_finite()),
    }
}

/// Where a table has what.
struct Columns([Option<usize>; COLUMNS.len()]);

impl Columns {
    fn of(head: &StringRecord, names: &[(String, String)]) -> Result<Self, String> {
        if let Some((column, _)) = names.iter().find(|(it, _)| !COLUMNS.contains(&it.as_str())) {
            return Err(format!("{column} is no column; use {}", COLUMNS.join(", ")));
        }
        let has = || head.iter().collect::<Vec<_>>().join(", ");
        let place = |column: &str| {
            let given = names.iter().find(|(it, _)| it == column).map(|(_, name)| name.as_str());
            let at = head.iter().position(|it| it == given.unwrap_or(column));
            match (given, at) {
                (Some(name), None) => Err(format!("has no column {name}; it has {}", has())),
                (_, at) => Ok(at),
            }
        };
        let mut places = [None; COLUMNS.len()];
        for (at, column) in places.iter_mut().zip(COLUMNS) {
            *at = place(column)?;
        }
        let columns = Self(places);
        for column in ["operation", "per_s"] {
            if columns.place(column).is_none() {
                return Err(format!(
                    "has no column {column}; it has {}: name the one that is, as in --columns {column}=NAME",
                    has()
                ));
            }
        }
        let by_share =
            columns.place("utilisation_pct").is_some() && columns.place("cpus").is_some();
        match columns.place("busy_cpus").is_some() || by_share {
            true => Ok(columns),
            false => Err(format!(
                "does not say what the processors did: it needs busy_cpus, or utilisation_pct and cpus; it has {}",
                has()
            )),
        }
    }

    fn place(&self, column: &str) -> Option<usize> {
        COLUMNS.iter().position(|it| *it == column).and_then(|at| self.0[at])
    }

    fn text<'r>(&self, record: &'r StringRecord, column: &str) -> &'r str {
        self.place(column).and_then(|at| record.get(at)).unwrap_or_default()
    }

    fn row(&self, record: &StringRecord, line: usize) -> Result<Measured, String> {
        let number = |column: &str| match self.text(record, column) {
            "" => Ok(None),
            text => match text.parse::<f64>().ok().filter(|it| it.is_finite() && *it >= 0.0) {
                Some(number) => Ok(Some(number)),
                None => {
                    Err(format!("line {line}: {column} = {text:?}: must be a number of at least 0"))
                }
            },
        };
        let (cpus, mhz) = (number("cpus")?, number("mhz")?);
        let share = number("utilisation_pct")?.map(|percent| percent / 100.0);
        let busy = number("busy_cpus")?.or_else(|| Some(share? * cpus?));
        let busy_cpus = busy.ok_or_else(|| {
            format!("line {line}: does not say what the processors did; leave the row out")
        })?;
        Ok(Measured {
            line,
            operation: self.text(record, "operation").to_owned(),
            per_s: number("per_s")?,
            busy_cpus,
            megacycles: mhz.map(|mhz| megacycles(busy_cpus, 1.0, mhz)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
# two operations
operation,per_s,busy_cpus
Home,10,0.25
Home,20,0.45
Home,30,0.65
Pay,5,1.0
";

    fn read(text: &str, names: &[(&str, &str)]) -> Result<Table, String> {
        let names = names.iter().map(|(a, b)| ((*a).into(), (*b).into())).collect::<Vec<_>>();
        Table::read(text, &names)
    }

    #[test]
    fn an_operation_costs_the_slope_of_its_runs() {
        let table = read(TABLE, &[]).unwrap();
        let home = table.costs[0].linear.unwrap();
        assert!((home.cost.value - 0.02).abs() < 1e-12 && !home.ends);
        assert_eq!((table.costs[1].runs, table.costs[1].linear), (1, None));
        assert_eq!(table.rows[3].line, 6);
    }

    #[test]
    fn columns_of_other_names_shares_and_speeds_are_understood() {
        let text = "config,x,util,n,speed\na,2,50,2,400\na,4,100,2,400\na,,1,2,400\n";
        let names = [
            ("operation", "config"),
            ("per_s", "x"),
            ("utilisation_pct", "util"),
            ("cpus", "n"),
            ("mhz", "speed"),
        ];
        let table = read(text, &names).unwrap();
        assert_eq!((table.rows[0].busy_cpus, table.rows[0].megacycles), (1.0, Some(400.0)));
        assert_eq!((table.costs[0].runs, table.costs[0].mhz), (2, Some(400.0)));
        assert_eq!(table.costs[0].linear.unwrap().cost.value, 0.5);
    }

    #[test]
    fn mistakes_are_named_with_their_line_and_a_remedy() {
        for (text, names, expected) in [
            ("", &[][..], "has no column operation"),
            ("operation,per_s\na,1\n", &[], "it needs busy_cpus, or utilisation_pct and cpus"),
            ("operation,per_s,busy_cpus\n", &[], "has no rows"),
            ("operation,per_s,busy_cpus\na,x,1\n", &[], "line 2: per_s = \"x\""),
            ("operation,per_s,busy_cpus\na,1,-1\n", &[], "line 2: busy_cpus = \"-1\""),
            ("operation,per_s,busy_cpus\na,1\n", &[], "every column"),
            ("operation,per_s,busy_cpus\na,1,\n", &[], "leave the row out"),
            (TABLE, &[("per_s", "rate")], "has no column rate"),
            (TABLE, &[("speed", "rate")], "speed is no column"),
        ] {
            let error = read(text, names).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
