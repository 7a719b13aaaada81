//! The life of a connection that cannot be dealt with at once: the rest of its
//! opening, the handshake, its requests, its end.

use crate::admission::decide::Pass;
use crate::admission::sessions::ClosedBy;
use crate::connection::transport::{Clear, Tls, Wire};
use crate::control_loop::ticks;
use crate::http::requests::serve;
use crate::listen::accept::Core;
use crate::listen::first_flight::{Heard, Opening};
use crate::socket::{self, Arrival};
use crate::telemetry::counters::{Bucket, Class, Count, Counters, End, Kind, Metered};
use crate::tls::configs::Bearer;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::rc::Rc;
use tokio::net::TcpStream;
use tokio::task::spawn_local;

/// Where a connection's life in a task begins.
pub enum Start {
    /// It has not said enough yet.
    Opening(Opening),
    /// It was admitted; this is what it has said.
    Admitted(Vec<u8>, Pass),
    /// It spoke HTTP in clear and is to be told.
    ClearHttp,
}

/// Begins a connection's life in a task of its own.
pub fn begin(core: &Rc<Core>, arrival: Arrival, start: Start) {
    let open = Counted::open(core);
    match start {
        Start::Opening(opening) => {
            let places = (open, Counted::in_opening(core));
            spawn_local(Metered::new(Bucket::Arrival, finish_opening(places, arrival, opening)));
        }
        Start::Admitted(said, pass) => {
            let due = Due::new(core);
            spawn_local(until_first_turn(due, inside(open, arrival, said, pass)));
        }
        Start::ClearHttp => {
            let places = (open, Counted::in_opening(core));
            spawn_local(Metered::new(Bucket::Arrival, tell_clear_http(places, arrival)));
        }
    }
}

/// Counts a connection among others of its core, from now until it is dropped.
pub struct Counted {
    core: Rc<Core>,
    among: fn(&Counters) -> &Count,
}

impl Counted {
    fn among(core: &Rc<Core>, among: fn(&Counters) -> &Count) -> Self {
        among(&core.counters).add(1);
        Self { core: core.clone(), among }
    }

    /// Among the open ones.
    pub fn open(core: &Rc<Core>) -> Self {
        Self::among(core, |counters| &counters.open[0])
    }

    /// Among the open ones of whom nobody knows yet who they are.
    fn in_opening(core: &Rc<Core>) -> Self {
        Self::among(core, |counters| &counters.in_opening[0])
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        (self.among)(&self.core.counters).sub(1);
    }
}

/// The places of a connection that has not said who it is.
type Places = (Counted, Counted);

