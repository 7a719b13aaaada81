//! Customers with an account.

use tidegate_sitekit::database::{Database, Transaction};
use tidegate_sitekit::once::form::{self, Accepted, Form, Receipt};
use tidegate_sitekit::{Problem, Result, record, values};

/// A customer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Customer {
    /// Their id.
    pub id: i64,
    /// Mail address, unique.
    pub email: String,
    /// Where their orders go.
    pub address: Address,
}

/// Where an order goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Address {
    /// First and last name.
    pub name: String,
    /// Street and number.
    pub street: String,
    /// City.
    pub city: String,
    /// Postcode: five digits.
    pub postcode: String,
}

record!(Address { name, street, city, postcode });
record!(Customer { id, email, address });

const BY_ID: &str = "SELECT id, email, name, street, city, postcode FROM customers WHERE id = $1";

/// The customer of this id.
pub async fn by_id(database: &Database, id: i64) -> Result<Option<Customer>> {
    database.first(BY_ID, &values![id]).await
}

/// Id and password hash of the customer with this mail address.
pub async fn account(database: &Database, email: &str) -> Result<Option<(i64, String)>> {
    let sql = "SELECT id, password FROM customers WHERE email = $1";
    database.first(sql, &values![email]).await
}

/// Replaces the hash of a password, unless it has changed meanwhile.
pub async fn renew_password(database: &Database, id: i64, old: &str, new: &str) -> Result<()> {
    let sql = "UPDATE customers SET password = $1 WHERE id = $2 AND password = $3";
    database.run(sql, &values![new, id, old]).await
}

/// Opens an account. A form sent again opens one.
///
/// # Errors
/// Somebody has an account with this mail address: an error of the client.
pub async fn register(
    database: &Database,
    form: Form,
    email: &str,
    address: &Address,
    password: &str,
    now: i64,
) -> Result<Accepted<Customer>> {
    let mut transaction = database.begin().await?;
    let opened = open(&mut transaction, email, address, password, now).await;
    form::accept(database, transaction, form, opened, BY_ID, |customer, _| customer).await
}

async fn open(
    transaction: &mut Transaction,
    email: &str,
    address: &Address,
    password: &str,
    now: i64,
) -> Result<(Customer, Option<Receipt>)> {
    let sql = "INSERT INTO customers (email, name, password, street, city, postcode, created)
               VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (email) DO NOTHING RETURNING id";
    let Address { name, street, city, postcode } = address;
    let values = values![email, name, password, street, city, postcode, now];
    let Some(id) = transaction.first::<i64>(sql, &values).await? else {
        let why = format!("There is an account with {email} already.");
        let remedy = "Sign in with it, or use another mail address.";
        return Err(Problem::new(409, "This mail address is taken", why, remedy).into());
    };
    let customer = Customer { id, email: email.into(), address: address.clone() };
    Ok((customer, Some(Receipt { row: id, figure: 0 })))
}
