//! What identifies a page of the site: path and query, in one spelling.

use std::fmt;

use serde::{Deserialize, Serialize};
use url::{Position, Url};

/// The path and query of a page. Two spellings of one page have one key: percent-encodings of
/// letters that need none are resolved, others are in upper case, and parameters are in the order
/// of their names. Those of one name keep their order, which sites can see.
///
/// Source: RFC 3986, section 6.2.2.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Key(String);

impl Key {
    /// The key of a URL of the site.
    pub fn of(url: &Url) -> Self {
        let mut text = plain(url.path());
        let mut parameters: Vec<String> = url
            .query()
            .unwrap_or_default()
            .split('&')
            .filter(|it| !it.is_empty())
            .map(plain)
            .collect();
        parameters.sort_by(|one, other| name(one).cmp(name(other)));
        if !parameters.is_empty() {
            text = text + "?" + &parameters.join("&");
        }
        Self(text)
    }

    /// Path and query as they are requested.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The path.
    pub fn path(&self) -> &str {
        self.0.split_once('?').map_or(&self.0, |(path, _)| path)
    }

    /// The query.
    pub fn query(&self) -> Option<&str> {
        self.0.split_once('?').map(|(_, query)| query)
    }

    /// The URL on a site, of which only the origin counts.
    pub fn on(&self, site: &Url) -> Url {
        let mut url = site.clone();
        url.set_fragment(None);
        url.set_path(self.path());
        url.set_query(self.query());
        url
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The origin of a URL with the path `/`.
pub fn origin(url: &Url) -> Url {
    let text = &url[..Position::BeforePath];
    Url::parse(text).unwrap_or_else(|_| url.clone())
}

fn name(parameter: &str) -> &str {
    parameter.split('=').next().unwrap_or_default()
}

/// A part of a URL in its one spelling.
fn plain(part: &str) -> String {
    let bytes = part.as_bytes();
    let mut text = String::with_capacity(part.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let digits =
            part.get(at + 1..at + 3).filter(|it| it.bytes().all(|it| it.is_ascii_hexdigit()));
        match digits.and_then(|it| u8::from_str_radix(it, 16).ok()) {
            Some(code) if *byte == b'%' => {
                let letter = char::from(code);
                match letter.is_ascii_alphanumeric() || "-._~".contains(letter) {
                    true => text.push(letter),
                    false => text += &format!("%{code:02X}"),
                }
                at += 3;
            }
            _ => {
                // A URL is ASCII.
                text.push(char::from(*byte));
                at += 1;
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> String {
        Key::of(&Url::parse("https://shop.test/a/").unwrap().join(text).unwrap()).to_string()
    }

    #[test]
    fn spellings_of_one_page_have_one_key() {
        assert_eq!(of("/l?b=2&a=1#x"), of("/%6c?a=1&&b=2"));
        assert_eq!(of("x?"), "/a/x");
        assert_eq!(of("/%7e%c3%A4%2fb?q=%c3%a4%20"), "/~%C3%A4%2Fb?q=%C3%A4%20");
        assert_eq!(of("/ä"), of("/%c3%a4"));
        assert_eq!(of("/x%2"), "/x%2");
    }

    #[test]
    fn parameters_of_one_name_keep_their_order_and_letters_their_case() {
        assert_eq!(of("/l?b=2&a=3&b=1"), "/l?a=3&b=2&b=1");
        assert_ne!(of("/L"), of("/l"));
        assert_ne!(of("/l"), of("/l/"));
    }

    #[test]
    fn a_key_leads_back_to_its_url() {
        let site = Url::parse("https://shop.test:8443/x?y#z").unwrap();
        let url = Key("/l%2Fm?a=1".into()).on(&site);
        assert_eq!(url.as_str(), "https://shop.test:8443/l%2Fm?a=1");
        assert_eq!(origin(&url).as_str(), "https://shop.test:8443/");
    }
}
