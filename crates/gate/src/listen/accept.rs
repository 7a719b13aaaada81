//! The accept loops of a core: accept a connection, read its first flight, decide on it,
//! and begin its task, queue it or close it.

use crate::admission::decide::{Admission, Decider, NewSession};
use crate::admission::dispatcher::{Begin, Dispatcher};
use crate::alerts;
use crate::connection::task::Tasks;
use crate::context::CoreContext;
use crate::http::requests::HttpServer;
use crate::linger;
use crate::listen::first_flight::{FirstFlight, FirstFlightReader};
use crate::listen::listener;
use crate::listen::spare::{Spare, is_out_of_files};
use crate::places::{Kind as PlaceKind, Place};
use crate::refusal;
use crate::socket::{self, Arrival, Scheme};
use crate::telemetry::cpu::{Metered, enter};
use crate::telemetry::labels::{Bucket, End, Kind};
use crate::telemetry::seldom::Seldom;
use rustls::AlertDescription;
use std::cell::RefCell;
use std::io;
use std::net::TcpListener;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tidegate_hello::{Limits, OtherProtocol};
use tidegate_trace::{Outcome, Phase};
use tokio::io::unix::AsyncFd;
use tokio::task::spawn_local;

/// Connections accepted before other tasks run.
const BATCH: usize = 64;
/// Pause after `accept` failed for lack of a resource, such as descriptors.
const PAUSE: Duration = Duration::from_millis(20);

/// Accepts the connections of one core, with one configuration.
pub struct Acceptor {
    context: Rc<CoreContext>,
    decider: Rc<Decider>,
    dispatcher: Rc<Dispatcher>,
    /// Begins the task of an admitted connection.
    begin: Begin,
    hello_limits: Limits,
    scratch: RefCell<Box<[u8]>>,
    spare: RefCell<Spare>,
    failures: RefCell<Seldom>,
}

impl Acceptor {
    /// Passes accepted connections to the parts of the same core.
    pub fn new(decider: Rc<Decider>, tasks: Rc<Tasks>, http: Rc<HttpServer>) -> Rc<Self> {
        let (context, dispatcher) = (tasks.context.clone(), tasks.dispatcher.clone());
        let limits = &context.config.limits;
        let begin: Begin = Rc::new(move |arrival, first_flight, admitted, place| {
            let http = http.clone();
            tasks.begin(arrival, first_flight, admitted, place, async move |transport, client| {
                http.serve(transport, client).await
            });
        });
        Rc::new(Self {
            hello_limits: Limits {
                bytes: limits.hello_max_bytes,
                identities: limits.ticket_identities,
                ..Limits::default()
            },
            scratch: RefCell::new(vec![0; limits.hello_max_bytes.max(4096)].into()),
            spare: RefCell::default(),
            failures: RefCell::default(),
            context,
            decider,
            dispatcher,
            begin,
        })
    }

    /// Refuses a connection for which there is no file descriptor, by a reset: its customer
    /// learns it at once. The control loop logs it.
    ///
    /// # Errors
    /// `WouldBlock` if no connection waits; otherwise the error of `accept`.
    fn refuse_one(&self, listener: &AsyncFd<TcpListener>) -> io::Result<()> {
        let accept = || listener::accept(listener.get_ref(), Scheme::Https);
        self.spare.borrow_mut().lend(|| accept().map(refusal::reset))?;
        let counters = &self.context.counters;
        counters.accepted.add(1);
        counters.accept_errors.add(1);
        counters.end(End::NoFiles);
        Ok(())
    }

    fn note_failure(&self, error: &io::Error) {
        self.context.counters.accept_errors.add(1);
        if let Some(times) = self.failures.borrow_mut().count(1, Instant::now()) {
            tracing::warn!(%error, times, "cannot accept connections");
        }
    }

