//! Distributions in a file: a plain value for the mean, or a table with a
//! shape, or measured values.

use tidegate_config::Preset::{Else, Unset};
use tidegate_config::{
    Key, Keys, List, Number, OrTable, Other, PlainOrTable, Rule, Section, Time, Value, Whole,
    Words, keys,
};

use super::families::{FAMILIES, Family, NAMES, Takes};
use crate::distribution::Distribution;

keys! {
    /// A distribution, in place of a plain value, which is the mean of the usual shape of its key.
    pub(super) static DISTRIBUTION: DistributionKeys {
        /// The mean.
        mean: Other("as the key", "that of the key") = Else("the usual one");
        /// The family, see below.
        distribution: Words(&NAMES) = Else("with `scv`: constant, Erlang or hyperexponential, whichever has it; otherwise the usual one");
        /// The squared coefficient of variation. Families have ranges of their own, see below.
        scv: Number(0.0, 100.0) = Unset;
        /// Stages of `"erlang"`.
        stages: Whole(1, 1000) = Unset;
        /// Index of the tail of `"pareto"`.
        index: Number(0.1, 20.0) = Unset;
        /// The value at which the tail of `"pareto"` is cut, above the mean.
        max: Other("as the key", "that of the key") = Unset;
        /// Measured values, which replace all of the above.
        values: Other("list", "each as the key") = Unset;
        /// How often each of `values` occurs, in any unit.
        weights: List<Number>(Number(0.0, 1e12)) = Else("all alike");
    }
}

/// A rule of values that vary.
pub(super) trait Varies: Rule {
    /// Measured values, as an example.
    const EXAMPLE: &'static str;

