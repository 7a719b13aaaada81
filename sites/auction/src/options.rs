//! Options of the auction site.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use tidegate_sitekit::database::Location;
use tidegate_sitekit::password::PasswordCost;
use tidegate_sitekit::server::runtimes;
use tidegate_sitekit::{Error, Result};

/// Options of the auction site. `Default` is a small site on this machine.
#[derive(Clone, Debug)]
pub struct Options {
    /// Address to listen on; port 0 takes a free one.
    pub listen: SocketAddr,
    /// URL of the database; without one, a SQLite file in `data`.
    pub database: Option<String>,
    /// Folder of the SQLite file; created if it is missing.
    pub data: PathBuf,
    /// Size of the population, 0.0005 to 10: 1.0 is a million users and 32,667
    /// active items. `None` takes the database as it is, or [`Options::SCALE`]
    /// for a new one.
    pub scale: Option<f64>,
    /// Seed of the population. `None` takes the database as it is, or 1.
    pub seed: Option<u64>,
    /// Cost of a password hash.
    pub password_cost: PasswordCost,
    /// CPU time, at most 1 s, added to every request but that of the front page,
    /// to emulate a costlier site.
    pub extra_cpu: Duration,
    /// How long after the start `extra_cpu` applies.
    pub extra_cpu_after: Duration,
    /// Addresses of proxies, beside those of this machine, whose `X-Forwarded-For`
    /// names the customer.
    pub trusted_proxies: Vec<IpAddr>,
    /// The cores to run on, one runtime pinned to each; without, one runtime per
    /// processor that this process may use, not pinned.
    pub cores: Option<Vec<usize>>,
    /// File for a trace of what every connection does; none by default.
    pub trace: Option<PathBuf>,
}

impl Options {
    /// Default scale of a new population: 10,000 users.
    pub const SCALE: f64 = 0.01;
    /// Default seed of a new population.
    pub const SEED: u64 = 1;

    /// Most CPU time added to a request.
    pub const MOST_EXTRA_CPU: Duration = Duration::from_secs(1);

    /// Where the database is.
    pub(super) fn location(&self) -> Result<Location> {
        if let Some(scale) = self.scale
            && !(0.0005..=10.0).contains(&scale)
        {
            return Err(Error::Operator(format!(
                "scale {scale}: must be 0.0005 to 10 (1 is a million users); try {}",
                Self::SCALE
            )));
        }
        runtimes(self.cores.as_deref())?;
        if self.extra_cpu > Self::MOST_EXTRA_CPU {
            return Err(Error::Operator(format!(
                "extra CPU time of {:?} a request: must be at most {:?}; try 1 ms",
                self.extra_cpu,
                Self::MOST_EXTRA_CPU
            )));
        }
        Location::of_site(self.database.as_deref(), &self.data, "auction.db")
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
            password_cost: PasswordCost::default(),
            extra_cpu: Duration::ZERO,
            extra_cpu_after: Duration::ZERO,
            trusted_proxies: Vec::new(),
            cores: None,
            trace: None,
        }
    }
}
