//! Options of the data tier.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::tier::LinkOptions;
use tidegate_sitekit::database::Location;
use tidegate_sitekit::password::PasswordCost;
use tidegate_sitekit::{Error, Result};

/// Options of the data tier.
#[derive(Clone, Debug)]
pub struct Options {
    /// Address to listen on; port 0 takes a free one.
    pub listen: SocketAddr,
    /// URL of the database; without one, a SQLite file in `data`.
    pub database: Option<String>,
    /// Folder of the SQLite file; created if it is missing.
    pub data: PathBuf,
    /// Customers of a new population, 10 to 100,000. `None` takes the database as it is, or
    /// [`Options::CUSTOMERS`] for a new one.
    pub customers: Option<i64>,
    /// Seed of the population. `None` takes the database as it is, or 1.
    pub seed: Option<u64>,
    /// Cost of the password hashes of a new population.
    pub password_cost: PasswordCost,
    /// Whether each of them is made at this cost however long that takes. Else they are quick
    /// hashes where it would take more than 8 s, and the first login of each customer replaces
    /// one.
    pub full_hashes: bool,
    /// The link on which the application tier calls.
    pub link: LinkOptions,
    /// Addresses under which the tier before calls this one, where they are others than the
    /// one that it listens on: for sealed messages.
    pub known_as: Vec<String>,
    /// The cores to run on, one runtime pinned to each; without, one runtime per processor
    /// that this process may use, not pinned.
    pub cores: Option<Vec<usize>>,
}

impl Options {
    /// Default number of customers of a new population.
    pub const CUSTOMERS: i64 = 1000;
    /// Default seed of a new population.
    pub const SEED: u64 = 1;

    /// Where the database is.
    pub(super) fn location(&self) -> Result<Location> {
        if let Some(customers) = self.customers
            && !(10..=100_000).contains(&customers)
        {
            return Err(Error::Operator(format!(
                "customers {customers}: must be 10 to 100000; try {}",
                Self::CUSTOMERS
            )));
        }
        Location::of_site(self.database.as_deref(), &self.data, "brokerage.db")
    }
}
