//! The running shop.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::options::Options;
use crate::payments::{Payments, Shared};
use crate::prepare::{Prepared, prepare};
use crate::store::{sessions, stock};
use crate::web::{App, Shelf, State, router};
use tidegate_sitekit::database::Database;
use tidegate_sitekit::login_limit::LoginLimit;
use tidegate_sitekit::once::form;
use tidegate_sitekit::password::Hasher;
use tidegate_sitekit::server::{Peers, Service, background};
use tidegate_sitekit::site::{self, Place};
use tidegate_sitekit::{Result, log_once, when};

/// How often stock is filled up and what is over is forgotten.
const TENDED: Duration = Duration::from_secs(2);

/// A running shop.
pub type Site = site::Site<Prepared>;

/// Prepares the database, as [`prepare`] does, and starts the shop.
///
/// # Errors
/// Those of [`prepare`]; the key, the certificates or a URL of the card processor cannot be used;
/// the address is in use or not of this machine; a core does not exist.
pub fn start(options: &Options) -> Result<Site> {
    let prepared = prepare(options)?;
    let takes = options.password_cost.measure();
    let login_limit = Arc::new(LoginLimit::new(Instant::now()));
    let trusted_proxies: Arc<[_]> = options.trusted_proxies.clone().into();
    let shared = Arc::new(Shared::default());
    let place = Place {
        listen: options.listen,
        cores: options.cores.as_deref(),
        trace: options.trace.as_deref(),
    };
    let location = prepared.location.clone();
    Site::start(place, &location, prepared, |prepared, core, database| {
        let card = options.card.as_ref();
        let payments = card.map(|card| Payments::new(card, database.clone(), Arc::clone(&shared)));
        let payments = payments.transpose()?;
        let state = State {
            database: database.clone(),
            hasher: Hasher::new(options.password_cost, takes)?,
            signer: prepared.signer.clone(),
            login_limit: Arc::clone(&login_limit),
            trusted_proxies: Arc::clone(&trusted_proxies),
            build: options.build,
            keep: options.keep,
            payments: payments.clone(),
            public_url: options.public_url.clone(),
            shelf: Shelf::default(),
        };
        Ok(move || Service {
            tls: None,
            peers: Peers::Public,
            background: (core == 0).then(|| background(beside(database, payments))),
            router: router(App::new(state)),
        })
    })
}

/// What runs beside the requests.
async fn beside(database: Database, payments: Option<Payments>) {
    match payments {
        Some(payments) => tokio::join!(tend(&database), payments.run()),
        None => (tend(&database).await, ()),
    };
}

/// Fills up stock, and forgets sessions and forms that are over.
async fn tend(database: &Database) {
    loop {
        let tended = async {
            while stock::deliver(database).await? > 0 {
                tokio::task::yield_now().await;
            }
            while sessions::forget(database, when::now()).await? > 0 {
                tokio::task::yield_now().await;
            }
            form::forget_expired(database, when::now()).await
        };
        if let Err(error) = tended.await {
            log_once!(warn by &error.to_string(), %error, "stock could not be filled up; trying again");
        }
        sleep(TENDED).await;
    }
}
