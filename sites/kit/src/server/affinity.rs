//! The processors that a thread may use.

use tidegate_host::Cores;

use crate::{Error, Result};

/// The processors that the calling thread may use, ascending.
pub fn available_cores() -> Vec<usize> {
    match Cores::of_this_thread() {
        Ok(cores) => cores.list().to_vec(),
        Err(_) => (0..std::thread::available_parallelism().map_or(1, usize::from)).collect(),
    }
}

/// Binds the calling thread, and the threads that it starts later, to one core.
///
/// # Errors
/// There is no such core, or this process may not use it.
pub(super) fn pin(core: usize) -> Result<()> {
    Cores::one(core).and_then(|cores| cores.pin_this_thread()).map_err(|_| refused(core))
}

fn refused(core: usize) -> Error {
    let usable = available_cores().iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    Error::Operator(format!(
        "cores: there is no core {core} to run on; this process may use {usable}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_that_does_not_exist_is_named_with_those_that_do() {
        let error = pin(1_000_000).unwrap_err().to_string();
        assert!(error.contains("1000000") && error.contains("may use 0"), "{error}");
    }

    #[test]
    fn a_pinned_thread_sees_one_core() {
        let last = *available_cores().last().unwrap();
        std::thread::spawn(move || {
            pin(last).unwrap();
            assert_eq!(available_cores(), [last]);
        })
        .join()
        .unwrap();
    }
}
