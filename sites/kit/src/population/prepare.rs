//! Makes the database of a site ready: an empty one is populated, one whose population was
//! interrupted is populated again, one of a version before is brought up to date, and what is
//! of something else is refused.

use std::fmt::Display;
use std::str::FromStr;

use super::lock::Lock;
use super::writer::Writer;
use crate::database::{Connection, Dialect, Location, notes, tables};
use crate::{Error, Result, when};

/// The tables of a site.
#[derive(Clone, Copy, Debug)]
pub struct Schema {
    /// The site, as a note in its database.
    pub kind: &'static str,
    /// Versions that are read: that of these tables, then those that
    /// [`Population::upgrade`] brings up to date.
    pub versions: &'static [&'static str],
    /// All tables, in an order in which they can be dropped.
    pub tables: &'static [&'static str],
    /// What creates them: see [`tables::create`].
    pub texts: &'static [&'static str],
    /// What creates their indexes, after the population: building an index is faster than
    /// updating it.
    pub indexes: &'static str,
    /// Tables whose rows are numbered by the database, except by a population.
    pub numbered: &'static [&'static str],
}

/// Size and seed of a population.
pub trait Plan: Copy + Display {
    /// What its size is counted in.
    type Size: Copy + Display + FromStr;
    /// Name of the size, as a note and as a flag.
    const SIZE: &'static str;
    /// That of a new population where the operator names none.
    const DEFAULT: Self;

    /// A plan of this size and seed.
    fn new(size: Self::Size, seed: u64) -> Self;

    /// Its size and seed.
    fn parts(&self) -> (Self::Size, u64);

    /// The plan that the operator asks for, as far as they do; the rest as it is here.
    fn with(&self, size: Option<Self::Size>, seed: Option<u64>) -> Self {
        let (own_size, own_seed) = self.parts();
        Self::new(size.unwrap_or(own_size), seed.unwrap_or(own_seed))
    }
}

/// How a site fills its database. The same plan gives the same population on every machine.
#[allow(async_fn_in_trait, reason = "a population is written by one thread")]
pub trait Population {
    /// Its size and seed.
    type Plan: Plan;
    /// The tables.
    const SCHEMA: Schema;
    /// Steps of the progress that are written in one transaction.
    const TRANSACTION: u64;

    /// How many steps the progress of a plan has.
    fn steps(plan: Self::Plan) -> u64;

