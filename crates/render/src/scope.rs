//! Which paths of the site are rendered.

/// A pattern of paths: `*` is any text, `**` too, and a pattern without `*` at its end is the
/// whole path. A pattern with `?` is compared with path and query, others with the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(String);

impl std::fmt::Display for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// It does not begin with `/` or `*`; in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.starts_with(['/', '*']) {
            true => Ok(Self(text.to_owned())),
            false => Err("must begin with / or *, such as /product/* or *.html".to_owned()),
        }
    }

    /// Whether it fits a path with its query.
    pub(crate) fn fits(&self, path_and_query: &str) -> bool {
        let path = path_and_query.split('?').next().unwrap_or_default();
        let subject = if self.0.contains('?') { path_and_query } else { path };
        matches(&self.0, subject, true)
    }
}

/// Whether a pattern with `*` fits a text, or its beginning.
///
/// Linear for each `*`: the last one that was passed takes one byte more where the rest does not
/// fit.
pub(crate) fn matches(pattern: &str, text: &str, whole: bool) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut at, mut from) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    loop {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at + 1, from));
                at += 1;
            }
            None if !whole || from == text.len() => return true,
            Some(byte) if text.get(from) == Some(byte) => {
                at += 1;
                from += 1;
            }
            _ => match star {
                Some((after, taken)) if taken < text.len() => {
                    star = Some((after, taken + 1));
                    at = after;
                    from = taken + 1;
                }
                _ => return false,
            },
        }
    }
}

/// The paths that are rendered.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Only these, if there are any.
    pub include: Vec<Pattern>,
    /// Not these.
    pub exclude: Vec<Pattern>,
}

impl Scope {
    /// Whether a path with its query is rendered.
    pub fn has(&self, path_and_query: &str) -> bool {
        let fits = |patterns: &[Pattern]| patterns.iter().any(|it| it.fits(path_and_query));
        (self.include.is_empty() || fits(&self.include)) && !fits(&self.exclude)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(texts: &[&str]) -> Vec<Pattern> {
        texts.iter().map(|it| Pattern::parse(it).unwrap()).collect()
    }

    #[test]
    fn a_path_is_rendered_if_it_is_included_and_not_excluded() {
        let scope = Scope {
            include: patterns(&["/", "/product/*", "/list*"]),
            exclude: patterns(&["*/edit", "/list?*sort=*"]),
        };
        for (path, expected) in [
            ("/", true),
            ("/product/7", true),
            ("/product", false),
            ("/product/7/edit", false),
            ("/list?page=2", true),
            ("/list?page=2&sort=a", false),
            ("/cart", false),
        ] {
            assert_eq!(scope.has(path), expected, "{path}");
        }
        assert!(Scope::default().has("/cart"));
        assert!(Pattern::parse("cart").unwrap_err().contains("must begin with"));
    }

    #[test]
    fn many_stars_do_not_take_long() {
        let pattern = "*a".repeat(50) + "b";
        assert!(!matches(&pattern, &"a".repeat(10_000), true));
    }
}
