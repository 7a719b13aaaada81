//! Options of the card processor.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use crate::issuer;
use tidegate_sitekit::backoff::Backoff;
use tidegate_sitekit::database::{Location, make_folder};
use tidegate_sitekit::tls::Tls;
use tidegate_sitekit::{Error, Result};

/// Options of the card processor.
#[derive(Clone, Debug)]
pub struct Options {
    /// Address to listen on; port 0 takes a free one.
    pub listen: SocketAddr,
    /// URL of the database; without one, a SQLite file in `data`.
    pub database: Option<String>,
    /// Folder of the SQLite file, the keys, and a certificate that is made.
    pub data: PathBuf,
    /// File of the keys; without one, [`Options::KEYS`] in `data`.
    pub keys: Option<PathBuf>,
    /// TLS of the connections; `None`: plain HTTP, on a loopback address only.
    pub tls: Option<Tls>,
    /// URL under which customers reach the card form; without one, that of the address.
    pub public_url: Option<String>,
    /// Where customers may be sent back to.
    pub return_urls: Vec<ForMerchant>,
    /// Where events are delivered to.
    pub webhooks: Vec<ForMerchant>,
    /// Files of the webhooks' secrets: one for all, or one for each.
    pub webhook_secret_files: Vec<PathBuf>,
    /// PEM file of the certificates that webhooks over HTTPS trust; without one, those of the
    /// system.
    pub webhook_ca: Option<PathBuf>,
    /// How long a slow card takes, at most [`Options::SLOWEST_CARD`].
    pub slow_card: Duration,
    /// How the processor keeps and gives up.
    pub limits: Limits,
    /// Processors to run on, one thread pinned to each; `None`: all that are allowed.
    pub cores: Option<Vec<usize>>,
}

/// How long things are kept and tried.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How long an idempotency key is kept.
    pub key_lasts: Duration,
    /// Most idempotency keys kept of a merchant.
    pub most_keys: i64,
    /// How long a customer may take to type a card.
    pub checkout_lasts: Duration,
    /// How long an authorisation lasts without a capture.
    pub authorisation_lasts: Duration,
    /// Pauses between attempts to deliver a webhook.
    pub webhook_backoff: Backoff,
    /// How long a webhook is tried.
    pub webhook_tried: Duration,
    /// How long the deadline of one attempt is.
    pub webhook_deadline: Duration,
    /// How long events and the log of their deliveries are kept.
    pub events_kept: Duration,
}

const HOUR: Duration = Duration::from_secs(3600);

impl Default for Limits {
    fn default() -> Self {
        Self {
            key_lasts: HOUR * 24,
            // Twelve a second for a day, about 1 GB.
            most_keys: 1_000_000,
            checkout_lasts: HOUR * 24,
            authorisation_lasts: HOUR * 24 * 7,
            webhook_backoff: Backoff { first: Duration::from_secs(2), longest: HOUR },
            webhook_tried: HOUR * 72,
            webhook_deadline: Duration::from_secs(10),
            events_kept: HOUR * 24 * 30,
        }
    }
}

/// A URL of one merchant: `MERCHANT=URL`, or `URL` where there is one merchant only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForMerchant {
    /// Whose it is.
    pub merchant: Option<String>,
    /// The URL.
    pub text: String,
}

impl FromStr for ForMerchant {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // A `=` of the URL itself comes after its scheme.
        let scheme = text.find("://").unwrap_or(text.len());
        let (merchant, url) = match text.split_once('=') {
            Some((merchant, url)) if merchant.len() < scheme => (Some(merchant.to_owned()), url),
            _ => (None, text),
        };
        Ok(Self { merchant, text: url.to_owned() })
    }
}

impl Options {
    /// Name of the file of keys.
    pub const KEYS: &str = "card-keys.json";
    /// Longest time of a slow card.
    pub const SLOWEST_CARD: Duration = Duration::from_secs(3600);

    /// The file of keys.
    pub fn keys_file(&self) -> PathBuf {
        self.keys.clone().unwrap_or_else(|| self.data.join(Self::KEYS))
    }

    /// Where the database is; the folder is made.
    pub(super) fn location(&self) -> Result<Location> {
        if self.tls.is_none() && !self.listen.ip().is_loopback() {
            return Err(Error::Operator(format!(
                "listen {}: card numbers would travel in the clear; add --tls 1.3, or listen on 127.0.0.1",
                self.listen
            )));
        }
        if self.slow_card > Self::SLOWEST_CARD {
            return Err(Error::Operator(
                "--slow-card-seconds: must be at most 3600; try 20".into(),
            ));
        }
        // Keys and certificates are there as well.
        make_folder(&self.data)?;
        Location::of_site(self.database.as_deref(), &self.data, "card.db")
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8090)),
            database: None,
            data: PathBuf::from("data"),
            keys: None,
            tls: None,
            public_url: None,
            return_urls: Vec::new(),
            webhooks: Vec::new(),
            webhook_secret_files: Vec::new(),
            webhook_ca: None,
            slow_card: issuer::SLOW,
            limits: Limits::default(),
            cores: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_may_name_its_merchant() {
        let read = |text: &str| text.parse::<ForMerchant>().unwrap();
        let shop = ForMerchant { merchant: Some("shop".into()), text: "https://a/?b=c".into() };
        assert_eq!(read("shop=https://a/?b=c"), shop);
        assert_eq!(read("https://a/?b=c"), ForMerchant { merchant: None, ..shop });
        assert_eq!(read("").text, "");
    }

    #[test]
    fn plain_http_is_for_this_machine_only() {
        let folder = tempfile::tempdir().unwrap();
        let listen = "0.0.0.0:0".parse().unwrap();
        let open = Options { listen, data: folder.path().to_owned(), ..Options::default() };
        let error = open.location().unwrap_err().to_string();
        assert!(error.contains("in the clear") && error.contains("--tls"), "{error}");
        assert!(Options { listen: "[::1]:0".parse().unwrap(), ..open }.location().is_ok());
    }
}
