//! Path templates such as `/items/{item}/bids?page={page}`: matched against
//! links of a page, and filled in to make a request.

/// A path with named parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    text: String,
    parts: Vec<Shard>,
    has_query: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Shard {
    Literal(String),
    /// Index of the parameter in the scenario.
    Parameter(u16),
}

impl Template {
    /// Parses a template; `intern` turns a parameter's name into its index.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn parse(text: &str, mut intern: impl FnMut(&str) -> u16) -> Result<Self, String> {
        if !text.starts_with('/') {
            return Err(format!("\"{text}\" must begin with /"));
        }
        if let Some(bad) = text.chars().find(|c| c.is_ascii_control() || *c == ' ' || *c == '#') {
            return Err(format!("\"{text}\" must not contain {bad:?}"));
        }
        let mut parts = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let Some(open) = rest.find('{') else {
                parts.push(Shard::Literal(rest.to_owned()));
                break;
            };
            let (literal, tail) = rest.split_at(open);
            let Some(close) = tail.find('}') else {
                return Err(format!("\"{text}\" has a {{ without }}"));
            };
            let name = &tail[1..close];
            if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
                return Err(format!("\"{{{name}}}\" must be letters, digits and _"));
            }
            if literal.is_empty() {
                return Err(format!("\"{text}\" has two parameters with nothing between"));
            }
            parts.push(Shard::Literal(literal.to_owned()));
            parts.push(Shard::Parameter(intern(name)));
            rest = &tail[close + 1..];
        }
        Ok(Self { text: text.to_owned(), parts, has_query: text.contains('?') })
    }

    /// The template as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it has no parameters.
    pub fn is_fixed(&self) -> bool {
        self.parameters().next().is_none()
    }

    /// Indices of its parameters, in order.
    pub fn parameters(&self) -> impl Iterator<Item = u16> + '_ {
        self.parts.iter().filter_map(|part| match part {
            Shard::Parameter(index) => Some(*index),
            Shard::Literal(_) => None,
        })
    }

    /// Whether a path fits, telling each parameter's value to `found`. A
    /// parameter takes one or more characters up to the next `/`, `?`, `&`.
    /// A template without a query fits a path with any query. `found` may
    /// have been called for a path that does not fit in the end.
    pub fn matches<'p>(&self, path: &'p str, mut found: impl FnMut(u16, &'p str)) -> bool {
        let path = path.split_once('#').map_or(path, |(path, _)| path);
        let path = match path.split_once('?') {
            Some((path, _)) if !self.has_query => path,
            _ => path,
        };
        let mut rest = path;
        for part in &self.parts {
            match part {
                Shard::Literal(literal) => match rest.strip_prefix(literal.as_str()) {
                    Some(tail) => rest = tail,
                    None => return false,
                },
                Shard::Parameter(index) => {
                    let end = rest.find(['/', '?', '&']).unwrap_or(rest.len());
                    if end == 0 {
                        return false;
                    }
                    found(*index, &rest[..end]);
                    rest = &rest[end..];
                }
            }
        }
        rest.is_empty()
    }

    /// Fills in the parameters; `None` if `value` has none for one of them.
    pub fn fill(&self, mut value: impl FnMut(u16, &mut String) -> bool) -> Option<String> {
        let mut path = String::with_capacity(self.text.len() + 8);
        for part in &self.parts {
            match part {
                Shard::Literal(literal) => path.push_str(literal),
                Shard::Parameter(index) => {
                    if !value(*index, &mut path) {
                        return None;
                    }
                }
            }
        }
        Some(path)
    }
}

/// A name in braces within a template.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// The name.
    pub name: String,
    /// Whole numbers to draw from, both ends included, where no page offers a
    /// value.
    pub uniform: Option<(u64, u64)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(text: &str) -> Template {
        let mut names: Vec<String> = Vec::new();
        Template::parse(text, |name| {
            names.push(name.to_owned());
            names.len() as u16 - 1
        })
        .unwrap()
    }

    #[test]
    fn a_parameter_ends_at_the_next_slash_and_the_query_is_free() {
        let bids = template("/items/{item}/bids");
        let mut seen = Vec::new();
        assert!(bids.matches("/items/42/bids?page=2#end", |_, value| seen.push(value)));
        assert_eq!(seen, ["42"]);
        assert!(!bids.matches("/items/42", |_, _| ()));
        assert!(!bids.matches("/items//bids", |_, _| ()));
        assert!(!bids.matches("/items/42/bids/3", |_, _| ()));
    }

    #[test]
    fn a_query_in_the_template_must_be_there() {
        let search = template("/search?q={word}&page={page}");
        assert!(search.matches("/search?q=tide&page=2", |_, _| ()));
        assert!(!search.matches("/search?q=tide", |_, _| ()));
        let filled = search.fill(|index, path| {
            path.push_str(["gate", "7"][index as usize]);
            true
        });
        assert_eq!(filled.as_deref(), Some("/search?q=gate&page=7"));
    }

    #[test]
    fn bad_templates_are_named() {
        for bad in ["items", "/a b", "/{", "/{}", "/{a}{b}", "/{a-b}"] {
            assert!(Template::parse(bad, |_| 0).is_err(), "{bad}");
        }
    }
}
