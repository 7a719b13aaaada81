//! Categories, regions, and the lists of their items.

use axum::extract::{Path, Query, State};
use maud::{Markup, html};

use super::app::App;
use super::failure::{Failure, missing};
use super::layout::{self, Crumb, count, pager, range};
use super::picture;
use crate::catalogue::{CATEGORIES, REGIONS, category_name, region_name};
use crate::store::listing::{self, Listed};
use crate::store::{PAGE, pages};
use tidegate_sitekit::web::page::Page;
use tidegate_sitekit::when::{self, Left};
use tidegate_sitekit::{Problem, Result};

/// Most items of other regions on the page of a region that has none.
const ELSEWHERE: usize = 8;

/// The `?page=N` of a list.
#[derive(Debug, Default, serde::Deserialize)]
pub struct PageQuery {
    page: Option<String>,
}

impl PageQuery {
    /// This text as the requested page.
    pub fn new(page: String) -> Self {
        Self { page: Some(page) }
    }

    /// The requested page, counted from 1, of a list of `pages`.
    ///
    /// # Errors
    /// Not a number, or beyond the end.
    pub fn of(&self, pages: i64) -> Result<i64, Problem> {
        let text = self.page.as_deref().unwrap_or("1");
        let remedy = "Go back to the list and follow its links.";
        let page: i64 = text.parse().ok().filter(|page| *page >= 1).ok_or_else(|| {
            Problem::new(400, "There is no such page", "A page is a number from 1 up.", remedy)
        })?;
        if page > pages {
            let why = format!("This list has {}.", count(pages, "page", "pages"));
            return Err(Problem::new(404, "There is no such page", why, remedy));
        }
        Ok(page)
    }
}

/// A number in an address.
pub fn id(text: &str, what: &str) -> Result<i64, Problem> {
    text.parse().map_err(|_| missing(what, "It is named by a number."))
}

/// The category that an address names.
pub fn category(text: &str) -> Result<(i64, &'static str), Problem> {
    let id = id(text, "category")?;
    let name =
        category_name(id).ok_or_else(|| missing("category", "They are numbered 1 to 20."))?;
    Ok((id, name))
}

/// The region that an address names.
pub fn region(text: &str) -> Result<(i64, &'static str), Problem> {
    let id = id(text, "region")?;
    let name = region_name(id).ok_or_else(|| missing("region", "They are numbered 1 to 62."))?;
    Ok((id, name))
}

/// GET /categories: BrowseCategories
pub async fn categories(State(app): State<App>) -> Result<Page, Failure> {
    let counts = listing::count_by_category(&app.database, 0).await?;
    let body = html! {
        p.lead { "Everything on offer, sorted into 20 categories." }
        (category_tiles("/categories", &counts))
    };
    Ok(layout::page(
        "Categories",
        &[Crumb::Above("/browse", "Browse"), Crumb::Here("Categories")],
        body,
    ))
}

/// GET /regions/{region}: BrowseCategoriesInRegion
pub async fn categories_in_region(
    State(app): State<App>,
    Path(text): Path<String>,
) -> Result<Page, Failure> {
    let (region, name) = region(&text)?;
    let counts = listing::count_by_category(&app.database, region).await?;
    let body = html! {
        p.lead { "What sellers in " (name) " offer, by category." }
        (category_tiles(&format!("/regions/{region}/categories"), &counts))
    };
    let crumbs =
        [Crumb::Above("/browse", "Browse"), Crumb::Above("/regions", "Regions"), Crumb::Here(name)];
    Ok(layout::page(name, &crumbs, body))
}

fn category_tiles(path: &str, counts: &[(i64, i64)]) -> Markup {
    html! {
        ul.tiles {
            @for (id, category) in (1..).zip(&CATEGORIES) {
                @let items = counts.iter().find(|(of, _)| *of == id).map_or(0, |(_, items)| *items);
                li { a href={ (path) "/" (id) } {
                    (picture::of_category(id, 96))
                    strong { (category.name) }
                    small { (count(items, "item", "items")) }
                } }
            }
        }
    }
}

