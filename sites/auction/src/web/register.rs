//! Opening an account.

use axum::extract::State;
use maud::html;

use super::app::{App, Purpose};
use super::failure::Failure;
use super::field;
use super::layout::{self, Crumb, sent_before};
use crate::catalogue::{REGION_COUNT, REGIONS, region_name};
use crate::store::users::{self, NewUser};
use tidegate_sitekit::once::form::Accepted;
use tidegate_sitekit::web::field::hidden;
use tidegate_sitekit::web::form::Posted;
use tidegate_sitekit::web::page::Page;
use tidegate_sitekit::when;

/// GET /register: Register
pub async fn form(State(app): State<App>) -> Page {
    let body = html! {
        div.two {
            form.panel method="post" action="/register" {
                (hidden("auth", app.token(0, Purpose::Register)))
                div.short { (field::text("First name", "firstname", (1, 20), "")) }
                div.short { (field::text("Last name", "lastname", (1, 20), "")) }
                (field::text("Nickname", "nickname", (1, 32), "What others see. Letters, digits, and . _ -"))
                (field::email("Mail address", "email"))
                (field::new_password("Password", "password"))
                (field::select("Region", "region", (1..).zip(REGIONS), 1))
                button type="submit" { "Open the account" }
            }
            div.aside {
                h2 { "What an account is for" }
                p { "Anybody may look around. With an account you can also bid, buy, sell, and say how it was." }
                p { "You sign in whenever you do one of these, and are signed out right after: nothing follows you from page to page." }
                p { "Your mail address is shown to nobody. Your password is kept as a salted argon2id hash; nobody here can read it." }
            }
        }
    };
    layout::page("Open an account", &[Crumb::Here("Register")], body)
}

/// POST /register: RegisterUser
pub async fn register(State(app): State<App>, posted: Posted) -> Result<Page, Failure> {
    let (_, sent) = app.issued_for(Purpose::Register, &posted)?;
    let mut form = posted.check();
    let firstname = form.text("firstname", "First name", 1..=20);
    let lastname = form.text("lastname", "Last name", 1..=20);
    let nickname = form.text("nickname", "Nickname", 1..=32);
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    form.require("nickname", nickname.chars().all(plain), || {
        "Nickname: only letters from a to z, digits, and . _ - may be used.".into()
    });
    let email = form.text("email", "Mail address", 3..=50);
    let address = email.split_once('@');
    form.require(
        "email",
        address.is_some_and(|(name, host)| !name.is_empty() && !host.is_empty())
            && !email.contains(' '),
        || "Mail address: must look like name@example.com.".into(),
    );
    let password = form.secret("password", "Password", 8..=128);
    let region = form.number("region", "Region", 1..=REGION_COUNT);
    form.done()?;

    let hash = app.hasher.hash(password.to_owned()).await?;
    let creation_date = when::now();
    let new =
        NewUser { firstname, lastname, nickname, password: &hash, email, region, creation_date };
    let Accepted { answer: opened, differs } = users::register(&app.database, sent, &new).await?;
    let body = html! {
        (sent_before(differs))
        p.notice.good role="status" { "Welcome, " (opened.firstname) ". Your account is open." }
        dl {
            dt { "Nickname" } dd { a href={ "/users/" (opened.id) } { (opened.nickname) } }
            dt { "Name" } dd { (opened.firstname) " " (opened.lastname) }
            dt { "Mail address" } dd { (opened.email) }
            dt { "Region" } dd { (region_name(opened.region).unwrap_or("")) }
        }
        p.actions {
            a.button href="/browse" { "Browse the auctions" } " "
            a.button.quiet href="/sell" { "Sell something" }
        }
    };
    Ok(layout::page(
        "Your account is open",
        &[Crumb::Above("/register", "Register"), Crumb::Here("Done")],
        body,
    ))
}
