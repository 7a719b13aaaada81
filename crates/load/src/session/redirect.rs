//! Where a redirect leads.

use url::Url;

use super::request::resolve;

/// Where a redirect leads, seen from the page that answered with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Redirect {
    /// A path of the target, with its query.
    Within(String),
    /// An address of another origin (scheme, host and port), without its query.
    Elsewhere(String),
    /// No address that can be requested.
    Nowhere,
}

impl Redirect {
    /// `base` is the path of the page, `origin` is `https://host[:port]` of the target.
    ///
    /// Source: RFC 9110, section 10.2.2; RFC 6454, section 5.
    pub(crate) fn of(location: &str, base: &str, origin: &str) -> Self {
        if let Some(path) = resolve(location, base, origin) {
            return Self::Within(path.into_owned());
        }
        let base = Url::parse(&format!("{origin}{base}"));
        let joined = base.and_then(|base| Ok((base.join(location.trim())?, base)));
        match joined {
            Ok((joined, base)) if joined.origin() != base.origin() => {
                let elsewhere = match joined.origin() {
                    origin @ url::Origin::Tuple(..) => origin.ascii_serialization() + joined.path(),
                    // Such as `mailto:`.
                    url::Origin::Opaque(_) => joined.scheme().to_owned() + ":",
                };
                Self::Elsewhere(elsewhere)
            }
            _ => Self::Nowhere,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_stays_within_the_target_or_leads_to_another_origin() {
        let of = |location: &str| Redirect::of(location, "/items/3?a=b", "http://shop.test:8080");
        let within = |path: &str| Redirect::Within(path.to_owned());
        assert_eq!(of("/login"), within("/login"));
        assert_eq!(of("4"), within("/items/4"));
        assert_eq!(of("http://shop.test:8080/x?y=1"), within("/x?y=1"));
        let elsewhere = |address: &str| Redirect::Elsewhere(address.to_owned());
        assert_eq!(of("https://shop.test/login?next=1"), elsewhere("https://shop.test/login"));
        assert_eq!(of("http://shop.test/"), elsewhere("http://shop.test/"));
        assert_eq!(of("//www.shop.test"), elsewhere("http://www.shop.test/"));
        assert_eq!(of("https://me:secret@pay.test/"), elsewhere("https://pay.test/"));
        assert_eq!(of("mailto:me@shop.test"), elsewhere("mailto:"));
        for nowhere in ["http://", "http://[", &"/x".repeat(5000)] {
            assert_eq!(of(nowhere), Redirect::Nowhere, "{nowhere:.20}");
        }
    }
}
