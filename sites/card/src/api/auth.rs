//! Who sends a request: the merchant of an API key.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Instant;

use axum::extract::FromRequestParts;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;

use super::reply::Reply;
use crate::app::App;
use tidegate_sitekit::Problem;
use tidegate_sitekit::server::Peer;

/// Most bytes of an API key.
const LONGEST: usize = 256;

/// The merchant who sends a request.
pub struct Caller {
    /// The merchant's name.
    pub merchant: String,
}

impl FromRequestParts<App> for Caller {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Reply> {
        let mut values = parts.headers.get_all(AUTHORIZATION).iter();
        let (Some(value), None) = (values.next(), values.next()) else {
            return Err(unauthenticated("The request has no API key").into());
        };
        let key = value.to_str().ok().and_then(bearer);
        let Some(key) = key else {
            return Err(unauthenticated("The API key cannot be read").into());
        };
        // A right key is never limited: nobody keeps a merchant out by guessing.
        if let Some(merchant) = app.keys.merchant_of(key) {
            return Ok(Self { merchant: merchant.to_owned() });
        }
        let peer = parts.extensions.get::<Peer>();
        // Without a server, as in a unit test, there is no connection.
        let address: IpAddr = peer.map_or(Ipv4Addr::LOCALHOST.into(), |Peer(address)| *address);
        let login = app.login_limit.login(address, "API key");
        if let Err(wait) = app.login_limit.count(login, Instant::now()) {
            let text = "Too many requests with wrong API keys: wait, then send the right one.";
            return Err(Problem::coded(429, "too_many_wrong_keys", text).retry_after(wait).into());
        }
        tracing::info!(%address, "a request with a wrong API key");
        Err(Problem::coded(401, "wrong_api_key", "No merchant has this API key.").into())
    }
}

fn unauthenticated(what: &str) -> Problem {
    let text = format!("{what}: send one header `Authorization: Bearer sk_test_…`.");
    Problem::coded(401, "unauthenticated", text)
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, key) = value.split_once(' ')?;
    let key = key.trim();
    let fits = (1..=LONGEST).contains(&key.len());
    (scheme.eq_ignore_ascii_case("bearer") && fits).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_follows_its_scheme() {
        assert_eq!(bearer("Bearer sk_test_1"), Some("sk_test_1"));
        assert_eq!(bearer("bearer  sk_test_1 "), Some("sk_test_1"));
        for other in ["", "Bearer", "Bearer ", "Basic c2s6", "sk_test_1"] {
            assert_eq!(bearer(other), None, "{other}");
        }
        assert_eq!(bearer(&format!("Bearer {}", "x".repeat(257))), None);
    }
}
