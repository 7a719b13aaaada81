//! Standard output whose reader may close it early, such as `head` or a pager.

use std::fmt::Display;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Standard output is for a result, and everything else goes to standard error.
static FOR_RESULT: AtomicBool = AtomicBool::new(false);

/// Prints a text. If the reader has closed the pipe, the text is dropped and the command
/// goes on.
///
/// # Errors
/// When it cannot be written for another reason, such as a full disk.
pub fn print(text: impl Display) -> io::Result<()> {
    if is_for_result() {
        return write(&mut io::stderr().lock(), text);
    }
    write(&mut io::stdout().lock(), text)
}

/// Leaves standard output to a result: what is printed from now on goes to standard error.
pub fn leave_to_result() {
    FOR_RESULT.store(true, Ordering::Relaxed);
}

/// Whether standard output is for a result.
pub fn is_for_result() -> bool {
    FOR_RESULT.load(Ordering::Relaxed)
}

/// Prints a result to standard output.
///
/// # Errors
/// As [`print()`].
pub fn print_result(text: impl Display) -> io::Result<()> {
    write(&mut io::stdout().lock(), text)
}

fn write(out: &mut impl Write, text: impl Display) -> io::Result<()> {
    unless_closed(out.write_all(text.to_string().as_bytes()).and_then(|()| out.flush()))
}

fn unless_closed(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_pipe_is_no_failure_and_a_full_disk_is_one() {
        let failed = |kind: io::ErrorKind| unless_closed(Err(kind.into()));
        assert!(failed(io::ErrorKind::BrokenPipe).is_ok());
        assert!(failed(io::ErrorKind::StorageFull).is_err());
    }
}
