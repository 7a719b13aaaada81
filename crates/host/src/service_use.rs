//! What the processes of a service have used until now, thread by thread, and the connections
//! that wait for it to accept them.

use std::collections::BTreeMap;

use crate::scheduling::ThreadTimes;
use crate::sockets::Endpoint;
use crate::{Files, scheduling, sockets};

/// Most threads that are read of a process.
const THREADS: usize = 4096;

/// What processes have used until now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceUse {
    /// By number of the thread.
    pub threads: BTreeMap<u32, ThreadTimes>,
    /// Memory in RAM, of all processes; pages that they share count for each.
    pub resident_bytes: u64,
}

impl ServiceUse {
    /// Reads the use of these processes; those that have ended are left out.
    ///
    /// Source: `proc_pid_status(5)` for `VmRSS`.
    pub fn read(files: &Files, processes: &[u32]) -> Self {
        let mut found = Self::default();
        for pid in processes {
            let tasks = files.names(format!("/proc/{pid}/task")).into_iter().flatten();
            for task in tasks.take(THREADS).filter_map(|name| name.parse::<u32>().ok()) {
                if let Some(times) = scheduling::thread_times(files, *pid, task) {
                    found.threads.insert(task, times);
                }
            }
            let status = files.read(format!("/proc/{pid}/status")).unwrap_or_default();
            found.resident_bytes =
                found.resident_bytes.saturating_add(parse_resident(&status).unwrap_or(0));
        }
        found
    }

    /// What was used since `earlier`, by thread. A thread that began since counts from its
    /// start; one that has ended does not count.
    pub fn since(&self, earlier: &Self) -> BTreeMap<u32, ThreadTimes> {
        let since = |(task, now): (&u32, &ThreadTimes)| {
            let before = earlier.threads.get(task).copied().unwrap_or_default();
            let ran_ns = now.ran_ns.saturating_sub(before.ran_ns);
            (
                *task,
                ThreadTimes { ran_ns, waited_ns: now.waited_ns.saturating_sub(before.waited_ns) },
            )
        };
        self.threads.iter().map(since).collect()
    }
}

fn parse_resident(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Connections that are established and wait to be accepted, at all sockets that listen for an
/// endpoint; `None` if none does.
///
/// Source: `tcp_diag`'s documentation in `sock_diag(7)`: for listening sockets the receive queue
/// is the length of the accept queue.
pub fn waiting_to_be_accepted(files: &Files, endpoint: Endpoint) -> Option<u64> {
    sockets::accept_queues(files, endpoint).map(u64::from).reduce(u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_use_between_two_readings_is_by_thread() {
        let root = tempfile::tempdir().unwrap();
        let files = Files::new(root.path());
        let write = |task: u32, text: &str| {
            let folder = root.path().join(format!("proc/7/task/{task}"));
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("schedstat"), text).unwrap();
        };
        write(7, "100 10 1\n");
        write(8, "50 5 1\n");
        std::fs::write(root.path().join("proc/7/status"), "Name:\tx\nVmRSS:\t   12 kB\n").unwrap();
        let before = ServiceUse::read(&files, &[7, 9]);
        assert_eq!((before.threads.len(), before.resident_bytes), (2, 12 * 1024));
        write(7, "300 40 9\n");
        write(9, "20 2 1\n");
        write(8, "junk");
        let since = ServiceUse::read(&files, &[7]).since(&before);
        let times = |ran_ns, waited_ns| ThreadTimes { ran_ns, waited_ns };
        assert_eq!(since, BTreeMap::from([(7, times(200, 30)), (9, times(20, 2))]));
    }

    #[test]
    fn connections_that_nobody_accepts_are_counted_in_the_running_kernel() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let endpoint = Endpoint { address: Some(address.ip()), port: address.port() };
        let files = Files::new("/");
        assert_eq!(waiting_to_be_accepted(&files, endpoint), Some(0));
        let _kept = [(); 2].map(|()| std::net::TcpStream::connect(address).unwrap());
        assert_eq!(waiting_to_be_accepted(&files, endpoint), Some(2));
        drop(listener);
        assert_eq!(waiting_to_be_accepted(&files, endpoint), None);
    }
}
