//! Passwords of customers who are signed in.

use super::sessions;
use crate::brokerage::error::Result;
use crate::brokerage::protocol::back::{Account, ReplacePassword};
use crate::brokerage::protocol::{Problem, SessionKey};
use crate::database::{Database, Fields, Record};

impl Record for Account {
    fn read(fields: &impl Fields) -> crate::database::Result<Self> {
        Ok(Self { user: fields.text(0)?, hash: fields.text(1)? })
    }
}

/// Who has a session.
///
/// # Errors
/// There is none, or it is over; an error of the database.
pub async fn account(database: &Database, session: &SessionKey, now: i64) -> Result<Account> {
    let customer = sessions::customer(database, session, now).await?;
    let sql = "SELECT user_name, password FROM customers WHERE id = $1";
    let found = database.first(sql, &[customer.into()]).await?;
    Ok(found.ok_or(crate::database::Error::NoRow)?)
}

/// Replaces the password, ends all sessions of the customer and opens one, in one
/// transaction. Asked for again, it changes nothing more.
///
/// # Errors
/// The session is over, or the password has changed meanwhile; an error of the database, and
/// nothing was changed.
pub async fn replace(database: &Database, request: &ReplacePassword, now: i64) -> Result<()> {
    // The name of the new session is nobody else's: it was done, and is asked for again.
    let done = "SELECT customer FROM sessions WHERE session = $1";
    if database.first::<i64>(done, &[request.next.as_str().into()]).await?.is_some() {
        return Ok(());
    }
    let customer = sessions::customer(database, &request.session, now).await?;
    let mut transaction = database.begin().await?;
    let sql = "UPDATE customers SET password = $1 WHERE id = $2 AND password = $3 RETURNING id";
    let values = [(&request.new).into(), customer.into(), (&request.old).into()];
    if transaction.first::<i64>(sql, &values).await?.is_none() {
        transaction.rollback().await?;
        let why = "It was changed elsewhere at the same moment.";
        let remedy = "Sign in with the password that you chose there.";
        return Err(Problem::new(409, "The password was not changed", why, remedy).into());
    }
    transaction.run("DELETE FROM sessions WHERE customer = $1", &[customer.into()]).await?;
    sessions::insert(&mut transaction, customer, &request.next, now).await?;
    Ok(transaction.commit().await?)
}
