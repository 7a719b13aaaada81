//! A fixed piece of work whose duration shows how fast the machine is just now.
//!
//! Shared machines drift: the same code takes half as long again for seconds
//! at a time. The loop runs on the servers' core right before and after each
//! window; both times are kept with the window.

use std::hint::black_box;
use std::time::Duration;

/// Bytes of the buffer: larger than the first-level cache, so that memory
/// counts too, as it does for servers.
const BUFFER: usize = 256 * 1024;

/// Passes over the buffer; a few milliseconds altogether.
const PASSES: u64 = 64;

/// Runs the fixed work on `core`, then returns to `home`, and tells the CPU
/// time that it took.
///
/// # Errors
/// One of the two cores is not allowed.
pub fn time_on(core: usize, home: usize) -> std::io::Result<Duration> {
    tidegate_host::Cores::one(core)?.pin_this_thread()?;
    let mut words = vec![0x9e37_79b9_7f4a_7c15_u64; BUFFER / 8];
    work(&mut words, 1);
    let start = tidegate_host::cpu_clock::of_this_thread();
    black_box(work(black_box(&mut words), PASSES));
    let spent = tidegate_host::cpu_clock::of_this_thread().saturating_sub(start);
    tidegate_host::Cores::one(home)?.pin_this_thread()?;
    Ok(spent)
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
    fn the_loop_takes_a_measurable_time_and_comes_home() {
        let core = tidegate_host::Cores::of_this_thread().unwrap().list()[0];
        assert!(time_on(core, core).unwrap() > Duration::from_micros(200));
        assert_eq!(tidegate_host::Cores::of_this_thread().unwrap().list(), [core]);
    }
}
