//! The id in an address.

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;

use super::reply::Reply;
use crate::app::{App, is_id};
use tidegate_sitekit::Problem;

/// The id in an address, which need not be of anything. It is empty, which nothing's is, in
/// place of one that the processor does not make: not every database can be asked for any text.
pub struct Id(pub String);

impl FromRequestParts<App> for Id {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Reply> {
        match Path::<String>::from_request_parts(parts, app).await {
            Ok(Path(id)) => Ok(Self(if is_id(&id) { id } else { String::new() })),
            Err(_) => {
                Err(Problem::coded(404, "not_found", "The address has no id in UTF-8.").into())
            }
        }
    }
}
