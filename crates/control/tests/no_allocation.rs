//! A decision never allocates.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;
use std::time::Duration;

use tidegate_control::{
    ByResource, Controller, Entry, FullHandshake, Moment, PolicyKind, Reading, ResourceName,
    Settings, Usage,
};

/// The system's allocator, which counts the calling thread's calls.
struct Counting;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator as it came; counting touches
// no memory that an allocator could have given.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.with(|calls| calls.set(calls.get() + 1));
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        CALLS.with(|calls| calls.set(calls.get() + 1));
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn calls_in(work: impl FnOnce()) -> u64 {
    let before = CALLS.get();
    work();
    CALLS.get() - before
}

#[test]
fn no_decision_allocates() {
    assert!(calls_in(|| drop(black_box(Box::new(1)))) >= 2, "calls are counted");
    let interval = Duration::from_secs(2);
    let policies = [
        PolicyKind::Off,
        PolicyKind::Static { per_second: 50.0 },
        PolicyKind::Eac { interval, profile: None },
        PolicyKind::Tide,
    ];
    let one = Usage { capacity_cpus: 1.0, used_cpu_s: Some(0.09), idle: Some(0.1) };
    for policy in policies {
        let mut controller = Controller::new(Settings { policy, ..Settings::default() });
        let mut verdicts = [0; 2];
        let calls = calls_in(|| {
            for ms in 0..10_000 {
                let now = Duration::from_millis(ms);
                if ms % 100 == 0 {
                    let elapsed = Duration::from_millis(100);
                    let usage = ResourceName::ALL
                        .into_iter()
                        .fold(ByResource::default(), |all, name| all.with(name, one));
                    let reading = Reading { elapsed, usage, ..Reading::default() };
                    controller.observe(now, &reading);
                }
                let moment = Moment {
                    handshakes: (ms % 7) as u32,
                    requests: (ms % 31) as u32,
                    allowed_backlog: Duration::from_micros(ms % 2_000),
                    entry: Entry::Full(FullHandshake::RSA_2048),
                    ..Moment::IDLE
                };
                controller.offered();
                verdicts[usize::from(controller.decide(now, moment).is_admit())] += 1;
                controller.returning(now);
            }
        });
        assert_eq!(calls, 0, "{policy:?}");
        assert!(verdicts[1] > 0 && (verdicts[0] > 0 || policy == PolicyKind::Off), "{verdicts:?}");
    }
}
