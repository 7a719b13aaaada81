//! The accept loops of a core: accept a connection, read its first flight, decide on it,
//! and begin its task, queue it or close it.

use crate::admission::decide::{Decider, NewSession, Verdict};
use crate::admission::dispatcher::{Begin, Dispatcher};
use crate::connection::task::Tasks;
use crate::context::{CoreContext, Counted};
use crate::http::requests::HttpServer;
use crate::linger;
use crate::listen::first_flight::{FirstFlight, FirstFlightReader};
use crate::listen::listener;
use crate::refusal;
use crate::socket::{self, Arrival, Scheme};
use crate::telemetry::cpu::{Metered, enter};
use crate::telemetry::labels::{Bucket, End, Kind};
use std::cell::RefCell;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::rc::Rc;
use std::time::Duration;
use tidegate_hello::{Limits, OtherProtocol};
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
}

impl Acceptor {
    /// Passes accepted connections to the parts of the same core.
    pub fn new(decider: Rc<Decider>, tasks: Rc<Tasks>, http: Rc<HttpServer>) -> Rc<Self> {
        let (context, dispatcher) = (tasks.context.clone(), tasks.dispatcher.clone());
        let limits = &context.config.limits;
        let begin: Begin = Rc::new(move |arrival, first_flight, admitted| {
            let http = http.clone();
            tasks.begin(arrival, first_flight, admitted, async move |transport, client| {
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
            context,
            decider,
            dispatcher,
            begin,
        })
    }

    /// Reads what a new connection has sent. What can be done at once, such as refusing
    /// it, takes neither a task nor a place in the runtime.
    fn handle_arrival(self: &Rc<Self>, arrival: Arrival) {
        let counters = &self.context.counters;
        counters.accepted.add(1);
        if self.context.is_full() {
            counters.end(End::TooMany);
            return socket::reset(arrival.socket);
        }
        let mut reader = FirstFlightReader::new(arrival.scheme, self.hello_limits);
        let read = self.read(&mut reader, |buffer| socket::receive(&arrival.socket, buffer));
        let first_flight = match read {
            Ok(first_flight) => first_flight,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => FirstFlight::Incomplete,
            Err(_) => return counters.end(End::HelloHungUp),
        };
        if matches!(first_flight, FirstFlight::Incomplete)
            && self.context.is_full_for_first_flights()
        {
            counters.end(End::TooMany);
            return socket::reset(arrival.socket);
        }
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
        arrival: Arrival,
        reader: FirstFlightReader,
        first_flight: FirstFlight,
    ) {
        let counters = &self.context.counters;
        let verdict = match first_flight {
            FirstFlight::Incomplete => {
                let counted = self.count_first_flight();
                let task = self.clone().finish_first_flight(counted, arrival, reader);
                spawn_local(Metered::new(Bucket::Arrival, task));
                return;
            }
            FirstFlight::Hello(hello) => self.decider.decide(&hello),
            FirstFlight::Request => self.decider.decide_new(NewSession::PlainHttp),
            FirstFlight::NotTls(protocol) => {
                return self.handle_not_tls(arrival.socket, protocol);
            }
            FirstFlight::Malformed(malformed) => {
                tracing::debug!(%malformed, "the hello is malformed");
                return counters.end(End::MalformedHello);
            }
            FirstFlight::NotHttp => {
                counters.end(End::NotHttp);
                return socket::send_and_close(arrival.socket, refusal::NOT_HTTP);
            }
        };
        match verdict {
            Verdict::Admit(admitted) => (self.begin)(arrival, reader.into_raw(), admitted),
            Verdict::Queue(new) => {
                self.dispatcher.enqueue(arrival, reader.into_raw(), new, self.begin.clone());
            }
            Verdict::Refuse => {
                counters.end(End::TooMany);
                refusal::refuse(self.context.config.admission.refuse, arrival);
            }
            Verdict::Reject(alert) => {
                counters.handshakes_failed[Kind::Full].add(1);
                counters.end(End::HandshakeFailed);
                refusal::send_alert(arrival.socket, alert);
            }
        }
    }

    /// Counts a connection whose first flight is incomplete.
    fn count_first_flight(&self) -> (Counted, Counted) {
        (self.context.count_open(), self.context.count(|counters| &counters.in_first_flight))
    }

    /// Collects the rest of a hello, or waits for the first bytes of plain HTTP.
    async fn finish_first_flight(
        self: Rc<Self>,
        counted: (Counted, Counted),
        arrival: Arrival,
        mut reader: FirstFlightReader,
    ) {
        let Arrival { socket, peer, scheme } = arrival;
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
        let collected = tokio::time::timeout(deadline, collect).await;
        match collected {
            Err(_) => self.context.counters.end(End::HelloDeadline),
            Ok(Err(_)) => self.context.counters.end(End::HelloHungUp),
            Ok(Ok(first_flight)) => {
                if let Ok(socket) = socket.into_std() {
                    // It is counted anew by what follows, and must not be counted twice.
                    drop(counted);
                    let arrival = Arrival { socket, peer, scheme };
                    self.handle_first_flight(arrival, reader, first_flight);
                }
            }
        }
    }

    fn handle_not_tls(&self, socket: TcpStream, protocol: OtherProtocol) {
        let counters = &self.context.counters;
        counters.not_tls[protocol].add(1);
        if protocol != OtherProtocol::PlainHttp {
            return counters.end(End::NotTls);
        }
        counters.end(End::ClearHttp);
        if !self.context.is_full_for_first_flights() {
            let counted = self.count_first_flight();
            let answer = async move {
                let _counted = counted;
                if let Ok(socket) = tokio::net::TcpStream::from_std(socket) {
                    linger::send_and_close(socket, refusal::CLEAR_HTTP).await;
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
        for _ in 0..BATCH {
            enter(Bucket::Arrival);
            match listener::accept(listener.get_ref(), scheme) {
                Ok(arrival) => acceptor.handle_arrival(arrival),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    ready.clear_ready();
                    break;
                }
                Err(error) if is_of_the_connection(&error) => {}
                Err(error) => {
                    acceptor.context.counters.accept_errors.add(1);
                    tracing::warn!(%error, "cannot accept connections");
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
