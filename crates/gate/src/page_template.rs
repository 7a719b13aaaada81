//! The page of the waiting room with its placeholders, `{{name}}`.

use std::sync::Arc;

/// What a page may have in it, and what each stands for.
pub const PLACEHOLDERS: [&str; 7] =
    ["lang", "title", "text", "figures", "place", "estimate", "stay"];
/// Most bytes of a template.
pub const MOST_BYTES: usize = 64 << 10;

/// A page with placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(Arc<[Part]>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Placeholder(&'static str),
}

impl Template {
    /// Reads a page.
    ///
    /// # Errors
    /// The placeholder that is none, or does not end.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            let unknown = |name: &str| name.chars().take(40).collect::<String>();
            let (name, following) = after.split_once("}}").ok_or_else(|| unknown(after))?;
            let known = PLACEHOLDERS.into_iter().find(|known| *known == name.trim());
            parts.push(Part::Text(before.to_owned()));
            parts.push(Part::Placeholder(known.ok_or_else(|| unknown(name))?));
            rest = following;
        }
        parts.push(Part::Text(rest.to_owned()));
        Ok(Self(parts.into()))
    }

    /// The page with these values.
    pub fn fill<'v>(&self, value: impl Fn(&str) -> &'v str) -> String {
        let mut page = String::with_capacity(4096);
        for part in &*self.0 {
            page.push_str(match part {
                Part::Text(text) => text,
                Part::Placeholder(name) => value(name),
            });
        }
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled() {
        let template = Template::read("<p>{{ place }} of {{lang}}</p>").unwrap();
        let page = template.fill(|name| if name == "place" { "7" } else { "en" });
        assert_eq!(page, "<p>7 of en</p>");
    }

    #[test]
    fn what_is_no_placeholder_is_named() {
        assert_eq!(Template::read("{{name}}"), Err("name".to_owned()));
        assert_eq!(Template::read("a {{place"), Err("place".to_owned()));
    }
}
