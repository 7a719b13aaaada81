//! What the tiers have in common.

use std::net::SocketAddr;

use tidegate_sitekit::link::{Files, Spec};
use tidegate_sitekit::server::Server;

/// The tiers' names, as links and certificates have them.
pub const TIERS: [&str; 3] = [WEB, APP, DATA];
/// The web tier.
pub(super) const WEB: &str = "web";
/// The application tier.
pub(super) const APP: &str = "app";
/// The data tier.
pub(super) const DATA: &str = "data";

/// How a link is secured, with the files for it.
#[derive(Clone, Debug)]
pub struct LinkOptions {
    /// How it is secured, and whether its connections persist.
    pub spec: Spec,
    /// Certificates and keys.
    pub files: Files,
}

/// A tier that runs.
#[derive(Debug)]
pub struct Running {
    server: Server,
    /// Ends what does not end by itself when the server stops.
    stopping: Option<tokio::sync::watch::Sender<bool>>,
}

impl Running {
    pub(super) fn new(server: Server) -> Self {
        Self { server, stopping: None }
    }

    /// With a sender that tells streams without an end that the tier stops.
    pub(super) fn with_streams(server: Server, stopping: tokio::sync::watch::Sender<bool>) -> Self {
        Self { server, stopping: Some(stopping) }
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Stops accepting, waits for the requests in flight (at most 5 s), and returns when
    /// every core has stopped.
    pub fn shutdown(self) {
        if let Some(stopping) = self.stopping {
            stopping.send_replace(true);
        }
        self.server.shutdown();
    }
}
