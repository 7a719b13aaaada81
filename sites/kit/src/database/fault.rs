//! Cuts transactions off in their middle, for tests: what a crash of the process does.

use std::cell::Cell;
use std::time::Duration;

use super::{Error, Result};

thread_local! {
    static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
    static HIT: Cell<bool> = const { Cell::new(false) };
}

/// After so many statements in transactions of this thread, all further ones fail.
pub fn after(statements: usize) {
    LEFT.set(Some(statements));
    HIT.set(false);
}

/// Lets statements succeed again. Whether one has failed.
pub fn clear() -> bool {
    LEFT.set(None);
    HIT.take()
}

/// Called before each statement.
///
/// # Errors
/// It is one of those that fail.
pub fn statement() -> Result<()> {
    match LEFT.get() {
        None => Ok(()),
        Some(0) => {
            HIT.set(true);
            Err(Error::Silent(Duration::ZERO))
        }
        Some(left) => {
            LEFT.set(Some(left - 1));
            Ok(())
        }
    }
}
