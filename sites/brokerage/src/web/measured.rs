//! Static pages of given sizes, for measurements: what a connection costs beside a response that
//! costs nearly nothing.

use axum::Router;
use axum::response::Html;
use axum::routing::get;

/// Bytes of the pages: those of the studies of static pages that paper 004 cites.
const SIZES: [usize; 3] = [30, 36 << 10, 1 << 20];

/// `/static/page-BYTES` for each size.
pub(super) fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    SIZES.into_iter().fold(Router::new(), |router, size| {
        let body = axum::body::Bytes::from(page(size));
        router.route(&format!("/static/page-{size}"), get(async move || Html(body.clone())))
    })
}

/// A page of exactly so many bytes, at least [`SIZES`]`[0]`.
fn page(size: usize) -> Vec<u8> {
    let [begin, end] = ["<!doctype html><p>", "</p>"];
    let text = size.saturating_sub(begin.len() + end.len());
    [begin.as_bytes(), &vec![b'x'; text], end.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_have_their_size_to_the_byte() {
        for size in SIZES {
            assert_eq!(page(size).len(), size);
        }
    }
}
