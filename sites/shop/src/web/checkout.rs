//! The checkout: the address, then the sum with tax and shipping there, then the order.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};

use super::app::App;
use super::basket::sum;
use super::failure::Failure;
use super::layout;
use super::shelf::Around;
use super::visitor::{Session, Visitor};
use super::zone::RULE;
use crate::payments::Payments;
use crate::price::in_zone;
use crate::store::basket::{self, Line};
use crate::store::customers::{self, Address};
use crate::store::orders::{self, NewOrder};
use crate::store::{places, queue};
use crate::zones::{Zone, of_postcode};
use tidegate_card::client::reference;
use tidegate_sitekit::money::Cents;
use tidegate_sitekit::once::form::Accepted;
use tidegate_sitekit::web::field::{Filled, hidden, input, summary};
use tidegate_sitekit::web::form::{Check, Posted};
use tidegate_sitekit::web::page::Page;
use tidegate_sitekit::{Mistake, Problem, when};

/// After so many milliseconds the worker takes up what a customer waits for.
const DUE_IN: i64 = 4_000;

/// Where an order goes, and the mail address of who has ordered.
#[derive(Clone, Debug, Default)]
pub struct Recipient {
    /// Mail address.
    pub email: String,
    /// Name, street, city and postcode.
    pub address: Address,
}

impl Recipient {
    /// Reads the fields of a form.
    pub fn read(form: &mut Check<'_>) -> Self {
        let email = form.text("email", "Mail address", 3..=80);
        let parts = email.split_once('@');
        let is_address = parts.is_some_and(|(name, host)| !name.is_empty() && !host.is_empty());
        form.require("email", is_address && !email.contains(char::is_whitespace), || {
            "Mail address: must look like name@example.com.".into()
        });
        let name = form.text("name", "Name", 1..=80).to_owned();
        let street = form.text("street", "Street and number", 1..=80).to_owned();
        let city = form.text("city", "City", 1..=60).to_owned();
        let postcode = form.text("postcode", "Postcode", 1..=20).to_owned();
        form.require("postcode", of_postcode(&postcode).is_some(), || RULE.into());
        let address = Address { name, street, city, postcode };
        Self { email: email.to_owned(), address }
    }

    /// What a form was filled in with, whatever it is.
    pub fn of(posted: &Posted) -> Self {
        let value =
            |name: &str| posted.get(name).unwrap_or_default().chars().take(100).collect::<String>();
        Self {
            email: value("email"),
            address: Address {
                name: value("name"),
                street: value("street"),
                city: value("city"),
                postcode: value("postcode"),
            },
        }
    }

