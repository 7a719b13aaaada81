//! A child process: pinned, logged, observed, and ended with its descendants.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tidegate_host::{Cores, Files, cpu_clock, processes, scheduling};

use crate::error::{Error, Fault, Result};
use crate::log::Log;
use crate::network::Network;

/// Time between two looks at a process that is waited for.
const POLL: Duration = Duration::from_millis(5);
/// Longest time until a server listens.
const START: Duration = Duration::from_secs(60);
/// Time from SIGTERM to SIGKILL unless another is set.
const GRACE: Duration = Duration::from_secs(2);

/// A process to start. Its standard input is empty, and its output is discarded, unless
/// set otherwise.
#[derive(Debug)]
pub struct Launch {
    name: String,
    command: Command,
    cores: Option<Cores>,
    grace: Duration,
    output: Output,
    piped: bool,
}

#[derive(Debug)]
enum Output {
    Discarded,
    Inherited,
    Kept(Log),
}

impl Launch {
    /// A process that error messages call `name`.
    pub fn new(name: &str, command: Command) -> Self {
        Self {
            name: name.to_owned(),
            command,
            cores: None,
            grace: GRACE,
            output: Output::Discarded,
            piped: false,
        }
    }

    /// Another process of the program that runs, even if its file was replaced since.
    pub fn this_program(name: &str) -> Self {
        let mut command = Command::new("/proc/self/exe");
        command.arg0(std::env::args_os().next().unwrap_or_else(|| name.into()));
        Self::new(name, command)
    }

    /// Lets the process run on a host of a network.
    ///
    /// # Errors
    /// No host is called so.
    pub fn within(mut self, network: &Network, host: &str) -> Result<Self> {
        network.enter(host, &mut self.command)?;
        Ok(self)
    }

    /// Adds arguments.
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<std::ffi::OsStr>>) -> Self {
        self.command.args(args);
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Leaves out a variable of this process's environment.
    pub fn without_env(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Pins the process and its descendants to processors.
    pub fn on(mut self, cores: &Cores) -> Self {
        self.cores = Some(cores.clone());
        self
    }

    /// Sets the time from SIGTERM to SIGKILL.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Keeps the output in a file.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn log(mut self, path: &Path) -> Result<Self> {
        self.output = Output::Kept(Log::create(path)?);
        Ok(self)
    }

    /// Keeps the output in a file without a name, for error messages.
    ///
    /// # Errors
    /// No temporary file can be created.
    pub fn log_unnamed(mut self) -> Result<Self> {
        self.output = Output::Kept(Log::unnamed()?);
        Ok(self)
    }

    /// Writes standard error where this process does.
    pub fn inherit_errors(mut self) -> Self {
        self.output = Output::Inherited;
        self
    }

    /// Makes standard input and standard output pipes to this process; a log keeps
    /// standard error alone.
    pub fn piped(mut self) -> Self {
        self.piped = true;
        self
    }

    /// Starts the process, in a process group of its own: a terminal's Ctrl-C goes to this
    /// process alone, which ends its children in order. The kernel sends SIGTERM to the
    /// child when the thread that started it ends, so that none is left behind even if
    /// this process is killed.
    ///
    /// # Errors
    /// The program is not there, or a processor is not allowed.
    pub fn start(self) -> Result<Process> {
        let Self { name, mut command, cores, grace, output, piped } = self;
        let stream = || match &output {
            Output::Discarded => Ok(Stdio::null()),
            Output::Inherited => Ok(Stdio::inherit()),
            Output::Kept(log) => log.stdio(),
        };
        command.stdin(if piped { Stdio::piped() } else { Stdio::null() });
        command.stdout(if piped { Stdio::piped() } else { stream()? });
        command.stderr(stream()?);
        command.process_group(0);
        let parent = std::process::id().cast_signed();
        // SAFETY: between fork and exec the closure only makes system calls.
        unsafe {
            command.pre_exec(move || {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
                // The parent may have ended before the call above.
                if libc::getppid() != parent {
                    return Err(io::ErrorKind::BrokenPipe.into());
                }
                cores.as_ref().map_or(Ok(()), Cores::pin_this_thread)
            });
        }
        let child = command.spawn().of_process(format_args!("cannot start the {name}"))?;
        let log = match output {
            Output::Discarded | Output::Inherited => None,
            Output::Kept(log) => Some(log),
        };
        Ok(Process { name, child, log, grace, exit: None })
    }

    /// Starts the process and waits until connections are accepted at all of these
    /// addresses, for 10 seconds at most.
    ///
    /// # Errors
    /// It does not start, ends, or does not listen in time; with its output.
    pub fn start_listening(self, addresses: &[SocketAddr]) -> Result<Process> {
        let mut process = self.start()?;
        process.wait_until_listening(addresses)?;
        Ok(process)
    }
}

/// A running process. It and its descendants end when this is dropped.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    log: Option<Log>,
    grace: Duration,
    /// Set once the kernel's record of the process is gone: its id may be another's.
    exit: Option<Exit>,
}

