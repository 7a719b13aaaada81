//! State that the pages of one core share, and forms that are accepted once.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{FromRequest, Request};

use super::failure::{Failure, missing};
use super::shelf::Shelf;
use crate::options::Build;
use crate::payments::Payments;
use tidegate_sitekit::Problem;
use tidegate_sitekit::database::Database;
use tidegate_sitekit::login_limit::LoginLimit;
use tidegate_sitekit::once::form::{Form, Purpose, refused};
use tidegate_sitekit::password::Hasher;
use tidegate_sitekit::token::Signer;
use tidegate_sitekit::web::form::Posted;

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

/// What the form of a new account is issued for.
pub const REGISTER: Purpose = Purpose { kind: 1, who: 0, subject: 0, figure: 0 };

/// What the form of an order is issued for: of a session's basket, at this sum in cents.
pub fn order(session: i64, sum: i64) -> Purpose {
    Purpose { kind: 2, who: session, subject: 0, figure: sum }
}

impl App {
    /// The state of a core.
    pub fn new(state: State) -> Self {
        Self(Arc::new(state))
    }

    /// The token of the next form.
    pub fn token(&self, purpose: Purpose) -> String {
        purpose.token(&self.signer)
    }

    /// The form that was submitted, and the figure that it showed.
    ///
    /// # Errors
    /// The token is missing, forged, expired, or of another form.
    pub fn issued(&self, purpose: Purpose, posted: &Posted) -> Result<(Form, i64), Problem> {
        let (issued, form) = Purpose::issued(&self.signer, posted)?;
        if issued != (Purpose { figure: issued.figure, ..purpose }) {
            return Err(refused("It was made for something else, or before you signed in or out."));
        }
        Ok((form, issued.figure))
    }
}

/// A number in an address.
pub fn id(text: &str, what: &str) -> Result<i64, Problem> {
    text.parse().map_err(|_| missing(what, "It is named by a number."))
}