    /// Fills the tables, which are empty and have no index yet.
    ///
    /// # Errors
    /// An error of the database, or no memory for a hash.
    async fn fill(&self, plan: Self::Plan, writer: &mut Writer<'_>) -> Result<()>;

    /// Creates indexes beside those of the schema.
    ///
    /// # Errors
    /// An error of the database.
    async fn index(_: &mut Connection) -> Result<()> {
        Ok(())
    }

    /// Brings the tables of a version before up to date, within a transaction.
    ///
    /// # Errors
    /// An error of the database.
    async fn upgrade(_: &mut Connection) -> Result<()> {
        Ok(())
    }
}

/// A database that is ready.
#[derive(Clone, Copy, Debug)]
pub struct Ready<P> {
    /// It was populated just now.
    pub created: bool,
    /// What it was populated with.
    pub plan: P,
}

/// Makes a database ready, with a progress bar on a terminal, under a lock, so that of several
/// processes started at once only one does. `size` and `seed` are what the operator asks for;
/// without them a database is taken as it is.
///
/// # Errors
/// Errors for the operator: the database is of something else or of another version, another
/// process is preparing it, or it was populated with another plan. An error of the database.
pub async fn prepare<P: Population>(
    connection: &mut Connection,
    location: &Location,
    population: &P,
    size: Option<<P::Plan as Plan>::Size>,
    seed: Option<u64>,
) -> Result<Ready<P::Plan>> {
    let place = location.to_string();
    let found = look::<P>(connection, &place).await?;
    if found != Found::Ready {
        let lock = Lock::take(connection, location).await?;
        // Another process may have done it meanwhile.
        match look::<P>(connection, &place).await? {
            Found::Ready => {}
            Found::Outdated => {
                tracing::info!(database = %place, "bringing it up to date");
                upgrade::<P>(connection).await?;
            }
            Found::Unpopulated => {
                let plan = P::Plan::DEFAULT.with(size, seed);
                tracing::info!(database = %place, %plan, "populating");
                populate(connection, population, plan, when::now()).await?;
            }
        }
        lock.release();
    }
    let plan: P::Plan = plan_of(connection).await?;
    let requested = plan.with(size, seed);
    if requested.to_string() != plan.to_string() {
        return Err(Error::Operator(format!(
            "{place}: was populated with {plan}, not with {requested} as requested; leave --{} and --seed out to use it, delete it to populate it again, or name another database",
            P::Plan::SIZE
        )));
    }
    Ok(Ready { created: found == Found::Unpopulated, plan })
}

/// Populates a database, in place of what an interrupted population has left in it. `now` is
/// the time of the population, seconds since 1970.
///
/// # Errors
/// An error of the database, or no memory for a hash.
pub async fn populate<P: Population>(
    connection: &mut Connection,
    population: &P,
    plan: P::Plan,
    now: i64,
) -> Result<()> {
    let schema = P::SCHEMA;
    tables::drop_all(connection, schema.tables).await?;
    let embedded = connection.dialect() == Dialect::Sqlite;
    if embedded {
        // Returns the space that an interrupted population had used.
        connection.script("VACUUM".into()).await?;
    }
    notes::create(connection, schema.kind, schema.versions[0]).await?;
    for text in schema.texts {
        tables::create(connection, text).await?;
    }
    if embedded {
        // An interrupted population is discarded, so no write has to be durable.
        connection.script("PRAGMA synchronous = OFF".into()).await?;
    }
    let mut writer = Writer::begin(connection, now, P::steps(plan), P::TRANSACTION).await?;
    population.fill(plan, &mut writer).await?;
    writer.commit().await?;
    writer.stage("building indexes");
    let connection = &mut *writer.connection;
    connection.script(schema.indexes.into()).await?;
    P::index(connection).await?;
    if !embedded {
        tables::continue_ids(connection, schema.numbered).await?;
        // SQLite is not asked to: every query has its index, and its plan must be the same
        // everywhere.
        connection.script("ANALYZE".into()).await?;
    }
    finish(connection, plan).await?;
    writer.end();
    Ok(())
}

/// Notes that the population is complete.
async fn finish<P: Plan>(connection: &mut Connection, plan: P) -> Result<()> {
    let (size, seed) = plan.parts();
    connection.run("BEGIN", &[]).await?;
    notes::write(connection, P::SIZE, &size.to_string()).await?;
    notes::write(connection, "seed", &seed.to_string()).await?;
    notes::write(connection, "state", "ready").await?;
    connection.run("COMMIT", &[]).await?;
    if connection.dialect() == Dialect::Sqlite {
        let durable = "PRAGMA synchronous = NORMAL; PRAGMA wal_checkpoint(TRUNCATE)";
        connection.script(durable.into()).await?;
    }
    Ok(())
}

/// The plan that a database was populated with.
async fn plan_of<P: Plan>(connection: &mut Connection) -> Result<P> {
    let size = notes::read(connection, P::SIZE).await?.and_then(|text| text.parse().ok());
    let seed = notes::read(connection, "seed").await?.and_then(|text| text.parse().ok());
    size.zip(seed).map(|(size, seed)| P::new(size, seed)).ok_or_else(|| {
        Error::Operator(format!(
            "the database lacks the {} and seed of its population; delete it and start again",
            P::SIZE
        ))
    })
}

/// State of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// No tables at all, or a population that was never finished.
    Unpopulated,
    /// Complete, of a version before.
    Outdated,
    /// Complete, of this version.
    Ready,
}

/// Reads the state of a database; nothing is changed.
async fn look<P: Population>(connection: &mut Connection, place: &str) -> Result<Found> {
    let Schema { kind, versions, .. } = P::SCHEMA;
    let Some(version) = notes::version(connection, place, kind, versions).await? else {
        return Ok(Found::Unpopulated);
    };
    Ok(match notes::read(connection, "state").await?.as_deref() {
        Some("ready") if version == versions[0] => Found::Ready,
        Some("ready") => Found::Outdated,
        _ => Found::Unpopulated,
    })
}

async fn upgrade<P: Population>(connection: &mut Connection) -> Result<()> {
    connection.run(connection.dialect().begin(), &[]).await?;
    P::upgrade(connection).await?;
    notes::write(connection, "version", P::SCHEMA.versions[0]).await?;
    Ok(connection.run("COMMIT", &[]).await?)
}
