//! State that the pages of one core share, and forms that are accepted once.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{FromRequest, Request};

use super::failure::{Failure, missing};
use super::shelf::Shelf;
use crate::options::Build;
use crate::payments::Payments;
use tidegate_sitekit::database::Database;
use tidegate_sitekit::login_limit::LoginLimit;
use tidegate_sitekit::once::form::Form;
use tidegate_sitekit::password::Hasher;
use tidegate_sitekit::token::{Signer, TokenError};
use tidegate_sitekit::web::form::Posted;
use tidegate_sitekit::{Problem, when};

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
    /// Limits guesses of passwords; of all cores.
    pub login_limit: Arc<LoginLimit>,
    /// Proxies whose `X-Forwarded-For` names the customer.
    pub trusted_proxies: Arc<[IpAddr]>,
    /// How browse pages are made.
    pub build: Build,
    /// How long what is kept may be used.
    pub keep: Duration,
    /// The card processor, if there is one.
    pub payments: Option<Payments>,
    /// URL of the shop in its site map; without one, that of the request.
    pub public_url: Option<String>,
    /// What is kept of pages.
    pub shelf: Shelf,
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

/// What a form was issued for. A token is valid for one purpose only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A new account.
    Register,
    /// An order of this session's basket.
    Order {
        /// The session, as a number.
        session: i64,
    },
}

impl Purpose {
    fn claims(self) -> [i64; 2] {
        match self {
            Self::Register => [1, 0],
            Self::Order { session } => [2, session],
        }
    }
}

impl App {
    /// The state of a core.
    pub fn new(state: State) -> Self {
        Self(Arc::new(state))
    }

    /// A token for the next form, with a figure that it is sent with.
    pub fn token(&self, purpose: Purpose, figure: i64) -> String {
        let [kind, session] = purpose.claims();
        let number = rand::random_range(0..i64::MAX);
        self.signer.sign(&[kind, session, figure, number], when::now() + FORM_LASTS)
    }

    /// The form that was submitted, and the figure of its token.
    ///
    /// # Errors
    /// The token is missing, forged, expired, or of another form.
    pub fn issued(&self, purpose: Purpose, posted: &Posted) -> Result<(Form, i64), Problem> {
        let token = posted.get("auth").unwrap_or_default();
        let ([kind, session, figure, number], expires) =
            self.signer.open(token, when::now()).map_err(|error| match error {
                TokenError::Invalid => refused("It is not a form that this shop has issued."),
                TokenError::Expired => refused("It was open for more than an hour."),
            })?;
        if [kind, session] != purpose.claims() {
            return Err(refused("It was made for something else, or before you signed in or out."));
        }
        Ok((Form { expires, number, content: posted.content() }, figure))
    }
}

fn refused(why: &str) -> Problem {
    let remedy = "Nothing was changed. Open the form again and send it anew.";
    Problem::new(403, "This form cannot be used", why, remedy)
}

/// A number in an address.
pub fn id(text: &str, what: &str) -> Result<i64, Problem> {
    text.parse().map_err(|_| missing(what, "It is named by a number."))
}
