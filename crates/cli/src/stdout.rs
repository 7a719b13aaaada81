//! Standard output whose reader may close it early, such as `head` or a pager.

use std::fmt::Display;
use std::io::{self, Write};

/// Prints a text. If the reader has closed the pipe, the text is dropped and the command
/// goes on.
///
/// # Errors
/// When it cannot be written for another reason, such as a full disk.
pub fn print(text: impl Display) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    unless_closed(stdout.write_all(text.to_string().as_bytes()).and_then(|()| stdout.flush()))
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
