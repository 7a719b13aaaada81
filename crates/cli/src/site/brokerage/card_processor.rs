//! The card processor that takes deposits: one that is named, or one that is started beside the
//! tiers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use tidegate_brokerage::app::RETURNED;
use tidegate_card::WebhookSecret;
use tidegate_card::client::return_url;
use tidegate_lab::{CardProcessor, Launch, Service, Webhook};
use tidegate_sitekit::{private_file, self_signed};

use super::super::addresses::{fixed, public_url};
use super::super::classify;
use super::args::{Args, DATABASE};
use crate::exit::bad_input;

/// The brokerage's name at the processor.
const MERCHANT: &str = "brokerage";

/// What the tiers are told of the processor.
#[derive(Default)]
pub struct Card {
    url: Option<String>,
    key_file: Option<PathBuf>,
    ca: Option<PathBuf>,
    public_url: Option<String>,
    secret_file: Option<PathBuf>,
    /// Certificate and key of the web tier, where they were made.
    certificate: Option<(PathBuf, PathBuf)>,
    listen: Option<SocketAddr>,
}

impl Card {
    /// The processor that the flags name.
    pub fn named(args: &Args) -> Self {
        Self {
            url: args.card_processor.clone(),
            key_file: args.card_key_file.clone(),
            ca: args.card_ca.clone(),
            public_url: args.public_url.clone(),
            secret_file: args.webhook_secret_file.clone(),
            ..Self::default()
        }
    }

    /// Its URL.
    pub fn url(&self) -> &str {
        self.url.as_deref().unwrap_or_default()
    }

    /// Where the web tier listens.
    pub fn listen(&self, args: &Args) -> SocketAddr {
        self.listen.unwrap_or(args.listen)
    }

    /// Further arguments of an application server.
    pub fn app_arguments(&self) -> Vec<String> {
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        arguments([
            ("--card-processor", self.url.clone()),
            ("--card-key-file", path(&self.key_file)),
            ("--card-ca", path(&self.ca)),
            ("--public-url", self.public_url.clone()),
        ])
    }

    /// Further arguments of the web tier.
    pub fn web_arguments(&self) -> Vec<String> {
        let path = |path: Option<&PathBuf>| path.map(|path| path.display().to_string());
        let (certificate, key) = match &self.certificate {
            Some((certificate, key)) => (Some(certificate), Some(key)),
            None => (None, None),
        };
        arguments([
            ("--webhook-secret-file", path(self.secret_file.as_ref())),
            ("--certificate", path(certificate)),
            ("--key", path(key)),
        ])
    }
}

/// Those flags that have a value.
fn arguments<const N: usize>(flags: [(&str, Option<String>); N]) -> Vec<String> {
    let given = flags.into_iter().filter_map(|(flag, value)| Some([flag.to_owned(), value?]));
    given.flatten().collect()
}

/// A processor that is started beside the tiers, with what it and the brokerage have to know of
/// each other.
pub struct OwnProcessor {
    processor: CardProcessor,
    card: Card,
}

impl OwnProcessor {
    /// Makes keys, secrets and certificates that are missing.
    ///
    /// # Errors
    /// A mistake in the flags, or a file that cannot be written.
    pub fn prepare(args: &Args) -> anyhow::Result<Self> {
        let tls = args.security().browsers.is_some();
        let listen = args.card_listen;
        if listen.ip().is_unspecified() || !(tls || listen.ip().is_loopback()) {
            return Err(bad_input(format!(
                "--card-listen {listen}: must be an address of this machine, such as \
                 127.0.0.1:8090; for customers elsewhere start `tidegate site card` by itself"
            )));
        }
        let web = fixed(args.listen)?;
        let scheme = if tls { "https" } else { "http" };
        let public_url = public_url(args.public_url.as_deref(), scheme, web, "--card with ")?;
        let returns_to = return_url(&public_url, RETURNED).map_err(classify)?.to_string();
        let folder = args.data.join("card");
        let mut processor = CardProcessor::prepare(&folder, MERCHANT, listen, returns_to)?;
        let certificate = match (tls, &args.certificate) {
            (true, None) => {
                let made = self_signed::kept(&folder, "site-certificate", web.ip());
                Some(made.map_err(classify)?)
            }
            _ => None,
        };
        // A certificate that the operator names is for the name that customers use.
        let named = args.certificate.as_ref().filter(|_| tls);
        let url = match named {
            Some(_) => format!("{}/card-events", public_url.trim_end_matches('/')),
            None => format!("{scheme}://{}/card-events", here(web)),
        };
        let ca = named.or(certificate.as_ref().map(|(certificate, _)| certificate)).cloned();
        let secret_file = made_secret(&folder)?;
        processor.tls = tls;
        processor.webhook = Some(Webhook { url, secret_file: secret_file.clone(), ca });
        let card = Card {
            url: None,
            key_file: Some(processor.key_file().to_owned()),
            ca: None,
            public_url: Some(public_url),
            secret_file: Some(secret_file),
            certificate,
            listen: Some(web),
        };
        Ok(Self { processor, card })
    }

    /// Starts the processor; what the tiers are told of it.
    ///
    /// # Errors
    /// It does not start.
    pub fn start(self) -> anyhow::Result<(Service, Card)> {
        let launch = Launch::this_program("card processor").without_env(DATABASE);
        let running = self.processor.start(launch.inherit_errors())?;
        let card = Card { url: Some(running.url), ca: running.ca, ..self.card };
        Ok((running.service, card))
    }
}

/// An address on which this machine reaches itself.
fn here(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

/// The file of the secret that signs webhooks.
fn made_secret(folder: &Path) -> anyhow::Result<PathBuf> {
    let file = folder.join("webhook-secret");
    if !file.exists() {
        let secret = format!("{}\n", *WebhookSecret::generate());
        private_file::create(&file, secret.as_bytes()).map_err(|error| {
            bad_input(format!("{}: cannot be written: {error}", file.display()))
        })?;
    }
    Ok(file)
}
