//! Finds the first element that a CSS selector fits, in one pass over the tags:
//! no tree, nothing recursive, linear in the length of the page.
//!
//! Source: Selectors Level 4, of which it knows type, universal, id, class and
//! attribute selectors, and the descendant and child combinators.
//! Deviation: end tags that HTML lets one leave out are only put in for list
//! items, options, table cells and rows, and paragraphs.

use std::borrow::Cow;

use crate::html::scan::{Scanner, Tag, text_of};

/// Most compounds of a selector: as many as a [`Fit`] has bits.
const COMPOUNDS: usize = 16;
/// Most nested elements that are distinguished; what lies deeper is not
/// looked at.
const DEEPEST: usize = 256;

/// Elements without content.
const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
];

/// A selector, such as `form#buy input[name=csrf]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    compounds: Vec<Compound>,
}

/// Simple selectors that one element must fit all of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Compound {
    /// The element is a child of the one before it, not just within it.
    child: bool,
    /// Lower case; empty for any.
    name: String,
    tests: Vec<Test>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Test {
    attribute: String,
    how: How,
    value: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// `[a]`
    Has,
    /// `[a=v]`, `#v`
    Is,
    /// `[a~=v]`, `.v`
    Word,
    /// `[a^=v]`
    Begins,
    /// `[a$=v]`
    Ends,
    /// `[a*=v]`
    Contains,
}

impl Selector {
    /// Parses a selector.
    ///
    /// # Errors
    /// What is wrong with it, or not known here, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut compounds: Vec<Compound> = Vec::new();
        let mut rest = text.trim();
        let mut child = false;
        loop {
            let (compound, tail) = compound(rest, text)?;
            compounds.push(Compound { child, ..compound });
            if compounds.len() > COMPOUNDS {
                return Err(format!("\"{text}\" has more than {COMPOUNDS} elements"));
            }
            rest = tail.trim_start();
            if rest.is_empty() {
                return Ok(Self { compounds });
            }
            child = rest.starts_with('>');
            rest = rest.trim_start_matches('>').trim_start();
        }
    }
}

/// The next compound of a selector, and what follows.
fn compound<'t>(text: &'t str, whole: &str) -> Result<(Compound, &'t str), String> {
    let mut found = Compound::default();
    let (name, mut rest) = word(text);
    found.name = name.to_ascii_lowercase();
    let star = rest.strip_prefix('*').filter(|_| name.is_empty());
    rest = star.unwrap_or(rest);
    loop {
        let value = |rest: &'t str| {
            let (value, tail) = word(rest);
            let missing = || format!("\"{whole}\" has a # or . without a name");
            (!value.is_empty()).then_some((value, tail)).ok_or_else(missing)
        };
        let mut push = |attribute: &str, how, value: &str| {
            let attribute = attribute.to_ascii_lowercase();
            found.tests.push(Test { attribute, how, value: value.to_owned() });
        };
        if let Some(tail) = rest.strip_prefix('#') {
            let (id, tail) = value(tail)?;
            push("id", How::Is, id);
            rest = tail;
        } else if let Some(tail) = rest.strip_prefix('.') {
            let (class, tail) = value(tail)?;
            push("class", How::Word, class);
            rest = tail;
        } else if let Some(tail) = rest.strip_prefix('[') {
            let (attribute, tail) = word(tail.trim_start());
            let (how, value, tail) = attribute_test(tail.trim_start())
                .filter(|_| !attribute.is_empty())
                .ok_or_else(|| format!("\"{whole}\" has a [ that is no [name] or [name=value]"))?;
            push(attribute, how, value);
            rest = tail;
        } else {
            break;
        }
    }
    if found.name.is_empty() && found.tests.is_empty() && star.is_none() {
        return Err(match rest.chars().next() {
            None => format!("\"{whole}\" has no element at its end"),
            Some(bad) => format!("\"{whole}\" has a {bad:?}, which is not known here"),
        });
    }
    if !rest.is_empty() && !rest.starts_with([' ', '\t', '>']) {
        let bad = rest.chars().next().unwrap_or_default();
        return Err(format!("\"{whole}\" has a {bad:?}, which is not known here"));
    }
    Ok((found, rest))
}

/// What follows the name of an attribute up to its `]`.
fn attribute_test(text: &str) -> Option<(How, &str, &str)> {
    if let Some(tail) = text.strip_prefix(']') {
        return Some((How::Has, "", tail));
    }
    let (how, tail) = [
        ("=", How::Is),
        ("~=", How::Word),
        ("^=", How::Begins),
        ("$=", How::Ends),
        ("*=", How::Contains),
    ]
    .into_iter()
    .find_map(|(sign, how)| Some((how, text.strip_prefix(sign)?.trim_start())))?;
    let (value, tail) = match tail.chars().next()? {
        quote @ ('"' | '\'') => tail[1..].split_once(quote)?,
        _ => Some(word(tail)).filter(|(value, _)| !value.is_empty())?,
    };
    let tail = tail.trim_start().strip_prefix(']')?;
    // Of these an empty value fits nothing.
    let never = value.is_empty() && how != How::Is;
    (!never).then_some((how, value, tail))
}

