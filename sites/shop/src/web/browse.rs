//! Home, departments and sets: lists that follow from the address and the zone alone.

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Redirect, Response};
use maud::html;

use super::app::App;
use super::failure::{Failure, missing};
use super::layout::{self, cards, count, pager};
use super::visitor::ZoneCookie;
use crate::options::Build;
use crate::price::in_zone;
use crate::store::{PAGE, pages, places, products};
use tidegate_sitekit::web::picture::image;

/// GET /
pub async fn home(
    State(app): State<App>,
    ZoneCookie(zone): ZoneCookie,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let of = (zone, "/".into(), Some("index.html".into()));
    app.browse(&headers, of, async |around| {
        let first = places::first_sets(&app.database, &around.departments).await?;
        let liked = products::liked(&app.database).await?;
        let content = html! {
            section.hero {
                h1 { "Good things for everyday life" }
                p { "Ten departments of things that are made to be used. Tell us your postcode, and you see what they cost where you are." }
                p.actions { a.button href="#departments" { "See all departments" } " " a.button.quiet href="/zone" { "Your postcode" } }
            }
            section {
                h2 #departments { "Departments" }
                ul.tiles {
                    @for (department, sets) in around.departments.iter().zip(&first) {
                        li.with {
                            a href={ "/departments/" (department.slug) } {
                                (image(department.id, 5 * department.id, 96))
                                strong { (department.name) }
                                small { (department.about) }
                            }
                            p { @for set in sets { a href={ "/sets/" (set.slug) } { (set.name) } " " } }
                        }
                    }
                }
            }
            section { h2 { "What customers like best" } (cards(&around.zone, &liked)) }
        };
        Ok(layout::wide(&around, "Good things for everyday life", &content))
    })
    .await
}

/// GET /departments/{department}
pub async fn department(
    State(app): State<App>,
    Path(slug): Path<String>,
    ZoneCookie(zone): ZoneCookie,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let of = (zone, format!("/departments/{slug}"), Some(format!("departments/{slug}.html")));
    app.browse(&headers, of, async |around| {
        let found = around.departments.iter().find(|department| department.slug == slug);
        let department = found.ok_or_else(|| {
            missing("department", "The shop has ten of them; the home page shows all.")
        })?;
        let sets = match app.build {
            Build::Baseline => places::sets_one_by_one(&app.database, department.id).await?,
            _ => places::sets(&app.database, department.id).await?,
        };
        let body = html! {
            h1 { (department.name) }
            p.lead { (department.about) }
            ul.tiles {
                @for (set, content) in &sets {
                    li { a href={ "/sets/" (set.slug) } {
                        (image(set.department, set.id, 96))
                        strong { (set.name) }
                        small { (count(content.products, "product", "products")) ", from " (in_zone(&around.zone, content.least)) }
                    } }
                }
            }
        };
        Ok(layout::page(&around, &department.name, &[], &body))
    })
    .await
}

/// GET /sets/{set}
pub async fn set(
    State(app): State<App>,
    Path(slug): Path<String>,
    zone: ZoneCookie,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    list(&app, &slug, 1, zone, &headers).await
}

/// GET /sets/{set}/{page}
pub async fn set_page(
    State(app): State<App>,
    Path((slug, page)): Path<(String, String)>,
    zone: ZoneCookie,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    match page.parse() {
        Ok(1) => {
            places::set(&app.database, &slug).await?.ok_or_else(no_set)?;
            Ok(Redirect::permanent(&format!("/sets/{slug}")).into_response())
        }
        Ok(page @ 2..) => list(&app, &slug, page, zone, &headers).await,
        _ => Err(missing("page", "A page is a number from 2 up.").into()),
    }
}

fn no_set() -> tidegate_sitekit::Problem {
    missing("set", "The departments show all sets.")
}

async fn list(
    app: &App,
    slug: &str,
    page: i64,
    ZoneCookie(zone): ZoneCookie,
    headers: &HeaderMap,
) -> Result<Response, Failure> {
    let address = |page: i64| match page {
        1 => format!("/sets/{slug}"),
        _ => format!("/sets/{slug}/{page}"),
    };
    let file = format!("{}.html", address(page).trim_start_matches('/'));
    app.browse(headers, (zone, address(page), Some(file)), async |around| {
        let set = places::set(&app.database, slug).await?.ok_or_else(no_set)?;
        let content = places::content(&app.database, set.id).await?;
        let pages = pages(content.products);
        if page > pages {
            return Err(missing("page", &format!("This set has {pages}.")).into());
        }
        let from = (page - 1) * PAGE;
        let found = match app.build {
            Build::Baseline => products::in_set_one_by_one(&app.database, set.id, from).await?,
            _ => products::in_set(&app.database, set.id, from).await?,
        };
        let body = html! {
            h1 { (set.name) }
            p.lead { (count(content.products, "product", "products")) ", from " (in_zone(&around.zone, content.least)) "." }
            (cards(&around.zone, &found))
            (pager(page, pages, address))
        };
        let mut departments = around.departments.iter();
        let department = departments.find(|department| department.id == set.department);
        let (above, name) = department.map_or_else(Default::default, |department| {
            (format!("/departments/{}", department.slug), department.name.as_str())
        });
        let title = match page {
            1 => set.name.clone(),
            _ => format!("{}, page {page}", set.name),
        };
        Ok(layout::page(&around, &title, &[(&above, name)], &body))
    })
    .await
}
