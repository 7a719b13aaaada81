//! The stream of prices (server-sent events): one poll of the application tier for all
//! browsers that listen, and none while nobody does.
//!
//! Source: WHATWG HTML, 9.2 "Server-sent events".

use std::collections::HashMap;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{self, HeaderValue};
use http_body::Frame;
use serde_json::json;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::time::timeout;

use super::failure::Failure;
use super::site::Site;
use crate::error::{Error, Result};
use crate::protocol::front::{Feed, GetQuotes, LiveQuotes};
use crate::protocol::{Problem, Quotes};
use crate::rpc::call;
use tidegate_sitekit::link::Client;
use tidegate_sitekit::problem::set_retry_after;
use tidegate_sitekit::server::network;
use tidegate_sitekit::web::client;

/// Most browsers that listen to one process.
const LISTENERS: usize = 1000;
/// Most of them of one network ([`network`]): one customer takes no other's place.
const OF_NETWORK: usize = 32;
/// Between two polls of the application tier.
const POLL: Duration = Duration::from_secs(1);
/// After so long without an event a comment is sent, so that a connection that is gone is
/// noticed and a proxy does not close one that is not.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// A browser that takes nothing for so long is no longer served.
const SLOWEST: Duration = Duration::from_secs(30);

/// The latest prices, and who listens to them.
pub struct Prices {
    places: Arc<Semaphore>,
    networks: Arc<Mutex<HashMap<IpAddr, usize>>>,
    latest: watch::Sender<Bytes>,
    arrived: Notify,
    stopping: watch::Receiver<bool>,
}

impl Prices {
    /// Without a listener yet; all streams end when `stopping` turns true.
    pub fn new(stopping: watch::Receiver<bool>) -> Self {
        Self {
            places: Arc::new(Semaphore::new(LISTENERS)),
            networks: Arc::default(),
            latest: watch::Sender::new(Bytes::new()),
            arrived: Notify::new(),
            stopping,
        }
    }

    /// Polls the application tier while somebody listens, until it is dropped.
    pub async fn poll(self: Arc<Self>, client: Client) {
        let mut last: Option<(i64, Feed)> = None;
        let mut quotes: Option<Quotes> = None;
        loop {
            if self.places.available_permits() == LISTENERS {
                self.arrived.notified().await;
            }
            match call(&client, &GetQuotes {}).await {
                Ok(LiveQuotes { quotes: new, feed }) => {
                    if last != Some((new.tick, feed)) {
                        last = Some((new.tick, feed));
                        self.latest.send_replace(event(&new, feed));
                    }
                    quotes = Some(new);
                }
                // The prices that are known stay on the pages, as old as they are.
                Err(error) => {
                    if let (Some(quotes), Some((_, feed))) = (&quotes, &mut last)
                        && !feed.stopped
                    {
                        tracing::warn!(?error, "no prices from the application tier");
                        feed.stopped = true;
                        self.latest.send_replace(event(quotes, *feed));
                    }
                }
            }
            tokio::time::sleep(POLL).await;
        }
    }

    fn place(&self, network: IpAddr) -> Result<Place> {
        let permit = Arc::clone(&self.places).try_acquire_owned().map_err(|_| full())?;
        let mut networks = self.networks.lock().expect("no panic under this lock");
        let taken = networks.entry(network).or_default();
        if *taken == OF_NETWORK {
            return Err(too_many("Many pages from your address follow the prices already."));
        }
        *taken += 1;
        drop(networks);
        Ok(Place { network, networks: Arc::clone(&self.networks), _permit: permit })
    }

    fn listen(self: &Arc<Self>, client: IpAddr) -> Result<Body> {
        let place = self.place(network(client))?;
        self.arrived.notify_one();
        // Room for one event: a slow browser skips what it has no time for.
        let (sender, receiver) = mpsc::channel(1);
        let (mut latest, mut stopping) = (self.latest.subscribe(), self.stopping.clone());
        latest.mark_changed();
        tokio::spawn(async move {
            loop {
                let event = tokio::select! {
                    changed = timeout(HEARTBEAT, latest.changed()) => match changed {
                        Ok(Ok(())) => latest.borrow_and_update().clone(),
                        Ok(Err(_)) => return,
                        Err(_) => Bytes::from_static(b": still here\n\n"),
                    },
                    _ = stopping.wait_for(|stopping| *stopping) => return,
                    () = sender.closed() => return,
                };
                // Before the first poll there is nothing to tell.
                if !event.is_empty() && timeout(SLOWEST, sender.send(event)).await.is_err() {
                    return;
                }
            }
        });
        Ok(Body::new(Stream { events: receiver, _place: place }))
    }
}

/// A place among the listeners, free again when it is dropped.
struct Place {
    network: IpAddr,
    networks: Arc<Mutex<HashMap<IpAddr, usize>>>,
    _permit: OwnedSemaphorePermit,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut networks = self.networks.lock().expect("no panic under this lock");
        if let Some(taken) = networks.get_mut(&self.network) {
            *taken -= 1;
            if *taken == 0 {
                networks.remove(&self.network);
            }
        }
    }
}

fn full() -> Error {
    too_many("As many browsers as this process serves follow the prices already.")
}

