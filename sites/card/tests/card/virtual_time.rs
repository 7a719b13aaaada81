//! A processor in the test's own runtime, over real sockets and in virtual time: time stands
//! still until the test advances it. tokio would advance it by itself whenever nothing but
//! sockets is waited for, unless a blocking task runs.

use std::net::SocketAddr;
use std::sync::mpsc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tempfile::TempDir;
use tidegate_card::client::{Client, Form, Key, Patience};
use tidegate_card::{ApiKey, Clock, Currency, Options, Payment, processor};
use tokio::task::JoinHandle;

use crate::processor::{GOOD, RETURN_URL, prepared};

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

    /// A payment that is authorised at the form.
    pub async fn authorised(&self, reference: &str) -> Payment {
        let key = Key::new(reference).expect("a key");
        let payment = self.once().create(&key, &form(reference)).await.expect("a payment");
        let answer = self.pay(&payment, GOOD).await;
        assert!(answer.starts_with("HTTP/1.1 303"), "{answer}");
        self.once().payment(&payment.id).await.expect("a payment")
    }

    /// Sends this card at the form of a payment; the answer, once there is one.
    pub async fn pay(&self, payment: &Payment, number: &str) -> String {
        let url = &payment.checkout_url;
        let path = &url[url.find("/checkout/").expect("a form")..];
        let body = format!("number={number}&expiry=12%2F99&cvc=876");
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: card\r\nconnection: close\r\n\
             content-type: application/x-www-form-urlencoded\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        exchange(self.address, request.as_bytes()).await
    }
}

/// A new payment of 50 dollars.
pub fn form(reference: &str) -> Form {
    Form {
        amount: 5000,
        currency: Currency::USD,
        reference: reference.into(),
        description: String::new(),
        return_url: RETURN_URL.into(),
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
    use crate::processor::{SLOW, events};
    use tidegate_card::Status;

    fn key(text: &str) -> Key {
        Key::new(text).unwrap()
    }

    #[tokio::test]
    async fn a_crash_while_an_issuer_is_asked_loses_and_doubles_nothing() {
        let time = StoppedTime::new();
        let mut it = Crashable::start(|options| options.slow_card = Duration::from_secs(20)).await;
        let payment = it.once().create(&key("k"), &form("d-1")).await.unwrap();
        let client = it.once();
        tokio::select! {
            answer = it.pay(&payment, SLOW) => panic!("{answer}"),
            () = async {
                while client.payment(&payment.id).await.unwrap().status != Status::Processing {}
            } => {}
        }
        it.crash().await;
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
        let again = it.pay(&payment, SLOW).await;
        assert!(again.starts_with("HTTP/1.1 303"), "{again}");
        assert_eq!(events(&it.options).await.len(), 1);
    }

    #[tokio::test]
    async fn a_form_is_abandoned_and_an_authorisation_expires() {
        let time = StoppedTime::new();
        let it = Crashable::start(|_| {}).await;
        let client = it.once();
        client.create(&key("k1"), &form("d-1")).await.unwrap();
        it.authorised("d-2").await;
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
            // Shorter than the pause that the processor asks for.
            let whole = Duration::from_secs(30);
            let patience = Patience { attempt: whole, call: whole, ..patient() };
            match client.with_patience(patience).create(&key(k), &form(reference)).await {
                Ok(payment) => payment.status.name().to_owned(),
                Err(error) => error.to_string(),
            }
        };
        assert_eq!(pay("k1", "d-1").await, "requires_card");
        assert_eq!(pay("k2", "d-2").await, "requires_card");
        assert!(pay("k3", "d-3").await.contains("too_many_keys"));
        time.pass(Duration::from_secs(86_400 - 60)).await;
        assert!(pay("k3", "d-3").await.contains("too_many_keys"));
        assert_eq!(pay("k1", "d-1").await, "requires_card", "repeated");
        time.pass(Duration::from_secs(121)).await;
        while pay("k1", "d-1").await == "requires_card" {}
        assert!(pay("k1", "d-1").await.contains("reference_exists"), "the key is forgotten");
        assert_eq!(pay("k3", "d-3").await, "requires_card");
    }
}
