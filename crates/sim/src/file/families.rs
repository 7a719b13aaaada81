//! The families of distributions that a file can name.

use tidegate_config::Number;

use crate::distribution::Distribution;

/// A family, and what it takes beside the mean.
#[derive(Debug)]
pub(super) struct Family {
    /// Its name in a file.
    pub(super) name: &'static str,
    /// What it takes.
    pub(super) takes: Takes,
}

/// What a family takes beside the mean.
#[derive(Clone, Copy, Debug)]
pub(super) enum Takes {
    /// Nothing.
    Nothing(fn(f64) -> Distribution),
    /// A squared coefficient of variation in a range.
    Scv(Number, fn(f64, f64) -> Distribution),
    /// A number of stages.
    Stages,
    /// The index of its tail, and where that is cut.
    Tail,
}

use Takes::{Nothing, Scv, Stages, Tail};

/// All of them, in the order of the reference page.
pub(super) const FAMILIES: [Family; 9] = [
    Family { name: "constant", takes: Nothing(Distribution::constant) },
    Family { name: "exponential", takes: Nothing(Distribution::exponential) },
    // To 1/3, however many of its digits somebody writes.
    Family { name: "uniform", takes: Scv(Number(0.0, 0.334), Distribution::uniform) },
    Family { name: "erlang", takes: Stages },
    Family {
        name: "hyperexponential",
        takes: Scv(Number(1.0, 100.0), Distribution::hyperexponential),
    },
    Family { name: "gamma", takes: Scv(Number(0.001, 100.0), Distribution::gamma) },
    Family { name: "lognormal", takes: Scv(Number(0.001, 100.0), Distribution::lognormal) },
    Family { name: "weibull", takes: Scv(Number(0.001, 100.0), Distribution::weibull) },
    Family { name: "pareto", takes: Tail },
];

/// Their names.
pub(super) const NAMES: [&str; FAMILIES.len()] = {
    let mut names = [""; FAMILIES.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = FAMILIES[index].name;
        index += 1;
    }
    names
};

impl Family {
    /// The keys that it must have beside the mean.
    pub(super) fn parameters(&self) -> &'static [&'static str] {
        match self.takes {
            Nothing(_) => &[],
            Scv(..) => &["scv"],
            Stages => &["stages"],
            Tail => &["index", "max"],
        }
    }
}
