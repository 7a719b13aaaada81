//! The path of a new connection: accept, first flight, classify, decide, begin. Each step
//! is in a file of its own; a new session waits in the queue between the last two.

use crate::admission::decide::{Admit, Admitted, Decider, Denial, NewSession, SessionEntry};
use crate::admission::entrance::Entrance;
use crate::admission::replays::SeenHellos;
use crate::admission::sessions::Sessions;
use crate::alerts;
use crate::config::SessionCookie;
use crate::context::CoreContext;
use crate::generation::Generation;
use crate::http::requests::HttpServer;
use crate::linger;
use crate::listen::dispatcher::Dispatcher;
use crate::listen::first_flight::{FirstFlight, FirstFlightReader, FirstFlights};
use crate::listen::task::{Pending, Tasks};
use crate::places::{Place, PlaceKind};
use crate::refusal;
use crate::socket::{self, Arrival};
use crate::telemetry::cpu::Metered;
use crate::telemetry::labels::{Bucket, Class, End, HandshakeKind};
use crate::upstream::routes::Routes;
use rustls::AlertDescription;
use std::cell::RefCell;
use std::io;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tidegate_hello::OtherProtocol;
use tidegate_trace::{Outcome, Phase};
use tokio::task::spawn_local;

/// What the new connections of a core pass through, with one configuration.
pub struct Pipeline {
    context: Rc<CoreContext>,
    first_flights: FirstFlights,
    /// Decides on each.
    pub decider: Rc<Decider>,
    /// Admits new sessions from the queue.
    pub dispatcher: Rc<Dispatcher>,
    /// The tasks of those that are admitted.
    pub tasks: Rc<Tasks>,
}

impl Pipeline {
    /// The first pipeline of a core: its queue and its pools are empty.
    pub fn new(
        context: &Rc<CoreContext>,
        generation: &Generation,
        sessions: Arc<Sessions>,
    ) -> Rc<Self> {
        let decider = decider(context, generation, sessions, Rc::default());
        let routes = Routes::new(context, &generation.connectors);
        let dispatcher = Dispatcher::new(decider.clone());
        let http = HttpServer::new(context.clone(), routes, entrance(&decider, &dispatcher));
        Self::with(context.clone(), generation, decider, dispatcher, http)
    }

    /// The pipeline of connections that begin with another generation. The queue stays, and
    /// its dispatcher.
    pub fn renewed(&self, generation: &Generation) -> Rc<Self> {
        let context = self.context.renewed(generation.config.clone());
        let Decider { sessions, seen, .. } = &*self.decider;
        let decider = decider(&context, generation, sessions.clone(), seen.clone());
        let dispatcher = self.dispatcher.clone();
        dispatcher.renew(context.clone());
        let entrance = entrance(&decider, &dispatcher);
        let http = self.tasks.http.renewed(context.clone(), &generation.connectors, entrance);
        Self::with(context, generation, decider, dispatcher, http)
    }

    fn with(
        context: Rc<CoreContext>,
        generation: &Generation,
        decider: Rc<Decider>,
        dispatcher: Rc<Dispatcher>,
        http: Rc<HttpServer>,
    ) -> Rc<Self> {
        let tasks = Rc::new(Tasks {
            context: context.clone(),
            tls: generation.tls.clone(),
            http,
            wake: dispatcher.wake.clone(),
        });
        let first_flights = FirstFlights::new(&context.config);
        Rc::new(Self { context, first_flights, decider, dispatcher, tasks })
    }

    /// Frees the pools to the upstream of stale connections; call it about once a second.
    pub fn sweep_pools(&self) {
        self.tasks.http.routes.sweep();
    }

