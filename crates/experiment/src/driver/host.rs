//! Readings of the machine during a run, a line per second.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use tidegate_host::{Cores, Files, IdleTimes};

use crate::system::CpuSeconds;
use crate::{Error, Result};

/// `host.csv` of a run.
pub(super) struct HostReadings {
    path: PathBuf,
    file: BufWriter<File>,
    error: Option<std::io::Error>,
    files: Files,
    idle: IdleTimes,
    cores: BTreeSet<usize>,
    /// Sum of the idle shares of the measured seconds, and their number.
    measured: (f64, u32),
}

const COLUMNS: &str =
    "at_s,service_cpu_s,gate_cpu_s,memory_bytes,cores_busy,cpu_pressure_avg10,load1";

impl HostReadings {
    /// # Errors
    /// The file cannot be created.
    pub(super) fn create(path: &Path, cores: &Cores) -> Result<Self> {
        let file = File::create(path)
            .map_err(|error| Error::Machine(format!("cannot write {}: {error}", path.display())))?;
        let files = Files::new("/");
        let mut idle = IdleTimes::default();
        idle.update(&files);
        let mut readings = Self {
            path: path.to_owned(),
            file: BufWriter::new(file),
            error: None,
            files,
            idle,
            cores: cores.list().iter().copied().collect(),
            measured: (0.0, 0),
        };
        readings.line(COLUMNS);
        Ok(readings)
    }

    /// The share of the measured time in which the cores were idle; none where the kernel does
    /// not report it.
    pub(super) fn idle(&self) -> Option<f64> {
        let (sum, count) = self.measured;
        (count > 0).then(|| sum / f64::from(count))
    }

    /// Adds a second, of the measured window or of the warm-up.
    pub(super) fn add(&mut self, at_s: f64, measured: bool, cpu: CpuSeconds, memory: u64) {
        self.idle.update(&self.files);
        if let Some(idle) = self.idle.share(&self.cores).filter(|_| measured) {
            self.measured = (self.measured.0 + idle, self.measured.1 + 1);
        }
        let number =
            |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.3}"));
        let busy = number(self.idle.share(&self.cores).map(|idle| 1.0 - idle));
        let pressure =
            number(self.files.read("/proc/pressure/cpu").and_then(|text| pressure(&text)));
        let load = number(self.files.read("/proc/loadavg").and_then(|text| first(&text)));
        let CpuSeconds { service, gate, .. } = cpu;
        self.line(&format!("{at_s:.3},{service:.3},{gate:.3},{memory},{busy},{pressure},{load}"));
    }

    fn line(&mut self, line: &str) {
        if self.error.is_none() {
            self.error = self.file.write_all(format!("{line}\r\n").as_bytes()).err();
        }
    }

    /// # Errors
    /// A line could not be written.
    pub(super) fn finish(&mut self) -> Result<()> {
        let error = self.error.take().or_else(|| self.file.flush().err());
        error.map_or(Ok(()), |error| Err(cannot_write(&self.path, &error)))
    }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Error {
    Error::Machine(format!(
        "cannot write {}: {error}; make room and continue with --resume",
        path.display()
    ))
}

/// `some avg10=1.23 avg60=…` in the text of `/proc/pressure/cpu`.
/// Source: kernel documentation, `accounting/psi`.
fn pressure(text: &str) -> Option<f64> {
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    some.split(' ').find_map(|field| field.strip_prefix("avg10="))?.parse().ok()
}

fn first(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_are_a_line_per_second_under_their_columns() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("host.csv");
        let cores = Cores::of_this_thread().unwrap();
        let mut readings = HostReadings::create(&path, &cores).unwrap();
        readings.add(
            1.0,
            true,
            CpuSeconds { service: 0.5, gate: 0.25, ..CpuSeconds::default() },
            4096,
        );
        readings.finish().unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[1].split(',').count(), COLUMNS.split(',').count());
        assert!(lines[1].starts_with("1.000,0.500,0.250,4096,"), "{text}");
        assert_eq!(pressure("some avg10=1.50 avg60=0 avg300=0 total=1\nfull x"), Some(1.5));
        assert_eq!(pressure("full avg10=1"), None);
    }

    #[test]
    fn a_full_disk_is_an_error_at_the_end() {
        let cores = Cores::of_this_thread().unwrap();
        let mut readings = HostReadings::create(Path::new("/dev/full"), &cores).unwrap();
        readings.add(1.0, false, CpuSeconds::default(), 0);
        assert_eq!(readings.idle(), None);
        let error = readings.finish().unwrap_err().to_string();
        assert!(error.contains("No space left") && error.contains("--resume"), "{error}");
    }
}
