//! Sites of known capacity: plain HTTP, a number of workers, and a time for each request. In this
//! process, or as a process of its own, so that its use of processors and memory can be observed.

use std::io::{BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

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
    /// Workers that compute, for [`DEARER`] times as long while more than half of the processor is
    /// used.
    Knee,
    /// Workers that compute; those of `/order` sleep for [`HELD`] while they hold a lock.
    OrderLock,
    /// Workers that compute, beside a job that uses [`JOB`] of the processor.
    Job,
}

impl Kind {
    const ALL: [Self; 7] = [
        Self::Pool,
        Self::Computes,
        Self::Lock,
        Self::Leak,
        Self::Knee,
        Self::OrderLock,
        Self::Job,
    ];

    /// Whether it computes on one processor.
    fn computes(self) -> bool {
        matches!(self, Self::Computes | Self::Knee | Self::OrderLock | Self::Job)
    }
}

/// How many times as long a request computes beyond the knee.
pub const DEARER: f64 = 1.6;
/// How long a lock is held for an order.
pub const HELD: Duration = Duration::from_millis(80);
/// Share of a processor that a job uses.
pub const JOB: f64 = 0.25;
/// Time over which the use of the processor is taken, for the knee.
const SLOT: Duration = Duration::from_millis(250);

/// A site of known capacity.
#[derive(Clone, Copy, Debug)]
pub struct KnownSite {
    pub kind: Kind,
    pub workers: usize,
    /// Time of a request: of the processor where it computes, else as it passes.
    pub time: Duration,
    /// Paths whose requests take another time, in microseconds.
    pub pages: &'static [(&'static str, u64)],
    pub status: &'static str,
}

/// The use of the processor by requests, for the knee.
#[derive(Default)]
struct Use {
    /// The slot of time, what was used in it, and in the one before.
    slot: u128,
    used: Duration,
    before: Duration,
}

impl Use {
    /// Adds a request; whether more than half of the processor is used.
    fn is_beyond(&mut self, began: Instant, time: Duration) -> bool {
        let slot = began.elapsed().as_nanos() / SLOT.as_nanos();
        if slot > self.slot {
            self.before = if slot == self.slot + 1 { self.used } else { Duration::ZERO };
            (self.slot, self.used) = (slot, Duration::ZERO);
        }
        self.used += time;
        self.before > SLOT / 2
    }
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
        Self { kind: Kind::Pool, workers, time, pages: &[], status: "200 OK" }
    }

    /// Requests per second that it answers at most, at first.
    pub fn requests_per_s(&self) -> f64 {
        let at_a_time = match self.kind {
            Kind::Pool | Kind::Leak => self.workers,
            _ => 1,
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
        let (began, usage) = (Instant::now(), Arc::<Mutex<Use>>::default());
        if self.kind == Kind::Job {
            std::thread::spawn(|| {
                loop {
                    compute(SLOT.mul_f64(JOB));
                    std::thread::sleep(SLOT.mul_f64(1.0 - JOB));
                }
            });
        }
        for _ in 0..self.workers {
            let (queue, lock) = (queue.clone(), lock.clone());
            let (answered, memory) = (answered.clone(), memory.clone());
            let usage = usage.clone();
            std::thread::spawn(move || {
                loop {
                    let Ok((mut stream, path, done)) = queue.lock().unwrap().recv() else { return };
                    let time = self.time_of(&path);
                    let before = answered.fetch_add(1, Ordering::Relaxed);
                    match self.kind {
                        Kind::Pool => std::thread::sleep(time),
                        Kind::Lock => {
                            let _held = lock.lock().unwrap();
                            std::thread::sleep(time);
                        }
                        Kind::Computes | Kind::Job => compute(time),
                        Kind::Knee => {
                            let beyond = usage.lock().unwrap().is_beyond(began, time);
                            compute(if beyond { time.mul_f64(DEARER) } else { time });
                        }
                        Kind::OrderLock => {
                            compute(time);
                            if path == "/order" {
                                let _held = lock.lock().unwrap();
                                std::thread::sleep(HELD);
                            }
                        }
                        Kind::Leak => {
                            memory.lock().unwrap().push(vec![1u8; LEFT]);
                            std::thread::sleep(time.mul_f64(Self::slower(before as f64)));
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

    /// The time of a request.
    fn time_of(&self, path: &str) -> Duration {
        let page = self.pages.iter().find(|(it, _)| *it == path);
        page.map_or(self.time, |(_, us)| Duration::from_micros(*us))
    }

    /// Starts it as a process.
    pub fn process(self) -> (Running, String) {
        let mut text = format!("{:?} {} {}", self.kind, self.workers, self.time.as_micros());
        text.extend(self.pages.iter().map(|(path, us)| format!(" {path} {us}")));
        let own = Cores::of_this_process().unwrap();
        let allowed: Vec<usize> = match self.kind.computes() {
            // The last processor; the load generator has another.
            true => own.list().last().copied().into_iter().collect(),
            false => own.list().to_vec(),
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

/// A connection with a request, its path, and whom to tell that it was answered.
type Job = (TcpStream, String, mpsc::Sender<()>);

fn read(stream: TcpStream, jobs: &mpsc::Sender<Job>) {
    let _ = stream.set_nodelay(true);
    let mut reader = BufReader::new(&stream);
    loop {
        let head = read_request(&mut reader).0;
        let Some(path) = head.split(' ').nth(1) else { return };
        let (done, answered) = mpsc::channel();
        let Ok(writer) = stream.try_clone() else { return };
        if jobs.send((writer, path.to_owned(), done)).is_err() || answered.recv().is_err() {
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
    let kind = Kind::ALL.into_iter().find(|kind| format!("{kind:?}") == words[0]).unwrap();
    let time = Duration::from_micros(words[2].parse().unwrap());
    let pages = words[3..].chunks(2);
    let pages: Vec<(&'static str, u64)> =
        pages.map(|it| (&*it[0].to_owned().leak(), it[1].parse().unwrap())).collect();
    let workers = words[1].parse().unwrap();
    let site = KnownSite { kind, workers, time, pages: pages.leak(), status: "200 OK" };
    println!("\nsite: {}", site.start());
    loop {
        std::thread::park();
    }
}
