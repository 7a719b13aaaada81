//! The running processor.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use axum::Router;
use tokio::sync::Notify;

use crate::app::{App, Shared};
use crate::background;
use crate::clock::Clock;
use crate::keys::Keys;
use crate::merchants::Merchants;
use crate::options::Options;
use crate::{address, api, checkout, schema};
use tidegate_sitekit::client::Http;
use tidegate_sitekit::database::{Connection, Database};
use tidegate_sitekit::login_limit::LoginLimit;
use tidegate_sitekit::server::{self, BackgroundTask, Peers, Server, Service, runtimes};
use tidegate_sitekit::{Error, Result, self_signed, tls};

/// A running processor.
#[derive(Debug)]
pub struct Site {
    server: Server,
    shared: Arc<Shared>,
    certificate: Option<std::path::PathBuf>,
}

/// A processor without a server: what one core serves, and what runs beside it.
pub struct Processor {
    /// The interface and the card form.
    pub router: Router,
    /// Webhooks, due payments and forgetting; one processor of a database needs it.
    pub background: BackgroundTask,
}

/// Prepares the database and starts the processor.
///
/// # Errors
/// A mistake in the options, the keys or certificates; the database is missing, locked or of
/// something else; the address is in use or not of this machine; a core does not exist.
pub fn start(options: &Options) -> Result<Site> {
    let location = options.location()?;
    let mut tls = options.tls.clone();
    let mut made = None;
    if let Some(tls) = &mut tls
        && tls.files.is_none()
    {
        let files = self_signed::kept(&options.data, "card-certificate", options.listen.ip())?;
        made = Some(files.0.clone());
        tls.files = Some(files);
    }
    let tls = tls.as_ref().map(tls::config).transpose()?;
    let shared = Arc::new(share(options, Clock::system())?);
    let (place, of) = (location.to_string(), Arc::clone(&shared));
    location.prepare_apart(async move |connection| make_tables(connection, &place, &of).await)?;
    let http = Http::new(options.webhook_ca.as_deref())?;
    let cores = options.cores.as_deref();
    let mut databases = Database::durable_for_cores(&location, runtimes(cores)?).into_iter();
    let scheme = if options.tls.is_some() { "https" } else { "http" };
    let listens_at = |address: SocketAddr| {
        let _ = shared.public_url.set(format!("{scheme}://{address}"));
    };
    // Before it serves: whoever knows the address may ask for a form at once, as after a crash.
    if options.listen.port() != 0 {
        listens_at(options.listen);
    }
    let server = Server::start(options.listen, cores, None, |core| {
        let database = databases.next().expect("one for each core");
        let app = App::new(database, Arc::clone(&shared));
        let (tls, http) = (tls.clone(), http.clone());
        Ok(move || Service {
            router: router(app.clone()),
            tls,
            peers: Peers::Public,
            background: (core == 0).then(|| server::background(background::run(app, http))),
        })
    })?;
    listens_at(server.address());
    Ok(Site { server, shared, certificate: made })
}

/// Prepares the database and makes a processor for a server of the caller's own, with a clock
/// of its own. `options.listen`, `tls` and `cores` are the caller's concern.
///
/// # Errors
/// As for [`start`].
pub async fn processor(options: &Options, clock: Clock) -> Result<Processor> {
    let location = options.location()?;
    let shared = Arc::new(share(options, clock)?);
    let place = location.to_string();
    location.prepare(async |connection| make_tables(connection, &place, &shared).await).await?;
    let database = Database::durable_for_cores(&location, 1).remove(0);
    let app = App::new(database, shared);
    let http = Http::new(options.webhook_ca.as_deref())?;
    let background = server::background(background::run(app.clone(), http));
    Ok(Processor { router: router(app), background })
}

impl Site {
    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Its URL, without a path.
    pub fn url(&self) -> &str {
        self.shared.public_url.get().map_or("", String::as_str)
    }

    /// The file of its self-signed certificate, where one was made: clients trust it.
    pub fn certificate(&self) -> Option<&std::path::Path> {
        self.certificate.as_deref()
    }

    /// Stops accepting, waits for the requests in flight (at most 5 s), and returns when
    /// every core has stopped.
    pub fn shutdown(self) {
        self.server.shutdown();
    }
}

fn router(app: App) -> Router {
    api::router().merge(checkout::router()).with_state(app)
}

fn share(options: &Options, clock: Clock) -> Result<Shared> {
    let keys = Keys::read(&options.keys_file())?;
    let merchants = Merchants::new(&keys, options)?;
    let public_url = OnceLock::new();
    if let Some(text) = &options.public_url {
        let url = address::read(text)
            .map_err(|rule| Error::Operator(format!("--public-url {text}: {rule}")))?;
        if url.path() != "/" || url.query().is_some() {
            return Err(Error::Operator(format!(
                "--public-url {text}: must have no path and no query; try {}",
                address::origin(&url)
            )));
        }
        let _ = public_url.set(address::origin(&url));
    }
    Ok(Shared {
        keys,
        merchants,
        clock,
        limits: options.limits,
        slow_card: options.slow_card,
        public_url,
        login_limit: LoginLimit::new(Instant::now()),
        changed: Notify::new(),
        due: Notify::new(),
    })
}

async fn make_tables(connection: &mut Connection, place: &str, shared: &Shared) -> Result<()> {
    schema::prepare(connection, place, shared.keys.merchants()).await
}
