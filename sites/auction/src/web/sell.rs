//! Offering an item: sign in, choose a category, describe it, have it listed.

use axum::extract::State;
use maud::html;

use super::app::{App, Purpose};
use super::failure::Failure;
use super::layout::{self, Crumb, sent_before};
use super::{field, picture};
use crate::catalogue::{CATEGORIES, CATEGORY_COUNT, category_name};
use crate::store::sales::{self, NewItem};
use tidegate_sitekit::money::Cents;
use tidegate_sitekit::once::form::Accepted;
use tidegate_sitekit::web::field::hidden;
use tidegate_sitekit::web::form::Posted;
use tidegate_sitekit::web::page::Page;
use tidegate_sitekit::when::{self, DAY, Moment};

/// Lowest starting price.
const LEAST: Cents = Cents(100);

/// GET /sell: Sell
pub async fn sign_in() -> Page {
    let body = html! {
        div.two {
            form.panel method="post" action="/sell" {
                (field::sign_in())
                button type="submit" { "Sign in and sell" }
            }
            div.aside {
                h2 { "Three steps" }
                ol.steps {
                    li { "Choose the category in which people would look for it." }
                    li { "Describe it, and say where bidding begins and how long it lasts." }
                    li { "Wait. After the last day the highest bidder writes to you." }
                }
                p { "Listing costs nothing. No account yet? " a href="/register" { "Open one" } "." }
            }
        }
    };
    layout::page("Sell something", &[Crumb::Here("Sell")], body)
}

fn crumbs(here: &str) -> [Crumb<'_>; 2] {
    [Crumb::Above("/sell", "Sell"), Crumb::Here(here)]
}

/// POST /sell: SelectCategoryToSellItem
pub async fn categories(State(app): State<App>, posted: Posted) -> Result<Page, Failure> {
    let seller = app.sign_in(&posted).await?;
    let body = html! {
        p.lead { "What is it, " (seller.nickname) "? Choose where people would look for it." }
        form.picks method="post" action="/sell/form" {
            (hidden("auth", app.token(seller.id, Purpose::Sell)))
            @for (id, category) in (1..).zip(&CATEGORIES) {
                button type="submit" name="category" value=(id) {
                    (picture::of_category(id, 64))
                    span { (category.name) }
                }
            }
        }
    };
    Ok(layout::page("Choose a category", &crumbs("Category"), body))
}

/// POST /sell/form: SellItemForm
pub async fn form(State(app): State<App>, posted: Posted) -> Result<Page, Failure> {
    let (seller, _) = app.issued_for(Purpose::Sell, &posted)?;
    let mut form = posted.check();
    let category = form.number("category", "Category", 1..=CATEGORY_COUNT);
    form.done()?;
    let name = category_name(category).unwrap_or_default();
    let days = (1..=7).map(|days| (days, if days == 1 { "day" } else { "days" }));
    let body = html! {
        p.lead { "Your item will be listed in " strong { (name) } "." }
        form.panel method="post" action="/items" {
            (hidden("auth", app.token(seller, Purpose::Sell)))
            (hidden("category", category))
            (field::text("Name", "name", (3, 100), "What it is, in a few words"))
            (field::words("Description", "description", 7168, 8))
            (field::money("Starting price", "initial_price", LEAST, "Where bidding begins"))
            (field::money("Reserve price", "reserve_price", Cents(0), "Not sold below; 0 for none"))
            (field::money("Fixed price", "buy_now", Cents(0), "Sold at once; 0 for none"))
            (field::number("Quantity", "quantity", 1, 100, 1))
            label.field.short for="duration" {
                span { "Duration" }
                select #duration name="duration" required {
                    @for (days, unit) in days {
                        option value=(days) selected[days == 7] { (days) " " (unit) }
                    }
                }
            }
            button type="submit" { "List the item" }
        }
    };
    Ok(layout::page("Describe your item", &crumbs("Describe"), body))
}

/// POST /items: RegisterItem
pub async fn register(State(app): State<App>, posted: Posted) -> Result<Page, Failure> {
    let (seller, sent) = app.issued_for(Purpose::Sell, &posted)?;
    let mut form = posted.check();
    let category = form.number("category", "Category", 1..=CATEGORY_COUNT);
    let name = form.text("name", "Name", 3..=100);
    let description = form.words("description", "Description", 1..=7168);
    let initial_price = form.money("initial_price", "Starting price", LEAST);
    let reserve_price = form.money_or_none("reserve_price", "Reserve price");
    let buy_now = form.money_or_none("buy_now", "Fixed price");
    let quantity = form.number("quantity", "Quantity", 1..=100);
    let days = form.number("duration", "Duration", 1..=7);
    let at_least = |price: Cents| price == Cents(0) || price >= initial_price;
    form.require("reserve_price", at_least(reserve_price), || {
        "Reserve price: must not be below the starting price, or 0 for none.".into()
    });
    form.require("buy_now", at_least(buy_now), || {
        "Fixed price: must not be below the starting price, or 0 for none.".into()
    });
    form.done()?;
    let seller = app.user(seller).await?;
    let start_date = when::now();
    let new = NewItem {
        name,
        description,
        initial_price,
        reserve_price,
        buy_now,
        quantity,
        category,
        seller: seller.id,
        region: seller.region,
        start_date,
        end_date: start_date + days * DAY,
        relist: 0,
    };
    let Accepted { answer: offered, differs } = sales::offer(&app.database, sent, &new).await?;
    let address = format!("/items/{}", offered.id);
    let category = offered.category;
    let body = html! {
        (sent_before(differs))
        p.notice.good role="status" { (offered.name) " is listed." }
        dl {
            dt { "Item" } dd { a href=(address) { (offered.name) } }
            dt { "Category" } dd { a href={ "/categories/" (category) } { (category_name(category).unwrap_or_default()) } }
            dt { "Starting price" } dd { (offered.initial_price) }
            @if let Some(price) = offered.reserve_price.some() { dt { "Reserve price" } dd { (price) } }
            @if let Some(price) = offered.buy_now.some() { dt { "Fixed price" } dd { (price) } }
            dt { "Quantity" } dd { (offered.quantity) }
            dt { "Ends" } dd { (Moment(offered.end_date)) }
        }
        p.actions {
            a.button href=(address) { "See it" } " "
            a.button.quiet href="/sell" { "Sell another" }
        }
    };
    Ok(layout::page("Your item is listed", &crumbs("Done"), body))
}