/// How a process ended.
#[derive(Clone, Copy, Debug)]
pub struct Exit {
    /// Exit code or signal.
    pub status: ExitStatus,
    /// CPU time of the process and the descendants that it waited for.
    pub cpu_time: Duration,
}

impl Process {
    /// The name in error messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The write end of standard input, once, if it is piped.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// The read end of standard output, once, if it is piped.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    /// The end of the log, at most 2000 bytes; empty without a log.
    pub fn output(&self) -> String {
        self.log.as_ref().map(Log::end).unwrap_or_default()
    }

    /// The last lines of the log with its path, for error messages.
    pub fn last_lines(&self) -> String {
        self.log.as_ref().map(Log::last_lines).unwrap_or_default()
    }

    /// CPU time of the process and its descendants since they started, those that have ended
    /// and were waited for included.
    ///
    /// # Errors
    /// The process has ended; with the last lines of its log.
    pub fn cpu_time(&self) -> Result<Duration> {
        let files = Files::new("/");
        let own = match self.exit {
            Some(_) => None,
            None => cpu_clock::with_children(&files, self.id()).ok(),
        };
        let own =
            own.ok_or_else(|| self.failed(format_args!("has ended: {}", self.last_lines())))?;
        // A descendant that has ended since has no clock.
        let clock = |id| cpu_clock::with_children(&files, id).ok();
        Ok(own + self.family().into_iter().skip(1).filter_map(clock).sum::<Duration>())
    }

    /// Resident memory of the process and its descendants, in bytes.
    ///
    /// # Errors
    /// The process has ended; with the last lines of its log.
    pub fn resident_bytes(&self) -> Result<u64> {
        let files = Files::new("/");
        let own = scheduling::resident_bytes(&files, self.id());
        let own =
            own.ok_or_else(|| self.failed(format_args!("has ended: {}", self.last_lines())))?;
        let of = |id| scheduling::resident_bytes(&files, id);
        Ok(own + self.family().into_iter().skip(1).filter_map(of).sum::<u64>())
    }

    fn wait_until_listening(&mut self, addresses: &[SocketAddr]) -> Result<()> {
        let deadline = Instant::now() + START;
        for address in addresses {
            while TcpStream::connect(address).is_err() {
                if let Some(exit) = self.exit()? {
                    let (status, output) = (exit.status, self.output());
                    return Err(self.failed(format_args!("ended at once ({status}): {output}")));
                }
                if Instant::now() > deadline {
                    let output = self.output();
                    return Err(self.failed(format_args!("does not listen on {address}: {output}")));
                }
                std::thread::sleep(POLL);
            }
        }
        Ok(())
    }

    /// Waits for the process to end by itself. An exit code other than 0 is no error.
    ///
    /// # Errors
    /// It was ended by a signal, or does not end in time; then it is killed.
    pub fn finish(mut self, within: Duration) -> Result<Exit> {
        let deadline = Instant::now() + within;
        loop {
            if let Some(exit) = self.exit()? {
                if let Some(signal) = exit.status.signal() {
                    return Err(self.failed(format_args!("was ended by signal {signal}")));
                }
                return Ok(exit);
            }
            if Instant::now() > deadline {
                self.kill();
                return Err(self.failed(format_args!("did not end in time")));
            }
            std::thread::sleep(POLL);
        }
    }

    /// How the process ended; `None` while it runs.
    ///
    /// # Errors
    /// The kernel does not report it.
    pub fn exit(&mut self) -> Result<Option<Exit>> {
        self.observe(libc::WNOHANG)?;
        Ok(self.exit)
    }

    /// Waits until the process has ended, however long that takes.
    ///
    /// # Errors
    /// The kernel does not report it.
    pub fn wait(&mut self) -> Result<Exit> {
        self.observe(0)?;
        self.exit.ok_or_else(|| Error::Internal(format!("the {} has not ended", self.name)))
    }

    fn observe(&mut self, flags: libc::c_int) -> Result<()> {
        if self.exit.is_none() {
            let exit = reap(self.id(), flags);
            self.exit = exit.of_machine(format_args!("the end of the {} is unknown", self.name))?;
        }
        Ok(())
    }

    fn failed(&self, what: std::fmt::Arguments<'_>) -> Error {
        Error::Process(format!("the {} {what}", self.name))
    }

    /// Sends SIGKILL if the process still runs.
    pub fn kill(&mut self) {
        if let Ok(None) = self.exit() {
            signal(self.id(), libc::SIGKILL);
        }
    }

    /// The process and all its descendants.
    fn family(&self) -> Vec<u32> {
        processes::family(&Files::new("/"), self.id())
    }
}

impl Drop for Process {
    /// Sends SIGTERM, then SIGKILL to what is left after the grace.
    fn drop(&mut self) {
        if !matches!(self.exit(), Ok(None)) {
            return;
        }
        let files = Files::new("/");
        let started = |id| processes::started(&files, id);
        let family: Vec<_> = self.family().into_iter().map(|id| (id, started(id))).collect();
        signal(self.id(), libc::SIGTERM);
        let deadline = Instant::now() + self.grace;
        while Instant::now() < deadline && matches!(self.exit(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(2));
        }
        // Descendants that outlived their parent. An id that was given to another process
        // meanwhile has another start time.
        for (id, start) in family.into_iter().skip(1) {
            if start.is_some() && started(id) == start {
                signal(id, libc::SIGKILL);
            }
        }
        self.kill();
        let _ = self.wait();
    }
}

