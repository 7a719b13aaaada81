//! A process that traces: its threads, the thread that writes, and the summary at the end.

use super::calibration::Costs;
use super::file::{Block, Writer};
use super::sampler::Sampler;
use super::thread::{self, Attached, BUFFER, empty_block};
use crate::format::header::{Header, Role};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tidegate_host::cgroup::{self, Membership, Mounts};
use tidegate_host::clock::{monotonic_ns, unix_ns};
use tidegate_host::{Cores, Files, Machine, cpu_clock, pressure};

/// What to trace, and within which bounds.
#[derive(Clone, Debug)]
pub struct Options {
    /// What this process is.
    pub role: Role,
    /// The file; one that exists is replaced.
    pub file: PathBuf,
    /// Most bytes of the file. When it has them, tracing ends and the service goes on.
    pub file_bytes: u64,
    /// Most bytes of records that wait to be written.
    pub buffer_bytes: usize,
    /// CPU time is measured on every so manieth connection of a thread; 0: on none.
    pub cpu_every: u32,
    /// Time between two samples of resources.
    pub sample: Duration,
}

impl Options {
    /// The usual bounds: 4 GiB of file, 8 MiB of memory, CPU time of every 32nd connection,
    /// five samples per second.
    pub fn new(role: Role, file: &Path) -> Self {
        Self {
            role,
            file: file.to_owned(),
            file_bytes: 4 << 30,
            buffer_bytes: 8 << 20,
            cpu_every: 32,
            sample: Duration::from_millis(200),
        }
    }
}

/// Tracing could not begin.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The operator's: the file cannot be made.
    #[error("the trace {}: cannot be made: {source}; name a file in a folder that exists and that may be written", .file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The system's: no thread could be started.
    #[error("cannot start the thread that writes the trace: {0}")]
    Thread(std::io::Error),
}

/// A process that traces. Dropped, it writes what there is and ends.
#[derive(Debug)]
pub struct Tracing {
    handle: Handle,
    thread: Option<JoinHandle<Summary>>,
}

/// Attaches threads. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Handle(Arc<Shared>);

/// What the threads share.
#[derive(Debug)]
pub struct Shared {
    on: AtomicBool,
    blocks: SyncSender<Option<Block>>,
    spare: Mutex<Vec<Vec<u8>>>,
    ports: Mutex<Vec<u16>>,
    pub(super) threads: AtomicU16,
    pub(super) cpu_every: u32,
    pub(super) counts: Counts,
}

/// What was recorded.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) steps: AtomicU64,
    pub(super) readings: AtomicU64,
    pub(super) dropped: AtomicU64,
}

impl Shared {
    pub(super) fn is_on(&self) -> bool {
        self.on.load(Relaxed)
    }

    /// No more is recorded.
    pub(super) fn turn_off(&self) {
        self.on.store(false, Relaxed);
    }

    /// A block without records; a used one if there is any.
    pub(super) fn new_block(&self) -> Vec<u8> {
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        spare.unwrap_or_else(|| empty_block(BUFFER))
    }

    /// A block that was written is used again.
    pub(super) fn give_back(&self, mut block: Vec<u8>) {
        block.truncate(crate::format::BLOCK_HEAD);
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.len() < 8 {
            spare.push(block);
        }
    }

    pub(super) fn try_send(&self, bytes: Vec<u8>, records: u64) -> Result<(), TrySendError<Block>> {
        self.blocks.try_send(Some(Block { bytes, records })).map_err(|error| match error {
            TrySendError::Full(block) => TrySendError::Full(block.unwrap_or_default()),
            TrySendError::Disconnected(block) => {
                TrySendError::Disconnected(block.unwrap_or_default())
            }
        })
    }

    /// Waits for room: for the last block of a thread, which serves nobody any more.
    pub(super) fn send(&self, bytes: Vec<u8>, records: u64) -> Result<(), ()> {
        self.blocks.send(Some(Block { bytes, records })).map_err(|_| ())
    }

