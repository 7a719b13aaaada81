//! The origin of the upstream: scheme, host and port.

use std::fmt;
use tidegate_config::{Problem, Rule, Value, text_of};

/// Scheme, host and port of a service; no path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// Whether the connection is TLS (`https`).
    pub tls: bool,
    /// Host name in lower case, or IP address; an IPv6 address without brackets.
    pub host: String,
    /// Port; 80 or 443 when the URL has none.
    pub port: u16,
}

impl Origin {
    /// `host:port`, an IPv6 address in brackets: for connecting and for `Host`.
    pub fn authority(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    /// `http` or `https`.
    pub fn scheme(&self) -> &'static str {
        if self.tls { "https" } else { "http" }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme(), self.authority())
    }
}

/// The URL of an origin.
#[derive(Debug)]
pub struct Url;

/// What is proposed where nothing closer is known.
const EXAMPLE: &str = "http://127.0.0.1:8080";

impl Rule for Url {
    type Read<'r> = Origin;

    fn read(&self, value: &Value<'_>) -> Result<Origin, Problem> {
        let given = text_of(value, EXAMPLE)?;
        read(given).map_err(|remedy| {
            Problem::new("must be a URL of http:// or https:// with a host and no path", remedy)
        })
    }

    fn kind(&self) -> String {
        "URL".into()
    }

    fn range(&self) -> String {
        "http or https, a host, a port; no path".into()
    }
}

/// Reads a URL.
///
/// # Errors
/// The remedy. A URL that it proposes can be read.
fn read(given: &str) -> Result<Origin, String> {
    const SOCKETS: [&str; 4] = ["/", ".", "unix:", "http://unix:/"];
    if SOCKETS.iter().any(|prefix| given.starts_with(prefix)) {
        return Err(format!(
            "the gate cannot connect to a unix socket; let the service listen on an address, such \
             as \"{EXAMPLE}\""
        ));
    }
    let url = match url::Url::parse(given) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => url,
        Ok(url) if url.has_host() => return Err(format!("\"{}\" cannot be proxied", url.scheme())),
        // `localhost:8080` parses as a URL of scheme `localhost`.
        _ => {
            let with_scheme = format!("http://{given}");
            let proposed = if read(&with_scheme).is_ok() { &with_scheme } else { EXAMPLE };
            return Err(format!("try \"{proposed}\""));
        }
    };
    let host = match url.host() {
        Some(url::Host::Domain(name)) => name.to_owned(),
        Some(url::Host::Ipv4(address)) => address.to_string(),
        Some(url::Host::Ipv6(address)) => address.to_string(),
        None => return Err("name the host".into()),
    };
    let port = url.port_or_known_default().unwrap_or(80);
    if port == 0 {
        return Err("name a port of 1 to 65535".into());
    }
    let origin = Origin { tls: url.scheme() == "https", host, port };
    let bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
    if !bare || !url.username().is_empty() || url.password().is_some() {
        return Err(format!("try \"{origin}\""));
    }
    Ok(origin)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_origin_has_scheme_host_and_port() {
        for (given, shown) in [
            ("http://shop", "http://shop:80"),
            ("https://Shop.Example/", "https://shop.example:443"),
            ("http://[::1]:8080", "http://[::1]:8080"),
        ] {
            assert_eq!(read(given).unwrap().to_string(), shown);
        }
    }

    #[test]
    fn a_remedy_fits_what_was_given() {
        for (given, remedy) in [
            ("127.0.0.1:8080", "try \"http://127.0.0.1:8080\""),
            ("localhost:3000", "try \"http://localhost:3000\""),
            ("shop", "try \"http://shop\""),
            ("http://shop/path?x", "try \"http://shop:80\""),
            ("http://user@shop:81", "try \"http://shop:81\""),
            ("ftp://shop", "\"ftp\" cannot be proxied"),
            ("http://shop:0", "name a port of 1 to 65535"),
            ("shop/path", "try \"http://127.0.0.1:8080\""),
            ("", "try \"http://127.0.0.1:8080\""),
        ] {
            assert_eq!(read(given).unwrap_err(), remedy, "{given}");
        }
        for socket in ["unix:/run/a.sock", "unix:///a.sock", "http://unix:/run/a", "/a", "./a"] {
            assert!(read(socket).unwrap_err().contains("unix socket"), "{socket}");
        }
        assert!(read("http://unix:8080").is_ok(), "a host of this name");
    }

    proptest! {
        #[test]
        fn a_url_that_is_proposed_can_be_read(given in "([a-z]{0,5}:)?/{0,3}\\PC{0,20}(:[0-9]{0,6})?") {
            prop_assume!(!given.contains('"'));
            if let Err(remedy) = read(&given) {
                let proposed = remedy.split('"').nth(1).filter(|text| text.starts_with("http"));
                prop_assert!(proposed.is_none_or(|url| read(url).is_ok()), "{given}: {remedy}");
            }
        }
    }
}
