//! Requests that may be repeated.

use axum::extract::{FromRequest, FromRequestParts, Request};
use serde::de::DeserializeOwned;
use zeroize::Zeroizing;

use super::auth::Caller;
use super::reply::Reply;
use crate::app::App;
use crate::number::looks_like_card;
use crate::operations::{self, perform};
use tidegate_sitekit::{Problem, api};

/// A request that may be repeated, of a merchant whom we know.
pub struct Posted {
    /// Who sends it.
    merchant: String,
    key: String,
    fingerprint: String,
    body: Zeroizing<Vec<u8>>,
}

impl FromRequest<App> for Posted {
    type Rejection = Reply;

    async fn from_request(request: Request, app: &App) -> Result<Self, Reply> {
        let (mut parts, body) = request.into_parts();
        let Caller { merchant } = Caller::from_request_parts(&mut parts, app).await?;
        let key = api::idempotency_key(&parts.headers, looks_like_card)?;
        let body = api::read(&parts.headers, body).await?;
        let path = parts.uri.path().as_bytes();
        let fingerprint = app.fingerprint(&[parts.method.as_str().as_bytes(), path, &body]);
        Ok(Self { merchant, key, fingerprint, body })
    }
}

impl Posted {
    /// The merchant who sends it.
    pub fn merchant(&self) -> &str {
        &self.merchant
    }

    /// Its body.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        api::parse(&self.body, "docs/card.md")
    }

    /// Carries it out.
    ///
    /// # Errors
    /// An error of the database.
    pub async fn perform(self, app: &App, request: operations::Request) -> Result<Reply, Reply> {
        let Self { merchant, key, fingerprint, .. } = &self;
        Ok(perform(app, merchant, key, fingerprint, request).await?.into())
    }
}
