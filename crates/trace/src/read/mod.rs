//! Reads files, as far as they are whole, and puts those of one machine on one clock.

mod file;

pub use file::{Error, MOST_LINES, Process};

use std::path::Path;

/// The files of the processes of one machine.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// In the order of their roles, from the customer inwards.
    pub processes: Vec<Process>,
}

impl Trace {
    /// Reads files.
    ///
    /// # Errors
    /// A file cannot be read, is no trace or one of another version, or two are of different
    /// machines or of different boots of one.
    pub fn read(files: &[impl AsRef<Path>]) -> Result<Self, Error> {
        let read = files.iter().map(|file| Process::read(file.as_ref()));
        Self::of(read.collect::<Result<_, _>>()?)
    }

    /// Puts processes together.
    ///
    /// # Errors
    /// Two are of different machines or boots.
    pub fn of(mut processes: Vec<Process>) -> Result<Self, Error> {
        if let Some((first, rest)) = processes.split_first()
            && let Some(other) = rest.iter().find(|other| other.header.boot != first.header.boot)
        {
            return Err(Error::OtherMachine {
                file: other.file.clone(),
                machine: other.header.host.clone(),
                first: first.file.clone(),
                first_machine: first.header.host.clone(),
            });
        }
        processes.sort_by_key(|process| process.header.role);
        Ok(Self { processes })
    }

    /// The first and the last time of any record, nanoseconds of the monotonic clock; `None`
    /// without records.
    pub fn span_ns(&self) -> Option<(u64, u64)> {
        let spans = self.processes.iter().filter_map(Process::span_ns);
        spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }

    /// What a reader has to know of files that are not whole.
    pub fn notes(&self) -> Vec<String> {
        self.processes.iter().flat_map(Process::notes).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::file::tests::{header, lines, written};
    use super::*;
    use crate::format::header::Role;

    #[test]
    fn files_of_different_machines_are_refused_with_both_names() {
        let mut other = header(Role::Load);
        (other.boot, other.host) = ("other".into(), "far".into());
        let read = |header, name: &str| {
            Process::from_bytes(&written(&header, &lines(3)), Path::new(name)).unwrap()
        };
        let both = vec![read(header(Role::Gate), "a.trace"), read(other, "b.trace")];
        let error = Trace::of(both).unwrap_err().to_string();
        for part in ["b.trace", "far", "a.trace", "near", "one machine"] {
            assert!(error.contains(part), "{error}");
        }
        let same = vec![read(header(Role::Site), "a"), read(header(Role::Load), "b")];
        let trace = Trace::of(same).unwrap();
        assert_eq!(trace.processes[0].header.role, Role::Load, "from the customer inwards");
        assert!(trace.span_ns().is_some());
    }
}
