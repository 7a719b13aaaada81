//! The log of a tier, on standard error: each line says of which tier it is.

use std::io::{self, Write};

use tracing::Level;

/// Begins the log of this process.
pub fn begin(tier: &'static str, level: Level) {
    let ansi = io::IsTerminal::is_terminal(&io::stderr());
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_target(false)
        .with_ansi(ansi)
        .with_writer(move || Named(tier))
        .init();
}

/// Standard error, with a name before what is written. A line is written whole.
struct Named(&'static str);

impl Write for Named {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let line = [self.0.as_bytes(), b": ", bytes].concat();
        io::stderr().lock().write_all(&line)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
