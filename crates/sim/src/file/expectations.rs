//! What must come out.

use tidegate_config::Section;

use super::values::{LOADS, number, numbers};
use crate::expectation::Expectation;
use crate::measure::Measure;
use crate::policies;

pub(super) fn expectations(section: &Section<'_>, known: &[f64]) -> Vec<Expectation> {
    let names = Measure::ALL.map(Measure::name);
    section.only(&[&["policy", "loads"][..], &names].concat());
    let policy = match section.get("policy") {
        None => Some("tide"),
        Some(policy) => {
            let names = [&policies::NAMES[..], &policies::FORMER_NAMES[..]].concat();
            policy.choice(&names).and_then(|place| policies::canonical(names[place]))
        }
    };
    let Some(policy) = policy else { return Vec::new() };
    let loads = section.get("loads").map(|loads| {
        let numbers = numbers(&loads, LOADS);
        if numbers.iter().any(|load| !known.contains(load)) {
            loads.wrong("has one that the scenario is not run at", "add it to loads above");
        }
        numbers
    });
    let loads = loads.unwrap_or_default();
    let mut found = Vec::new();
    for measure in Measure::ALL {
        let Some(value) = section.get(measure.name()) else { continue };
        let Some(range) = value.section() else { continue };
        range.only(&["min", "max"]);
        let (mut min, mut max) = (f64::NEG_INFINITY, f64::INFINITY);
        number(&range, "min", -1e9..=1e9, &mut min);
        number(&range, "max", -1e9..=1e9, &mut max);
        if min > max || (min.is_infinite() && max.is_infinite()) {
            value.wrong("must have min or max, and min below max", "write { max = 0.01 }");
        }
        let (policy, loads) = (policy.to_owned(), loads.clone());
        found.push(Expectation { policy, loads, measure, range: (min, max) });
    }
    if found.is_empty() {
        section.wrong("has no expectation", format!("name one of {}", names.join(", ")));
    }
    found
}
