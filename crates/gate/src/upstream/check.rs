//! Active checks by a request: whether a server answers as it should.

use crate::config::Upstream;
use crate::http::request_body::RequestBody;
use crate::upstream::connector::Connector;
use http::header::{CONNECTION, HOST, HeaderValue, USER_AGENT};
use http::uri::PathAndQuery;
use http::{HeaderMap, Request};
use std::future::poll_fn;
use std::pin::pin;
use std::time::Duration;
use tidegate_config::show_duration;

/// The request of a check, and what is good as its answer.
#[derive(Debug)]
pub struct Check {
    path: PathAndQuery,
    headers: HeaderMap,
    good: (u16, u16),
    timeout: Duration,
}

impl Check {
    /// That of an upstream, if it has a path to ask for.
    pub fn of(upstream: &Upstream) -> Option<Self> {
        let path = upstream.check_path.clone()?;
        let host = HeaderValue::from_str(&upstream.url.first().authority());
        let headers = [
            (HOST, host.unwrap_or(HeaderValue::from_static("localhost"))),
            (USER_AGENT, HeaderValue::from_static("tidegate-check")),
            (CONNECTION, HeaderValue::from_static("close")),
        ];
        let (good, timeout) = (upstream.check_status, upstream.connect_timeout);
        Some(Self { path, headers: headers.into_iter().collect(), good, timeout })
    }

    /// Asks a server over a connection of its own.
    ///
    /// # Errors
    /// Why it failed the check, a clause.
    pub async fn run(&self, connector: &Connector) -> Result<(), String> {
        let mut connection = connector.connect().await.map_err(|error| error.to_string())?;
        let mut request = Request::new(RequestBody::empty());
        *request.uri_mut() = self.path.clone().into();
        *request.headers_mut() = self.headers.clone();
        connection.expect_response(false);
        let mut answer = pin!(connection.sender.send_request(request));
        let answer = poll_fn(|cx| {
            connection.drive(cx);
            answer.as_mut().poll(cx)
        });
        let path = &self.path;
        let answer = match tokio::time::timeout(self.timeout, answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => return Err(format!("GET {path}: {error}")),
            Err(_) => {
                let timeout = show_duration(self.timeout);
                return Err(format!(
                    "GET {path}: no answer within upstream.connect_timeout = {timeout}"
                ));
            }
        };
        let status = answer.status().as_u16();
        match (self.good.0..=self.good.1).contains(&status) {
            true => Ok(()),
            false => Err(format!("GET {path}: its answer is {status}")),
        }
    }
}
