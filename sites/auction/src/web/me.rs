//! A person's own page.

use axum::extract::State;
use maud::{Markup, html};

use super::app::App;
use super::failure::Failure;
use super::home::shelf;
use super::layout::{self, Crumb};
use super::{field, user};
use crate::store::comments;
use crate::store::mine::{self, Line};
use tidegate_sitekit::money::Cents;
use tidegate_sitekit::web::form::Posted;
use tidegate_sitekit::web::page::Page;
use tidegate_sitekit::when::{self, Left, Moment};

/// Most comments on the page.
const COMMENTS: usize = 3;

/// GET /me: AboutMeAuth
pub async fn sign_in() -> Page {
    let body = html! {
        div.two {
            form.panel method="post" action="/me" {
                (field::sign_in())
                button type="submit" { "Show my auctions" }
            }
            div.aside {
                h2 { "What you will see" }
                p { "The auctions in which you bid and whether you lead, what you won, bought and sold in the last 30 days, what you offer now, and what others say about you." }
                p { "No account yet? " a href="/register" { "Open one" } "." }
            }
        }
    };
    layout::page("My auctions", &[Crumb::Here("My auctions")], body)
}

/// POST /me: AboutMe
pub async fn view(State(app): State<App>, posted: Posted) -> Result<Page, Failure> {
    let me = app.sign_in(&posted).await?;
    let now = when::now();
    let mine = mine::mine(&app.database, me.id, now).await?;
    let comments = comments::about(&app.database, me.id, 0).await?;
    let shelf = if mine.bidding.is_empty() { Some(shelf(&app).await?) } else { None };
    let body = html! {
        (user::profile(&me))
        (table("You bid on", "You bid on nothing at the moment.", ["Highest", "Your bid", "Left"], &mine.bidding, |line| html! {
            td.num { (line.price) }
            td.num { (line.own) " " @if line.own >= line.price { span.rating.good { "leads" } } @else { span.rating.bad { "overtaken" } } }
            td { (Left(line.date - now)) }
        }))
        (table("You won", "You won no auction in the last 30 days.", ["Price", "Bids", "Ended"], &mine.won, |line| html! {
            td.num { (line.price) } td.num { (line.number) } td { (Moment(line.date)) }
        }))
        (table("You bought", "You bought nothing at a fixed price in the last 30 days.", ["Price", "Quantity", "When"], &mine.bought, |line| html! {
            td.num { (line.price) } td.num { (line.number) } td { (Moment(line.date)) }
        }))
        (table("You offer", "You offer nothing at the moment.", ["Price", "Bids", "Left"], &mine.selling, |line| html! {
            td.num { (line.price) } td.num { (line.number) } td { (Left(line.date - now)) }
        }))
        (table("Your past auctions", "None of your auctions ended in the last 30 days.", ["Highest", "Bids", "Ended"], &mine.sold, |line| html! {
            td.num { @if line.price > Cents(0) { (line.price) } @else { "–" } } td.num { (line.number) } td { (Moment(line.date)) }
        }))
        @if let Some(shelf) = shelf { section { h2 { "Ending soon elsewhere" } (shelf) } }
        section {
            h2 { "What others say about you" }
            @if comments.is_empty() { p.aside { "Nobody has left a comment yet." } }
            @for comment in comments.iter().take(COMMENTS) { (user::shown(comment)) }
            p { a href={ "/users/" (me.id) } { "How others see you" } }
        }
        p.actions { a.button href="/browse" { "Browse the auctions" } " " a.button.quiet href="/sell" { "Sell something" } }
    };
    let crumbs = [Crumb::Above("/me", "My auctions"), Crumb::Here(&me.nickname)];
    Ok(layout::page(&format!("Hello, {}", me.nickname), &crumbs, body))
}

fn table(
    title: &str,
    nothing: &str,
    columns: [&str; 3],
    lines: &[Line],
    cells: impl Fn(&Line) -> Markup,
) -> Markup {
    html! {
        section {
            h2 { (title) }
            @if lines.is_empty() {
                p.aside { (nothing) }
            } @else {
                div.scroll { table {
                    thead { tr {
                        th scope="col" { "Item" }
                        th.num scope="col" { (columns[0]) }
                        th.num scope="col" { (columns[1]) }
                        th scope="col" { (columns[2]) }
                    } }
                    tbody { @for line in lines {
                        tr { td { a href={ "/items/" (line.item) } { (line.name) } } (cells(line)) }
                    } }
                } }
            }
        }
    }
}
