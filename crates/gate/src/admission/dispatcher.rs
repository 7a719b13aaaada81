//! Sees to those in a core's line: asks for them, leads them in, and turns them
//! away when their time is up.
//!
//! It works after everything else that the event loop had to do: only then is
//! it known what those inside have asked for, and whether there is a lull.

use crate::admission::decide::Newcomer;
use crate::connection::task::{self as life, Counted};
use crate::listen::accept::Core;
use crate::shutdown::Tide;
use crate::socket::{self, Arrival};
use crate::telemetry::counters::{Class, End};
use std::rc::Rc;
use std::time::Instant;
use tidegate_control::{Decision, Discipline};
use tokio::task::yield_now;
use tokio::time::timeout_at;

/// A newcomer in the line.
pub struct Held {
    arrival: Arrival,
    said: Vec<u8>,
    newcomer: Newcomer,
    _open: Counted,
}

/// Only newcomers stand in line.
const NEW: usize = Class::New as usize;

impl Core {
    /// Puts a newcomer into the line. The usher asks for her in the same turn
    /// of the event loop, unless she stands behind others.
    pub fn stand_in_line(&self, held: Held) {
        let now = Instant::now();
        if self.line.is_empty() || self.line.newest_first(now) {
            self.ask_at.set(now);
        }
        self.shared.controller().offered();
        let bytes = held.said.len();
        self.line.join(held, bytes, now);
        self.someone_came.notify_one();
    }

    /// Work was done: the usher asks for those who stand in line at the end of
    /// this turn of the event loop, whatever the last answer was. A handshake may
    /// take a tenth of the shortest time that a timer can wait.
    pub fn ask_soon(&self) {
        if !self.line.is_empty() {
            self.ask_at.set(Instant::now());
            self.someone_came.notify_one();
        }
    }

    /// Sees to the line for ever.
    pub async fn usher(self: Rc<Self>) {
        let mut again: Option<Instant> = None;
        loop {
            match again {
                None => self.someone_came.notified().await,
                Some(at) => drop(timeout_at(at.into(), self.someone_came.notified()).await),
            }
            // Those inside go first: what they have sent by now is read.
            yield_now().await;
            again = self.see_to_line(Instant::now());
        }
    }

    /// Turns away everybody who waits: the gate closes.
    pub fn clear_line(&self) {
        let now = Instant::now();
        while let Some((held, fresh)) = self.line.take_oldest(now) {
            self.turn_away(held, fresh, now);
        }
    }

    /// Leads in whom the controller lets in, and turns away whose time is up or for
    /// whom there is no room; when to come again, `None` if nobody waits.
    fn see_to_line(self: &Rc<Self>, now: Instant) -> Option<Instant> {
        if self.bell.tide() != Tide::Open {
            self.clear_line();
        }
        // First whom the controller lets in: nobody is turned away for having waited
        // while the event loop was busy.
        while now >= self.ask_at.get() {
            let next = self.line.look(now, |held, fresh| (held.has_left(), fresh));
            let Some((left, fresh)) = next else { break };
            if left {
                drop(self.line.take(now));
                self.left(now);
                continue;
            }
            match self.ask(self.line.allowed_backlog(now)) {
                Decision::Admit => self.lead_in(self.line.take(now)?, fresh, now),
                Decision::NotNow { retry_after } => {
                    self.ask_at.set(now + Discipline::ask_again_after(retry_after));
                }
            }
        }
        while self.line.is_over() || self.line.expires(now).is_some_and(|at| at <= now) {
            let (oldest, fresh) = self.line.take_oldest(now)?;
            self.turn_away(oldest, fresh, now);
        }
        self.counters.held[NEW].add(self.line.settle() as u64);
        self.line.expires(now).map(|at| at.min(self.ask_at.get()))
    }

    fn lead_in(self: &Rc<Self>, held: Held, fresh: bool, now: Instant) {
        let Some(pass) = self.admit(held.newcomer) else {
            return self.turn_away(held, fresh, now);
        };
        match fresh {
            true => self.counters.admitted[NEW].add(1),
            false => self.counters.hold_admitted[0].add(1),
        }
        life::begin(self, held.arrival, life::Start::Admitted(held.said, pass));
    }

