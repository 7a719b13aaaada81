//! State that the pages of one core share, and signing in.

use std::sync::{Arc, Mutex};

use maud::Markup;

use super::failure::missing;
use super::form::Posted;
use crate::auction::store::users::{self, User};
use crate::auction::when;
use crate::database::Database;
use crate::password::{Hasher, Verdict};
use crate::token::{Signer, TokenError};
use crate::{Refusal, Result};

/// How long a form stays valid, seconds.
const FORM_LASTS: i64 = 3600;

/// The state of one core.
#[derive(Clone, Debug)]
pub struct App(Arc<State>);

/// Content of [`App`].
#[derive(Debug)]
pub struct State {
    /// The database.
    pub database: Database,
    /// Hashes passwords.
    pub hasher: Hasher,
    /// Signs tokens.
    pub signer: Signer,
    /// The auctions on the home page, and when they were read (seconds).
    pub shelf: Mutex<Option<(i64, Markup)>>,
}

impl std::ops::Deref for App {
    type Target = State;

    fn deref(&self) -> &State {
        &self.0
    }
}

/// What a form was issued for. A token is valid for one purpose only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A bid on this item of at least so many cents.
    Bid { item: i64, minimum: i64 },
    /// A purchase of this item.
    Buy { item: i64 },
    /// A comment about this person after this item.
    Comment { to: i64, item: i64 },
    /// An item to sell.
    Sell,
}

impl App {
    /// The state of a core.
    pub fn new(database: Database, hasher: Hasher, signer: Signer) -> Self {
        Self(Arc::new(State { database, hasher, signer, shelf: Mutex::default() }))
    }

    /// The person whose nickname and password a form contains.
    ///
    /// # Errors
    /// They do not match; the message does not say which one is wrong.
    pub async fn sign_in(&self, posted: &Posted) -> Result<User> {
        let mut form = posted.check();
        let nickname = form.text("nickname", "Nickname", 1..=32);
        let password = form.secret("password", "Password", 1..=128);
        form.done()?;
        let account = users::account(&self.database, nickname).await?;
        let stored = account.as_ref().map(|account| account.password.clone());
        let verdict = self.hasher.verify(password.to_owned(), stored).await?;
        match (account, verdict) {
            (Some(account), Verdict::Right) => Ok(account.user),
            (Some(account), Verdict::RightRenew(new)) => {
                let (id, old) = (account.user.id, &account.password);
                users::renew_password(&self.database, id, old, &new).await?;
                Ok(account.user)
            }
            (None, _) | (_, Verdict::Wrong) => Err(Refusal::new(
                403,
                "You could not be signed in",
                "Nickname and password do not belong together.",
                "Go back and try again; mind capital letters. If you have no account yet, register first.",
            )
            .into()),
        }
    }

    /// A token for the next form, with the person and the purpose.
    pub fn token(&self, user: i64, purpose: Purpose) -> String {
        let [kind, subject, extra] = match purpose {
            Purpose::Bid { item, minimum } => [1, item, minimum],
            Purpose::Buy { item } => [2, item, 0],
            Purpose::Comment { to, item } => [3, to, item],
            Purpose::Sell => [4, 0, 0],
        };
        self.signer.sign(&[kind, user, subject, extra], when::now() + FORM_LASTS)
    }

    /// The person and the purpose of a form's token.
    ///
    /// # Errors
    /// The token is missing, forged, or expired.
    pub fn token_holder(&self, posted: &Posted) -> Result<(i64, Purpose)> {
        let token = posted.get("auth").unwrap_or_default();
        let [kind, user, subject, extra] =
            self.signer.open(token, when::now()).map_err(|error| match error {
                TokenError::Invalid => refused("It does not show who filled it in."),
                TokenError::Expired => refused("It was open for more than an hour."),
            })?;
        let purpose = match kind {
            1 => Purpose::Bid { item: subject, minimum: extra },
            2 => Purpose::Buy { item: subject },
            3 => Purpose::Comment { to: subject, item: extra },
            _ => Purpose::Sell,
        };
        Ok((user, purpose))
    }

    /// The person of this id.
    ///
    /// # Errors
    /// There is none.
    pub async fn user(&self, id: i64) -> Result<User> {
        let user = users::by_id(&self.database, id).await?;
        Ok(user.ok_or_else(|| missing("person", "Nobody has this number."))?)
    }
}

/// The refusal of a form that was issued for another purpose.
pub fn refused(why: &str) -> Refusal {
    Refusal::new(
        403,
        "This form cannot be used",
        why,
        "Sign in again where you began, and send it anew.",
    )
}