fn too_many(why: &str) -> Error {
    let remedy = "The pages show the prices of the moment at which they are loaded.";
    Problem { retry_after_s: Some(60), ..Problem::new(429, "Too many listen", why, remedy) }.into()
}

fn event(quotes: &Quotes, feed: Feed) -> Bytes {
    let prices: serde_json::Map<_, _> =
        quotes.prices.iter().map(|(symbol, cents)| (symbol.clone(), cents.0.into())).collect();
    let data = json!({ "as_of_ms": feed.as_of_ms, "stopped": feed.stopped, "prices": prices });
    format!("data: {data}\n\n").into()
}

/// The body of a stream. Its place is free again when it is dropped.
struct Stream {
    events: mpsc::Receiver<Bytes>,
    _place: Place,
}

impl http_body::Body for Stream {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<std::result::Result<Frame<Bytes>, Self::Error>>> {
        self.events.poll_recv(context).map(|event| event.map(|event| Ok(Frame::data(event))))
    }
}

/// GET /prices
pub async fn prices(State(site): State<Site>, request: Request) -> Response {
    let client = client::address(&request, &site.trusted_proxies);
    let body = match &site.prices {
        Some(prices) => prices.listen(client),
        None => Err(full()),
    };
    match body {
        Ok(body) => {
            let mut response = Response::new(body);
            let headers = response.headers_mut();
            let kind = HeaderValue::from_static("text/event-stream");
            headers.insert(header::CONTENT_TYPE, kind);
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
            response
        }
        Err(error) => {
            let mut response = Failure::from(error).into_response();
            set_retry_after(&mut response, Some(60));
            response
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::protocol::Recorded;
    use http_body_util::BodyExt as _;
    use tidegate_sitekit::money::Cents;

    fn quotes() -> Quotes {
        Quotes {
            tick: 1,
            recorded: Recorded::seen(5, 5),
            prices: vec![("ALEN".into(), Cents(5120))],
        }
    }

    #[test]
    fn an_event_is_one_line_of_json_whatever_a_symbol_holds() {
        let symbol = "A\"}\n\ndata: {<script>".to_owned();
        let quotes = Quotes { prices: vec![(symbol.clone(), Cents(5120))], ..quotes() };
        let event = event(&quotes, Feed { as_of_ms: 5, stopped: false });
        let text = std::str::from_utf8(&event).unwrap();
        let line = text.strip_prefix("data: ").and_then(|text| text.strip_suffix("\n\n")).unwrap();
        assert!(!line.contains('\n'), "{text}");
        let read: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(read["prices"][symbol], 5120);
    }

    #[tokio::test(start_paused = true)]
    async fn a_listener_has_the_latest_prices_at_once_and_a_comment_now_and_then() {
        let (_stop, stopping) = watch::channel(false);
        let prices = Arc::new(Prices::new(stopping));
        let feed = Feed { as_of_ms: 5, stopped: false };
        prices.latest.send_replace(event(&quotes(), feed));
        let mut body = prices.listen([192, 0, 2, 1].into()).unwrap();
        let mut next = async || body.frame().await.unwrap().unwrap().into_data().unwrap();
        let expected = r#"data: {"as_of_ms":5,"prices":{"ALEN":5120},"stopped":false}"#;
        assert_eq!(next().await, format!("{expected}\n\n"));
        assert_eq!(next().await, ": still here\n\n");
    }

    #[tokio::test]
    async fn a_customer_with_many_pages_takes_no_place_of_another() {
        let (_stop, stopping) = watch::channel(false);
        let prices = Arc::new(Prices::new(stopping));
        let listen = |address: &str| prices.listen(address.parse().unwrap());
        let of_network = |number| format!("2001:db8::{number:x}");
        let mut bodies: Vec<Body> =
            (0..OF_NETWORK).map(|number| listen(&of_network(number)).unwrap()).collect();
        let Err(Error::Refused(problem)) = listen("2001:db8::ffff") else {
            panic!("one network has more than {OF_NETWORK} places");
        };
        assert_eq!(problem.status, 429);
        assert!(problem.why[0].contains("your address"), "{problem:?}");
        assert!(listen("2001:db8:0:1::1").is_ok() && listen("192.0.2.1").is_ok());
        bodies.pop();
        bodies.push(listen("2001:db8::ffff").unwrap());
        assert!(listen("2001:db8::1").is_err());
        bodies.clear();
        assert!(prices.networks.lock().unwrap().is_empty(), "nothing is kept of who is gone");
    }

    #[tokio::test]
    async fn listeners_are_bounded_and_a_place_is_free_again_when_one_goes() {
        let (stop, stopping) = watch::channel(false);
        let prices = Arc::new(Prices::new(stopping));
        let mut listen = (0..).map(|number: u32| prices.listen(Ipv4Addr::from(number).into()));
        let mut bodies: Vec<Body> = (&mut listen).take(LISTENERS).map(Result::unwrap).collect();
        let refused = listen.next().unwrap();
        assert!(matches!(refused, Err(Error::Refused(problem)) if problem.status == 429));
        bodies.pop();
        let mut last = listen.next().unwrap().unwrap();
        stop.send_replace(true);
        assert!(last.frame().await.is_none(), "streams end when the tier stops");
    }
}
