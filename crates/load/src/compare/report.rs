//! A comparison in lines: first what forbids it, then the figures.

use std::fmt;

use super::power::in_words;
use super::{Change, Comparison, Power, Row, SIGNIFICANCE, Tested, Unit};
use crate::output::number::per_second;

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for reason in &self.unlike {
            writeln!(f, "NOT COMPARABLE: {reason}")?;
        }
        writeln!(f, "A     {}", self.a.join(", "))?;
        writeln!(f, "B     {}", self.b.join(", "))?;
        let significance = SIGNIFICANCE * 100.0;
        write!(f, "test  {}; significant at {significance} % after Holm's rule", self.test)?;
        if self.worse_by > 0.0 {
            // 7 % is no 7.000000000000001.
            let allowed = (self.worse_by * 1e6).round() / 1e4;
            write!(f, "; worse by {allowed} % is allowed")?;
        }
        writeln!(f)?;
        for note in &self.notes {
            writeln!(f, "note  {note}")?;
        }
        writeln!(f, "found {}", self.headline())?;
        writeln!(
            f,
            "\n{:22} {:>12} {:>12} {:>10} {:>25} {:>8}",
            "", "A", "B", "change", "95 % interval of B − A", "p"
        )?;
        self.rows.iter().try_for_each(|row| write!(f, "{row}"))?;
        self.write_power(f)
    }
}

impl Comparison {
    /// What is true of all figures together.
    fn headline(&self) -> String {
        let named = |verdicts: &[Change]| {
            let rows = self.rows.iter().filter(|row| verdicts.contains(&row.verdict));
            rows.map(|row| row.figure).collect::<Vec<_>>()
        };
        let mut parts: Vec<String> = [
            ("worse in B", named(&[Change::Worse])),
            ("worse within what is allowed", named(&[Change::WorseWithinAllowed])),
            ("better in B", named(&[Change::Better])),
            ("different", named(&[Change::Different])),
        ]
        .into_iter()
        .filter(|(_, figures)| !figures.is_empty())
        .map(|(what, figures)| format!("{what}: {}", figures.join(", ")))
        .collect();
        let (open, all) = (named(&[Change::Undecided]).len(), self.rows.len());
        if parts.is_empty() && open < all {
            parts.push(format!("no significant difference in {} of {all} figures", all - open));
        }
        if open > 0 {
            parts.push(format!("undecided: {open} of {all} figures"));
        }
        parts.join("; ")
    }

    /// Which differences would have shown.
    fn write_power(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows = self.rows.iter().filter_map(|row| Some((row, row.power?))).peekable();
        if rows.peek().is_none() {
            return Ok(());
        }
        let tell = (self.tell * 1e6).round() / 1e4;
        writeln!(
            f,
            "\nA true difference that these runs show 4 times of 5, and to tell {tell} %:"
        )?;
        rows.try_for_each(|(row, power)| {
            let shows = change(row.unit, row.a.unwrap_or(0.0), power.shows);
            let shows = shows.trim_start_matches('+');
            let line = format!("{:22} {shows:>12}   {}", row.figure, power.needs(self.tell));
            writeln!(f, "{}", line.trim_end())
        })
    }
}

impl Power {
    /// What it takes to tell the difference asked for.
    fn needs(&self, tell: f64) -> String {
        match (self.needs_s, self.needs_runs) {
            _ if self.shows_share.is_some_and(|share| share <= tell) => "these runs do".to_owned(),
            (Some(seconds), _) => format!("runs of {}", in_words(seconds)),
            (_, Some(runs)) => format!("{runs} runs of each"),
            (None, None) => String::new(),
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = self.unit;
        let value = |value: Option<f64>| value.map_or("none".to_owned(), |v| unit.of(v));
        write!(f, "{:22} {:>12} {:>12} ", self.figure, value(self.a), value(self.b))?;
        match &self.tested {
            Some(tested) => {
                let change = change(unit, self.a.unwrap_or(0.0), tested.value);
                let interval =
                    format!("{} to {}", signed(unit, tested.low), signed(unit, tested.high));
                writeln!(f, "{change:>10} {interval:>25} {:>8}  {}", p(tested), word(self.verdict))
            }
            None => {
                let reason = self.undecided_because.as_deref().unwrap_or_default();
                writeln!(f, "{}: {reason}", word(self.verdict))
            }
        }
    }
}

impl Unit {
    /// The value with as many digits as it takes.
    pub(crate) fn of(self, value: f64) -> String {
        match self {
            Self::PerSecond => format!("{}/s", per_second(value)),
            Self::Share => format!("{:.2} %", value * 100.0),
            Self::Ms => format!("{value:.2} ms"),
        }
    }
}

/// Shares differ by percentage points, all else by the unit.
fn signed(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Share => format!("{:+.2} pp", value * 100.0),
        Unit::PerSecond => {
            format!("{}{}", if value < 0.0 { '-' } else { '+' }, per_second(value.abs()))
        }
        Unit::Ms => format!("{value:+.2}"),
    }
}

/// Relative where there is something to relate it to; shares are relative
/// already.
fn change(unit: Unit, a: f64, difference: f64) -> String {
    match unit {
        Unit::Share => signed(unit, difference),
        _ if a > 0.0 => format!("{:+.1} %", difference / a * 100.0),
        _ => signed(unit, difference),
    }
}

fn p(tested: &Tested) -> String {
    if tested.p < 0.001 { "<0.001".to_owned() } else { format!("{:.3}", tested.p) }
}

fn word(verdict: Change) -> &'static str {
    match verdict {
        Change::NoDifference => "no significant difference",
        Change::Better => "BETTER",
        Change::Worse => "WORSE",
        Change::WorseWithinAllowed => "worse, within what is allowed",
        Change::Different => "different",
        Change::Undecided => "undecided",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_below_one_a_second_keeps_its_digits() {
        let shown = [0.0, 40.0, 0.2, 1.0 / 3600.0].map(|value| Unit::PerSecond.of(value));
        assert_eq!(shown, ["0.00/s", "40.00/s", "0.200/s", "0.000278/s"]);
        assert_eq!(signed(Unit::PerSecond, -0.0125), "-0.0125");
    }

    #[test]
    fn a_row_has_both_values_the_change_and_its_significance() {
        let tested = Tested { value: 4.0, low: 1.7, high: 6.3, p: 0.012, p_beyond_allowed: None };
        let mut row = Row {
            figure: "completed_per_s",
            unit: Unit::PerSecond,
            a: Some(40.0),
            b: Some(44.0),
            tested: Some(tested),
            undecided_because: None,
            few: None,
            power: None,
            verdict: Change::Better,
            difference: None,
            drifts: false,
        };
        let words = |row: &Row| row.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(
            words(&row),
            "completed_per_s 40.00/s 44.00/s +10.0 % +1.70 to +6.30 0.012 BETTER"
        );
        (row.tested, row.undecided_because) = (None, Some("it drifts".to_owned()));
        (row.b, row.verdict) = (None, Change::Undecided);
        assert_eq!(words(&row), "completed_per_s 40.00/s none undecided: it drifts");
    }
}
