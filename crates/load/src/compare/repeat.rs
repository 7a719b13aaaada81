//! A plan run several times: what a figure is, and how much it differs from run
//! to run.

use std::fmt;

use serde::{Deserialize, Serialize};
use tidegate_stats::Interval;

use crate::compare::figures::{FIGURES, Figure};
use crate::compare::window::Window;
use crate::compare::{FewAnswers, Unit};
use crate::outcome::Name;
use crate::result::summary::Summary;

/// The results of all runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Repeated {
    /// [`Summary::FORMAT`].
    pub format: u32,
    /// The main figures over all runs.
    pub figures: Vec<RepeatedFigure>,
    /// The runs, in order.
    pub runs: Vec<Summary>,
}

/// One figure over all runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RepeatedFigure {
    /// Its name, as in a summary.
    pub figure: Name,
    /// What it is counted in.
    pub unit: Unit,
    /// In each run; `None` where there is no data for it.
    pub values: Vec<Option<f64>>,
    /// Mean of the runs, and its interval of 95 % by Student's t; `None` of
    /// fewer than two runs, or where a run has no value.
    pub mean: Option<Interval>,
    /// Of a percentile that has too few answers behind it in a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub few: Option<FewAnswers>,
}

impl Repeated {
    /// Works the figures out.
    pub fn new(runs: Vec<Summary>) -> Self {
        let open = |run: &Summary| {
            Window::try_from(run.stretches.clone()).expect("what a run wrote can be read")
        };
        let windows: Vec<Window> = runs.iter().map(open).collect();
        let figure = |figure: &Figure| {
            let values = windows.iter().map(|window| figure.value(window).ok()).collect();
            let few = windows.iter().filter_map(|window| figure.too_few(window));
            let few = few.min_by_key(|few| few.answers);
            RepeatedFigure { few, ..RepeatedFigure::new(figure.name, figure.unit, values) }
        };
        Self { format: Summary::FORMAT, figures: FIGURES.iter().map(figure).collect(), runs }
    }
}

impl RepeatedFigure {
    fn new(figure: &'static str, unit: Unit, values: Vec<Option<f64>>) -> Self {
        let all: Option<Vec<f64>> = values.iter().copied().collect();
        let mean = all.and_then(|all| Interval::of_mean(&all)).map(|mean| {
            // No figure is negative, and no share exceeds 1; Student's t does not know that.
            let most = if unit == Unit::Share { 1.0 } else { f64::INFINITY };
            Interval { high: mean.high.min(most), ..mean.not_negative() }
        });
        Self { figure: figure.into(), unit, values, mean, few: None }
    }
}

impl fmt::Display for Repeated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seeds: Vec<String> = self.runs.iter().map(|run| run.seed.to_string()).collect();
        writeln!(f, "{} runs, seeds {}", self.runs.len(), seeds.join(", "))?;
        writeln!(
            f,
            "{:22} {:>12} {:>27} {:>12} {:>12}",
            "", "mean", "95 % interval", "least", "most"
        )?;
        for figure in &self.figures {
            let unit = figure.unit;
            let Some(mean) = figure.mean else {
                writeln!(f, "{:22} {:>12}", figure.figure, "none")?;
                continue;
            };
            let about = if figure.few.is_some() { "~" } else { "" };
            let values = || figure.values.iter().copied().flatten();
            writeln!(
                f,
                "{:22} {:>12} {:>27} {:>12} {:>12}",
                figure.figure,
                format!("{about}{}", unit.of(mean.value)),
                format!("{} to {}", unit.of(mean.low), unit.of(mean.high)),
                unit.of(values().fold(f64::INFINITY, f64::min)),
                unit.of(values().fold(f64::NEG_INFINITY, f64::max)),
            )?;
        }
        for figure in &self.figures {
            if let Some(FewAnswers { answers, needed }) = figure.few {
                let name = &figure.figure;
                writeln!(f, "~ {name}: a run had {answers} answers, and it takes {needed}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_three_runs_worked_out_by_hand() {
        // Mean 12, s = 2; t(2, 97.5 %) = 4.3027, times 2/√3 is 4.968.
        let values = [10.0, 12.0, 14.0].map(Some).to_vec();
        let mean = RepeatedFigure::new("x", Unit::Ms, values).mean.unwrap();
        assert_eq!(mean.value, 12.0);
        assert!((mean.low - 7.032).abs() < 1e-3 && (mean.high - 16.968).abs() < 1e-3, "{mean:?}");
    }

    #[test]
    fn a_percentile_of_few_answers_is_marked() {
        let figure = RepeatedFigure {
            few: Some(FewAnswers { answers: 40, needed: 1000 }),
            ..RepeatedFigure::new("response_p99_ms", Unit::Ms, [10.0, 12.0].map(Some).to_vec())
        };
        let text = Repeated { format: 1, figures: vec![figure], runs: Vec::new() }.to_string();
        assert!(text.contains(" ~11.00 ms "), "{text}");
        let note = "\n~ response_p99_ms: a run had 40 answers, and it takes 1000\n";
        assert!(text.ends_with(note), "{text}");
    }

    #[test]
    fn no_interval_leaves_the_range_of_its_figure() {
        // Mean 20, s = 17.3: 20 − 4.3027 × 10 is below 0.
        let mean = |unit, values: [f64; 3]| {
            RepeatedFigure::new("x", unit, values.map(Some).to_vec()).mean.unwrap()
        };
        let times = mean(Unit::Ms, [10.0, 10.0, 40.0]);
        assert_eq!(times.low, 0.0);
        assert!((times.high - 63.027).abs() < 1e-3, "{times:?}");
        let shares = mean(Unit::Share, [1.0, 1.0, 0.7]);
        assert_eq!(shares.high, 1.0);
        assert!((shares.low - 0.4697).abs() < 1e-3, "{shares:?}");
    }

    #[test]
    fn a_run_without_a_value_leaves_no_mean() {
        assert_eq!(RepeatedFigure::new("x", Unit::Ms, vec![Some(1.0), None]).mean, None);
        assert_eq!(RepeatedFigure::new("x", Unit::Ms, vec![Some(1.0)]).mean, None);
    }
}
