//! The frame of every page.

use std::sync::LazyLock;

use axum::http::header::{CONTENT_SECURITY_POLICY, HeaderValue};
use maud::{Markup, html};

use tidegate_sitekit::web::page::{Look, Page};

// No address of a form leaves the site as a referrer: who knows it may pay. Without any referrer
// browsers would not say where a form comes from either.
static LOOK: LazyLock<Look> = LazyLock::new(|| Look {
    brand: "Card payment",
    style: "/static/card.css".into(),
    logo: None,
    policy: "default-src 'none'",
    cache: "no-store",
});

/// A page. `returns_to` is the origin to which a form may lead, beside here.
pub fn page(title: &str, returns_to: Option<&str>, body: &Markup) -> Page {
    let body = html! {
        header { p.brand { "Card payment" } p.test { "Test" } }
        main { (body) }
        footer {
            p {
                "This is a simulated card processor. Type test cards only, never a "
                "real one. The merchant does not see the card."
            }
        }
    };
    let page = LOOK.document(title, None, &body);
    // Browsers apply form-action to where a form redirects as well.
    let policy = format!(
        "default-src 'none'; style-src 'self'; form-action 'self'{}{}; base-uri 'none'; frame-ancestors 'none'",
        if returns_to.is_some() { " " } else { "" },
        returns_to.unwrap_or_default()
    );
    match HeaderValue::try_from(policy) {
        Ok(policy) => page.header(CONTENT_SECURITY_POLICY, policy),
        Err(_) => page,
    }
}
