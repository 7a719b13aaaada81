//! The services over HTTP: JSON at a path for each, SOAP at one, their descriptions, and a page
//! that says where they are.

mod caller;
pub mod soap;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, HOST};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use rustls::server::danger::ClientCertVerifier;
use serde_json::Value;
use tidegate_sitekit::database::Database;
use tidegate_sitekit::web::body::{self, Unread};
use tidegate_sitekit::{Error, Problem, api, log_once};

use crate::fulfil::Fulfilment;
use crate::message::{Message, json};
use crate::services::{SOAP, Service, openapi, wsdl};
use crate::store;
use soap::Fault;

/// Most bytes of an envelope: the request of 16 KiB that JSON may be, and its markup.
const MOST_ENVELOPE: usize = 64 * 1024;

/// What the requests of one core share.
#[derive(Debug)]
pub struct App {
    /// The database.
    pub database: Database,
    /// What follows from an order.
    pub fulfilment: Fulfilment,
    /// URL of the services in their descriptions; without one, that of the request.
    pub public_url: Option<String>,
    /// Verifies the certificates of businesses, where they may show some.
    pub clients: Option<Arc<dyn ClientCertVerifier>>,
    /// Scheme of the connections.
    pub scheme: &'static str,
}

type Shared = Arc<App>;

/// The services.
pub fn router(app: Shared) -> Router {
    let mut router = Router::new()
        .route("/", get(front))
        .route(SOAP, post(call_soap).get(describe_soap))
        .route("/openapi.json", get(describe))
        .route("/healthz", get(health));
    for service in Service::ALL {
        let call = move |State(app): State<Shared>, request: Request| async move {
            call_json(&app, service, request).await
        };
        router = router.route(service.path(), post(call));
    }
    router
        .fallback(async || {
            let text =
                "Nothing is at this path; GET /openapi.json and GET /soap?wsdl list what is.";
            refused(&Problem::coded(404, "path_unknown", text))
        })
        .method_not_allowed_fallback(async || {
            let text =
                "This path does not take requests of this method; services are called by POST.";
            refused(&Problem::coded(405, "method_not_allowed", text))
        })
        .with_state(app)
}

async fn call_json(app: &App, service: Service, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let answered = async {
        let customer = caller::of(app, service, &parts).await?;
        let body = api::read(&parts.headers, body).await?;
        perform(app, service, customer, &body).await
    };
    match answered.await {
        Ok(message) => typed(StatusCode::OK, "application/json", message.to_string()),
        Err(error) => refused(&of_program(error)),
    }
}

async fn call_soap(State(app): State<Shared>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let answered = async {
        let body = read_envelope(&parts.headers, body).await?;
        let (service, message) = soap::call(&body)?;
        let done = async {
            let customer = caller::of(&app, service, &parts).await?;
            perform(&app, service, customer, message.to_string().as_bytes()).await
        };
        let message = done.await.map_err(|error| Fault::of(of_program(error)))?;
        Ok::<_, Fault>(soap::answer(service, &message))
    };
    match answered.await {
        Ok(envelope) => typed(StatusCode::OK, soap::MEDIA_TYPE, envelope),
        Err(fault) => {
            let problem = fault.problem();
            problem.answer(typed(StatusCode::OK, soap::MEDIA_TYPE, fault.envelope()))
        }
    }
}

async fn read_envelope(headers: &HeaderMap, body: Body) -> Result<Vec<u8>, Problem> {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case(soap::MEDIA_TYPE) || headers.contains_key(CONTENT_ENCODING) {
        let text = "The body must be an envelope of SOAP 1.2 that is not compressed: send `Content-Type: application/soap+xml`.";
        return Err(Problem::coded(415, "body_of_another_type", text));
    }
    body::collect(body, MOST_ENVELOPE).await.map(Vec::from).map_err(|why| match why {
        Unread::TooLong => {
            Problem::coded(413, "body_too_large", "The envelope must be at most 64 KiB.")
        }
        Unread::BrokenOff => {
            Problem::coded(400, "body_incomplete", "The envelope broke off before its end.")
        }
        Unread::TooSlow => {
            Problem::coded(408, "body_too_slow", "The envelope took longer than 10 s to arrive.")
        }
    })
}

/// Does what a service is asked; the request is JSON.
async fn perform(
    app: &App,
    service: Service,
    customer: i64,
    request: &[u8],
) -> Result<Value, Error> {
    let database = &app.database;
    Ok(match service {
        Service::NewCustomer => value(&store::new_customer(database, &json::read(request)?).await?),
        Service::ChangePaymentMethod => {
            let request = json::read(request)?;
            value(&store::change_payment_method(database, customer, request).await?)
        }
        Service::CreateOrder => {
            let request = json::read(request)?;
            value(&store::create_order(&app.fulfilment, customer, &request).await?)
        }
        Service::OrderStatus => {
            value(&store::order_status(database, customer, &json::read(request)?).await?)
        }
        Service::NewProducts => value(&store::new_products(database, &json::read(request)?).await?),
        Service::ProductDetail => {
            value(&store::product_detail(database, &json::read(request)?).await?)
        }
        Service::ChangeItem => {
            value(&store::change_item(database, customer, &json::read(request)?).await?)
        }
    })
}

fn value(message: &impl Message) -> Value {
    serde_json::to_value(message).expect("numbers, texts and lists of them can be written")
}

/// An error as a program reads it.
fn of_program(error: Error) -> Problem {
    match error {
        Error::Client(problem) => problem,
        error => {
            log_once!(warn by &error.to_string(), %error, "a request failed");
            let text = "The service cannot answer for the moment. Repeat the request; an order with the same reference is placed once.";
            Problem::coded(503, "unavailable", text).retry_after(std::time::Duration::from_secs(1))
        }
    }
}

fn refused(problem: &Problem) -> Response {
    problem.answer(typed(StatusCode::OK, "application/json", problem.json()))
}

fn typed(status: StatusCode, kind: &'static str, body: String) -> Response {
    let mut response = (status, body).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The URL under which the services are reached.
fn url(app: &App, headers: &HeaderMap) -> String {
    app.public_url.clone().unwrap_or_else(|| {
        let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or("localhost");
        format!("{}://{host}", app.scheme)
    })
}

/// GET /soap: the WSDL, as clients ask for it by ?wsdl.
async fn describe_soap(State(app): State<Shared>, headers: HeaderMap) -> Response {
    typed(StatusCode::OK, "text/xml; charset=utf-8", wsdl(&url(&app, &headers)))
}

/// GET /openapi.json.
async fn describe(State(app): State<Shared>, headers: HeaderMap) -> Response {
    typed(StatusCode::OK, "application/json", openapi(&url(&app, &headers)).to_string())
}

/// GET /: where everything is, for people who look.
async fn front() -> Response {
    let mut text = String::from(
        "Services between businesses, derived from TPC-App; not comparable with its results.\n\n\
         OpenAPI: /openapi.json\nWSDL:    /soap?wsdl\n\n",
    );
    for service in Service::ALL {
        text.push_str(&format!("POST {:36} {}\n", service.path(), service.about()));
    }
    typed(StatusCode::OK, "text/plain; charset=utf-8", text)
}

/// GET /healthz: the database answers; and how orders are getting on.
async fn health(State(app): State<Shared>) -> Response {
    match app.fulfilment.report().await {
        Ok(report) => {
            let text = serde_json::to_string(&report).expect("numbers and texts can be written");
            typed(StatusCode::OK, "application/json", text)
        }
        Err(error) => refused(&of_program(error)),
    }
}
