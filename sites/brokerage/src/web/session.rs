//! The session cookie, and where forms may come from.

use tidegate_sitekit::log_seldom;

use axum::extract::{FromRequestParts, Request};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::Extensions;
use http::header::{COOKIE, HeaderMap, HeaderValue};
use http::request::Parts;

use super::failure::Failure;
use super::site::Site;
use crate::error::Error;
use crate::protocol::{Problem, SessionKey, SessionToken, signed_out};
use tidegate_sitekit::web::form::Posted;
use tidegate_sitekit::web::{client, origin};

/// Name of the cookie over TLS: browsers accept the prefix from this host alone, and only
/// over TLS.
const SECURE_NAME: &str = "__Host-session";
/// Name of the cookie over plain HTTP.
const PLAIN_NAME: &str = "session";

/// A customer who is signed in, or was: the application tier knows.
#[derive(Clone, Debug)]
pub struct Signed {
    token: SessionToken,
    /// The browser reaches the site over TLS.
    pub secure: bool,
}

impl Signed {
    /// The session, as the other tiers know it.
    pub fn key(&self) -> SessionKey {
        self.token.key()
    }

    /// What the session's forms carry.
    pub fn form(&self) -> String {
        self.token.form()
    }

    /// Checks that a form was made for this session.
    ///
    /// # Errors
    /// It was not: another site may have sent it.
    pub fn check(&self, posted: &Posted) -> Result<(), Problem> {
        if self.token.has_form(posted.get("form").unwrap_or_default()) {
            return Ok(());
        }
        log_refused("a form of another session is refused");
        Err(Problem::new(
            403,
            "This form cannot be used",
            "It does not belong to your session: you may have signed in again since you opened it.",
            "Nothing was changed. Open the form again and send it anew.",
        ))
    }
}

/// Whether the browser reaches the site over TLS.
pub fn is_secure(headers: &HeaderMap, extensions: &Extensions, site: &Site) -> bool {
    site.secure || client::over_tls(headers, extensions, &site.trusted_proxies)
}

/// The session that a request shows.
fn shown(parts: &Parts, secure: bool) -> Option<SessionToken> {
    token(&parts.headers, if secure { SECURE_NAME } else { PLAIN_NAME })
}

impl FromRequestParts<Site> for Signed {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, site: &Site) -> Result<Self, Failure> {
        let secure = is_secure(&parts.headers, &parts.extensions, site);
        let token = shown(parts, secure).ok_or_else(|| Error::Refused(signed_out()))?;
        Ok(Self { token, secure })
    }
}

/// A browser that signs in.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// It reaches the site over TLS.
    pub secure: bool,
    /// The session that it had before, or none.
    pub before: Option<SessionKey>,
}

impl FromRequestParts<Site> for Arrival {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(
        parts: &mut Parts,
        site: &Site,
    ) -> Result<Self, std::convert::Infallible> {
        let secure = is_secure(&parts.headers, &parts.extensions, site);
        let before = shown(parts, secure).map(|token| token.key());
        Ok(Self { secure, before })
    }
}

/// The value of the session's cookie.
fn token(headers: &HeaderMap, name: &str) -> Option<SessionToken> {
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

/// Refuses forms that a browser says come from another site.
pub async fn same_origin(request: Request, next: Next) -> Response {
    match origin::check(&request) {
        Ok(()) => next.run(request).await,
        Err(refusal) => Failure::from(Error::from(refusal)).into_response(),
    }
}

fn log_refused(what: &str) {
    log_seldom!(warn, "{what}");
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
        let found = |cookies: &str, name| token(&headers(&[("cookie", cookies)]), name);
        assert_eq!(found(&cookies, PLAIN_NAME), Some(session));
        assert_eq!(found(&cookies, SECURE_NAME), None);
        for text in ["", "session", "session=", "session=x", ";;=;", "session=\"; DROP"] {
            assert_eq!(found(text, PLAIN_NAME), None, "{text}");
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
