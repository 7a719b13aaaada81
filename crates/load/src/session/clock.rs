//! Alarms that ring on time. The timers of tokio ring up to 2 ms late, which
//! would be the larger part of a fast answer's response time from its
//! intended start; a timerfd rings within some 50 µs.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The alarm clock of one driver thread. [`Clock::tick`] must be running.
pub(crate) struct Clock {
    fd: AsyncFd<OwnedFd>,
    set: RefCell<Set>,
    over: Cell<bool>,
}

#[derive(Default)]
struct Set {
    due: BinaryHeap<Reverse<(Instant, usize)>>,
    /// By index; None once rung.
    wakers: Vec<Option<Waker>>,
    free: Vec<usize>,
    armed: Option<Instant>,
}

impl Clock {
    /// A clock on the current runtime.
    pub(crate) fn new() -> io::Result<Rc<Self>> {
        // SAFETY: no pointers; the result is checked.
        let raw = unsafe {
            libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_NONBLOCK | libc::TFD_CLOEXEC)
        };
        if raw < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a fresh descriptor that nobody else owns.
        let fd = unsafe { OwnedFd::from_raw_fd(raw) };
        // SAFETY: the descriptor is owned by the AsyncFd, which never gives it
        // away, so it stays open and the same for as long as it is registered.
        let fd = unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) }?;
        Ok(Rc::new(Self { fd, set: RefCell::default(), over: Cell::new(false) }))
    }

    /// Rings alarms until it is dropped.
    pub(crate) async fn tick(&self) {
        loop {
            let Ok(mut ready) = self.fd.readable().await else { return };
            let mut count = [0u8; 8];
            // SAFETY: the buffer has the eight bytes that a timerfd writes.
            let read = unsafe {
                libc::read(self.fd.get_ref().as_raw_fd(), count.as_mut_ptr().cast(), count.len())
            };
            if read < 0 {
                ready.clear_ready();
            }
            self.ring();
        }
    }

    /// Resolves at the instant, or at once if it has passed.
    pub(crate) fn at(self: &Rc<Self>, at: Instant) -> Alarm {
        Alarm { clock: self.clone(), at, slot: None }
    }

    /// Ends the run: wakes all who wait for an alarm, and says how many. No alarm
    /// rings for that; who wants to know asks [`over`](Self::over).
    pub(crate) fn end(&self) -> usize {
        self.over.set(true);
        self.set.borrow().wakers.iter().flatten().map(Waker::wake_by_ref).count()
    }

    /// Resolves when the run has ended, for who waits for an alarm as well.
    pub(crate) async fn over(&self) {
        std::future::poll_fn(|_| match self.over.get() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        })
        .await;
    }

    fn ring(&self) {
        let mut set = self.set.borrow_mut();
        let now = Instant::now();
        while let Some(Reverse((at, slot))) = set.due.peek().copied() {
            if at > now {
                break;
            }
            set.due.pop();
            if let Some(waker) = set.wakers[slot].take() {
                waker.wake();
            }
            set.free.push(slot);
        }
        set.armed = None;
        self.arm(&mut set);
    }

    /// Sets the timer to the first alarm, if it is not set as early already.
    fn arm(&self, set: &mut Set) {
        let Some(Reverse((first, _))) = set.due.peek().copied() else { return };
        if set.armed.is_some_and(|armed| armed <= first) {
            return;
        }
        let left = first.saturating_duration_since(Instant::now());
        // A zero would disarm the timer.
        let nanos = left.subsec_nanos().max(u32::from(left.as_secs() == 0));
        let value = libc::itimerspec {
            it_interval: libc::timespec { tv_sec: 0, tv_nsec: 0 },
            it_value: libc::timespec {
                tv_sec: left.as_secs() as libc::time_t,
                tv_nsec: libc::c_long::from(nanos),
            },
        };
        // SAFETY: the descriptor is a timerfd, the new value lives through
        // the call, the old one is not asked for.
        unsafe {
            libc::timerfd_settime(
                self.fd.get_ref().as_raw_fd(),
                0,
                &raw const value,
                std::ptr::null_mut(),
            );
        }
        set.armed = Some(first);
    }

    fn enter(&self, at: Instant, waker: Waker) -> usize {
        let mut set = self.set.borrow_mut();
        let slot = match set.free.pop() {
            Some(slot) => {
                set.wakers[slot] = Some(waker);
                slot
            }
            None => {
                set.wakers.push(Some(waker));
                set.wakers.len() - 1
            }
        };
        set.due.push(Reverse((at, slot)));
        self.arm(&mut set);
        slot
    }
}

/// A future that resolves at its instant. It is bound to the task that polls
/// it first.
pub(crate) struct Alarm {
    clock: Rc<Clock>,
    at: Instant,
    slot: Option<usize>,
}

impl Future for Alarm {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if Instant::now() >= self.at {
            // What the clock still holds wakes this task once for nothing.
            self.slot = None;
            return Poll::Ready(());
        }
        if self.slot.is_none() {
            let slot = self.clock.enter(self.at, cx.waker().clone());
            self.slot = Some(slot);
        }
        Poll::Pending
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        // Before its time a slot is this alarm's; after, it may be another's.
        if let Some(slot) = self.slot.take()
            && Instant::now() < self.at
        {
            self.clock.set.borrow_mut().wakers[slot] = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn alarms_ring_in_order_and_never_early() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
        let local = tokio::task::LocalSet::new();
        let rung = Rc::new(RefCell::new(Vec::new()));
        local.block_on(&runtime, async {
            let clock = Clock::new().unwrap();
            let ticking = clock.clone();
            let tick = tokio::task::spawn_local(async move { ticking.tick().await });
            let start = Instant::now();
            drop(clock.at(start + Duration::from_secs(60)));
            let tasks: Vec<_> = [3u64, 1, 2]
                .into_iter()
                .map(|ms| {
                    let (clock, rung) = (clock.clone(), rung.clone());
                    tokio::task::spawn_local(async move {
                        let at = start + Duration::from_millis(ms);
                        clock.at(at).await;
                        assert!(Instant::now() >= at);
                        rung.borrow_mut().push(ms);
                    })
                })
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
            tick.abort();
        });
        assert_eq!(*rung.borrow(), [1, 2, 3]);
    }
}
