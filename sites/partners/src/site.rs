//! The running partners.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tidegate_sitekit::database::{Database, Location};
use tidegate_sitekit::link::{self, Files, Protection, ServerSide, Spec, authority};
use tidegate_sitekit::server::{Peers, Server, Service, background, runtimes};
use tidegate_sitekit::{Result, log_once, when};
use tokio::time::sleep;

use crate::ledger;
use crate::options::Options;
use crate::service::Handler;

/// The partners' name in certificates.
pub const PARTNERS: &str = "partners";
/// Who has a certificate: the partners, and the business that calls them.
pub const TIERS: [&str; 2] = [PARTNERS, BUSINESS];
/// The name of the business in certificates.
pub(crate) const BUSINESS: &str = "b2b";
/// How the link is secured.
pub(crate) const LINK: Spec = Spec::persistent(Protection::Tls);
/// How long an answer is kept: longer than anybody repeats a request.
const KEPT: Duration = Duration::from_secs(7 * 24 * 3600);
/// How often what is older is forgotten.
const FORGETTING: Duration = Duration::from_secs(60);

/// Running partners.
#[derive(Debug)]
pub struct Site {
    server: Server,
    certificates: PathBuf,
}

/// Prepares database and certificates, and starts the partners.
///
/// # Errors
/// Errors for the operator: the certificates cannot be used or made; the database is of something
/// else; the address is in use or not of this machine; a core does not exist.
pub fn start(options: Options) -> Result<Site> {
    let location = Location::of_site(None, &options.data, "partners.db")?;
    let certificates = options.certificates();
    if options.certificates.is_none() {
        authority::keep(&certificates, &TIERS, when::now())?;
    }
    let files = Files { certificates: Some(certificates.clone()), keys: None };
    let side = ServerSide::new(LINK, &files, PARTNERS, BUSINESS)?;
    let place = location.to_string();
    location.prepare_apart(async move |connection| ledger::prepare(connection, &place).await)?;
    let cores = options.cores.as_deref();
    let mut databases = Database::for_cores(&location, runtimes(cores)?).into_iter();
    let shared = Arc::new(options.clone());
    let server = Server::start(options.listen, cores, None, |core| {
        let database = databases.next().expect("one for each core");
        let (side, options) = (side.clone(), Arc::clone(&shared));
        Ok(move || Service {
            tls: side.tls(),
            peers: Peers::Tiers,
            background: (core == 0).then(|| background(forget(database.clone()))),
            router: link::router(&side, Handler { database, options }),
        })
    })?;
    Ok(Site { server, certificates })
}

async fn forget(database: Database) {
    loop {
        if let Err(error) = ledger::forget(&database, when::now() - KEPT.as_secs() as i64).await {
            log_once!(warn by &error.to_string(), %error, "old answers could not be forgotten");
        }
        sleep(FORGETTING).await;
    }
}

impl Site {
    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// The folder of its certificates, in which that of the business is as well.
    pub fn certificates(&self) -> &Path {
        &self.certificates
    }

    /// Stops accepting, waits for the requests in flight (at most 5 s), and returns when every
    /// core has stopped.
    pub fn shutdown(self) {
        self.server.shutdown();
    }
}
