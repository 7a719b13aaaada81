//! The buffers of the cores, and the thread that writes them out.

use crate::config;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Longest time that a line stays in a buffer.
const FLUSH: Duration = Duration::from_millis(200);
/// How often the thread looks for orders while the log is off.
const LOOK: Duration = Duration::from_secs(1);
/// How long the end of a gate waits for the last lines.
const LAST: Duration = Duration::from_secs(2);
/// How long the same failure is not logged again.
const AGAIN: Duration = Duration::from_secs(60);
/// The file that stands for the standard output.
const STANDARD_OUTPUT: &str = "-";

/// The lines of a core that are not written yet, on a cache line of their own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Buffer(Mutex<Vec<u8>>);

/// The access log of a gate.
#[derive(Debug)]
pub struct AccessLog {
    buffers: Box<[Buffer]>,
    /// Most bytes of a buffer; 0 while nothing is logged.
    most: AtomicUsize,
    /// Lines that could not be written out.
    lost: AtomicU64,
    orders: Mutex<Orders>,
    /// There are orders, or a buffer is half full.
    wake: Condvar,
    /// The thread has ended.
    ended: Condvar,
}

/// What the thread is to do.
#[derive(Debug, Default)]
struct Orders {
    /// Write there from now on.
    output: Option<Output>,
    /// Write what there is, and end.
    stop: bool,
    ended: bool,
}

/// Where lines go.
#[derive(Debug)]
enum Output {
    Nowhere,
    Standard,
    File(File),
}

impl AccessLog {
    /// A log that is off, for so many cores.
    pub fn new(cores: usize) -> Self {
        Self {
            buffers: (0..cores).map(|_| Buffer::default()).collect(),
            most: AtomicUsize::new(0),
            lost: AtomicU64::new(0),
            orders: Mutex::default(),
            wake: Condvar::new(),
            ended: Condvar::new(),
        }
    }

    /// Opens the configured file, again if it is open already, and writes there from now on.
    /// What was logged before goes to the former one.
    ///
    /// # Errors
    /// It cannot be opened; everything stays as it was. In words.
    pub fn open(&self, config: &config::AccessLog) -> Result<(), String> {
        let output = match &config.file {
            None => Output::Nowhere,
            Some(path) if path == Path::new(STANDARD_OUTPUT) => Output::Standard,
            Some(path) => Output::File(open(path).map_err(|error| {
                let path = path.display();
                format!(
                    "access_log.file = \"{path}\": cannot be written ({error}); name a file in a \
                     directory that the gate's user may write, or \"{STANDARD_OUTPUT}\""
                )
            })?),
        };
        // The thread holds as much as a buffer beside them.
        let most = match output {
            Output::Nowhere => 0,
            _ => config.buffer_bytes / (self.buffers.len() + 1),
        };
        self.most.store(most, Relaxed);
        lock(&self.orders).output = Some(output);
        self.wake.notify_one();
        Ok(())
    }

    /// Whether lines are taken.
    pub fn is_on(&self) -> bool {
        self.most.load(Relaxed) > 0
    }

    /// Adds a line of a core. Returns whether there was room.
    pub fn push(&self, core: usize, line: &[u8]) -> bool {
        let most = self.most.load(Relaxed);
        let mut buffer = lock(&self.buffers[core].0);
        let (before, after) = (buffer.len(), buffer.len() + line.len());
        if after > most {
            return false;
        }
        buffer.extend_from_slice(line);
        drop(buffer);
        if before < most / 2 && after >= most / 2 {
            self.wake.notify_one();
        }
        true
    }

    /// Lines that could not be written out.
    pub fn lost(&self) -> u64 {
        self.lost.load(Relaxed)
    }

    /// Writes lines out until [`AccessLog::finish`]. `turn` is called about once a second or
    /// more often.
    pub fn run(&self, turn: impl Fn()) {
        let mut writer = Writer { output: Output::Nowhere, lines: Vec::new(), failed: None };
        loop {
            turn();
            let off = matches!(writer.output, Output::Nowhere);
            let (output, stop) = self.next_orders(off);
            if !off {
                self.write_out(&mut writer);
            }
            if let Some(output) = output {
                writer = Writer { output, failed: None, ..writer };
            }
            if stop {
                self.write_out(&mut writer);
                break;
            }
        }
        lock(&self.orders).ended = true;
        self.ended.notify_all();
    }

    /// Has the thread write out what there is, and end. Waits for it, but not for long: the disk
    /// may hang.
    pub fn finish(&self) {
        let mut orders = lock(&self.orders);
        orders.stop = true;
        self.wake.notify_one();
        drop(self.ended.wait_timeout_while(orders, LAST, |orders| !orders.ended));
    }

    /// Waits until there is something to do.
    fn next_orders(&self, idle: bool) -> (Option<Output>, bool) {
        let orders = lock(&self.orders);
        let longest = if idle { LOOK } else { FLUSH };
        let mut orders = match orders.output.is_some() || orders.stop {
            true => orders,
            false => {
                self.wake.wait_timeout(orders, longest).unwrap_or_else(PoisonError::into_inner).0
            }
        };
        (orders.output.take(), orders.stop)
    }

