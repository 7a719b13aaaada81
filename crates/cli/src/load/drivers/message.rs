//! What the lead and its drivers say to each other: a line of JSON each, over the
//! drivers' standard input and output. The end of its input tells a driver to
//! stop, so none outlives its lead.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tidegate_load::{Part, Portion, Snapshot};

/// The first line to a driver.
#[derive(Debug, Serialize, Deserialize)]
pub struct Job {
    /// Its part of the test.
    pub part: Part,
    /// Which of the runs of `--repeat`, from 1.
    pub run: u32,
    /// Processors of its threads; empty for one thread that is not pinned.
    pub cores: Vec<usize>,
    /// Where it writes its requests, in place of what the flags say.
    pub raw: Option<PathBuf>,
    /// Likewise.
    pub parquet: Option<PathBuf>,
}

/// The second line to a driver: when all begin.
#[derive(Debug, Serialize, Deserialize)]
pub struct Start {
    /// Nanoseconds since 1970.
    pub at_unix_ns: u64,
}

/// What a driver says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// The target answers, and all is there for the start.
    Ready,
    /// How it stands.
    Stands(Box<Snapshot>),
    /// What it measured.
    Done(Box<Portion>),
    /// It cannot go on.
    Failed {
        /// Why.
        message: String,
        /// 2 for bad input, 3 for a run that failed.
        exit_code: u8,
    },
}
