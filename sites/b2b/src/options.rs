//! Options of the services.

use std::net::SocketAddr;
use std::path::PathBuf;

use tidegate_sitekit::database::Location;
use tidegate_sitekit::server::runtimes;
use tidegate_sitekit::tls::Tls;
use tidegate_sitekit::{Error, Result};

use crate::fulfil::FulfilOptions;

/// Options of the services. `Default` is a small population on this machine, over HTTP, without
/// partners.
#[derive(Clone, Debug)]
pub struct Options {
    /// Address to listen on; port 0 takes a free one.
    pub listen: SocketAddr,
    /// URL of the database; without one, a SQLite file in `data`.
    pub database: Option<String>,
    /// Folder of the SQLite file; created if it is missing.
    pub data: PathBuf,
    /// Size of the population: 1 is 1,000 businesses and 10,000 items. `None` takes the database
    /// as it is, or [`Options::SCALE`] for a new one.
    pub scale: Option<f64>,
    /// Seed of the population. `None` takes the database as it is, or 1.
    pub seed: Option<u64>,
    /// TLS of the connections; without, plain HTTP.
    pub tls: Option<Tls>,
    /// URL under which businesses reach the services, for their descriptions; without one, that
    /// of the address.
    pub public_url: Option<String>,
    /// What follows from an order.
    pub fulfil: FulfilOptions,
    /// The cores to run on, one runtime pinned to each; without, one runtime per processor that
    /// this process may use, not pinned.
    pub cores: Option<Vec<usize>>,
    /// File for a trace of what every connection does; none by default.
    pub trace: Option<PathBuf>,
}

impl Options {
    /// Default scale of a new population.
    pub const SCALE: f64 = 1.0;
    /// Default seed of a new population.
    pub const SEED: u64 = 1;

    /// Where the database is.
    pub(super) fn location(&self) -> Result<Location> {
        runtimes(self.cores.as_deref())?;
        if let Some(scale) = self.scale
            && !(0.01..=100.0).contains(&scale)
        {
            return Err(Error::Operator(format!(
                "scale {scale}: must be 0.01 to 100 (1 is 1,000 businesses); try {}",
                Self::SCALE
            )));
        }
        Location::of_site(self.database.as_deref(), &self.data, "b2b.db")
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            database: None,
            data: PathBuf::from("data"),
            scale: None,
            seed: None,
            tls: None,
            public_url: None,
            fulfil: FulfilOptions::default(),
            cores: None,
            trace: None,
        }
    }
}
