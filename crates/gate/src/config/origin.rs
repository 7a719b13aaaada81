//! Where the upstream is: scheme, host and port.

use std::fmt;

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