    /// Reads what a new connection has sent. What can be done at once, such as refusing
    /// it, takes neither a task nor a place in the runtime.
    fn handle_arrival(self: &Rc<Self>, mut arrival: Arrival) {
        let counters = &self.context.counters;
        counters.accepted.add(1);
        let places = &self.context.places;
        if !places.has_place(places.prefix_of(arrival.peer.ip()), PlaceKind::Returning) {
            return self.close_without_place(arrival);
        }
        arrival.enter(Phase::FirstFlight);
        let mut reader = FirstFlightReader::new(arrival.scheme, self.hello_limits);
        let read = self.read(&mut reader, |buffer| socket::receive(&arrival.socket, buffer));
        let first_flight = match read {
            Ok(first_flight) => first_flight,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => FirstFlight::Incomplete,
            Err(_) => {
                arrival.ends(Outcome::Broken);
                return counters.end(End::HelloHungUp);
            }
        };
        self.handle_first_flight(arrival, reader, first_flight);
    }

    /// Reads once into a first flight.
    ///
    /// # Errors
    /// The kernel's error; `UnexpectedEof` where the customer closed.
    fn read(
        &self,
        reader: &mut FirstFlightReader,
        receive: impl FnOnce(&mut [u8]) -> io::Result<usize>,
    ) -> io::Result<FirstFlight> {
        let mut scratch = self.scratch.borrow_mut();
        match receive(&mut scratch)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            n => Ok(reader.push(&scratch[..n])),
        }
    }

    /// Decides on a connection by its first flight.
    fn handle_first_flight(
        self: &Rc<Self>,
        mut arrival: Arrival,
        reader: FirstFlightReader,
        first_flight: FirstFlight,
    ) {
        let counters = &self.context.counters;
        let prefix = self.context.places.prefix_of(arrival.peer.ip());
        let mut hello = None;
        let verdict = match first_flight {
            FirstFlight::Incomplete => {
                let Some(place) = self.dispatcher.take_place(prefix, PlaceKind::FirstFlight) else {
                    return self.close_without_place(arrival);
                };
                let task = self.clone().finish_first_flight(place, arrival, reader);
                spawn_local(Metered::new(Bucket::Arrival, task));
                return;
            }
            FirstFlight::Hello(read) => self.decider.decide(hello.insert(read), prefix),
            FirstFlight::Request => self.decider.decide_new(NewSession::PlainHttp, prefix),
            FirstFlight::NotTls(protocol) => return self.handle_not_tls(arrival, protocol),
            FirstFlight::Malformed(malformed) => {
                tracing::debug!(%malformed, "the hello is malformed");
                counters.end(End::MalformedHello);
                arrival.ends(Outcome::Broken);
                return refusal::send_last_alert(arrival.socket, alerts::for_malformed(malformed));
            }
            FirstFlight::NotHttp => {
                counters.end(End::NotHttp);
                arrival.ends(Outcome::Broken);
                return socket::send_and_close(arrival.socket, refusal::NOT_HTTP);
            }
        };
        let bytes = || reader.into_bytes(hello.as_ref());
        match verdict {
            Admission::Admit(admitted) => {
                match self.dispatcher.take_place(prefix, PlaceKind::Unproven) {
                    Some(place) => (self.begin)(arrival, bytes(), admitted, place),
                    None => self.close_without_place(arrival),
                }
            }
            Admission::Queue(new) => match self.dispatcher.take_place(prefix, PlaceKind::Queued) {
                Some(place) => {
                    let begin = self.begin.clone();
                    self.dispatcher.enqueue(arrival, bytes(), new, place, begin);
                }
                None => self.close_without_place(arrival),
            },
            Admission::Refuse => {
                counters.end(End::TooMany);
                refusal::refuse(self.context.config.admission.refuse, arrival);
            }
            Admission::CloseCopy => {
                counters.end(End::CopiedHello);
                refusal::reset(arrival);
            }
            Admission::Reject(alert) => {
                counters.handshakes_failed[Kind::Full].add(1);
                counters.end(End::HandshakeFailed);
                arrival.ends(Outcome::Broken);
                refusal::send_alert(arrival.socket, alert);
            }
        }
    }

    fn close_without_place(&self, arrival: Arrival) {
        self.context.counters.end(End::TooMany);
        refusal::reset(arrival);
    }

    /// Collects the rest of a hello, or waits for the first bytes of plain HTTP.
    async fn finish_first_flight(
        self: Rc<Self>,
        place: Place,
        arrival: Arrival,
        mut reader: FirstFlightReader,
    ) {
        let Arrival { socket, peer, scheme, mut line } = arrival;
        if let Some(line) = &mut line {
            line.pause();
            line.ends(Outcome::Broken);
        }
        let Ok(socket) = tokio::net::TcpStream::from_std(socket) else { return };
        let collect = async {
            loop {
                socket.readable().await?;
                match self.read(&mut reader, |buffer| socket.try_read(buffer)) {
                    Ok(FirstFlight::Incomplete) => {}
                    Ok(first_flight) => return Ok(first_flight),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(error) => return Err(error),
                }
            }
        };
        let deadline = self.context.config.limits.hello_deadline;
        let collected = place.unless_displaced(tokio::time::timeout(deadline, collect)).await;
        let Some(collected) = collected else {
            return self.context.counters.end(End::Displaced);
        };
        match collected {
            Err(_) => {
                line.iter_mut().for_each(|line| line.ends(Outcome::TimedOut));
                self.context.counters.end(End::HelloDeadline);
            }
            Ok(Err(_)) => self.context.counters.end(End::HelloHungUp),
            Ok(Ok(first_flight)) => {
                if let Ok(socket) = socket.into_std() {
                    // What follows takes another, and the connection must not have two.
                    drop(place);
                    if let Some(line) = &mut line {
                        line.resume();
                        line.ends(Outcome::Done);
                    }
                    let arrival = Arrival { socket, peer, scheme, line };
                    self.handle_first_flight(arrival, reader, first_flight);
                }
            }
        }
    }

    fn handle_not_tls(&self, mut arrival: Arrival, protocol: OtherProtocol) {
        arrival.ends(Outcome::Broken);
        let counters = &self.context.counters;
        counters.not_tls[protocol].add(1);
        if protocol != OtherProtocol::PlainHttp {
            counters.end(End::NotTls);
            let old = protocol == OtherProtocol::SslV2;
            let alert = old.then_some(AlertDescription::ProtocolVersion);
            return refusal::send_last_alert(arrival.socket, alert);
        }
        counters.end(End::ClearHttp);
        let prefix = self.context.places.prefix_of(arrival.peer.ip());
        let place = self.dispatcher.take_place(prefix, PlaceKind::FirstFlight);
        if let Some(place) = place {
            let answer = async move {
                if let Ok(socket) = tokio::net::TcpStream::from_std(arrival.socket) {
                    let sent = linger::send_and_close(socket, refusal::CLEAR_HTTP);
                    place.unless_displaced(sent).await;
                }
            };
            spawn_local(Metered::new(Bucket::Arrival, answer));
        }
    }
}

