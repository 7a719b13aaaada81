//! Webhooks: signed, delivered at least once, repeated with growing pauses, given up at last.

use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use bytes::Bytes;
use tidegate_card::client::Verifier;
use tidegate_card::{Event, EventKind, Options, WebhookSecret};
use tidegate_sitekit::record;
use tokio::sync::mpsc;

use crate::processor::{events, stored};
use crate::virtual_time::{BEGIN_MS, Crashable, StoppedTime};

const SECRET: &str = "a-secret-of-the-brokerage";

/// A merchant's end: what arrives, and what it is answered.
struct Receiver {
    url: String,
    arrived: mpsc::UnboundedReceiver<(HeaderMap, Bytes)>,
    answers: mpsc::UnboundedSender<StatusCode>,
}

type Ends = (
    mpsc::UnboundedSender<(HeaderMap, Bytes)>,
    std::sync::Arc<tokio::sync::Mutex<mpsc::UnboundedReceiver<StatusCode>>>,
);

impl Receiver {
    async fn start() -> Self {
        let (seen, arrived) = mpsc::unbounded_channel();
        let (answers, next) = mpsc::unbounded_channel();
        let ends: Ends = (seen, std::sync::Arc::new(next.into()));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/events", listener.local_addr().unwrap());
        let router = Router::new().route("/events", post(receive)).with_state(ends);
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, arrived, answers }
    }

    /// The next webhook, which is answered with this.
    async fn next(&mut self, answer: StatusCode) -> (HeaderMap, Bytes) {
        self.answers.send(answer).unwrap();
        self.arrived.recv().await.unwrap()
    }

    /// The same, verified at this time.
    async fn event(&mut self, answer: StatusCode, now_ms: i64) -> Event {
        let (headers, body) = self.next(answer).await;
        let header = headers["tidegate-signature"].to_str().unwrap();
        verifier(SECRET).verify(header, &body, now_ms).unwrap()
    }
}

async fn receive(State((seen, next)): State<Ends>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let _ = seen.send((headers, body));
    next.lock().await.recv().await.unwrap_or(StatusCode::OK)
}

fn verifier(secret: &str) -> Verifier {
    Verifier::new(vec![WebhookSecret::from_text(secret).unwrap()])
}

/// Registers a webhook of the brokerage with these secrets.
fn webhook(options: &mut Options, url: &str, secrets: &str) {
    let file = options.data.join("webhook-secrets");
    let mut open = std::fs::OpenOptions::new();
    let open = open.create(true).truncate(true).write(true).mode(0o600).open(&file).unwrap();
    std::io::Write::write_all(&mut { open }, secrets.as_bytes()).unwrap();
    options.webhooks = vec![format!("brokerage={url}").parse().unwrap()];
    options.webhook_secret_files = vec![file];
}

#[tokio::test]
async fn events_arrive_signed_and_are_repeated_until_they_are_accepted() {
    let time = StoppedTime::new();
    let mut receiver = Receiver::start().await;
    let it = Crashable::start(|options| webhook(options, &receiver.url, SECRET)).await;
    it.authorised("d-1").await;
    let (headers, body) = receiver.next(StatusCode::INTERNAL_SERVER_ERROR).await;
    assert_eq!(headers["content-type"], "application/json");
    assert!(headers["user-agent"].to_str().unwrap().starts_with("tidegate-card/"));
    let header = headers["tidegate-signature"].to_str().unwrap().to_owned();
    assert!(header.starts_with(&format!("t={},v1=", BEGIN_MS / 1000)), "{header}");
    let event = verifier(SECRET).verify(&header, &body, BEGIN_MS).unwrap();
    assert_eq!((event.kind, event.sequence), (EventKind::Authorised, 1));
    assert!(verifier("another-secret-as-long").verify(&header, &body, BEGIN_MS).is_err());

    // Pauses double, within a random half: 1 to 2 s, 2 to 4 s, 4 to 8 s.
    let mut now = Duration::ZERO;
    for (failed, least, most) in [(1, 1, 2), (2, 2, 4), (3, 4, 8)] {
        let log = logged(&it, &event.id, |log| log.attempts == failed).await;
        let pause = log.next - BEGIN_MS - i64::try_from(now.as_millis()).unwrap();
        assert!((least * 1000..=most * 1000).contains(&pause), "{pause}");
        let pause = Duration::from_millis(pause.try_into().unwrap());
        time.pass(pause - Duration::from_millis(1)).await;
        assert!(receiver.arrived.try_recv().is_err(), "not before its time");
        // The outbox is looked at twice a second.
        time.pass(Duration::from_millis(501)).await;
        now += pause + Duration::from_millis(500);
        let now_ms = BEGIN_MS + i64::try_from(now.as_millis()).unwrap();
        let again = receiver.event(StatusCode::SERVICE_UNAVAILABLE, now_ms).await;
        assert_eq!(again, event, "the same event with the same id");
    }
    let log = logged(&it, &event.id, |log| log.attempts == 4).await;
    assert_eq!(log.state, PENDING);
    time.pass(Duration::from_secs(60)).await;
    receiver.next(StatusCode::NO_CONTENT).await;
    let log = logged(&it, &event.id, |log| log.state == DELIVERED).await;
    assert_eq!(log.attempts, 5);
    time.pass(Duration::from_secs(7200)).await;
    assert!(receiver.arrived.try_recv().is_err(), "once it is accepted it is not repeated");
}

