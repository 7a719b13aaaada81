//! Passwords of customers who are signed in.

use super::sessions;
use crate::error::{Error, Result};
use crate::protocol::back::{Account, ReplacePassword};
use crate::protocol::{Problem, SessionKey};
use tidegate_sitekit::database::Database;
use tidegate_sitekit::record;
use tidegate_sitekit::values;

record!(Account { user, hash });

/// Who has a session.
///
/// # Errors
/// There is none, or it is over; an error of the database.
pub async fn account(database: &Database, session: &SessionKey, now: i64) -> Result<Account> {
    let customer = sessions::customer(database, session, now).await?;
    let sql = "SELECT user_name, password FROM customers WHERE id = $1";
    let found = database.first(sql, &values![customer]).await?;
    Ok(found.ok_or(tidegate_sitekit::database::Error::NoRow)?)
}

/// Replaces the password, ends all sessions of the customer and opens one, in one
/// transaction. Asked for again, also at the same time, it changes nothing more.
///
/// # Errors
/// The session is over, or the password has changed meanwhile; an error of the database, and
/// nothing was changed.
pub async fn replace(database: &Database, request: &ReplacePassword, now: i64) -> Result<()> {
    if is_done(database, request).await? {
        return Ok(());
    }
    let replaced = replace_now(database, request, now).await;
    // The same request may have been carried out since it was looked for.
    if matches!(replaced, Err(Error::Refused(_))) && is_done(database, request).await? {
        return Ok(());
    }
    replaced
}

/// Whether the session that a change opens is there. Its name is nobody else's.
async fn is_done(database: &Database, request: &ReplacePassword) -> Result<bool> {
    let sql = "SELECT customer FROM sessions WHERE session = $1";
    Ok(database.first::<i64>(sql, &values![request.next.as_str()]).await?.is_some())
}

async fn replace_now(database: &Database, request: &ReplacePassword, now: i64) -> Result<()> {
    let customer = sessions::customer(database, &request.session, now).await?;
    let mut transaction = database.begin().await?;
    let sql = "UPDATE customers SET password = $1 WHERE id = $2 AND password = $3 RETURNING id";
    let values = values![request.new, customer, request.old];
    if transaction.first::<i64>(sql, &values).await?.is_none() {
        transaction.rollback().await?;
        let why = "It was changed elsewhere at the same moment.";
        let remedy = "Sign in with the password that you chose there.";
        return Err(Problem::new(409, "The password was not changed", why, remedy).into());
    }
    transaction.run("DELETE FROM sessions WHERE customer = $1", &values![customer]).await?;
    sessions::insert(&mut transaction, customer, &request.next, now).await?;
    Ok(transaction.commit().await?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::store::tests::World;
    use crate::protocol::SessionToken;

    const NOW: i64 = 1_700_000_000;

    #[tokio::test]
    async fn one_change_asked_for_twice_at_once_is_made_and_both_are_told_so() {
        let world = World::new().await;
        let session = world.sessions[0].clone();
        let old = account(&world.database, &session, NOW).await.unwrap().hash;
        let next = SessionToken::random().unwrap().key();
        let request = ReplacePassword { session, next, old, new: "new".into() };
        let ask = || replace(&world.database, &request, NOW);
        let (one, other) = tokio::join!(ask(), ask());
        assert!(one.is_ok() && other.is_ok(), "{one:?}, {other:?}");
        let changed = account(&world.database, &request.next, NOW).await.unwrap();
        assert_eq!(changed.hash, "new");
        let sessions = "SELECT COUNT(*) FROM sessions WHERE customer = 1";
        assert_eq!(world.number(sessions).await, 1);
    }
}
