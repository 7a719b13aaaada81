//! The web tier as a service.

use std::sync::Arc;

use axum::extract::State;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use http::StatusCode;
use tokio::sync::watch;

use super::cgi::Gateway;
use super::options::{Options, Stub};
use super::pages::{self, front, login};
use super::site::{Site, State as SiteState};
use super::stream::{self, Prices};
use super::{assets, card_events, failure, headers, measured};
use crate::rpc::health_through;
use crate::tier::{APP, Running, WEB};
use tidegate_card::client::Verifier;
use tidegate_sitekit::link::{Client, ClientSide};
use tidegate_sitekit::server::{Peers, Server, Service, background};
use tidegate_sitekit::tls;

/// Starts the web tier. The application tier may come later: until it can be reached, pages
/// say so.
///
/// # Errors
/// The files of the link, the certificate or the webhooks' secrets cannot be used; the address is in use or not of
/// this machine; a core does not exist.
pub fn start(options: Options) -> tidegate_sitekit::Result<Running> {
    let side = ClientSide::new(options.link.spec, &options.link.files, WEB, APP)?;
    let tls = options.tls.as_ref().map(tls::config).transpose()?;
    let (stop, stopping) = watch::channel(false);
    let prices = Arc::new(Prices::new(stopping));
    let gateway = match &options.stub {
        Stub::InProcess => None,
        Stub::Cgi(program) => Some(Gateway::new(program.clone(), &options)?),
    };
    let webhooks = options.webhook_secrets.as_deref().map(Verifier::read).transpose()?;
    let trusted_proxies: Arc<[_]> = options.trusted_proxies.clone().into();
    let server = Server::start(options.listen, options.cores.as_deref(), None, |core| {
        let client = Client::new(side.clone(), &options.next, Options::DEADLINES)?;
        let site = Site::new(SiteState {
            client: client.clone(),
            trusted_proxies: Arc::clone(&trusted_proxies),
            secure: tls.is_some(),
            prices: Some(Arc::clone(&prices)),
            webhooks: webhooks.clone(),
        });
        let (tls, gateway, prices) = (tls.clone(), gateway.clone(), Arc::clone(&prices));
        Ok(move || Service {
            tls,
            peers: Peers::Public,
            background: (core == 0).then(|| background(prices.poll(client))),
            router: whole(site, gateway, options.measured_pages),
        })
    })?;
    Ok(Running::with_streams(server, stop))
}

/// The whole site. With a gateway, a program makes the pages that need the application tier.
fn whole(site: Site, gateway: Option<Gateway>, measured_pages: bool) -> Router {
    let made = match gateway {
        None => pages::router(site.clone()),
        Some(gateway) => gateway.router(),
    };
    let with_headers = from_fn_with_state(site.clone(), headers::add);
    Router::new()
        .route("/", get(front::front))
        .route("/index.html", get(front::front))
        .route("/login", get(login::form))
        .route("/static/{file}", get(assets::file))
        .merge(if measured_pages { measured::router() } else { Router::new() })
        .route("/prices", get(stream::prices))
        .route("/healthz", get(health))
        .route("/card-events", post(card_events::receive))
        .with_state(site)
        .merge(made)
        .method_not_allowed_fallback(failure::not_allowed)
        .layer(with_headers)
}

/// GET /healthz
async fn health(State(site): State<Site>) -> Response {
    let health = health_through(WEB, &site.client).await;
    let status = if health.ok { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(health)).into_response()
}
