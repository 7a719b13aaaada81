//! Opens the database, and populates an empty one.

use crate::options::{Options, Size};
use crate::population::Shop;
use crate::store::products;
use tidegate_sitekit::database::{Connection, Location, notes};
use tidegate_sitekit::money::Cents;
use tidegate_sitekit::once::form;
use tidegate_sitekit::population::{Ready, prepare as prepare_database};
use tidegate_sitekit::token::Signer;
use tidegate_sitekit::{Error, Result, when};

/// A database that is ready.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// Where the database is.
    pub location: Location,
    /// It was populated just now.
    pub created: bool,
    /// The size of its population.
    pub size: Size,
    /// The seed of its population.
    pub seed: u64,
    /// Number of synthetic customers: `user1@example.com` and so on.
    pub customers: i64,
    /// Number of products.
    pub products: i64,
    /// Signs the forms of this shop, in every process that serves it.
    pub(super) signer: Signer,
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
    let shop = Shop { cost: options.password_cost };
    let ready = prepare_database(connection, location, &shop, options.size, options.seed);
    let Ready { created, plan } = ready.await?;
    // Writing also shows whether the database is writable.
    notes::write(connection, "last_start", &when::now().to_string()).await?;
    let signer = form::signer(connection, location).await?;
    let (location, size, seed) = (location.clone(), plan.size, plan.seed);
    let (customers, products) = (plan.customers(), plan.products());
    Ok(Prepared { location, created, size, seed, customers, products, signer })
}

/// Changes the list price of a product, also while the shop is running: what it has kept of
/// pages is made anew within a second.
///
/// # Errors
/// There is no such product, or the price is not 0.01 to [`Cents::MOST`]: errors for the
/// operator. Those of [`prepare`].
pub fn set_price(options: &Options, product: i64, price: Cents) -> Result<()> {
    if !(1..=Cents::MOST.0).contains(&price.0) {
        return Err(Error::Operator(format!(
            "the price {price}: must be $0.01 to {}; try 12.50",
            Cents::MOST
        )));
    }
    let prepared = prepare(options)?;
    let most = prepared.products;
    prepared.location.prepare_apart(async move |connection| {
        if products::set_price(connection, product, price).await? {
            return Ok(());
        }
        Err(Error::Operator(format!(
            "product {product}: there is none; they are numbered 1 to {most}"
        )))
    })
}