/// GET /regions: BrowseRegions
pub async fn regions(State(app): State<App>) -> Result<Page, Failure> {
    let counts = listing::count_by_region(&app.database).await?;
    let body = html! {
        p.lead { "Where the sellers are, and how many items they offer." }
        ul.regions {
            @for (id, name) in (1..).zip(REGIONS) {
                @let items = counts.iter().find(|(of, _)| *of == id).map_or(0, |(_, items)| *items);
                li { a href={ "/regions/" (id) } { (name) } small { (items) } }
            }
        }
    };
    Ok(layout::page("Regions", &[Crumb::Above("/browse", "Browse"), Crumb::Here("Regions")], body))
}

/// GET /categories/{category}?page=N: SearchItemsInCategory
pub async fn in_category(
    State(app): State<App>,
    Path(text): Path<String>,
    Query(query): Query<PageQuery>,
) -> Result<Page, Failure> {
    let (category, name) = category(&text)?;
    let entries = listing::count(&app.database, 0, category).await?;
    let (pages, now) = (pages(entries, PAGE), when::now());
    let page = query.of(pages)?;
    let from = (page - 1) * PAGE;
    let items = listing::in_category(&app.database, category, now, from).await?;
    let path = format!("/categories/{category}");
    let crumbs = [
        Crumb::Above("/browse", "Browse"),
        Crumb::Above("/categories", "Categories"),
        Crumb::Here(name),
    ];
    Ok(layout::page(name, &crumbs, list(&items, now, &path, (page, pages, entries))))
}

/// GET /regions/{region}/categories/{category}?page=N: SearchItemsInRegion
pub async fn in_region(
    State(app): State<App>,
    Path((region_text, category_text)): Path<(String, String)>,
    Query(query): Query<PageQuery>,
) -> Result<Page, Failure> {
    let (region, region_name) = region(&region_text)?;
    let (category, name) = category(&category_text)?;
    let entries = listing::count(&app.database, region, category).await?;
    let (pages, now) = (pages(entries, PAGE), when::now());
    let page = query.of(pages)?;
    let from = (page - 1) * PAGE;
    let items = listing::in_region(&app.database, region, category, now, from).await?;
    let above = format!("/regions/{region}");
    let path = format!("{above}/categories/{category}");
    let crumbs = [
        Crumb::Above("/browse", "Browse"),
        Crumb::Above("/regions", "Regions"),
        Crumb::Above(&above, region_name),
        Crumb::Here(name),
    ];
    let title = format!("{name} in {region_name}");
    let mut body = list(&items, now, &path, (page, pages, entries));
    if items.is_empty() {
        // Few regions have items in every category.
        let elsewhere = listing::in_category(&app.database, category, now, 0).await?;
        body = html! {
            (body)
            @if !elsewhere.is_empty() {
                section { h2 { (name) " elsewhere" } (cards(&elsewhere[..elsewhere.len().min(ELSEWHERE)], now)) }
            }
        };
    }
    Ok(layout::page(&title, &crumbs, body))
}

fn list(items: &[Listed], now: i64, path: &str, (page, pages, entries): (i64, i64, i64)) -> Markup {
    html! {
        @if items.is_empty() {
            p.notice { "Nothing is on offer here at the moment. Look into "
                a href="/categories" { "another category" } " or " a href="/sell" { "offer something yourself" } "." }
        } @else {
            p.lead { "Items " (range(page, items.len(), entries)) ", those that end first before the others." }
            (cards(items, now))
        }
        (pager(path, page, pages))
    }
}

/// Items as cards, each with a picture, its price, and the time that is left.
pub fn cards(items: &[Listed], now: i64) -> Markup {
    html! {
        ul.cards {
            @for item in items {
                li { a href={ "/items/" (item.id) } {
                    (picture::of_item(item.category, item.id, 240))
                    p.name { (item.name) }
                    p.price { (item.price()) " " small { (item.price_is()) } }
                    p.meta {
                        (count(item.nb_of_bids, "bid", "bids"))
                        span.left { (Left(item.end_date - now)) }
                    }
                    @if let Some(price) = item.buy_now.some() {
                        p.fixed { "Buy now " (price) }
                    }
                } }
            }
        }
    }
}
