//! What must come out.

use tidegate_config::Preset::{Else, Is, Unset};
use tidegate_config::{Keys, List, Number, Other, Section, keys};

use super::limits::HEAVIEST;
use crate::expectation::Expectation;
use crate::measure::Measure;
use crate::policies;

keys! {
    /// Ranges of measures under a policy: beside these keys, the name of any measure.
    pub(super) static EXPECTATION: ExpectationKeys {
        /// The policy.
        policy: Other("word", "a policy's name") = Is("tide");
        /// Loads of the scenario at which they are expected.
        loads: List<Number>(Number(0.0, HEAVIEST)) = Else("all");
    }

    /// The range of a measure, with one of these keys or both.
    pub(super) static RANGE: RangeKeys {
        /// Least value.
        min: Number(-1e9, 1e9) = Unset;
        /// Greatest value.
        max: Number(-1e9, 1e9) = Unset;
    }
}

pub(super) fn expectations(section: &Section<'_>, known: &[f64]) -> Vec<Expectation> {
    let names = Measure::ALL.map(Measure::name);
    section.only(&[&EXPECTATION.names()[..], &names].concat());
    let policies = [&policies::NAMES[..], &policies::FORMER_NAMES[..]].concat();
    let policy = section.read(&EXPECTATION.policy).and_then(|policy| policy.choice(&policies));
    let policy = policy.and_then(|index| policies::canonical(policies[index]));
    let loads = section.given(&EXPECTATION.loads).unwrap_or_default();
    if let Some(value) = section.get(EXPECTATION.loads.name)
        && loads.iter().any(|load| !known.contains(load))
    {
        value.wrong("has one that the scenario is not run at", "add it to loads above");
    }
    let mut found = Vec::new();
    for measure in Measure::ALL {
        let Some(value) = section.get(measure.name()) else { continue };
        let Some(range) = value.section() else { continue };
        range.known(&RANGE);
        let min = range.given(&RANGE.min).unwrap_or(f64::NEG_INFINITY);
        let max = range.given(&RANGE.max).unwrap_or(f64::INFINITY);
        if min > max || (min.is_infinite() && max.is_infinite()) {
            value.wrong("must have min or max, and min below max", "write { max = 0.01 }");
        }
        let (policy, loads) = (policy.unwrap_or_default().to_owned(), loads.clone());
        found.push(Expectation { policy, loads, measure, range: (min, max) });
    }
    if found.is_empty() {
        section.wrong("has no expectation", format!("name one of {}", names.join(", ")));
    }
    found
}
