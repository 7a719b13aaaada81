//! Figures in the text of a page: numbers, their units, and the comments that say where they come
//! from, such as `17 %<!-- =overload.off-arrivals -->`.

/// A number in a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shown {
    /// As it is written, without its unit.
    pub(super) text: String,
    /// Its value.
    pub(super) value: f64,
    /// How many decimals it has.
    pub(super) decimals: usize,
    /// Its unit; in `44 to 69 %` both have one.
    pub(super) unit: Option<&'static str>,
    /// What the comment after it names.
    pub(super) origin: Option<String>,
    /// Where it begins, in bytes.
    pub(super) at: usize,
}

/// Units of results, longer ones before those that they begin with. Loads are written as `4×`.
const UNITS: [&str; 17] = [
    "%",
    "ms",
    "µs",
    "KiB",
    "MiB",
    "KB",
    "MB",
    "bytes",
    "times",
    "requests/s",
    "sessions/s",
    "requests per second",
    "sessions per second",
    "per second",
    "/s",
    "s",
    "shoppers",
];

/// Between two numbers of which the second has the unit of both.
const JOINTS: [&str; 7] = ["to", "and", "or", ",", "–", "against", "instead of"];

impl Shown {
    /// Whether this is what a value of this column becomes when it is rounded and written so.
    pub(super) fn shows(&self, value: f64, column: Option<&str>) -> bool {
        let error = (self.value - self.scaled(value, column)).abs();
        error <= 0.5 * 10f64.powi(-(self.decimals as i32)) + 1e-9 * self.value.abs()
    }

    /// A value as it should be written here.
    pub(super) fn written(&self, value: f64, column: Option<&str>) -> String {
        let number = format!("{:.*}", self.decimals, self.scaled(value, column));
        self.unit.map_or(number.clone(), |unit| format!("{number} {unit}"))
    }

    /// A value in the unit of this number; a column names its unit last.
    fn scaled(&self, value: f64, column: Option<&str>) -> f64 {
        let column = column.unwrap_or_default();
        let column = ["_low_95", "_high_95"]
            .into_iter()
            .find_map(|end| column.strip_suffix(end))
            .unwrap_or(column);
        let of = |end: &str| column.ends_with(end) && !column.ends_with("_per_s");
        match self.unit {
            Some("%") => 100.0 * value,
            Some("ms") if of("_us") => value / 1e3,
            Some("ms") if of("_s") => value * 1e3,
            Some("s") if of("_ms") => value / 1e3,
            Some("µs") if of("_ms") => value * 1e3,
            Some("KB") if of("_bytes") || column.starts_with("bytes") => value / 1e3,
            _ => value,
        }
    }
}

/// Every number in a text of Markdown that is no part of a word, of code or of a link's address.
pub(super) fn shown(markdown: &str) -> Vec<Shown> {
    let (text, comments) = without_comments_and_code(markdown);
    let mut found: Vec<(Shown, usize)> = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let letter = rest.chars().next().unwrap_or(' ');
        if !letter.is_ascii_digit() {
            at += letter.len_utf8();
            continue;
        }
        let length = number_length(rest);
        let number = &rest[..length];
        let end = at + length;
        let before = text[..at].chars().next_back().unwrap_or(' ');
        let is_word =
            before.is_alphanumeric() || "-_./:".contains(before) || text[..at].ends_with("TLS ");
        let (unit, after) = unit(&text, end);
        let next = text[end..].chars().next().unwrap_or(' ');
        let goes_on = unit.is_none() && (next.is_alphanumeric() || "-_".contains(next));
        if !is_word && !goes_on && number.matches('.').count() < 2 {
            let plain: String =
                number.chars().filter(|it| it.is_ascii_digit() || *it == '.').collect();
            let origin = comments.iter().find(|(start, _)| (end..=after).contains(start));
            let origin = origin.and_then(|(_, text)| text.strip_prefix('='));
            found.push((
                Shown {
                    text: number.to_owned(),
                    value: plain.parse().unwrap_or(f64::NAN),
                    decimals: plain.split_once('.').map_or(0, |(_, digits)| digits.len()),
                    unit,
                    origin: origin.map(|name| name.trim().to_owned()),
                    at,
                },
                after,
            ));
        }
        at = end;
    }
    for place in (1..found.len()).rev() {
        let (end, unit) = (found[place].0.at, found[place].0.unit);
        let (before, after) = &mut found[place - 1];
        let between = text[*after..end].trim_matches(|it: char| it.is_whitespace() || it == MASK);
        if before.unit.is_none() && (JOINTS.contains(&between) || between == "(") {
            before.unit = unit;
        }
    }
    found.into_iter().map(|(shown, _)| shown).collect()
}

