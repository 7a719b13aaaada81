//! The partners as a step calls them.

use tidegate_partners::client::{Client, Error, Partners};
use tidegate_partners::protocol::Call;
use tidegate_sitekit::Result as KitResult;
use tidegate_sitekit::attempts::Patience;

/// The partners, or none.
#[derive(Clone, Debug)]
pub enum Partner {
    /// There are none: everything is answered at once.
    Own,
    /// The partners of a process.
    Remote(Client),
}

impl Partner {
    /// The partners, if there are some, whose calls take as long as this.
    ///
    /// # Errors
    /// They have no address: an error for the operator.
    pub fn new(partners: Option<&Partners>, patience: Patience) -> KitResult<Self> {
        partners.map_or(Ok(Self::Own), |partners| partners.client(patience).map(Self::Remote))
    }

    /// The partner's answer; `own` where there is none.
    ///
    /// # Errors
    /// Those of [`Client::call`].
    pub async fn call<C: Call>(&self, request: &C, own: C::Answer) -> Result<C::Answer, Error> {
        match self {
            Self::Own => Ok(own),
            Self::Remote(client) => client.call(request).await,
        }
    }
}
