//! The binary as a child process, with what it announces.
#![allow(dead_code, reason = "each test binary uses a part")]

pub mod browser;
pub mod collector;
pub mod tiers;
pub mod trader;
pub mod upstream;

use std::io::{BufRead, BufReader, Read};
use std::os::fd::FromRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Longest wait for anything: generous, since a loaded machine is no failure.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// More and more customers until somebody stops them.
pub const ENDLESS: &str = r#"
[session]
steps = ["Home"]
patience = "60s"
[arrivals]
rate = 8
[pages]
Home = { path = "/" }
"#;

/// A child process that is terminated when dropped, and killed if it does not end.
pub struct Running {
    child: Child,
    addresses: Vec<(String, String)>,
}

impl Running {
    /// Starts `tidegate` with these arguments and waits for `ready`.
    pub fn tidegate(args: &[&str]) -> Self {
        Self::tidegate_logging(args, Stdio::inherit())
    }

    /// The same with its log to somewhere else.
    pub fn tidegate_logging(args: &[&str], log: impl Into<Stdio>) -> Self {
        Self::unless_it_ends(args, log).expect("the service says that it is ready")
    }

    /// The same; none if it ends before it is ready.
    pub fn unless_it_ends(args: &[&str], log: impl Into<Stdio>) -> Option<Self> {
        Self::announced(Command::new(env!("CARGO_BIN_EXE_tidegate")).args(args), log)
    }

    /// The same for a command that was prepared.
    pub fn announced(command: &mut Command, log: impl Into<Stdio>) -> Option<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn().expect("the binary starts");
        let lines = lines(child.stdout.take().unwrap());
        let mut running = Self { child, addresses: Vec::new() };
        loop {
            let line = lines.recv_timeout(PATIENCE).ok()?;
            if line == "ready" {
                return Some(running);
            }
            if let Some((word, address)) = line.split_once(": ") {
                running.addresses.push((word.to_owned(), address.to_owned()));
            }
        }
    }

    /// Any other program; the first line that `address` recognises is its address.
    pub fn other(command: &mut Command, address: impl Fn(&str) -> Option<String>) -> Self {
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap_or_else(|error| {
                panic!("{:?}: {error}; scripts/bootstrap test installs it", command.get_program())
            });
        let lines = lines(child.stdout.take().unwrap());
        let mut running = Self { child, addresses: Vec::new() };
        loop {
            let line = lines.recv_timeout(PATIENCE).expect("the program says where it listens");
            if let Some(address) = address(&line) {
                running.addresses.push(("address".into(), address));
                return running;
            }
        }
    }

    /// A program that says nothing; it serves when its port answers.
    pub fn silent(command: &mut Command, address: &str) -> Self {
        let child =
            command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap_or_else(|error| {
                panic!("{:?}: {error}; scripts/bootstrap test installs it", command.get_program())
            });
        let running = Self { child, addresses: vec![("address".into(), address.to_owned())] };
        wait_until("the port answers", || std::net::TcpStream::connect(address).is_ok());
        running
    }

    pub fn address(&self, word: &str) -> &str {
        let found = self.addresses.iter().find(|(said, _)| said == word);
        &found.unwrap_or_else(|| panic!("no `{word}` address")).1
    }

    /// The gate's `/status`.
    pub fn status(&self) -> serde_json::Value {
        let url = format!("{}/status", self.address("admin"));
        serde_json::from_str(&curl(&["--fail", &url]).stdout_text()).expect("status is JSON")
    }

    /// A metric's value, by its whole name with labels.
    pub fn metric(&self, name: &str) -> f64 {
        let url = format!("{}/metrics", self.address("admin"));
        let text = curl(&["--fail", &url]).stdout_text();
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.unwrap_or_else(|| panic!("no {name} in\n{text}")).parse().expect("a number")
    }

    /// Terminates it and returns its exit code.
    pub fn end(mut self) -> Option<i32> {
        self.terminate();
        self.wait()
    }

    /// Its exit code once it has ended.
    pub fn wait(&mut self) -> Option<i32> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().expect("it is a child") {
                return status.code();
            }
            assert!(Instant::now() < deadline, "it does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The address that it announced last.
    pub fn last_address(&self) -> &str {
        &self.addresses.last().expect("an address before `ready`").1
    }

    /// Kills it where it is.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn terminate(&mut self) {
        // SAFETY: the child was not waited for yet, so the id is its own.
        unsafe { libc::kill(self.child.id() as libc::pid_t, libc::SIGTERM) };
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(None)) {
            return;
        }
        self.terminate();
        let deadline = Instant::now() + Duration::from_secs(10);
        while Instant::now() < deadline {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lines(stream: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            let _ = sender.send(line);
        }
    });
    receiver
}

/// Runs `tidegate` to its end.
pub fn tidegate(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tidegate"))
        .args(args)
        .stdin(Stdio::null())
        .output()
        .expect("the binary starts")
}

