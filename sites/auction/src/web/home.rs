//! The home page and the page where browsing begins.

use axum::extract::State;
use maud::{Markup, html};

use super::app::App;
use super::failure::Failure;
use super::layout::{self, Crumb};
use super::picture;
use super::search::cards;
use crate::catalogue::CATEGORIES;
use crate::store::bids::INCREMENT;
use crate::store::listing;
use tidegate_sitekit::Result;
use tidegate_sitekit::web::page::Page;
use tidegate_sitekit::when;

/// Longest age of the home page's items, seconds.
const FRESH: i64 = 2;

/// GET /: Home
pub async fn home(State(app): State<App>) -> Result<Page, Failure> {
    let body = html! {
        section.hero {
            div {
                h1 { "Things with a past, looking for a harbour" }
                p {
                    "Clocks and coins, cameras and curiosities: offered by people in 62 cities, "
                    "sold to whoever bids most, or at a fixed price for those who cannot wait."
                }
                p.actions {
                    a.button href="/browse" { "Browse the auctions" } " "
                    a.button.quiet href="/sell" { "Sell something" }
                }
            }
        }
        section {
            h2 { "Ending soon" }
            (shelf(&app).await?)
        }
        section {
            h2 { "Find your way" }
            ul.tiles {
                @for id in [2, 5, 11, 13, 16, 19] {
                    li { a href={ "/categories/" (id) } {
                        (picture::of_category(id, 96))
                        strong { (CATEGORIES[usize::try_from(id - 1).unwrap_or(0)].name) }
                    } }
                }
            }
            p.more { a href="/categories" { "All 20 categories →" } }
        }
    };
    Ok(layout::bare("Auctions by the water", &[], body))
}

/// The items that end first. They are the same for every visitor, so they are
/// read once in two seconds and not for each request.
pub async fn shelf(app: &App) -> Result<Markup> {
    let now = when::now();
    if let Some((since, shelf)) = &*app.shelf.lock().expect("no panic under this lock")
        && (0..FRESH).contains(&(now - since))
    {
        return Ok(shelf.clone());
    }
    let items = listing::ending_soon(&app.database, now).await?;
    let shelf = cards(&items, now);
    *app.shelf.lock().expect("no panic under this lock") = Some((now, shelf.clone()));
    Ok(shelf)
}

/// GET /browse: Browse
pub async fn browse() -> Page {
    let body = html! {
        p.lead { "Look by what a thing is, or by where it is." }
        ul.choices {
            li { a href="/categories" {
                (picture::of_category(20, 160))
                strong { "By category" }
                span { "From antiques to toys: 20 categories of things, all over the world." }
            } }
            li { a href="/regions" {
                (picture::of_category(18, 160))
                strong { "By region" }
                span { "Near you, so that you can look at it and collect it: 62 cities." }
            } }
        }
        section {
            h2 { "How an auction works here" }
            ol.steps {
                li { strong { "Find. " } "Every item says how long its auction still takes, from one to seven days. Lists show what ends first." }
                li { strong { "Bid. " } "Lists and the item's own page show the highest bid as it is, or the starting price before the first. A new bid is binding and must be at least " (INCREMENT) " above the highest. You sign in with the bid itself; you are not followed from page to page." }
                li { strong { "Or buy. " } "Some sellers name a fixed price. Whoever pays it has the item at once." }
                li { strong { "Say how it was. " } "Buyers and sellers rate each other from −5 to +5 and leave a few words." }
            }
        }
        section {
            h2 { "Straight to" }
            p.links {
                @for (id, category) in (1..).zip(&CATEGORIES) {
                    a href={ "/categories/" (id) } { (category.name) } " "
                }
            }
        }
    };
    layout::page("Browse", &[Crumb::Here("Browse")], body)
}
