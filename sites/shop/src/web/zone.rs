//! Where the reader is: a form whose answer is kept in a cookie.

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::SET_COOKIE;
use axum::response::{IntoResponse, Redirect, Response};
use maud::html;

use super::app::App;
use super::failure::Failure;
use super::layout;
use super::visitor::ZoneCookie;
use crate::store::places;
use crate::zones::of_postcode;
use tidegate_sitekit::Mistake;
use tidegate_sitekit::web::field::{Filled, hidden, input};
use tidegate_sitekit::web::form::Posted;
use tidegate_sitekit::web::page::Page;

/// What is wrong with a text that is no postcode.
pub const RULE: &str = "Postcode: must be five digits, such as 10001.";

/// GET /zone
pub async fn form(State(app): State<App>, zone: ZoneCookie) -> Result<Page, Failure> {
    page(&app, zone, "", "/", &[]).await
}

/// POST /zone: `postcode`, and `back`, the page to go on with.
pub async fn choose(
    State(app): State<App>,
    zone: ZoneCookie,
    posted: Posted,
) -> Result<Response, Failure> {
    let back = posted.get("back").filter(|path| is_here(path)).unwrap_or("/");
    let postcode = posted.get("postcode").unwrap_or_default().trim();
    let Some(chosen) = of_postcode(postcode) else {
        let mistakes = [Mistake::new("postcode", RULE)];
        // What is longer than a line of a form is not shown again.
        let shown = if postcode.len() > 20 { "" } else { postcode };
        let page = page(&app, zone, shown, back, &mistakes).await?;
        return Ok(page.status(StatusCode::UNPROCESSABLE_ENTITY).into_response());
    };
    Ok(([(SET_COOKIE, ZoneCookie::set(chosen))], Redirect::to(back)).into_response())
}

/// Whether a path is one of this shop and of plain characters.
fn is_here(path: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-');
    path.len() <= 100 && path.starts_with('/') && !path.contains("//") && path.bytes().all(plain)
}

async fn page(
    app: &App,
    ZoneCookie(zone): ZoneCookie,
    postcode: &str,
    back: &str,
    mistakes: &[Mistake],
) -> Result<Page, Failure> {
    let around = app.around(zone).await?;
    let zones = places::zones(&app.database).await?;
    let body = html! {
        h1 { "Your postcode" }
        p.lead { "Prices, tax and shipping depend on where you are. You see those for " strong { (around.zone.name) } "." }
        form.panel method="post" action="/zone" {
            (hidden("back", back))
            (input(Filled { mistakes }, "Postcode", "postcode", "text", "postal-code", postcode, "Five digits; the first one decides"))
            button type="submit" { "Show prices there" }
        }
        h2 { "All zones" }
        div.scroll tabindex="0" role="region" aria-label="All zones" {
            table {
                thead { tr { th scope="col" { "Postcodes" } th scope="col" { "Zone" } th.num scope="col" { "Tax" } th.num scope="col" { "Shipping" } } }
                tbody {
                    @for zone in &zones {
                        tr {
                            td { (zone.id) "…" }
                            th scope="row" { (zone.name) }
                            td.num { (zone.tax / 100) "." (format!("{:02}", zone.tax % 100)) " %" }
                            td.num { (tidegate_sitekit::money::Cents(zone.shipping)) " and " (tidegate_sitekit::money::Cents(zone.shipping_kg)) " per kg" }
                        }
                    }
                }
            }
        }
    };
    Ok(layout::page(&around, "Your postcode", &[], &body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_leads_back_to_pages_of_this_shop_alone() {
        assert!(is_here("/") && is_here("/sets/garden-tools/2"));
        for path in [
            "",
            "//evil.example",
            "https://evil.example",
            "/\\evil",
            "/a//b",
            "/a?b",
            "/a\r\nb",
            "x",
        ] {
            assert!(!is_here(path), "{path}");
        }
        assert!(!is_here(&format!("/{}", "a".repeat(100))));
    }
}
