//! Experiments that ship with the program.

use super::Experiment;

/// An experiment that ships.
#[derive(Clone, Copy, Debug)]
pub struct BuiltIn {
    /// Its name.
    pub name: &'static str,
    /// Its file.
    pub text: &'static str,
}

/// Every experiment that ships.
pub const BUILT_IN: &[BuiltIn] = &[
    BuiltIn { name: "overload", text: include_str!("../../experiments/overload.toml") },
    BuiltIn { name: "rivals", text: include_str!("../../experiments/rivals.toml") },
    BuiltIn { name: "tomcat", text: include_str!("../../experiments/tomcat.toml") },
    BuiltIn { name: "security", text: include_str!("../../experiments/security.toml") },
    BuiltIn { name: "node", text: include_str!("../../experiments/node.toml") },
];

impl BuiltIn {
    /// The one of a name.
    pub fn named(name: &str) -> Option<Self> {
        BUILT_IN.iter().copied().find(|one| one.name == name)
    }

    /// Reads it.
    ///
    /// # Panics
    /// Never: a test reads every one.
    pub fn experiment(self) -> Experiment {
        let file = format!("{}.toml", self.name);
        Experiment::from_toml(self.text, &file).expect("experiments that ship are valid")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_experiment_that_ships_is_valid_and_has_its_name() {
        for one in BUILT_IN {
            let read = Experiment::from_toml(one.text, one.name);
            let experiment = read.unwrap_or_else(|mistakes| panic!("{mistakes}"));
            assert_eq!(experiment.name, one.name);
        }
    }

    #[test]
    fn the_study_of_2007_has_a_counterpart_of_each_of_its_figures() {
        let overload = BuiltIn::named("overload").unwrap().experiment();
        for number in 3..=12 {
            let named = format!("After figure {number} of Guitart et al. 2007");
            let found = overload.figures.iter().find(|figure| {
                let rest = figure.note.strip_prefix(&named);
                rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_digit()))
            });
            let figure = found.unwrap_or_else(|| panic!("no figure {number}"));
            let id = figure.id.strip_prefix(&format!("figure-{number}"));
            assert!(
                id.is_some_and(|rest| rest.is_empty() || rest.starts_with('-')),
                "{}",
                figure.id
            );
        }
    }
}
