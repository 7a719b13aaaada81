//! Opens the database, and populates an empty one.

use super::options::Options;
use super::population::{self, Plan};
use super::schema::{self, Found};
use crate::database::{Connection, Location};
use crate::password::PasswordCost;
use crate::population::Lock;
use crate::{Error, Result, when};

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
    let options = options.clone();
    let place = location.clone();
    location.prepare_apart(async move |connection| with(connection, &place, &options).await)
}

async fn with(
    connection: &mut Connection,
    location: &Location,
    options: &Options,
) -> Result<Prepared> {
    let place = location.to_string();
    let created = schema::look(connection, &place).await? == Found::Unpopulated;
    if created {
        let plan = Plan {
            customers: options.customers.unwrap_or(Options::CUSTOMERS),
            seed: options.seed.unwrap_or(Options::SEED),
        };
        make(connection, location, plan, options.password_cost).await?;
    }
    let plan = population::plan_of(connection).await?;
    let customers = options.customers.unwrap_or(plan.customers);
    let seed = options.seed.unwrap_or(plan.seed);
    if (customers, seed) != (plan.customers, plan.seed) {
        let requested = Plan { customers, seed };
        return Err(Error::Operator(format!(
            "{place}: was populated with {plan}, not with {requested} as requested; leave --customers and --seed out to use it, delete it to populate it again, or name another database"
        )));
    }
    Ok(Prepared { location: location.clone(), created, customers, seed })
}

/// Populates a database under a lock, so that of two processes started at once only one
/// does.
async fn make(
    connection: &mut Connection,
    location: &Location,
    plan: Plan,
    cost: PasswordCost,
) -> Result<()> {
    let lock = Lock::take(connection, location).await?;
    // Another process may have done it meanwhile.
    if schema::look(connection, &location.to_string()).await? == Found::Unpopulated {
        tracing::info!(database = %location, %plan, "populating");
        population::populate(connection, plan, cost, when::now()).await?;
    }
    lock.release();
    Ok(())
}
