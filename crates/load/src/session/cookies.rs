//! Cookies of one session. All belong to the one site: paths and domains do
//! not matter.

use std::fmt::Write as _;

/// Most cookies kept, and the longest line.
const MOST: usize = 50;
const LONGEST: usize = 4096;

/// Names and values.
#[derive(Debug, Default)]
pub(crate) struct Cookies(Vec<(String, String)>);

impl Cookies {
    /// Takes in values of Set-Cookie; what is malformed is left out, and
    /// `Max-Age=0` takes one away.
    pub(crate) fn add(&mut self, values: &[String]) {
        for line in values {
            let mut parts = line.split(';').map(str::trim);
            let Some((name, value)) = parts.next().and_then(|pair| pair.split_once('=')) else {
                continue;
            };
            let clean = |text: &str| text.bytes().all(|b| b.is_ascii_graphic() || b == b' ');
            if line.len() > LONGEST || name.is_empty() || !clean(name) || !clean(value) {
                continue;
            }
            let gone = parts.any(|part| part.eq_ignore_ascii_case("max-age=0"));
            self.0.retain(|(known, _)| known != name);
            if !gone && self.0.len() < MOST {
                self.0.push((name.to_owned(), value.to_owned()));
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Writes the header line, if there are any.
    pub(crate) fn write(&self, head: &mut String) {
        for (index, (name, value)) in self.0.iter().enumerate() {
            let start = if index == 0 { "Cookie: " } else { "; " };
            // Writing to a String cannot fail.
            let _ = write!(head, "{start}{name}={value}");
        }
        if !self.0.is_empty() {
            head.push_str("\r\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_are_replaced_removed_and_bounded() {
        let mut cookies = Cookies::default();
        let mut take = |line: &str| cookies.add(&[line.to_owned()]);
        take("a=1; Path=/; HttpOnly");
        take("b=2");
        take("a=3");
        take("b=; Max-Age=0");
        take("bad");
        take("c=\u{1}");
        (0..100).for_each(|n| take(&format!("n{n}=x")));
        let mut head = String::new();
        cookies.write(&mut head);
        assert!(head.starts_with("Cookie: a=3; n0=x; "), "{head}");
        assert!(head.ends_with("n48=x\r\n"), "{head}");
    }
}
