//! Closed-loop load: a fixed number of connections, each busy with the next
//! operation as soon as the last is done, bounded in time and number.

use crate::client;
use rustls::{ClientConfig, HandshakeKind, NamedGroup};
use serde::Serialize;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidegate_lab::peers::{Version, Work};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// How long one operation may take.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(5);

/// The group of every key exchange, so that all servers do the same work.
const GROUP: NamedGroup = NamedGroup::X25519;

/// Most operations of one window, whatever its length.
const MOST: u64 = 200_000;

/// Result of a window.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Tally {
    /// Operations completed as the row requires.
    pub operations: u64,
    /// Operations that failed.
    pub failures: u64,
    /// Operations whose handshake was full where the row requires a resumed one,
    /// or the reverse, or with another group; not counted in `operations`.
    pub other_kind: u64,
    /// The first failure.
    pub first_failure: Option<String>,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.operations += other.operations;
        self.failures += other.failures;
        self.other_kind += other.other_kind;
        self.first_failure = self.first_failure.take().or(other.first_failure);
    }
}

/// The customers of one row at one server. They keep their tickets, and
/// keep-alive connections, from one window to the next.
#[derive(Debug)]
pub struct Driver {
    customers: Vec<Customer>,
}

impl Driver {
    /// One customer for each concurrent connection.
    ///
    /// # Errors
    /// The TLS library rejects its configuration.
    pub fn new(work: Work, target: SocketAddr, connections: u32) -> anyhow::Result<Self> {
        let customers = (0..connections).map(|_| Customer::new(work, target));
        Ok(Self { customers: customers.collect::<anyhow::Result<_>>()? })
    }

    /// Keeps all customers busy for `length`, then lets each finish its operation.
    /// When this returns no operation is in progress.
    pub async fn run(&mut self, length: Duration) -> Tally {
        let end = Instant::now() + length;
        let most = MOST / self.customers.len().max(1) as u64;
        let mut tasks = JoinSet::new();
        for mut customer in self.customers.drain(..) {
            tasks.spawn_local(async move {
                let tally = customer.run(end, most).await;
                (customer, tally)
            });
        }
        let awake = AbortOnDrop(tokio::task::spawn_local(stay_awake()));
        let mut total = Tally::default();
        while let Some(done) = tasks.join_next().await {
            let (customer, tally) = done.expect("a customer never panics");
            self.customers.push(customer);
            total.add(tally);
        }
        drop(awake);
        total
    }

    /// Closes the connections that are open.
    pub async fn close(&mut self) {
        for customer in &mut self.customers {
            customer.open = Open::Nothing;
        }
        tokio::task::yield_now().await;
    }
}

/// Keeps the driver's thread from sleeping. On one machine a write to a sleeping
/// peer wakes it, at the writer's cost: up to a fifth of a keep-alive request, and
/// more often the faster the server is. Over a network no server has that cost.
async fn stay_awake() {
    loop {
        tokio::task::yield_now().await;
    }
}

