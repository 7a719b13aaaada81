//! The session cookie in the fields of requests and responses.
//!
//! Source: RFC 6265, sections 4.1 and 4.2; draft-ietf-httpbis-rfc6265bis for `SameSite`.

use crate::admission::session_cookie::VALUE_LEN;
use http::HeaderMap;
use http::header::{CACHE_CONTROL, COOKIE, HeaderValue, SET_COOKIE};
use memchr::memmem;

/// Most values that are opened. A site below the same domain can set a second one, which must
/// not hide the customer's own.
pub const OPENED: usize = 2;

/// The values of a request's cookies of one name that may be the gate's, at most [`OPENED`].
/// All that the gate makes of a kind have `N` characters.
#[derive(Debug)]
pub struct Values<const N: usize = VALUE_LEN> {
    values: [Option<[u8; N]>; OPENED],
    /// There was a cookie of this name.
    pub any: bool,
}

impl<const N: usize> Values<N> {
    /// There is no cookie of the name.
    pub fn none() -> Self {
        Self { values: [None; OPENED], any: false }
    }

    /// The values, in the order in which they were sent.
    pub fn list(&self) -> impl Iterator<Item = &[u8; N]> {
        self.values.iter().flatten()
    }

    fn note(&mut self, value: &[u8]) {
        self.any = true;
        let free = self.values.iter_mut().find(|place| place.is_none());
        if let (Some(place), Ok(value)) = (free, value.try_into()) {
            *place = Some(value);
        }
    }
}

/// Takes the cookies of a name out of a request: the upstream does not receive them.
pub fn take<const N: usize>(headers: &mut HeaderMap, name: &str) -> Values<N> {
    let mut taken = Values::none();
    let named = |value: &HeaderValue| memmem::find(value.as_bytes(), name.as_bytes()).is_some();
    if !headers.get_all(COOKIE).iter().any(named) {
        return taken;
    }
    let mut kept = Vec::new();
    for field in headers.get_all(COOKIE) {
        let mut rest: Vec<u8> = Vec::with_capacity(field.len());
        for pair in field.as_bytes().split(|byte| *byte == b';') {
            let pair = pair.trim_ascii();
            match value_of(pair, name.as_bytes()) {
                Some(value) => taken.note(value),
                None => {
                    if !rest.is_empty() {
                        rest.extend_from_slice(b"; ");
                    }
                    rest.extend_from_slice(pair);
                }
            }
        }
        kept.extend(HeaderValue::from_bytes(&rest).ok().filter(|_| !rest.is_empty()));
    }
    headers.remove(COOKIE);
    for field in kept {
        headers.append(COOKIE, field);
    }
    taken
}

/// The value of a pair with this name; some readers allow spaces around `=`.
fn value_of<'p>(pair: &'p [u8], name: &[u8]) -> Option<&'p [u8]> {
    let end = memchr::memchr(b'=', pair).unwrap_or(pair.len());
    let (own, value) = pair.split_at(end);
    (own.trim_ascii() == name).then(|| value.get(1..).unwrap_or_default().trim_ascii())
}

/// The `Set-Cookie` of a session: read by no script, sent along where another site links here and
/// not where it posts, forgotten by the browser when it would not open any more.
pub fn set(name: &str, value: &str, lifetime_s: u64, secure: bool) -> Option<HeaderValue> {
    let secure = if secure { "; Secure" } else { "" };
    let text =
        format!("{name}={value}; Path=/; Max-Age={lifetime_s}; HttpOnly; SameSite=Lax{secure}");
    HeaderValue::from_str(&text).ok()
}

/// Sets the cookies of a session and of a place in the waiting room, unless shared caches may store
/// the response: these would make everybody one session. Whose place was used now needs them:
/// shared caches may not store that response.
pub fn set_for_one(headers: &mut HeaderMap, [session, place]: [Option<HeaderValue>; 2]) {
    if is_for_everybody(headers) {
        if place.is_none() {
            return;
        }
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("private"));
    }
    headers.extend([session, place].into_iter().flatten().map(|cookie| (SET_COOKIE, cookie)));
}

