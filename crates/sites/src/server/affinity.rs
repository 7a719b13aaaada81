//! Which processors a thread may use.

use crate::{Error, Result};

/// The processors that this process may use, ascending.
pub fn available_cores() -> Vec<usize> {
    // SAFETY: an all-zero cpu_set_t is an empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is valid for writes of the size that is passed.
    let got = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) };
    if got != 0 {
        return (0..std::thread::available_parallelism().map_or(1, usize::from)).collect();
    }
    let all = 0..libc::CPU_SETSIZE as usize;
    // SAFETY: every index is below CPU_SETSIZE.
    all.filter(|&core| unsafe { libc::CPU_ISSET(core, &set) }).collect()
}

/// Binds the calling thread, and the threads that it starts later, to one core.
///
/// # Errors
/// There is no such core, or this process may not use it.
pub(super) fn pin(core: usize) -> Result<()> {
    if core >= libc::CPU_SETSIZE as usize {
        return Err(refused(core));
    }
    // SAFETY: an all-zero cpu_set_t is an empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `core` is below CPU_SETSIZE.
    unsafe { libc::CPU_SET(core, &mut set) };
    // SAFETY: `set` is valid for reads of the size that is passed; 0 is this thread.
    match unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) } {
        0 => Ok(()),
        _ => Err(refused(core)),
    }
}

fn refused(core: usize) -> Error {
    let usable = available_cores().iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    Error::Operator(format!(
        "cores: there is no core {core} to run on; this process may use {usable}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_that_is_not_there_is_named_with_those_that_are() {
        let error = pin(1_000_000).unwrap_err().to_string();
        assert!(error.contains("1000000") && error.contains("may use 0"), "{error}");
    }

    #[test]
    fn a_pinned_thread_sees_one_core() {
        let last = *available_cores().last().unwrap();
        std::thread::spawn(move || {
            pin(last).unwrap();
            assert_eq!(available_cores(), [last]);
        })
        .join()
        .unwrap();
    }
}
