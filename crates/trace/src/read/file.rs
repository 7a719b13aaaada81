//! One file.

use crate::format::header::Header;
use crate::format::number::Bytes;
use crate::format::record::{Ending, Line, Record, Sample, decode_block};
use crate::format::{LARGEST_BLOCK, LARGEST_HEADER, MAGIC, VERSION};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

/// Most lines that are read of a file: about 2 GB of memory.
pub const MOST_LINES: usize = 8_000_000;
/// Most samples that are read of a file: more than a day at ten per second.
const MOST_SAMPLES: usize = 1_000_000;

/// A file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system's error.
    #[error("{}: cannot be read: {source}; name a file of `--trace`", .file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// It is something else.
    #[error("{}: is no trace of Tidegate; name a file that `tidegate gate`, `site` or `load` wrote with --trace", .file.display())]
    NoTrace {
        /// The file.
        file: PathBuf,
    },
    /// It is of another version.
    #[error("{}: is a trace of version {version}, and this tidegate reads version {VERSION}; use the tidegate that wrote it", .file.display())]
    Version {
        /// The file.
        file: PathBuf,
        /// Its version.
        version: u16,
    },
    /// Its header cannot be read.
    #[error("{}: its header is damaged: {why}; trace again", .file.display())]
    Header {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// Its clock is another one.
    #[error(
        "{} is of the machine {machine:?}, and {} of {first_machine:?} or of another boot of it: \
         their clocks have nothing in common; give files of one machine, and traces of others apart",
        .file.display(), .first.display()
    )]
    OtherMachine {
        /// The file.
        file: PathBuf,
        /// Its machine.
        machine: String,
        /// The first file.
        first: PathBuf,
        /// The machine of that.
        first_machine: String,
    },
}

/// What a process recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Process {
    /// The file.
    pub file: PathBuf,
    /// Who traced.
    pub header: Header,
    /// The lines in the order of the file: those of one connection in the order of time. Their
    /// connections have numbers that are unique in the process.
    pub lines: Vec<Line>,
    /// The samples, in the order of time.
    pub samples: Vec<Sample>,
    /// Records that were dropped, as far as the file says.
    pub dropped: u64,
    /// What tracing took; `None` where the process did not end in order, or the file ends
    /// before it.
    pub ending: Option<Ending>,
    /// Where the file ceases to be whole, in bytes; `None` if it is whole.
    pub cut_at: Option<u64>,
    /// The file has more lines than are read.
    pub too_long: bool,
}

impl Process {
    /// A process that recorded nothing yet.
    pub fn new(file: PathBuf, header: Header) -> Self {
        Self {
            file,
            header,
            lines: Vec::new(),
            samples: Vec::new(),
            dropped: 0,
            ending: None,
            cut_at: None,
            too_long: false,
        }
    }

    /// Reads a file to its last whole record.
    ///
    /// # Errors
    /// It cannot be read, is no trace, is of another version, or its header is damaged.
    pub fn read(file: &Path) -> Result<Self, Error> {
        let wrong = |source| Error::Io { file: file.to_owned(), source };
        let opened = File::open(file).map_err(wrong)?;
        Self::from_reader(BufReader::with_capacity(1 << 18, opened), file)
    }

    /// Reads bytes; `file` is named in messages.
    ///
    /// # Errors
    /// As [`Process::read`].
    pub fn from_bytes(bytes: &[u8], file: &Path) -> Result<Self, Error> {
        Self::from_reader(bytes, file)
    }

    fn from_reader(mut from: impl Read, file: &Path) -> Result<Self, Error> {
        let file = file.to_owned();
        let header = match read_header(&mut from, &file) {
            Err(Failure::Io(source)) => return Err(Error::Io { file, source }),
            Err(Failure::Known(error)) => return Err(error),
            Ok(header) => header,
        };
        let mut process = Self::new(file, header.0);
        let mut at = header.1;
        let mut block = Vec::new();
        loop {
            match read_block(&mut from, &mut block) {
                Ok(Block::End) => break,
                Ok(Block::Whole { thread, base_ns }) => {
                    if !process.add(&block, thread, base_ns) {
                        process.cut_at = Some(at);
                        break;
                    }
                    at += (crate::format::BLOCK_HEAD + block.len()) as u64;
                }
                Ok(Block::Cut { head }) => {
                    process.cut_at = Some(at);
                    if let Some((thread, base_ns)) = head {
                        process.add(&block, thread, base_ns);
                    }
                    break;
                }
                Err(source) => return Err(Error::Io { file: process.file, source }),
            }
        }
        process.samples.sort_by_key(|sample| sample.at_ns);
        Ok(process)
    }

