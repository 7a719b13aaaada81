//! `tidegate load compare`: whether two sets of runs differ significantly.

use std::path::{Path, PathBuf};

use tidegate_load::compare::{SavedResult, SavedRun, Selection, compare};

use super::results::{is_stdout, write_json};
use crate::exit::{Outcome, bad_input};
use crate::stdout::{leave_to_result, print};

/// Flags of `tidegate load compare`.
#[derive(clap::Args)]
pub struct Args {
    /// Results written by --json: two files, or all files of A, with those of B after --with
    #[arg(value_name = "A", required = true)]
    files: Vec<PathBuf>,
    /// Results of the second set
    #[arg(long, value_name = "B", num_args = 1..)]
    with: Vec<PathBuf>,
    /// Share by which a figure may get worse without being reported as worse, such as 5%
    #[arg(long, value_name = "SHARE", default_value = "0%", value_parser = share)]
    worse_by: f64,
    /// Figures to compare, such as response_p95_ms,completed_per_s; fewer figures leave each a
    /// better chance to differ significantly. A wrong name lists them all
    #[arg(long, value_name = "NAMES")]
    figures: Option<Selection>,
    /// A difference for which the report says how long runs must be, or how many it takes, to
    /// tell it
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = above_zero)]
    tell: f64,
    /// Compare runs with different settings
    #[arg(long)]
    anyway: bool,
    /// Write the comparison as JSON; - is standard output, and the table goes to standard error
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Reads both sets and reports the differences.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    let (a, b) = match (args.files.as_slice(), args.with.as_slice()) {
        ([a, b], []) => (std::slice::from_ref(a), std::slice::from_ref(b)),
        (_, []) => {
            return Err(bad_input(
                "it is not clear which files are A and which are B; give two files, or several as A1 A2 \
                 --with B1 B2",
            ));
        }
        (a, b) => (a, b),
    };
    let mut wrong = Vec::new();
    let (a, b) = (read(a, &mut wrong), read(b, &mut wrong));
    if !wrong.is_empty() {
        return Err(bad_input(wrong.join("\n")));
    }
    let selection = args.figures.clone().unwrap_or_default();
    let comparison = compare(&a, &b, args.worse_by, &selection, args.tell);
    if args.json.as_deref().is_some_and(is_stdout) {
        leave_to_result();
    }
    if let Some(file) = &args.json {
        write_json(&comparison, file)?;
    }
    print(comparison.to_string())?;
    if !comparison.unlike.is_empty() && !args.anyway {
        return Err(bad_input(
            "these runs have different settings, see above; --anyway compares them as they are",
        ));
    }
    if comparison.is_worse() {
        return Ok(Outcome::GoalMissed);
    }
    // Who names a figure relies on its answer.
    match comparison.untested().as_slice() {
        [] => Ok(Outcome::Done),
        untested => Err(bad_input(format!(
            "--figures {}: cannot be compared, see above; use longer runs, or leave it out",
            untested.join(",")
        ))),
    }
}

/// The runs of all files; errors are added to `wrong`.
fn read(files: &[PathBuf], wrong: &mut Vec<String>) -> Vec<SavedRun> {
    let one = |file: &PathBuf| {
        let path: &Path = file;
        let result = SavedResult::read(path).map_err(|error| wrong.push(error));
        result.map(|result| result.runs).unwrap_or_default()
    };
    files.iter().flat_map(one).collect()
}

/// `5%` or `0.05`.
fn share(text: &str) -> Result<f64, String> {
    let (number, unit) = match text.strip_suffix('%') {
        Some(number) => (number.trim_end(), 0.01),
        None => (text, 1.0),
    };
    number
        .parse()
        .map(|value: f64| value * unit)
        .ok()
        .filter(|share| (0.0..1.0).contains(share))
        .ok_or_else(|| format!("{text}: must be a share from 0 to below 1, such as 5% or 0.05"))
}

/// A share above 0.
fn above_zero(text: &str) -> Result<f64, String> {
    let above = |share: &f64| *share > 0.0;
    share(text)
        .ok()
        .filter(above)
        .ok_or_else(|| format!("{text}: must be a share above 0 and below 1, such as 5% or 0.05"))
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn a_share_is_a_percentage_or_a_number_below_one() {
        assert_eq!((share("5%"), share("0.25"), share("0")), (Ok(0.05), Ok(0.25), Ok(0.0)));
        for wrong in ["5", "100%", "-1%", "x", "", "%", "NaN"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }
}
