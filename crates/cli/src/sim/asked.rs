//! What was asked for on the command line: scenarios and policies.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::str::FromStr;

use tidegate_sim::{Scenario, policies, text};

use crate::exit::bad_input;

/// Most scenarios that are drawn at once.
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

/// What was named, or where nothing was, what is usual.
pub fn or_usual(named: Vec<String>, usual: &[&str]) -> Vec<String> {
    if named.is_empty() { usual.iter().map(|name| (*name).to_owned()).collect() } else { named }
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
/// Every name that is not known.
pub fn policies(names: &[String]) -> anyhow::Result<Vec<&'static str>> {
    let known = |name: &str| policies::NAMES.into_iter().find(|known| *known == name);
    let names: Vec<&str> = once(names).collect();
    let unknown: Vec<String> = names
        .iter()
        .filter(|name| **name != "all" && known(name).is_none())
        .map(|name| {
            let known = policies::NAMES.join(", ");
            format!("--policy {name}: no such policy; known are {known} and all")
        })
        .collect();
    match unknown.is_empty() {
        false => Err(bad_input(unknown.join("\n"))),
        true if names.contains(&"all") => Ok(policies::NAMES.to_vec()),
        true => Ok(names.into_iter().filter_map(known).collect()),
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
    let text = std::fs::read_to_string(name).map_err(|error| {
        format!("{name}: cannot be read: {error}; `tidegate sim --show demo > {name}` begins one")
    })?;
    Scenario::from_toml(&text, name).map_err(|mistakes| mistakes.to_string())
}

/// 17 of `drawn-17`.
fn drawn(name: &str) -> Option<u64> {
    name.strip_prefix("drawn-")?.parse().ok()
}

fn unknown(name: &str) -> String {
    format!(
        "{name}: no such scenario; `tidegate sim --list` names them, and with --costs the courses; \
         drawn-1, drawn-2 and so on are drawn at random, and a file of your own ends in .toml"
    )
}

/// Each name the first time that it comes.
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
    fn everything_comes_once_in_the_order_asked_for() {
        let asked = owned(&["ramp", "demo", "ramp", "drawn-3"]);
        let names: Vec<_> = scenarios(&asked).unwrap().into_iter().map(|s| s.name).collect();
        assert_eq!(names, ["ramp", "demo", "drawn-3"]);
        assert_eq!(policies(&owned(&["tide", "off", "tide"])).unwrap(), ["tide", "off"]);
        assert_eq!(policies(&owned(&["all", "tide"])).unwrap(), policies::NAMES);
    }

    #[test]
    fn every_name_that_is_not_known_is_told() {
        let told = policies(&owned(&["all", "foo", "tide", "bar"])).unwrap_err().to_string();
        assert!(told.contains("--policy foo") && told.contains("--policy bar"), "{told}");
        let told = scenarios(&owned(&["drawn-x", "none.toml"])).unwrap_err().to_string();
        assert!(told.contains("drawn-x: no such") && told.contains("none.toml: cannot"), "{told}");
    }
}
