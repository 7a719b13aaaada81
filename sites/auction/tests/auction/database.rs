//! A site for one test, with a small population, and a look behind its pages.

use std::path::Path;

use tempfile::TempDir;
use tidegate_auction::{Options, Site, start};
use tidegate_sitekit::database::{Connection, Dialect, Location, Record};
use tidegate_sitekit::password::PasswordCost;

use crate::browser::Browser;
use crate::postgres;

/// The smallest population: 500 people.
pub const SCALE: f64 = 0.0005;

/// A running site, stopped at the end of its test.
pub struct TestSite {
    pub options: Options,
    pub browser: Browser,
    location: Location,
    site: Option<Site>,
    _folder: TempDir,
}

impl TestSite {
    pub fn on_sqlite() -> Self {
        Self::new(None)
    }

    pub fn on_postgres() -> Self {
        Self::new(Some(postgres::new_database()))
    }

    fn new(database: Option<String>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let options = Options { database, ..options(folder.path()) };
        let site = start(options.clone()).expect("the site starts");
        let browser = Browser::new(site.address());
        let location = site.prepared().location.clone();
        Self { options, browser, location, site: Some(site), _folder: folder }
    }

    pub fn dialect(&self) -> Dialect {
        self.location.dialect()
    }

    /// All rows of a query, past the site.
    pub fn query<R: Record>(&self, sql: &'static str) -> Vec<R> {
        block_on(async {
            let mut connection = self.location.connect().await.expect("the database opens");
            let rows = connection.all(sql, &[]).await.expect("the query is right");
            connection.close().await;
            rows
        })
    }

    /// The one number that a query gives.
    pub fn number(&self, sql: &'static str) -> i64 {
        self.query(sql)[0]
    }

    /// Runs a script, past the site.
    pub fn run(&self, sql: &str) {
        block_on(run(&self.location, sql));
    }

    /// Stops the site; its database stays.
    pub fn stop(&mut self) {
        if let Some(site) = self.site.take() {
            site.shutdown();
        }
    }
}

impl Drop for TestSite {
    fn drop(&mut self) {
        self.stop();
    }
}

async fn run(location: &Location, sql: &str) {
    let mut connection: Connection = location.connect().await.expect("the database opens");
    connection.script(sql.into()).await.expect("the script is right");
    connection.close().await;
}

pub fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(work)
}

/// Options of a small site in this folder, with two runtimes, so that what they
/// share is tested.
pub fn options(folder: &Path) -> Options {
    let core = tidegate_sitekit::server::available_cores()[0];
    Options {
        listen: "127.0.0.1:0".parse().expect("an address"),
        data: folder.to_owned(),
        scale: Some(SCALE),
        password_cost: PasswordCost::LIGHT,
        cores: Some(vec![core, core]),
        ..Options::default()
    }
}