/// Letters, digits, - and _ at the beginning, and the rest.
fn word(text: &str) -> (&str, &str) {
    let inside = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    text.split_at(text.find(|c| !inside(c)).unwrap_or(text.len()))
}

impl Compound {
    fn fits(&self, tag: &Tag<'_>) -> bool {
        (self.name.is_empty() || tag.is(&self.name))
            && self
                .tests
                .iter()
                .all(|test| tag.attribute(&test.attribute).is_some_and(|value| test.fits(&value)))
    }
}

impl Test {
    fn fits(&self, value: &str) -> bool {
        let wanted = self.value.as_str();
        match self.how {
            How::Has => true,
            How::Is => value == wanted,
            How::Word => value.split_ascii_whitespace().any(|word| word == wanted),
            How::Begins => value.starts_with(wanted),
            How::Ends => value.ends_with(wanted),
            How::Contains => value.contains(wanted),
        }
    }
}

/// What is looked for: an attribute of the element, or its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Which element: the first that fits and, if an attribute is given, has
    /// it.
    pub selector: Selector,
    /// `None` for the text.
    pub attribute: Option<String>,
}

/// How much of a selector an open element fits, by bits: bit `n` means that its
/// compounds up to the `n`-th do.
#[derive(Clone, Copy, Debug, Default)]
struct Fit {
    /// With the element itself as the last.
    itself: u16,
    /// With it or an element around it.
    within: u16,
}

struct OpenElement<'h> {
    name: &'h [u8],
    /// For each that is wanted.
    fits: Vec<Fit>,
    /// Those whose text it is, a bit each, and where that begins.
    text_of: u64,
    from: usize,
}

/// Most things that are looked for in one pass.
pub const MOST: usize = 64;

/// What each selector finds, in one pass over the page; at most [`MOST`].
pub fn find(html: &[u8], wanted: &[&Wanted]) -> Vec<Option<String>> {
    let wanted = &wanted[..wanted.len().min(MOST)];
    let mut found: Vec<Option<String>> = vec![None; wanted.len()];
    // Found, or its text is being waited for.
    let mut settled = 0u64;
    let mut open: Vec<OpenElement<'_>> = Vec::new();
    let mut deeper = 0usize;
    let mut scanner = Scanner::new(html);
    let close = |element: OpenElement<'_>, ends: usize, found: &mut [Option<String>]| {
        for (index, slot) in found.iter_mut().enumerate() {
            if element.text_of >> index & 1 == 1 {
                *slot = Some(text_of(&html[element.from..ends]));
            }
        }
    };
    while found.iter().any(Option::is_none) {
        let Some(tag) = scanner.next() else { break };
        let (begins, follows) = scanner.place();
        if let [b'/', name @ ..] = tag.name() {
            if deeper > 0 {
                deeper -= 1;
            } else if let Some(at) =
                open.iter().rposition(|element| element.name.eq_ignore_ascii_case(name))
            {
                open.drain(at..).rev().for_each(|element| close(element, begins, &mut found));
            }
            continue;
        }
        let void = VOID.iter().any(|name| tag.is(name));
        if deeper > 0 || open.len() == DEEPEST {
            deeper += usize::from(!void);
            continue;
        }
        while open.last().is_some_and(|last| ends_before(last.name, &tag)) {
            let last = open.pop().expect("there is a last one");
            close(last, begins, &mut found);
        }
        let mut text_of = 0u64;
        let mut fits = Vec::with_capacity(wanted.len());
        for (index, want) in wanted.iter().enumerate() {
            let around = open.last().map_or(Fit::default(), |around| around.fits[index]);
            let fit = want.selector.fit(&tag, around);
            fits.push(fit);
            let whole = fit.itself >> (want.selector.compounds.len() - 1) & 1 == 1;
            if !whole || settled >> index & 1 == 1 {
                continue;
            }
            match &want.attribute {
                None => text_of |= 1 << index,
                Some(name) => match tag.attribute(name) {
                    Some(value) => found[index] = Some(Cow::into_owned(value)),
                    None => continue,
                },
            }
            settled |= 1 << index;
        }
        let element = OpenElement { name: tag.name(), fits, text_of, from: follows };
        if void {
            close(element, follows, &mut found);
        } else {
            open.push(element);
        }
    }
    // A page that is cut off still has the text that came.
    open.drain(..).rev().for_each(|element| close(element, html.len(), &mut found));
    found
}

impl Selector {
    fn fit(&self, tag: &Tag<'_>, around: Fit) -> Fit {
        let mut itself = 0u16;
        for (n, compound) in self.compounds.iter().enumerate() {
            let before = match (n, compound.child) {
                (0, _) => true,
                (n, true) => around.itself >> (n - 1) & 1 == 1,
                (n, false) => around.within >> (n - 1) & 1 == 1,
            };
            if before && compound.fits(tag) {
                itself |= 1 << n;
            }
        }
        Fit { itself, within: around.within | itself }
    }
}