    /// The ports whose accept queues are sampled.
    pub(super) fn ports(&self) -> Vec<u16> {
        self.ports.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Handle {
    /// Traces on the calling thread, until the result is dropped.
    pub fn attach(&self) -> Attached {
        thread::attach(&self.0)
    }

    /// Samples the accept queues of these ports too.
    pub fn watch_ports(&self, ports: impl IntoIterator<Item = u16>) {
        self.0.ports.lock().unwrap_or_else(PoisonError::into_inner).extend(ports);
    }
}

impl Tracing {
    /// Begins a file. `notify` receives a line for the operator when tracing ends early: the
    /// file has its size, or the disk is full.
    ///
    /// # Errors
    /// The file cannot be made, or no thread can be started.
    pub fn start(
        options: &Options,
        notify: impl Fn(String) + Send + 'static,
    ) -> Result<Self, StartError> {
        let files = Files::new("/");
        let header = header(options, &files);
        let wrong = |source| StartError::File { file: options.file.clone(), source };
        let writer = Writer::create(&options.file, options.file_bytes, &header).map_err(wrong)?;
        let most = (options.buffer_bytes / BUFFER).max(2);
        let (blocks, written) = sync_channel(most);
        let shared = Arc::new(Shared {
            on: AtomicBool::new(true),
            blocks,
            spare: Mutex::default(),
            ports: Mutex::default(),
            threads: AtomicU16::new(1),
            cpu_every: options.cpu_every,
            counts: Counts::default(),
        });
        let sampler = Sampler::new(files, options.sample);
        let (own, file) = (shared.clone(), options.file.clone());
        let work = move || {
            let costs = Costs::measure();
            let process_cpu = cpu_clock::of_this_process();
            let begun = Instant::now();
            let end = writer.run(&written, sampler, &own, &notify);
            let process_cpu = cpu_clock::of_this_process().saturating_sub(process_cpu);
            let summary = end.close(&own, costs, process_cpu, file);
            Summary { traced: begun.elapsed(), ..summary }
        };
        let thread = std::thread::Builder::new().name("trace".into()).spawn(work);
        Ok(Self { handle: Handle(shared), thread: Some(thread.map_err(StartError::Thread)?) })
    }

    /// Attaches threads.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Writes what there is and ends. The threads have to be detached before; what they record
    /// later is lost.
    pub fn finish(mut self) -> Summary {
        self.end().unwrap_or_default()
    }

    fn end(&mut self) -> Option<Summary> {
        let thread = self.thread.take()?;
        let _ = self.handle.0.blocks.send(None);
        thread.join().ok()
    }
}

impl Drop for Tracing {
    fn drop(&mut self) {
        self.end();
    }
}

/// What was traced, and what it took.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The file.
    pub file: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Records in it.
    pub records: u64,
    /// Records that were dropped because there was no room for them.
    pub dropped: u64,
    /// CPU time of writing and sampling.
    pub writer_cpu: Duration,
    /// CPU time of recording, estimated from the number of records and their measured cost.
    pub recording_cpu: Duration,
    /// CPU time of the process while it traced.
    pub process_cpu: Duration,
    /// How long it traced.
    pub traced: Duration,
}

impl Summary {
    /// CPU time of tracing.
    pub fn cpu(&self) -> Duration {
        self.writer_cpu + self.recording_cpu
    }

    /// The share of tracing in the CPU time of the process, 0 to 1; 0 where that used none.
    pub fn share(&self) -> f64 {
        let process = self.process_cpu.as_secs_f64();
        if process > 0.0 { (self.cpu().as_secs_f64() / process).min(1.0) } else { 0.0 }
    }
}

impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "trace: {}: {:.1} MB, {} records, {} dropped; tracing used {:.3} s of CPU time, {:.1} % \
             of the process's {:.2} s and {:.2} % of a processor",
            self.file.display(),
            self.bytes as f64 / 1e6,
            self.records,
            self.dropped,
            self.cpu().as_secs_f64(),
            self.share() * 100.0,
            self.process_cpu.as_secs_f64(),
            100.0 * self.cpu().as_secs_f64() / self.traced.as_secs_f64().max(1e-3)
        )
    }
}

