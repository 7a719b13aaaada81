//! Where a redirect leads.

use url::Url;

use super::place::{Place, resolve};
use crate::outcome::Failure;

/// Where a redirect leads, seen from the page that answered with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Redirect {
    /// A path, with its query, of the target or another host of the scenario.
    Within(Place),
    /// An address of another origin (scheme, host and port), without its query, or one that
    /// cannot be requested.
    Elsewhere(String),
}

impl Redirect {
    /// `base` is the page; `origins` are `https://host[:port]` of the hosts.
    ///
    /// Source: RFC 9110, section 10.2.2; RFC 6454, section 5.
    pub(crate) fn of(location: &str, base: &Place, origins: &[String]) -> Self {
        // Most lead to the host that they come from.
        let own = std::iter::once(base.host);
        let others = (0..origins.len() as u8).filter(|host| *host != base.host);
        for host in own.chain(others) {
            if let Some(path) = resolve(location, base, host, origins) {
                return Self::Within(Place { host, path: path.into_owned() });
            }
        }
        let own = &origins[usize::from(base.host)];
        let joined = Url::parse(&format!("{own}{}", base.path));
        let joined = joined.and_then(|base| base.join(location.trim()));
        Self::Elsewhere(match joined.map(|joined| (joined.origin(), joined)) {
            Ok((origin @ url::Origin::Tuple(..), joined)) => {
                origin.ascii_serialization() + joined.path()
            }
            // Such as `mailto:`.
            Ok((url::Origin::Opaque(_), joined)) => joined.scheme().to_owned() + ":",
            Err(_) => location.replace(' ', "%20"),
        })
    }
}

/// A redirect that is a failure, unless a check of the page allows its status.
pub(super) enum Unfollowed {
    /// To this address of another origin.
    Elsewhere(String),
    /// One too many.
    Loop,
}

impl Unfollowed {
    pub(super) fn failure(&self) -> Failure {
        match self {
            Self::Elsewhere(_) => Failure::RedirectElsewhere,
            Self::Loop => Failure::RedirectLoop,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_leads_to_a_host_of_the_scenario_or_to_another_origin() {
        let origins = ["http://shop.test:8080", "https://login.test"].map(str::to_owned);
        let base = Place { host: 0, path: "/items/3?a=b".to_owned() };
        let of = |location: &str| Redirect::of(location, &base, &origins);
        let on = |host, path: &str| Redirect::Within(Place { host, path: path.to_owned() });
        assert_eq!(of("/login"), on(0, "/login"));
        assert_eq!(of("4"), on(0, "/items/4"));
        assert_eq!(of("/k%F6ln?%C3%A9"), on(0, "/k%F6ln?%C3%A9"));
        assert_eq!(of("http://shop.test:8080/x?y=1"), on(0, "/x?y=1"));
        assert_eq!(of("https://login.test:443/sso?next=/items/3"), on(1, "/sso?next=/items/3"));
        let back = Redirect::of("back", &Place { host: 1, path: "/a/b".to_owned() }, &origins);
        assert_eq!(back, on(1, "/a/back"));
        let elsewhere = |address: &str| Redirect::Elsewhere(address.to_owned());
        assert_eq!(of("https://shop.test/login?next=1"), elsewhere("https://shop.test/login"));
        assert_eq!(of("http://shop.test/"), elsewhere("http://shop.test/"));
        assert_eq!(of("http://login.test/"), elsewhere("http://login.test/"));
        assert_eq!(of("//www.shop.test"), elsewhere("http://www.shop.test/"));
        assert_eq!(of("https://me:secret@pay.test/"), elsewhere("https://pay.test/"));
        assert_eq!(of("mailto:me@shop.test"), elsewhere("mailto:"));
        for nowhere in ["http://", "http://["] {
            assert_eq!(of(nowhere), elsewhere(nowhere));
        }
        assert!(matches!(of(&"/x".repeat(5000)), Redirect::Elsewhere(_)));
    }
}
