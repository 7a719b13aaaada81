//! Each driver writes its own file of requests; at the end they are joined into one.

use std::io;
use std::path::{Path, PathBuf};

use tidegate_load::{join_lines, join_parquet};

use crate::exit::bad_input;

/// Joins files into one.
type Join = fn(&[PathBuf], &Path) -> io::Result<()>;

/// The files of all drivers of one run. They are removed when this is dropped.
pub struct Files {
    raw: Option<Joined>,
    parquet: Option<Joined>,
}

struct Joined {
    to: PathBuf,
    shards: Vec<PathBuf>,
    join: Join,
}

impl Files {
    /// Chooses the names of the drivers' files.
    ///
    /// # Errors
    /// Bad input: a target exists and is not a file.
    pub fn new(raw: Option<&Path>, parquet: Option<&Path>, drivers: u32) -> anyhow::Result<Self> {
        Ok(Self {
            raw: raw.map(|to| Joined::new("--raw", to, drivers, join_lines)).transpose()?,
            parquet: parquet
                .map(|to| Joined::new("--parquet", to, drivers, join_parquet))
                .transpose()?,
        })
    }

    /// The files of a driver (from 0): JSON lines and Parquet.
    pub fn of(&self, driver: usize) -> (Option<PathBuf>, Option<PathBuf>) {
        let shard = |joined: &Option<Joined>| joined.as_ref().map(|it| it.shards[driver].clone());
        (shard(&self.raw), shard(&self.parquet))
    }

    /// Joins the files; returns the errors. The Parquet files of lost drivers have no
    /// footer and are left out.
    pub fn join(&self, lost: &[usize]) -> Option<String> {
        let mut errors = Vec::new();
        for (joined, whole_only) in [(&self.raw, false), (&self.parquet, true)] {
            let Some(Joined { to, shards, join }) = joined else { continue };
            let left_out = |driver: usize, shard: &Path| {
                lost.contains(&driver) && (whole_only || !shard.exists())
            };
            let shards: Vec<PathBuf> = shards
                .iter()
                .enumerate()
                .filter(|(driver, shard)| !left_out(*driver, shard))
                .map(|(_, shard)| shard.clone())
                .collect();
            if let Err(error) = join(&shards, to) {
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
                "{flag} {}: with --drivers this must be a regular file, because the files of the drivers \
                 are joined into it; name one",
                to.display()
            )));
        }
        let name = to.file_name().unwrap_or_default().to_string_lossy();
        let own = std::process::id();
        let shard = |driver| to.with_file_name(format!(".{name}.driver-{driver}.{own}"));
        Ok(Self { to: to.to_owned(), shards: (1..=drivers).map(shard).collect(), join })
    }
}

impl Drop for Joined {
    fn drop(&mut self) {
        for shard in &self.shards {
            // It may not have been created.
            let _ = std::fs::remove_file(shard);
        }
    }
}
