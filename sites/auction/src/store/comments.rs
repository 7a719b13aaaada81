//! Comments of people on each other.

use super::forms::{self, Earlier, Form, Receipt};
use tidegate_sitekit::database::{self, Database};
use tidegate_sitekit::record;
use tidegate_sitekit::{Problem, Result};

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
    /// The form was sent before, with other values.
    pub differs: bool,
}

record!(Added { nickname, rating, date, comment; differs: false });

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
    database.all(ABOUT, &[user.into(), from.into()]).await
}

/// Stores a comment and updates the person's rating and number of comments in
/// one transaction. A form sent again is stored once.
///
/// # Errors
/// There is no such person: an error of the client.
pub async fn add(database: &Database, form: Form, new: NewComment<'_>) -> Result<Added> {
    let mut transaction = database.begin().await?;
    let sql = "UPDATE users SET rating = rating + $1, nb_of_comments = nb_of_comments + 1
               WHERE id = $2 RETURNING nickname";
    let Some(nickname) = transaction.first(sql, &[new.rating.into(), new.to.into()]).await? else {
        let remedy = "Go back to the item and follow its links.";
        let why = "Nobody has this number.";
        let refusal = Problem::new(404, "There is no such person", why, remedy);
        let earlier = forms::refuse(transaction, form, refusal).await?;
        return added(database, earlier).await;
    };
    let sql = "INSERT INTO comments (from_user_id, to_user_id, item_id, rating, date, comment)
               VALUES ($1, $2, $3, $4, $5, $6) RETURNING id";
    let values = [
        new.from.into(),
        new.to.into(),
        new.item.into(),
        new.rating.into(),
        new.date.into(),
        new.comment.into(),
    ];
    let row = transaction.first(sql, &values).await?.ok_or(database::Error::NoRow)?;
    match forms::commit(transaction, form, Receipt { row, figure: 0 }).await? {
        Some(earlier) => added(database, earlier).await,
        None => {
            let NewComment { rating, date, .. } = new;
            Ok(Added { nickname, rating, date, comment: new.comment.into(), differs: false })
        }
    }
}

/// The comment that a form has stored.
async fn added(database: &Database, earlier: Earlier) -> Result<Added> {
    let added: Option<Added> = database.first(BY_ID, &[earlier.receipt.row.into()]).await?;
    let added = added.ok_or(database::Error::NoRow)?;
    Ok(Added { differs: earlier.differs, ..added })
}
