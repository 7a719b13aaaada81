//! Distributions in a file: a plain value for the mean, or a table with a
//! shape, or measured values.

use std::ops::RangeInclusive;
use std::time::Duration;

use tidegate_config::{Section, Value};

use super::values::{number, numbers};
use crate::distribution::Distribution;

/// The families that a file can name.
const FAMILIES: [&str; 9] = [
    "constant",
    "exponential",
    "uniform",
    "erlang",
    "hyperexponential",
    "gamma",
    "lognormal",
    "weibull",
    "pareto",
];
const KEYS: [&str; 8] =
    ["mean", "distribution", "scv", "stages", "index", "max", "values", "weights"];

/// What a distribution's values are, and between which they must be.
pub(super) enum Unit {
    /// Times, in seconds.
    Seconds(RangeInclusive<f64>),
    /// Lengths of sessions, in requests; those after the first are what varies.
    AfterTheFirst(RangeInclusive<f64>),
}

impl Unit {
    fn read(&self, value: &Value<'_>) -> Option<f64> {
        match self {
            Self::Seconds(range) => {
                let [min, max] = [range.start(), range.end()].map(|s| Duration::from_secs_f64(*s));
                value.duration(min..=max).map(|duration| duration.as_secs_f64())
            }
            Self::AfterTheFirst(range) => value.number(range.clone()).map(|number| number - 1.0),
        }
    }

    fn example(&self) -> &'static str {
        match self {
            Self::Seconds(_) => "{ values = [\"1ms\", \"20ms\"], weights = [0.9, 0.1] }",
            Self::AfterTheFirst(_) => "{ values = [1, 20], weights = [0.9, 0.1] }",
        }
    }
}

/// Reads times. A plain value keeps the shape that is there, with another mean; a
/// key that is not there leaves all as it is.
pub(super) fn times(
    section: &Section<'_>,
    key: &str,
    range: RangeInclusive<f64>,
    to: &mut Distribution,
) {
    let Some(value) = section.get(key) else { return };
    if let Some(found) = distribution(&value, &Unit::Seconds(range), to) {
        *to = found;
    }
}

/// Reads a distribution; what it does not say is as `usual`.
pub(super) fn distribution(
    value: &Value<'_>,
    unit: &Unit,
    usual: &Distribution,
) -> Option<Distribution> {
    if !value.is_table() {
        return unit.read(value).map(|mean| usual.with_mean(mean));
    }
    let section = value.section()?;
    section.only(&KEYS);
    match section.get("values") {
        Some(values) => measured(&section, &values, unit),
        None => shaped(&section, unit, usual),
    }
}

fn measured(section: &Section<'_>, list: &Value<'_>, unit: &Unit) -> Option<Distribution> {
    for key in ["mean", "distribution", "scv", "stages", "index", "max"] {
        if let Some(value) = section.get(key) {
            value.wrong(
                "cannot be combined with values",
                "remove it: values define the distribution",
            );
        }
    }
    let list = list.list()?;
    let values: Vec<f64> = list.iter().filter_map(|value| unit.read(value)).collect();
    if values.len() < list.len() {
        return None;
    }
    let weights = match section.get("weights") {
        None => vec![1.0; values.len()],
        Some(weights) => numbers(&weights, 0.0..=1e12),
    };
    let pairs: Vec<_> = values.iter().copied().zip(weights.iter().copied()).collect();
    let found = (values.len() == weights.len()).then(|| Distribution::empirical(&pairs)).flatten();
    if found.is_none() {
        let rule = "needs values, a weight for each, and a weight above 0";
        section.wrong(rule, format!("write {}", unit.example()));
    }
    found
}

fn shaped(section: &Section<'_>, unit: &Unit, usual: &Distribution) -> Option<Distribution> {
    let mean = section.get("mean").map_or(Some(usual.mean()), |mean| unit.read(&mean))?;
    let family = match section.get("distribution") {
        None => None,
        Some(family) => Some(FAMILIES[family.choice(&FAMILIES)?]),
    };
    if let Some(weights) = section.get("weights") {
        weights.wrong("cannot be used without values", format!("write {}", unit.example()));
    }
    let parameters: &[&str] = match family {
        None => &["scv"],
        Some("constant" | "exponential") => &[],
        Some("erlang") => &["stages"],
        Some("pareto") => &["index", "max"],
        Some(_) => &["scv"],
    };
    for key in ["scv", "stages", "index", "max"] {
        match section.get(key) {
            Some(value) if !parameters.contains(&key) => {
                let of = family.map_or("a distribution".to_owned(), |name| format!("\"{name}\""));
                value.wrong(format!("is not a parameter of {of}"), remedy(family, parameters));
            }
            None if family.is_some() && parameters.contains(&key) => {
                section.wrong(format!("has no {key}"), remedy(family, parameters));
                return None;
            }
            _ => {}
        }
    }
    let scv = |range: RangeInclusive<f64>| section.get("scv")?.number(range);
    Some(match family {
        None if section.get("scv").is_none() => usual.with_mean(mean),
        None => Distribution::of_scv(mean, scv(0.0..=100.0)?),
        Some("constant") => Distribution::constant(mean),
        Some("exponential") => Distribution::exponential(mean),
        // To 1/3, however many of its digits somebody writes.
        Some("uniform") => Distribution::uniform(mean, scv(0.0..=0.334)?),
        Some("hyperexponential") => Distribution::hyperexponential(mean, scv(1.0..=100.0)?),
        Some("gamma") => Distribution::gamma(mean, scv(0.001..=100.0)?),
        Some("lognormal") => Distribution::lognormal(mean, scv(0.001..=100.0)?),
        Some("weibull") => Distribution::weibull(mean, scv(0.001..=100.0)?),
        Some("erlang") => {
            Distribution::erlang(mean, section.get("stages")?.integer(1..=1000)? as u32)
        }
        Some(_) => pareto(section, unit, mean)?,
    })
}

