//! URLs of merchants: where customers return to, and where webhooks go.

use std::net::IpAddr;

use url::{Host, Origin, Url};

/// Most bytes of a URL.
const LONGEST: usize = 1024;

/// Reads an `https` URL, or an `http` one of this machine, without user, password and
/// fragment.
///
/// # Errors
/// The text is no such URL: a sentence.
pub fn read(text: &str) -> Result<Url, &'static str> {
    if text.len() > LONGEST {
        return Err("must be a URL of at most 1024 characters");
    }
    // The parser drops these silently; an address that is shown must be the one that is used.
    if text.bytes().any(|byte| byte.is_ascii_control() || byte == b' ' || byte == b'\\') {
        return Err("must be a URL without spaces, backslashes and control characters");
    }
    let url = Url::parse(text).map_err(|_| "must be a URL such as https://shop.example/paid")?;
    match url.scheme() {
        "https" => {}
        "http" if is_loopback(&url) => {}
        _ => return Err("must be an https URL, or an http URL of this machine"),
    }
    if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
        return Err("must have no user, password or fragment");
    }
    if url.host().is_none() {
        return Err("must name a host");
    }
    Ok(url)
}

/// Whether a URL is of this machine.
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => IpAddr::from(address).is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::from(address).is_loopback(),
        None => false,
    }
}

/// Whether a return URL is one that the merchant registered: of the same scheme, host, port
/// and path. The query may differ.
pub fn is_registered(url: &Url, registered: &[Url]) -> bool {
    registered.iter().any(|it| it.origin() == url.origin() && it.path() == url.path())
}

/// The origin of a URL, for a content security policy.
pub fn origin(url: &Url) -> String {
    match url.origin() {
        origin @ Origin::Tuple(..) => origin.ascii_serialization(),
        Origin::Opaque(_) => "'none'".into(),
    }
}

/// The URL with further fields in its query.
pub fn with_fields(url: &Url, fields: &[(&str, &str)]) -> String {
    let mut url = url.clone();
    url.query_pairs_mut().extend_pairs(fields);
    url.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_https_and_this_machine_are_addresses() {
        for text in [
            "https://shop.example/paid?from=card",
            "https://192.0.2.1:8443/",
            "http://127.0.0.1:8080/paid",
            "http://[::1]/paid",
            "http://localhost:1/",
        ] {
            assert!(read(text).is_ok(), "{text}");
        }
        for text in [
            "",
            "/paid",
            "//shop.example/paid",
            "http://shop.example/",
            "http://127.0.0.1.shop.example/",
            "javascript:alert(1)",
            "data:text/html,x",
            "ftp://shop.example/",
            "https://user@shop.example/",
            "https://:secret@shop.example/",
            "https://shop.example/#x",
            "https://shop.example\\@evil.example/",
            "https://shop.example/a\nb",
            " https://shop.example/",
            &format!("https://shop.example/{}", "a".repeat(1024)),
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_return_url_has_scheme_host_port_and_path_of_a_registered_one() {
        let registered = [read("https://shop.example/paid").unwrap()];
        let is = |text: &str| is_registered(&read(text).unwrap(), &registered);
        assert!(is("https://shop.example/paid") && is("https://shop.example:443/paid?order=1"));
        for other in [
            "https://shop.example/",
            "https://shop.example/paid/",
            "https://shop.example/paid/../paid2",
            "https://shop.example:8443/paid",
            "https://shop.example.evil.example/paid",
            "https://evil.example/paid?https://shop.example/paid",
            "http://127.0.0.1/paid",
        ] {
            assert!(!is(other), "{other}");
        }
    }

    #[test]
    fn fields_are_added_to_a_query() {
        let url = read("https://shop.example/paid?order=1").unwrap();
        let with = with_fields(&url, &[("payment", "pay_1"), ("reference", "a&b")]);
        assert_eq!(with, "https://shop.example/paid?order=1&payment=pay_1&reference=a%26b");
        assert_eq!(origin(&url), "https://shop.example");
    }
}
