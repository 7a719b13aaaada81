//! State that the pages of one core share, and signing in.

use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use axum::extract::{FromRequest, Request};
use maud::Markup;

use super::failure::{Failure, missing};
use crate::store::users::{self, User};
use tidegate_sitekit::database::Database;
use tidegate_sitekit::login_limit::{LoginLimit, too_many};
use tidegate_sitekit::once::form::{self, Form, refused};
use tidegate_sitekit::password::{Hasher, PasswordCheck};
use tidegate_sitekit::token::Signer;
use tidegate_sitekit::web::form::Posted;
use tidegate_sitekit::{Problem, Result};

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
    /// Limits guesses of passwords; of all cores.
    pub login_limit: Arc<LoginLimit>,
    /// Proxies whose `X-Forwarded-For` names the customer.
    pub trusted_proxies: Arc<[IpAddr]>,
    /// The auctions on the home page, and when they were read (seconds).
    pub shelf: Mutex<Option<(i64, Markup)>>,
}

impl std::ops::Deref for App {
    type Target = State;

    fn deref(&self) -> &State {
        &self.0
    }
}

impl FromRequest<App> for Posted {
    type Rejection = Failure;

    async fn from_request(request: Request, app: &App) -> Result<Self, Failure> {
        Ok(Self::receive(request, &app.trusted_proxies).await?)
    }
}

/// A form that the site has issued, as its token says.
#[derive(Clone, Copy, Debug)]
pub struct Issued {
    /// Who signed in for it; 0 for nobody.
    pub user: i64,
    /// What it was issued for.
    pub purpose: Purpose,
    /// The form itself, which is accepted once.
    pub form: Form,
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
    /// A new account.
    Register,
}

impl From<Purpose> for form::Purpose {
    fn from(purpose: Purpose) -> Self {
        let [kind, subject, figure] = match purpose {
            Purpose::Bid { item, minimum } => [1, item, minimum],
            Purpose::Buy { item } => [2, item, 0],
            Purpose::Comment { to, item } => [3, to, item],
            Purpose::Sell => [4, 0, 0],
            Purpose::Register => [5, 0, 0],
        };
        Self { kind, who: 0, subject, figure }
    }
}

impl From<form::Purpose> for Purpose {
    /// What this site has signed.
    fn from(form::Purpose { kind, subject, figure, .. }: form::Purpose) -> Self {
        match kind {
            1 => Self::Bid { item: subject, minimum: figure },
            2 => Self::Buy { item: subject },
            3 => Self::Comment { to: subject, item: figure },
            4 => Self::Sell,
            _ => Self::Register,
        }
    }
}

impl App {
    /// The state of a core.
    pub fn new(state: State) -> Self {
        Self(Arc::new(state))
    }

    /// The person whose nickname and password a form contains.
    ///
    /// # Errors
    /// They do not match; the message does not say which one is wrong. Too many
    /// logins have failed from this address or for this account.
    pub async fn sign_in(&self, posted: &Posted) -> Result<User> {
        let mut form = posted.check();
        let nickname = form.text("nickname", "Nickname", 1..=32);
        let password = form.secret("password", "Password", 1..=128);
        form.done()?;
        let login = self.login_limit.login(posted.client(), nickname);
        let limited = |wait| too_many(wait, "go back and try again");
        self.login_limit.check(login, Instant::now()).map_err(limited)?;
        let account = users::account(&self.database, nickname).await?;
        let stored = account.as_ref().map(|account| account.password.clone());
        let turn = self.hasher.turn().await;
        let guess = self.login_limit.guess(login).await.map_err(limited)?;
        let verdict = turn.verify(password.to_owned(), stored).await?;
        match (account, verdict) {
            (Some(account), PasswordCheck::Right) => {
                guess.right();
                Ok(account.user)
            }
            (Some(account), PasswordCheck::RightRenew(new)) => {
                guess.right();
                let (id, old) = (account.user.id, &account.password);
                users::renew_password(&self.database, id, old, &new).await?;
                Ok(account.user)
            }
            (None, _) | (_, PasswordCheck::Wrong) => {
                guess.wrong();
                Err(Problem::new(
                    403,
                    "You could not be signed in",
                    "Nickname and password do not belong together.",
                    "Go back and try again; mind capital letters. If you have no account yet, register first.",
                )
                .into())
            }
        }
    }

    /// A token for the next form, with the person (0: nobody) and the purpose.
    pub fn token(&self, user: i64, purpose: Purpose) -> String {
        form::Purpose { who: user, ..purpose.into() }.token(&self.signer)
    }

    /// What a submitted form was issued for.
    ///
    /// # Errors
    /// The token is missing, forged, or expired.
    pub fn issued(&self, posted: &Posted) -> Result<Issued> {
        let (issued, form) = form::Purpose::issued(&self.signer, posted)?;
        Ok(Issued { user: issued.who, purpose: issued.into(), form })
    }

    /// Who signed in for a submitted form that was issued for this purpose, and the form.
    ///
    /// # Errors
    /// Those of [`issued`](Self::issued); it was issued for another purpose.
    pub fn issued_for(&self, purpose: Purpose, posted: &Posted) -> Result<(i64, Form)> {
        let issued = self.issued(posted)?;
        if issued.purpose != purpose {
            return Err(refused("It was handed out for something else.").into());
        }
        Ok((issued.user, issued.form))
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