fn header(options: &Options, files: &Files) -> Header {
    let text = |path| files.read(path).unwrap_or_default().trim().to_owned();
    let (mounts, groups) = (Mounts::read(files), Membership::of_this_process(files));
    let allowed = Cores::of_process(std::process::id()).map_or(1.0, |c| c.list().len() as f64);
    let quota = cgroup::quota(files, &mounts, &groups);
    Header {
        role: options.role,
        pid: std::process::id(),
        host: text("/proc/sys/kernel/hostname"),
        boot: text("/proc/sys/kernel/random/boot_id"),
        machine: Machine::read(),
        processors: quota.map_or(allowed, |quota| quota.min(allowed)),
        started_ns: monotonic_ns(),
        started_unix_ns: unix_ns(),
        cpu_every: options.cpu_every,
        sample_ms: u32::try_from(options.sample.as_millis()).unwrap_or(u32::MAX),
        pressure: pressure::of_machine(files, "cpu").is_some(),
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::phase::{Outcome, Phase};
    use crate::read::Trace;
    use crate::write::line::Line;

    pub fn start(file: &Path, cpu_every: u32) -> Tracing {
        let options = Options { cpu_every, ..Options::new(Role::Gate, file) };
        Tracing::start(&options, |why| panic!("{why}")).unwrap()
    }

    #[test]
    fn phases_add_up_to_the_life_of_a_connection() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("t");
        let tracing = start(&file, 1);
        let attached = tracing.handle().attach();
        let begun = monotonic_ns();
        let mut line = Line::begin(Phase::Accept).unwrap();
        line.enter(Phase::HandshakeFull);
        line.opened(Phase::AwaitRequest);
        for request in 0..20 {
            line.enter(Phase::ReadRequest);
            line.enter(Phase::Service);
            line.set_status(200 + request);
            line.finish_request(Phase::Idle);
        }
        line.ends(Outcome::TimedOut);
        drop(line);
        let took = monotonic_ns() - begun;
        drop(attached);
        let summary = tracing.finish();
        assert_eq!((summary.records, summary.dropped), (22, 0));
        let trace = Trace::read(&[file]).unwrap();
        let lines = &trace.processes[0].lines;
        let mut at = lines[0].start_ns;
        for line in lines {
            assert_eq!(line.start_ns, at, "without gaps");
            at += line.took_ns();
        }
        let sum = at - lines[0].start_ns;
        assert!(sum <= took && took - sum < 1_000_000, "{sum} of {took}");
        let cpu: u64 = lines.iter().flat_map(|line| &line.steps).map(|step| step.cpu_ns).sum();
        assert!(cpu > 0 && cpu <= took + 1_000_000, "{cpu}");
        assert_eq!(lines[21].outcome, Outcome::TimedOut);
        assert_eq!(lines[21].steps[0].phase, Phase::Idle);
    }

    #[test]
    fn a_line_of_more_steps_than_are_kept_loses_none() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("t");
        let tracing = start(&file, 0);
        let attached = tracing.handle().attach();
        let mut line = Line::begin(Phase::Service).unwrap();
        for _ in 0..50 {
            line.enter(Phase::Database);
            line.enter(Phase::Service);
        }
        drop((line, attached));
        tracing.finish();
        let trace = Trace::read(&[file]).unwrap();
        let steps: Vec<_> = trace.processes[0].lines.iter().flat_map(|l| &l.steps).collect();
        assert_eq!(steps.len(), 101);
        assert!(steps.iter().all(|step| step.cpu_ns == 0));
    }

    #[test]
    fn a_folder_that_does_not_exist_is_named() {
        let options = Options::new(Role::Site, Path::new("/nowhere/t"));
        let error = Tracing::start(&options, |_| ()).unwrap_err().to_string();
        assert!(error.contains("/nowhere/t") && error.contains("name a file"), "{error}");
    }

    #[test]
    fn a_file_that_is_full_ends_tracing_with_one_line() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("t");
        let options =
            Options { file_bytes: 100_000, cpu_every: 0, ..Options::new(Role::Gate, &file) };
        let (notes, told) = std::sync::mpsc::channel();
        let tracing = Tracing::start(&options, move |why| notes.send(why).unwrap()).unwrap();
        let attached = tracing.handle().attach();
        while let Some(mut line) = Line::begin(Phase::Service) {
            line.set_status(200);
            line.finish_request(Phase::Idle);
        }
        drop(attached);
        let summary = tracing.finish();
        assert!(summary.bytes <= 100_000 + 1000, "{summary}");
        let notes: Vec<_> = told.iter().collect();
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(notes[0].contains("tracing has ended"), "{}", notes[0]);
        assert!(!Trace::read(&[file]).unwrap().processes[0].lines.is_empty());
    }

    #[test]
    fn a_disk_that_is_full_ends_tracing_and_the_service_goes_on() {
        let full = Path::new("/dev/full");
        if !full.exists() {
            return eprintln!("skipped: this system has no /dev/full");
        }
        let options = Options::new(Role::Gate, full);
        // The header does not fit either, or the first block does not.
        match Tracing::start(&options, |_| ()) {
            Err(error) => assert!(error.to_string().contains("/dev/full"), "{error}"),
            Ok(_) => panic!("nothing can be written"),
        }
    }
}
