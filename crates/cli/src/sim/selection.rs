//! The selection on the command line: scenarios and policies.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::str::FromStr;

use tidegate_sim::{Scenario, policies, text};

use crate::exit::bad_input;

/// Random scenarios of one call at most.
const MOST_DRAWN: u64 = 10_000;

/// Numbers of drawn scenarios: `60` is 1 to 60, `61-120` are those.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbers(pub RangeInclusive<u64>);

impl FromStr for Numbers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (first, last) = text.split_once('-').unwrap_or(("1", text));
        let number = |text: &str| text.trim().parse::<u64>().ok();
        match (number(first), number(last)) {
            (Some(first), Some(last)) if first <= last && last - first < MOST_DRAWN => {
                Ok(Self(first..=last))
            }
            _ => Err(format!("write 60 for 1 to 60, or 61-120; {MOST_DRAWN} at most")),
        }
    }
}

/// The names given, or the defaults where none are.
pub fn or_default(named: Vec<String>, default: &[&str]) -> Vec<String> {
    if named.is_empty() { default.iter().map(|name| (*name).to_owned()).collect() } else { named }
}

/// The scenarios of these names and files, each once.
///
/// # Errors
/// Every mistake in the names and in the files.
pub fn scenarios(names: &[String]) -> anyhow::Result<Vec<Scenario>> {
    each_once(names, scenario)
}

/// The courses of `--costs` of these names, and other scenarios, each once.
///
/// # Errors
/// Every mistake in the names and in the files.
pub fn courses(names: &[String]) -> anyhow::Result<Vec<Scenario>> {
    each_once(names, |name| Scenario::course(name).map_or_else(|| scenario(name), Ok))
}

fn each_once(
    names: &[String],
    named: impl Fn(&str) -> Result<Scenario, String>,
) -> anyhow::Result<Vec<Scenario>> {
    let mut mistakes = Vec::new();
    let mut found: BTreeMap<String, &str> = BTreeMap::new();
    let mut scenarios = Vec::new();
    for name in once(names) {
        match named(name) {
            Err(mistake) => mistakes.push(mistake),
            Ok(scenario) => match found.insert(scenario.name.clone(), name) {
                None => scenarios.push(scenario),
                Some(other) => mistakes.push(format!(
                    "{other} and {name}: both are called {}; rename a file, its name is the \
                     scenario's",
                    scenario.name
                )),
            },
        }
    }
    if mistakes.is_empty() { Ok(scenarios) } else { Err(bad_input(mistakes.join("\n"))) }
}

/// The policies of these names, each once; `all` is every one.
///
/// # Errors
/// Every unknown name.
pub fn policies(names: &[String]) -> anyhow::Result<Vec<&'static str>> {
    let known = policies::canonical;
    let names: Vec<&str> = once(names).collect();
    let unknown: Vec<String> = names
        .iter()
        .filter(|name| **name != "all" && known(name).is_none())
        .map(|name| {
            let known = policies::NAMES.join(", ");
            format!("--policy {name}: no such policy; known policies are {known} and all")
        })
        .collect();
    match unknown.is_empty() {
        false => Err(bad_input(unknown.join("\n"))),
        true if names.contains(&"all") => Ok(policies::NAMES.to_vec()),
        true => {
            let mut selected = Vec::new();
            for policy in names.into_iter().filter_map(known) {
                if !selected.contains(&policy) {
                    selected.push(policy);
                }
            }
            Ok(selected)
        }
    }
}

/// The file of a scenario that ships or is drawn.
///
/// # Errors
/// When there is none of this name.
pub fn file(name: &str) -> anyhow::Result<String> {
    let drawn = || drawn(name).map(|number| Scenario::drawn(number).1);
    text(name).map(str::to_owned).or_else(drawn).ok_or_else(|| bad_input(unknown(name)))
}

fn scenario(name: &str) -> Result<Scenario, String> {
    if !name.ends_with(".toml") {
        let drawn = || drawn(name).map(|number| Scenario::drawn(number).0);
        return Scenario::named(name).or_else(drawn).ok_or_else(|| unknown(name));
    }
    let text = tidegate_config::read_file(name.as_ref()).map_err(|mistake| {
        format!("{mistake}; `tidegate sim --show demo > {name}` writes one to start from")
    })?;
    Scenario::from_toml(&text, name).map_err(|mistakes| mistakes.to_string())
}

/// 17 of `drawn-17`.
fn drawn(name: &str) -> Option<u64> {
    name.strip_prefix("drawn-")?.parse().ok()
}

fn unknown(name: &str) -> String {
    format!(
        "{name}: no such scenario; `tidegate sim --list` lists them, and with --costs the courses; \
         drawn-1, drawn-2 and so on are random scenarios; the name of a file ends in .toml"
    )
}

/// Each name once, at its first place.
fn once(names: &[String]) -> impl Iterator<Item = &str> {
    let firsts = names.iter().enumerate().filter(|(place, name)| !names[..*place].contains(name));
    firsts.map(|(_, name)| name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn numbers_are_as_many_or_from_one_to_another() {
        assert_eq!("60".parse(), Ok(Numbers(1..=60)));
        assert_eq!("61-120".parse(), Ok(Numbers(61..=120)));
        for bad in ["0", "", "x", "9-8", "-3", "1-10001"] {
            assert!(bad.parse::<Numbers>().is_err(), "{bad}");
        }
    }

    #[test]
    fn every_name_counts_once_in_the_given_order() {
        let selected = owned(&["ramp", "demo", "ramp", "drawn-3"]);
        let names: Vec<_> = scenarios(&selected).unwrap().into_iter().map(|s| s.name).collect();
        assert_eq!(names, ["ramp", "demo", "drawn-3"]);
        assert_eq!(policies(&owned(&["tide", "off", "tide"])).unwrap(), ["tide", "off"]);
        let aimd = owned(&["aimd-door", "aimd-admission"]);
        assert_eq!(
            policies(&aimd).unwrap(),
            ["aimd-admission"],
            "a former name and its present one"
        );
        assert_eq!(policies(&owned(&["all", "tide"])).unwrap(), policies::NAMES);
    }

    #[test]
    fn every_unknown_name_is_reported() {
        let error = policies(&owned(&["all", "foo", "tide", "bar"])).unwrap_err().to_string();
        assert!(error.contains("--policy foo") && error.contains("--policy bar"), "{error}");
        let error = scenarios(&owned(&["drawn-x", "none.toml"])).unwrap_err().to_string();
        assert!(
            error.contains("drawn-x: no such") && error.contains("none.toml: there is no such"),
            "{error}"
        );
    }
}