/// States of deliveries.
const PENDING: i64 = 0;
const DELIVERED: i64 = 1;
const GIVEN_UP: i64 = 2;

/// A delivery as it is stored.
#[derive(Debug)]
struct Log {
    state: i64,
    attempts: i64,
    next: i64,
}

record!(Log { state, attempts, next });

/// The delivery of an event, once it is so.
async fn logged(it: &Crashable, event: &str, so: impl Fn(&Log) -> bool) -> Log {
    let sql = "SELECT state, attempts, next FROM deliveries WHERE event = $1 ORDER BY id";
    loop {
        let log = stored::<Log>(&it.options, sql, &[event.into()]).await.remove(0);
        if so(&log) {
            return log;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn an_event_that_nobody_accepts_is_given_up_after_its_time() {
    let time = StoppedTime::new();
    let nobody: SocketAddr =
        std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let it = Crashable::start(|options| {
        webhook(options, &format!("http://{nobody}/"), SECRET);
        options.limits.webhook_tried = Duration::from_secs(600);
    })
    .await;
    it.authorised("d-1").await;
    let event = events(&it.options).await.remove(0).id;
    let mut pauses = 0;
    loop {
        let log = logged(&it, &event, |_| true).await;
        if log.state == GIVEN_UP {
            // 2 + 4 + … + 256 s and 256 to 512 s more; all pauses by half of chance.
            assert!((8..=11).contains(&log.attempts), "{log:?}");
            break;
        }
        time.pass(Duration::from_secs(1)).await;
        pauses += 1;
        assert!(pauses < 700, "{log:?}");
    }
}

#[tokio::test]
async fn an_event_written_before_a_crash_is_delivered_after_it() {
    let time = StoppedTime::new();
    let mut receiver = Receiver::start().await;
    let mut it = Crashable::start(|options| webhook(options, &receiver.url, SECRET)).await;
    it.authorised("d-1").await;
    // It has arrived, and the processor crashes before it knows.
    let first = receiver.arrived.recv().await.unwrap();
    it.crash().await;
    receiver.answers.send(StatusCode::OK).unwrap();
    it.restart().await;
    // Nobody takes it before the lease of the crashed process is over.
    time.pass(Duration::from_secs(29)).await;
    assert!(receiver.arrived.try_recv().is_err());
    time.pass(Duration::from_secs(2)).await;
    let second = receiver.next(StatusCode::OK).await;
    assert_eq!(first.1, second.1, "at least once");
    let event = events(&it.options).await.remove(0).id;
    logged(&it, &event, |log| log.state == DELIVERED).await;
}

#[tokio::test]
async fn both_secrets_sign_while_they_are_replaced() {
    let _time = StoppedTime::new();
    let mut receiver = Receiver::start().await;
    let secrets = format!("the-new-secret-of-the-brokerage\n{SECRET}\n");
    let it = Crashable::start(|options| webhook(options, &receiver.url, &secrets)).await;
    it.authorised("d-1").await;
    let (headers, body) = receiver.next(StatusCode::OK).await;
    let header = headers["tidegate-signature"].to_str().unwrap();
    for secret in ["the-new-secret-of-the-brokerage", SECRET] {
        assert!(verifier(secret).verify(header, &body, BEGIN_MS).is_ok(), "{header}");
    }
}

#[tokio::test]
async fn a_webhook_that_hangs_delays_no_other_and_takes_bounded_room() {
    let time = StoppedTime::new();
    let mut good = Receiver::start().await;
    let hanging = Receiver::start().await;
    let it = Crashable::start(|options| {
        webhook(options, &good.url, SECRET);
        options.webhooks.push(format!("brokerage={}", hanging.url).parse().unwrap());
    })
    .await;
    for number in 0..30 {
        it.authorised(&format!("d-{number}")).await;
    }
    let mut hanging = hanging;
    for _ in 0..30 {
        good.next(StatusCode::OK).await;
    }
    let mut under_way = 0;
    while hanging.arrived.try_recv().is_ok() {
        under_way += 1;
    }
    assert_eq!(under_way, 8, "as many at once as there is room for");
    // After its deadline each is logged, and others have their turn.
    time.pass(Duration::from_secs(11)).await;
    hanging.arrived.recv().await.unwrap();
}
