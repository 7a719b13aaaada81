//! Forms that are accepted once. A form carries a signed number of its own; the
//! transaction that stores what the form asks for stores that number as well. A
//! number that is there already belongs to a form that was sent before: the
//! transaction is rolled back, and the answer is that of the first.
//!
//! The number is stored last, when the transaction holds every lock that it
//! needs: of two posts of one form the second waits for the first to end. A form
//! that was refused has stored nothing and may be sent again.
//!
//! A number is kept until its form has expired, so the table holds the forms of
//! one lifetime and no more. Its key begins with the expiry: new rows are
//! neighbours, and those that have expired are the first.

use crate::database::{self, Connection, Database, Location, Record, Transaction, notes};
use crate::token::{self, Signer, TokenError};
use crate::web::form::Posted;
use crate::{Error, Problem, Result, record, when};

/// How long a number is kept after its form has expired, seconds: the clocks of
/// two processes on one database may differ.
const MARGIN: i64 = 60;

/// Creates the table: a text for [`tables::create`](crate::database::tables::create).
pub const TABLE: &str = "
CREATE TABLE used_forms (
    expires {int} NOT NULL, number {int} NOT NULL, stored {int} NOT NULL, figure {int} NOT NULL,
    content {int} NOT NULL, PRIMARY KEY (expires, number)
){by_key};
";

/// Name of the note that holds the key of a site's forms.
const KEY: &str = "form_key";

/// Signs the forms of a site, in every process that serves its database: with the key that is noted
/// there, or with a new one.
///
/// # Errors
/// The note holds no key: an error for the operator. Those of the database.
pub async fn signer(connection: &mut Connection, location: &Location) -> Result<Signer> {
    let key = notes::read_or(connection, KEY, &token::new_key()).await?;
    Signer::from_key(&key).ok_or_else(|| {
        Error::Operator(format!(
            "{location}: site_notes: {KEY}: is no key; delete this row, and the next start makes a new one"
        ))
    })
}

/// How long a form can be sent, seconds.
const LASTS: i64 = 3600;

/// What a form is issued for. A token is valid for one purpose only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Purpose {
    /// Which form of the site it is.
    pub kind: i64,
    /// Who may send it: a user or a session; 0 for anybody.
    pub who: i64,
    /// What it is about.
    pub subject: i64,
    /// A figure that it shows.
    pub figure: i64,
}

impl Purpose {
    /// The token of the next form for this purpose: the hidden field `auth`. It has a number of its
    /// own.
    pub fn token(self, signer: &Signer) -> String {
        let Self { kind, who, subject, figure } = self;
        let number = rand::random_range(0..i64::MAX);
        signer.sign(&[kind, who, subject, figure, number], when::now() + LASTS)
    }

    /// What a submitted form was issued for, and the form.
    ///
    /// # Errors
    /// Its token is missing, forged or expired.
    pub fn issued(signer: &Signer, posted: &Posted) -> Result<(Self, Form), Problem> {
        let token = posted.get("auth").unwrap_or_default();
        let ([kind, who, subject, figure, number], expires) =
            signer.open(token, when::now()).map_err(|error| match error {
                TokenError::Invalid => refused("It is not a form that this site has issued."),
                TokenError::Expired => refused("It was open for more than an hour."),
            })?;
        let form = Form { expires, number, content: posted.content() };
        Ok((Self { kind, who, subject, figure }, form))
    }
}

/// The refusal of a form that was issued for another purpose.
pub fn refused(why: &str) -> Problem {
    let remedy = "Nothing was changed. Open the form again and send it anew.";
    Problem::new(403, "This form cannot be used", why, remedy)
}

/// A form as it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// When it expires, seconds since 1970.
    pub expires: i64,
    /// Its number, unique among those that expire in the same second.
    pub number: i64,
    /// A fingerprint of the values that were sent with it.
    pub content: i64,
}

/// What a form has stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Id of the new row.
    pub row: i64,
    /// The one figure of the answer that the row does not hold, or zero.
    pub figure: i64,
}

/// The answer to a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted<T> {
    /// What was stored, now or when the form was sent before.
    pub answer: T,
    /// The form was sent before, with other values.
    pub differs: bool,
}

struct Used {
    receipt: Receipt,
    content: i64,
}

record!(Receipt { row, figure });
record!(Used { receipt, content });

const USE: &str = "INSERT INTO used_forms (expires, number, stored, figure, content)
     VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING RETURNING stored";

/// The first use of a form.
pub const USED: &str =
    "SELECT stored, figure, content FROM used_forms WHERE expires = $1 AND number = $2";

/// A form that has expired.
pub const EXPIRED: &str = "SELECT number FROM used_forms WHERE expires <= $1 LIMIT 1";

/// Ends the transaction of a form, which has done this `work`: an answer with the receipt of
/// what was stored, or without one if nothing was. If the form was used before, all is rolled
/// back, and the answer is that of the first use: `again` makes it of the row that `by_row`
/// reads by its id, and of the receipt's figure.
///
/// # Errors
/// The refusal of a form that was not used before; an error of the database. Nothing was
/// changed then.
pub async fn accept<T, R: Record>(
    database: &Database,
    mut transaction: Transaction,
    form: Form,
    work: Result<(T, Option<Receipt>)>,
    by_row: &'static str,
    again: impl FnOnce(R, i64) -> T,
) -> Result<Accepted<T>> {
    let answer = match work {
        Ok((answer, Some(Receipt { row, figure }))) => {
            let values = [form.expires, form.number, row, figure, form.content].map(Into::into);
            if transaction.first::<i64>(USE, &values).await?.is_some() {
                transaction.commit().await?;
                return Ok(Accepted { answer, differs: false });
            }
            Ok(answer)
        }
        Ok((answer, None)) => Ok(answer),
        Err(Error::Client(refusal)) => Err(refusal.into()),
        Err(error) => return Err(error),
    };
    let used: Option<Used> =
        transaction.first(USED, &[form.expires.into(), form.number.into()]).await?;
    transaction.rollback().await?;
    let Some(Used { receipt, content }) = used else {
        return answer.map(|answer| Accepted { answer, differs: false });
    };
    let row = database.first(by_row, &[receipt.row.into()]).await?.ok_or(database::Error::NoRow)?;
    Ok(Accepted { answer: again(row, receipt.figure), differs: content != form.content })
}

/// Forgets the forms that have expired.
///
/// # Errors
/// An error of the database.
pub async fn forget_expired(database: &Database, now: i64) -> Result<()> {
    let until = [(now - MARGIN).into()];
    // Reading takes no lock; only what is to be deleted does.
    if database.first::<i64>(EXPIRED, &until).await?.is_none() {
        return Ok(());
    }
    database.run("DELETE FROM used_forms WHERE expires <= $1", &until).await
}