/// The length of the number at the start of a text: thousands may stand apart by a comma or a
/// space that does not break.
fn number_length(text: &str) -> usize {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut length = digits(text);
    if length <= 3 {
        while let Some(gap) = [",", "\u{202f}", "\u{a0}"]
            .into_iter()
            .find(|gap| text[length..].starts_with(gap) && digits(&text[length + gap.len()..]) == 3)
        {
            length += gap.len() + 3;
        }
    }
    // A version has two points.
    while text[length..].starts_with('.') && digits(&text[length + 1..]) > 0 {
        length += 1 + digits(&text[length + 1..]);
    }
    length
}

/// The unit after a number that ends at `end`, and where what belongs to the number ends.
fn unit(text: &str, end: usize) -> (Option<&'static str>, usize) {
    let rest = text[end..].trim_start_matches([' ', '\u{a0}', '\u{202f}', '\n', MASK]);
    let start = text.len() - rest.len();
    let is_whole = |unit: &&&str| {
        let next = rest[unit.len()..].chars().next().unwrap_or(' ');
        !unit.ends_with(char::is_alphabetic) || !next.is_alphanumeric()
    };
    let found = UNITS.iter().filter(|unit| rest.starts_with(**unit)).find(is_whole);
    match found {
        Some(unit) => (Some(unit), start + unit.len()),
        // The comment may stand directly after the number.
        None => (None, end),
    }
}

/// The content of a line that is one comment.
pub(super) fn comment(line: &str) -> Option<&str> {
    let content = line.trim().strip_prefix("<!--")?.strip_suffix("-->")?;
    (!content.contains("<!--")).then(|| content.trim())
}

/// In place of every byte of what is not read.
const MASK: char = '\u{1}';

/// The text with comments, code and addresses masked, so that places stay, and the comments: where
/// each begins, and its content.
pub(super) fn without_comments_and_code(markdown: &str) -> (String, Vec<(usize, String)>) {
    const MASKED: [(&str, &str, &str); 4] =
        [("```", "```", " "), ("<!--", "-->", "\u{1}"), ("`", "`", "x"), ("](", ")", " ")];
    let (mut text, mut comments, mut at) = (String::new(), Vec::new(), 0);
    while let Some(letter) = markdown[at..].chars().next() {
        let rest = &markdown[at..];
        let span = MASKED.iter().find_map(|(open, close, mask)| {
            let within = rest.strip_prefix(open)?;
            Some((open, within.find(close)?, close, mask))
        });
        let Some((open, length, close, mask)) = span else {
            text.push(letter);
            at += letter.len_utf8();
            continue;
        };
        if *open == "<!--" {
            comments.push((at, rest[open.len()..open.len() + length].trim().to_owned()));
        }
        let whole = open.len() + length + close.len();
        let masked = rest[..whole].bytes().map(|byte| if byte == b'\n' { "\n" } else { mask });
        text.extend(masked);
        at += whole;
    }
    (text, comments)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<(String, Option<&'static str>, Option<String>)> {
        shown(text).into_iter().map(|it| (it.text, it.unit, it.origin)).collect()
    }

    #[test]
    fn numbers_have_their_units_and_their_origins() {
        let some = |name: &str| Some(name.to_owned());
        assert_eq!(
            of("only 17 %<!-- =a.b --> of 44<!-- =c --> to 69\u{a0}% after 0.5 s, 1,660 bytes"),
            [
                ("17".into(), Some("%"), some("a.b")),
                ("44".into(), Some("%"), some("c")),
                ("69".into(), Some("%"), None),
                ("0.5".into(), Some("s"), None),
                ("1,660".into(), Some("bytes"), None),
            ]
        );
    }

    #[test]
    fn words_versions_code_and_addresses_are_no_figures() {
        let text = "RSA-2048, TLS 1.3, 10.1.60, `4 ms`, [it](a/4 ms.md), P-256, TLS1.3, 3rd, <!-- 5 ms -->";
        assert_eq!(of(text), []);
        assert_eq!(
            of("in 2007, at 4× and on 2 processors").iter().filter(|it| it.1.is_some()).count(),
            0
        );
    }

    #[test]
    fn a_number_shows_what_it_is_rounded_from_in_its_unit() {
        let is_shown =
            |text: &str, value: f64, column: Option<&str>| shown(text)[0].shows(value, column);
        assert!(is_shown("17 %", 0.1749, None));
        assert!(!is_shown("17 %", 0.1761, None));
        assert!(is_shown("0.20 ms", 0.2049, Some("mean_ms")));
        assert!(is_shown("0.24 s", 243.0, Some("mean_ms")));
        assert!(is_shown("418 µs", 0.418, Some("mean_ms_low_95")));
        assert!(is_shown("7.8 KB", 7812.0, Some("bytes_per_request")));
        assert!(is_shown("12 requests/s", 12.4, Some("requests_per_s")));
        assert_eq!(shown("17 %")[0].written(0.1761, None), "18 %");
    }
}
