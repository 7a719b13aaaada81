//! The pages: the form, and what has become of a payment.

use tidegate_sitekit::log_once;

use axum::http::StatusCode;
use maud::{Markup, html};
use url::Url;

use super::layout;
use super::typed::Mistakes;
use crate::address;
use crate::app::App;
use crate::state::{Phase, Status};
use crate::store::payments::Stored;
use tidegate_sitekit::web::page::Page;
use tidegate_sitekit::{Error, Problem};

/// The page of a payment, whatever its state.
pub fn of(app: &App, payment: &Stored) -> Page {
    let amount = payment.currency.show(payment.state.amount);
    match payment.state.phase {
        Phase::RequiresCard => form(app, payment, "", &Mistakes::default()),
        Phase::Processing => {
            let again = format!("/checkout/{}", payment.checkout);
            let body = html! {
                h1 { "Waiting for your bank" }
                (facts(payment))
                p role="status" {
                    "Your bank has not answered yet. Do not pay again: your card is asked for this "
                    "payment once. You can leave this page; the payment goes on without it."
                }
                p.actions {
                    a.button href=(again) { "Look again" }
                    (back(app, payment, "Back to the merchant"))
                }
            };
            page(app, payment, "Waiting for your bank", &body)
        }
        Phase::Open | Phase::Closed => {
            let refunded =
                matches!(payment.state.status(), Status::PartiallyRefunded | Status::Refunded);
            let body = html! {
                h1 { "You have paid " (amount) }
                (facts(payment))
                @if refunded {
                    p role="status" { "Of this, " (payment.currency.show(payment.state.refunded)) " was given back to your card." }
                }
                p.actions { (back(app, payment, "Back to the merchant")) }
            };
            page(app, payment, "Paid", &body)
        }
        Phase::Cancelled => {
            let body = html! {
                h1 { "This payment was cancelled" }
                (facts(payment))
                p role="status" { "Nothing was charged. To pay after all, begin again at the merchant." }
                p.actions { (back(app, payment, "Back to the merchant")) }
            };
            page(app, payment, "Cancelled", &body)
        }
        Phase::Declined => {
            let body = html! {
                h1 { "The card was declined" }
                (facts(payment))
                p role="alert" {
                    "Nothing was charged. No other card can be tried for this payment: begin again "
                    "at the merchant."
                }
                p.actions { (back(app, payment, "Back to the merchant")) }
            };
            page(app, payment, "Declined", &body)
        }
    }
}

/// The form, with what was wrong the last time.
pub fn form(app: &App, payment: &Stored, expiry: &str, mistakes: &Mistakes) -> Page {
    let amount = payment.currency.show(payment.state.amount);
    let action = format!("/checkout/{}", payment.checkout);
    let first = [mistakes.number, mistakes.expiry, mistakes.cvc].iter().position(Option::is_some);
    let focus = |place: usize| first.unwrap_or(0) == place;
    let body = html! {
        h1 { "Pay " (amount) }
        (facts(payment))
        @if mistakes.any() {
            div.notice role="alert" {
                p { (mistakes.form.unwrap_or("The card was not accepted, and nothing was charged. Please correct what is marked.")) }
            }
        }
        form method="post" action=(action) novalidate autocomplete="on" {
            (field(&Field {
                name: "number", label: "Card number", hint: "The digits on the card; the one that always works is 4242, four times",
                complete: "cc-number", most: 30, value: "", mistake: mistakes.number, focus: focus(0),
            }))
            div.pair {
                (field(&Field {
                    name: "expiry", label: "Expiry date", hint: "Month and year, such as 04/30",
                    complete: "cc-exp", most: 9, value: expiry, mistake: mistakes.expiry, focus: focus(1),
                }))
                (field(&Field {
                    name: "cvc", label: "Security code", hint: "3 digits on the back, or 4 on the front",
                    complete: "cc-csc", most: 4, value: "", mistake: mistakes.cvc, focus: focus(2),
                }))
            }
            button type="submit" { "Pay " (amount) }
        }
        form.cancel method="post" action={ (action) "/cancel" } {
            button.quiet type="submit" { "Cancel and go back" }
        }
    };
    let title = format!("{}Pay {amount}", if mistakes.any() { "Error: " } else { "" });
    page(app, payment, &title, &body)
}

