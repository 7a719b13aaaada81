//! The thread that writes the file, and samples resources in between.

use super::calibration::Costs;
use super::sampler::Sampler;
use super::thread::{empty_block, fill_head};
use super::tracing::{Shared, Summary};
use crate::format::header::Header;
use crate::format::record::{Ending, Record};
use crate::format::{MAGIC, VERSION};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use tidegate_host::clock::monotonic_ns;
use tidegate_host::cpu_clock;

/// Bytes that are kept for the last record.
const FOR_ENDING: u64 = 128;

/// A block with its head.
#[derive(Debug, Default)]
pub struct Block {
    /// Head and records.
    pub bytes: Vec<u8>,
    /// How many records.
    pub records: u64,
}

/// Writes a file.
pub struct Writer {
    file: File,
    bytes: u64,
    most_bytes: u64,
    records: u64,
    /// Nothing more can be written.
    ended: bool,
}

impl Writer {
    /// Makes the file, or replaces it, and writes the header.
    ///
    /// # Errors
    /// It cannot be made or written.
    pub fn create(path: &Path, most_bytes: u64, header: &Header) -> io::Result<Self> {
        let header = serde_json::to_vec(header)?;
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&(header.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&header);
        let mut file = File::create(path)?;
        file.write_all(&bytes)?;
        Ok(Self { file, bytes: bytes.len() as u64, most_bytes, records: 0, ended: false })
    }

    /// Writes blocks and samples until the sender says that it is over. Returns itself, to be
    /// closed.
    pub fn run(
        mut self,
        blocks: &Receiver<Option<Block>>,
        mut sampler: Sampler,
        shared: &Shared,
        notify: &dyn Fn(String),
    ) -> Self {
        let mut next = Instant::now();
        loop {
            let wait = next.saturating_duration_since(Instant::now());
            match blocks.recv_timeout(wait) {
                Ok(Some(block)) => {
                    self.write(&block, shared, notify);
                    shared.give_back(block.bytes);
                }
                Ok(None) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if Instant::now() >= next {
                self.write(&sample(&mut sampler, shared), shared, notify);
                next = Instant::now() + sampler.interval();
            }
        }
        while let Ok(Some(block)) = blocks.try_recv() {
            self.write(&block, shared, notify);
        }
        self.write(&sample(&mut sampler, shared), shared, notify);
        self
    }

    fn write(&mut self, block: &Block, shared: &Shared, notify: &dyn Fn(String)) {
        if self.ended {
            shared.counts.dropped.fetch_add(block.records, Relaxed);
            return;
        }
        let fits = self.bytes + block.bytes.len() as u64 + FOR_ENDING <= self.most_bytes;
        let written = match fits {
            true => self.file.write_all(&block.bytes),
            false => Err(io::Error::other(format!("it has its {} bytes", self.most_bytes))),
        };
        match written {
            Ok(()) => {
                self.bytes += block.bytes.len() as u64;
                self.records += block.records;
            }
            Err(error) => {
                // A block that was written in part is cut off by the reader.
                self.ended = true;
                shared.turn_off();
                shared.counts.dropped.fetch_add(block.records, Relaxed);
                notify(format!(
                    "the trace cannot be written any more: {error}; tracing has ended, and the \
                     service goes on"
                ));
            }
        }
    }

    /// Writes the last record, and sums up.
    pub fn close(
        mut self,
        shared: &Shared,
        costs: Costs,
        process_cpu: Duration,
        file: PathBuf,
    ) -> Summary {
        shared.turn_off();
        let counts = &shared.counts;
        let recording_cpu = costs.of(counts.steps.load(Relaxed), counts.readings.load(Relaxed));
        let summary = Summary {
            records: self.records,
            dropped: counts.dropped.load(Relaxed),
            writer_cpu: cpu_clock::of_this_thread(),
            recording_cpu,
            process_cpu,
            bytes: 0,
            traced: Duration::ZERO,
            file,
        };
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let ending = Record::Ending(Ending {
            records: summary.records,
            dropped: summary.dropped,
            writer_cpu_ns: ns(summary.writer_cpu),
            recording_cpu_ns: ns(summary.recording_cpu),
            process_cpu_ns: ns(summary.process_cpu),
        });
        let block = block_of(&ending, monotonic_ns());
        if !self.ended && self.file.write_all(&block.bytes).is_ok() {
            self.bytes += block.bytes.len() as u64;
        }
        let _ = self.file.flush();
        Summary { bytes: self.bytes, ..summary }
    }
}

fn sample(sampler: &mut Sampler, shared: &Shared) -> Block {
    let sample = sampler.sample(&shared.ports());
    let at_ns = sample.at_ns;
    block_of(&Record::Sample(sample), at_ns)
}

/// A block of one record, of the writing thread.
fn block_of(record: &Record, base_ns: u64) -> Block {
    let mut bytes = empty_block(256);
    record.write(&mut bytes, base_ns);
    fill_head(&mut bytes, 0, base_ns);
    Block { bytes, records: u64::from(!matches!(record, Record::Ending(_) | Record::Sample(_))) }
}
