//! CPU clocks and processor affinity.

use std::io;
use std::time::Duration;

/// Processors that the calling thread may run on, ascending.
///
/// # Errors
/// The system does not tell.
pub fn allowed() -> io::Result<Vec<usize>> {
    // SAFETY: a zeroed cpu_set_t is a valid empty set; the size is its own.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) != 0 {
            return Err(io::Error::last_os_error());
        }
        set
    };
    // SAFETY: every number asked about is below CPU_SETSIZE.
    Ok((0..libc::CPU_SETSIZE as usize)
        .filter(|cpu| unsafe { libc::CPU_ISSET(*cpu, &set) })
        .collect())
}

/// Binds the calling thread, and what it starts later, to one processor.
/// Only system calls, so that it may run between fork and exec.
///
/// # Errors
/// The processor does not exist or is not allowed here.
pub fn pin(core: usize) -> io::Result<()> {
    if core >= libc::CPU_SETSIZE as usize {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    // SAFETY: the set is valid and `core` is within it.
    let status = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set)
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// CPU time that a process has used, all its threads together, user and system.
///
/// # Errors
/// There is no such process.
pub fn of_process(pid: u32) -> io::Result<Duration> {
    let mut clock: libc::clockid_t = 0;
    // SAFETY: writes one clockid_t.
    let status = unsafe { libc::clock_getcpuclockid(pid.cast_signed(), &mut clock) };
    if status != 0 {
        return Err(io::Error::from_raw_os_error(status));
    }
    read(clock)
}

/// CPU time that the calling thread has used.
pub fn of_this_thread() -> Duration {
    read(libc::CLOCK_THREAD_CPUTIME_ID).expect("every thread has a CPU clock")
}

fn read(clock: libc::clockid_t) -> io::Result<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one timespec.
    if unsafe { libc::clock_gettime(clock, &mut time) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Duration::new(time.tv_sec.cast_unsigned(), u32::try_from(time.tv_nsec).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_clock_covers_the_work_of_its_threads() {
        let before = of_process(std::process::id()).unwrap();
        let own = std::thread::spawn(|| {
            while of_this_thread() < Duration::from_millis(5) {
                std::hint::spin_loop();
            }
            of_this_thread()
        })
        .join()
        .unwrap();
        assert!(of_process(std::process::id()).unwrap() - before >= own);
    }

    #[test]
    fn a_process_that_is_gone_has_no_clock() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        assert!(of_process(child.id()).is_err());
    }

    #[test]
    fn a_core_that_does_not_exist_is_an_error() {
        assert!(pin(100_000).is_err());
    }
}
