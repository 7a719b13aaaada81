//! The task of an admitted connection: handshake, requests, end.

use crate::admission::decide::Admitted;
use crate::admission::dispatcher::Dispatcher;
use crate::admission::sessions::ClosedBy;
use crate::admission::ticketer::TicketHolder;
use crate::connection::transport::{PlainStream, TlsStream, Transport};
use crate::context::{CoreContext, Counted};
use crate::places::{Kind as PlaceKind, Place};
use crate::socket::{Arrival, Scheme};
use crate::supervision::reason;
use crate::telemetry::clock::ticks;
use crate::telemetry::cpu::Metered;
use crate::telemetry::labels::{Bucket, Class, End, Kind};
use crate::tls::configs::ServerConfigs;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use tidegate_trace::{Outcome, Phase, Traced, with_line};
use tokio::task::spawn_local;

/// The client of a connection.
#[derive(Clone)]
pub struct Client {
    /// Its address.
    pub peer: SocketAddr,
    /// The protocol of the listener.
    pub scheme: Scheme,
    /// The class of the connection.
    pub class: Class,
    /// The place of the connection.
    pub place: Rc<Place>,
}

/// What the tasks of a core's connections share.
pub struct Tasks {
    /// The core.
    pub context: Rc<CoreContext>,
    /// TLS towards customers.
    pub tls: Arc<ServerConfigs>,
    /// Decides again after each first turn of a task.
    pub dispatcher: Rc<Dispatcher>,
}

impl Tasks {
    /// Begins the task of a connection. `serve` serves the requests on a transport that is
    /// ready for HTTP, and returns why the connection ended.
    pub fn begin(
        self: &Rc<Self>,
        mut arrival: Arrival,
        first_flight: Vec<u8>,
        admitted: Admitted,
        place: Place,
        serve: impl AsyncFnOnce(Transport, Client) -> End + 'static,
    ) {
        let starting = Starting::new(self);
        arrival.enter(match (admitted.class, &admitted.holder) {
            (_, None) => Phase::AwaitRequest,
            (Class::New, _) => Phase::HandshakeFull,
            (Class::Returning, _) => Phase::HandshakeResumed,
        });
        let line = arrival.line.take();
        let task = run(self.clone(), place, arrival, first_flight, admitted, serve);
        spawn_local(until_first_turn(starting, Traced::new(line, task)));
    }
}

/// Counts an admitted connection as in flight: from the verdict, so that the next decision
/// includes it, to the end of its first turn, in which nearly all work of a handshake is
/// done. What follows waits for the customer, and another session may be admitted.
struct Starting {
    tasks: Rc<Tasks>,
    _counted: Counted,
}

impl Starting {
    fn new(tasks: &Rc<Tasks>) -> Self {
        let counted = tasks.context.count(|counters| &counters.starting);
        Self { tasks: tasks.clone(), _counted: counted }
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        // The dispatcher decides after this turn, when it is no longer counted.
        self.tasks.dispatcher.decide_soon();
    }
}

async fn until_first_turn(starting: Starting, task: impl Future<Output = ()>) {
    let context = starting.tasks.context.clone();
    let (mut starting, mut task) = (Some(starting), pin!(task));
    poll_fn(|cx| {
        let polled = catch_unwind(AssertUnwindSafe(|| task.as_mut().poll(cx)));
        starting = None;
        // A fault in one connection ends no other one.
        polled.unwrap_or_else(|panic| {
            tracing::error!("a connection is closed, since its task {}", reason(&*panic));
            context.counters.end(End::InternalError);
            Poll::Ready(())
        })
    })
    .await;
}

