//! The origin of an upstream: scheme, host and port, or a unix socket.

use std::fmt;
use std::path::{Path, PathBuf};
use tidegate_config::{List, Problem, Rule, Value, text_of};

/// Scheme, host and port of a service, or its unix socket; no path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// Whether the connection is TLS (`https`).
    pub tls: bool,
    /// Host name in lower case, or IP address; an IPv6 address without brackets.
    pub host: String,
    /// Port; 80 or 443 when the URL has none.
    pub port: u16,
    /// The unix socket to connect to. Host and port are those of `Host` alone then:
    /// `localhost` and 80.
    pub socket: Option<PathBuf>,
}

impl Origin {
    /// That of a unix socket, which speaks plain HTTP.
    fn at_socket(path: &Path) -> Self {
        Self { tls: false, host: "localhost".into(), port: 80, socket: Some(path.into()) }
    }

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
        match &self.socket {
            Some(path) => write!(f, "{SOCKET}{}", path.display()),
            None => write!(f, "{}://{}", self.scheme(), self.authority()),
        }
    }
}

/// The servers of an upstream; never empty.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Members(Vec<Origin>);

impl Members {
    /// The first one.
    pub fn first(&self) -> &Origin {
        &self.0[0]
    }

    /// All, in the order of the configuration.
    pub fn iter(&self) -> std::slice::Iter<'_, Origin> {
        self.0.iter()
    }
}

impl fmt::Display for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, member) in self.0.iter().enumerate() {
            write!(f, "{}{member}", if at > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

/// The URL of an origin, or several.
#[derive(Debug)]
pub struct Urls;

/// Most members of an upstream: each is compared with others for each request.
const MEMBERS: usize = 100;

impl Rule for Urls {
    type Read<'r> = Members;

    fn read(&self, value: &Value<'_>) -> Result<Members, Problem> {
        if !value.is_list() {
            return Ok(Members(vec![Url.read(value)?]));
        }
        let rule = format!("must be a URL, or 1 to {MEMBERS} different ones in an array");
        let items = value.items().unwrap_or_default();
        if items.is_empty() || items.len() > MEMBERS {
            return Err(Problem::new(rule, format!("write [{EXAMPLE:?}]")));
        }
        let members = List(Url).read(value)?;
        let twice = |(at, member): (usize, &Origin)| members[..at].contains(member);
        if let Some(at) = members.iter().enumerate().position(twice) {
            return Err(Problem::new(rule, format!("leave out one {}", members[at])));
        }
        match members.is_empty() {
            // Each was reported.
            true => Ok(Members(vec![read(EXAMPLE).expect("the example is a URL")])),
            false => Ok(Members(members)),
        }
    }

    fn kind(&self) -> String {
        "URL or array of URLs".into()
    }

    fn range(&self) -> String {
        Url.range()
    }

    fn toml(&self, bare: &str) -> String {
        match bare.contains(',') {
            true => List(Url).toml(bare),
            false => Url.toml(bare),
        }
    }
}

/// The URL of an origin.
#[derive(Debug)]
pub struct Url;

/// What is proposed where nothing closer is known.
const EXAMPLE: &str = "http://127.0.0.1:8080";
/// How the URL of a unix socket begins.
const SOCKET: &str = "unix:";
/// Longest path of a unix socket, in bytes.
///
/// Source: unix(7), `sun_path` has 108 bytes with the final NUL.
const SOCKET_PATH: usize = 107;

impl Rule for Url {
    type Read<'r> = Origin;

    fn read(&self, value: &Value<'_>) -> Result<Origin, Problem> {
        let given = text_of(value, EXAMPLE)?;
        read(given).map_err(|remedy| {
            let rule =
                "must be a URL of http:// or https:// with a host and no path, or unix:/PATH";
            Problem::new(rule, remedy)
        })
    }

    fn kind(&self) -> String {
        "URL".into()
    }

    fn range(&self) -> String {
        "http or https, a host, a port, no path; or `unix:` and the path of a socket".into()
    }
}

/// Reads a URL.
///
/// # Errors
/// The remedy. A URL that it proposes can be read.
fn read(given: &str) -> Result<Origin, String> {
    if let Some(path) = given.strip_prefix(SOCKET) {
        return read_socket(path);
    }
    // As Docker, nginx and curl write it.
    let slashed = ["http://unix:", "http+unix://", "unix+http://"];
    let meant = slashed.iter().find_map(|prefix| given.strip_prefix(prefix)).unwrap_or(given);
    if let ("/", Ok(socket)) = (meant.get(..1).unwrap_or(""), read_socket(meant)) {
        return Err(format!("try \"{socket}\""));
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
    let origin = Origin { tls: url.scheme() == "https", host, port, socket: None };
    let bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
    if !bare || !url.username().is_empty() || url.password().is_some() {
        return Err(format!("try \"{origin}\""));
    }
    Ok(origin)
}

/// Reads the path of a unix socket.
fn read_socket(path: &str) -> Result<Origin, String> {
    // `unix:///a` is the same.
    let path = match path.strip_prefix("//") {
        Some(below) if below.starts_with('/') => below,
        _ => path,
    };
    if !path.starts_with('/')
        || path.starts_with("//")
        || path.len() == 1
        || path.bytes().any(|byte| byte < b' ')
    {
        return Err("write the whole path, such as \"unix:/run/shop.sock\"".into());
    }
    if path.len() > SOCKET_PATH {
        return Err(format!("a socket's path has at most {SOCKET_PATH} bytes"));
    }
    Ok(Origin::at_socket(Path::new(path)))
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
            ("unix:/run/shop.sock", "unix:/run/shop.sock"),
            ("unix:///run/shop.sock", "unix:/run/shop.sock"),
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
        for socket in ["http://unix:/run/a", "http+unix:///run/a", "/run/a"] {
            assert_eq!(read(socket).unwrap_err(), "try \"unix:/run/a\"");
        }
        for socket in ["unix:", "unix:/", "unix:a.sock", "unix:./a", "unix://a/b"] {
            assert!(read(socket).unwrap_err().contains("the whole path"), "{socket}");
        }
        assert!(read(&format!("unix:/{}", "a".repeat(106))).is_ok());
        assert!(read(&format!("unix:/{}", "a".repeat(107))).unwrap_err().contains("107 bytes"));
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
