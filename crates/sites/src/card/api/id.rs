//! The id in an address.

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;

use super::reply::Reply;
use crate::card::app::App;
use crate::card::refusal::Refusal;

/// The id in an address, which need not be of anything.
pub struct Id(pub String);

impl FromRequestParts<App> for Id {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Reply> {
        match Path::<String>::from_request_parts(parts, app).await {
            Ok(Path(id)) => Ok(Self(id)),
            Err(_) => Err(Refusal::new(404, "not_found", "The address has no id in UTF-8.").into()),
        }
    }
}
