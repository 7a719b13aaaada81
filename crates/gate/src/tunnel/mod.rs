//! A tunnel: bytes between a customer and an upstream that have changed from HTTP to WebSocket.
//!
//! Only where frames end is read, and only of what the upstream sends: so that a gate that drains
//! can close the WebSocket properly. The session of a customer with a tunnel is active for as long
//! as the tunnel is open, as with any connection.

mod direction;
mod frames;

use crate::connection::state::ConnectionState;
use crate::connection::transport::Transport;
use crate::context::{CoreContext, Counted};
use crate::http::sessions::Visit;
use crate::http::timer::poll_deadline;
use crate::places::Place;
use crate::shutdown::Stage;
use crate::socket;
use crate::telemetry::clock;
use crate::telemetry::labels::TunnelEnd;
use crate::upstream::connector::UpstreamSocket;
use crate::upstream::pool::Detached;
use bytes::Bytes;
use direction::{Broken, Direction};
use frames::GOING_AWAY;
use std::future::poll_fn;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::sleep_until;

pub use frames::Frames;

/// Close frames are sent within this part of `listen.drain_deadline`. The rest is for the
/// customers' answers, and for the ends of long frames.
const LEAVE_WITHIN: f64 = 0.75;

/// A tunnel that the upstream has agreed to.
pub struct Tunnel {
    /// The connection to the upstream.
    pub upstream: UpstreamSocket,
    /// What the upstream sent behind the head of its answer.
    pub early: Bytes,
    /// The connection is counted in its pool.
    pub in_use: Detached,
    /// Its place among the tunnels of the core.
    pub counted: Counted,
    /// Longest time without a byte in either direction.
    pub idle: Duration,
    /// The request that opened it, as one of its session where that is known by a cookie: it lasts
    /// as long as the tunnel.
    pub visit: Option<Box<Visit>>,
}

impl Tunnel {
    /// Moves bytes until the tunnel ends. Returns why it did.
    pub async fn run(
        self,
        context: &CoreContext,
        transport: &mut Transport,
        state: &Rc<ConnectionState>,
        place: &Place,
    ) -> TunnelEnd {
        let Self { upstream, early, in_use: _in_use, counted: _counted, idle, visit } = self;
        socket::enable_keepalive(transport.socket());
        let limits = &context.config.limits;
        let mut pump = Pump {
            customer: Customer { transport, state },
            upstream,
            to_upstream: Direction::default(),
            to_customer: Direction::new(early.to_vec()),
            frames: Frames::default(),
            asked: false,
            leave: Leave::No,
            clock: Clock {
                idle,
                pause: limits.download_pause,
                half_closed: limits.body_progress_deadline,
                progress: clock::now(),
                leaves: None,
                upstream_since: None,
                customer_since: None,
                unacknowledged: 0,
                first_to_end: None,
            },
        };
        pump.frames.feed(&early);
        state.tunnel_opens();
        let mut sleep = pin!(sleep_until(pump.clock.deadline().into()));
        let mut subscription = None;
        let end = poll_fn(|cx| {
            clock::read();
            state.exchange.runs();
            if place.is_displaced(cx) {
                return Poll::Ready(TunnelEnd::Displaced);
            }
            subscription.get_or_insert_with(|| context.shutdown.subscribe(cx.waker()));
            match context.shutdown.stage() {
                Stage::Open => {}
                Stage::Leaving => pump.leave_within(context.config.listen.drain_deadline),
                Stage::Draining => pump.leave(),
                Stage::Closed => return Poll::Ready(TunnelEnd::Drain),
            }
            loop {
                if let Some(end) = pump.poll(cx) {
                    return Poll::Ready(end);
                }
                if poll_deadline(sleep.as_mut(), pump.clock.deadline(), cx).is_pending() {
                    return Poll::Pending;
                }
                if let Some(end) = pump.expire() {
                    return Poll::Ready(end);
                }
            }
        })
        .await;
        state.exchange.tunnel_ends(end);
        if let Some(visit) = visit {
            visit.end();
        }
        end
    }
}

/// Both directions.
struct Pump<'t> {
    customer: Customer<'t>,
    upstream: UpstreamSocket,
    to_upstream: Direction,
    to_customer: Direction,
    /// The frames of the upstream.
    frames: Frames,
    /// The customer has sent something that the upstream has not answered.
    asked: bool,
    leave: Leave,
    clock: Clock,
}

/// How far a gate that drains is with closing the WebSocket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leave {
    /// It does not.
    No,
    /// At the end of the upstream's frame that is on its way.
    Next,
    /// The customer was sent a Close frame: nothing of the upstream may follow it. What the
    /// customer answers goes to the upstream, which so learns of the end.
    Told,
}

