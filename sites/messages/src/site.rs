//! The running service.

use std::net::SocketAddr;
use std::sync::Arc;

use crate::channel::Channel;
use crate::formats::Format;
use crate::keys::{Keys, Party};
use crate::options::Options;
use crate::service::{App, Counters, router};
use tidegate_sitekit::server::{Peers, Server, Service};
use tidegate_sitekit::tls;
use tidegate_sitekit::{Error, Result};

/// A running message service.
#[derive(Debug)]
pub struct Site {
    server: Server,
    scheme: &'static str,
    counters: Arc<Counters>,
}

/// Starts the service.
///
/// # Errors
/// The keys or certificates cannot be read; the address is in use or not of this machine; a
/// core does not exist.
pub fn start(options: &Options) -> Result<Site> {
    let channel = match (options.format, &options.keys) {
        (Format::None, None) => Channel::unprotected(Party::Server),
        (Format::None, Some(_)) => {
            return Err(Error::Operator(
                "--keys: messages with --security none have none; leave it out".into(),
            ));
        }
        (format, None) => {
            return Err(Error::Operator(format!(
                "--security {format}: needs --keys FILE; make the files with \
                 `tidegate site messages --make-keys DIR`"
            )));
        }
        (format, Some(path)) => Channel::new(format, Keys::read(path, Party::Server)?)?,
    };
    let tls = options.tls.as_ref().map(tls::config).transpose()?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    let counters = Arc::<Counters>::default();
    let app = Arc::new(App { channel, counters: Arc::clone(&counters) });
    let server = Server::start(options.listen, options.cores.as_deref(), None, |_| {
        let (app, tls) = (Arc::clone(&app), tls.clone());
        Ok(move || Service { router: router(app), tls, peers: Peers::Public, background: None })
    })?;
    Ok(Site { server, scheme, counters })
}

impl Site {
    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Its URL, without a path.
    pub fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.address())
    }

    /// What it has answered and refused.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Stops accepting, waits for the requests in flight (at most 5 s), and returns when
    /// every core has stopped.
    pub fn shutdown(self) {
        self.server.shutdown();
    }
}
