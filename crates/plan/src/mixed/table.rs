//! Tables of runs in which operations come together: a row for each run, a column for each
//! operation.

use csv::StringRecord;
use serde::Serialize;

use super::{Mixed, MixedRun, costs};
use crate::columns::{self, Columns, USE};

/// What the column of an operation begins with: operations per second, or their number.
const RATE: &str = "per_s:";
const COUNT: &str = "count:";
/// The length of a run in seconds.
const DURATION: &str = "duration_s";

/// A table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MixedTable {
    /// Its rows.
    pub rows: Vec<MixedRow>,
    /// Megahertz of a processor, where they are known: CPU seconds times these are megacycles.
    pub mhz: Option<f64>,
    /// What operations cost in CPU seconds.
    #[serde(flatten)]
    pub costs: Mixed,
}

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MixedRow {
    /// Line of the table, from 1.
    pub line: usize,
    /// Operations per second, in the order of the costs.
    pub per_s: Vec<f64>,
    /// CPU seconds per second.
    pub busy_cpus: f64,
}

impl MixedTable {
    /// Whether a text has the head of such a table: a column `per_s:NAME` or `count:NAME`, or a name
    /// for one.
    pub fn is_one(text: &str, names: &[(String, String)]) -> bool {
        let head = text.lines().find(|line| !line.starts_with('#') && !line.trim().is_empty());
        let cells = head.into_iter().flat_map(|head| head.split(','));
        let cells = cells.map(|cell| cell.trim().trim_matches('"').trim());
        cells
            .chain(names.iter().map(|(column, _)| column.as_str()))
            .any(|it| operation(it).is_some())
    }

    /// Reads a table as CSV: `per_s:NAME`, or `count:NAME` with `duration_s`, for each operation, and
    /// `busy_cpus`, or `utilisation_pct` with `cpus`. Runs count by `duration_s` where there is one.
    /// `names` gives columns of the table that have other names.
    ///
    /// # Errors
    /// What is wrong, where, and how to mend it.
    pub fn read(text: &str, names: &[(String, String)]) -> Result<Self, String> {
        let (head, records) = columns::records(text)?;
        let mut operations: Vec<&str> = Vec::new();
        let given = names.iter().map(|(column, _)| column.as_str());
        for column in head.iter().chain(given).filter(|it| operation(it).is_some()) {
            if !operations.contains(&column) {
                operations.push(column);
            }
        }
        let known = [operations.as_slice(), &USE[..], &[DURATION]].concat();
        let columns = Columns::of(&head, names, &known)?;
        columns.must_have_use()?;
        if operations.iter().any(|it| it.starts_with(COUNT)) {
            columns.must_have(DURATION)?;
        }
        let (mut rows, mut runs, mut mhz) = (Vec::new(), Vec::new(), None);
        for (line, record) in &records {
            let (row, seconds, speed) = row(&columns, &operations, record, *line)?;
            mhz = mhz.or(speed);
            let MixedRow { per_s, busy_cpus, .. } = row.clone();
            runs.push(MixedRun { per_s, used: busy_cpus, weight: seconds.unwrap_or(1.0) });
            rows.push(row);
        }
        let names: Vec<String> =
            operations.iter().filter_map(|it| operation(it)).map(str::to_owned).collect();
        if let Some(twice) = (1..names.len()).find(|at| names[..*at].contains(&names[*at])) {
            return Err(format!("has two columns of {}; leave one out", names[twice]));
        }
        let costs = costs(&names, &runs)?;
        Ok(Self { rows, mhz, costs })
    }
}

/// The operation of a column, if it is one of an operation.
fn operation(column: &str) -> Option<&str> {
    let name = column.strip_prefix(RATE).or_else(|| column.strip_prefix(COUNT))?;
    (!name.is_empty()).then_some(name)
}

