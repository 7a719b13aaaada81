//! Errors of a run.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tidegate_config::Mistakes;

/// Reasons why a run has no summary. Failures of single customers are counted, not errors.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The scenario is wrong.
    #[error("{0}")]
    Scenario(#[from] Mistakes),
    /// The target is not a valid URL.
    #[error("target {target}: {reason}; write it as https://host[:port]")]
    Target {
        /// The target as given.
        target: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A value of the plan is out of range.
    #[error("{key}: {rule}; {remedy}")]
    Plan {
        /// Field of the plan.
        key: &'static str,
        /// What was found and the rule it breaks.
        rule: String,
        /// What to do instead.
        remedy: &'static str,
    },
    /// The trace cannot be written.
    #[error(transparent)]
    Trace(#[from] tidegate_trace::StartError),
    /// The target does not respond.
    #[error("{target} cannot be reached: {reason}; is the service running and is the port right?")]
    Unreachable {
        /// The target as given.
        target: String,
        /// What the attempt to connect gave.
        reason: String,
    },
    /// The name of the target has no address.
    #[error(
        "{target}: its name does not resolve: {reason}; check the host, or give its address with \
         --resolve"
    )]
    Unresolved {
        /// The target as given.
        target: String,
        /// Error of the resolver.
        reason: String,
    },
    /// The target answers, but TLS with it is not possible.
    #[error("{target}: TLS failed: {reason}; {remedy}")]
    Tls {
        /// The target as given.
        target: String,
        /// Error of rustls.
        reason: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The target answers, but not in HTTP/2.
    #[error("{target}: no HTTP/2: {reason}; check whether it is enabled there, or use HTTP/1.1")]
    Http {
        /// The target as given.
        target: String,
        /// What it does instead.
        reason: String,
    },
    /// A file could not be read or created.
    #[error("{}: {source}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// A system call failed.
    #[error("{what}: {source}")]
    System {
        /// What was requested.
        what: &'static str,
        /// Error of the system.
        source: io::Error,
    },
    /// The instant of the common start has passed before everything was ready.
    #[error(
        "the common start was {:.1} s ago when this load generator was ready; choose a later start \
         for all shards", _0.as_secs_f64()
    )]
    Late(Duration),
    /// A load generator thread failed.
    #[error("a load generator thread failed: {0}")]
    Driver(String),
}

impl Error {
    /// The exit code for a program that stops with this error: 2 for bad
    /// input, 3 for a run that failed.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Scenario(_)
            | Self::Target { .. }
            | Self::Plan { .. }
            | Self::File { .. }
            | Self::Trace(_) => 2,
            Self::Unreachable { .. }
            | Self::Unresolved { .. }
            | Self::Tls { .. }
            | Self::Http { .. }
            | Self::System { .. }
            | Self::Late(_)
            | Self::Driver(_) => 3,
        }
    }
}