/// Accepts connections until dropped, each with the acceptor that is current then.
///
/// # Errors
/// The runtime cannot register the listener.
pub fn accept_on(
    current: Rc<RefCell<Rc<Acceptor>>>,
    listener: TcpListener,
    scheme: Scheme,
) -> io::Result<impl Future<Output = ()>> {
    // SAFETY: the listener owns its descriptor and keeps it until dropped.
    let listener =
        unsafe { AsyncFd::register_with_interest(listener, tokio::io::Interest::READABLE) }?;
    Ok(accept_loop(current, listener, scheme))
}

async fn accept_loop(
    current: Rc<RefCell<Rc<Acceptor>>>,
    listener: AsyncFd<TcpListener>,
    scheme: Scheme,
) {
    loop {
        let Ok(mut ready) = listener.readable().await else { return };
        let acceptor = current.borrow().clone();
        acceptor.spare.borrow_mut().restore();
        for _ in 0..BATCH {
            enter(Bucket::Arrival);
            let accepted = match listener::accept(listener.get_ref(), scheme) {
                Ok(arrival) => {
                    acceptor.handle_arrival(arrival);
                    Ok(())
                }
                Err(error) if is_out_of_files(&error) => acceptor.refuse_one(&listener),
                Err(error) => Err(error),
            };
            match accepted {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    ready.clear_ready();
                    break;
                }
                Err(error) if is_of_the_connection(&error) => {}
                Err(error) => {
                    acceptor.note_failure(&error);
                    tokio::time::sleep(PAUSE).await;
                    break;
                }
            }
        }
        tokio::task::yield_now().await;
    }
}

/// Whether `accept` failed because of one connection only.
fn is_of_the_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted)
        || matches!(error.raw_os_error(), Some(libc::EPROTO))
}
