//! Operations over a link: typed calls, and answers to them.

use tidegate_sitekit::log_once;
use tidegate_sitekit::log_seldom;

use bytes::Bytes;
use http::StatusCode;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};
use crate::protocol::{GetHealth, Health, Operation, Outage, Problem};
use tidegate_sitekit::link::{Client, Reply};

/// Calls the next tier.
///
/// # Errors
/// The tier refuses the request, failed, or cannot be reached.
pub async fn call<O: Operation>(client: &Client, request: &O) -> Result<O::Answer> {
    let body = serde_json::to_vec(request).map_err(|error| unreadable::<O>(client, &error))?;
    let reply = client.call(&format!("/{}", O::NAME), body).await?;
    let read = |status: StatusCode| -> std::result::Result<Result<O::Answer>, serde_json::Error> {
        Ok(match status.as_u16() {
            200 => Ok(serde_json::from_slice(&reply.body)?),
            400..=499 => Err(Error::Refused(serde_json::from_slice::<Problem>(&reply.body)?)),
            _ => Err(Error::Outage(serde_json::from_slice::<Outage>(&reply.body)?)),
        })
    };
    match read(reply.status) {
        Ok(Err(Error::Outage(outage))) => {
            let cause = format!("{} tier: {}", client.next(), outage.cause);
            Err(Outage { cause, ..outage }.into())
        }
        Ok(result) => result,
        Err(error) => Err(unreadable::<O>(client, &error)),
    }
}

fn unreadable<O: Operation>(client: &Client, error: &serde_json::Error) -> Error {
    let next = client.next();
    let cause = format!(
        "{next} tier: the answer to {} cannot be read ({error}); are both tiers of one version?",
        O::NAME
    );
    Outage { cause, may_be_done: true }.into()
}

/// Answers an operation whose request is in `body`.
pub async fn answer<O: Operation, F: Future<Output = Result<O::Answer>> + Send>(
    body: &Bytes,
    work: impl FnOnce(O) -> F + Send,
) -> Reply {
    let request = match read::<O>(body) {
        Ok(request) => request,
        Err(problem) => return refused(&problem),
    };
    match work(request).await {
        Ok(answer) => reply(StatusCode::OK, &answer),
        Err(Error::Refused(problem)) => refused(&problem),
        Err(Error::Outage(outage)) => {
            log_once!(error by &outage.cause, operation = O::NAME, cause = outage.cause, "an operation failed");
            failed(&outage)
        }
    }
}

fn read<T: DeserializeOwned + Operation>(body: &Bytes) -> std::result::Result<T, Problem> {
    serde_json::from_slice(body).map_err(|error| {
        let why = format!("The request of {} is not of its schema: {error}.", T::NAME);
        log_seldom!(warn, "{why}");
        let remedy = "Send what the protocol says; are both tiers of one version?";
        Problem::new(400, "The request cannot be read", why, remedy)
    })
}

/// Answers an operation by a table: each request with the future of its answer.
macro_rules! answer_by_table {
    ($operation:expr, $body:expr; $($request:ident($name:pat) => $work:expr;)+) => {
        match $operation {
            $(<$request as $crate::protocol::Operation>::NAME => {
                $crate::rpc::answer($body, |$name: $request| async move { $work }).await
            })+
            unknown => $crate::rpc::unknown(unknown),
        }
    };
}
pub(crate) use answer_by_table;

/// The answer to an operation that does not exist.
pub fn unknown(operation: &str) -> Reply {
    let why = format!("There is no operation {operation:?} here.");
    let remedy = "Is this the tier that you mean, and are both of one version?";
    refused(&Problem::new(404, "There is no such operation", why, remedy))
}

/// How this tier is, as an answer for anybody.
pub fn health(health: &Health) -> Reply {
    let status = if health.ok { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    reply(status, health)
}

/// How the tier after this one is, and this one with it.
pub async fn health_through(own: &str, client: &Client) -> Health {
    let next = match call(client, &GetHealth {}).await {
        Ok(next) => next,
        Err(error) => {
            if let Error::Outage(outage) = &error {
                log_once!(warn by &outage.cause, cause = outage.cause, "the next tier is not well");
            }
            Health { tier: client.next().into(), ok: false, next: None }
        }
    };
    Health { tier: own.into(), ok: next.ok, next: Some(Box::new(next)) }
}

fn refused(problem: &Problem) -> Reply {
    let status = StatusCode::from_u16(problem.status).ok().filter(StatusCode::is_client_error);
    // What its sender may not tell apart from a link that refuses it.
    let status = status.filter(|status| *status != StatusCode::FORBIDDEN);
    reply(status.unwrap_or(StatusCode::BAD_REQUEST), problem)
}

fn failed(outage: &Outage) -> Reply {
    reply(StatusCode::SERVICE_UNAVAILABLE, outage)
}

fn reply(status: StatusCode, body: &impl Serialize) -> Reply {
    match serde_json::to_vec(body) {
        Ok(body) => Reply { status, body: body.into() },
        Err(error) => {
            tracing::error!(%error, "an answer cannot be written");
            Reply { status: StatusCode::INTERNAL_SERVER_ERROR, body: Bytes::from_static(b"{}") }
        }
    }
}