    /// A connection was accepted: reads what it has sent. What can be done at once, such as
    /// refusing it, takes neither a task nor a place in the runtime.
    pub fn accepted(self: &Rc<Self>, mut arrival: Arrival) {
        self.context.counters.accepted.add(1);
        let places = &self.context.places;
        // Places are shared by the customers whom a listed sender names, not by the senders.
        let announced = self.first_flights.is_sender(arrival.peer.ip());
        let has_place =
            || places.has_place(places.prefix_of(arrival.peer.ip()), PlaceKind::Returning);
        if !announced && !has_place() {
            return self.close_without_place(arrival);
        }
        arrival.enter(Phase::FirstFlight);
        let mut reader = self.first_flights.reader(arrival.scheme, announced);
        let receive = |buffer: &mut [u8]| socket::receive(&arrival.socket, buffer);
        match self.first_flights.read(&mut reader, receive) {
            Ok(first_flight) => self.received(arrival, reader, first_flight),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.received(arrival, reader, FirstFlight::Incomplete);
            }
            Err(_) => {
                arrival.ends(Outcome::Broken);
                self.context.counters.end(End::HelloHungUp);
            }
        }
    }

    /// Classifies a connection by its first flight, decides on it, and begins its task. That
    /// of a new session begins when the dispatcher admits it from the queue.
    fn received(
        self: &Rc<Self>,
        mut arrival: Arrival,
        reader: FirstFlightReader,
        first_flight: FirstFlight,
    ) {
        if let Some(customer) = reader.announced() {
            arrival.peer = customer;
        }
        let prefix = self.context.places.prefix_of(arrival.peer.ip());
        let mut hello = None;
        let decided = match first_flight {
            FirstFlight::Hello(read) => {
                let hello = hello.insert(read);
                let class = self.decider.classify(hello);
                self.decider.decide(hello, &class, prefix)
            }
            FirstFlight::Request if self.decides_on_requests() => {
                Ok(Admit::Now(self.decider.of_requests()))
            }
            FirstFlight::Request => self.decider.decide_new(NewSession::PlainHttp, prefix),
            FirstFlight::Incomplete => return self.wait_for_the_rest(arrival, reader),
            other => return self.answer_other(arrival, other),
        };
        let admit = match decided {
            Ok(admit) => admit,
            Err(denial) => return self.deny(arrival, denial),
        };
        let address = arrival.peer.ip();
        let admit = match admit {
            Admit::Queued(new) | Admit::Room(new)
                if self.context.config.admission.never_waits(address) =>
            {
                self.decider.admit_always(new).map_or(Admit::Queued(new), Admit::Now)
            }
            Admit::Room(new) => self.companion(new, address).unwrap_or(Admit::Room(new)),
            Admit::Queued(new) if self.dispatcher.is_crowded() => {
                self.companion(new, address).unwrap_or(Admit::Queued(new))
            }
            other => other,
        };
        let kind = match &admit {
            Admit::Room(_) => PlaceKind::New,
            Admit::Now(Admitted {
                session: SessionEntry::OfRequests | SessionEntry::Proven(_),
                ..
            }) => PlaceKind::New,
            Admit::Now(_) => PlaceKind::Unproven,
            Admit::Queued(_) => PlaceKind::Queued,
        };
        let Some(place) = self.dispatcher.take_place(prefix, kind) else {
            return self.close_without_place(arrival);
        };
        let first_flight = reader.into_bytes(hello.as_ref());
        let pending = Pending { arrival, first_flight, place, queued: Duration::ZERO };
        match admit {
            Admit::Now(admitted) => self.tasks.begin(pending, admitted),
            Admit::Queued(new) => self.dispatcher.enqueue(pending, new, self.tasks.clone()),
            Admit::Room(new) => self.dispatcher.let_wait(pending, new, &self.tasks),
        }
    }

    /// Admits a connection to the session of the same browser, if it is one, past those who wait.
    fn companion(&self, new: NewSession, address: IpAddr) -> Option<Admit> {
        let admitted = self.decider.admit_companion(new, address)?;
        self.context.counters.admitted[Class::Returning].add(1);
        Some(Admit::Now(admitted))
    }

    /// Whether on plain HTTP each request is decided on, by its cookie.
    fn decides_on_requests(&self) -> bool {
        self.context.config.admission.session_cookie != SessionCookie::Off
    }

    fn close_without_place(&self, arrival: Arrival) {
        self.context.counters.end(End::TooMany);
        self.context.log_refusal(arrival.peer, Class::New, End::TooMany, None);
        refusal::reset(arrival);
    }

    /// Closes a connection that is not admitted.
    fn deny(&self, mut arrival: Arrival, denial: Denial) {
        let counters = &self.context.counters;
        match denial {
            Denial::NoPlace => {
                counters.end(End::TooMany);
                self.context.log_refusal(arrival.peer, Class::New, End::TooMany, None);
                refusal::refuse(self.context.config.admission.refuse, arrival);
            }
            Denial::BeyondShare => {
                counters.end(End::Refused);
                self.context.log_refusal(arrival.peer, Class::New, End::Refused, None);
                refusal::reset(arrival);
            }
            Denial::Copy => {
                counters.end(End::CopiedHello);
                self.context.log_refusal(arrival.peer, Class::Returning, End::CopiedHello, None);
                refusal::reset(arrival);
            }
            Denial::Handshake(alert) => {
                counters.handshakes_failed[HandshakeKind::Full].add(1);
                counters.end(End::HandshakeFailed);
                arrival.ends(Outcome::Broken);
                refusal::send_alert(arrival.socket, alert);
            }
        }
    }

    /// Continues when the first flight is complete.
    fn wait_for_the_rest(self: &Rc<Self>, arrival: Arrival, reader: FirstFlightReader) {
        let prefix = self.context.places.prefix_of(arrival.peer.ip());
        match self.dispatcher.take_place(prefix, PlaceKind::FirstFlight) {
            Some(place) => {
                let task = self.clone().finish_first_flight(place, arrival, reader);
                spawn_local(Metered::new(Bucket::Arrival, task));
            }
            None => self.close_without_place(arrival),
        }
    }

    /// Collects the rest of a hello, or waits for the first bytes of plain HTTP.
    async fn finish_first_flight(
        self: Rc<Self>,
        place: Place,
        arrival: Arrival,
        mut reader: FirstFlightReader,
    ) {
        let counters = &self.context.counters;
        let Arrival { socket, peer, scheme, mut line } = arrival;
        if let Some(line) = &mut line {
            line.pause();
            line.ends(Outcome::Broken);
        }
        let Ok(socket) = tokio::net::TcpStream::from_std(socket) else { return };
        let complete = self.first_flights.complete(&socket, &mut reader);
        let deadline = self.context.config.limits.hello_deadline;
        match place.unless_displaced(tokio::time::timeout(deadline, complete)).await {
            None => counters.end(End::Displaced),
            Some(Err(_)) => {
                line.iter_mut().for_each(|line| line.ends(Outcome::TimedOut));
                counters.end(End::HelloDeadline);
            }
            Some(Ok(Err(_))) => counters.end(End::HelloHungUp),
            Some(Ok(Ok(first_flight))) => {
                let Ok(socket) = socket.into_std() else { return };
                // What follows takes another, and the connection must not have two.
                drop(place);
                if let Some(line) = &mut line {
                    line.resume();
                    line.ends(Outcome::Done);
                }
                self.received(Arrival { socket, peer, scheme, line }, reader, first_flight);
            }
        }
    }

    /// Answers what is neither a hello nor a request, and closes.
    fn answer_other(&self, mut arrival: Arrival, first_flight: FirstFlight) {
        arrival.ends(Outcome::Broken);
        let counters = &self.context.counters;
        match first_flight {
            FirstFlight::Malformed(malformed) => {
                tracing::debug!(%malformed, "the hello is malformed");
                counters.end(End::MalformedHello);
                refusal::send_last_alert(arrival.socket, alerts::for_malformed(malformed));
            }
            FirstFlight::NoHeader(fault) => {
                tracing::debug!(%fault, peer = %arrival.peer, "no PROXY protocol");
                counters.end(End::NoProxyHeader);
                socket::reset(arrival.socket);
            }
            FirstFlight::NotHttp => {
                counters.end(End::NotHttp);
                socket::send_and_close(arrival.socket, refusal::NOT_HTTP);
            }
            FirstFlight::NotTls(OtherProtocol::PlainHttp) => {
                counters.not_tls[OtherProtocol::PlainHttp].add(1);
                counters.end(End::ClearHttp);
                self.answer_plain_http(arrival);
            }
            FirstFlight::NotTls(protocol) => {
                counters.not_tls[protocol].add(1);
                counters.end(End::NotTls);
                let old = protocol == OtherProtocol::SslV2;
                let alert = old.then_some(AlertDescription::ProtocolVersion);
                refusal::send_last_alert(arrival.socket, alert);
            }
            FirstFlight::Incomplete | FirstFlight::Hello(_) | FirstFlight::Request => {}
        }
    }

    /// Answers plain HTTP on the TLS port, if there is a place for the time that it takes.
    fn answer_plain_http(&self, arrival: Arrival) {
        let prefix = self.context.places.prefix_of(arrival.peer.ip());
        let Some(place) = self.dispatcher.take_place(prefix, PlaceKind::FirstFlight) else {
            return;
        };
        let answer = async move {
            if let Ok(socket) = tokio::net::TcpStream::from_std(arrival.socket) {
                let sent = linger::send_and_close(socket, refusal::CLEAR_HTTP);
                place.unless_displaced(sent).await;
            }
        };
        spawn_local(Metered::new(Bucket::Arrival, answer));
    }
}

fn entrance(decider: &Decider, dispatcher: &Rc<Dispatcher>) -> Entrance {
    Entrance {
        keyring: decider.keyring.clone(),
        sessions: decider.sessions.clone(),
        queue: dispatcher.clone(),
    }
}

fn decider(
    context: &Rc<CoreContext>,
    generation: &Generation,
    sessions: Arc<Sessions>,
    seen: Rc<RefCell<SeenHellos>>,
) -> Rc<Decider> {
    Rc::new(Decider {
        context: context.clone(),
        offer: generation.tls.offer.clone(),
        keyring: generation.tls.keyring.clone(),
        sessions,
        seen,
    })
}
