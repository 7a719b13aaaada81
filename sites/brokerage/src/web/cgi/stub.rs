//! The program's side: reads one request from its environment and standard input, calls the
//! application tier over a connection of its own, and writes the page.

use std::io::{Read as _, Write as _};
use std::net::IpAddr;
use std::path::PathBuf;

use axum::body::Body;
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use serde::{Deserialize, Serialize};

use super::environment::request;
use super::output::written;
use crate::tier::{APP, LinkOptions, WEB};
use crate::web::options::Options;
use crate::web::pages;
use crate::web::site::{Site, State};
use tidegate_sitekit::link::{Client, ClientSide, Files};
use tidegate_sitekit::server::Peer;
use tidegate_sitekit::{Error, Result};

/// The variable that holds what a program needs to know.
pub const STUB_ENVIRONMENT: &str = "TIDEGATE_STUB";

/// Most bytes of a request's body.
const MOST_BODY: u64 = 64 * 1024;

/// What a program needs to know beside the request.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StubSetup {
    /// The application tier.
    next: Vec<String>,
    /// How the link is secured.
    link: String,
    /// Its certificates and keys.
    certificates: Option<PathBuf>,
    keys: Option<PathBuf>,
}

impl StubSetup {
    /// What the web tier with these options would do itself.
    pub fn of(options: &Options) -> Self {
        let LinkOptions { spec, files } = &options.link;
        Self {
            next: options.next.clone(),
            link: spec.to_string(),
            certificates: files.certificates.clone(),
            keys: files.keys.clone(),
        }
    }

    /// As text for the environment.
    ///
    /// # Errors
    /// A path is not text.
    pub fn to_text(&self) -> Result<String> {
        serde_json::to_string(self)
            .map_err(|error| Error::Operator(format!("--certificates or a key file: {error}")))
    }

    fn client(&self) -> Result<Client> {
        let spec = self.link.parse().map_err(Error::Operator)?;
        let files = Files { certificates: self.certificates.clone(), keys: self.keys.clone() };
        let side = ClientSide::new(spec, &files, WEB, APP)?;
        Client::new(side, &self.next, Options::DEADLINES)
    }
}

/// Answers the request that the environment and standard input describe.
///
/// # Errors
/// This process was not started by a gateway; the link cannot be used; standard output is
/// closed.
pub fn stub_call() -> Result<()> {
    let setup = std::env::var(STUB_ENVIRONMENT).ok();
    let setup: Option<StubSetup> = setup.and_then(|text| serde_json::from_str(&text).ok());
    let setup = setup.ok_or_else(|| {
        Error::Operator(format!(
            "{STUB_ENVIRONMENT} is not set: `tidegate site brokerage --tier web --stub cgi` calls this"
        ))
    })?;
    let read = |name: &str| std::env::var(name).ok();
    let length = read("CONTENT_LENGTH").map_or(Some(0), |length| length.parse::<u64>().ok());
    let length = length.filter(|length| *length <= MOST_BODY).ok_or_else(|| {
        Error::Operator(format!("CONTENT_LENGTH: must be a number up to {MOST_BODY}"))
    })?;
    let mut body = Vec::new();
    std::io::stdin()
        .take(length)
        .read_to_end(&mut body)
        .map_err(|error| Error::Operator(format!("standard input: {error}")))?;
    // Variables that are no text are of no request.
    let variables = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let mut request =
        request(variables, Body::new(Full::new(Bytes::from(body)))).map_err(Error::Operator)?;
    if let Some(client) = read("REMOTE_ADDR").and_then(|address| address.parse::<IpAddr>().ok()) {
        request.extensions_mut().insert(Peer(client));
    }
    let secure = read("HTTPS").as_deref() == Some("on");
    let page = answer(setup.client()?, secure, request)?;
    let mut output = std::io::stdout().lock();
    output
        .write_all(&page)
        .and_then(|()| output.flush())
        .map_err(|error| Error::Operator(format!("standard output: {error}")))
}

fn answer(client: Client, secure: bool, request: Request<Body>) -> Result<Vec<u8>> {
    let site = Site::new(State {
        client,
        trusted_proxies: Vec::new().into(),
        secure,
        prices: None,
        webhooks: None,
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| Error::Operator(format!("no runtime can be started: {error}")))?;
    runtime.block_on(async {
        let service = TowerToHyperService::new(pages::router(site));
        let Ok(response) = service.call(request).await;
        let (parts, body) = response.into_parts();
        let body = body.collect().await;
        let body = body.map_err(|error| Error::Internal(format!("a page's body: {error}")))?;
        Ok(written(parts.status, &parts.headers, &body.to_bytes()))
    })
}
