//! The listener that leads customers from http to https, and answers the challenges by which an
//! authority sees that the site is the operator's.
//!
//! It has a thread of its own with the least claim to processors: a flood of it takes nothing
//! from customers.
//!
//! Source: RFC 9110, section 15.4.9 (308); RFC 8555, section 8.3 (http-01).

use crate::config::{Listen, Origin};
use crate::error::Error;
use crate::handover::Role;
use crate::handover::inherited::Inherited;
use crate::http::headers::is_host;
use crate::limited_connections::{LimitedConnections, Uses};
use crate::listen::{listener, sockets};
use crate::static_tier::beneath::Beneath;
use crate::upstream::challenge::ask;
use bytes::Bytes;
use http::header::{ALLOW, CONNECTION, CONTENT_TYPE, HOST, HeaderValue, LOCATION};
use http::request::Parts;
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io::Read;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;

/// Most connections at once. Beyond them the one closes that is used least.
const CONNECTIONS: usize = 1024;
/// Longest duration of a connection, which serves one request.
const DEADLINE: Duration = Duration::from_secs(10);
/// Largest head of a request, in bytes.
const HEAD: usize = 16 << 10;
/// Pause after a failed accept.
const PAUSE: Duration = Duration::from_millis(100);
/// Where the authority looks for the answer to a challenge.
const CHALLENGES: &str = "/.well-known/acme-challenge/";
/// Largest answer to a challenge, in bytes: a token and the hash of a key.
const ANSWER: usize = 4096;

/// Leads customers to https.
pub struct Redirect {
    listener: Arc<TcpListener>,
    address: SocketAddr,
    rules: Arc<Rules>,
}

/// How requests are answered.
struct Rules {
    /// The port of https, where it is not 443.
    port: Option<u16>,
    /// A folder with answers to challenges.
    webroot: Option<PathBuf>,
    /// A service that answers them.
    upstream: Option<Origin>,
}

type Page = Response<Full<Bytes>>;

impl Redirect {
    /// Opens the listener, if one is configured, or takes over the one that is open. It leads to
    /// the port of this address.
    ///
    /// # Errors
    /// Its address cannot be listened on.
    pub fn open(
        config: &Listen,
        tls: SocketAddr,
        inherited: &mut Inherited,
    ) -> Result<Option<Self>, Error> {
        let Some(configured) = config.redirect else { return Ok(None) };
        let (address, listener) = match inherited.only(Role::Redirect, configured) {
            Some(found) => found,
            None => {
                let mut opened = listener::listen(configured, 1, config.backlog, false)?;
                let address = sockets::local_address(&opened, configured)?;
                let Some(listener) = opened.pop() else { return Ok(None) };
                (address, listener)
            }
        };
        Ok(Some(Self::new(listener, address, tls.port(), config)))
    }

    /// Redirects what comes to this listener, which is at this address, to this port.
    fn new(listener: TcpListener, address: SocketAddr, port: u16, listen: &Listen) -> Self {
        let rules = Rules {
            port: Some(port).filter(|port| *port != 443),
            webroot: listen.acme_webroot.clone(),
            upstream: listen.acme_upstream.clone(),
        };
        Self { listener: Arc::new(listener), address, rules: Arc::new(rules) }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its socket, for the gate that takes this one's place.
    pub fn socket(&self) -> Arc<TcpListener> {
        self.listener.clone()
    }

    /// Serves until dropped, on a runtime of one thread that has nothing else to do.
    pub async fn serve(self) {
        yield_to_others();
        let listener = self.listener.try_clone();
        let listener = match listener.and_then(tokio::net::TcpListener::from_std) {
            Ok(listener) => listener,
            Err(error) => return tracing::error!(%error, "listen.redirect cannot be served"),
        };
        let mut connections = LimitedConnections::new(CONNECTIONS);
        loop {
            let Ok((stream, _)) = listener.accept().await else {
                // What fails most is to find a free file descriptor.
                connections.close_least_used();
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            let rules = self.rules.clone();
            connections.begin(async move |uses| {
                let _ = tokio::time::timeout(DEADLINE, serve_connection(stream, rules, uses)).await;
            });
            tokio::task::yield_now().await;
        }
    }
}

/// Gives this thread the least claim to processors among those that share them.
fn yield_to_others() {
    // SAFETY: the call has no memory of ours; 0 is the calling thread.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 19) };
}

async fn serve_connection(stream: TcpStream, rules: Arc<Rules>, uses: Uses) {
    let service = service_fn(move |request: Request<Incoming>| {
        uses.request();
        let rules = rules.clone();
        let (request, _) = request.into_parts();
        async move { Ok::<_, Infallible>(rules.answer(&request).await) }
    });
    let served = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(DEADLINE)
        .keep_alive(false)
        .max_buf_size(HEAD)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "a connection to listen.redirect broke off");
    }
}

