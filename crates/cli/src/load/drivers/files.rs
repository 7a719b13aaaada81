//! The files of requests that drivers write each for themselves, beside the one
//! that they become.

use std::io;
use std::path::{Path, PathBuf};

use tidegate_load::{join_lines, join_parquet};

use crate::exit::bad_input;

/// How files are joined.
type Join = fn(&[PathBuf], &Path) -> io::Result<()>;

/// The files of all drivers of one run. Those that are left are removed with it.
pub struct Files {
    raw: Option<Joined>,
    parquet: Option<Joined>,
}

struct Joined {
    to: PathBuf,
    parts: Vec<PathBuf>,
    join: Join,
}

impl Files {
    /// Names them.
    ///
    /// # Errors
    /// One is to be no file: bad input.
    pub fn new(raw: Option<&Path>, parquet: Option<&Path>, drivers: u32) -> anyhow::Result<Self> {
        Ok(Self {
            raw: raw.map(|to| Joined::new("--raw", to, drivers, join_lines)).transpose()?,
            parquet: parquet
                .map(|to| Joined::new("--parquet", to, drivers, join_parquet))
                .transpose()?,
        })
    }

    /// Those of a driver, from 0: of requests as lines, and as Parquet.
    pub fn of(&self, driver: usize) -> (Option<PathBuf>, Option<PathBuf>) {
        let part = |joined: &Option<Joined>| joined.as_ref().map(|it| it.parts[driver].clone());
        (part(&self.raw), part(&self.parquet))
    }

    /// Makes one of each; gives what went wrong. Drivers that were lost have not
    /// ended their files of Parquet: those are left out.
    pub fn join(&self, lost: &[usize]) -> Option<String> {
        let mut errors = Vec::new();
        for (joined, whole_only) in [(&self.raw, false), (&self.parquet, true)] {
            let Some(Joined { to, parts, join }) = joined else { continue };
            let left_out = |driver: usize, part: &Path| {
                lost.contains(&driver) && (whole_only || !part.exists())
            };
            let parts: Vec<PathBuf> = parts
                .iter()
                .enumerate()
                .filter(|(driver, part)| !left_out(*driver, part))
                .map(|(_, part)| part.clone())
                .collect();
            if let Err(error) = join(&parts, to) {
                errors.push(format!("{}: {error}", to.display()));
            }
        }
        (!errors.is_empty()).then(|| errors.join("; "))
    }
}

impl Joined {
    fn new(flag: &str, to: &Path, drivers: u32, join: Join) -> anyhow::Result<Self> {
        if to.exists() && !to.is_file() {
            return Err(bad_input(format!(
                "{flag} {}: with --drivers it must be a file, into which those of the drivers are \
                 joined; name one",
                to.display()
            )));
        }
        let name = to.file_name().unwrap_or_default().to_string_lossy();
        let own = std::process::id();
        let part = |driver| to.with_file_name(format!(".{name}.driver-{driver}.{own}"));
        Ok(Self { to: to.to_owned(), parts: (1..=drivers).map(part).collect(), join })
    }
}

impl Drop for Joined {
    fn drop(&mut self) {
        for part in &self.parts {
            // One that was never made is not there.
            let _ = std::fs::remove_file(part);
        }
    }
}
