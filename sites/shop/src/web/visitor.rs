//! Who sends a request: the zone of a browser, and its session.

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::header::{COOKIE, HeaderValue};
use axum::http::request::Parts;
use std::convert::Infallible;

use super::app::{self, App};
use super::failure::Failure;
use crate::store::sessions;
use crate::zones::DEFAULT;
use tidegate_sitekit::once::form::Purpose;
use tidegate_sitekit::session::SessionKey;
use tidegate_sitekit::web::{client, cookie};
use tidegate_sitekit::when;

/// The zone that a browser has chosen: the cookie `zone`, a digit. It is all that a browse page
/// knows of its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneCookie(pub i64);

impl ZoneCookie {
    fn of(headers: &HeaderMap) -> Self {
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut values = cookies.flat_map(|cookies| cookies.split(';'));
        let found =
            values.find_map(|cookie| match cookie.trim().strip_prefix("zone=")?.as_bytes() {
                [digit @ b'0'..=b'9'] => Some(i64::from(digit - b'0')),
                _ => None,
            });
        Self(found.unwrap_or(DEFAULT))
    }

    /// The header that gives a browser this zone for a year.
    pub fn set(zone: i64) -> HeaderValue {
        let text = format!("zone={zone}; Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax");
        HeaderValue::try_from(text).expect("a digit among plain text")
    }
}

impl FromRequestParts<App> for ZoneCookie {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Infallible> {
        Ok(Self::of(&parts.headers))
    }
}

/// A session: a browser with a basket, or in which somebody has signed in.
#[derive(Clone, Debug)]
pub struct Session {
    /// What the shop knows it by.
    pub key: SessionKey,
    /// Who has signed in, 0 for nobody.
    pub customer: i64,
}

impl Session {
    /// What a form that orders its basket at this sum, in cents, is made for.
    pub fn order(&self, sum: i64) -> Purpose {
        // The key is a SHA-256 in base64: the first eight characters hold 48 bits of it.
        let first = self.key.as_str().as_bytes().first_chunk().copied().unwrap_or_default();
        app::order(i64::from_le_bytes(first), sum)
    }
}

/// Who sends a request to a personal page.
#[derive(Clone, Debug)]
pub struct Visitor {
    /// Their session, if they have one that is not over.
    pub session: Option<Session>,
    /// The zone that they have chosen.
    pub zone: i64,
    /// The browser reaches the shop over TLS.
    pub secure: bool,
}

impl Visitor {
    /// Who has signed in, 0 for nobody.
    pub fn customer(&self) -> i64 {
        self.session.as_ref().map_or(0, |session| session.customer)
    }
}

impl FromRequestParts<App> for Visitor {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Failure> {
        let secure = client::over_tls(&parts.headers, &parts.extensions, &app.trusted_proxies);
        let mut session = None;
        if let Some(token) = cookie::shown(&parts.headers, secure) {
            let key = token.key();
            let customer = sessions::customer(&app.database, &key, when::now()).await?;
            session = customer.map(|customer| Session { key, customer });
        }
        Ok(Self { session, zone: ZoneCookie::of(&parts.headers).0, secure })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_a_digit_and_everything_else_is_the_default() {
        let of =
            |text: &str| ZoneCookie::of(&HeaderMap::from_iter([(COOKIE, text.parse().unwrap())])).0;
        assert_eq!([of("zone=7"), of("a=b; zone=0; c=d"), of("zone=x; zone=3")], [7, 0, 3]);
        for text in ["", "zone", "zone=", "zone=10", "zone=-1", "ozone=7", "zone=7=", "zone=\"7\""]
        {
            assert_eq!(of(text), DEFAULT, "{text}");
        }
    }
}
