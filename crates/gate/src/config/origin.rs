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
pub struct Url;

impl Rule for Url {
    type Read<'r> = Origin;

    fn read(&self, value: &Value<'_>) -> Result<Origin, Problem> {
        let given = text_of(value, "http://127.0.0.1:8080")?;
        let rule = "must be a URL of http:// or https:// with a host and no path";
        let Ok(url) = url::Url::parse(given) else {
            let remedy = match url::Url::parse(&format!("http://{given}")) {
                Ok(url) if url.has_host() => format!("try \"http://{given}\""),
                _ => "write it as \"http://127.0.0.1:8080\"".into(),
            };
            return Err(Problem::new(rule, remedy));
        };
        let tls = match url.scheme() {
            "http" => false,
            "https" => true,
            // `localhost:8080` parses as a URL of scheme `localhost`.
            _ if !url.has_host() => {
                return Err(Problem::new(rule, format!("try \"http://{given}\"")));
            }
            other => return Err(Problem::new(rule, format!("\"{other}\" cannot be proxied"))),
        };
        let host = match url.host() {
            Some(url::Host::Domain(name)) => name.to_owned(),
            Some(url::Host::Ipv4(address)) => address.to_string(),
            Some(url::Host::Ipv6(address)) => address.to_string(),
            None => return Err(Problem::new(rule, "name the host")),
        };
        let port = url.port_or_known_default().unwrap_or(80);
        let origin = Origin { tls, host, port };
        let bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
        if !bare || !url.username().is_empty() || url.password().is_some() {
            return Err(Problem::new(rule, format!("try \"{origin}\"")));
        }
        if port == 0 {
            return Err(Problem::new(rule, "name a port of 1 to 65535"));
        }
        Ok(origin)
    }

    fn kind(&self) -> String {
        "URL".into()
    }

    fn range(&self) -> String {
        "http or https, a host, a port; no path".into()
    }
}
