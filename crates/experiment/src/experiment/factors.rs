//! What an experiment varies.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use tidegate_config::{Section, Value, did_you_mean};

use super::keys::FACTOR;
use super::settings::Settings;

/// A factor with its levels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Factor {
    /// Its name: that of the key, unless it sets several.
    pub name: String,
    /// Its levels, in the order of the file.
    pub levels: Vec<Level>,
}

/// A level of a factor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// Its name: the value as written, unless it has one.
    pub name: String,
    /// The settings that it changes, by key.
    pub(super) fields: Map<String, Json>,
    /// Whether a quick run has it.
    pub(super) quick: bool,
    /// The level that it is compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
}

impl Level {
    /// The settings that it changes, as JSON.
    pub fn sets(&self) -> String {
        Json::Object(self.fields.clone()).to_string()
    }
}

/// Most levels of a factor.
const LEVELS: usize = 1000;

impl Factor {
    /// Reads a table `[[factors]]`. `None` after a mistake.
    pub(super) fn read(table: &Section<'_>) -> Option<Self> {
        table.known(&FACTOR);
        let (key, name) = (table.given(&FACTOR.key), table.given(&FACTOR.name));
        let list = table.read(&FACTOR.levels)?.list()?;
        if list.is_empty() || list.len() > LEVELS {
            let problem = format!("must have 1 to {LEVELS} entries");
            table.get("levels")?.wrong(problem, "list the values to measure");
            return None;
        }
        let (name, levels) = match (key, name) {
            (Some(key), None) => (key, of_key(table, key, &list)?),
            (None, Some(name)) => {
                if name.is_empty() || !name.bytes().all(is_letter) {
                    let rule = "must have letters, digits, hyphens and underscores only";
                    table.get("name")?.wrong(rule, "choose a short name");
                    return None;
                }
                (name, of_tables(&list)?)
            }
            _ => {
                table.wrong(
                    "must have either `key` or `name`",
                    "key = \"policy\" varies that key; with a name, levels are tables",
                );
                return None;
            }
        };
        let mut factor = Self { name: name.to_owned(), levels };
        for (index, level) in factor.levels.iter().enumerate() {
            if factor.levels[..index].iter().any(|before| before.name == level.name) {
                list[index].wrong("is there twice", "leave one out");
                return None;
            }
        }
        if let Some(quick) = table.given(&FACTOR.quick) {
            let chosen = quick.list()?;
            let chosen: Vec<String> =
                chosen.iter().map(|level| factor.known(level)).collect::<Option<_>>()?;
            if chosen.is_empty() {
                quick.wrong("must have at least one level", "leave the key out for all of them");
            }
            factor.levels.iter_mut().for_each(|level| level.quick = chosen.contains(&level.name));
        }
        if let Some(references) = table.given(&FACTOR.reference) {
            references.only(&factor.levels(false));
            for (level, value) in references.entries() {
                let reference = factor.known(&value);
                if let Some(level) = factor.levels.iter_mut().find(|it| it.name == level) {
                    level.reference = reference;
                }
            }
        }
        Some(factor)
    }

    /// The names of its levels.
    pub fn levels(&self, quick: bool) -> Vec<&str> {
        let levels = self.levels.iter().filter(|level| level.quick || !quick);
        levels.map(|level| level.name.as_str()).collect()
    }

    /// The place of a run's level among the factor's; 0 if the factor is to be left out.
    pub(crate) fn place(&self, levels: &BTreeMap<String, String>, left_out: &str) -> usize {
        let level = levels.get(&self.name).filter(|_| self.name != left_out);
        let place = level.and_then(|level| self.levels.iter().position(|it| it.name == *level));
        place.unwrap_or_default()
    }

    /// The level that a value names; one that is none is a mistake.
    pub(super) fn known(&self, value: &Value<'_>) -> Option<String> {
        let named = label(value);
        let found = self.levels.iter().find(|level| Some(&level.name) == named.as_ref());
        if found.is_none() {
            let names: Vec<&str> = self.levels.iter().map(|level| level.name.as_str()).collect();
            let near = did_you_mean(&named.unwrap_or_default(), &names);
            let remedy = near.unwrap_or_else(|| format!("choose of {}", names.join(", ")));
            value.wrong(format!("is no level of {}", self.name), remedy);
        }
        found.map(|level| level.name.clone())
    }
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}

/// A plain value as a name.
fn label(value: &Value<'_>) -> Option<String> {
    if let Some(digits) = value.digits() {
        return Some(digits.into_owned());
    }
    let truth = || value.truth().map(|truth| truth.to_string());
    value.text().map(str::to_owned).or_else(truth)
}

/// Levels that are values of one key.
fn of_key(table: &Section<'_>, key: &str, list: &[Value<'_>]) -> Option<Vec<Level>> {
    let keys = Settings::keys();
    if !keys.contains(&key) {
        let near = did_you_mean(key, &keys);
        let remedy = near.unwrap_or_else(|| format!("choose of {}", keys.join(", ")));
        table.get("key")?.wrong("is no key of `system` or `workload`", remedy);
        return None;
    }
    let level = |value: &Value<'_>| {
        let fields = Settings::level(key, value)?;
        Some(Level { name: label(value)?, fields, quick: true, reference: None })
    };
    list.iter().map(level).collect()
}

/// Levels that are tables with a name.
fn of_tables(list: &[Value<'_>]) -> Option<Vec<Level>> {
    let level = |value: &Value<'_>| {
        let table = value.section()?;
        let keys: Vec<&str> = Settings::keys().into_iter().chain(["name"]).collect();
        table.only(&keys);
        let Some(name) = table.get("name") else {
            table.wrong("must have a `name`", "add name = \"now\"");
            return None;
        };
        let name = name.string()?.to_owned();
        let mut fields = Map::new();
        for (key, value) in table.entries() {
            if key != "name" {
                fields.extend(Settings::level(key, &value)?);
            }
        }
        Some(Level { name, fields, quick: true, reference: None })
    };
    list.iter().map(level).collect()
}
