//! How a study is run.

use std::path::PathBuf;

use tidegate_host::Cores;

/// How a study is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Folder of the results.
    pub out: PathBuf,
    /// Fewer levels and shorter windows.
    pub quick: bool,
    /// Continue a study that stopped.
    pub resume: bool,
    /// Seed of the order and of the customers' choices.
    pub seed: u64,
    /// Cores of service and gate.
    pub server_cores: Option<Cores>,
    /// Cores of the customers.
    pub driver_cores: Option<Cores>,
    /// Leave out message services on Java.
    pub without_java: bool,
}