    /// What varies, of a value that the rule reads: of times the seconds, of lengths of
    /// sessions the requests after the first.
    fn varying(read: Self::Read<'_>) -> f64;

    /// The same of a value that may break the rule.
    fn figure(&self, value: &Value<'_>) -> Option<f64>
    where
        Self: Sized,
    {
        value.read(self).map(Self::varying)
    }
}

impl Varies for Time {
    const EXAMPLE: &'static str = "{ values = [\"1ms\", \"20ms\"], weights = [0.9, 0.1] }";

    fn varying(read: std::time::Duration) -> f64 {
        read.as_secs_f64()
    }
}

impl Varies for Number {
    const EXAMPLE: &'static str = "{ values = [1, 20], weights = [0.9, 0.1] }";

    fn varying(read: f64) -> f64 {
        read - 1.0
    }
}

/// Reads times of a shape by their mean; without the key, of the declared mean.
pub(super) fn times(
    section: &Section<'_>,
    key: &Key<OrTable<Time>>,
    shape: impl Fn(f64) -> Distribution,
) -> Distribution {
    let mean = match section.default_of(key) {
        Some(PlainOrTable::Plain(mean)) => mean.as_secs_f64(),
        _ => 0.0,
    };
    let usual = shape(mean);
    times_like(section, key, &usual).unwrap_or(usual)
}

/// Reads times that are as `usual` where the file does not say otherwise; `None`: the key
/// is not set, or wrong.
pub(super) fn times_like(
    section: &Section<'_>,
    key: &Key<OrTable<Time>>,
    usual: &Distribution,
) -> Option<Distribution> {
    match section.given(key)? {
        PlainOrTable::Plain(mean) => Some(usual.with_mean(mean.as_secs_f64())),
        PlainOrTable::Table(table) => distribution(&table, &key.rule.0, usual),
    }
}

/// Reads the table of a distribution; what it does not say is as `usual`.
pub(super) fn distribution<R: Varies>(
    section: &Section<'_>,
    rule: &R,
    usual: &Distribution,
) -> Option<Distribution> {
    section.known(&DISTRIBUTION);
    match section.get(DISTRIBUTION.values.name) {
        Some(values) => measured(section, &values, rule),
        None => shaped(section, rule, usual),
    }
}

fn measured<R: Varies>(section: &Section<'_>, list: &Value<'_>, rule: &R) -> Option<Distribution> {
    let measured = [DISTRIBUTION.values.name, DISTRIBUTION.weights.name];
    for key in DISTRIBUTION.names().into_iter().filter(|key| !measured.contains(key)) {
        if let Some(value) = section.get(key) {
            value.wrong(
                "cannot be combined with values",
                "remove it: values define the distribution",
            );
        }
    }
    let list = list.list()?;
    let values: Vec<f64> = list.iter().filter_map(|value| rule.figure(value)).collect();
    if values.len() < list.len() {
        return None;
    }
    let weights = section.optional(&DISTRIBUTION.weights)?.unwrap_or(vec![1.0; values.len()]);
    let pairs: Vec<_> = values.iter().copied().zip(weights.iter().copied()).collect();
    let found = (values.len() == weights.len()).then(|| Distribution::empirical(&pairs)).flatten();
    if found.is_none() {
        let needs = "needs values, a weight for each, and a weight above 0";
        section.wrong(needs, format!("write {}", R::EXAMPLE));
    }
    found
}

fn shaped<R: Varies>(
    section: &Section<'_>,
    rule: &R,
    usual: &Distribution,
) -> Option<Distribution> {
    let mean = match section.get(DISTRIBUTION.mean.name) {
        Some(mean) => rule.figure(&mean),
        None => Some(usual.mean()),
    };
    let family = section.optional(&DISTRIBUTION.distribution);
    if let Some(weights) = section.get(DISTRIBUTION.weights.name) {
        weights.wrong("cannot be used without values", format!("write {}", R::EXAMPLE));
    }
    let (mean, family) = (mean?, family?.map(|index| &FAMILIES[index]));
    parameters(section, family)?;
    let Some(family) = family else {
        return Some(match section.optional(&DISTRIBUTION.scv)? {
            Some(scv) => Distribution::of_scv(mean, scv),
            None => usual.with_mean(mean),
        });
    };
    Some(match family.takes {
        Takes::Nothing(of) => of(mean),
        Takes::Scv(range, of) => of(mean, section.get(DISTRIBUTION.scv.name)?.read(&range)?),
        Takes::Stages => Distribution::erlang(mean, section.given(&DISTRIBUTION.stages)? as u32),
        Takes::Tail => pareto(section, rule, mean)?,
    })
}

/// Whether the family has all of its parameters; those of others are reported.
fn parameters(section: &Section<'_>, family: Option<&Family>) -> Option<()> {
    let parameters = family.map_or(&["scv"][..], Family::parameters);
    for key in ["scv", "stages", "index", "max"] {
        match section.get(key) {
            Some(value) if !parameters.contains(&key) => {
                let of = family.map_or("a distribution".to_owned(), |f| format!("\"{}\"", f.name));
                value.wrong(format!("is not a parameter of {of}"), remedy(family));
            }
            None if family.is_some() && parameters.contains(&key) => {
                section.wrong(format!("has no {key}"), remedy(family));
                return None;
            }
            _ => {}
        }
    }
    Some(())
}

fn remedy(family: Option<&Family>) -> String {
    match family.map(|family| (family.name, family.parameters())) {
        None => format!("name a distribution: {}", NAMES.join(", ")),
        Some((name, [])) => format!("remove it: \"{name}\" has its mean alone"),
        Some((name, parameters)) => format!("\"{name}\" has mean and {}", parameters.join(" and ")),
    }
}

fn pareto<R: Varies>(section: &Section<'_>, rule: &R, mean: f64) -> Option<Distribution> {
    let index = section.given(&DISTRIBUTION.index);
    let value = section.get(DISTRIBUTION.max.name)?;
    let max = rule.figure(&value)?;
    if mean <= 0.0 || max < mean * 1.01 {
        value.wrong("must be above the mean", "give a max of several times the mean");
        return None;
    }
    Some(Distribution::pareto(mean, index?, max))
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