/// A row with its length in seconds and the speed of a processor.
fn row(
    columns: &Columns,
    operations: &[&str],
    record: &StringRecord,
    line: usize,
) -> Result<(MixedRow, Option<f64>, Option<f64>), String> {
    let (busy_cpus, mhz) = columns.busy(record, line)?;
    let seconds = columns.number(record, line, DURATION)?;
    if seconds == Some(0.0) {
        return Err(format!("line {line}: {DURATION} = 0: must be above 0; leave the row out"));
    }
    let per_s = operations.iter().map(|column| {
        // An empty cell: there were none.
        let number = columns.number(record, line, column)?.unwrap_or(0.0);
        match (column.starts_with(COUNT), seconds) {
            (false, _) => Ok(number),
            (true, Some(seconds)) => Ok(number / seconds),
            (true, None) => Err(format!("line {line}: has no {DURATION}; leave the row out")),
        }
    });
    let per_s = per_s.collect::<Result<Vec<_>, _>>()?;
    Ok((MixedRow { line, per_s, busy_cpus }, seconds, mhz))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0.1 idle, 10 ms and 40 ms.
    const TABLE: &str = "\
# a remark
per_s:Home, count:Pay, busy_cpus, duration_s
10,10,0.24,10
5,100,0.35,20
20,30,0.42,10
1,90,0.47,10
";

    fn names(of: &[(&str, &str)]) -> Vec<(String, String)> {
        of.iter().map(|(a, b)| ((*a).into(), (*b).into())).collect()
    }

    #[test]
    fn rates_and_counts_give_the_costs() {
        assert!(MixedTable::is_one(TABLE, &[]) && !MixedTable::is_one("operation,per_s\n", &[]));
        let table = MixedTable::read(TABLE, &[]).unwrap();
        assert_eq!((table.rows[1].line, table.rows[1].per_s.as_slice()), (4, &[5.0, 5.0][..]));
        let cost = |at: usize| table.costs.operations[at].cost.unwrap().value;
        assert!((cost(0) - 0.01).abs() < 1e-9 && (cost(1) - 0.04).abs() < 1e-9, "{table:?}");
        assert!((table.costs.idle.value - 0.1).abs() < 1e-9);
    }

    #[test]
    fn columns_of_other_names_and_shares_are_understood() {
        let text =
            "home,pay,cpu,cpus,mhz\n10,1,12,2,400\n5,5,17.5,2,400\n20,3,21,2,400\n1,9,23.5,2,400\n";
        let names =
            names(&[("per_s:Home", "home"), ("per_s:Pay", "pay"), ("utilisation_pct", "cpu")]);
        assert!(MixedTable::is_one(text, &names));
        let table = MixedTable::read(text, &names).unwrap();
        assert_eq!((table.mhz, table.costs.operations[1].operation.as_str()), (Some(400.0), "Pay"));
        assert!((table.costs.operations[1].cost.unwrap().value - 0.04).abs() < 1e-9, "{table:?}");
    }

    #[test]
    fn mistakes_are_named_with_their_line_and_a_remedy() {
        for (text, given, expected) in [
            ("per_s:a\n1\n", &[][..], "it needs busy_cpus, or utilisation_pct and cpus"),
            ("count:a,busy_cpus\n1,1\n", &[], "has no column duration_s"),
            ("count:a,busy_cpus,duration_s\n1,1,0\n", &[], "line 2: duration_s = 0"),
            ("count:a,busy_cpus,duration_s\n1,1,\n", &[], "line 2: has no duration_s"),
            ("per_s:a,busy_cpus\n-1,1\n", &[], "line 2: per_s:a = \"-1\""),
            ("per_s:a,count:a,busy_cpus,duration_s\n1,1,1,1\n", &[], "has two columns of a"),
            ("per_s:a,busy_cpus\n1,1\n", &[], "has 1 runs, too few for 1 operations"),
            (TABLE, &[("per_s:x", "y")], "has no column y"),
            (TABLE, &[("per_s", "y")], "per_s is no column"),
        ] {
            let error = MixedTable::read(text, &names(given)).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
