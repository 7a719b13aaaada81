//! One core: its thread, its listeners, its accept loops.

use crate::admission::decide::{Newcomer, Verdict};
use crate::admission::dispatcher::Held;
use crate::admission::queue::Line;
use crate::config::Refusal;
use crate::connection::state::Patience;
use crate::connection::task as life;
use crate::http::pages;
use crate::http::pool::Pool;
use crate::http::upstream::Route;
use crate::listen::first_flight::{Heard, Opening};
use crate::shared::Shared;
use crate::shutdown::{Bell, Tide};
use crate::socket::{self, Arrival, Scheme};
use crate::telemetry::counters::{self as account, Bucket, Counters, End, Kind, Metered};
use rustls::AlertDescription;
use std::cell::{Cell, RefCell};
use std::io;
use std::net::{TcpListener, TcpStream};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidegate_hello::{Limits, OtherProtocol};
use tokio::io::unix::AsyncFd;
use tokio::sync::{Notify, watch};
use tokio::task::{JoinHandle, spawn_local};

/// Connections accepted before others get their turn.
const BATCH: usize = 64;
/// Pause after `accept` failed for want of something, such as descriptors.
const PAUSE: Duration = Duration::from_millis(20);
/// How often a core brings its accounts up to date.
const SETTLE: Duration = Duration::from_millis(50);

/// What the connections of one core share.
pub struct Core {
    /// What all cores share.
    pub shared: Arc<Shared>,
    /// This core's counters.
    pub counters: Arc<Counters>,
    /// Newcomers who wait.
    pub line: Line<Held>,
    /// Wakes the usher.
    pub someone_came: Notify,
    /// When it is worth asking for those who wait.
    pub ask_at: Cell<Instant>,
    /// Unused connections to the upstream.
    pub pool: Rc<Pool>,
    /// Rung when the gate closes.
    pub bell: Rc<Bell>,
    /// Deadlines of requests.
    pub patience: Patience,
    /// Most ticket identities in a hello.
    pub identities: usize,
    hello_limits: Limits,
    refusal: Refusal,
    /// This core's share of all places.
    most_open: u64,
    scratch: RefCell<Box<[u8]>>,
}

impl Core {
    /// The core of this index in `shared`, with nobody at its door.
    pub fn new(shared: Arc<Shared>, index: usize, route: Route) -> Rc<Self> {
        let config = &shared.config;
        let (limits, admission) = (&config.limits, &config.admission);
        let counters = shared.cores[index].clone();
        let share = |all: usize| all.div_ceil(shared.cores.len());
        let (most, bytes) = (share(admission.hold_connections), share(admission.hold_bytes));
        let (size, idle) = (config.upstream.pool_size, config.upstream.idle_timeout);
        Rc::new(Self {
            line: Line::new(most, bytes, admission.hold_time, counters.clone()),
            someone_came: Notify::new(),
            ask_at: Cell::new(Instant::now()),
            pool: Pool::new(route, size, idle, counters.clone()),
            bell: Rc::default(),
            patience: Patience::of(config),
            identities: limits.ticket_identities,
            hello_limits: Limits {
                bytes: limits.hello_max_bytes,
                identities: limits.ticket_identities,
                ..Limits::default()
            },
            refusal: admission.refuse,
            most_open: share(limits.max_connections) as u64,
            scratch: RefCell::new(vec![0; limits.hello_max_bytes.max(4096)].into()),
            counters,
            shared,
        })
    }

    /// Whether the places that are left are kept for those already inside.
    pub fn is_full_for_newcomers(&self) -> bool {
        self.counters.open[0].get() >= self.most_open - self.most_open / 8
    }

    /// Whether there is no place for one more connection of which nobody knows who
    /// it is. Such connections are what a flood is made of, and a returning
    /// customer may be among them, whose hello came in two segments: so half of
    /// the places are theirs whoever else is here, and the last sixteenth is for
    /// those who show a ticket at once.
    fn is_full_for_unknown(&self) -> bool {
        // One at least: the smallest gate serves hellos in two segments too.
        let half = (self.most_open / 2).max(1);
        self.counters.in_opening[0].get() >= half
            || self.counters.open[0].get() >= self.most_open - self.most_open / 16
    }

