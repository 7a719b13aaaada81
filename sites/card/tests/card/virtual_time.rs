//! A processor in the test's own runtime, over real sockets and in virtual time: time stands
//! still until the test advances it. tokio would advance it by itself whenever nothing but
//! sockets is waited for, unless a blocking task runs.

use std::net::SocketAddr;
use std::sync::mpsc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use serde_json::Value;
use tempfile::TempDir;
use tidegate_card::client::{Client, Patience};
use tidegate_card::{ApiKey, Clock, Options, processor};
use tokio::task::JoinHandle;

use crate::processor::prepared;

/// When virtual time begins: 1 January 2027, milliseconds since 1970.
pub const BEGIN_MS: i64 = 1_798_761_600_000;

/// Time that stands still.
pub struct StoppedTime {
    // Dropping it ends the blocking task.
    _end: mpsc::Sender<()>,
}

impl StoppedTime {
    /// Stops the time of the current runtime.
    pub fn new() -> Self {
        tokio::time::pause();
        let (end, ended) = mpsc::channel::<()>();
        tokio::task::spawn_blocking(move || ended.recv());
        Self { _end: end }
    }

    /// Lets time pass. What is due then is done before this returns, or soon after.
    pub async fn pass(&self, time: Duration) {
        tokio::time::advance(time).await;
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
    }
}

/// A processor that a test can crash: its tasks are dropped where they are.
pub struct Crashable {
    pub options: Options,
    pub key: ApiKey,
    pub address: SocketAddr,
    clock: Clock,
    tasks: Vec<JoinHandle<()>>,
    _folder: TempDir,
}

impl Crashable {
    pub async fn start(change: impl FnOnce(&mut Options)) -> Self {
        let (folder, mut options, key, _) = prepared();
        change(&mut options);
        let clock = Clock::of_tokio(BEGIN_MS);
        let address = "127.0.0.1:0".parse().unwrap();
        let mut it = Self { options, key, address, clock, tasks: Vec::new(), _folder: folder };
        it.restart().await;
        it
    }

    /// Ends everything where it is, without a last word.
    pub async fn crash(&mut self) {
        for task in self.tasks.drain(..) {
            task.abort();
            let _ = task.await;
        }
    }

    /// Starts it after a crash, at another address.
    pub async fn restart(&mut self) {
        self.crash().await;
        let processor = processor(&self.options, self.clock.clone()).await.expect("it starts");
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        self.address = listener.local_addr().unwrap();
        self.tasks = vec![
            tokio::spawn(serve(listener, processor.router)),
            tokio::spawn(processor.background),
        ];
    }

    /// A client of it, where it is now.
    pub fn client(&self, patience: Patience) -> Client {
        let url = format!("http://{}", self.address);
        Client::new(&url, &self.key, None, patience).expect("a client")
    }

    /// A client of it that tries once and waits for an answer as long as it takes.
    pub fn once(&self) -> Client {
        self.client(patient())
    }

    /// An event with the log of its deliveries, as JSON.
    pub async fn event(&self, id: &str) -> Value {
        let (address, key, id) = (self.address, self.key.clone(), id.to_owned());
        let request = format!(
            "GET /v1/events/{id} HTTP/1.1\r\nhost: card\r\nconnection: close\r\n\
             authorization: Bearer {}\r\n\r\n",
            *key
        );
        let answer = exchange(address, request.as_bytes()).await;
        let body = answer.split_once("\r\n\r\n").expect("an answer").1;
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
    }
}

