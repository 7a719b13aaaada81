//! The cookie that chooses a variant.

use http::header::{COOKIE, HeaderMap};

/// Longest value that names a variant, in bytes.
const LONGEST: usize = 64;

/// The value of a cookie, where it can be a part of a folder's name: letters, digits, `-`, `_`
/// and `.`. The first cookie of the name counts, as browsers send the most specific one first.
///
/// Source: RFC 6265, sections 4.2.1 and 5.4.
pub fn variant<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let cookies = headers.get_all(COOKIE).iter();
    let mut pairs = cookies.flat_map(|value| value.as_bytes().split(|byte| *byte == b';'));
    let value = pairs
        .find_map(|pair| pair.trim_ascii().strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
    let value = value.strip_prefix(b"\"").and_then(|v| v.strip_suffix(b"\"")).unwrap_or(value);
    let fits = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    let sound = (1..=LONGEST).contains(&value.len()) && value.iter().all(fits);
    std::str::from_utf8(value).ok().filter(|_| sound)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn the_first_cookie_of_the_name_chooses_if_it_can_be_a_name() {
        for (fields, chosen) in [
            (&["zone=2"][..], Some("2")),
            (&["a=1; zone=2; zone=3"], Some("2")),
            (&["a=1", "zone=2"], Some("2")),
            (&["zone=\"2\""], Some("2")),
            (&["zone=north-1_a.b"], Some("north-1_a.b")),
            (&["ozone=2; zonex=3"], None),
            (&["zone="], None),
            (&["zone"], None),
            (&["zone=../x"], None),
            (&["zone=a/b"], None),
            (&["zone=a%2fb"], None),
            (&["Zone=2"], None),
            (&[], None),
        ] {
            let mut headers = HeaderMap::new();
            fields.iter().for_each(|field| {
                headers.append(COOKIE, HeaderValue::from_static(field));
            });
            assert_eq!(variant(&headers, "zone"), chosen, "{fields:?}");
        }
        let long = HeaderValue::from_str(&format!("zone={}", "1".repeat(65))).unwrap();
        assert_eq!(variant(&HeaderMap::from_iter([(COOKIE, long)]), "zone"), None);
    }
}