fn pareto(section: &Section<'_>, unit: &Unit, mean: f64) -> Option<Distribution> {
    let mut index = 0.0;
    number(section, "index", 0.1..=20.0, &mut index);
    let value = section.get("max")?;
    let max = unit.read(&value)?;
    if mean <= 0.0 || max < mean * 1.01 {
        value.wrong("must be above the mean", "give a max of several times the mean");
        return None;
    }
    (index > 0.0).then(|| Distribution::pareto(mean, index, max))
}

fn remedy(family: Option<&str>, parameters: &[&str]) -> String {
    match (family, parameters) {
        (None, _) => format!("name a distribution: {}", FAMILIES.join(", ")),
        (Some(name), []) => format!("remove it: \"{name}\" has its mean alone"),
        (Some(name), _) => format!("\"{name}\" has mean and {}", parameters.join(" and ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;

    fn scenario(text: &str) -> Result<Scenario, tidegate_config::Mistakes> {
        Scenario::from_toml(&format!("about = \"x\"\n{text}"), "a.toml")
    }

    #[test]
    fn every_family_can_be_written() {
        for (family, shape, scv) in [
            ("constant", "", 0.0),
            ("exponential", "", 1.0),
            ("uniform", ", scv = 0.2", 0.2),
            ("erlang", ", stages = 4", 0.25),
            ("hyperexponential", ", scv = 3", 3.0),
            ("gamma", ", scv = 0.7", 0.7),
            ("lognormal", ", scv = 4.0", 4.0),
            ("weibull", ", scv = 2.0", 2.0),
            ("pareto", ", index = 2, max = \"6ms\"", 0.75 * 5f64.ln() - 1.0),
        ] {
            let text = format!(
                "[work]\nfirst_request = {{ mean = \"2ms\", distribution = \"{family}\"{shape} }}"
            );
            let found = scenario(&text).unwrap().work.first_request;
            assert!((found.mean() - 2e-3).abs() < 1e-12, "{family}");
            assert!((found.scv() - scv).abs() < 1e-6, "{family}: {}", found.scv());
        }
    }

    #[test]
    fn what_is_left_out_is_as_usual() {
        let found = scenario(
            "[work]\nrequest_scv = 4\nfirst_request = \"2ms\"\n\
             later_request = { values = [\"1ms\", \"20ms\"], weights = [9, 1] }\n\
             [database]\nrequest = { scv = 0.5 }\n\
             [[customers]]\nthink = { distribution = \"constant\" }\n\
             later_request = { mean = \"5ms\" }",
        );
        let found = found.unwrap();
        assert_eq!(found.work.first_request, Distribution::hyperexponential(2e-3, 4.0));
        assert!((found.work.later_request.mean() - 2.9e-3).abs() < 1e-12);
        assert_eq!(found.database.unwrap().request, Distribution::erlang(200e-6, 2));
        let class = &found.customers[0];
        assert_eq!(class.think, Distribution::constant(0.175));
        assert_eq!(class.first_request, None);
        let own = class.later_request.as_ref().unwrap();
        assert_eq!(own, &found.work.later_request.with_mean(5e-3));
    }

    #[test]
    fn every_mistake_is_reported_with_its_line_and_remedy() {
        for (value, words) in [
            ("{ distribution = \"lognorml\", scv = 1 }", "did you mean \"lognormal\"?"),
            ("{ distribution = \"lognormal\" }", "has no scv; \"lognormal\" has mean and scv"),
            ("{ distribution = \"exponential\", scv = 2 }", "scv = 2: is not a parameter of"),
            ("{ distribution = \"uniform\", scv = 2 }", "scv = 2: must be a number of 0 to 0.334"),
            ("{ distribution = \"pareto\", index = 1.5 }", "has no max"),
            ("{ distribution = \"pareto\", index = 1.5, max = \"1us\" }", "above the mean"),
            ("{ index = 1.5 }", "name a distribution: constant"),
            ("{ mean = 3 }", "must be a duration"),
            ("{ mena = \"3ms\" }", "mena = \"3ms\": is not a known key; did you mean mean?"),
            ("{ values = [] }", "needs values, a weight for each"),
            ("{ values = [\"1ms\"], weights = [1, 2] }", "a weight for each"),
            ("{ values = [\"1ms\"], weights = [0] }", "a weight above 0"),
            ("{ values = [\"1ms\", \"2h\"] }", "must be"),
            (
                "{ values = [\"1ms\"], mean = \"1ms\" }",
                "mean = \"1ms\": cannot be combined with values",
            ),
            ("{ weights = [1] }", "cannot be used without values"),
            ("3", "must be a duration"),
        ] {
            let found = scenario(&format!("[work]\nfirst_request = {value}")).unwrap_err();
            let found = found.to_string();
            assert!(found.starts_with("a.toml:3: work.first_request"), "{value}: {found}");
            assert!(found.contains(words), "{value}: {found}");
        }
    }
}
