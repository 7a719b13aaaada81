//! Lines of the common and combined log formats, as Apache's httpd and nginx write them. More fields
//! may stand before the host and behind the user agent.
//!
//! `10.0.0.7 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 2326 "https://a/" "Mozilla/5.0"`

use super::reading::{SessionField, cookie};
use super::{Entry, Request, time};

/// Most fields of a line that are looked at.
const MOST: usize = 64;

/// A field, and how it was written.
#[derive(Clone, Copy)]
struct Field<'a> {
    text: &'a str,
    written: Written,
}

#[derive(Clone, Copy, PartialEq)]
enum Written {
    Plain,
    Quoted,
    Bracketed,
}

/// Reads a line.
///
/// # Errors
/// What is wrong with it.
pub(super) fn read(line: &str, session: Option<&SessionField>) -> Result<Entry, String> {
    let fields = fields(line)?;
    let is_time = |field: &Field<'_>| field.written == Written::Bracketed;
    let at = fields.iter().position(is_time).ok_or("has no time in brackets")?;
    let when = time::common(fields[at].text)
        .ok_or("has no time in brackets such as [10/Oct/2000:13:55:36 -0700]")?;
    // host, identity and user stand before the time.
    let client = at.checked_sub(3).or(at.checked_sub(1)).map(|at| fields[at].text);
    let quoted =
        |from: usize| (from..fields.len()).find(|at| fields[*at].written == Written::Quoted);
    let request = quoted(at).ok_or("has no request in quotes after the time")?;
    let status = fields.get(request + 1).and_then(|it| it.text.parse().ok());
    let agent = quoted(request + 1).and_then(|referrer| quoted(referrer + 1));
    let named = |it: &SessionField| {
        let place = match it.field.as_str() {
            "user" => at.checked_sub(1)?,
            number => number.parse::<usize>().ok()?.checked_sub(1)?,
        };
        cookie(fields.get(place)?.text, it.cookie.as_deref())
    };
    let session = match session {
        Some(it) => named(it),
        None => at.checked_sub(2).map(|place| fields[place].text).and_then(of_gate),
    };
    Ok(Entry {
        time: when,
        client: client.ok_or("has no address before the time")?.to_owned(),
        agent: agent.map_or_else(String::new, |at| given(fields[at].text).to_owned()),
        request: Request::of_line(fields[request].text),
        status: status.ok_or("has no status after the request")?,
        session,
    })
}

/// The session that the gate writes in place of the user of RFC 1413.
fn of_gate(field: &str) -> Option<String> {
    let digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (field.len() == 16 && field.bytes().all(digit)).then(|| field.to_owned())
}

/// A value; empty of `-`, which stands for none.
fn given(text: &str) -> &str {
    if text == "-" { "" } else { text }
}

fn fields(line: &str) -> Result<Vec<Field<'_>>, String> {
    let mut fields = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() && fields.len() < MOST {
        let (text, written, after) = match rest.as_bytes()[0] {
            b'"' => {
                let end = closing(&rest[1..]).ok_or("has a quote that is not closed")?;
                (&rest[1..=end], Written::Quoted, &rest[end + 2..])
            }
            b'[' => {
                let end = rest.find(']').ok_or("has a bracket that is not closed")?;
                (&rest[1..end], Written::Bracketed, &rest[end + 1..])
            }
            _ => {
                let end = rest.find(' ').unwrap_or(rest.len());
                (&rest[..end], Written::Plain, &rest[end..])
            }
        };
        fields.push(Field { text, written });
        rest = after.trim_start();
    }
    Ok(fields)
}

/// The place of the next quote that no backslash stands before.
fn closing(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"10.0.0.7 - ann [10/Oct/2000:13:55:36 -0700] "GET /a?b=c HTTP/1.1" 200 2326 "https://a/" "Mozilla \"5.0\"" "x=1; sid=abc" 0.004"#;

    fn request(method: &str, target: &str) -> Option<Request> {
        Some(Request { method: method.into(), target: target.into() })
    }

    #[test]
    fn a_combined_line_is_read_with_further_fields() {
        let entry = read(LINE, None).unwrap();
        assert_eq!((entry.time, entry.client.as_str()), (971_211_336.0, "10.0.0.7"));
        assert_eq!((entry.request, entry.status), (request("GET", "/a?b=c"), 200));
        assert_eq!((entry.agent.as_str(), entry.session), (r#"Mozilla \"5.0\""#, None));
    }

    #[test]
    fn common_lines_and_those_with_a_virtual_host_are_read() {
        let common = read("::1 - - [10/Oct/2000:13:55:36 -0700] \"POST / HTTP/2.0\" 304 -", None);
        let common = common.unwrap();
        assert_eq!((common.client.as_str(), common.agent.as_str()), ("::1", ""));
        let host = read(&format!("shop.example:443 {LINE}"), None).unwrap();
        assert_eq!(host.client, "10.0.0.7");
        let none =
            read("::1 - - [10/Oct/2000:13:55:36 -0700] \"\\x16\\x03\" 400 0 \"-\" \"-\"", None);
        let none = none.unwrap();
        assert_eq!((none.request, none.agent.as_str()), (None, ""));
    }

    #[test]
    fn a_session_is_a_field_a_cookie_of_it_or_the_user() {
        let of = |text: &str| read(LINE, Some(&text.parse().unwrap())).unwrap().session;
        assert_eq!(of("10:sid").as_deref(), Some("abc"));
        assert_eq!(of("10").as_deref(), Some("x=1; sid=abc"));
        assert_eq!(of("user").as_deref(), Some("ann"));
        assert_eq!((of("10:other"), of("2"), of("99")), (None, None, None));
    }

    #[test]
    fn lines_of_the_gate_name_the_session_and_those_of_refusals_are_no_requests() {
        let line = LINE.replace("10.0.0.7 -", "10.0.0.7 00000000000000ab");
        assert_eq!(read(&line, None).unwrap().session.as_deref(), Some("00000000000000ab"));
        let refused = r#"10.0.0.7 - - [10/Oct/2000:13:55:36 -0700] "-" 000 0 "-" "-""#;
        let refused = read(refused, None).unwrap();
        assert_eq!((refused.request, refused.status), (None, 0));
    }

    #[test]
    fn what_is_wrong_with_a_line_is_told() {
        for (line, expected) in [
            ("", "no time in brackets"),
            ("a b [soon] \"GET / HTTP/1.1\" 200", "no time in brackets such as"),
            ("[10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.1\" 200", "no address"),
            ("a - - [10/Oct/2000:13:55:36 -0700] GET / 200", "no request in quotes"),
            ("a - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.1", "quote that is not closed"),
            ("a - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.1\" ok", "no status"),
            ("a - - [10/Oct/2000", "bracket that is not closed"),
        ] {
            let error = read(line, None).unwrap_err();
            assert!(error.contains(expected), "{line}: {error}");
        }
    }
}
