//! Webhooks of the card processor: verified here, and handed to the application tier.

use tidegate_sitekit::log_once;
use tidegate_sitekit::log_seldom;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode};
use serde_json::json;

use super::failure;
use super::site::Site;
use crate::error::Error;
use crate::protocol::deposits::front::TakeEvent;
use tidegate_card::SIGNATURE;
use tidegate_sitekit::web::body;
use tidegate_sitekit::when;

/// Most bytes of an event, with a hundred movements of its payment.
const LARGEST: usize = 128 * 1024;

/// POST /card-events. Any status of success tells the processor not to send the event again.
pub async fn receive(State(site): State<Site>, request: Request) -> Response {
    let Some(verifier) = &site.webhooks else {
        return failure::not_found().await.into_response();
    };
    let (parts, body) = request.into_parts();
    let Ok(body) = body::collect(body, LARGEST).await else {
        return rejected("it is longer than 128 KiB, took longer than 10 s, or broke off");
    };
    let now_ms = i64::try_from(when::now_ms()).unwrap_or(i64::MAX);
    let event = match verifier.verify(signature(&parts.headers), &body, now_ms) {
        Ok(event) => event,
        Err(why) => return rejected(&why.to_string()),
    };
    match site.call(&TakeEvent { event }).await {
        Ok(_) => Json(json!({ "received": true })).into_response(),
        Err(Error::Refused(problem)) => {
            let why = problem.why.join(" ");
            log_once!(error by &why, why, "an event of the card processor cannot be used");
            let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::BAD_REQUEST);
            (status, Json(json!({ "error": problem.what }))).into_response()
        }
        // The processor sends it again, and deposits are looked at without it.
        Err(Error::Outage(outage)) => {
            failure::log(&outage);
            let body = json!({ "error": "not available; send it again" });
            (StatusCode::SERVICE_UNAVAILABLE, Json(body)).into_response()
        }
    }
}

/// The one signature; none where there are several, which differ for who reads the first and
/// who reads the last.
fn signature(headers: &HeaderMap) -> &str {
    let mut all = headers.get_all(SIGNATURE).iter();
    match (all.next(), all.next()) {
        (Some(only), None) => only.to_str().unwrap_or_default(),
        _ => "",
    }
}

fn rejected(why: &str) -> Response {
    // Anybody may send what is no event of the processor.
    log_seldom!(warn, why, "a webhook is rejected");
    (StatusCode::BAD_REQUEST, Json(json!({ "error": why }))).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_signature_or_none() {
        let mut headers = HeaderMap::new();
        assert_eq!(signature(&headers), "");
        headers.append(SIGNATURE, "t=1,v1=00".parse().unwrap());
        assert_eq!(signature(&headers), "t=1,v1=00");
        headers.append(SIGNATURE, "t=2,v1=00".parse().unwrap());
        assert_eq!(signature(&headers), "");
    }
}