impl Rules {
    async fn answer(&self, request: &Parts) -> Page {
        match request.uri.path().strip_prefix(CHALLENGES) {
            Some(token) if self.webroot.is_some() || self.upstream.is_some() => {
                self.challenge(request, token).await
            }
            _ => match self.target(&request.uri, &request.headers) {
                Some(location) => {
                    let mut response = page(StatusCode::PERMANENT_REDIRECT, "Use https.\n");
                    response.headers_mut().insert(LOCATION, location);
                    response
                }
                None => page(StatusCode::BAD_REQUEST, "A path, and one Host.\n"),
            },
        }
    }

    /// The same address by https.
    fn target(&self, uri: &Uri, headers: &HeaderMap) -> Option<HeaderValue> {
        let mut hosts = headers.get_all(HOST).iter();
        let host = hosts.next().filter(|host| is_host(host.as_bytes()))?;
        let host = host.to_str().ok().filter(|_| hosts.next().is_none())?;
        let bare = match host.rsplit_once(':') {
            Some((bare, port)) if !port.contains(']') => bare,
            _ => host,
        };
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        if !path.starts_with('/') {
            return None;
        }
        let port = self.port.map(|port| format!(":{port}")).unwrap_or_default();
        HeaderValue::from_str(&format!("https://{bare}{port}{path}")).ok()
    }

    /// The answer to a challenge.
    async fn challenge(&self, request: &Parts, token: &str) -> Page {
        if request.method != Method::GET && request.method != Method::HEAD {
            let mut response = page(StatusCode::METHOD_NOT_ALLOWED, "GET or HEAD.\n");
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        // Source: RFC 8555, section 8.3: the alphabet of base64url.
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if token.is_empty() || token.len() > 256 || !token.bytes().all(fits) {
            return page(StatusCode::NOT_FOUND, "No such challenge.\n");
        }
        if let Some(webroot) = self.webroot.clone() {
            let name = format!("{}{token}", &CHALLENGES[1..]);
            let read = tokio::task::spawn_blocking(move || read(&webroot, &name)).await;
            return match read.unwrap_or_else(|failed| Err(std::io::Error::other(failed))) {
                Ok(Some(answer)) => page(StatusCode::OK, answer),
                Ok(None) => page(StatusCode::NOT_FOUND, "No such challenge.\n"),
                Err(error) => {
                    tracing::warn!(%error, token, "listen.acme_webroot: a challenge is unreadable");
                    page(StatusCode::INTERNAL_SERVER_ERROR, "The answer cannot be read.\n")
                }
            };
        }
        let Some(upstream) = &self.upstream else {
            return page(StatusCode::NOT_FOUND, "No such challenge.\n");
        };
        let host = request.headers.get(HOST);
        match ask(upstream, request.uri.path(), host, ANSWER).await {
            Ok((status, answer)) => page(status, answer),
            Err(error) => {
                tracing::warn!(%error, token, "listen.acme_upstream: no answer to a challenge");
                page(StatusCode::BAD_GATEWAY, "The service for challenges does not answer.\n")
            }
        }
    }
}

/// The file of this name below a folder, out of which no name leads.
fn read(webroot: &std::path::Path, name: &str) -> std::io::Result<Option<Vec<u8>>> {
    let Some(file) = Beneath::open(webroot)?.file(name.as_bytes())? else { return Ok(None) };
    let mut answer = Vec::new();
    file.take(ANSWER as u64).read_to_end(&mut answer)?;
    Ok(Some(answer))
}

fn page(status: StatusCode, body: impl Into<Bytes>) -> Page {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(port: Option<u16>, uri: &str, hosts: &[&str]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(HOST, HeaderValue::from_str(host).unwrap());
        }
        let rules = Rules { port, webroot: None, upstream: None };
        let location = rules.target(&uri.parse().unwrap(), &headers)?;
        Some(location.to_str().unwrap().to_owned())
    }

    #[test]
    fn a_customer_is_led_to_the_same_address_by_https() {
        for (port, uri, host, to) in [
            (None, "/", "shop.example", "https://shop.example/"),
            (None, "/a?b=c", "shop.example:80", "https://shop.example/a?b=c"),
            (Some(8443), "/a", "shop.example:8080", "https://shop.example:8443/a"),
            (None, "/", "[2001:db8::1]", "https://[2001:db8::1]/"),
            (Some(8443), "/", "[2001:db8::1]:80", "https://[2001:db8::1]:8443/"),
            (None, "http://other/a", "shop.example", "https://shop.example/a"),
            (None, "//evil.example/", "shop.example", "https://shop.example//evil.example/"),
        ] {
            assert_eq!(location(port, uri, &[host]).as_deref(), Some(to));
        }
    }

    #[test]
    fn without_a_host_there_is_nowhere_to_lead_to() {
        assert_eq!(location(None, "/", &[]), None);
        assert_eq!(location(None, "/", &["a", "b"]), None);
        assert_eq!(location(None, "/", &["user@shop/x"]), None);
        assert_eq!(location(None, "*", &["shop"]), None);
    }
}