    /// Judges a connection that just came. What can be done at once, such as
    /// refusing, takes neither a task nor a place in the runtime.
    fn arrive(self: &Rc<Self>, arrival: Arrival) {
        self.counters.accepted[0].add(1);
        if self.counters.open[0].get() >= self.most_open {
            self.counters.end(End::TooMany);
            return socket::reset(arrival.socket);
        }
        let mut opening = Opening::new(arrival.scheme, self.hello_limits);
        let heard = match self.receive(&arrival.socket, &mut opening) {
            Ok(heard) => heard,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Heard::NotEnough,
            Err(_) => return self.counters.end(End::HelloHungUp),
        };
        if let Heard::NotEnough = heard {
            if self.is_full_for_unknown() {
                self.counters.end(End::TooMany);
                return socket::reset(arrival.socket);
            }
            life::begin(self, arrival, life::Start::Opening(opening));
        } else {
            self.greet(arrival, opening, heard);
        }
    }

    /// Reads what a socket has.
    ///
    /// # Errors
    /// What the kernel said; `UnexpectedEof` where the customer hung up.
    fn receive(&self, socket: &TcpStream, opening: &mut Opening) -> io::Result<Heard> {
        let mut scratch = self.scratch.borrow_mut();
        match socket::receive(socket, &mut scratch)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            n => Ok(opening.push(&scratch[..n])),
        }
    }

    /// The same for a socket that the runtime watches.
    ///
    /// # Errors
    /// As above.
    pub fn read_on(
        &self,
        socket: &tokio::net::TcpStream,
        opening: &mut Opening,
    ) -> io::Result<Heard> {
        let mut scratch = self.scratch.borrow_mut();
        match socket.try_read(&mut scratch)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            n => Ok(opening.push(&scratch[..n])),
        }
    }

    /// Does what is right with what a customer said first.
    pub fn greet(self: &Rc<Self>, arrival: Arrival, opening: Opening, heard: Heard) {
        let verdict = match heard {
            Heard::NotEnough => {
                return life::begin(self, arrival, life::Start::Opening(opening));
            }
            Heard::Hello(hello) => self.decide(&hello),
            Heard::Request => self.line_up(Newcomer::Clear),
            Heard::NotTls(looks) => return self.is_not_tls(arrival, looks),
            Heard::Malformed(malformed) => {
                tracing::debug!(%malformed, "no usable hello");
                return self.counters.end(End::MalformedHello);
            }
            Heard::NotHttp => {
                self.counters.end(End::NotHttp);
                return socket::send_and_close(arrival.socket, pages::NOT_HTTP);
            }
        };
        match verdict {
            Verdict::Admit(pass) => {
                life::begin(self, arrival, life::Start::Admitted(opening.into_raw(), pass));
            }
            Verdict::Line(newcomer) => {
                self.stand_in_line(Held::new(self, arrival, opening.into_raw(), newcomer));
            }
            Verdict::Full => {
                self.counters.end(End::TooMany);
                self.refuse(arrival);
            }
            Verdict::Impossible(alert) => {
                self.counters.handshakes_failed[Kind::Full as usize].add(1);
                self.counters.end(End::HandshakeFailed);
                tell(arrival.socket, alert);
            }
        }
    }

    fn is_not_tls(self: &Rc<Self>, arrival: Arrival, looks: OtherProtocol) {
        self.counters.not_tls(looks);
        if looks == OtherProtocol::PlainHttp {
            self.counters.end(End::ClearHttp);
            if !self.is_full_for_unknown() {
                life::begin(self, arrival, life::Start::ClearHttp);
            }
        } else {
            self.counters.end(End::NotTls);
        }
    }

    /// Turns a customer away as cheaply as can be.
    pub fn refuse(&self, arrival: Arrival) {
        let Arrival { socket, scheme, .. } = arrival;
        match (self.refusal, scheme) {
            (Refusal::Reset, _) => socket::reset(socket),
            // She is told that it is not her fault.
            (Refusal::Alert, Scheme::Https) => tell(socket, AlertDescription::InternalError),
            (Refusal::Alert, Scheme::Http) => socket::send_and_close(socket, pages::FULL),
        }
    }

    /// Accepts connections until the task is aborted.
    fn accept_on(
        self: &Rc<Self>,
        listener: TcpListener,
        scheme: Scheme,
    ) -> io::Result<JoinHandle<()>> {
        // SAFETY: the listener owns its descriptor and keeps it until dropped.
        let listener =
            unsafe { AsyncFd::register_with_interest(listener, tokio::io::Interest::READABLE) }?;
        Ok(spawn_local(self.clone().accept_forever(listener, scheme)))
    }

    async fn accept_forever(self: Rc<Self>, listener: AsyncFd<TcpListener>, scheme: Scheme) {
        loop {
            let Ok(mut ready) = listener.readable().await else { return };
            for _ in 0..BATCH {
                account::enter(Bucket::Arrival);
                match socket::accept(listener.get_ref(), scheme) {
                    Ok(arrival) => self.arrive(arrival),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        ready.clear_ready();
                        break;
                    }
                    Err(error) if is_of_the_connection(&error) => {}
                    Err(error) => {
                        self.counters.accept_errors[0].add(1);
                        tracing::warn!(%error, "cannot accept connections");
                        tokio::time::sleep(PAUSE).await;
                        break;
                    }
                }
            }
            tokio::task::yield_now().await;
        }
    }

    async fn keep_up(self: Rc<Self>) {
        let mut ticks = 0u32;
        loop {
            tokio::time::sleep(SETTLE).await;
            account::settle();
            ticks += 1;
            if ticks.is_multiple_of(20) {
                self.pool.sweep();
            }
        }
    }
}