/// Whether an open element, whose end tag may be left out, ends before this tag.
fn ends_before(open: &[u8], tag: &Tag<'_>) -> bool {
    let is = |names: &[&str]| names.iter().any(|name| tag.is(name));
    let open = |name: &str| open.eq_ignore_ascii_case(name.as_bytes());
    (open("li") && is(&["li"]))
        || (open("option") && is(&["option", "optgroup"]))
        || ((open("td") || open("th")) && is(&["td", "th", "tr"]))
        || (open("tr") && is(&["tr"]))
        || ((open("dt") || open("dd")) && is(&["dt", "dd"]))
        || (open("p") && is(&["p", "div", "ul", "ol", "dl", "table", "form", "h1", "h2", "h3"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(selector: &str, attribute: Option<&str>, html: &str) -> Option<String> {
        let selector = Selector::parse(selector).unwrap();
        let wanted = Wanted { selector, attribute: attribute.map(str::to_owned) };
        find(html.as_bytes(), &[&wanted]).pop().unwrap()
    }

    const PAGE: &str = r#"<html><body><!-- <input name=csrf value=no> -->
        <form id=find><input name=q value="&lt;x&gt;"></form>
        <form id=buy class="big form" action=/buy><p>For <b>you</b>:<p>now
          <div><input type=hidden name=csrf value='t1'></div></form>
        <ul><li>one<li class=sel>two <i>and</i> a half<li>three</ul>
        <table><tr><td>a<td class=n>1<tr><td>b<td class=n>2</table>
        <a href=/x data-id=7>more</a></body></html>"#;

    #[test]
    fn elements_are_found_by_name_id_class_attribute_and_place() {
        let value = |selector| first(selector, Some("value"), PAGE);
        assert_eq!(value("input[name=csrf]").as_deref(), Some("t1"));
        assert_eq!(value("#buy input").as_deref(), Some("t1"));
        assert_eq!(value("form.big > div > input[type=\"hidden\"]").as_deref(), Some("t1"));
        assert_eq!(value("form > input").as_deref(), Some("<x>"));
        assert_eq!(value("FORM#buy > input"), None);
        assert_eq!(value("form.for input"), None);
        assert_eq!(value("[name^=cs][name$=rf][name*=sr]").as_deref(), Some("t1"));
        assert_eq!(first("a[data-id]", Some("href"), PAGE).as_deref(), Some("/x"));
        // The first that has the attribute.
        assert_eq!(first("form", Some("action"), PAGE).as_deref(), Some("/buy"));
    }

    #[test]
    fn texts_are_as_a_browser_shows_them() {
        let text = |selector| first(selector, None, PAGE);
        assert_eq!(text("li.sel").as_deref(), Some("two and a half"));
        assert_eq!(text("tr > td.n").as_deref(), Some("1"));
        assert_eq!(text("#buy").as_deref(), Some("For you: now"));
        assert_eq!(text("a").as_deref(), Some("more"));
        let odd = "<p>a&amp;b<!-- no --> c<script>no()</script><br>d";
        assert_eq!(first("p", None, odd).as_deref(), Some("a&b c d"));
    }

    #[test]
    fn several_are_found_in_one_pass() {
        let wanted = [("li", None), ("a", Some("href")), ("h1", None)].map(|(text, attribute)| {
            let attribute = attribute.map(str::to_owned);
            Wanted { selector: Selector::parse(text).unwrap(), attribute }
        });
        let found = find(PAGE.as_bytes(), &wanted.each_ref());
        assert_eq!(found, [Some("one".to_owned()), Some("/x".to_owned()), None]);
    }

    #[test]
    fn what_is_not_known_is_named() {
        for (bad, said) in [
            ("", "no element"),
            ("a,b", "','"),
            ("li:first-child", "':'"),
            ("a + b", "'+'"),
            ("a >", "no element"),
            ("a[", "a ["),
            ("a[b=]", "a ["),
            ("a[b='c]", "a ["),
            ("a#", "without a name"),
            (&"a ".repeat(17), "more than 16"),
        ] {
            let told = Selector::parse(bad).unwrap_err();
            assert!(told.contains(said), "{bad}: {told}");
        }
    }

    #[test]
    fn a_page_nested_without_end_costs_no_more_than_another() {
        let html = "<div>".repeat(50_000) + "<a href=/x>" + &"</div>".repeat(50_000);
        assert_eq!(first("div a", Some("href"), &html), None);
        assert_eq!(first("div div", None, &html).as_deref(), Some(""));
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(
            html in proptest::collection::vec(
                proptest::sample::select(b"<>/=\"' !-&;#xap[].*lidivtrname\xff".to_vec()),
                0..200,
            ),
            selector in "[a-z#.\\[\\]=\"'* >^$~-]{0,20}",
        ) {
            if let Ok(selector) = Selector::parse(&selector) {
                let text = Wanted { selector: selector.clone(), attribute: None };
                let name = Wanted { selector, attribute: Some("name".to_owned()) };
                find(&html, &[&text, &name]);
            }
        }
    }
}