async fn run(
    tasks: Rc<Tasks>,
    place: Place,
    arrival: Arrival,
    first_flight: Vec<u8>,
    admitted: Admitted,
    serve: impl AsyncFnOnce(Transport, Client) -> End,
) {
    let context = &tasks.context;
    let place = Rc::new(place);
    let Arrival { socket, peer, scheme, .. } = arrival;
    let Admitted { class, standing, holder } = admitted;
    let transport = match &holder {
        Some(holder) => shake_hands(&tasks, socket, first_flight, (class, &place), holder).await,
        None => {
            context.counters.in_clear.add(1);
            let stream = PlainStream::new(socket, first_flight);
            stream.map(Transport::Plain).map_err(|_| End::Broken)
        }
    };
    if transport.is_ok() {
        with_line(|line| line.opened(Phase::AwaitRequest));
    }
    if transport.is_ok() && class == Class::Returning {
        place.change(PlaceKind::Returning);
    }
    let (end, session, by) = match transport {
        Ok(transport) => match standing.prove(context.shared.now()) {
            Ok(session) => {
                let client = Client { peer, scheme, class, place: place.clone() };
                let served = serve(transport, client);
                let end = Metered::new(Bucket::request(class), served).await;
                (end, Some(session), closed_by(context, end))
            }
            Err(_) => (End::SessionLimit, None, ClosedBy::Customer),
        },
        // A session without a handshake has not begun.
        Err(end) => (end, standing.proven(), ClosedBy::Customer),
    };
    context.counters.end(end);
    with_line(|line| line.ends(outcome_of(end)));
    match (session, holder) {
        (Some(session), Some(_)) => session.close(by, context.shared.now()),
        (Some(session), None) => session.end_session(),
        (None, _) => {}
    }
}

/// Performs the handshake. Fails with the reason why the connection ends.
async fn shake_hands(
    tasks: &Tasks,
    socket: std::net::TcpStream,
    hello: Vec<u8>,
    (class, place): (Class, &Place),
    holder: &TicketHolder,
) -> Result<Transport, End> {
    let context = &tasks.context;
    let mut hello = hello;
    if let Some(name) = &holder.unusable_name {
        name.hide(&mut hello);
    }
    let (config, expected) = match class {
        Class::New => (&tasks.tls.full, Kind::Full),
        Class::Returning => (&tasks.tls.returning, Kind::Resumed),
    };
    let in_handshake = context.count(|counters| &counters.in_handshake);
    let result = Metered::new(Bucket::handshake(class), async {
        let accept = TlsStream::accept(socket, config.clone(), &hello, holder);
        let deadline = context.config.limits.handshake_deadline;
        place.unless_displaced(tokio::time::timeout(deadline, accept)).await
    })
    .await;
    drop(in_handshake);
    let counters = &context.counters;
    counters.handshakes_by_class[class].add(1);
    let end = match result {
        Some(Ok(Ok(tls))) => {
            let kind = match tls.kind() {
                Some(rustls::HandshakeKind::Resumed) => Kind::Resumed,
                _ => Kind::Full,
            };
            counters.handshakes_ok[kind].add(1);
            tidegate_trace::retag(match kind {
                Kind::Full => Phase::HandshakeFull,
                Kind::Resumed => Phase::HandshakeResumed,
            });
            return Ok(Transport::Tls(tls));
        }
        None => End::Displaced,
        Some(Err(_)) => End::HandshakeDeadline,
        Some(Ok(Err(failure))) => {
            tracing::debug!(%failure, "the handshake failed");
            End::HandshakeFailed
        }
    };
    counters.handshakes_failed[expected].add(1);
    Err(end)
}

/// How a connection ended, for its trace.
fn outcome_of(end: End) -> Outcome {
    match end {
        End::Customer | End::Idle | End::Finished | End::Drain => Outcome::Done,
        End::Displaced | End::SessionLimit => Outcome::Refused,
        End::HandshakeDeadline | End::HeadDeadline | End::BodyDeadline => Outcome::TimedOut,
        _ => Outcome::Broken,
    }
}