    /// Adds the records of a block. Returns whether all were whole.
    fn add(&mut self, block: &[u8], thread: u16, base_ns: u64) -> bool {
        decode_block(block, base_ns, |record| match record {
            Record::Line(_) if self.lines.len() >= MOST_LINES => self.too_long = true,
            Record::Line(line) => {
                // Threads number their connections from 1.
                let connection = u64::from(thread) << 48 | line.connection & 0xffff_ffff_ffff;
                self.lines.push(Line { connection, ..line });
            }
            Record::Sample(sample) if self.samples.len() < MOST_SAMPLES => {
                self.samples.push(sample);
            }
            Record::Sample(_) => self.too_long = true,
            Record::Dropped(count) => self.dropped = self.dropped.saturating_add(count),
            Record::Ending(ending) => {
                self.dropped = self.dropped.max(ending.dropped);
                self.ending = Some(ending);
            }
        })
    }

    /// The first and the last time of any record; `None` without records.
    pub fn span_ns(&self) -> Option<(u64, u64)> {
        let lines = self.lines.iter();
        let lines = lines.map(|line| (line.start_ns, line.start_ns.saturating_add(line.took_ns())));
        let samples = self.samples.iter().map(|sample| (sample.at_ns, sample.at_ns));
        lines.chain(samples).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }

    /// What a reader has to know of a file that is not whole.
    pub fn notes(&self) -> Vec<String> {
        let file = self.file.display();
        let mut notes = Vec::new();
        if let Some(at) = self.cut_at {
            notes.push(format!(
                "{file}: the file is cut or damaged after {at} bytes; it was read to the last \
                 whole record before"
            ));
        } else if self.ending.is_none() {
            notes.push(format!(
                "{file}: the process did not end in order; its last second may be missing"
            ));
        }
        if self.dropped > 0 {
            notes.push(format!(
                "{file}: {} records were dropped because they came faster than they could be \
                 written; means may be off",
                self.dropped
            ));
        }
        if self.too_long {
            notes.push(format!("{file}: only the first {MOST_LINES} lines were read"));
        }
        notes
    }
}

enum Failure {
    Io(io::Error),
    Known(Error),
}

/// The header, and the bytes that it takes.
fn read_header(from: &mut impl Read, file: &Path) -> Result<(Header, u64), Failure> {
    let mut fixed = [0; 14];
    let known = |error| Failure::Known(error);
    let no_trace = || known(Error::NoTrace { file: file.to_owned() });
    let got = read_up_to(from, &mut fixed).map_err(Failure::Io)?;
    if !fixed[..got].starts_with(&MAGIC[..MAGIC.len().min(got)]) || got < MAGIC.len() {
        return Err(no_trace());
    }
    let damaged = |why: &str| known(Error::Header { file: file.to_owned(), why: why.to_owned() });
    if got < fixed.len() {
        return Err(damaged("it is cut"));
    }
    let version = u16::from_le_bytes([fixed[8], fixed[9]]);
    if version != VERSION {
        return Err(known(Error::Version { file: file.to_owned(), version }));
    }
    let length = u32::from_le_bytes([fixed[10], fixed[11], fixed[12], fixed[13]]);
    if length > LARGEST_HEADER {
        return Err(damaged("it is too long"));
    }
    let mut text = vec![0; length as usize];
    if read_up_to(from, &mut text).map_err(Failure::Io)? < text.len() {
        return Err(damaged("it is cut"));
    }
    let header: Header =
        serde_json::from_slice(&text).map_err(|error| damaged(&error.to_string()))?;
    if !header.processors.is_finite() || header.processors <= 0.0 {
        return Err(damaged("it has no number of processors"));
    }
    Ok((header, fixed.len() as u64 + u64::from(length)))
}

enum Block {
    /// The file is over.
    End,
    Whole {
        thread: u16,
        base_ns: u64,
    },
    /// The file ends within it, or its head is damaged; what there is of its records is in the
    /// buffer.
    Cut {
        head: Option<(u16, u64)>,
    },
}

fn read_block(from: &mut impl Read, block: &mut Vec<u8>) -> io::Result<Block> {
    let mut head = [0; crate::format::BLOCK_HEAD];
    block.clear();
    let got = read_up_to(from, &mut head)?;
    if got == 0 {
        return Ok(Block::End);
    }
    let mut bytes = Bytes(&head[..got]);
    let numbers = (|| {
        let length = u32::from_le_bytes(bytes.take()?);
        let thread = u16::from_le_bytes(bytes.take()?);
        Some((length, thread, u64::from_le_bytes(bytes.take()?)))
    })();
    let Some((length, thread, base_ns)) = numbers.filter(|(length, ..)| *length <= LARGEST_BLOCK)
    else {
        return Ok(Block::Cut { head: None });
    };
    // No more memory than bytes that are there.
    let got = from.by_ref().take(length.into()).read_to_end(block)?;
    Ok(match got == length as usize {
        true => Block::Whole { thread, base_ns },
        false => Block::Cut { head: Some((thread, base_ns)) },
    })
}

