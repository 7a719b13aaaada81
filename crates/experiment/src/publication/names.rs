//! The names of figures: `docs/studies/figures.md` says from which cells each comes.

use std::collections::BTreeMap;

use super::expression::Expression;

/// The page that defines the names, in the folder of the studies' pages.
pub const NAMES: &str = "figures.md";

/// Where its definitions begin and end.
const FENCE: (&str, &str) = ("```text", "```");

/// What each name stands for.
#[derive(Debug, Default)]
pub struct Names(BTreeMap<String, Expression>);

impl Names {
    /// Reads the definitions of a page: lines of `NAME = EXPRESSION` in blocks of `text`.
    ///
    /// # Errors
    /// The line and what is wrong with it.
    pub fn read(page: &str) -> Result<Self, String> {
        let (mut names, mut within) = (BTreeMap::new(), false);
        for (number, line) in page.lines().enumerate() {
            let fence = if within { FENCE.1 } else { FENCE.0 };
            if line.trim_end() == fence {
                within = !within;
                continue;
            }
            if !within || line.trim().is_empty() {
                continue;
            }
            let wrong = |text: String| format!("{NAMES}:{}: {text}", number + 1);
            let (name, text) = line.split_once(" = ").ok_or_else(|| {
                wrong(format!("{line:?} defines no name; write NAME = EXPRESSION"))
            })?;
            let expression = Expression::read(text.trim()).map_err(wrong)?;
            if names.insert(name.trim().to_owned(), expression).is_some() {
                return Err(wrong(format!("{} is defined twice; take one away", name.trim())));
            }
        }
        Ok(Self(names))
    }

    /// What a name stands for.
    pub(super) fn get(&self, name: &str) -> Result<&Expression, String> {
        self.0.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.all().collect();
            let hint = tidegate_config::did_you_mean(name, &known)
                .unwrap_or_else(|| "define it there".into());
            format!("{name} is not in docs/studies/{NAMES}; {hint}")
        })
    }

    /// Every name, sorted.
    pub fn all(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_from_blocks_alone() {
        let page = "a = b\n\n```text\no.a = o/points[policy=off].done\n\n```\n";
        let names = Names::read(page).unwrap();
        assert_eq!(names.all().collect::<Vec<_>>(), ["o.a"]);
        assert!(names.get("o.b").unwrap_err().contains("docs/studies/figures.md"));
    }

    #[test]
    fn a_definition_that_is_none_is_named_by_its_line() {
        for (line, expected) in [
            ("o.a", "figures.md:2: \"o.a\" defines no name"),
            ("o.a = 17", "figures.md:2: \"17\" is no cell"),
            ("o.a = o/p.x\no.a = o/p.y", "figures.md:3: o.a is defined twice"),
        ] {
            let error = Names::read(&format!("```text\n{line}\n```")).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
