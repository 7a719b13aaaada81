//! Where the entries of a queue are handed out, as a person writes it.

use std::fmt;
use std::str::FromStr;

use url::Url;

/// Where the entries of a queue are handed out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// The table itself.
    #[default]
    Database,
    /// NATS JetStream at this URL.
    Nats(Url),
}

const RULE: &str = "must be database, or the URL of a NATS server with JetStream, such as \
                    nats://127.0.0.1:4222";

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "database" {
            return Ok(Self::Database);
        }
        let url = Url::parse(text).map_err(|error| format!("{RULE} ({error})"))?;
        let plain = matches!(url.path(), "" | "/") && url.query().is_none();
        match url.scheme() {
            "nats" | "tls" if url.has_host() && plain => Ok(Self::Nats(url)),
            _ => Err(RULE.into()),
        }
    }
}

impl fmt::Display for Place {
    /// The place without user and password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Database => f.write_str("database"),
            Self::Nats(url) => {
                write!(f, "{}://{}", url.scheme(), url.host_str().unwrap_or_default())?;
                url.port().map_or(Ok(()), |port| write!(f, ":{port}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_shown_without_its_password_and_mistakes_name_what_is_possible() {
        assert_eq!("database".parse(), Ok(Place::Database));
        for (text, shown) in [
            ("nats://127.0.0.1:4222", "nats://127.0.0.1:4222"),
            ("nats://localhost", "nats://localhost"),
            ("tls://ann:secret@queue.example:4443/", "tls://queue.example:4443"),
        ] {
            assert_eq!(text.parse::<Place>().unwrap().to_string(), shown);
        }
        for text in ["", "sqlite", "nats", "nats://", "http://a", "nats://a/stream", "nats://a?b"] {
            let error = text.parse::<Place>().unwrap_err();
            assert!(error.contains("must be database") && error.contains("4222"), "{error}");
        }
    }
}
