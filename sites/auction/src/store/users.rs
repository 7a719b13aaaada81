//! Accounts: profiles, registration, signing in.

use tidegate_sitekit::database::{Database, Transaction};
use tidegate_sitekit::once::form::{self, Accepted, Form, Receipt};
use tidegate_sitekit::record;
use tidegate_sitekit::{Problem, Result, values};

/// The public profile of a person.
#[derive(Clone, Debug)]
pub struct User {
    /// Their id.
    pub id: i64,
    /// Their nickname.
    pub nickname: String,
    /// The sum of the ratings that others gave.
    pub rating: i64,
    /// When they signed up.
    pub creation_date: i64,
    /// Where they are.
    pub region: i64,
    /// How many comments others left.
    pub nb_of_comments: i64,
}

record!(User { id, nickname, rating, creation_date, region, nb_of_comments });

/// A person with their password's hash.
#[derive(Debug)]
pub struct Account {
    /// Who.
    pub user: User,
    /// The stored hash.
    pub password: String,
}

record!(Account { user, password });

/// A new account. The password is hashed already.
#[derive(Debug)]
pub struct NewUser<'a> {
    /// First name.
    pub firstname: &'a str,
    /// Last name.
    pub lastname: &'a str,
    /// Nickname, unique.
    pub nickname: &'a str,
    /// Hash of the password.
    pub password: &'a str,
    /// Mail address.
    pub email: &'a str,
    /// Region.
    pub region: i64,
    /// Now.
    pub creation_date: i64,
}

/// An account that was opened.
#[derive(Clone, Debug)]
pub struct Opened {
    /// Its id.
    pub id: i64,
    /// First name.
    pub firstname: String,
    /// Last name.
    pub lastname: String,
    /// Nickname.
    pub nickname: String,
    /// Mail address.
    pub email: String,
    /// Region.
    pub region: i64,
}

record!(Opened { id, firstname, lastname, nickname, email, region });

pub(crate) const OPENED: &str =
    "SELECT id, firstname, lastname, nickname, email, region FROM users WHERE id = $1";

pub(crate) const BY_ID: &str =
    "SELECT id, nickname, rating, creation_date, region, nb_of_comments FROM users WHERE id = $1";

pub(crate) const BY_NICKNAME: &str =
    "SELECT id, nickname, rating, creation_date, region, nb_of_comments, password
     FROM users WHERE nickname = $1";

/// The person of this id.
pub async fn by_id(database: &Database, id: i64) -> Result<Option<User>> {
    database.first(BY_ID, &values![id]).await
}

/// The account of this nickname.
pub async fn account(database: &Database, nickname: &str) -> Result<Option<Account>> {
    database.first(BY_NICKNAME, &values![nickname]).await
}

/// Replaces the hash of a password, unless it has changed meanwhile.
pub async fn renew_password(database: &Database, id: i64, old: &str, new: &str) -> Result<()> {
    let sql = "UPDATE users SET password = $1 WHERE id = $2 AND password = $3";
    database.run(sql, &values![new, id, old]).await
}

/// Creates an account. A form sent again creates one account.
///
/// # Errors
/// The nickname is taken: an error of the client.
pub async fn register(
    database: &Database,
    form: Form,
    new: &NewUser<'_>,
) -> Result<Accepted<Opened>> {
    let mut transaction = database.begin().await?;
    let opened = store(&mut transaction, new).await;
    form::accept(database, transaction, form, opened, OPENED, |opened, _| opened).await
}

async fn store(
    transaction: &mut Transaction,
    new: &NewUser<'_>,
) -> Result<(Opened, Option<Receipt>)> {
    let sql = "INSERT INTO users (firstname, lastname, nickname, password, email, rating, balance,
                                  creation_date, region, nb_of_comments)
               VALUES ($1, $2, $3, $4, $5, 0, 0, $6, $7, 0)
               ON CONFLICT (nickname) DO NOTHING RETURNING id";
    let values = values![
        new.firstname,
        new.lastname,
        new.nickname,
        new.password,
        new.email,
        new.creation_date,
        new.region
    ];
    let id = transaction.first::<i64>(sql, &values).await?.ok_or_else(|| {
        let why = format!("Somebody else is called {} here.", new.nickname);
        let remedy = "Go back and choose another nickname.";
        Problem::new(409, "This nickname is taken", why, remedy)
    })?;
    let opened = Opened {
        id,
        firstname: new.firstname.into(),
        lastname: new.lastname.into(),
        nickname: new.nickname.into(),
        email: new.email.into(),
        region: new.region,
    };
    Ok((opened, Some(Receipt { row: id, figure: 0 })))
}