/// Fills a buffer as far as there are bytes.
fn read_up_to(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut got = 0;
    while got < buffer.len() {
        match from.read(&mut buffer[got..]) {
            Ok(0) => break,
            Ok(n) => got += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(got)
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::format::header::Role;
    use crate::format::record::Step;
    use crate::phase::{Outcome, Phase};
    use crate::write::thread::{empty_block, fill_head};
    use proptest::prelude::*;

    pub fn header(role: Role) -> Header {
        Header {
            role,
            pid: 7,
            host: "near".into(),
            boot: "boot".into(),
            machine: Default::default(),
            processors: 2.0,
            started_ns: 0,
            started_unix_ns: 1_000_000_000_000_000_000,
            cpu_every: 8,
            sample_ms: 100,
            pressure: false,
        }
    }

    pub fn lines(count: u64) -> Vec<Line> {
        let line = |number| Line {
            connection: number,
            request: 1,
            start_ns: 1_000 * number,
            measured: true,
            outcome: Outcome::Done,
            status: 200,
            context: None,
            steps: vec![Step { phase: Phase::Service, took_ns: 500, cpu_ns: 100 }],
        };
        (1..=count).map(line).collect()
    }

    /// The bytes of a file, with a block for every two lines.
    pub fn written(header: &Header, lines: &[Line]) -> Vec<u8> {
        let text = serde_json::to_vec(header).unwrap();
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&text);
        for two in lines.chunks(2) {
            let mut block = empty_block(64);
            two.iter().for_each(|line| Record::Line(line.clone()).write(&mut block, 77));
            fill_head(&mut block, 3, 77);
            bytes.extend_from_slice(&block);
        }
        bytes
    }

    fn read(bytes: &[u8]) -> Result<Process, Error> {
        Process::from_bytes(bytes, Path::new("x.trace"))
    }

    #[test]
    fn a_file_cut_at_any_byte_is_read_to_its_last_whole_record() {
        let header = header(Role::Gate);
        let bytes = written(&header, &lines(5));
        let whole = read(&bytes).unwrap();
        assert_eq!((whole.lines.len(), whole.cut_at), (5, None));
        assert_eq!(whole.lines[0].connection, 3 << 48 | 1);
        let after_header = written(&header, &[]).len();
        let mut most = 0;
        for cut in 0..bytes.len() {
            match read(&bytes[..cut]) {
                Err(error) => {
                    assert!(cut < after_header, "{cut}: {error}");
                    assert!(error.to_string().contains("x.trace"), "{error}");
                }
                Ok(process) => {
                    assert!(cut >= after_header);
                    assert!(process.lines.len() >= most && process.lines.len() < 5, "{cut}");
                    most = process.lines.len();
                    assert_eq!(process.lines[..], whole.lines[..most]);
                    let notes = process.notes().join("\n");
                    assert!(notes.contains("last whole record") || notes.contains("in order"));
                }
            }
        }
        assert_eq!(most, 4);
    }

    #[test]
    fn other_files_are_named_with_what_to_do() {
        let error = |bytes: &[u8]| read(bytes).unwrap_err().to_string();
        assert!(error(b"").contains("is no trace"));
        assert!(error(b"#!/bin/sh\nexit 0\n").contains("is no trace"));
        let mut newer = written(&header(Role::Gate), &[]);
        newer[8] = 9;
        assert!(error(&newer).contains("version 9"), "{}", error(&newer));
        let mut damaged = written(&header(Role::Gate), &[]);
        damaged[14] = b'x';
        assert!(error(&damaged).contains("header is damaged"));
        let missing = Process::read(Path::new("/nowhere/t")).unwrap_err().to_string();
        assert!(missing.contains("/nowhere/t: cannot be read"), "{missing}");
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(&bytes);
            let mut file = written(&header(Role::Gate), &[]);
            file.extend_from_slice(&bytes);
            let process = read(&file).unwrap();
            // Whatever it has can be worked with.
            let trace = crate::Trace { processes: vec![process] };
            trace.span_ns();
            trace.notes();
        }

        #[test]
        fn a_flipped_bit_panics_nothing(at: prop::sample::Index, bit in 0..8u8) {
            let mut bytes = written(&header(Role::Gate), &lines(6));
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            if let Ok(process) = read(&bytes) {
                let trace = crate::Trace { processes: vec![process] };
                crate::analysis::analyse(&trace);
            }
        }
    }
}
