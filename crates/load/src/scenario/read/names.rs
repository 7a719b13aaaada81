//! Reads `[parameters]`, and the names that paths and texts may contain.

use tidegate_config::Preset::Required;
use tidegate_config::{Pair, Section, Value, keys};

use super::limits::OWN;
use crate::scenario::field::NAMES;
use crate::scenario::template::{Parameter, Template};

keys! {
    /// A parameter, by its name, which paths and texts may have in braces.
    pub(super) static PARAMETER: ParameterKeys {
        /// Range of whole numbers to draw from if no page offers a value.
        uniform: Pair(0, i64::MAX) = Required("");
    }
}

/// Names of parameters, by index; the first three are [`OWN`]. Whether something gives each of
/// them a value, and whether some names are unknown because a file could not be read.
#[derive(Default)]
pub(super) struct Names(pub(super) Vec<Parameter>, Vec<bool>, bool);

impl Names {
    /// Those that every customer has, and all that the scenario gives a value:
    /// declared, extracted, or seen in some link.
    pub(super) fn of(root: &Section<'_>) -> Self {
        let mut names = Self::default();
        OWN.iter().for_each(|own| names.give(own));
        if let Some(section) = root.get("parameters").and_then(|value| value.section()) {
            parameters(&section, &mut names);
        }
        // Their mistakes are reported where they are read.
        fn table<'r>(value: Value<'r>) -> Option<Section<'r>> {
            value.is_table().then(|| value.section()).flatten()
        }
        let pages = root.get("pages").and_then(table);
        for (_, page) in pages.map(|pages| pages.entries()).unwrap_or_default() {
            let Some(page) = table(page) else { continue };
            for key in ["link", "form", "ids"] {
                let Some(value) = page.get(key).filter(Value::is_str) else { continue };
                let _ = Template::parse(value.string().unwrap_or_default(), |name| {
                    names.give(name);
                    names.index(name)
                });
            }
            let extracted = page.get("extract").and_then(table);
            let extracted = extracted.map(|section| section.entries()).unwrap_or_default();
            extracted.into_iter().for_each(|(name, _)| names.give(name));
        }
        names
    }

    /// Notes that a file with names could not be read.
    pub(super) fn some_are_unread(&mut self) {
        self.2 = true;
    }

    /// Whether all names are known, so that another one is a mistake.
    pub(super) fn are_all_known(&self) -> bool {
        !self.2
    }

    pub(super) fn give(&mut self, name: &str) {
        let index = usize::from(self.index(name));
        self.1.resize(self.0.len(), false);
        self.1[index] = true;
    }

    /// The index of a parameter that something gives a value.
    pub(super) fn given(&self, name: &str) -> Option<u16> {
        let found = self.0.iter().position(|parameter| parameter.name == name)?;
        self.1.get(found).copied().unwrap_or_default().then_some(found as u16)
    }

    pub(super) fn index(&mut self, name: &str) -> u16 {
        let found = self.0.iter().position(|parameter| parameter.name == name);
        found.unwrap_or_else(|| {
            self.0.push(Parameter { name: name.to_owned(), uniform: None });
            self.0.len() - 1
        }) as u16
    }
}

fn parameters(section: &Section<'_>, names: &mut Names) {
    for (name, value) in section.entries() {
        if OWN.contains(&name) {
            value.wrong("is a name that every customer has already", "choose another name");
            continue;
        }
        let Some(inner) = value.section() else { continue };
        inner.known(&PARAMETER);
        match inner.get(PARAMETER.uniform.name).map(|_| inner.given(&PARAMETER.uniform)) {
            Some(Some((first, last))) => {
                names.give(name);
                let index = names.index(name);
                names.0[index as usize].uniform = Some((first as u64, last as u64));
            }
            Some(None) => {}
            None => inner.wrong("has no values to draw from", "write { uniform = [1, 20] }"),
        }
    }
}

/// Names that no parameter can have.
pub(super) fn is_own(name: &str) -> bool {
    OWN.contains(&name) || NAMES.contains(&name)
}
