//! The running services.

use std::sync::Arc;

use tidegate_sitekit::server::{Peers, Service, background};
use tidegate_sitekit::site::{self, Place};
use tidegate_sitekit::{Result, tls};

use crate::fulfil::{Fulfilment, Shared};
use crate::options::Options;
use crate::prepare::{Prepared, prepare};
use crate::web::{App, router};

/// Running services.
pub type Site = site::Site<Prepared>;

/// Prepares the database, as [`prepare`] does, and starts the services.
///
/// # Errors
/// Those of [`prepare`]; the certificates of TLS or of the partners, or an address of theirs
/// cannot be used; the address is in use or not of this machine; a core does not exist.
pub fn start(options: &Options) -> Result<Site> {
    let prepared = prepare(options)?;
    let tls = options.tls.as_ref().map(tls::config).transpose()?;
    let clients = options.tls.as_ref().and_then(|it| it.clients.as_ref());
    let clients = clients.map(tls::verifier).transpose()?;
    let shared = Arc::new(Shared::new(&options.fulfil, prepared.id.clone())?);
    let place = Place {
        listen: options.listen,
        cores: options.cores.as_deref(),
        trace: options.trace.as_deref(),
    };
    let location = prepared.location.clone();
    let scheme = if tls.is_some() { "https" } else { "http" };
    let public_url = options.public_url.clone();
    Site::start(place, &location, prepared, |_, core, database| {
        let fulfilment = Fulfilment::new(database.clone(), Arc::clone(&shared))?;
        let app = App {
            database,
            fulfilment: fulfilment.clone(),
            public_url: public_url.clone(),
            clients: clients.clone(),
            scheme,
        };
        let tls = tls.clone();
        Ok(move || Service {
            tls,
            peers: Peers::Public,
            background: (core == 0).then(|| background(fulfilment.run())),
            router: router(Arc::new(app)),
        })
    })
}
