//! Opens the database, and populates an empty one.

use super::options::Options;
use super::population::Brokerage;
use tidegate_sitekit::Result;
use tidegate_sitekit::database::Location;
use tidegate_sitekit::population::{Ready, prepare as prepare_database};

/// A database that is ready.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// Where the database is.
    pub location: Location,
    /// It was populated just now.
    pub created: bool,
    /// Customers of its population: `customer1` and so on.
    pub customers: i64,
    /// The seed of its population.
    pub seed: u64,
}

/// Opens the database; an empty one is populated, with a progress bar on a terminal, and one
/// whose population was interrupted is populated again.
///
/// # Errors
/// Errors for the operator: the database is missing, locked, not writable, of another kind
/// or version, or was populated with other options.
pub fn prepare(options: &Options) -> Result<Prepared> {
    let location = options.location()?;
    let population = Brokerage { cost: options.password_cost, full_hashes: options.full_hashes };
    let (customers, seed, place) = (options.customers, options.seed, location.clone());
    let Ready { created, plan } = location.prepare_apart(async move |connection| {
        prepare_database(connection, &place, &population, customers, seed).await
    })?;
    Ok(Prepared { location, created, customers: plan.customers, seed: plan.seed })
}