impl Pump<'_> {
    /// Moves bytes. Returns the end of the tunnel, if that has come.
    fn poll(&mut self, cx: &mut Context<'_>) -> Option<TunnelEnd> {
        let Self { customer, upstream, to_upstream, to_customer, frames, asked, leave, clock } =
            self;
        let state = customer.state;
        let up = to_upstream.poll(cx, customer, upstream, |bytes, _| {
            state.exchange.tunnelled(bytes.len(), 0);
            state.tunnel_message();
            *asked = true;
            bytes.len()
        });
        let down = to_customer.poll(cx, upstream, customer, |bytes, behind| {
            if !std::mem::replace(asked, false) {
                state.tunnel_message();
            }
            state.tunnel_answers();
            let passed = match *leave {
                Leave::No => {
                    frames.feed(bytes);
                    bytes.len()
                }
                Leave::Next => frames.feed_frame(bytes),
                Leave::Told => 0,
            };
            if *leave == Leave::Next && frames.is_between() {
                *leave = Leave::Told;
                if !frames.closes() {
                    behind.extend_from_slice(&GOING_AWAY);
                }
            }
            state.exchange.tunnelled(0, passed);
            passed
        });
        let (up, down) = match (up, down) {
            (Ok(up), Ok(down)) => (up, down),
            (Err(Broken(error)), _) | (_, Err(Broken(error))) => {
                tracing::debug!(%error, "a tunnel broke");
                return Some(TunnelEnd::Broken);
            }
        };
        clock.note(up, to_upstream, down, to_customer);
        if !(to_upstream.is_over() && to_customer.is_over()) {
            return None;
        }
        Some(match *leave {
            Leave::No => clock.first_to_end.unwrap_or(TunnelEnd::Customer),
            _ => TunnelEnd::Drain,
        })
    }

    /// Another process has taken the gate's place: a Close frame is due at a random time before the
    /// deadline. If all were sent at once, all customers would reconnect at once.
    fn leave_within(&mut self, deadline: Duration) {
        if self.clock.leaves.is_none() && self.leave == Leave::No {
            let lot = RandomState::new().hash_one(0) as f64 / u64::MAX as f64;
            self.clock.leaves = Some(clock::now() + deadline.mul_f64(LEAVE_WITHIN * lot));
        }
    }

    /// The gate drains: the customer is told at the end of a frame.
    fn leave(&mut self) {
        self.clock.leaves = None;
        if self.leave != Leave::No {
            return;
        }
        self.leave = Leave::Next;
        if self.frames.is_between() {
            self.leave = Leave::Told;
            if !self.frames.closes() {
                self.to_customer.add(&GOING_AWAY);
            }
        }
    }

    /// The deadline has passed. Returns the end of the tunnel, unless the customer has
    /// acknowledged bytes meanwhile, or it was the time to tell them that the gate leaves.
    fn expire(&mut self) -> Option<TunnelEnd> {
        let now = clock::now();
        if self.clock.leaves.is_some_and(|leaves| leaves <= now) {
            self.leave();
            return None;
        }
        if let Some(since) = self.clock.customer_since
            && since + self.clock.pause <= now
        {
            let unacknowledged = socket::unacknowledged(self.customer.transport.socket());
            let before = std::mem::replace(&mut self.clock.unacknowledged, unacknowledged);
            if before != unacknowledged {
                self.clock.customer_since = Some(now);
                self.clock.progress = now;
                return None;
            }
        }
        let idle =
            self.clock.first_to_end.is_none() && self.clock.progress + self.clock.idle <= now;
        Some(if idle { TunnelEnd::Idle } else { TunnelEnd::Stalled })
    }
}

/// The deadlines of a tunnel.
struct Clock {
    idle: Duration,
    /// Longest time in which a side takes nothing of what waits for it.
    pause: Duration,
    /// Longest time without a byte after one side has ended.
    half_closed: Duration,
    /// When the last bytes moved.
    progress: Instant,
    /// When a Close frame is due because another process has taken the gate's place.
    leaves: Option<Instant>,
    /// Since when what waits for the upstream, or the customer, makes no progress.
    upstream_since: Option<Instant>,
    customer_since: Option<Instant>,
    /// Bytes that the customer had not acknowledged at the last look.
    unacknowledged: u64,
    first_to_end: Option<TunnelEnd>,
}

impl Clock {
    fn deadline(&self) -> Instant {
        let silence = if self.first_to_end.is_some() { self.half_closed } else { self.idle };
        let blocked = [self.upstream_since, self.customer_since].into_iter().flatten();
        let blocked = blocked.map(|since| since + self.pause).min();
        let silent = self.progress + silence;
        blocked.into_iter().chain(self.leaves).fold(silent, Instant::min)
    }

    /// Notes how many bytes moved.
    fn note(&mut self, up: u64, to_upstream: &Direction, down: u64, to_customer: &Direction) {
        let now = clock::now();
        if up + down > 0 {
            self.progress = now;
        }
        let since = |before: Option<Instant>, direction: &Direction, moved: u64| {
            direction.is_blocked().then(|| before.filter(|_| moved == 0).unwrap_or(now))
        };
        self.upstream_since = since(self.upstream_since, to_upstream, up);
        self.customer_since = since(self.customer_since, to_customer, down);
        if self.first_to_end.is_none() {
            let ended = match (to_upstream.has_ended(), to_customer.has_ended()) {
                (true, _) => Some(TunnelEnd::Customer),
                (_, true) => Some(TunnelEnd::Upstream),
                _ => None,
            };
            if ended.is_some() {
                (self.first_to_end, self.progress) = (ended, now);
            }
        }
    }
}

/// The customer's side.
struct Customer<'t> {
    transport: &'t mut Transport,
    state: &'t ConnectionState,
}

impl AsyncRead for Customer<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { transport, state } = &mut *self;
        transport.poll_read(cx, buf, state)
    }
}

impl AsyncWrite for Customer<'_> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let Self { transport, state } = &mut *self;
        transport.poll_write(cx, &[IoSlice::new(buf)], state)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { transport, state } = &mut *self;
        transport.poll_flush(cx, state)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { transport, state } = &mut *self;
        transport.poll_close(cx, state)
    }
}
