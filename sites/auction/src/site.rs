//! The running site.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tidegate_sitekit::log_once;

use tidegate_trace::Tracing;

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
use tidegate_sitekit::server::{Peers, Server, Service, background, begin_trace, runtimes};
use tidegate_sitekit::when;

/// How often ended auctions are closed.
const CLOSING: Duration = Duration::from_secs(2);
/// How often the time is noted at which the site was running, in closings.
const NOTED: u32 = 10;

/// A running auction site.
#[derive(Debug)]
pub struct Site {
    server: Server,
    prepared: Prepared,
    tracing: Option<Tracing>,
}

/// Prepares the database, as [`prepare`] does, and starts the site.
///
/// # Errors
/// Those of [`prepare`]; the address is in use or not of this machine; a core
/// does not exist.
pub fn start(options: Options) -> Result<Site> {
    let prepared = prepare(&options)?;
    let cores = options.cores.as_deref();
    let mut databases = Database::for_cores(&prepared.location, runtimes(cores)?).into_iter();
    let takes = options.password_cost.measure();
    let extra_cpu_from = Instant::now() + options.extra_cpu_after;
    let login_limit = Arc::new(LoginLimit::new(Instant::now()));
    let trusted_proxies: Arc<[_]> = options.trusted_proxies.clone().into();
    let tracing = options.trace.as_deref().map(begin_trace).transpose()?;
    let handle = tracing.as_ref().map(Tracing::handle);
    let server = Server::start(options.listen, cores, handle.as_ref(), |core| {
        let database = databases.next().expect("one for each core");
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

    /// Stops accepting, waits for the requests in flight (at most 5 s), and
    /// returns when every core has stopped and the trace is written.
    pub fn shutdown(self) {
        self.server.shutdown();
        if let Some(tracing) = self.tracing {
            tracing::info!("{}", tracing.finish());
        }
    }
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
