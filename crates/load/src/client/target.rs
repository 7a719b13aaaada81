//! The target of a run.

use crate::error::Error;

/// A target URL in its parts.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// As given.
    pub(crate) text: String,
    /// `https`; otherwise plain HTTP.
    pub(crate) tls: bool,
    /// Host without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// `scheme://host[:port]`, for resolving links.
    pub(crate) origin: String,
    /// Value of the Host header.
    pub(crate) authority: String,
}

impl Target {
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let wrong = |reason: String| Err(Error::Target { target: text.to_owned(), reason });
        let url = match url::Url::parse(text) {
            Ok(url) => url,
            Err(error) => return wrong(error.to_string()),
        };
        let tls = match url.scheme() {
            "https" => true,
            "http" => false,
            other => return wrong(format!("\"{other}\" is neither https nor http")),
        };
        if url.path() != "/" || url.query().is_some() {
            return wrong(format!(
                "has the path {}, and the paths of requests are those of the scenario",
                &url[url::Position::BeforePath..]
            ));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return wrong("has user information".to_owned());
        }
        let Some(host) = url.host_str() else { return wrong("has no host".to_owned()) };
        let Some(port) = url.port_or_known_default() else {
            return wrong("has no port".to_owned());
        };
        let authority = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        Ok(Self {
            text: text.to_owned(),
            tls,
            host: host.trim_matches(['[', ']']).to_owned(),
            port,
            origin: format!("{}://{authority}", url.scheme()),
            authority,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_scheme_host_and_port() {
        let target = Target::parse("https://Shop.example:8443").unwrap();
        assert!(target.tls);
        assert_eq!((target.host.as_str(), target.port), ("shop.example", 8443));
        assert_eq!(target.authority, "shop.example:8443");
        assert_eq!(Target::parse("http://[::1]/").unwrap().host, "::1");
        for bad in ["shop", "ftp://shop", "https://shop/path", "https://", "https://a@shop"] {
            assert!(matches!(Target::parse(bad), Err(Error::Target { .. })), "{bad}");
        }
    }
}
