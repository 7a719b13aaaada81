//! What crawlers read: which pages they may fetch, and a map of the browse pages.
//!
//! Source: RFC 9309; sitemaps.org, protocol 0.9: a map has at most 50,000 addresses.

use std::fmt::Write as _;

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HOST};
use axum::http::uri::Authority;
use axum::response::{IntoResponse, Response};

use super::app::App;
use super::failure::{Failure, missing};
use crate::store::{pages, places};
use tidegate_sitekit::Result;

/// Most addresses of one map.
const MOST: usize = 50_000;

/// GET /robots.txt
pub async fn robots(State(app): State<App>, headers: HeaderMap) -> Response {
    let personal = ["basket", "checkout", "orders", "account", "search", "zone"];
    let mut text = String::from("User-agent: *\n");
    for path in personal {
        let _ = writeln!(text, "Disallow: /{path}");
    }
    let _ = writeln!(text, "Sitemap: {}/sitemap.xml", base(&app, &headers));
    text_of("text/plain; charset=utf-8", text)
}

/// GET /sitemap.xml: all addresses, or where they are too many, the maps that have them.
pub async fn map(State(app): State<App>, headers: HeaderMap) -> Result<Response, Failure> {
    let (base, paths) = (base(&app, &headers), paths(&app).await?);
    let text = if paths.len() <= MOST {
        list("urlset", "url", paths.iter().map(|path| format!("{base}{path}")))
    } else {
        let parts = 1..=paths.len().div_ceil(MOST);
        list("sitemapindex", "sitemap", parts.map(|part| format!("{base}/sitemaps/{part}.xml")))
    };
    Ok(text_of("application/xml", text))
}

/// GET /sitemaps/{part}: `N.xml`, counted from 1
pub async fn part(
    State(app): State<App>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let number = name.strip_suffix(".xml").and_then(|number| number.parse::<usize>().ok());
    let (base, paths) = (base(&app, &headers), paths(&app).await?);
    let part = number.and_then(|number| paths.chunks(MOST).nth(number.checked_sub(1)?));
    let part = part.ok_or_else(|| missing("map", "The site map names all of them."))?;
    let text = list("urlset", "url", part.iter().map(|path| format!("{base}{path}")));
    Ok(text_of("application/xml", text))
}

/// The paths of all browse pages.
async fn paths(app: &App) -> Result<Vec<String>> {
    let mut paths = vec!["/".to_owned()];
    for department in places::departments(&app.database).await? {
        paths.push(format!("/departments/{}", department.slug));
    }
    for (set, products) in places::sizes(&app.database).await? {
        paths.push(format!("/sets/{set}"));
        paths.extend((2..=pages(products)).map(|page| format!("/sets/{set}/{page}")));
    }
    let products: Vec<i64> = app.database.all("SELECT id FROM products ORDER BY id", &[]).await?;
    paths.extend(products.into_iter().map(|id| format!("/products/{id}")));
    Ok(paths)
}

fn list(outer: &str, inner: &str, addresses: impl Iterator<Item = String>) -> String {
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <{outer} xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n"
    );
    for address in addresses {
        let _ = writeln!(text, "<{inner}><loc>{address}</loc></{inner}>");
    }
    text + &format!("</{outer}>\n")
}

/// The shop's own URL, without a path. What a client says of it goes into a page, so it must be
/// a host and a port, and nothing else.
fn base(app: &App, headers: &HeaderMap) -> String {
    if let Some(url) = &app.public_url {
        return url.trim_end_matches('/').to_owned();
    }
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte);
    let host = host.parse::<Authority>().ok().filter(|host| host.as_str().bytes().all(plain));
    format!("http://{}", host.as_ref().map_or("localhost", Authority::as_str))
}

fn text_of(kind: &'static str, text: String) -> Response {
    ([(CONTENT_TYPE, kind), (CACHE_CONTROL, "no-cache")], text).into_response()
}
