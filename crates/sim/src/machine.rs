//! Processors, and the programs that share them.
//!
//! A host has cores; a station is a program on it, or one core of a program, with so many
//! threads and a first-come, first-served queue before them. Busy threads share the host's
//! cores equally, each at most one core: one station with few threads is a
//! FIFO server, one with very many is processor sharing, two on one host are
//! two programs under a fair scheduler.
//!
//! Connections do not stand in that queue but in the kernel's backlog. Accepting
//! is one task among the program's others: whenever its turn comes it takes a
//! batch, and joins the queue again behind all that is ready by then. So those
//! who are connected already wait for a batch or two however many knock, and
//! the backlog takes what is left.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A number that orders: times and virtual times are never NaN here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ordered(pub(crate) f64);

impl Eq for Ordered {}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// Programs of a simulation: gate, upstream and database.
pub(crate) const PROGRAMS: usize = 3;

/// A station, and the program that its CPU time counts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// Less than [`PROGRAMS`].
    pub(crate) program: usize,
    /// The station's index.
    pub(crate) station: usize,
}

/// Cores, shared by the threads that run on them.
///
/// All running threads progress equally fast, so one "virtual time" (CPU time
/// that each has received) tells when each is done: a heap, not a scan.
#[derive(Debug)]
pub(crate) struct Host {
    /// Cores' worth of CPU time per second, as it is at present.
    pub(crate) cores: f64,
    /// CPU seconds that each program has used.
    pub(crate) used: [f64; PROGRAMS],
    /// CPU seconds that no program used since they were reset.
    pub(crate) unused: f64,
    /// CPU seconds still to be done of what was pushed.
    pub(crate) owed: f64,
    /// The least and the most that was owed since they were reset.
    pub(crate) least_owed: f64,
    pub(crate) most_owed: f64,
    received: f64,
    at: f64,
    order: u64,
    threads: [u32; PROGRAMS],
    running: BinaryHeap<Reverse<(Ordered, u64, Place, u32)>>,
}

impl Host {
    pub(crate) fn new(cores: f64) -> Self {
        Self {
            cores,
            used: [0.0; PROGRAMS],
            unused: 0.0,
            owed: 0.0,
            least_owed: 0.0,
            most_owed: 0.0,
            received: 0.0,
            at: 0.0,
            order: 0,
            threads: [0; PROGRAMS],
            running: BinaryHeap::new(),
        }
    }

    /// When the next job is done, if nothing else happens.
    pub(crate) fn next_done(&self) -> Option<f64> {
        let Reverse((done, ..)) = self.running.peek()?;
        let speed = self.speed();
        (speed > 0.0).then(|| self.at + (done.0 - self.received).max(0.0) / speed)
    }

    /// Lets time pass.
    pub(crate) fn advance(&mut self, now: f64) {
        let each = (now - self.at).max(0.0) * self.speed();
        self.received += each;
        for (used, threads) in self.used.iter_mut().zip(self.threads) {
            *used += each * f64::from(threads);
        }
        let done = each * self.running.len() as f64;
        self.unused += ((now - self.at).max(0.0) * self.cores - done).max(0.0);
        self.owed = (self.owed - done).max(0.0);
        self.least_owed = self.least_owed.min(self.owed);
        self.at = now;
    }

    /// Takes the job that is done first: its station and its number.
    pub(crate) fn finish(&mut self) -> Option<(usize, u32)> {
        let Reverse((done, _, place, job)) = self.running.pop()?;
        self.received = self.received.max(done.0);
        self.threads[place.program] -= 1;
        Some((place.station, job))
    }

    /// The extremes of what was owed since the last call.
    pub(crate) fn take_owed(&mut self) -> (f64, f64) {
        let extremes = (self.least_owed, self.most_owed);
        (self.least_owed, self.most_owed) = (self.owed, self.owed);
        extremes
    }

