//! Which figures a comparison tests.

use std::str::FromStr;

use tidegate_config::did_you_mean;

use super::figures::{FIGURES, Figure, MORE_FIGURES};

/// The figures that a comparison tests. Holm's rule takes account of their number, so that fewer
/// figures leave each a better chance.
#[derive(Clone, Debug)]
pub struct Selection {
    pub(super) figures: Vec<&'static Figure>,
    /// They were named, and not the usual ones.
    pub(super) named: bool,
}

impl Default for Selection {
    /// The usual figures.
    fn default() -> Self {
        Self { figures: FIGURES.iter().collect(), named: false }
    }
}

impl FromStr for Selection {
    type Err = String;

    /// Reads names with commas between them, such as `response_p95_ms,completed_per_s`.
    ///
    /// # Errors
    /// The name that is not known, with the nearest one and all others.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut figures: Vec<&Figure> = Vec::new();
        for name in text.split(',').map(str::trim) {
            let figure = all().find(|figure| figure.name == name).ok_or_else(|| unknown(name))?;
            if !figures.iter().any(|known| known.name == name) {
                figures.push(figure);
            }
        }
        Ok(Self { figures, named: true })
    }
}

/// Every figure, the usual ones first.
fn all() -> impl Iterator<Item = &'static Figure> {
    FIGURES.iter().chain(MORE_FIGURES)
}

fn unknown(name: &str) -> String {
    let names: Vec<&str> = all().map(|figure| figure.name).collect();
    // `p99.9` is a part of `response_p99_9_ms`.
    let part = name.to_ascii_lowercase().replace(['-', '.'], "_");
    let within = || {
        let mut holding = names.iter().filter(|known| known.contains(&part));
        let shortest = holding.clone().map(|known| known.len()).min();
        let found = holding.find(|known| Some(known.len()) == shortest)?;
        (!part.is_empty()).then(|| format!("did you mean {found}?"))
    };
    let hint = within().or_else(|| did_you_mean(name, &names));
    let hint = hint.map(|hint| format!(" {hint}")).unwrap_or_default();
    format!("no figure is named \"{name}\";{hint} figures: {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<&'static str> {
        let selection: Selection = text.parse().unwrap();
        selection.figures.iter().map(|figure| figure.name).collect()
    }

    #[test]
    fn figures_are_taken_by_name_each_once_and_in_the_order_given() {
        assert_eq!(
            names("response_p99_9_ms, completed_per_s,response_p99_9_ms"),
            ["response_p99_9_ms", "completed_per_s"]
        );
        assert_eq!(Selection::default().figures.len(), 11);
        let mut unique: Vec<&str> = all().map(|figure| figure.name).collect();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), all().count());
    }

    #[test]
    fn a_name_that_is_not_known_gets_the_nearest_and_all_others() {
        for (wrong, near) in [
            ("p95", " did you mean response_p95_ms? "),
            ("p99.9", " did you mean response_p99_9_ms? "),
            ("p99", " did you mean response_p99_ms? "),
            ("completed-per-s", " did you mean completed_per_s? "),
            ("respnse_p50_ms", " did you mean response_p50_ms? "),
        ] {
            let text = wrong.parse::<Selection>().unwrap_err();
            assert!(text.starts_with(&format!("no figure is named \"{wrong}\";{near}")), "{text}");
            assert!(text.contains("figures: completed_per_s, requests_per_s, "), "{text}");
        }
        for wrong in ["", "nonsense", "completed_per_s,"] {
            let text = wrong.parse::<Selection>().unwrap_err();
            assert!(text.contains("; figures: "), "{text}");
        }
    }
}
