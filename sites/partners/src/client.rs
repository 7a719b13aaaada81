//! The side of the business: calls with a deadline, repeated under their key, and a circuit
//! breaker for each role.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use tidegate_sitekit::attempts::{Attempts, Patience};
use tidegate_sitekit::breaker::{Breaker, Limits};
use tidegate_sitekit::link::{self, ClientSide, Deadlines, Files, Kind, Reply};
use tidegate_sitekit::problem::{ApiError, Failure};
use tidegate_sitekit::{Result as KitResult, log_once};
use tokio::time::timeout;

use crate::protocol::{Call, Role};
use crate::site::{BUSINESS, LINK, PARTNERS};

/// Deadline for a connection, its TLS handshake included.
const CONNECT: Duration = Duration::from_secs(2);

/// Where the partners are, and how they are called.
#[derive(Clone, Debug)]
pub struct PartnerOptions {
    /// Address and port of the partners; several of them are called in turn.
    pub addresses: Vec<String>,
    /// Folder of the certificates.
    pub certificates: PathBuf,
    /// When calls of a role that fails are refused.
    pub breaker: Limits,
}

/// What all cores of a process share: TLS sessions and breakers.
#[derive(Clone, Debug)]
pub struct Partners {
    side: ClientSide,
    addresses: Vec<String>,
    breakers: Arc<[Breaker; Role::ALL.len()]>,
}

/// Calls the partners, from one core.
#[derive(Clone, Debug)]
pub struct Client {
    link: link::Client,
    patience: Patience,
    breakers: Arc<[Breaker; Role::ALL.len()]>,
}

/// Why a call has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The partner refuses the request, and will again.
    #[error("the partner refuses with {}: {}", .0.code, .0.message)]
    Refused(ApiError),
    /// The partner failed, did not answer in time, or is not called for the moment because of
    /// that. The request may have been carried out; it can be repeated under its key.
    #[error("{0}")]
    Unavailable(String),
}

impl Partners {
    /// The partners with these options.
    ///
    /// # Errors
    /// The certificates or an address cannot be used: an error for the operator.
    pub fn new(options: &PartnerOptions) -> KitResult<Self> {
        let files = Files { certificates: Some(options.certificates.clone()), keys: None };
        let side = ClientSide::new(LINK, &files, BUSINESS, PARTNERS)?;
        let addresses = options.addresses.clone();
        if let Some(wrong) = addresses.iter().find(|address| !is_address(address)) {
            return Err(tidegate_sitekit::Error::Operator(format!(
                "partners {wrong}: must be an address and a port, such as 127.0.0.1:9100"
            )));
        }
        let breakers = Arc::new(std::array::from_fn(|_| Breaker::new(options.breaker)));
        Ok(Self { side, addresses, breakers })
    }

    /// A client for one core, whose calls take as long as this.
    ///
    /// # Errors
    /// There is no address: an error for the operator.
    pub fn client(&self, patience: Patience) -> KitResult<Client> {
        let deadlines = Deadlines { connect: CONNECT, whole: patience.attempt };
        let link = link::Client::new(self.side.clone(), &self.addresses, deadlines)?;
        Ok(Client { link, patience, breakers: Arc::clone(&self.breakers) })
    }

    /// Whether calls of a role are made, for a health page.
    pub fn is_called(&self, role: Role) -> bool {
        !self.breakers[index(role)].is_open()
    }
}

impl Client {
    /// Makes a request, as often as there is time for.
    ///
    /// # Errors
    /// It is refused, or the partner is unavailable.
    pub async fn call<C: Call>(&self, request: &C) -> Result<C::Answer, Error> {
        let body = serde_json::to_vec(request).map_err(|error| {
            Error::Unavailable(format!("the request cannot be written: {error}"))
        })?;
        let path = format!("/{}", C::ROLE.name());
        let breaker = &self.breakers[index(C::ROLE)];
        let mut attempts = Attempts::begin(self.patience);
        loop {
            let permit = match breaker.admit(Instant::now()) {
                Ok(permit) => permit,
                Err(_) => return Err(not_called(C::ROLE)),
            };
            let called = timeout(attempts.deadline(), self.link.call(&path, body.clone())).await;
            let mut certain = false;
            let why = match called {
                Ok(Ok(reply)) => match read(&reply) {
                    Read::Answer(answer) => {
                        permit.succeeded();
                        return Ok(answer);
                    }
                    Read::Refused(error) => {
                        permit.succeeded();
                        return Err(Error::Refused(error));
                    }
                    Read::Failed(why) => why,
                },
                // Nothing of the partner's: the request was not sent.
                Ok(Err(error)) if error.kind == Kind::Busy => {
                    return Err(Error::Unavailable(error.to_string()));
                }
                Ok(Err(error)) => {
                    // It refuses the certificate, and will again.
                    certain = error.kind == Kind::Refused;
                    error.to_string()
                }
                Err(_) => "no answer in time".into(),
            };
            permit.failed(Instant::now());
            let cause = format!("partner for {}: {why}", C::ROLE.name());
            log_once!(warn by &cause, cause, "a call of a partner failed");
            if certain || !attempts.again(None).await {
                return Err(Error::Unavailable(cause));
            }
        }
    }
}

fn index(role: Role) -> usize {
    match role {
        Role::Validation => 0,
        Role::Inventory => 1,
        Role::Shipment => 2,
    }
}

/// The same text each time, so that a log has it once.
fn not_called(role: Role) -> Error {
    let name = role.name();
    Error::Unavailable(format!(
        "partner for {name}: several calls in a row have failed; it is called again after a pause"
    ))
}

fn is_address(text: &str) -> bool {
    text.rsplit_once(':').is_some_and(|(host, port)| {
        !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0)
    })
}

/// What an answer says.
enum Read<T> {
    Answer(T),
    Refused(ApiError),
    Failed(String),
}

fn read<T: DeserializeOwned>(reply: &Reply) -> Read<T> {
    if reply.status.is_success() {
        return serde_json::from_slice(&reply.body).map_or_else(
            |error| Read::Failed(format!("an answer that cannot be read: {error}")),
            Read::Answer,
        );
    }
    match serde_json::from_slice(&reply.body) {
        Ok(Failure { error }) if reply.status.is_client_error() => Read::Refused(error),
        Ok(Failure { error }) => {
            Read::Failed(format!("answered {}: {}", reply.status, error.message))
        }
        Err(_) => Read::Failed(format!("answered {}", reply.status)),
    }
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;
    use crate::protocol::Decision;

    #[test]
    fn only_a_refusal_of_the_partner_is_one() {
        let of = |status: u16, body: &str| {
            let reply = Reply {
                status: StatusCode::from_u16(status).unwrap(),
                body: body.to_owned().into(),
            };
            match read::<Decision>(&reply) {
                Read::Answer(_) => "answer",
                Read::Refused(_) => "refused",
                Read::Failed(_) => "failed",
            }
        };
        let failure = r#"{"error":{"code":"key_reused","message":"m"}}"#;
        assert_eq!(of(200, r#"{"accepted":true,"reference":"v-1"}"#), "answer");
        assert_eq!(of(409, failure), "refused");
        for (status, body) in [(200, "{}"), (200, failure), (409, "<html>"), (503, failure)] {
            assert_eq!(of(status, body), "failed", "{status} {body}");
        }
    }

    #[test]
    fn addresses_have_a_port() {
        assert!(is_address("127.0.0.1:9100") && is_address("partners.example:1"));
        for text in ["", "127.0.0.1", ":9100", "a:0", "a:x", "a:65536"] {
            assert!(!is_address(text), "{text}");
        }
    }
}
