//! What operations cost, from a table of somebody's measurements.
//!
//! A row is a run: an operation, how many of them there were per second, and what the processors
//! did meanwhile, as a share of their time or as CPU seconds per second.

use csv::StringRecord;
use serde::Serialize;

use crate::columns::{self, Columns, USE};
use crate::rising::{Linear, Run, linear_part, megacycles};

/// The columns that a table can have beside those of its use.
const COLUMNS: [&str; 2] = ["operation", "per_s"];

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
        let (head, records) = columns::records(text)?;
        let columns = Columns::of(&head, names, &[&COLUMNS[..], &USE[..]].concat())?;
        COLUMNS.iter().try_for_each(|column| columns.must_have(column))?;
        columns.must_have_use()?;
        if records.is_empty() {
            return Err("has no rows; add a line for each run".to_owned());
        }
        let rows = records.iter().map(|(line, record)| row(&columns, record, *line));
        let rows = rows.collect::<Result<Vec<_>, _>>()?;
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

fn row(columns: &Columns, record: &StringRecord, line: usize) -> Result<Measured, String> {
    let (busy_cpus, mhz) = columns.busy(record, line)?;
    Ok(Measured {
        line,
        operation: columns.text(record, "operation").to_owned(),
        per_s: columns.number(record, line, "per_s")?,
        busy_cpus,
        megacycles: mhz.map(|mhz| megacycles(busy_cpus, 1.0, mhz)),
    })
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
