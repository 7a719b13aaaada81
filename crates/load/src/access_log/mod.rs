//! Access logs of web servers: common and combined format, and JSON lines; plain or compressed with
//! gzip. Several files are read together, in the order of their times.
//!
//! A log is hostile input: lines are bounded, and of a log of any length one line per file is kept.

mod common;
mod json;
mod lines;
mod reading;
pub(crate) mod time;

use std::collections::BTreeSet;
use std::io::Read;
use std::path::PathBuf;

use tidegate_config::{one_line, without_mark};

pub use reading::{Format, Keys, Reading, SessionField};

use lines::{Line, Lines};

/// Broken lines that are told one by one.
const TOLD: usize = 5;
/// Lines of a log after which it is judged for the first time.
const FIRST_LOOK: u64 = 10_000;
/// Longest excerpt of a broken line, in characters.
const EXCERPT: usize = 120;
/// Most files that are read together.
const MOST_FILES: usize = 1000;

/// A request of a log.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// When, in seconds since 1970.
    pub time: f64,
    /// The address of the client.
    pub client: String,
    /// The user agent; empty where the log does not say it.
    pub agent: String,
    /// What was requested; `None` of what was no request, such as a port scan.
    pub request: Option<Request>,
    /// Status of the answer.
    pub status: u16,
    /// The value that names the session, where the log has one.
    pub session: Option<String>,
}

/// What was requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The method in capitals.
    pub method: String,
    /// Path and query, beginning with `/`.
    pub target: String,
}

impl Request {
    /// Of method and target; `None` of what cannot be a request of a page.
    fn of(method: &str, target: &str) -> Option<Self> {
        let known =
            (1..=20).contains(&method.len()) && method.bytes().all(|b| b.is_ascii_alphabetic());
        // A whole address, as proxies log it.
        let path = match target.split_once("://") {
            Some((scheme, rest)) if scheme.bytes().all(|b| b.is_ascii_alphanumeric()) => {
                rest.find('/').map_or("/", |at| &rest[at..])
            }
            _ => target,
        };
        let request = || Self { method: method.to_ascii_uppercase(), target: path.to_owned() };
        (known && path.starts_with('/')).then(request)
    }

    /// Of a request line: method, target and version.
    fn of_line(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        Self::of(words.next()?, words.next()?)
    }
}

/// Lines that were read, and what was wrong with some.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineCounts {
    /// Lines that are not empty.
    pub lines: u64,
    /// Lines that could not be read.
    pub broken: u64,
    /// The first of these: where, and why.
    pub told: Vec<String>,
}

/// Access logs, as one in the order of their times.
pub struct AccessLog {
    reading: Reading,
    files: Vec<LogFile>,
    /// The files with another entry, by its time and their place.
    next: BTreeSet<(Moment, usize)>,
    counts: LineCounts,
}

struct LogFile {
    name: String,
    lines: Lines,
    format: Option<Format>,
    /// The next entry.
    entry: Option<Entry>,
    lines_read: u64,
    broken: u64,
    /// The first line that is broken.
    excerpt: String,
}

/// A time that can be sorted.
#[derive(Clone, Copy, PartialEq)]
struct Moment(f64);

impl Eq for Moment {}

impl PartialOrd for Moment {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Moment {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl AccessLog {
    /// Opens files; `-` is the standard input.
    ///
    /// # Errors
    /// One cannot be read, or is no log; in words.
    pub fn open(files: &[PathBuf], reading: Reading) -> Result<Self, String> {
        if files.len() > MOST_FILES {
            return Err(format!(
                "{} files are too many to read together, at most {MOST_FILES}; join some",
                files.len()
            ));
        }
        let opened = files.iter().map(|path| {
            let name = path.display().to_string();
            let lines = Lines::open(path).map_err(|error| unreadable(&name, &error))?;
            Ok(LogFile::new(name, lines))
        });
        Self::begin(opened.collect::<Result<_, String>>()?, reading)
    }

    /// The same of bytes.
    ///
    /// # Errors
    /// As [`AccessLog::open`].
    pub fn of_bytes(name: &str, bytes: Box<dyn Read>, reading: Reading) -> Result<Self, String> {
        let lines = Lines::of(bytes).map_err(|error| unreadable(name, &error))?;
        Self::begin(vec![LogFile::new(name.to_owned(), lines)], reading)
    }

    fn begin(files: Vec<LogFile>, reading: Reading) -> Result<Self, String> {
        let mut log = Self { reading, files, next: BTreeSet::new(), counts: LineCounts::default() };
        (0..log.files.len()).try_for_each(|at| log.advance(at))?;
        Ok(log)
    }

