//! The machine that the load generator runs on, as its results describe it.

use crate::result::driver::Machine;

/// Reads the description of this machine; texts are empty where the system does not
/// report them.
pub(crate) fn describe() -> Machine {
    let tidegate_host::Machine { cpu, cpus, kernel, .. } = tidegate_host::Machine::read();
    Machine { cpu, cpus, kernel }
}
