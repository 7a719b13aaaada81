//! Where nothing is traced, recording allocates nothing and reads no clock. This is counted: a
//! time would depend on the machine.

use super::clocks::counted::readings;
use super::line::{Line, Traced, during, enter, finish_at_pause, request, retag, with_line};
use super::tracing::tests::start;
use crate::phase::{Outcome, Phase};
use crate::{Context, FIELD};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::pin::pin;
use std::task::{Context as TaskContext, Waker};
use std::time::Duration;

/// The system's allocator, which counts what each thread allocates.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator as it is; the count is a cell of the thread
// without a destructor, which can be used at any time and allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps the contract of this method, which is that of the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above; all memory comes from the system's allocator.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Everything that gate, site and load generator say of a connection with two requests. Returns
/// how often a part was asked for that is needed by a record alone.
fn life_of_a_connection() -> u32 {
    let asked = Cell::new(0);
    let ask = || asked.set(asked.get() + 1);
    let mut line = Line::begin_ago(Phase::Accept, || {
        ask();
        Duration::from_micros(3)
    });
    if let Some(line) = &mut line {
        line.enter(Phase::FirstFlight);
        line.opened(Phase::AwaitRequest);
    }
    let task = Traced::new(line, async {
        enter(Phase::HandshakeFull);
        retag(Phase::HandshakeResumed);
        for _ in 0..2 {
            enter(Phase::ReadRequest);
            let next = request(|| {
                ask();
                Context::received(std::iter::empty())
            });
            assert!(next.is_none_or(|value| value.len() > FIELD.len()));
            drop(during(Phase::Database));
            with_line(|line| line.set_status(200));
            finish_at_pause(200);
        }
        with_line(|line| line.ends(Outcome::TimedOut));
    });
    let mut task = pin!(task);
    let polled = task.as_mut().poll(&mut TaskContext::from_waker(Waker::noop()));
    assert!(polled.is_ready());
    asked.get()
}

/// What the life of a connection took: allocations, readings of clocks, and what was asked.
fn cost() -> (u64, u64, u32) {
    // What a thread does at its first time is not the price of a connection.
    life_of_a_connection();
    let before = (ALLOCATIONS.get(), readings());
    let asked = life_of_a_connection();
    (ALLOCATIONS.get() - before.0, readings() - before.1, asked)
}

#[test]
fn a_connection_that_is_not_traced_allocates_nothing_and_reads_no_clock() {
    assert_eq!(cost(), (0, 0, 0));
    assert!(Line::begin(Phase::Accept).is_none() && with_line(|_| ()).is_none());
}

#[test]
fn the_same_connection_does_both_where_it_is_traced_and_nothing_once_tracing_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    let tracing = start(&folder.path().join("t"), 1);
    let attached = tracing.handle().attach();
    let (allocations, readings, asked) = cost();
    assert!(allocations > 0 && readings > 10, "{allocations} {readings}");
    assert_eq!(asked, 3);
    drop(attached);
    assert_eq!(cost(), (0, 0, 0));
    assert!(tracing.finish().records > 0);
}
