//! File descriptors that are kept for the moment when no others are left: with one of them
//! a core can accept the connections that wait, to close them, rather than let them wait.

use std::io;
use std::os::unix::net::UnixDatagram;

/// How many a core keeps. One could be lost for as long as a connection lasts: while it is
/// free, another thread may take it.
pub const SPARE: usize = 8;

/// Spare descriptors.
#[derive(Debug, Default)]
pub struct Spare(Vec<UnixDatagram>);

impl Spare {
    /// Takes descriptors until there are enough, or no others are left.
    pub fn restore(&mut self) {
        while self.0.len() < SPARE {
            match UnixDatagram::unbound() {
                Ok(socket) => self.0.push(socket),
                Err(_) => return,
            }
        }
    }

    /// Calls `accept`, which closes what it accepts, while a descriptor is free, and takes
    /// one again.
    ///
    /// # Errors
    /// The error of `accept`, which finds no descriptor where there is no spare one.
    pub fn lend<T>(&mut self, accept: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        drop(self.0.pop());
        let accepted = accept();
        self.restore();
        accepted
    }
}

/// Whether `accept` failed because no file descriptor was left, in the process or in the
/// system.
pub fn is_out_of_files(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}
