//! Which processors a process may run on.

use std::io;

/// The processors that the whole process may run on, by the kernel's numbers,
/// ascending; never empty. Threads that were pinned do not change it: the main
/// thread is asked.
///
/// # Errors
/// The kernel does not tell.
pub fn own_affinity() -> io::Result<Vec<usize>> {
    of_process(std::process::id())
}

/// The processors that a process's main thread may run on, ascending; never empty.
///
/// # Errors
/// There is no such process, or the kernel does not tell.
pub fn of_process(pid: u32) -> io::Result<Vec<usize>> {
    let pid = libc::pid_t::try_from(pid).map_err(|_| io::ErrorKind::InvalidInput)?;
    // Kernels are built for at most 8192 processors; a smaller set is EINVAL there.
    let mut words = [0_u64; 8192 / 64];
    // SAFETY: the pointer and length describe `words`, which outlives the call.
    let result =
        unsafe { libc::sched_getaffinity(pid, size_of_val(&words), words.as_mut_ptr().cast()) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    let set = |cpu: &usize| words[cpu / 64] & (1 << (cpu % 64)) != 0;
    let cpus: Vec<usize> = (0..words.len() * 64).filter(set).collect();
    if cpus.is_empty() { Err(io::ErrorKind::InvalidData.into()) } else { Ok(cpus) }
}

/// Reads a list of processors such as `0,2-3` (as the kernel writes them too).
/// None for anything else, an empty list, or numbers of 8192 and above.
pub fn parse_cpu_list(text: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| {
            let digits = text.trim();
            let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            if plain { digits.parse::<usize>().ok().filter(|cpu| *cpu < 8192) } else { None }
        };
        let (first, last) = (number(first)?, number(last)?);
        if last < first || cpus.len() > 8192 {
            return None;
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_processors_read_as_the_kernel_writes_them() {
        assert_eq!(parse_cpu_list("0"), Some(vec![0]));
        assert_eq!(parse_cpu_list("0-3,8,10-11\n"), Some(vec![0, 1, 2, 3, 8, 10, 11]));
        assert_eq!(parse_cpu_list("1,1,0"), Some(vec![0, 1]));
        for bad in ["", ",", "3-1", "a", "0-", "-1", "0-99999999999", "8192", "+1", "0 1"] {
            assert_eq!(parse_cpu_list(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn this_process_may_run_somewhere() {
        assert!(!own_affinity().unwrap().is_empty());
        assert!(of_process(u32::MAX).is_err());
    }
}