/// Lets no file of a program and of those that it starts grow beyond so many bytes, as on a disk
/// that is full: a write gets an error.
pub fn with_small_files(command: &mut Command, bytes: u64) -> &mut Command {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: both calls are safe between fork and exec; the limit is the child's own.
    unsafe {
        command.pre_exec(move || {
            // By default the signal would end the process before it sees the error.
            libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
            match libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        })
    }
}

/// Runs curl; `-k` and a deadline are always set.
pub fn curl(args: &[&str]) -> Output {
    let fixed = ["--silent", "--show-error", "--insecure", "--max-time", "30"];
    Command::new("curl")
        .args(fixed)
        .args(args)
        .stdin(Stdio::null())
        .output()
        .expect("curl is installed")
}

/// Runs a shard that begins at a time ahead, later each time: a machine that is short of time is
/// not ready for the first ones.
pub fn at_a_start(mut run: impl FnMut(&str) -> Output) -> Output {
    for ahead in [2, 8, 32] {
        let start = std::time::SystemTime::now() + Duration::from_secs(ahead);
        let output = run(&jiff::Timestamp::try_from(start).unwrap().to_string());
        if output.status.code() == Some(0) || !output.stderr_text().contains(" s ago") {
            return output;
        }
    }
    panic!("a shard is not ready within half a minute");
}

/// Checks that something takes less than this at least once: what waits for a deadline never
/// does, and a machine that is short of time delays it now and then.
pub fn in_time(what: &str, longest: Duration, act: impl Fn()) {
    wait_until(what, || {
        let begin = Instant::now();
        act();
        begin.elapsed() < longest
    });
}

/// Text of an output's streams.
pub trait Text {
    fn stdout_text(&self) -> String;
    fn stderr_text(&self) -> String;
}

impl Text for Output {
    fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    fn stderr_text(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }
}

/// Whether there are processors for service and customers; if not, the test says that it is
/// skipped.
pub fn has_two_processors() -> bool {
    let has = std::thread::available_parallelism().is_ok_and(|count| count.get() >= 2);
    if !has {
        eprintln!("skipped: it needs two processors");
    }
    has
}

/// Ends what keeps a subject busy: sets its flag when a test has what it needs, and when it
/// fails.
pub struct Over<'a>(pub &'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Polls until it holds; a test that waits for what never comes fails with
/// the name of it.
pub fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The result of a run that lasts a few seconds, or longer where that is not enough on a busy machine.
/// `run` gets its length in seconds.
pub fn long_enough<T>(run: impl Fn(&str) -> T, is_enough: impl Fn(&T) -> bool) -> T {
    for seconds in ["2.5", "5", "10", "20"] {
        let found = run(seconds);
        if is_enough(&found) {
            return found;
        }
    }
    run("40")
}

/// Writes a file that its owner alone can read.
pub fn private(file: &Path, text: &str) {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = std::fs::OpenOptions::new();
    let open = options.create(true).truncate(true).write(true).mode(0o600).open(file);
    open.unwrap().write_all(text.as_bytes()).unwrap();
}

/// A small auction site in `folder`.
pub fn auction(folder: &Path) -> Running {
    let data = folder.display().to_string();
    Running::tidegate(&[
        "site",
        "auction",
        "--listen",
        "127.0.0.1:0",
        "--data",
        &data,
        "--scale",
        "0.001",
        "--password-cost",
        "light",
    ])
}

/// A small shop in `folder` with a card processor, with more arguments.
pub fn shop(folder: &Path, more: &[&str]) -> Running {
    let data = folder.display().to_string();
    let fixed = ["site", "shop", "--data", &data, "--card-listen", "127.0.0.1:0"];
    let listen = if more.contains(&"--listen") { &[][..] } else { &["--listen", "127.0.0.1:0"] };
    let quiet = ["--password-cost", "light", "--log", "warn"];
    Running::tidegate(&[&fixed[..], listen, &quiet, more].concat())
}

/// A gate before `upstream`, with more arguments.
pub fn gate(upstream: &str, more: &[&str]) -> Running {
    let mut args = vec![
        "gate",
        "--upstream",
        upstream,
        "--listen",
        "127.0.0.1:0",
        "--admin",
        "127.0.0.1:0",
        "--log",
        "warn",
    ];
    args.extend_from_slice(more);
    Running::tidegate(&args)
}

/// Both ends of a pseudo terminal: what is written to the second can be read from the
/// first.
pub fn terminal() -> (std::fs::File, std::fs::File) {
    let (mut ours, mut theirs) = (-1, -1);
    let none = std::ptr::null_mut();
    // SAFETY: both numbers outlive the call; name, settings and size may be left out.
    let made = unsafe { libc::openpty(&mut ours, &mut theirs, none, none.cast(), none.cast()) };
    assert_eq!(made, 0, "a pseudo terminal: {}", std::io::Error::last_os_error());
    // SAFETY: both were just opened and belong to nobody else.
    unsafe { (std::fs::File::from_raw_fd(ours), std::fs::File::from_raw_fd(theirs)) }
}
