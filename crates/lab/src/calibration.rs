//! A fixed piece of work whose CPU time shows the machine's current speed.
//!
//! The speed of a shared machine drifts: the same code takes half as long again for
//! seconds at a time. The loop runs on the servers' core right before and after each
//! window; both times are kept with the window.

use std::hint::black_box;
use std::time::Duration;

use tidegate_host::Cores;
use tidegate_host::cpu_clock::of_this_thread;

use crate::error::{Fault, Result};

/// Bytes of the buffer: larger than the first-level cache, so that memory counts too, as
/// it does for servers.
const BUFFER: usize = 256 * 1024;

/// Passes over the buffer: a few milliseconds together.
const PASSES: u64 = 64;

/// The CPU time of the fixed work on `core`. The thread is pinned to `home` afterwards.
///
/// # Errors
/// One of the two cores is not allowed.
pub fn time_on(core: usize, home: usize) -> Result<Duration> {
    pin(core)?;
    let mut words = vec![0x9e37_79b9_7f4a_7c15_u64; BUFFER / 8];
    work(&mut words, 1);
    let start = of_this_thread();
    black_box(work(black_box(&mut words), PASSES));
    let spent = of_this_thread().saturating_sub(start);
    pin(home)?;
    Ok(spent)
}

fn pin(core: usize) -> Result<()> {
    let pinned = Cores::one(core).and_then(|cores| cores.pin_this_thread());
    pinned.of_machine(format_args!("cannot run on processor {core}"))
}

/// Multiplications in a chain, with loads and stores in between.
fn work(words: &mut [u64], passes: u64) -> u64 {
    let mut state = 1;
    for pass in 0..passes {
        for word in words.iter_mut() {
            state = (state ^ *word).wrapping_mul(0xff51_afd7_ed55_8ccd).rotate_left(23) ^ pass;
            *word = state;
        }
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_is_the_same_every_time() {
        let once = || work(&mut vec![7; 64], 3);
        assert_eq!(once(), once());
    }

    #[test]
    fn the_loop_takes_a_measurable_time_and_returns_to_its_core() {
        let core = Cores::of_this_thread().unwrap().list()[0];
        assert!(time_on(core, core).unwrap() > Duration::from_micros(200));
        assert_eq!(Cores::of_this_thread().unwrap().list(), [core]);
    }
}
