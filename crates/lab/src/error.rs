//! Mistakes of the operator.

use std::fmt;

/// A mistake in what the operator gave: flags, files, processors, programs. Binaries map it
/// to exit code 2; every other error is a run that failed.
#[derive(Debug)]
pub struct BadInput(pub String);

impl fmt::Display for BadInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadInput {}
