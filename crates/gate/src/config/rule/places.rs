//! Rules of places: addresses, paths, URLs.

use super::{Describe, Problem, Raw, Rule, text};
use crate::config::origin::Origin;
use std::net::SocketAddr;
use std::path::PathBuf;

/// An address and port.
pub struct Address;

impl Describe for Address {
    fn kind(&self) -> String {
        "address".into()
    }

    fn range(&self) -> String {
        "IP address and port, such as 0.0.0.0:443 or [::]:443".into()
    }
}

impl Rule<SocketAddr> for Address {
    fn check(&self, raw: &Raw) -> Result<SocketAddr, Problem> {
        let given = text(raw, "127.0.0.1:8443")?;
        let rule = "must be an IP address and a port";
        if let Ok(address) = given.parse() {
            return Ok(address);
        }
        let port = given.strip_prefix(':').or(given.strip_prefix("*:")).unwrap_or(given);
        if port.parse::<u16>().is_ok() {
            let remedy = format!("\"0.0.0.0:{port}\" is that port on all addresses");
            return Err(Problem::new(rule, remedy));
        }
        if let Some(port) = given.strip_prefix("localhost:") {
            return Err(Problem::new(rule, format!("try \"127.0.0.1:{port}\"")));
        }
        Err(Problem::new(rule, "write it as \"127.0.0.1:8443\" or \"[::1]:8443\""))
    }
}

/// The other rule, or the word `off`.
pub struct OrOff<R>(pub R);

impl<R: Describe> Describe for OrOff<R> {
    fn kind(&self) -> String {
        format!("{} or word", self.0.kind())
    }

    fn range(&self) -> String {
        format!("{}; or off", self.0.range())
    }

    fn toml(&self, bare: &str) -> String {
        self.0.toml(bare)
    }
}

impl Rule<Option<SocketAddr>> for OrOff<Address> {
    fn check(&self, raw: &Raw) -> Result<Option<SocketAddr>, Problem> {
        match raw {
            Raw::Text(text) | Raw::Bare(text) if text == "off" => Ok(None),
            _ => Rule::<SocketAddr>::check(&self.0, raw).map(Some),
        }
    }
}

/// A path; whether something is there is found out when it is read.
pub struct FilePath;

impl Describe for FilePath {
    fn kind(&self) -> String {
        "path".into()
    }

    fn range(&self) -> String {
        "absolute, or relative to the configuration file".into()
    }
}

impl Rule<PathBuf> for FilePath {
    fn check(&self, raw: &Raw) -> Result<PathBuf, Problem> {
        let given = text(raw, "/etc/tidegate/cert.pem")?;
        if given.is_empty() || given.contains('\0') {
            return Err(Problem::new("must be a path", "name a file, or leave the setting out"));
        }
        Ok(given.into())
    }
}

/// A control group.
pub struct GroupPath;

impl Describe for GroupPath {
    fn kind(&self) -> String {
        "path".into()
    }

    fn range(&self) -> String {
        "absolute, below the cgroup mount".into()
    }
}

impl Rule<PathBuf> for GroupPath {
    fn check(&self, raw: &Raw) -> Result<PathBuf, Problem> {
        let given = text(raw, "/shop.slice")?;
        let rule = "must be a control group's path, beginning with /";
        if let Some(below) = given.strip_prefix("/sys/fs/cgroup/") {
            return Err(Problem::new(rule, format!("leave out the mount: try \"/{below}\"")));
        }
        let plain = !given.contains('\0') && given.split('/').all(|part| part != "..");
        if !given.starts_with('/') || !plain {
            return Err(Problem::new(rule, "write it as \"/shop.slice\""));
        }
        Ok(given.into())
    }
}

/// Scheme, host and port.
pub struct Url;

impl Describe for Url {
    fn kind(&self) -> String {
        "URL".into()
    }

    fn range(&self) -> String {
        "http or https, a host, a port; no path".into()
    }
}

impl Rule<Origin> for Url {
    fn check(&self, raw: &Raw) -> Result<Origin, Problem> {
        let given = text(raw, "http://127.0.0.1:8080")?;
        let rule = "must be a URL of http:// or https:// with a host and no path";
        let parsed = url::Url::parse(given);
        let Ok(url) = parsed else {
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
}
