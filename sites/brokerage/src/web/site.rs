//! What the pages of one core share.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{FromRequest, Request};

use super::failure::Failure;
use super::stream::Prices;
use crate::error::Result;
use crate::protocol::Operation;
use crate::rpc::call;
use tidegate_card::client::Verifier;
use tidegate_sitekit::link::Client;
use tidegate_sitekit::web::form::Posted;

/// The state of one core.
#[derive(Clone)]
pub struct Site(Arc<State>);

/// Content of [`Site`].
pub struct State {
    /// Calls the application tier.
    pub client: Client,
    /// Proxies that are believed about who a request is from.
    pub trusted_proxies: Arc<[IpAddr]>,
    /// Browsers reach this process over TLS alone.
    pub secure: bool,
    /// The prices that pages follow; a process that serves one request has none.
    pub prices: Option<Arc<Prices>>,
    /// Verifies webhooks of the card processor, if it sends any here.
    pub webhooks: Option<Verifier>,
}

impl Site {
    /// The state of a core.
    pub fn new(state: State) -> Self {
        Self(Arc::new(state))
    }

    /// Calls the application tier.
    ///
    /// # Errors
    /// It refuses the request, failed, or cannot be reached.
    pub async fn call<O: Operation>(&self, request: &O) -> Result<O::Answer> {
        call(&self.client, request).await
    }
}

impl std::ops::Deref for Site {
    type Target = State;

    fn deref(&self) -> &State {
        &self.0
    }
}

impl FromRequest<Site> for Posted {
    type Rejection = Failure;

    async fn from_request(request: Request, site: &Site) -> std::result::Result<Self, Failure> {
        let posted = Self::receive(request, &site.trusted_proxies).await;
        posted.map_err(|refusal| Failure::from(crate::error::Error::from(refusal)))
    }
}
