//! The running services.

use std::net::SocketAddr;
use std::sync::Arc;

use tidegate_sitekit::database::Database;
use tidegate_sitekit::server::{Peers, Server, Service, background, begin_trace, runtimes};
use tidegate_sitekit::{Result, tls};
use tidegate_trace::Tracing;

use crate::fulfil::{Fulfilment, Shared};
use crate::options::Options;
use crate::prepare::{Prepared, prepare};
use crate::web::{App, router};

/// Running services.
#[derive(Debug)]
pub struct Site {
    server: Server,
    prepared: Prepared,
    tracing: Option<Tracing>,
}

/// Prepares the database, as [`prepare`] does, and starts the services.
///
/// # Errors
/// Those of [`prepare`]; the certificates of TLS or of the partners, or an address of theirs
/// cannot be used; the address is in use or not of this machine; a core does not exist.
pub fn start(options: &Options) -> Result<Site> {
    let prepared = prepare(options)?;
    let cores = options.cores.as_deref();
    let mut databases = Database::for_cores(&prepared.location, runtimes(cores)?).into_iter();
    let tls = options.tls.as_ref().map(tls::config).transpose()?;
    let shared = Arc::new(Shared::new(&options.fulfil, prepared.id.clone())?);
    let tracing = options.trace.as_deref().map(begin_trace).transpose()?;
    let handle = tracing.as_ref().map(Tracing::handle);
    let scheme = if tls.is_some() { "https" } else { "http" };
    let public_url = options.public_url.clone();
    let server = Server::start(options.listen, cores, handle.as_ref(), |core| {
        let database = databases.next().expect("one for each core");
        let fulfilment = Fulfilment::new(database.clone(), Arc::clone(&shared))?;
        let app = App {
            database,
            fulfilment: fulfilment.clone(),
            public_url: public_url.clone(),
            scheme,
        };
        let tls = tls.clone();
        Ok(move || Service {
            tls,
            peers: Peers::Public,
            background: (core == 0).then(|| background(fulfilment.run())),
            router: router(Arc::new(app)),
        })
    })?;
    if let Some(handle) = handle {
        handle.watch_ports([server.address().port()]);
    }
    Ok(Site { server, prepared, tracing })
}

impl Site {
    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Its database.
    pub fn prepared(&self) -> &Prepared {
        &self.prepared
    }

    /// Stops accepting, waits for the requests in flight (at most 5 s), and returns when every
    /// core has stopped and the trace is written.
    pub fn shutdown(self) {
        self.server.shutdown();
        if let Some(tracing) = self.tracing {
            tracing::info!("{}", tracing.finish());
        }
    }
}
