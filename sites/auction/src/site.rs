//! The running site.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tidegate_sitekit::log_once;

use crate::extra_cpu::with_extra_cpu;
use crate::options::Options;
use crate::prepare::{Prepared, prepare};
use crate::store::sales;
use crate::web::{App, State, router};
use tidegate_sitekit::Result;
use tidegate_sitekit::database::Database;
use tidegate_sitekit::login_limit::LoginLimit;
use tidegate_sitekit::once::form;
use tidegate_sitekit::password::Hasher;
use tidegate_sitekit::server::{Peers, Service, background};
use tidegate_sitekit::site::{self, Place};
use tidegate_sitekit::when;

/// How often ended auctions are closed.
const CLOSING: Duration = Duration::from_secs(2);
/// How often the time is noted at which the site was running, in closings.
const NOTED: u32 = 10;

/// A running auction site.
pub type Site = site::Site<Prepared>;

/// Prepares the database, as [`prepare`] does, and starts the site.
///
/// # Errors
/// Those of [`prepare`]; the address is in use or not of this machine; a core
/// does not exist.
pub fn start(options: Options) -> Result<Site> {
    let prepared = prepare(&options)?;
    let takes = options.password_cost.measure();
    let extra_cpu_from = Instant::now() + options.extra_cpu_after;
    let login_limit = Arc::new(LoginLimit::new(Instant::now()));
    let trusted_proxies: Arc<[_]> = options.trusted_proxies.clone().into();
    let place = Place {
        listen: options.listen,
        cores: options.cores.as_deref(),
        trace: options.trace.as_deref(),
    };
    let location = prepared.location.clone();
    Site::start(place, &location, prepared, |prepared, core, database| {
        let state = State {
            database: database.clone(),
            hasher: Hasher::new(options.password_cost, takes)?,
            signer: prepared.signer.clone(),
            login_limit: Arc::clone(&login_limit),
            trusted_proxies: Arc::clone(&trusted_proxies),
            shelf: Mutex::default(),
        };
        Ok(move || Service {
            tls: None,
            peers: Peers::Public,
            background: (core == 0).then(|| background(close_auctions(database))),
            router: with_extra_cpu(router(App::new(state)), options.extra_cpu, extra_cpu_from),
        })
    })
}

/// Closes auctions as they end, forgets used forms as they expire, and notes that
/// the site is running.
async fn close_auctions(database: Database) {
    let mut turn: u32 = 0;
    loop {
        let closed = async {
            while sales::close_ended(&database, when::now()).await? > 0 {
                tokio::task::yield_now().await;
            }
            form::forget_expired(&database, when::now()).await?;
            if turn.is_multiple_of(NOTED) {
                sales::note_running(&database, when::now()).await?;
            }
            Result::<()>::Ok(())
        };
        if let Err(error) = closed.await {
            log_once!(warn by &error.to_string(), %error, "auctions could not be closed; trying again");
        }
        turn = turn.wrapping_add(1);
        tokio::time::sleep(CLOSING).await;
    }
}