    /// Work came that will have to be done here, at once or later.
    pub(crate) fn owe(&mut self, work: f64) {
        self.owed += work;
        self.most_owed = self.most_owed.max(self.owed);
    }

    fn start(&mut self, place: Place, job: u32, work: f64) {
        self.order += 1;
        self.threads[place.program] += 1;
        self.running.push(Reverse((Ordered(self.received + work), self.order, place, job)));
    }

    fn speed(&self) -> f64 {
        match self.running.len() {
            0 => 0.0,
            busy => (self.cores / busy as f64).min(1.0),
        }
    }
}

/// Connections that a program accepts before others get their turn, as the gate does.
const BATCH: u32 = 64;
/// Connections that wait for each of a program's threads, at most: the gate's
/// default. The kernel drops what comes beyond.
const BACKLOG: usize = 1024;

/// A program, or one core of a program, with threads and a queue.
#[derive(Debug)]
pub(crate) struct Station {
    place: Place,
    /// Which host it runs on.
    pub(crate) host: usize,
    threads: usize,
    busy: usize,
    queue: VecDeque<Turn>,
    /// Connections that nobody has accepted yet: their job, and its work.
    backlog: VecDeque<(u32, f64)>,
    /// Threads whose accepting task has nothing to do.
    not_accepting: usize,
    /// What threads accept at present: the job, and how many more may follow it.
    accepting: Vec<(u32, u32)>,
}

/// What stands in a program's queue.
#[derive(Clone, Copy, Debug)]
enum Turn {
    /// A piece of work.
    Job(u32, f64),
    /// A task that accepts connections.
    Accept,
}

impl Station {
    pub(crate) fn new(place: Place, host: usize, threads: usize) -> Self {
        Self {
            place,
            host,
            threads,
            busy: 0,
            queue: VecDeque::new(),
            backlog: VecDeque::new(),
            not_accepting: threads,
            accepting: Vec::new(),
        }
    }

    /// Whether the kernel drops the next connection.
    pub(crate) fn is_full(&self) -> bool {
        self.backlog.len() >= BACKLOG.saturating_mul(self.threads)
    }

    /// Adds a connection whose accepting needs `work` CPU seconds, which its host
    /// owes already; the host must be up to date.
    pub(crate) fn knock(&mut self, host: &mut Host, job: u32, work: f64) {
        self.backlog.push_back((job, work));
        if self.not_accepting > 0 {
            self.not_accepting -= 1;
            self.queue.push_back(Turn::Accept);
            self.start_more(host);
        }
    }

    /// Adds a job that needs `work` CPU seconds, which its host owes already; the
    /// host must be up to date.
    pub(crate) fn push(&mut self, host: &mut Host, job: u32, work: f64) {
        self.queue.push_back(Turn::Job(job, work));
        self.start_more(host);
    }

    /// A job of this station is done: its thread goes on.
    pub(crate) fn release(&mut self, host: &mut Host, job: u32) {
        self.busy -= 1;
        if let Some(place) = self.accepting.iter().position(|(accepted, _)| *accepted == job) {
            let (_, left) = self.accepting.swap_remove(place);
            if left > 0 && self.accept(host, left - 1) {
                return;
            }
            if self.backlog.is_empty() {
                self.not_accepting += 1;
            } else {
                self.queue.push_back(Turn::Accept);
            }
        }
        self.start_more(host);
    }

    fn start_more(&mut self, host: &mut Host) {
        while self.busy < self.threads
            && let Some(turn) = self.queue.pop_front()
        {
            match turn {
                Turn::Job(job, work) => {
                    self.busy += 1;
                    host.start(self.place, job, work);
                }
                Turn::Accept => {
                    if !self.accept(host, BATCH - 1) {
                        self.not_accepting += 1;
                    }
                }
            }
        }
    }

