//! What controllers have learned, in a form that others can use: averages by name, each with its
//! evidence.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// An average, and how much was seen of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// In the unit of what is averaged, such as CPU seconds of a request.
    pub value: f64,
    /// In the unit that it is averaged over, such as requests; at most what an average remembers.
    pub weight: f64,
}

/// Averages by name. A name that a reader does not know is ignored, so that versions of the program
/// can be mixed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Experience(BTreeMap<String, Evidence>);

impl Experience {
    /// Most averages: there are twenty, and one for each kind of handshakes that was seen.
    const MOST: usize = 160;
    const LONGEST_NAME: usize = 64;
    /// Costs, requests of a connection and rates are far below.
    const GREATEST: f64 = 1e9;

    /// Whether nothing was learned.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds an average.
    pub(crate) fn insert(&mut self, name: impl Into<String>, evidence: Option<Evidence>) {
        if let Some(evidence) = evidence {
            self.0.insert(name.into(), evidence);
        }
    }

    /// The average of this name, if it is known.
    pub fn get(&self, name: &str) -> Option<Evidence> {
        self.0.get(name).copied()
    }

    /// Adds what another has learned: the mean, by the weight of what each has seen.
    pub fn merge(&mut self, other: &Self) {
        for (name, new) in &other.0 {
            let known = self.0.entry(name.clone()).or_insert(Evidence { value: 0.0, weight: 0.0 });
            let weight = known.weight + new.weight;
            if weight > 0.0 {
                known.value += (new.value - known.value) * new.weight / weight;
            }
            known.weight = weight.min(Self::GREATEST);
        }
        while self.0.len() > Self::MOST {
            self.0.pop_last();
        }
    }

    /// Whether it can be what a controller has learned.
    pub(crate) fn is_possible(&self) -> bool {
        let is_name = |name: &str| {
            (1..=Self::LONGEST_NAME).contains(&name.len())
                && name.bytes().all(|byte| byte.is_ascii_graphic())
        };
        let range = 0.0..=Self::GREATEST;
        self.0.len() <= Self::MOST
            && self.0.iter().all(|(name, evidence)| {
                is_name(name) && range.contains(&evidence.value) && range.contains(&evidence.weight)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(averages: &[(&str, f64, f64)]) -> Experience {
        let mut all = Experience::default();
        for (name, value, weight) in averages {
            all.insert(*name, Some(Evidence { value: *value, weight: *weight }));
        }
        all
    }

    #[test]
    fn what_several_have_learned_is_the_mean_by_what_each_has_seen() {
        let mut all = of(&[("request", 2.0, 300.0), ("session", 1.0, 0.0)]);
        all.merge(&of(&[("request", 6.0, 100.0), ("session", 3.0, 0.0), ("return", 0.5, 9.0)]));
        let request = Evidence { value: 3.0, weight: 400.0 };
        assert_eq!(all.get("request"), Some(request));
        assert_eq!(all.get("return"), Some(Evidence { value: 0.5, weight: 9.0 }));
        // Nobody has seen one: any value does.
        assert_eq!(all.get("session").map(|it| it.weight), Some(0.0));
    }

    #[test]
    fn what_cannot_have_been_learned_is_known() {
        assert!(of(&[("request", 0.0, 1.0)]).is_possible());
        for wrong in [f64::NAN, f64::INFINITY, -1.0, 1e10] {
            assert!(!of(&[("request", wrong, 1.0)]).is_possible(), "{wrong}");
            assert!(!of(&[("request", 1.0, wrong)]).is_possible(), "{wrong}");
        }
        assert!(!of(&[("", 1.0, 1.0)]).is_possible() && !of(&[("a b", 1.0, 1.0)]).is_possible());
        let names: Vec<String> = (0..=Experience::MOST).map(|it| it.to_string()).collect();
        let many: Vec<_> = names.iter().map(|name| (name.as_str(), 1.0, 1.0)).collect();
        assert!(!of(&many).is_possible());
    }
}
