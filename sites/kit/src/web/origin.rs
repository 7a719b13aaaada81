//! Where forms come from: a form of another site is refused.

use crate::log_seldom;

use axum::Router;
use axum::extract::Request;
use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName};
use axum::middleware::{Next, from_fn};
use axum::response::IntoResponse;

use crate::Problem;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The same paths, which refuse forms of other sites with a page.
pub fn guard<S: Clone + Send + Sync + 'static, P: IntoResponse + 'static>(
    router: Router<S>,
    page: fn(Problem) -> P,
) -> Router<S> {
    router.layer(from_fn(move |request: Request, next: Next| async move {
        match check(&request) {
            Ok(()) => next.run(request).await,
            Err(refusal) => page(refusal).into_response(),
        }
    }))
}

/// Checks that a request which may change something was not sent by a page of another site.
///
/// # Errors
/// The browser says that it was.
fn check(request: &Request) -> Result<(), Problem> {
    if request.method().is_safe() || !is_foreign(request.headers()) {
        return Ok(());
    }
    log_seldom!(warn, "a form of another site is refused");
    Err(Problem::new(
        403,
        "This form cannot be used",
        "It was sent from a page of another site.",
        "Nothing was changed. Open the form here and send it anew.",
    ))
}

/// By `Sec-Fetch-Site`, or where a browser sends none, as over plain HTTP, by `Origin`. A client
/// that sends neither is not a browser that another site could use.
///
/// Source: W3C, Fetch Metadata Request Headers; RFC 6454, section 7.
fn is_foreign(headers: &HeaderMap) -> bool {
    if let Some(site) = headers.get(SEC_FETCH_SITE) {
        return site != "same-origin" && site != "none";
    }
    let Some(origin) = headers.get(ORIGIN) else { return false };
    let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    origin.map(|(_, authority)| authority).is_none_or(|authority| Some(authority) != host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_of_another_site_is_foreign() {
        let foreign = |fields: &[(&'static str, &str)]| {
            let fields = [fields, &[("host", "bank:8080")]].concat();
            is_foreign(
                &fields.iter().map(|(n, v)| (n.parse().unwrap(), v.parse().unwrap())).collect(),
            )
        };
        assert!(!foreign(&[]));
        assert!(!foreign(&[("origin", "http://bank:8080")]));
        assert!(!foreign(&[("origin", "https://bank:8080")]));
        assert!(!foreign(&[("sec-fetch-site", "same-origin")]));
        assert!(!foreign(&[("sec-fetch-site", "none")]));
        // A page that sends no referrer sends no origin either.
        assert!(!foreign(&[("sec-fetch-site", "same-origin"), ("origin", "null")]));
        for origin in
            ["http://evil", "null", "http://bank", "http://bank:8080.evil", "", "bank:8080"]
        {
            assert!(foreign(&[("origin", origin)]), "{origin}");
        }
        for site in ["cross-site", "same-site", "", "?"] {
            assert!(foreign(&[("sec-fetch-site", site)]), "{site}");
            assert!(foreign(&[("sec-fetch-site", site), ("origin", "http://bank:8080")]), "{site}");
        }
    }
}
