//! Addresses on the hosts that customers request.

use std::borrow::Cow;

use url::Url;

/// Most bytes of a path.
pub(super) const LONGEST_PATH: usize = 8000;

/// An address of the target, or of another host of the scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Index of the host: 0 is the target.
    pub(crate) host: u8,
    /// Path with query.
    pub(crate) path: String,
}

/// The path (with query) of an address on a host; `None` if it leads elsewhere or cannot stand in
/// a request line.
///
/// `base` is the page, `origins` are `https://host[:port]` of the hosts.
pub(crate) fn resolve<'h>(
    href: &'h str,
    base: &Place,
    host: u8,
    origins: &[String],
) -> Option<Cow<'h, str>> {
    let href = href.trim();
    let href = &href[..href.find('#').unwrap_or(href.len())];
    let clean = |path: &str| {
        path.len() <= LONGEST_PATH
            && path.bytes().all(|b| b.is_ascii_graphic() && b != b'"' && b != b'<' && b != b'>')
    };
    if base.host == host && href.starts_with('/') && !href.starts_with("//") {
        // The usual case, without dots to resolve or bytes to escape.
        if clean(href) && !href.contains("/.") {
            return Some(Cow::Borrowed(href));
        }
    }
    let own = &origins[usize::from(base.host)];
    let own = Url::parse(&format!("{own}{}", base.path)).ok()?;
    let joined = own.join(href).ok()?;
    let wanted = match base.host == host {
        true => own.origin(),
        false => Url::parse(&origins[usize::from(host)]).ok()?.origin(),
    };
    if joined.origin() != wanted {
        return None;
    }
    let path = match joined.query() {
        Some(query) => format!("{}?{query}", joined.path()),
        None => joined.path().to_owned(),
    };
    clean(&path).then_some(Cow::Owned(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_elsewhere_are_not_followed() {
        let origins = ["https://shop.test", "https://api.test"].map(str::to_owned);
        let base = Place { host: 0, path: "/a/b?x=1".to_owned() };
        let on = |host, href| resolve(href, &base, host, &origins).map(Cow::into_owned);
        let to = |href| on(0, href);
        assert_eq!(on(1, "//api.test/v1?a"), Some("/v1?a".to_owned()));
        assert_eq!((on(1, "/v1"), on(0, "//api.test/v1")), (None, None));
        assert_eq!(to("/c?d=1#e").as_deref(), Some("/c?d=1"));
        assert_eq!(to("c").as_deref(), Some("/a/c"));
        assert_eq!(to("?page=2").as_deref(), Some("/a/b?page=2"));
        assert_eq!(to("").as_deref(), Some("/a/b?x=1"));
        assert_eq!(to("https://shop.test/d").as_deref(), Some("/d"));
        assert_eq!(to("/../../e").as_deref(), Some("/e"));
        for elsewhere in ["https://other.test/", "//other.test/", "mailto:a@b", "javascript:x()"] {
            assert_eq!(to(elsewhere), None, "{elsewhere}");
        }
        assert_eq!(to("/a b\r\nX: y").as_deref(), Some("/a%20bX:%20y"));
    }
}
