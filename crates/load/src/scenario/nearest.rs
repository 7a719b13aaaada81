//! The part of a response that a rule is about: where what was expected nearly stands. All
//! searches take linear time.

use super::expected::{SHOWN, excerpt};

/// Bytes that are shown before a place.
const BEFORE: usize = 40;
/// Fewest bytes that a part of what was expected must have to be worth showing.
const FEWEST: usize = 4;

/// The beginning of a body, in which head and styles of a page are passed over.
pub(super) fn beginning(body: &[u8]) -> String {
    let lower = body.to_ascii_lowercase();
    let find = |text: &str| memchr::memmem::find(&lower, text.as_bytes());
    match find("<title").or_else(|| find("<body")) {
        Some(at) if at > SHOWN => around(body, at + BEFORE),
        _ => excerpt(body),
    }
}

/// The text around a place.
pub(super) fn around(body: &[u8], at: usize) -> String {
    let from = at.min(body.len()).saturating_sub(BEFORE);
    // Not within a character.
    let from = (from..body.len()).find(|at| body[*at] & 0xC0 != 0x80).unwrap_or(body.len());
    let shown = excerpt(&body[from..]);
    if from > 0 { format!("…{shown}") } else { shown }
}

/// Around the longest beginning of a text that the body has, in any case; else the beginning of
/// the body.
pub(super) fn of_text(body: &[u8], text: &str) -> String {
    let (lower, wanted) = (body.to_ascii_lowercase(), text.to_ascii_lowercase());
    let find = |length: usize| memchr::memmem::find(&lower, &wanted.as_bytes()[..length]);
    // A text stands nowhere where its beginning does not.
    let (mut has, mut lacks) = (0, wanted.len() + 1);
    while has + 1 < lacks {
        let length = has.midpoint(lacks);
        if find(length).is_some() { has = length } else { lacks = length }
    }
    match find(has) {
        Some(at) if has >= FEWEST.min(wanted.len()) => around(body, at),
        _ => beginning(body),
    }
}

/// Around what a pattern's longest run of plain characters comes closest to.
pub(super) fn of_pattern(body: &[u8], pattern: &str) -> String {
    let mut runs = vec![String::new()];
    let mut characters = pattern.chars();
    while let Some(c) = characters.next() {
        let plain = match c {
            // `\\.` is a dot, `\\d` a class.
            '\\' => characters.next().filter(|c| !c.is_alphanumeric()),
            '?' | '*' | '+' | '{' => {
                // What it repeats need not be there.
                runs.last_mut().map(String::pop);
                None
            }
            c if "^$.|()[]{}".contains(c) => None,
            c => Some(c),
        };
        match plain {
            Some(c) => runs.last_mut().into_iter().for_each(|run| run.push(c)),
            None => runs.push(String::new()),
        }
    }
    match runs.iter().max_by_key(|run| run.len()) {
        Some(run) if run.len() >= FEWEST => of_text(body, run),
        _ => beginning(body),
    }
}

/// Around the last name of a selector that the body has: an id, a class or a value, else an
/// element.
pub(super) fn of_selector(body: &[u8], selector: &str) -> String {
    let lower = body.to_ascii_lowercase();
    let is_name = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    let mut names: Vec<(Option<char>, String)> = Vec::new();
    let mut before = None;
    for c in selector.to_ascii_lowercase().chars() {
        match names.last_mut() {
            Some((_, name)) if is_name(c) && before.is_some_and(is_name) => name.push(c),
            _ if is_name(c) => names.push((before, c.to_string())),
            _ => {}
        }
        // Quotation marks stand between a sign and its name.
        if c != '"' && c != '\'' {
            before = Some(c);
        }
    }
    let place = |(sign, name): &(Option<char>, String)| {
        let text = match sign {
            // An attribute's own name is everywhere.
            Some('[') => return None,
            Some('=' | '#' | '.') => name.clone(),
            _ => format!("<{name}"),
        };
        memchr::memmem::find(&lower, text.as_bytes())
    };
    names.iter().rev().find_map(place).map_or_else(|| beginning(body), |at| around(body, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "<!DOCTYPE html><html><head><meta charset=utf-8><style>body { margin: 0; \
        padding: 0; font-family: sans-serif }</style><script>var a = 1;</script>\
        <title>Shop</title></head><body><p>Sorry.</p><form id=basket><input name=csrf2 value=1>\
        </form><p>Your order could not be found.</p></body></html>";

    fn shows(found: &str, expected: &str) {
        assert!(found.contains(expected), "{expected:?} is not in {found:?}");
        assert!(found.chars().count() <= SHOWN + 2, "{found}");
    }

    #[test]
    fn the_part_that_comes_closest_to_a_text_is_shown() {
        let found = of_text(PAGE.as_bytes(), "YOUR ORDER is confirmed");
        shows(&found, "Your order could not");
        assert!(found.starts_with('…'), "{found}");
        shows(&of_text(PAGE.as_bytes(), "Welcome"), "<title>Shop</title>");
        assert_eq!(of_text(b"no", "Welcome"), "no");
        assert_eq!(of_text(b"", "Welcome"), "an empty response");
        assert_eq!(of_text("ä".repeat(50).as_bytes(), "x"), "ä".repeat(50));
    }

    #[test]
    fn the_part_that_a_pattern_or_a_selector_is_about_is_shown() {
        let pattern = |text| of_pattern(PAGE.as_bytes(), text);
        shows(&pattern(r"could not\s+be lost"), "could not be found");
        shows(&pattern(r"^[0-9]+$"), "<title>Shop");
        let selector = |text| of_selector(PAGE.as_bytes(), text);
        shows(&selector("form#basket input[name=other]"), "<input name=csrf2");
        shows(&selector("form#basket > b"), "<form id=basket>");
        shows(&selector("table"), "<title>Shop");
    }
}