/// Collects the rest of a hello, or waits for the first bytes in clear.
async fn finish_opening(places: Places, arrival: Arrival, mut opening: Opening) {
    let core = places.0.core.clone();
    let Arrival { socket, peer, scheme } = arrival;
    let Ok(socket) = TcpStream::from_std(socket) else { return };
    let collect = async {
        loop {
            socket.readable().await?;
            let read = core.read_on(&socket, &mut opening);
            match read {
                Ok(Heard::NotEnough) => {}
                Ok(heard) => return Ok(heard),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    };
    let deadline = core.shared.config.limits.hello_deadline;
    let collected = tokio::time::timeout(deadline, collect).await;
    match collected {
        Err(_) => core.counters.end(End::HelloDeadline),
        Ok(Err(_)) => core.counters.end(End::HelloHungUp),
        Ok(Ok(heard)) => {
            if let Ok(socket) = socket.into_std() {
                // Whoever goes on takes a place of her own kind: she must not be
                // in her own way.
                drop(places);
                core.greet(Arrival { socket, peer, scheme }, opening, heard);
            }
        }
    }
}

/// Answers HTTP in clear, so that the customer can read it.
async fn tell_clear_http(places: Places, arrival: Arrival) {
    use tokio::io::AsyncWriteExt;
    let _places = places;
    let Ok(mut socket) = TcpStream::from_std(arrival.socket) else { return };
    let answer = async {
        socket.write_all(crate::http::pages::CLEAR_HTTP).await?;
        socket.shutdown().await?;
        socket::drain(&mut socket).await;
        io::Result::Ok(())
    };
    let _ = tokio::time::timeout(socket::LINGER, answer).await;
}

/// Counts a connection that was let in as due: from the verdict, so that whoever
/// is next in line is judged by it, to the end of its first turn, in which nearly
/// all work of a handshake is done. What follows waits for the customer, and
/// somebody else may go in.
struct Due(Counted);

impl Due {
    fn new(core: &Rc<Core>) -> Self {
        Self(Counted::among(core, |counters| &counters.due[0]))
    }
}

impl Drop for Due {
    fn drop(&mut self) {
        // The usher asks after this turn, when it is no longer counted.
        self.0.core.ask_soon();
    }
}

async fn until_first_turn(due: Due, life: impl Future<Output = ()>) {
    let (mut due, mut life) = (Some(due), pin!(life));
    poll_fn(|cx| {
        let poll = life.as_mut().poll(cx);
        due = None;
        poll
    })
    .await;
}

/// Handshake, requests, end.
async fn inside(open: Counted, arrival: Arrival, said: Vec<u8>, pass: Pass) {
    let core = open.core.clone();
    let Arrival { socket, peer, scheme } = arrival;
    let Pass { class, seat, bearer } = pass;
    let wire = match &bearer {
        Some(bearer) => shake_hands(&core, socket, said, class, bearer).await,
        None => {
            core.counters.in_clear[0].add(1);
            Clear::new(socket, said).map(Wire::Clear).map_err(|_| End::Broken)
        }
    };
    let end = match wire {
        Ok(wire) => {
            let serve = serve(&core, wire, (peer, scheme), class);
            Metered::new(Bucket::request(class), serve).await
        }
        Err(end) => end,
    };
    core.counters.end(end);
    match bearer {
        Some(_) => seat.leave(closed_by(&core, end), core.shared.now()),
        None => seat.end(),
    }
}

/// The handshake; or why the connection ends.
async fn shake_hands(
    core: &Rc<Core>,
    socket: std::net::TcpStream,
    hello: Vec<u8>,
    class: Class,
    bearer: &Bearer,
) -> Result<Wire, End> {
    let (config, kind) = match class {
        Class::New => (&core.shared.tls.full, Kind::Full),
        Class::Returning => (&core.shared.tls.returning, Kind::Resumed),
    };
    let counters = &core.counters;
    let in_handshake = Counted::among(core, |counters| &counters.in_handshake[0]);
    let shaken = Metered::new(Bucket::handshake(class), async {
        let accept = Tls::accept(socket, config.clone(), &hello, bearer);
        tokio::time::timeout(core.shared.config.limits.handshake_deadline, accept).await
    })
    .await;
    drop(in_handshake);
    counters.handshakes_by_class[class as usize].add(1);
    let end = match shaken {
        Ok(Ok(tls)) => {
            let kind = match tls.kind() {
                Some(rustls::HandshakeKind::Resumed) => Kind::Resumed,
                _ => Kind::Full,
            };
            counters.handshakes_ok[kind as usize].add(1);
            return Ok(Wire::Tls(tls));
        }
        Err(_) => End::HandshakeDeadline,
        Ok(Err(failure)) => {
            tracing::debug!(%failure, "no handshake");
            End::HandshakeFailed
        }
    };
    counters.handshakes_failed[kind as usize].add(1);
    Err(end)
}

/// Whether the end of a connection tells that its customer has left.
fn closed_by(core: &Core, end: End) -> ClosedBy {
    match end {
        End::Customer | End::Broken | End::HandshakeDeadline | End::HandshakeFailed => {
            ClosedBy::Customer
        }
        End::Idle => ClosedBy::Gate { idle_ticks: ticks(core.shared.config.limits.idle_deadline) },
        _ => ClosedBy::Gate { idle_ticks: 0 },
    }
}