    /// Names and values of the fields.
    fn fields(&self) -> [(&'static str, &str); 5] {
        let Address { name, street, city, postcode } = &self.address;
        [
            ("email", &self.email),
            ("name", name),
            ("street", street),
            ("city", city),
            ("postcode", postcode),
        ]
    }

    /// The fields of a form, filled in with this.
    pub fn inputs(&self, filled: Filled<'_>) -> Markup {
        let [email, name, street, city, postcode] = self.fields().map(|(_, value)| value);
        html! {
            (input(filled, "Mail address", "email", "email", "email", email, ""))
            (input(filled, "Name", "name", "text", "name", name, "First and last name"))
            (input(filled, "Street and number", "street", "text", "street-address", street, ""))
            (input(filled, "City", "city", "text", "address-level2", city, ""))
            (input(filled, "Postcode", "postcode", "text", "postal-code", postcode, "Five digits"))
        }
    }
}

/// The session of a visitor with what is in its basket.
async fn basket_of(app: &App, visitor: Visitor) -> Result<(Session, Vec<Line>), Failure> {
    if let Some(session) = visitor.session {
        let lines = basket::lines(&app.database, &session.key).await?;
        if !lines.is_empty() {
            return Ok((session, lines));
        }
    }
    let why = "There is nothing to order: it was ordered already, or was kept too long ago.";
    let remedy = "Put something into your basket first.";
    Err(Problem::new(409, "Your basket is empty", why, remedy).into())
}

/// GET /checkout
pub async fn form(State(app): State<App>, visitor: Visitor) -> Result<Page, Failure> {
    let around = app.around(visitor.zone).await?;
    let (session, lines) = basket_of(&app, visitor).await?;
    processor(&app)?;
    let known = customers::by_id(&app.database, session.customer).await?;
    let recipient = known.map_or_else(Recipient::default, |customer| Recipient {
        email: customer.email,
        address: customer.address,
    });
    let body = html! {
        h1 { "Checkout" }
        p.lead { "Where does it go? Tax and shipping follow from the postcode; you see the sum before you order." }
        (asked(&recipient, &[]))
        (listed(&around.zone, &lines))
    };
    Ok(layout::page(&around, "Checkout", &[("/basket", "Basket")], &body))
}

fn asked(recipient: &Recipient, mistakes: &[Mistake]) -> Markup {
    html! {
        form.panel method="post" action="/checkout" {
            (recipient.inputs(Filled { mistakes }))
            button type="submit" { "Show the sum" }
        }
    }
}

fn listed(zone: &Zone, lines: &[Line]) -> Markup {
    html! {
        h2 { "In your basket" }
        ul.plain {
            @for line in lines {
                li { (line.quantity) " × " (line.name) ", " (Cents(in_zone(zone, line.price).0 * line.quantity)) }
            }
        }
    }
}

fn processor(app: &App) -> Result<&Payments, Problem> {
    app.payments.as_ref().ok_or_else(|| {
        Problem::new(
            409,
            "Nothing can be ordered",
            "This shop has no card processor, so it cannot take money.",
            "Tell its operator: `tidegate site shop` starts one, or takes one by --card-processor.",
        )
    })
}

/// POST /checkout: the sum for this address.
pub async fn review(
    State(app): State<App>,
    visitor: Visitor,
    posted: Posted,
) -> Result<Page, Failure> {
    let around = app.around(visitor.zone).await?;
    let (session, lines) = basket_of(&app, visitor).await?;
    processor(&app)?;
    let mut form = posted.check();
    let recipient = Recipient::read(&mut form);
    let mistakes = form.marked();
    let (zone, true) = (of_postcode(&recipient.address.postcode), mistakes.is_empty()) else {
        return Ok(mistaken(&around, &posted, mistakes));
    };
    let zone = places::zone(&app.database, zone.unwrap_or_default()).await?;
    let cost = orders::cost(&zone, &lines);
    let auth = app.token(session.order(cost.total().0));
    let Recipient { email, address } = &recipient;
    let body = html! {
        h1 { "Your order" }
        div.two {
            div {
                (listed(&zone, &lines))
                (sum(cost))
            }
            div {
                h2 { "It goes to" }
                p { (address.name) br; (address.street) br; (address.city) " " (address.postcode) br; (email) }
                form method="post" action="/orders" {
                    (hidden("auth", auth))
                    @for (name, value) in recipient.fields() { (hidden(name, value)) }
                    button type="submit" { "Order and pay by card" }
                }
                p.aside { "You type your card at the card processor; the shop never sees its number. " a href="/checkout" { "Change the address" } }
            }
        }
    };
    let above = [("/basket", "Basket"), ("/checkout", "Checkout")];
    Ok(layout::page(&around, "Your order", &above, &body))
}

fn mistaken(around: &Around, posted: &Posted, mistakes: Vec<Mistake>) -> Page {
    let problem = Problem::of_form("Please correct the form", "Correct them.", mistakes);
    let body = html! {
        h1 { (problem.what) }
        (summary(&problem))
        (asked(&Recipient::of(posted), &problem.mistakes))
    };
    let page = layout::page(around, &problem.what, &[("/basket", "Basket")], &body);
    page.status(StatusCode::UNPROCESSABLE_ENTITY)
}

/// POST /orders: places the order once, and asks the processor for its card form. If that takes
/// long the customer has the order without a form.
pub async fn order(
    State(app): State<App>,
    visitor: Visitor,
    posted: Posted,
) -> Result<Response, Failure> {
    let payments = processor(&app)?;
    let session = visitor.session.ok_or_else(|| {
        let why = "It is over, or your browser does not keep cookies.";
        Problem::new(403, "Your session is over", why, "Fill your basket again.")
    })?;
    let (sent, total) = app.issued(session.order(0), &posted)?;
    let mut form = posted.check();
    let Recipient { email, address } = Recipient::read(&mut form);
    form.done()?;
    let zone = of_postcode(&address.postcode).unwrap_or_default();
    let zone = places::zone(&app.database, zone).await?;
    let reference = reference("order", rand::random());
    let new = NewOrder {
        session: &session.key,
        customer: session.customer,
        reference: &reference,
        zone: &zone,
        total: Cents(total),
        email: &email,
        address: &address,
        now: when::now(),
        due_ms: queue::now() + DUE_IN,
    };
    let Accepted { answer: order, differs } = orders::place(&app.database, sent, new).await?;
    // It is stored: its page says how far it has come.
    let _ = payments.work_quickly(order.number).await;
    let and = if differs { "again" } else { "pay" };
    Ok(Redirect::to(&format!("/orders/{}?{and}", order.number)).into_response())
}
