//! Interim responses (1xx) of the upstream, on their way to the customer.
//!
//! Source: RFC 9110, section 15.2; RFC 8297 (103).

use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use std::sync::{Arc, Mutex, PoisonError};

/// Most interim responses of one request that wait to be passed on: further ones are left out.
const MOST: usize = 16;

/// The interim responses of one request. The HTTP library demands that they can be shared
/// between threads; they are not.
#[derive(Clone, Debug, Default)]
pub struct Interim(Arc<Mutex<Vec<Response<()>>>>);

impl Interim {
    /// One arrived. Fields that concern one hop only are left out.
    pub fn push<'h>(
        &self,
        status: StatusCode,
        fields: impl Iterator<Item = (&'h HeaderName, &'h HeaderValue)>,
    ) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() < MOST {
            let mut response = Response::new(());
            *response.status_mut() = status;
            let fields = fields.map(|(name, value)| (name.clone(), value.clone()));
            *response.headers_mut() = fields.collect::<HeaderMap>();
            waiting.push(response);
        }
    }

    /// Those that arrived since the last call.
    pub fn take(&self) -> Vec<Response<()>> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