/// A task that ends with this value.
#[derive(Debug)]
pub struct AbortOnDrop(pub JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A connection that stays open.
#[derive(Debug)]
enum Open {
    Nothing,
    Tls(Box<TlsStream<TcpStream>>),
    Clear(TcpStream),
}

#[derive(Debug)]
struct Customer {
    work: Work,
    target: SocketAddr,
    tls: Arc<ClientConfig>,
    hello: Arc<[u8]>,
    open: Open,
    buffer: Vec<u8>,
}

impl Customer {
    fn new(work: Work, target: SocketAddr) -> anyhow::Result<Self> {
        let (version, resume) = match work {
            Work::Full(version) => (version, false),
            Work::Resumed(version) => (version, true),
            Work::KeepAliveTls | Work::KeepAliveClear | Work::Refused => (Version::Tls13, false),
        };
        Ok(Self {
            work,
            target,
            tls: client::config(version, resume),
            hello: client::hello(version)?.into(),
            open: Open::Nothing,
            buffer: Vec::with_capacity(4096),
        })
    }

    async fn run(&mut self, end: Instant, most: u64) -> Tally {
        let mut tally = Tally::default();
        while Instant::now() < end && tally.operations + tally.other_kind < most {
            let done = timeout(OPERATION_TIMEOUT, self.operation()).await;
            match done.unwrap_or_else(|_| Err(ErrorKind::TimedOut.into())) {
                Ok(true) => tally.operations += 1,
                Ok(false) => tally.other_kind += 1,
                Err(error) => {
                    self.open = Open::Nothing;
                    tally.failures += 1;
                    tally.first_failure.get_or_insert_with(|| error.to_string());
                    // A server that fails at once must not be flooded.
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            }
        }
        tally
    }

    /// Does one operation; returns whether its handshake was of the required kind.
    async fn operation(&mut self) -> io::Result<bool> {
        match self.work {
            Work::Full(_) => self.connection(HandshakeKind::Full).await,
            Work::Resumed(_) => self.connection(HandshakeKind::Resumed).await,
            Work::KeepAliveTls | Work::KeepAliveClear => self.request().await.map(|()| true),
            Work::Refused => self.refused().await.map(|()| true),
        }
    }

    async fn connection(&mut self, required: HandshakeKind) -> io::Result<bool> {
        let mut stream = self.handshake().await?;
        client::get(&mut stream, &mut self.buffer).await?;
        let tls = stream.get_ref().1;
        let as_required = tls.handshake_kind() == Some(required)
            && tls.negotiated_key_exchange_group().is_none_or(|group| group.name() == GROUP);
        stream.shutdown().await?;
        Ok(as_required)
    }

    async fn request(&mut self) -> io::Result<()> {
        if matches!(self.open, Open::Nothing) {
            self.open = match self.work {
                Work::KeepAliveClear => Open::Clear(self.connect().await?),
                _ => Open::Tls(Box::new(self.handshake().await?)),
            };
        }
        match &mut self.open {
            Open::Tls(stream) => client::get(stream, &mut self.buffer).await,
            Open::Clear(stream) => client::get(stream, &mut self.buffer).await,
            Open::Nothing => Err(ErrorKind::NotConnected.into()),
        }
    }

    /// A refusal is a reset, a close or an alert in answer to the hello. A
    /// handshake record means that the connection was admitted.
    async fn refused(&mut self) -> io::Result<()> {
        let mut stream = self.connect().await?;
        stream.write_all(&self.hello).await?;
        self.buffer.clear();
        loop {
            match stream.read_buf(&mut self.buffer).await {
                Ok(0) => break,
                Ok(_) if self.buffer[0] == 21 => {}
                Ok(_) => return Err(io::Error::new(ErrorKind::InvalidData, "not refused")),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn handshake(&self) -> io::Result<TlsStream<TcpStream>> {
        let stream = self.connect().await?;
        TlsConnector::from(Arc::clone(&self.tls)).connect(client::server_name(), stream).await
    }

    async fn connect(&self) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(self.target).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::upstream::Upstream;
    use std::net::Ipv4Addr;
    use tokio::net::TcpListener;
    use tokio::task::LocalSet;

    #[tokio::test]
    async fn every_operation_is_one_request_at_the_upstream() {
        LocalSet::new()
            .run_until(async {
                let upstream = Upstream::start().await.unwrap();
                let mut driver = Driver::new(Work::KeepAliveClear, upstream.address(), 3).unwrap();
                let tally = driver.run(Duration::from_millis(20)).await;
                assert!(tally.operations > 0 && tally.failures == 0, "{tally:?}");
                assert_eq!(upstream.seen().requests, tally.operations);
                assert_eq!(upstream.seen().connections, 3);
            })
            .await;
    }

    #[tokio::test]
    async fn a_closed_connection_is_a_refusal() {
        LocalSet::new()
            .run_until(async {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
                let target = listener.local_addr().unwrap();
                tokio::task::spawn_local(async move {
                    while let Ok((mut stream, _)) = listener.accept().await {
                        let _ = stream.read(&mut [0; 4096]).await;
                    }
                });
                let mut driver = Driver::new(Work::Refused, target, 2).unwrap();
                let tally = driver.run(Duration::from_millis(20)).await;
                assert!(tally.operations > 0 && tally.failures == 0, "{tally:?}");
            })
            .await;
    }

    #[tokio::test]
    async fn a_handshake_record_is_not_a_refusal() {
        LocalSet::new()
            .run_until(async {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
                let target = listener.local_addr().unwrap();
                tokio::task::spawn_local(async move {
                    while let Ok((mut stream, _)) = listener.accept().await {
                        let _ = stream.write_all(&[22, 3, 3]).await;
                    }
                });
                let mut driver = Driver::new(Work::Refused, target, 1).unwrap();
                let tally = driver.run(Duration::from_millis(5)).await;
                assert!(tally.operations == 0 && tally.failures > 0, "{tally:?}");
            })
            .await;
    }
}
