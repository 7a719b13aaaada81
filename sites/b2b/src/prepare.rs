//! Opens the database, and populates an empty one.

use tidegate_sitekit::database::{Connection, Location, notes};
use tidegate_sitekit::population::{Ready, prepare as prepare_database};
use tidegate_sitekit::{Result, random, when};

use crate::options::Options;
use crate::population::Businesses;

/// A database that is ready.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// Where the database is.
    pub location: Location,
    /// It was populated just now.
    pub created: bool,
    /// The scale of its population.
    pub scale: f64,
    /// The seed of its population.
    pub seed: u64,
    /// Number of synthetic businesses.
    pub customers: i64,
    /// Number of items.
    pub items: i64,
    /// Names this database to partners and to NATS.
    pub(super) id: String,
}

/// Opens the database; an empty one is populated, with a progress bar on a terminal, and one
/// whose population was interrupted is populated again.
///
/// # Errors
/// Errors for the operator: the database is missing, locked, not writable, of another kind or
/// version, or was populated with other options.
pub fn prepare(options: &Options) -> Result<Prepared> {
    let location = options.location()?;
    let options = options.clone();
    let place = location.clone();
    location.prepare_apart(async move |connection| with(connection, &place, &options).await)
}

async fn with(
    connection: &mut Connection,
    location: &Location,
    options: &Options,
) -> Result<Prepared> {
    let ready = prepare_database(connection, location, &Businesses, options.scale, options.seed);
    let Ready { created, plan } = ready.await?;
    // Writing also shows whether the database is writable.
    notes::write(connection, "last_start", &when::now().to_string()).await?;
    let new = random::bytes::<8>()?.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let id = notes::read_or(connection, "id", &new).await?;
    let (location, scale, seed) = (location.clone(), plan.scale, plan.seed);
    let (customers, items) = (plan.customers(), plan.items());
    Ok(Prepared { location, created, scale, seed, customers, items, id })
}
