//! How many connections the limit on open files allows.

/// The customer's socket, and one to the upstream while a request runs.
const PER_CONNECTION: u64 = 2;
/// Two listeners, the runtime, spare ones.
const PER_CORE: u64 = 16;
/// The admin pages, the control loop, logs, name resolution.
const BESIDES: u64 = 128;

/// Open files that a gate with so many cores needs for so many connections.
pub fn needed(connections: usize, cores: usize) -> u64 {
    let connections = (connections as u64).saturating_mul(PER_CONNECTION);
    connections.saturating_add(besides(cores))
}

/// Connections for which so many open files suffice; one at least.
pub fn connections_within(files: u64, cores: usize) -> usize {
    let connections = files.saturating_sub(besides(cores)) / PER_CONNECTION;
    usize::try_from(connections).unwrap_or(usize::MAX).max(1)
}

fn besides(cores: usize) -> u64 {
    BESIDES + PER_CORE * cores as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_connections_fit_as_their_files_do() {
        assert_eq!(needed(20_000, 4), 40_192);
        assert_eq!(connections_within(40_192, 4), 20_000);
        assert_eq!(connections_within(1_024, 2), 432);
        assert_eq!(connections_within(64, 2), 1, "it serves one at a time");
        for files in 200..300 {
            assert!(needed(connections_within(files, 4), 4) <= files, "{files}");
        }
        assert!(connections_within(u64::MAX, 1) > 10_000_000);
    }
}
