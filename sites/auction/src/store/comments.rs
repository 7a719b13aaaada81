//! Comments of people on each other.

use tidegate_sitekit::database::{self, Database, Transaction};
use tidegate_sitekit::once::form::{self, Accepted, Form, Receipt};
use tidegate_sitekit::record;
use tidegate_sitekit::{Problem, Result, values};

/// Comments on one page: each may be long.
pub const COMMENTS_PAGE: i64 = 5;

/// A new comment.
#[derive(Clone, Copy, Debug)]
pub struct NewComment<'a> {
    /// Who writes.
    pub from: i64,
    /// About whom.
    pub to: i64,
    /// After which item.
    pub item: i64,
    /// -5 to 5.
    pub rating: i64,
    /// The text.
    pub comment: &'a str,
    /// Now.
    pub date: i64,
}

/// A comment that was stored.
#[derive(Clone, Debug)]
pub struct Added {
    /// Nickname of the person that it is about.
    pub nickname: String,
    /// -5 to 5.
    pub rating: i64,
    /// When.
    pub date: i64,
    /// The text.
    pub comment: String,
}

record!(Added { nickname, rating, date, comment });

/// A comment as it is shown.
#[derive(Clone, Debug)]
pub struct Comment {
    /// Who wrote it.
    pub from: i64,
    /// Their nickname.
    pub nickname: String,
    /// After which item.
    pub item: i64,
    /// -5 to 5.
    pub rating: i64,
    /// When.
    pub date: i64,
    /// The text.
    pub comment: String,
}

record!(Comment { from, nickname, item, rating, date, comment });

pub(crate) const ABOUT: &str =
    "SELECT c.from_user_id, u.nickname, c.item_id, c.rating, c.date, c.comment
     FROM comments c JOIN users u ON u.id = c.from_user_id
     WHERE c.to_user_id = $1 ORDER BY c.id DESC LIMIT 5 OFFSET $2";

pub(crate) const BY_ID: &str = "SELECT u.nickname, c.rating, c.date, c.comment
     FROM comments c JOIN users u ON u.id = c.to_user_id WHERE c.id = $1";

/// A page of the comments about a person, latest first; `from` of them are skipped.
pub async fn about(database: &Database, user: i64, from: i64) -> Result<Vec<Comment>> {
    database.all(ABOUT, &values![user, from]).await
}

/// Stores a comment and updates the person's rating and number of comments in
/// one transaction. A form sent again is stored once.
///
/// # Errors
/// There is no such person: an error of the client.
pub async fn add(database: &Database, form: Form, new: NewComment<'_>) -> Result<Accepted<Added>> {
    let mut transaction = database.begin().await?;
    let added = store(&mut transaction, new).await;
    form::accept(database, transaction, form, added, BY_ID, |added, _| added).await
}

async fn store(
    transaction: &mut Transaction,
    new: NewComment<'_>,
) -> Result<(Added, Option<Receipt>)> {
    let NewComment { from, to, item, rating, comment, date } = new;
    let sql = "UPDATE users SET rating = rating + $1, nb_of_comments = nb_of_comments + 1
               WHERE id = $2 RETURNING nickname";
    let nickname = transaction.first(sql, &values![rating, to]).await?;
    let nickname = nickname.ok_or_else(|| {
        let remedy = "Go back to the item and follow its links.";
        Problem::new(404, "There is no such person", "Nobody has this number.", remedy)
    })?;
    let sql = "INSERT INTO comments (from_user_id, to_user_id, item_id, rating, date, comment)
               VALUES ($1, $2, $3, $4, $5, $6) RETURNING id";
    let values = values![from, to, item, rating, date, comment];
    let row = transaction.first(sql, &values).await?.ok_or(database::Error::NoRow)?;
    let added = Added { nickname, rating, date, comment: comment.into() };
    Ok((added, Some(Receipt { row, figure: 0 })))
}
