//! Sites of known capacity: plain HTTP, a number of workers, and a time for each request. In this
//! process, or as a process of its own, so that its use of processors and memory can be observed.

use std::io::{BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use tidegate_host::{Cores, cpu_clock};

use crate::common::Running;
use crate::common::upstream::read_request;

/// What a request costs, and how many are served at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Workers that sleep, as those that wait for another service.
    Pool,
    /// Workers that compute, on one processor.
    Computes,
    /// Workers that sleep while they hold a lock that all of them need.
    Lock,
    /// A pool whose requests become slower, and whose memory grows, with each that it answered.
    Leak,
}

/// A site of known capacity.
#[derive(Clone, Copy, Debug)]
pub struct KnownSite {
    pub kind: Kind,
    pub workers: usize,
    /// Time of a request: of the processor where it computes, else as it passes.
    pub time: Duration,
    pub status: &'static str,
}

/// Requests after which a leaking site takes a tenth longer, and the memory that each leaves.
const TENTH_SLOWER: f64 = 10_000.0;
const LEFT: usize = 2048;
/// The variable that describes the site of a process, and the test that is that process.
const SITE: &str = "TIDEGATE_KNOWN_SITE";
const PROCESS: &str = "study::known_site::as_a_process";

impl KnownSite {
    pub const fn pool(workers: usize, ms: u64) -> Self {
        let time = Duration::from_millis(ms);
        Self { kind: Kind::Pool, workers, time, status: "200 OK" }
    }

    /// Requests per second that it answers at most, at first.
    pub fn requests_per_s(&self) -> f64 {
        let at_a_time = match self.kind {
            Kind::Pool | Kind::Leak => self.workers,
            Kind::Computes | Kind::Lock => 1,
        };
        at_a_time as f64 / self.time.as_secs_f64()
    }

    /// How many times as long a request takes on a site that leaks, after this many others.
    pub fn slower(answered: f64) -> f64 {
        1.0 + 0.1 * answered / TENTH_SLOWER
    }

    /// Starts it in this process, where it ends with the process. The URL.
    pub fn start(self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        // First come, first served: a queue that all workers take from.
        let (jobs, queue) = mpsc::channel::<Job>();
        let (queue, lock) = (Arc::new(Mutex::new(queue)), Arc::new(Mutex::new(())));
        let (answered, memory) = (Arc::new(AtomicU64::new(0)), Arc::<Mutex<Vec<_>>>::default());
        for _ in 0..self.workers {
            let (queue, lock) = (queue.clone(), lock.clone());
            let (answered, memory) = (answered.clone(), memory.clone());
            std::thread::spawn(move || {
                loop {
                    let Ok((mut stream, done)) = queue.lock().unwrap().recv() else { return };
                    let before = answered.fetch_add(1, Ordering::Relaxed);
                    match self.kind {
                        Kind::Pool => std::thread::sleep(self.time),
                        Kind::Lock => {
                            let _held = lock.lock().unwrap();
                            std::thread::sleep(self.time);
                        }
                        Kind::Computes => compute(self.time),
                        Kind::Leak => {
                            memory.lock().unwrap().push(vec![1u8; LEFT]);
                            std::thread::sleep(self.time.mul_f64(Self::slower(before as f64)));
                        }
                    }
                    let answer = format!("HTTP/1.1 {}\r\nContent-Length: 2\r\n\r\nok", self.status);
                    let _ = stream.write_all(answer.as_bytes());
                    let _ = done.send(());
                }
            });
        }
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let jobs = jobs.clone();
                // Thousands of customers think at a time.
                let reader = std::thread::Builder::new().stack_size(128 * 1024);
                let _ = reader.spawn(move || read(stream, &jobs));
            }
        });
        url
    }

    /// Starts it as a process.
    pub fn process(self) -> (Running, String) {
        let text = format!("{:?} {} {}", self.kind, self.workers, self.time.as_micros());
        let own = Cores::of_this_process().unwrap();
        let allowed: Vec<usize> = match self.kind {
            // The last processor; the load generator has another.
            Kind::Computes => own.list().last().copied().into_iter().collect(),
            _ => own.list().to_vec(),
        };
        let allowed = Cores::new(allowed).unwrap().to_string();
        let mut command = Command::new("taskset");
        command.args(["--cpu-list", &allowed]).arg(std::env::current_exe().unwrap());
        command.args(["--ignored", "--exact", PROCESS, "--nocapture"]).env(SITE, text);
        let running = Running::other(command.stderr(Stdio::null()), |line| {
            line.strip_prefix("site: ").map(str::to_owned)
        });
        let url = running.address("address").to_owned();
        (running, url)
    }
}

/// A connection with a request, and whom to tell that it was answered.
type Job = (TcpStream, mpsc::Sender<()>);

fn read(stream: TcpStream, jobs: &mpsc::Sender<Job>) {
    let _ = stream.set_nodelay(true);
    let mut reader = BufReader::new(&stream);
    while !read_request(&mut reader).0.is_empty() {
        let (done, answered) = mpsc::channel();
        let Ok(writer) = stream.try_clone() else { return };
        if jobs.send((writer, done)).is_err() || answered.recv().is_err() {
            return;
        }
    }
}

/// Uses this much of a processor, however many others want it.
fn compute(time: Duration) {
    let end = cpu_clock::of_this_thread() + time;
    while cpu_clock::of_this_thread() < end {
        std::hint::spin_loop();
    }
}

#[test]
#[ignore = "the process of a site that other tests start"]
fn as_a_process() {
    let Ok(text) = std::env::var(SITE) else { return };
    // SAFETY: a number and nothing else; the process ends with the test that started it.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) };
    let words: Vec<&str> = text.split(' ').collect();
    let kinds = [Kind::Pool, Kind::Computes, Kind::Lock, Kind::Leak];
    let kind = kinds.into_iter().find(|kind| format!("{kind:?}") == words[0]).unwrap();
    let time = Duration::from_micros(words[2].parse().unwrap());
    let site = KnownSite { kind, workers: words[1].parse().unwrap(), time, status: "200 OK" };
    println!("\nsite: {}", site.start());
    loop {
        std::thread::park();
    }
}
