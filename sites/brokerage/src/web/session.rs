//! Who is signed in.

use tidegate_sitekit::log_seldom;

use axum::extract::FromRequestParts;
use http::Extensions;
use http::header::HeaderMap;
use http::request::Parts;

use super::failure::Failure;
use super::site::Site;
use crate::error::Error;
use crate::protocol::{Problem, SessionKey, SessionToken, signed_out};
use tidegate_sitekit::web::form::Posted;
use tidegate_sitekit::web::{client, cookie};

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
        log_seldom!(warn, "a form of another session is refused");
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

impl FromRequestParts<Site> for Signed {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, site: &Site) -> Result<Self, Failure> {
        let secure = is_secure(&parts.headers, &parts.extensions, site);
        let token =
            cookie::shown(&parts.headers, secure).ok_or_else(|| Error::Refused(signed_out()))?;
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
        let before = cookie::shown(&parts.headers, secure).map(|token| token.key());
        Ok(Self { secure, before })
    }
}