/// The side that closed, by the reason of the end: with the last connection that a
/// customer closes, the session ends.
fn closed_by(context: &CoreContext, end: End) -> ClosedBy {
    let idle_deadline = context.config.limits.idle_deadline;
    match end {
        End::Customer | End::Broken => ClosedBy::Customer,
        End::Idle => ClosedBy::Gate { idle_ticks: ticks(idle_deadline) },
        _ => ClosedBy::Gate { idle_ticks: 0 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::decide::{Decider, NewSession};
    use crate::admission::sessions::{Rules, Sessions};
    use crate::config::Config;
    use crate::shared::{Addresses, Shared};
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    fn tasks() -> (Rc<Decider>, Rc<Tasks>) {
        let text = "[upstream]\nurl = \"http://127.0.0.1:9\"\n[admission]\npolicy = \"off\"\n";
        let config = Config::from_toml(text, "t").unwrap();
        let tls = Arc::new(ServerConfigs::new(&config, &config.identity().unwrap()).unwrap());
        let addresses = Addresses { tls: SocketAddr::from((Ipv4Addr::LOCALHOST, 9)), clear: None };
        let sessions = Sessions::new(Rules::of(&config.admission));
        let context = CoreContext::new(Arc::new(Shared::new(config, addresses, vec![0])), 0);
        let decider = Rc::new(Decider {
            context: context.clone(),
            offer: tls.offer.clone(),
            keyring: tls.keyring.clone(),
            sessions,
            seen: Default::default(),
        });
        let dispatcher = Dispatcher::new(decider.clone());
        (decider, Rc::new(Tasks { context, tls, dispatcher }))
    }

    /// Runs a test with a new customer's connections: each call of the function that it gets
    /// begins one, which is served so.
    fn with_connections(test: impl AsyncFnOnce(Rc<Decider>, Rc<Tasks>, &Connect)) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build_local(tokio::runtime::LocalOptions::default())
            .unwrap();
        runtime.block_on(async {
            let (decider, tasks) = tasks();
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let connect = |serve: fn() -> End| {
                let customer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
                let (socket, peer) = listener.accept().unwrap();
                socket.set_nonblocking(true).unwrap();
                let arrival = Arrival { socket, peer, scheme: Scheme::Http, line: None };
                let admitted = decider.admit_new(NewSession::PlainHttp).unwrap();
                let places = &tasks.context.places;
                let place = places.take(places.prefix_of(peer.ip()), PlaceKind::New);
                tasks.begin(arrival, b"GET".to_vec(), admitted, place, async move |_, _| serve());
                customer
            };
            test(decider.clone(), tasks.clone(), &connect).await;
        });
    }

    type Connect<'a> = dyn Fn(fn() -> End) -> TcpStream + 'a;

    async fn until_none_is_open(tasks: &Tasks) {
        while tasks.context.counters.open.get() > 0 {
            tokio::task::yield_now().await;
        }
    }

    #[test]
    fn a_connection_whose_task_panics_is_counted_and_holds_no_session() {
        with_connections(async |decider, tasks, connect| {
            let _customer = connect(|| panic!("a fault"));
            until_none_is_open(&tasks).await;
            assert_eq!(tasks.context.counters.ends[End::InternalError].get(), 1);
            assert_eq!(tasks.context.shared.in_flight(), (0, 0));
            let linger = tasks.context.config.admission.session_linger;
            decider.sessions.expire(tasks.context.shared.now() + linger);
            assert_eq!(decider.sessions.active(), 0);
        });
    }

    #[test]
    fn an_admitted_connection_is_in_flight_until_its_task_has_run_once() {
        with_connections(async |_, tasks, connect| {
            let _customers = [(); 3].map(|()| connect(|| End::Customer));
            // No task has run: nothing was awaited.
            assert_eq!(tasks.context.shared.in_flight(), (3, 0));
            until_none_is_open(&tasks).await;
            assert_eq!(tasks.context.shared.in_flight(), (0, 0));
        });
    }
}