    /// Begins to accept the next connection, after which so many more may follow;
    /// false if there is none.
    fn accept(&mut self, host: &mut Host, left: u32) -> bool {
        let Some((job, work)) = self.backlog.pop_front() else { return false };
        self.accepting.push((job, left));
        self.busy += 1;
        host.start(self.place, job, work);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn station(index: usize, threads: usize) -> Station {
        Station::new(Place { program: index, station: index }, 0, threads)
    }

    /// Runs jobs given all at time 0 and returns (time, station, job) of each end.
    fn ends(cores: f64, threads: &[usize], jobs: &[(usize, f64)]) -> Vec<(f64, usize, u32)> {
        let mut host = Host::new(cores);
        let stations = threads.iter().enumerate();
        let mut stations: Vec<Station> = stations.map(|(index, n)| station(index, *n)).collect();
        for (job, (station, work)) in jobs.iter().enumerate() {
            host.owe(*work);
            stations[*station].push(&mut host, job as u32, *work);
        }
        let mut ends = Vec::new();
        while let Some(at) = host.next_done() {
            host.advance(at);
            let (station, job) = host.finish().unwrap();
            stations[station].release(&mut host, job);
            ends.push(((at * 1e6).round() / 1e6, station, job));
        }
        let (all, used) =
            (jobs.iter().map(|job| job.1).sum::<f64>(), host.used.iter().sum::<f64>());
        assert!((all - used).abs() < 1e-9 && host.owed < 1e-9, "{all} {used} {}", host.owed);
        ends
    }

    #[test]
    fn one_thread_serves_in_order() {
        assert_eq!(ends(1.0, &[1], &[(0, 2.0), (0, 1.0)]), [(2.0, 0, 0), (3.0, 0, 1)]);
    }

    #[test]
    fn two_programs_on_one_core_each_run_at_half_speed() {
        // Both progress at ½ until the shorter is done at 2; the other has 2 left.
        assert_eq!(ends(1.0, &[1, 1], &[(0, 3.0), (1, 1.0)]), [(2.0, 1, 1), (4.0, 0, 0)]);
    }

    #[test]
    fn no_thread_runs_faster_than_a_core() {
        assert_eq!(ends(4.0, &[2], &[(0, 1.0), (0, 1.0)]), [(1.0, 0, 0), (1.0, 0, 1)]);
    }

    #[test]
    fn who_is_connected_waits_for_one_batch_however_many_knock() {
        let (mut host, mut station) = (Host::new(1.0), station(0, 1));
        for job in 0..100 {
            station.knock(&mut host, job, 1.0);
        }
        station.push(&mut host, 100, 1.0);
        let mut order = Vec::new();
        while let Some(at) = host.next_done() {
            host.advance(at);
            let (_, job) = host.finish().unwrap();
            station.release(&mut host, job);
            order.push(job);
        }
        // A batch of 64, the other's turn, and the 36 that are left.
        assert_eq!(order.iter().position(|job| *job == 100), Some(64));
        assert_eq!((order.len(), host.used[0]), (101, 101.0));
    }

    #[test]
    fn the_backlog_has_an_end() {
        let (mut host, mut station) = (Host::new(1.0), station(0, 1));
        // One is being accepted.
        for job in 0..=1024 {
            assert!(!station.is_full(), "{job}");
            station.knock(&mut host, job, 1.0);
        }
        assert!(station.is_full());
    }

    #[test]
    fn what_is_owed_is_known_at_its_least_and_most() {
        let mut host = Host::new(1.0);
        let mut station = station(0, 1);
        host.owe(3.0);
        station.push(&mut host, 0, 3.0);
        host.advance(2.0);
        assert_eq!(host.unused, 0.0);
        host.owe(1.0);
        station.push(&mut host, 1, 1.0);
        assert_eq!((host.owed, host.take_owed()), (2.0, (0.0, 3.0)));
        assert_eq!(host.take_owed(), (2.0, 2.0));
        host.cores = 2.0;
        host.advance(2.5);
        // The station has one thread.
        assert_eq!((host.owed, host.unused), (1.5, 0.5));
    }
}
