//! The task of an admitted connection: handshake, requests, end.

use crate::access_log::Opening;
use crate::admission::decide::{Admitted, RoomHandshake, SessionEntry};
use crate::admission::handshake_context::HandshakeContext;
use crate::admission::sessions::{ClosedBy, SessionConnection};
use crate::admission::starting::Starting;
use crate::admission::tickets::Holder;
use crate::admission::wake::Wake;
use crate::connection::client::Client;
use crate::connection::own_session::OwnSession;
use crate::connection::transport::{PlainStream, TlsStream, Transport};
use crate::context::CoreContext;
use crate::http::requests::HttpServer;
use crate::places::{Place, PlaceKind};
use crate::socket::Arrival;
use crate::supervision::reason;
use crate::telemetry::clock::{self, ticks};
use crate::telemetry::cpu::{self, Metered};
use crate::telemetry::labels::{Bucket, Class, End, HandshakeKind};
use crate::tls::configs::ServerConfigs;
use pin_project_lite::pin_project;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tidegate_control::FullHandshake;
use tidegate_control::waiting_room::Asks;
use tidegate_trace::{Outcome, Phase, Traced, with_line};
use tokio::task::spawn_local;

/// A connection whose first flight is complete, until its task begins.
pub struct Pending {
    /// The connection.
    pub arrival: Arrival,
    /// All bytes that it has sent.
    pub first_flight: Vec<u8>,
    /// Its place.
    pub place: Place,
    /// How long it has waited for its admission.
    pub queued: Duration,
}

/// What the tasks of a core's connections share.
pub struct Tasks {
    /// The core.
    pub context: Rc<CoreContext>,
    /// TLS towards customers.
    pub tls: Arc<ServerConfigs>,
    /// Serves requests.
    pub http: Rc<HttpServer>,
    /// The dispatcher decides again after each first turn of a task.
    pub wake: Rc<Wake>,
}

impl Tasks {
    /// Begins the task of an admitted connection: handshake, then requests.
    pub fn begin(self: &Rc<Self>, pending: Pending, admitted: Admitted) {
        let http = self.http.clone();
        self.begin_with(pending, admitted, async move |transport, client| {
            http.serve(transport, client).await
        });
    }

    /// The same with another way to serve requests: `serve` returns why the connection
    /// ended.
    fn begin_with(
        self: &Rc<Self>,
        mut pending: Pending,
        admitted: Admitted,
        serve: impl AsyncFnOnce(Transport, Client) -> End + 'static,
    ) {
        let mut admitted = admitted;
        let starting = Starting::new(&self.context, &self.wake, admitted.price);
        let room = admitted.room.take();
        let resumes = resumes(&admitted, room.as_ref());
        pending.arrival.enter(match (admitted.class, &admitted.handshake) {
            (_, None) => Phase::AwaitRequest,
            _ if resumes => Phase::HandshakeResumed,
            _ => Phase::HandshakeFull,
        });
        let line = pending.arrival.line.take();
        let task = Traced::new(line, run(self.clone(), pending, (admitted, resumes), serve));
        let (starting, context) = (Some((starting, room)), self.context.clone());
        spawn_local(FirstTurn { starting, context, task });
    }
}

pin_project! {
    /// A task that counts as starting until its first turn has ended. Not an `async fn`: that would
    /// have the task twice, as an argument and pinned.
    struct FirstTurn<F> {
        starting: Option<(Starting, Option<RoomHandshake>)>,
        context: Rc<CoreContext>,
        #[pin]
        task: F,
    }
}

impl<F: Future<Output = ()>> Future for FirstTurn<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        let polled = catch_unwind(AssertUnwindSafe(|| this.task.poll(cx)));
        *this.starting = None;
        // A fault in one connection ends no other one.
        polled.unwrap_or_else(|panic| {
            tracing::error!("a connection is closed, since its task {}", reason(&*panic));
            this.context.counters.end(End::InternalError);
            Poll::Ready(())
        })
    }
}