    /// Lines so far.
    pub fn line_counts(&self) -> &LineCounts {
        &self.counts
    }

    /// The next entry; `None` at the end.
    ///
    /// # Errors
    /// A file cannot be read on, or more than half of its lines are broken.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, String> {
        let Some((_, at)) = self.next.pop_first() else { return Ok(None) };
        let entry = self.files[at].entry.take();
        self.advance(at)?;
        Ok(entry)
    }

    /// Reads on in a file up to its next entry.
    fn advance(&mut self, at: usize) -> Result<(), String> {
        let (file, reading) = (&mut self.files[at], &self.reading);
        loop {
            if file.lines_read == FIRST_LOOK {
                file.judge()?;
            }
            let next = file.lines.next().map_err(|error| unreadable(&file.name, &error))?;
            let Some((number, line)) = next else { return file.judge() };
            let (text, read) = match line {
                Line::TooLong => {
                    let rule = format!("is longer than {} KiB", lines::LONGEST >> 10);
                    (String::new(), Err(rule))
                }
                Line::Bytes(bytes) => {
                    let bytes = if number == 1 { without_mark(bytes) } else { bytes };
                    let text = &String::from_utf8_lossy(bytes);
                    if text.trim().is_empty() {
                        continue;
                    }
                    let format = *file
                        .format
                        .get_or_insert_with(|| reading.format.unwrap_or_else(|| Format::of(text)));
                    let session = reading.session.as_ref();
                    let read = match format {
                        Format::Combined => common::read(text, session),
                        Format::Json => json::read(text, &reading.keys, session),
                    };
                    (if read.is_err() { excerpt(text) } else { String::new() }, read)
                }
            };
            file.lines_read += 1;
            self.counts.lines += 1;
            match read {
                Ok(entry) => {
                    self.next.insert((Moment(entry.time), at));
                    file.entry = Some(entry);
                    return Ok(());
                }
                Err(rule) => {
                    self.counts.broken += 1;
                    if self.counts.told.len() < TOLD {
                        self.counts.told.push(format!(
                            "{}:{number}: {}",
                            file.name,
                            excerpt(&rule)
                        ));
                    }
                    if file.broken == 0 {
                        file.excerpt = text;
                    }
                    file.broken += 1;
                }
            }
        }
    }
}

impl LogFile {
    fn new(name: String, lines: Lines) -> Self {
        let (format, entry, excerpt) = (None, None, String::new());
        Self { name, lines, format, entry, lines_read: 0, broken: 0, excerpt }
    }