/// Waits for a child of this process; `None` if `WNOHANG` is set and it still runs.
fn reap(id: u32, flags: libc::c_int) -> io::Result<Option<Exit>> {
    let (mut status, mut usage) = (0, std::mem::MaybeUninit::<libc::rusage>::zeroed());
    // SAFETY: both pointers live through the call, and the id is that of a child that
    // nobody else waits for.
    let ended =
        unsafe { libc::wait4(id.cast_signed(), &raw mut status, flags, usage.as_mut_ptr()) };
    match ended {
        0 => Ok(None),
        -1 => Err(io::Error::last_os_error()),
        _ => {
            // SAFETY: wait4 has filled it in, and zeroes were valid before.
            let usage = unsafe { usage.assume_init() };
            let time = |t: libc::timeval| {
                Duration::new(
                    t.tv_sec.cast_unsigned(),
                    u32::try_from(t.tv_usec).unwrap_or(0) * 1000,
                )
            };
            let cpu_time = time(usage.ru_utime) + time(usage.ru_stime);
            Ok(Some(Exit { status: ExitStatus::from_raw(status), cpu_time }))
        }
    }
}

fn signal(id: u32, signal: libc::c_int) {
    // SAFETY: sends a signal; the id is positive and that of a child or its descendant.
    unsafe { libc::kill(id.cast_signed(), signal) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::free_address;

    const SOON: Duration = Duration::from_secs(60);

    fn shell(script: &str) -> Launch {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Launch::new("shell", command).on(&first())
    }

    fn first() -> Cores {
        Cores::of_this_thread().unwrap().only(0).unwrap()
    }

    #[test]
    fn a_server_that_ends_at_once_is_an_error_with_its_output() {
        let folder = tempfile::tempdir().unwrap();
        let launch = shell("echo broken; exit 3").log(&folder.path().join("log")).unwrap();
        let mut process = launch.start().unwrap();
        let ready = [free_address().unwrap()];
        let error = process.wait_until_listening(&ready).unwrap_err().to_string();
        assert!(error.contains("broken") && error.contains("the shell ended"), "{error}");
        assert!(process.cpu_time().unwrap_err().to_string().contains("broken"));
    }

    #[test]
    fn a_program_that_does_not_exist_is_an_error_with_the_name() {
        let error = Launch::new("peer", Command::new("/does/not/exist")).start().unwrap_err();
        assert!(error.to_string().contains("cannot start the peer: No such file"), "{error}");
    }

    #[test]
    fn a_process_runs_on_its_processors_and_its_pipes_connect_it() {
        let mut process = shell("read line; echo got $line").piped().start().unwrap();
        assert_eq!(Cores::of_process(process.id()).unwrap().list(), first().list());
        let mut input = process.take_stdin().unwrap();
        io::Write::write_all(&mut input, b"it\n").unwrap();
        let output = io::read_to_string(process.take_stdout().unwrap()).unwrap();
        assert_eq!(output, "got it\n");
        assert!(process.wait().unwrap().status.success());
    }

    #[test]
    fn dropping_a_process_ends_its_descendants() {
        let process = shell("sleep 100 & wait").start().unwrap();
        while process.family().len() < 2 {
            std::thread::yield_now();
        }
        let ids = process.family();
        drop(process);
        let gone = |id: &u32| {
            let state = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
            state.is_empty() || state.contains(") Z ")
        };
        let deadline = Instant::now() + SOON;
        while !ids.iter().all(gone) {
            assert!(Instant::now() < deadline, "some of {ids:?} still run");
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_process_that_ignores_sigterm_is_killed_after_the_grace() {
        let script = "trap '' TERM; echo ready; while :; do sleep 0.05; done";
        let mut process = shell(script).grace(Duration::from_millis(50)).piped().start().unwrap();
        let mut output = io::BufReader::new(process.take_stdout().unwrap());
        io::BufRead::read_line(&mut output, &mut String::new()).unwrap();
        let id = process.id();
        drop(process);
        assert!(cpu_clock::of_process(id).is_err());
    }

    #[test]
    fn the_cpu_time_of_a_finished_process_is_its_own_and_its_exit_code_no_error() {
        let finish = |script: &str| shell(script).start().unwrap().finish(SOON);
        let busy = finish("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; exit 3").unwrap();
        assert_eq!(busy.status.code(), Some(3));
        assert!(busy.cpu_time > finish("exit 0").unwrap().cpu_time);
        let error = shell("sleep 100").start().unwrap().finish(Duration::from_millis(50));
        assert!(error.unwrap_err().to_string().contains("did not end in time"));
        assert!(finish("kill -9 $$").unwrap_err().to_string().contains("signal 9"));
    }
}
