//! Opens the database, and populates an empty one.

use super::options::Options;
use super::population::{self, Plan};
use super::schema::{self, Found};
use tidegate_sitekit::database::{Connection, Location};
use tidegate_sitekit::password::PasswordCost;
use tidegate_sitekit::population::{Hashing, Lock};
use tidegate_sitekit::{Error, Result, when};

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
        let hashing = hashing(options.password_cost, options.full_hashes, plan.customers);
        make(connection, location, plan, hashing).await?;
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

/// How the passwords of a new population are hashed.
fn hashing(cost: PasswordCost, in_full: bool, customers: i64) -> Hashing {
    let customers = usize::try_from(customers).unwrap_or(usize::MAX);
    if in_full { Hashing::Full(cost) } else { Hashing::of(cost, customers) }
}

/// Populates a database under a lock, so that of two processes started at once only one
/// does.
async fn make(
    connection: &mut Connection,
    location: &Location,
    plan: Plan,
    hashing: Hashing,
) -> Result<()> {
    let lock = Lock::take(connection, location).await?;
    // Another process may have done it meanwhile.
    if schema::look(connection, &location.to_string()).await? == Found::Unpopulated {
        tracing::info!(database = %location, %plan, "populating");
        population::populate(connection, plan, hashing, when::now()).await?;
    }
    lock.release();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_of_a_large_population_are_quick_hashes_unless_full_ones_are_asked_for() {
        let cost = PasswordCost::LIGHT;
        assert_eq!(hashing(cost, false, i64::MAX), Hashing::Quick);
        assert_eq!(hashing(cost, true, i64::MAX), Hashing::Full(cost));
    }
}