    /// # Errors
    /// More than half of the lines are broken.
    fn judge(&self) -> Result<(), String> {
        if 2 * self.broken <= self.lines_read {
            return Ok(());
        }
        let format = self.format.unwrap_or(Format::Combined);
        Err(format!(
            "{}: {} of {} lines cannot be read. They look like: {}. Expected is {}. Name another format with --format, or keys of JSON with --keys",
            self.name,
            self.broken,
            self.lines_read,
            self.excerpt,
            format.words()
        ))
    }
}

/// The begin of a text, fit for a message.
fn excerpt(text: &str) -> String {
    let begin: String = text.chars().take(EXCERPT).collect();
    one_line(&begin)
}

fn unreadable(name: &str, error: &std::io::Error) -> String {
    format!("{name}: cannot be read: {error}; name a log that can be read")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn log(text: &str) -> Result<AccessLog, String> {
        let bytes = Box::new(std::io::Cursor::new(text.as_bytes().to_vec()));
        AccessLog::of_bytes("access.log", bytes, Reading::default())
    }

    fn all(mut log: AccessLog) -> (Vec<Entry>, LineCounts) {
        let mut entries = Vec::new();
        while let Some(entry) = log.next_entry().unwrap() {
            entries.push(entry);
        }
        (entries, log.line_counts().clone())
    }

    fn line(second: u32, path: &str) -> String {
        format!("a - - [10/Oct/2000:13:55:{second:02} +0000] \"GET {path} HTTP/1.1\" 200 1\n")
    }

    #[test]
    fn broken_lines_are_counted_and_the_first_told_with_number_and_reason() {
        let text =
            format!("\u{feff}{}\nnonsense\n{}{}", line(1, "/a"), line(2, "/b"), line(3, "/c"));
        let (entries, counts) = all(log(&text).unwrap());
        assert_eq!(entries.len(), 3);
        assert_eq!((counts.lines, counts.broken), (4, 1));
        assert_eq!(counts.told, ["access.log:3: has no time in brackets"]);
    }

    #[test]
    fn a_file_that_is_no_log_says_what_it_looks_like_and_what_was_expected() {
        let error = log("<html>\n<body>\n").err().unwrap();
        for expected in ["access.log: 2 of 2 lines", "look like: <html>", "combined format: 10.0"] {
            assert!(error.contains(expected), "{error}");
        }
        let error = log("{\"a\":1}\n").err().unwrap();
        assert!(error.contains("Expected is JSON"), "{error}");
        // A log without an end is not read to it.
        let endless = std::io::repeat(b'\n').take(1).chain(std::io::repeat(b'x'));
        let endless = endless.take(1 << 24);
        let mut log = AccessLog::of_bytes("x", Box::new(endless), Reading::default());
        assert!(log.as_mut().err().unwrap().contains("1 of 1 lines"), "one long line");
        let lines = "nonsense\n".repeat(20_000);
        log = self::log(&lines);
        assert!(log.err().unwrap().contains("10000 of 10000 lines"));
    }

    #[test]
    fn several_files_are_read_in_the_order_of_their_times() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, seconds: &[u32]| {
            let text: String = seconds.iter().map(|at| line(*at, &format!("/{at}"))).collect();
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        // Rotated files newest first, and one of a second server.
        let files =
            [file("a", &[30, 40]), file("b", &[10, 20]), file("c", &[15, 35]), file("d", &[])];
        let (entries, _) = all(AccessLog::open(&files, Reading::default()).unwrap());
        let paths: Vec<_> = entries.into_iter().map(|it| it.request.unwrap().target).collect();
        assert_eq!(paths, ["/10", "/15", "/20", "/30", "/35", "/40"]);
        let none = AccessLog::open(&[folder.path().join("none")], Reading::default());
        assert!(none.err().unwrap().contains("none: cannot be read"));
    }

    #[test]
    fn requests_are_paths_also_where_proxies_log_whole_addresses() {
        let target = |line: &str| Request::of_line(line).map(|it| it.target);
        assert_eq!(target("GET /a?u=http://b/ HTTP/1.1").as_deref(), Some("/a?u=http://b/"));
        assert_eq!(target("GET http://shop/a HTTP/1.1").as_deref(), Some("/a"));
        assert_eq!(target("GET https://shop HTTP/1.1").as_deref(), Some("/"));
        for none in ["", "-", "\\x16\\x03\\x01", "CONNECT a:443 HTTP/1.1", "OPTIONS * HTTP/1.1"] {
            assert_eq!(target(none), None, "{none}");
        }
    }

    #[test]
    fn fields_and_keys_that_cannot_be_are_refused() {
        assert!("".parse::<SessionField>().is_err() && "10:".parse::<SessionField>().is_err());
        let error = "when=ts".parse::<Keys>().unwrap_err();
        assert!(error.contains("when is no field; use time"), "{error}");
        assert!("time".parse::<Keys>().is_err() && "time=".parse::<Keys>().is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_strange(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            for format in [None, Some(Format::Json), Some(Format::Combined)] {
                let reading = Reading {
                    format,
                    session: Some("3:sid".parse().unwrap()),
                    ..Reading::default()
                };
                let bytes = Box::new(std::io::Cursor::new(bytes.clone()));
                if let Ok(mut log) = AccessLog::of_bytes("x", bytes, reading) {
                    while let Ok(Some(entry)) = log.next_entry() {
                        prop_assert!(entry.time.is_finite());
                    }
                }
            }
        }

        #[test]
        fn what_is_written_reads_back(
            second in 0..60u32, path in "/[a-z0-9?=&%._-]{0,30}", agent in "[a-zA-Z0-9/.() ;]{1,40}",
            status in 100..600u16, client in "[0-9a-f:.]{1,20}",
        ) {
            let text = format!(
                "{client} - - [10/Oct/2000:13:55:{second:02} +0000] \"GET {path} HTTP/1.1\" {status} 1 \"-\" \"{agent}\"\n"
            );
            let json = serde_json::json!({
                "time": format!("2000-10-10T13:55:{second:02}Z"), "ip": client, "method": "GET",
                "path": path, "status": status, "agent": agent,
            });
            let (entries, _) = all(log(&text).unwrap());
            let (same, _) = all(log(&json.to_string()).unwrap());
            prop_assert_eq!(entries[0].request.as_ref().map(|it| it.target.as_str()), Some(path.as_str()));
            prop_assert_eq!((&entries[0].client, &entries[0].agent, entries[0].status), (&client, &agent, status));
            prop_assert_eq!(entries, same);
        }
    }
}