    fn write_out(&self, writer: &mut Writer) {
        for buffer in &self.buffers {
            std::mem::swap(&mut *lock(&buffer.0), &mut writer.lines);
            self.lost.fetch_add(writer.write(), Relaxed);
            writer.lines.clear();
        }
    }
}

/// The thread's own.
struct Writer {
    output: Output,
    lines: Vec<u8>,
    /// The last attempt failed: what was logged of it, and when.
    failed: Option<(String, Instant)>,
}

impl Writer {
    /// Writes the lines. Returns how many were lost.
    fn write(&mut self) -> u64 {
        if self.lines.is_empty() {
            return 0;
        }
        let result = match &mut self.output {
            Output::Nowhere => Ok(()),
            Output::Standard => write_all(&mut io::stdout().lock(), &self.lines, &self.failed),
            Output::File(file) => write_all(file, &self.lines, &self.failed),
        };
        let Err(error) = result else {
            self.failed = None;
            return 0;
        };
        let reason = error.to_string();
        let recently = |(text, at): &(String, Instant)| *text == reason && at.elapsed() < AGAIN;
        if !self.failed.as_ref().is_some_and(recently) {
            tracing::error!("access_log.file: lines are lost, since writing fails: {reason}");
            self.failed = Some((reason, Instant::now()));
        }
        memchr::memchr_iter(b'\n', &self.lines).count() as u64
    }
}

/// Writes lines. After a failure a line may have been begun, so an empty one ends it.
fn write_all<T>(out: &mut impl Write, lines: &[u8], failed: &Option<T>) -> io::Result<()> {
    if failed.is_some() {
        out.write_all(b"\n")?;
    }
    out.write_all(lines)?;
    out.flush()
}

/// Opens a file to append to. Others than owner and group do not read it: it says who asked for
/// what.
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(0o640).open(path)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use std::sync::Arc;

    fn config(file: Option<PathBuf>, bytes: usize) -> config::AccessLog {
        let root = "[upstream]\nurl = \"http://127.0.0.1:9\"\n";
        let config = crate::config::Config::from_toml(root, "t").unwrap();
        config::AccessLog { file, buffer_bytes: bytes, ..config.access_log }
    }

    fn running(log: AccessLog) -> (Arc<AccessLog>, std::thread::JoinHandle<()>) {
        let log = Arc::new(log);
        let thread = std::thread::spawn({
            let log = log.clone();
            move || log.run(|| {})
        });
        (log, thread)
    }

    #[test]
    fn nothing_is_taken_while_it_is_off() {
        let log = AccessLog::new(1);
        assert!(!log.push(0, b"a\n"));
    }

    #[test]
    fn buffers_are_bounded_and_what_has_no_room_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let log = AccessLog::new(2);
        log.open(&config(Some(folder.path().join("log")), 30)).unwrap();
        // Nobody writes: 10 bytes for each core, and 10 that are being written.
        assert_eq!([log.push(0, b"12345\n"), log.push(0, b"12345\n")], [true, false]);
        assert_eq!([log.push(1, b"123456789\n"), log.push(1, b"\n")], [true, false]);
    }

    #[test]
    fn lines_of_before_a_reopening_go_to_the_former_file() {
        let folder = tempfile::tempdir().unwrap();
        let (path, moved) = (folder.path().join("log"), folder.path().join("log.1"));
        let (log, thread) = running(AccessLog::new(1));
        let config = config(Some(path.clone()), 1 << 20);
        let open = || {
            log.open(&config).unwrap();
            while lock(&log.orders).output.is_some() {
                std::thread::yield_now();
            }
        };
        open();
        assert!(log.push(0, b"a\n"));
        std::fs::rename(&path, &moved).unwrap();
        open();
        assert!(log.push(0, b"b\n"));
        log.finish();
        thread.join().unwrap();
        let read = |path: &Path| std::fs::read_to_string(path).unwrap();
        // The line after the order may be written with those before it.
        assert!(read(&moved).starts_with("a\n"));
        assert_eq!(read(&moved) + &read(&path), "a\nb\n");
    }

    #[test]
    fn a_disk_that_is_full_loses_lines_and_says_how_many() {
        let (log, thread) = running(AccessLog::new(1));
        log.open(&config(Some("/dev/full".into()), 1 << 20)).unwrap();
        assert!(log.push(0, b"a\nb\n"));
        log.finish();
        thread.join().unwrap();
        assert_eq!(log.lost(), 2);
    }

    #[test]
    fn a_file_that_cannot_be_opened_is_named_with_a_remedy() {
        let log = AccessLog::new(1);
        let error = log.open(&config(Some("/nowhere/log".into()), 30)).unwrap_err();
        assert!(error.starts_with("access_log.file = \"/nowhere/log\": cannot be written"));
        assert!(!log.push(0, b"a\n"), "it stays off");
    }
}