/// Sends a fatal alert in clear, and closes.
///
/// Source: RFC 8446, section 6.
fn tell(socket: TcpStream, alert: AlertDescription) {
    socket::send_and_close(socket, &[21, 3, 3, 0, 2, 2, u8::from(alert)]);
}

/// Whether `accept` failed for one connection's sake only.
fn is_of_the_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted)
        || matches!(error.raw_os_error(), Some(libc::EPROTO))
}

/// The listening sockets of one core.
pub struct Listeners {
    /// For customers over TLS.
    pub tls: TcpListener,
    /// For customers in clear.
    pub clear: Option<TcpListener>,
}

/// Tells a core by when it must be empty, once it is to drain.
pub type Drain = watch::Receiver<Option<Instant>>;

/// Works on one core until it has drained.
///
/// # Errors
/// The runtime could not be started.
pub fn work(
    shared: Arc<Shared>,
    index: usize,
    listeners: Listeners,
    route: Route,
    mut drain: Drain,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(tokio::runtime::LocalOptions::default())?;
    account::attach(shared.cores[index].clone());
    runtime.block_on(async {
        let core = Core::new(shared, index, route);
        let mut accepting = vec![core.accept_on(listeners.tls, Scheme::Https)?];
        if let Some(clear) = listeners.clear {
            accepting.push(core.accept_on(clear, Scheme::Http)?);
        }
        spawn_local(Metered::new(Bucket::Arrival, core.clone().usher()));
        spawn_local(Metered::new(Bucket::Upkeep, core.clone().keep_up()));
        let deadline = loop {
            if let Some(deadline) = *drain.borrow_and_update() {
                break deadline;
            }
            if drain.changed().await.is_err() {
                break Instant::now();
            }
        };
        // Closes the listeners.
        for accepting in accepting {
            accepting.abort();
            let _ = accepting.await;
        }
        core.bell.ring(Tide::Draining);
        core.clear_line();
        while core.counters.open[0].get() > 0 && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        core.bell.ring(Tide::Closed);
        tokio::task::yield_now().await;
        Ok(())
    })
}
