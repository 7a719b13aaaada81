//! Events over HTTP, with the log of their deliveries.

use axum::extract::{RawQuery, State};
use serde_json::{Value, json};

use super::auth::Caller;
use super::id::Id;
use super::reply::Reply;
use crate::app::App;
use crate::refusal::Refusal;
use crate::store::deliveries::{self, Attempt, DeliveryState, Logged};
use crate::store::events;

/// Events in an answer, unless the merchant says how many.
const SOME: i64 = 20;
/// Most events in an answer.
const MOST: i64 = 100;

/// GET /v1/events?after=SEQUENCE&limit=N
pub async fn list(
    State(app): State<App>,
    RawQuery(query): RawQuery,
    caller: Caller,
) -> Result<Reply, Reply> {
    let (after, limit) = page(&query.unwrap_or_default())?;
    let mut found = events::after(app.database(), &caller.merchant, after, limit + 1).await?;
    let has_more = found.len() > usize::try_from(limit).unwrap_or_default();
    if has_more {
        found.pop();
    }
    let bodies: Vec<String> = found.into_iter().map(|event| event.body).collect();
    let list = bodies.join(",");
    Ok(Reply::json(format!("{{\"events\":[{list}],\"has_more\":{has_more}}}")))
}

fn page(query: &str) -> Result<(i64, i64), Refusal> {
    let (mut after, mut limit) = (0, SOME);
    for (name, text) in url::form_urlencoded::parse(query.as_bytes()).take(3) {
        let (field, range, rule) = match &*name {
            "after" => (&mut after, 0..=i64::MAX, "Must be the sequence of an event, or 0."),
            "limit" => (&mut limit, 1..=MOST, "Must be 1 to 100."),
            _ => {
                let text = "The query may have the fields `after` and `limit`.";
                return Err(Refusal::new(400, "field_unknown", text));
            }
        };
        *field = text.parse().ok().filter(|number| range.contains(number)).ok_or_else(|| {
            Refusal::new(400, "query_invalid", rule).field(if name == "after" {
                "after"
            } else {
                "limit"
            })
        })?;
    }
    Ok((after, limit))
}

/// GET /v1/events/{id}
pub async fn retrieve(State(app): State<App>, caller: Caller, Id(id): Id) -> Result<Reply, Reply> {
    let Some(event) = events::by_id(app.database(), &caller.merchant, &id).await? else {
        let text = "There is no such event of this merchant; events are kept for 30 days.";
        return Err(Refusal::new(404, "event_not_found", text).into());
    };
    let log = deliveries::log(app.database(), &event.id).await?;
    let deliveries: Value = log.into_iter().map(written).collect();
    Ok(Reply::json(format!("{{\"event\":{},\"deliveries\":{deliveries}}}", event.body)))
}

fn written((delivery, attempts): (Logged, Vec<Attempt>)) -> Value {
    let attempts: Vec<Value> = attempts
        .into_iter()
        .map(|attempt| {
            let status = (attempt.status != 0).then_some(attempt.status);
            let error = (!attempt.error.is_empty()).then_some(attempt.error);
            json!({ "at_ms": attempt.at, "took_ms": attempt.took, "status": status, "error": error })
        })
        .collect();
    let pending = delivery.state == DeliveryState::Pending;
    json!({
        "endpoint": delivery.endpoint,
        "state": delivery.state.name(),
        "next_attempt_ms": pending.then_some(delivery.next),
        "attempts": attempts,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_read_and_what_is_none_is_refused() {
        assert_eq!(page(""), Ok((0, SOME)));
        assert_eq!(page("after=17&limit=100"), Ok((17, 100)));
        for query in ["after=-1", "after=x", "limit=0", "limit=101", "x=1", "limit=1&x", "after="] {
            assert_eq!(page(query).unwrap_err().status, 400, "{query}");
        }
    }
}
