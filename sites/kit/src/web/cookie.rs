//! The cookie of a session.

use http::header::{COOKIE, HeaderMap, HeaderValue};

use crate::session::SessionToken;

/// Name of the cookie over TLS: browsers accept the prefix from this host alone, and only
/// over TLS.
const SECURE_NAME: &str = "__Host-session";
/// Name of the cookie over plain HTTP.
const PLAIN_NAME: &str = "session";

/// The session that a request shows. `secure`: the browser reaches the site over TLS.
pub fn shown(headers: &HeaderMap, secure: bool) -> Option<SessionToken> {
    let name = if secure { SECURE_NAME } else { PLAIN_NAME };
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut values = cookies.flat_map(|cookies| cookies.split(';')).filter_map(|cookie| {
        let (found, value) = cookie.trim().split_once('=')?;
        (found == name).then_some(value)
    });
    SessionToken::try_from(values.next()?.to_owned()).ok()
}

/// The header that gives the browser its session, until it is closed.
pub fn set(token: &SessionToken, secure: bool) -> HeaderValue {
    cookie(token.as_str(), secure, "")
}

/// The header that takes the session from the browser.
pub fn unset(secure: bool) -> HeaderValue {
    cookie("", secure, "; Max-Age=0")
}

fn cookie(value: &str, secure: bool, more: &str) -> HeaderValue {
    let (name, secure) = if secure { (SECURE_NAME, "; Secure") } else { (PLAIN_NAME, "") };
    let text = format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax{secure}{more}");
    HeaderValue::try_from(text).expect("a session is plain text")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(fields: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn a_session_is_found_among_cookies_and_nothing_else_is_one() {
        let session = SessionToken::random().unwrap();
        let cookies = format!("a=b; session={}; c=d", session.as_str());
        let found = |cookies: &str, secure| shown(&headers(&[("cookie", cookies)]), secure);
        assert_eq!(found(&cookies, false), Some(session));
        assert_eq!(found(&cookies, true), None);
        for text in ["", "session", "session=", "session=x", ";;=;", "session=\"; DROP"] {
            assert_eq!(found(text, false), None, "{text}");
        }
    }

    #[test]
    fn a_cookie_over_tls_belongs_to_this_host_alone() {
        let session = SessionToken::random().unwrap();
        let secure = set(&session, true).to_str().unwrap().to_owned();
        assert!(secure.starts_with("__Host-session=") && secure.contains("; Secure"));
        for cookie in [set(&session, false), unset(true)] {
            let text = cookie.to_str().unwrap();
            assert!(text.contains("Path=/; HttpOnly; SameSite=Lax"), "{text}");
        }
        assert!(unset(false).to_str().unwrap().contains("Max-Age=0"));
    }
}
