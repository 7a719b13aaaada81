//! Opens the database, and populates an empty one.

use crate::options::Options;
use crate::population::Auction;
use tidegate_sitekit::database::{Connection, Location, notes};
use tidegate_sitekit::once::form;
use tidegate_sitekit::population::{Ready, prepare as prepare_database};
use tidegate_sitekit::token::Signer;
use tidegate_sitekit::when;
use tidegate_sitekit::{Result, values};

/// A site that was last noted as running so long ago was stopped, seconds.
const ABSENCE: i64 = 90;

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
    /// Number of synthetic people: `user1` and so on.
    pub users: i64,
    /// Signs the forms of this site, in every process that serves it.
    pub(super) signer: Signer,
}

/// Opens the database; an empty one is populated, with a progress bar on a
/// terminal, one whose population was interrupted is populated again, and one of
/// the version before is brought up to date.
///
/// # Errors
/// Errors for the operator: the database is missing, locked, not writable, of
/// another kind or version, or was populated with other options.
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
    let auction = Auction { cost: options.password_cost };
    let ready = prepare_database(connection, location, &auction, options.scale, options.seed);
    let Ready { created, plan } = ready.await?;
    resume(connection, when::now()).await?;
    let signer = form::signer(connection, location).await?;
    let (location, users) = (location.clone(), plan.users());
    Ok(Prepared { location, created, scale: plan.scale, seed: plan.seed, users, signer })
}

/// Auctions are paused while the site is stopped: their times move by its
/// length. Writing the time also shows whether the database is writable.
async fn resume(connection: &mut Connection, now: i64) -> Result<()> {
    let seen = notes::read(connection, "last_seen").await?;
    let away = seen.and_then(|seen| seen.parse::<i64>().ok()).map_or(0, |seen| now - seen);
    connection.run("BEGIN", &[]).await?;
    if away > ABSENCE {
        let sql = "UPDATE items SET start_date = start_date + $1, end_date = end_date + $1";
        connection.run(sql, &values![away]).await?;
    }
    notes::write(connection, "last_seen", &now.to_string()).await?;
    connection.run("COMMIT", &[]).await?;
    Ok(())
}
