//! Precise timers. The timers of tokio fire up to 2 ms late, which
//! would be the larger part of a fast answer's response time from its
//! intended start; a timerfd fires within about 50 µs.

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

/// The timers of a thread. [`Timers::run`] must be running.
pub(crate) struct Timers {
    fd: AsyncFd<OwnedFd>,
    set: RefCell<Set>,
    over: Cell<bool>,
}

#[derive(Default)]
struct Set {
    due: BinaryHeap<Reverse<(Instant, usize)>>,
    /// By index; `None` after the timer has fired.
    wakers: Vec<Option<Waker>>,
    free: Vec<usize>,
    armed: Option<Instant>,
}

impl Timers {
    /// A clock on the current runtime.
    pub(crate) fn new() -> io::Result<Rc<Self>> {
        // SAFETY: no pointers; the result is checked.
        let raw = unsafe {
            libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_NONBLOCK | libc::TFD_CLOEXEC)
        };
        if raw < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a new descriptor without another owner.
        let fd = unsafe { OwnedFd::from_raw_fd(raw) };
        // SAFETY: the descriptor is owned by the AsyncFd, which never gives it
        // away, so it stays open and the same for as long as it is registered.
        let fd = unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) }?;
        Ok(Rc::new(Self { fd, set: RefCell::default(), over: Cell::new(false) }))
    }

    /// Fires timers until it is dropped.
    pub(crate) async fn run(&self) {
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
            self.fire();
        }
    }

    /// Resolves at the instant, or at once if it has passed.
    pub(crate) fn at(self: &Rc<Self>, at: Instant) -> Timer {
        Timer { timers: self.clone(), at, slot: None }
    }

    /// Ends the run: wakes all tasks that wait for a timer, and returns their number. No timer
    /// fires; the tasks see the end by [`ended`](Self::ended).
    pub(crate) fn end(&self) -> usize {
        self.over.set(true);
        self.set.borrow().wakers.iter().flatten().map(Waker::wake_by_ref).count()
    }

    /// Resolves when the run has ended. Only wakes tasks that also wait for a timer.
    pub(crate) async fn ended(&self) {
        std::future::poll_fn(|_| match self.over.get() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        })
        .await;
    }

    fn fire(&self) {
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

    /// Sets the timerfd to the first timer, unless it is set to fire by then.
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
        // the call, the old value is not requested.
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
pub(crate) struct Timer {
    timers: Rc<Timers>,
    at: Instant,
    slot: Option<usize>,
}

impl Future for Timer {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if Instant::now() >= self.at {
            // What the clock still holds wakes this task once without effect.
            self.slot = None;
            return Poll::Ready(());
        }
        if self.slot.is_none() {
            let slot = self.timers.enter(self.at, cx.waker().clone());
            self.slot = Some(slot);
        }
        Poll::Pending
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // Before its time the slot belongs to this timer; after that it may be reused.
        if let Some(slot) = self.slot.take()
            && Instant::now() < self.at
        {
            self.timers.set.borrow_mut().wakers[slot] = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn timers_fire_in_order_and_never_early() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
        let local = tokio::task::LocalSet::new();
        let fired = Rc::new(RefCell::new(Vec::new()));
        local.block_on(&runtime, async {
            let timers = Timers::new().unwrap();
            let ticking = timers.clone();
            let tick = tokio::task::spawn_local(async move { ticking.run().await });
            let start = Instant::now();
            drop(timers.at(start + Duration::from_secs(60)));
            let tasks: Vec<_> = [3u64, 1, 2]
                .into_iter()
                .map(|ms| {
                    let (timers, fired) = (timers.clone(), fired.clone());
                    tokio::task::spawn_local(async move {
                        let at = start + Duration::from_millis(ms);
                        timers.at(at).await;
                        assert!(Instant::now() >= at);
                        fired.borrow_mut().push(ms);
                    })
                })
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
            tick.abort();
        });
        assert_eq!(*fired.borrow(), [1, 2, 3]);
    }
}
