//! Pressure stall information: how long tasks waited for a resource.
//!
//! Source: kernel documentation, `accounting/psi`.

use crate::Files;
use std::path::Path;

/// Microseconds for which some task of the machine waited for a resource: `cpu`, `memory` or
/// `io`; `None` where the kernel does not report it.
pub fn of_machine(files: &Files, resource: &str) -> Option<u64> {
    parse(&files.read(format!("/proc/pressure/{resource}"))?)
}

/// The same for the control group with this folder below `/sys/fs/cgroup`, version 2.
pub fn of_group(files: &Files, folder: &Path, resource: &str) -> Option<u64> {
    parse(&files.read(folder.join(format!("{resource}.pressure")))?)
}

/// The total of the line `some avg10=0.00 avg60=0.00 avg300=0.00 total=0`.
fn parse(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("some "))?;
    line.split_whitespace().find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_of_some_is_read() {
        let text = "some avg10=1.53 avg60=0.87 avg300=0.24 total=4321\nfull avg10=0.00 total=9\n";
        assert_eq!(parse(text), Some(4321));
        for bad in ["", "full avg10=0 total=1", "some total=x", "some avg10=1"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
        assert_eq!(of_machine(&Files::new("/nowhere"), "cpu"), None);
    }
}