struct Field<'a> {
    name: &'a str,
    label: &'a str,
    hint: &'a str,
    complete: &'a str,
    most: usize,
    value: &'a str,
    mistake: Option<&'a str>,
    focus: bool,
}

fn field(field: &Field<'_>) -> Markup {
    let name = field.name;
    let hint = format!("{name}-hint");
    let mistake = format!("{name}-mistake");
    let described = match field.mistake {
        Some(_) => format!("{mistake} {hint}"),
        None => hint.clone(),
    };
    html! {
        div.field.wrong[field.mistake.is_some()] {
            label for=(name) { (field.label) }
            @if let Some(text) = field.mistake { p.mistake #(mistake) { (text) } }
            input #(name) name=(name) type="text" inputmode="numeric" autocomplete=(field.complete)
                maxlength=(field.most) value=(field.value) required autofocus[field.focus]
                aria-invalid=[field.mistake.map(|_| "true")] aria-describedby=(described);
            p.hint #(hint) { (field.hint) }
        }
    }
}

fn facts(payment: &Stored) -> Markup {
    html! {
        dl {
            dt { "To" } dd { (payment.merchant) }
            @if !payment.description.is_empty() { dt { "For" } dd { (payment.description) } }
            dt { "Amount" } dd { (payment.currency.show(payment.state.amount)) }
            dt { "Reference" } dd { (payment.reference) }
            @if let Some(card) = &payment.card {
                dt { "Card" } dd { (card.brand.name()) ", ends in " (card.last4) }
            }
        }
    }
}

fn back(app: &App, payment: &Stored, text: &str) -> Markup {
    html! {
        @if let Some(url) = way_back(app, payment) { a.button.quiet href=(url) rel="noreferrer" { (text) } }
    }
}

/// Where the customer goes back to, if that is still registered.
pub fn way_back(app: &App, payment: &Stored) -> Option<String> {
    let url = Url::parse(&payment.return_url).ok()?;
    let merchant = app.merchants.get(&payment.merchant)?;
    let fields = [("payment", payment.id.as_str()), ("reference", &payment.reference)];
    address::is_registered(&url, &merchant.return_urls).then(|| address::with_fields(&url, &fields))
}

fn page(app: &App, payment: &Stored, title: &str, body: &Markup) -> Page {
    let origin = way_back(app, payment)
        .and_then(|url| Url::parse(&url).ok())
        .map(|url| address::origin(&url));
    layout::page(title, origin.as_deref(), body)
}

/// The refusal of an address of no payment.
pub fn no_such_payment() -> Problem {
    Problem::new(
        404,
        "There is no such payment",
        "The address is of no payment, or it was not copied as a whole.",
        "Begin again at the merchant.",
    )
}

/// An error as a page.
pub fn failure(error: &Error) -> Page {
    let (status, what, why) = match error {
        Error::Client(problem) => (
            StatusCode::from_u16(problem.status).unwrap_or(StatusCode::BAD_REQUEST),
            problem.what.to_string(),
            format!("{} {}", problem.sentences().join(" "), problem.remedy),
        ),
        error => {
            log_once!(error by &error.to_string(), %error, "a card form failed");
            (
                StatusCode::SERVICE_UNAVAILABLE,
                "Something went wrong on our side".to_owned(),
                "The page could not be shown just now. Go back, wait a moment, and look again: \
                 your card is asked for a payment once."
                    .to_owned(),
            )
        }
    };
    let body = html! { h1 { (what) } p role="alert" { (why) } };
    layout::page(&what, None, &body).status(status)
}
