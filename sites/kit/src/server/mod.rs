//! Serves a site over HTTP/1.1, in the clear or over TLS: one current-thread
//! runtime per core, each with a listener of its own on one address
//! (`SO_REUSEPORT`), so that the cores share nothing while they serve a request.

mod affinity;
mod connection;
mod heads;
mod listener;
mod unfinished;

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use tidegate_trace::{Handle, Tracing};
use tokio::sync::watch;

pub use affinity::available_cores;

use crate::throttle::Causes;
use crate::{Error, Result};

/// How long a shutdown waits for the requests in flight.
const DRAIN: Duration = Duration::from_secs(5);

/// A running server. Dropping it stops it without waiting.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    threads: Vec<JoinHandle<()>>,
}

/// Begins the trace of a site.
///
/// # Errors
/// The file cannot be written: an error for the operator.
pub fn begin_trace(file: &Path) -> Result<Tracing> {
    let options = tidegate_trace::Options::new(tidegate_trace::Role::Site, file);
    let tracing = Tracing::start(&options, |why| tracing::error!("{why}"));
    tracing.map_err(|error| Error::Operator(error.to_string()))
}

/// Who sent a request: the address at the other end of the connection. Every
/// request has it as an extension.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub IpAddr);

/// The network of a customer: the address, of IPv6 the first 64 bits of it, since one customer
/// has all that begin with them.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into(),
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// Where a request arrived: the address at this end of the connection. Every request has
/// it as an extension.
#[derive(Clone, Copy, Debug)]
pub struct Local(pub SocketAddr);

/// Who opens the connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peers {
    /// Anybody: that a connection fails is common, and logged once a minute for each kind.
    Public,
    /// Another tier of the service: that a connection fails has a cause that the operator
    /// should know.
    Tiers,
}

/// What one core serves. It is built on the core's own runtime, so that its
/// database connections belong to that core.
pub struct Service {
    /// The site.
    pub router: Router,
    /// TLS of the connections; `None`: plain HTTP.
    pub tls: Option<Arc<rustls::ServerConfig>>,
    /// Who opens the connections.
    pub peers: Peers,
    /// Runs beside the site until the server stops.
    pub background: Option<BackgroundTask>,
}

/// Work that runs beside the requests.
pub type BackgroundTask = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

/// Makes such work of a future.
pub fn background(work: impl Future<Output = ()> + Send + 'static) -> BackgroundTask {
    Box::pin(work)
}

/// How many runtimes serve: one pinned to each of these cores, or without them one for each
/// processor that this process may use.
///
/// # Errors
/// The list is empty: an error for the operator.
pub fn runtimes(pinned: Option<&[usize]>) -> Result<usize> {
    match pinned {
        Some([]) => Err(Error::Operator("cores: the list is empty; name at least one core".into())),
        Some(cores) => Ok(cores.len()),
        None => Ok(available_cores().len()),
    }
}

impl Server {
    /// Listens on `address` (port 0: any free one) with as many runtimes as [`runtimes`] says.
    /// `of_core` is asked for each, by its number from 0, how it makes its service; that is
    /// called on the runtime itself. With `tracing` the server records what every connection
    /// does.
    ///
    /// # Errors
    /// Those of `of_core`; the address is in use or not of this machine, or a core does not
    /// exist.
    pub fn start<F: FnOnce() -> Service + Send + 'static>(
        address: SocketAddr,
        pinned: Option<&[usize]>,
        tracing: Option<&Handle>,
        of_core: impl FnMut(usize) -> Result<F>,
    ) -> Result<Self> {
        let services = (0..runtimes(pinned)?).map(of_core).collect::<Result<Vec<_>>>()?;
        let listeners = listener::listen(address, services.len())?;
        let address = listeners[0]
            .local_addr()
            .map_err(|error| Error::Operator(format!("listen {address}: {error}")))?;
        let (stop, stopped) = watch::channel(false);
        let (ready, is_ready) = mpsc::channel();
        let (causes, cores) = (Arc::new(Causes::new()), services.len());
        let mut server = Self { address, stop, threads: Vec::new() };
        for (index, (listener, service)) in listeners.into_iter().zip(services).enumerate() {
            let core = pinned.map(|cores| cores[index]);
            let stopped = stopped.clone();
            let (ready, causes) = (ready.clone(), Arc::clone(&causes));
            let tracing = tracing.cloned();
            let thread = std::thread::Builder::new()
                .name(format!("site-{index}"))
                .spawn(move || {
                    // Dropped after the runtime and its tasks, whose lines end with them.
                    let _traced = tracing.as_ref().map(Handle::attach);
                    run(core, cores, listener, service, causes, stopped, &ready);
                })
                .map_err(|error| Error::Operator(format!("no thread can be started: {error}")))?;
            server.threads.push(thread);
        }
        for _ in 0..server.threads.len() {
            is_ready
                .recv()
                .map_err(|_| Error::Internal("a core stopped at its start".into()))??;
        }
        Ok(server)
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops accepting, waits for the requests in flight (at most 5 s), and
    /// returns when every core has stopped.
    pub fn shutdown(mut self) {
        self.stop.send_replace(true);
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a core of the site panicked");
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.send_replace(true);
    }
}

fn run(
    core: Option<usize>,
    cores: usize,
    listener: std::net::TcpListener,
    service: impl FnOnce() -> Service,
    causes: Arc<Causes>,
    stopped: watch::Receiver<bool>,
    ready: &mpsc::Sender<Result<()>>,
) {
    let runtime = core.map_or(Ok(()), affinity::pin).and_then(|()| {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(4)
            .build()
            .map_err(|error| Error::Operator(format!("no runtime can be started: {error}")))
    });
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return drop(ready.send(Err(error))),
    };
    runtime.block_on(async {
        let service = service();
        let listener = match tokio::net::TcpListener::from_std(listener) {
            Ok(listener) => listener,
            Err(error) => {
                return drop(ready.send(Err(Error::Operator(format!("listen: {error}")))));
            }
        };
        let background = service.background.map(tokio::spawn);
        let peers = service.peers;
        let _ = ready.send(Ok(()));
        let tls = service.tls.map(tokio_rustls::TlsAcceptor::from);
        let served = connection::Served {
            router: Arc::new(service.router),
            tls,
            peers,
            causes,
            unfinished: connection::unfinished(cores),
        };
        connection::accept(listener, served, stopped, DRAIN).await;
        if let Some(background) = background {
            background.abort();
        }
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
}
