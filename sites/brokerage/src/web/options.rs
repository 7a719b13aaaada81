//! Options of the web tier.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use crate::tier::LinkOptions;
use tidegate_sitekit::link::Deadlines;
use tidegate_sitekit::tls::Tls;

/// Options of the web tier.
#[derive(Clone, Debug)]
pub struct Options {
    /// Address to listen on; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Addresses of the application tier, `HOST:PORT`, which have the requests in turn.
    pub next: Vec<String>,
    /// The link to the application tier.
    pub link: LinkOptions,
    /// TLS of the browsers' connections; `None`: plain HTTP.
    pub tls: Option<Tls>,
    /// Addresses of proxies, beside those of this machine, whose `X-Forwarded-For` and
    /// `X-Forwarded-Proto` are believed.
    pub trusted_proxies: Vec<IpAddr>,
    /// The file of the secrets that sign the card processor's webhooks; none: it sends none
    /// here.
    pub webhook_secrets: Option<PathBuf>,
    /// What makes the pages.
    pub stub: Stub,
    /// Whether it serves static pages of given sizes as well.
    pub measured_pages: bool,
    /// The cores to run on, one runtime pinned to each; without, one runtime per processor
    /// that this process may use, not pinned.
    pub cores: Option<Vec<usize>>,
}

/// What makes the pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Stub {
    /// This process.
    #[default]
    InProcess,
    /// A program that is started for each request.
    Cgi(Program),
}

/// A program that answers one request by the Common Gateway Interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The program; it calls [`stub_call`](super::stub_call).
    pub path: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
}

impl Options {
    /// Deadlines of calls to the application tier: longer than those that it has itself, so
    /// that it can say why it failed.
    pub(super) const DEADLINES: Deadlines =
        Deadlines { connect: Duration::from_secs(1), whole: Duration::from_secs(8) };
}