async fn run(
    tasks: Rc<Tasks>,
    pending: Pending,
    (admitted, resumes): (Admitted, bool),
    serve: impl AsyncFnOnce(Transport, Client) -> End,
) {
    let context = &tasks.context;
    let Pending { arrival, first_flight, place, queued } = pending;
    let place = Rc::new(place);
    let Arrival { socket, peer, scheme, .. } = arrival;
    let Admitted { class, session, handshake, kind, .. } = admitted;
    let begun = clock::read();
    let transport = match &handshake {
        Some(handshake) => {
            let begins = Begins { class, kind, resumes, place: &place };
            shake_hands(&tasks, socket, first_flight, begins, handshake).await
        }
        None => {
            if !matches!(session, SessionEntry::OfRequests | SessionEntry::Waiting(_)) {
                context.counters.in_clear.add(1);
            }
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
    let waits_as = match &session {
        SessionEntry::Waiting(waits) => Some(*waits),
        _ => None,
    };
    if transport.is_ok() && waits_as.is_some() {
        place.change(PlaceKind::New);
    }
    let (end, session, by) = match transport {
        Ok(transport) => match session.prove(context.shared.now()) {
            Ok(session) => {
                let opening = match (&context.access_log, &handshake) {
                    (None, _) => Opening::default(),
                    (_, None) => Opening { queue: queued, ..Opening::default() },
                    (_, Some(_)) => Opening {
                        queue: queued,
                        handshake: Some(begun.elapsed()),
                        session: session.as_ref().map(SessionConnection::number),
                    },
                };
                let session = match waits_as {
                    Some(waits) => OwnSession::waiting(waits),
                    None => OwnSession::new(session),
                };
                let (place, own) = (place.clone(), session.clone());
                let client = Client { peer, scheme, class, opening, place, session: own };
                let mut served = pin!(serve(transport, client));
                let end = poll_fn(|cx| {
                    let spends_on = session.spends_on.get();
                    cpu::enter(spends_on.unwrap_or(Bucket::request(class)));
                    served.as_mut().poll(cx)
                })
                .await;
                (end, session.take(), closed_by(context, end))
            }
            Err(_) => {
                context.log_refusal(peer, class, End::SessionLimit, None);
                (End::SessionLimit, None, ClosedBy::Customer)
            }
        },
        // A session without a handshake has not begun.
        Err(end) => (end, session.proven(), ClosedBy::Customer),
    };
    context.counters.end(end);
    with_line(|line| line.ends(outcome_of(end)));
    match (session, handshake) {
        (Some(session), Some(_)) => session.close(by, context.shared.now()),
        (Some(session), None) => session.end_session(),
        (None, _) => {}
    }
}

/// Whether the handshake of a connection is to resume.
fn resumes(admitted: &Admitted, room: Option<&RoomHandshake>) -> bool {
    // A full one has a kind, also where it is of a session that was admitted.
    (admitted.class == Class::Returning && admitted.kind.is_none())
        || room.is_some_and(|room| room.asks == Asks::Waiting)
}

/// How a connection begins.
struct Begins<'p> {
    class: Class,
    kind: Option<FullHandshake>,
    resumes: bool,
    place: &'p Place,
}

/// Performs the handshake. Fails with the reason why the connection ends.
async fn shake_hands(
    tasks: &Tasks,
    socket: std::net::TcpStream,
    hello: Vec<u8>,
    begins: Begins<'_>,
    handshake: &HandshakeContext,
) -> Result<Transport, End> {
    let context = &tasks.context;
    let mut hello = hello;
    if let Some(name) = &handshake.unusable_name {
        name.hide(&mut hello);
    }
    let Begins { class, kind, resumes, place } = begins;
    let waits = handshake.holder == Holder::Waiting;
    let expected = if resumes { HandshakeKind::Resumed } else { HandshakeKind::Full };
    let group = handshake.agreed.choice.group;
    let config = tasks.tls.of(group, resumes).ok_or(End::HandshakeFailed)?;
    let in_handshake = context.count(|counters| &counters.in_handshake);
    let bucket = if waits { Bucket::Room } else { Bucket::handshake(class) };
    let result = Metered::handshake(bucket, kind, async {
        let accept = TlsStream::accept(socket, config.clone(), &hello, handshake);
        let deadline = context.config.limits.handshake_deadline;
        place.unless_displaced(tokio::time::timeout(deadline, accept)).await
    })
    .await;
    drop(in_handshake);
    let counters = &context.counters;
    if !waits {
        counters.handshakes_by_class[class].add(1);
    }
    if let Some(kind) = kind {
        counters.handshakes_by_kind[kind].add(1);
    }
    let end = match result {
        Some(Ok(Ok(tls))) => {
            let kind = match tls.kind() {
                Some(rustls::HandshakeKind::Resumed) => HandshakeKind::Resumed,
                _ => HandshakeKind::Full,
            };
            counters.handshakes_ok[kind].add(1);
            tidegate_trace::retag(match kind {
                HandshakeKind::Full => Phase::HandshakeFull,
                HandshakeKind::Resumed => Phase::HandshakeResumed,
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
    use crate::admission::decide::NewSession;
    use crate::listen::test_core::{TestCore, on_core};
    use std::net::TcpStream;

    /// Begins a new customer's connection, which is served so.
    fn connect(core: &TestCore, serve: fn() -> End) -> TcpStream {
        let (pending, customer) = core.pending(PlaceKind::New);
        let admitted = core.pipeline.decider.admit_new(NewSession::PlainHttp).unwrap();
        core.pipeline.tasks.begin_with(pending, admitted, async move |_, _| serve());
        customer
    }

    async fn until_none_is_open(context: &CoreContext) {
        while context.counters.open.get() > 0 {
            tokio::task::yield_now().await;
        }
    }

    #[test]
    fn a_connection_whose_task_panics_is_counted_and_holds_no_session() {
        on_core(async |core| {
            let _customer = connect(&core, || panic!("a fault"));
            let (context, sessions) = (&core.context, &core.pipeline.decider.sessions);
            until_none_is_open(context).await;
            assert_eq!(context.counters.ends[End::InternalError].get(), 1);
            assert_eq!(context.shared.in_flight().handshakes, 0);
            let linger = context.config.admission.session_linger;
            sessions.expire(context.shared.now() + linger);
            assert_eq!(sessions.active(), 0);
        });
    }

    #[test]
    fn an_admitted_connection_is_in_flight_until_its_task_has_run_once() {
        on_core(async |core| {
            let _customers = [(); 3].map(|()| connect(&core, || End::Customer));
            // No task has run: nothing was awaited.
            assert_eq!(core.context.shared.in_flight().handshakes, 3);
            until_none_is_open(&core.context).await;
            assert_eq!(core.context.shared.in_flight().handshakes, 0);
        });
    }
}