/// Whether the origin allows shared caches to store a response.
///
/// Source: RFC 9111, sections 5.2.2.9 and 5.2.2.10.
fn is_for_everybody(headers: &HeaderMap) -> bool {
    let directives = headers.get_all(CACHE_CONTROL).iter();
    let mut directives = directives.flat_map(|field| field.as_bytes().split(|byte| *byte == b','));
    directives.any(|directive| {
        let end = memchr::memchr(b'=', directive).unwrap_or(directive.len());
        let name = directive[..end].trim_ascii();
        name.eq_ignore_ascii_case(b"public") || name.eq_ignore_ascii_case(b"s-maxage")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::session_cookie::VALUE_LEN;

    /// What is left of the fields for the upstream, and the values that were taken.
    fn taken(fields: &[&str]) -> (Vec<String>, Vec<String>) {
        let mut headers = HeaderMap::new();
        for field in fields {
            headers.append(COOKIE, HeaderValue::from_str(field).unwrap());
        }
        let values: Values = take(&mut headers, "gate");
        let left = headers.get_all(COOKIE).iter().map(|field| field.to_str().unwrap().to_owned());
        let values = values.list().map(|value| String::from_utf8(value.to_vec()).unwrap());
        (left.collect(), values.collect())
    }

    #[test]
    fn the_cookie_is_taken_out_and_the_others_stay() {
        let a = "a".repeat(VALUE_LEN);
        for (fields, left) in [
            (vec![format!("gate={a}")], vec![]),
            (vec![format!("x=1; gate={a}; y=\"2\"")], vec!["x=1; y=\"2\""]),
            (vec![format!("gate={a}; x=1"), "y=2".into()], vec!["x=1", "y=2"]),
            (vec![format!(" gate = {a} ;x=1")], vec!["x=1"]),
        ] {
            let fields: Vec<_> = fields.iter().map(String::as_str).collect();
            assert_eq!(
                taken(&fields),
                (left.iter().map(|l| l.to_string()).collect(), vec![a.clone()])
            );
        }
        let others = ["gates=1; xgate=2; Gate=3; g; =gate"];
        assert_eq!(taken(&others), (vec![others[0].to_owned()], vec![]));
    }

    #[test]
    fn what_cannot_be_the_gates_is_taken_out_and_not_opened() {
        let long = format!("gate={}; x=1", "a".repeat(VALUE_LEN + 1));
        for field in ["gate; x=1", "gate=; x=1", "gate=short; x=1", &long] {
            assert_eq!(taken(&[field]), (vec!["x=1".to_owned()], vec![]), "{field}");
        }
    }

    #[test]
    fn of_many_cookies_two_are_opened() {
        let values: Vec<_> = "abcd".chars().map(|c| c.to_string().repeat(VALUE_LEN)).collect();
        let field =
            values.iter().map(|value| format!("gate={value}")).collect::<Vec<_>>().join("; ");
        assert_eq!(taken(&[&field]), (vec![], values[..2].to_vec()));
    }

    #[test]
    fn no_cookie_is_set_on_what_shared_caches_may_store() {
        let of = |value: &'static str| {
            is_for_everybody(&HeaderMap::from_iter([(
                CACHE_CONTROL,
                HeaderValue::from_static(value),
            )]))
        };
        assert!(of("public") && of("max-age=60, Public") && of("s-maxage=5"));
        assert!(!of("private, max-age=60") && !of("no-cache") && !of("x=public"));
        assert!(!is_for_everybody(&HeaderMap::new()));
    }

    #[test]
    fn whose_place_was_used_gets_the_cookies_and_the_response_is_theirs_alone() {
        let cookie = |value| Some(HeaderValue::from_static(value));
        let of = |control, cookies| {
            let mut headers = HeaderMap::new();
            headers.insert(CACHE_CONTROL, HeaderValue::from_static(control));
            set_for_one(&mut headers, cookies);
            (
                headers[CACHE_CONTROL].to_str().unwrap().to_owned(),
                headers.get_all(SET_COOKIE).iter().count(),
            )
        };
        let (session, both) = ([cookie("a=1"), None], [cookie("a=1"), cookie("b=")]);
        assert_eq!(of("public, max-age=60", session.clone()), ("public, max-age=60".into(), 0));
        assert_eq!(of("public, max-age=60", both.clone()), ("private".into(), 2));
        assert_eq!(of("no-cache", session), ("no-cache".into(), 1));
        assert_eq!(of("max-age=60", both), ("max-age=60".into(), 2));
    }
}
