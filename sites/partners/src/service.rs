//! Answers requests as the behaviour of their role says.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use serde_json::json;
use tidegate_sitekit::database::Database;
use tidegate_sitekit::link::{self, Reply};
use tidegate_sitekit::{Error, Problem, Result, api, when};
use tokio::time::sleep;

use crate::behaviour::Fate;
use crate::ledger;
use crate::options::Options;
use crate::protocol::{
    Call, Decision, Delivery, PurchaseOrder, Receipt, Replenishment, Role, Shipment,
};

/// How long a request that is never answered is kept: its caller has gone long before.
const HANG: Duration = Duration::from_secs(3600);
/// The page that lists all fields.
const FIELDS: &str = "docs/b2b.md";

/// Answers the requests of one core.
#[derive(Clone)]
pub struct Handler {
    pub(crate) database: Database,
    pub(crate) options: Arc<Options>,
}

impl link::Handler for Handler {
    async fn call(&self, operation: &str, body: Bytes) -> Reply {
        match Role::of_name(operation) {
            Some(Role::Validation) => self.answer(&body, decide).await,
            Some(Role::Inventory) => self.answer(&body, deliver).await,
            Some(Role::Shipment) => self.answer(&body, receive).await,
            None => {
                let text = "There is no such role; they are validation, inventory and shipment.";
                refused(&Problem::coded(404, "no_such_role", text))
            }
        }
    }

    async fn health(&self) -> Reply {
        let answers = self.database.first::<i64>("SELECT 1", &[]).await.is_ok();
        let status = if answers { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        Reply { status, body: json!({ "ok": answers }).to_string().into() }
    }
}

impl Handler {
    async fn answer<C: Call>(&self, body: &Bytes, work: fn(&Options, &C) -> C::Answer) -> Reply {
        let request: C = match read(body) {
            Ok(request) => request,
            Err(problem) => return refused(&problem),
        };
        let (fate, latency) = self.options.behaviour(C::ROLE).draw();
        sleep(if fate == Fate::Hang { HANG } else { latency }).await;
        if matches!(fate, Fate::Hang | Fate::Fail) {
            return failed("as it is set to");
        }
        let answer = work(&self.options, &request);
        let (key, now) = (request.key(), when::now());
        let stored = ledger::answer(&self.database, C::ROLE, key, &request, &answer, now).await;
        match stored {
            Ok(_) if fate == Fate::Lose => failed("after it was done, as it is set to"),
            Ok(body) => Reply { status: StatusCode::OK, body: body.into() },
            Err(Error::Client(problem)) => refused(&problem),
            Err(error) => {
                tidegate_sitekit::log_once!(error by &error.to_string(), %error, "a request failed");
                failed("its database does not answer")
            }
        }
    }
}

fn read<C: Call>(body: &[u8]) -> Result<C, Problem> {
    let request: C = api::parse(body, FIELDS)?;
    match request.mistake() {
        None => Ok(request),
        Some((field, text)) => {
            Err(Problem::of_field(field, "field_invalid", format!("{field}: {text}.")))
        }
    }
}

fn decide(options: &Options, order: &PurchaseOrder) -> Decision {
    let accepted = !options.validation.declines(&order.key);
    Decision { accepted, reference: format!("v-{}", order.key) }
}

fn deliver(_: &Options, order: &Replenishment) -> Delivery {
    Delivery { quantity: order.quantity, reference: format!("d-{}", order.key) }
}

fn receive(_: &Options, shipment: &Shipment) -> Receipt {
    Receipt { pieces: shipment.pieces, reference: format!("t-{}", shipment.key) }
}

fn refused(problem: &Problem) -> Reply {
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::BAD_REQUEST);
    Reply { status, body: problem.json().into() }
}

fn failed(why: &str) -> Reply {
    let text = format!("The partner has failed: {why}. Repeat the request under its key.");
    let body = Problem::coded(503, "failed", text).json();
    Reply { status: StatusCode::SERVICE_UNAVAILABLE, body: body.into() }
}