/// Serves until it is aborted, with all its connections.
async fn serve(listener: tokio::net::TcpListener, router: axum::Router) {
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let service = TowerToHyperService::new(router.clone());
        connections.spawn(async move {
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

/// Waits for an answer as long as it takes.
pub fn patient() -> Patience {
    let day = Duration::from_secs(86_400);
    Patience { attempt: day, call: day, ..Patience::default() }
}

/// Sends bytes and reads till the end.
pub async fn exchange(address: SocketAddr, request: &[u8]) -> String {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    stream.write_all(request).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8(answer).unwrap()
}

mod tests {
    use super::*;
    use tidegate_card::client::{Error, Form, Key, NewCard, Typed};
    use tidegate_card::{Capturing, Currency, Status};

    pub fn new(reference: &str, number: &str) -> NewCard {
        NewCard {
            amount: 5000,
            currency: Currency::USD,
            reference: reference.into(),
            description: String::new(),
            capture: Capturing::Manual,
            card: Typed {
                number: number.to_owned().into(),
                exp_month: 12,
                exp_year: 2099,
                cvc: "876".to_owned().into(),
            },
        }
    }

    fn form(reference: &str) -> Form {
        Form {
            amount: 5000,
            currency: Currency::USD,
            reference: reference.into(),
            description: String::new(),
            capture: Capturing::Manual,
            return_url: crate::processor::RETURN_URL.into(),
        }
    }

    fn key(text: &str) -> Key {
        Key::new(text).unwrap()
    }

    #[tokio::test]
    async fn a_merchant_who_is_never_answered_repeats_and_learns_the_outcome() {
        let time = StoppedTime::new();
        let it = Crashable::start(|options| options.slow_card = Duration::from_secs(20)).await;
        let patience = Patience {
            attempt: Duration::from_secs(8),
            call: Duration::from_secs(60),
            ..Patience::default()
        };
        let client = it.client(patience);
        let call = tokio::spawn(async move {
            client.create_with_card(&key("k"), &new("d-1", crate::processor::SILENT)).await
        });
        let looker = it.once();
        let find = async || looker.by_reference("d-1").await.unwrap();
        while find().await.is_none() {}
        let mut passed = 0;
        while !call.is_finished() {
            assert!(passed < 60, "it is answered within the deadline of the call");
            // Whoever looks meanwhile sees it in processing, and authorised after 20 s.
            let status = find().await.unwrap().status;
            let expected = if passed < 20 { Status::Processing } else { Status::RequiresCapture };
            assert!(status == expected || (19..=21).contains(&passed), "{status:?} at {passed} s");
            time.pass(Duration::from_secs(1)).await;
            passed += 1;
        }
        assert!(passed >= 20, "{passed}");
        assert_eq!(call.await.unwrap().unwrap().status, Status::RequiresCapture);
    }

    #[tokio::test]
    async fn a_crash_while_an_issuer_is_asked_loses_and_doubles_nothing() {
        let time = StoppedTime::new();
        let mut it = Crashable::start(|options| options.slow_card = Duration::from_secs(20)).await;
        let client = it.client(Patience { call: Duration::from_secs(10), ..patient() });
        let call = tokio::spawn(async move {
            client.create_with_card(&key("k"), &new("d-1", crate::processor::SLOW)).await
        });
        while it.once().by_reference("d-1").await.unwrap().is_none() {}
        it.crash().await;
        // The client repeats its request until its own deadline.
        while !call.is_finished() {
            time.pass(Duration::from_millis(500)).await;
        }
        let error = call.await.unwrap().unwrap_err();
        assert!(matches!(error, Error::Unknown(_)), "{error}");
        time.pass(Duration::from_secs(25)).await;
        it.restart().await;
        let client = it.once();
        // The sweep of the new process settles it.
        loop {
            time.pass(Duration::from_millis(500)).await;
            let payment = client.by_reference("d-1").await.unwrap().unwrap();
            if payment.status == Status::RequiresCapture {
                break;
            }
            assert_eq!(payment.status, Status::Processing);
        }
        let again = client.create_with_card(&key("k"), &new("d-1", crate::processor::SLOW)).await;
        assert_eq!(again.unwrap().status, Status::RequiresCapture);
        assert_eq!(client.events(0, 100).await.unwrap().events.len(), 1);
    }

    #[tokio::test]
    async fn a_form_is_abandoned_and_an_authorisation_expires() {
        let time = StoppedTime::new();
        let it = Crashable::start(|_| {}).await;
        let client = it.once();
        client.create(&key("k1"), &form("d-1")).await.unwrap();
        client.create_with_card(&key("k2"), &new("d-2", crate::processor::GOOD)).await.unwrap();
        let hour = Duration::from_secs(3600);
        let status = async |reference: &str| {
            let payment = client.by_reference(reference).await.unwrap().unwrap();
            (payment.status, payment.cancellation)
        };
        time.pass(hour * 24 - Duration::from_secs(1)).await;
        assert_eq!(status("d-1").await.0, Status::RequiresCard);
        time.pass(Duration::from_secs(2)).await;
        use tidegate_card::Cancellation::{Abandoned, Expired};
        assert_eq!(status("d-1").await, (Status::Cancelled, Some(Abandoned)));
        assert_eq!(status("d-2").await.0, Status::RequiresCapture);
        time.pass(hour * 24 * 6).await;
        assert_eq!(status("d-2").await, (Status::Cancelled, Some(Expired)));
    }

    #[tokio::test]
    async fn keys_are_forgotten_after_a_day_and_references_never() {
        let time = StoppedTime::new();
        let it = Crashable::start(|options| options.limits.most_keys = 2).await;
        let client = it.once();
        let pay = async |k: &str, reference: &str| {
            let new = new(reference, crate::processor::GOOD);
            // Shorter than the pause that the processor asks for.
            let whole = Duration::from_secs(30);
            let patience = Patience { attempt: whole, call: whole, ..patient() };
            match client.with_patience(patience).create_with_card(&key(k), &new).await {
                Ok(payment) => payment.status.name().to_owned(),
                Err(error) => error.to_string(),
            }
        };
        assert_eq!(pay("k1", "d-1").await, "requires_capture");
        assert_eq!(pay("k2", "d-2").await, "requires_capture");
        assert!(pay("k3", "d-3").await.contains("too_many_keys"));
        time.pass(Duration::from_secs(86_400 - 60)).await;
        assert!(pay("k3", "d-3").await.contains("too_many_keys"));
        assert_eq!(pay("k1", "d-1").await, "requires_capture", "repeated");
        time.pass(Duration::from_secs(121)).await;
        while pay("k1", "d-1").await == "requires_capture" {}
        assert!(pay("k1", "d-1").await.contains("reference_exists"), "the key is forgotten");
        assert_eq!(pay("k3", "d-3").await, "requires_capture");
    }
}

pub use tests::new as new_payment;