    /// Refuses somebody from the line; `fresh` is who never had to wait.
    fn turn_away(&self, held: Held, fresh: bool, now: Instant) {
        if held.has_left() {
            return self.left(now);
        }
        self.line.turn_away(now);
        match fresh {
            true => {
                self.counters.refused[NEW].add(1);
                self.counters.end(End::Refused);
            }
            false => {
                self.counters.hold_expired[0].add(1);
                self.counters.end(End::HoldExpired);
            }
        }
        self.refuse(held.arrival);
    }

    /// Who left by herself had waited in vain as well: to the discipline she is as
    /// good as turned away.
    fn left(&self, now: Instant) {
        self.line.turn_away(now);
        self.counters.hold_left[0].add(1);
        self.counters.end(End::HoldLeft);
    }
}

impl Held {
    /// A connection, what it said so far, and what is known of the customer.
    pub fn new(core: &Rc<Core>, arrival: Arrival, said: Vec<u8>, newcomer: Newcomer) -> Self {
        Self { arrival, said, newcomer, _open: Counted::open(core) }
    }

    /// Whether the customer hung up. Unknown, and no, where she sent more first.
    fn has_left(&self) -> bool {
        socket::has_ended(&self.arrival.socket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::http::upstream::Route;
    use crate::shared::{Addresses, Shared};
    use crate::socket::Scheme;
    use crate::tls::configs::Tls;
    use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
    use std::sync::Arc;

    fn core() -> Rc<Core> {
        let text = "[upstream]\nurl = \"http://127.0.0.1:9\"\n[admission]\npolicy = \"off\"\n";
        let config = Config::from_toml(text, "t").unwrap();
        let tls = Tls::new(&config, &config.identity().unwrap()).unwrap();
        let route = Route::new(&config, &tls.provider).unwrap();
        let addresses = Addresses { tls: SocketAddr::from((Ipv4Addr::LOCALHOST, 9)), clear: None };
        Core::new(Arc::new(Shared::new(config, tls, addresses, vec![0])), 0, route)
    }

    /// Runs in a runtime like that of a core.
    fn in_runtime(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build_local(tokio::runtime::LocalOptions::default())
            .unwrap();
        runtime.block_on(test);
    }

    /// A customer who stands in the line of a core, and her end of the connection.
    fn waiting(core: &Rc<Core>, door: &TcpListener) -> TcpStream {
        let customer = TcpStream::connect(door.local_addr().unwrap()).unwrap();
        let (socket, peer) = door.accept().unwrap();
        socket.set_nonblocking(true).unwrap();
        let arrival = Arrival { socket, peer, scheme: Scheme::Http };
        core.stand_in_line(Held::new(core, arrival, b"GET".to_vec(), Newcomer::Clear));
        customer
    }

    #[test]
    fn who_comes_in_counts_at_once_for_whoever_is_next() {
        in_runtime(async {
            let core = core();
            let door = TcpListener::bind("127.0.0.1:0").unwrap();
            let _customers = [(); 3].map(|()| waiting(&core, &door));
            assert_eq!(core.shared.in_flight(), (0, 0));
            core.see_to_line(Instant::now());
            // No task has run: nothing was awaited.
            assert_eq!(core.shared.in_flight(), (3, 0));
        });
    }

    #[test]
    fn customers_who_leave_the_line_tell_of_a_lasting_overload_too() {
        in_runtime(async {
            let core = core();
            let door = TcpListener::bind("127.0.0.1:0").unwrap();
            let hold_time = core.shared.config.admission.hold_time;
            let now = Instant::now();
            // One leaves every half hold time, for more than two hold times.
            for half in 0..=5 {
                drop(waiting(&core, &door));
                let now = now + half * hold_time / 2;
                core.ask_at.set(now);
                core.see_to_line(now);
                assert!(core.line.is_empty());
                assert_eq!(core.line.newest_first(now), half == 5);
            }
        });
    }
}
