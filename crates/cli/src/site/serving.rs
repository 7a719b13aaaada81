//! Runs a site until SIGTERM or SIGINT.

use tidegate_lab::READY;

use crate::signals::Signals;
use crate::stdout::print;

/// Prints these lines and that the site is ready, and waits for SIGTERM or SIGINT.
pub(super) fn until_signalled(lines: String) -> anyhow::Result<()> {
    let mut signals = Signals::catch()?;
    print(lines + READY + "\n")?;
    signals.wait();
    Ok(())
}
