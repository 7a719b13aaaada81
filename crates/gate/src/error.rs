//! Why the gate does not start or stops.

use std::net::SocketAddr;

/// Why the gate could not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operator's: an address cannot be listened on.
    #[error("cannot listen on {address}: {source}{}", remedy(.source))]
    Listen {
        /// The configured address.
        address: SocketAddr,
        /// The system's error.
        source: std::io::Error,
    },
    /// The operator's: a core that does not exist or is not allowed.
    #[error("cannot work on core {core}: {source}; see `listen.cores`")]
    Core {
        /// The kernel's number of the core.
        core: usize,
        /// The system's error.
        source: std::io::Error,
    },
    /// The operator's: certificate and key cannot be used.
    #[error("the certificate or its key cannot be used: {0}")]
    Certificate(#[from] rustls::Error),
    /// No self-signed certificate could be made.
    #[error(transparent)]
    SelfSigned(#[from] crate::config::selfsigned::Error),
    /// The operator's: the roots to trust an upstream by.
    #[error("no certificate authority to trust https upstreams by: {0}")]
    Roots(String),
    /// The operator's: the admin address cannot be used.
    #[error(transparent)]
    Admin(#[from] crate::telemetry::admin::Error),
    /// The operator's: the trace cannot be written.
    #[error(transparent)]
    Trace(#[from] tidegate_trace::StartError),
    /// The operator's: the access log cannot be written.
    #[error("{0}")]
    AccessLog(String),
    /// The operator's: the file of the ticket keys cannot be used.
    #[error("{0}")]
    TicketKeys(crate::config::Mistake),
    /// The gate in service, or the service manager, did not hand over what this one needs.
    #[error("{0}")]
    Handover(String),
    /// The operator's: the upstream is the gate itself.
    #[error("upstream.url = \"{upstream}\": is the gate's own address; name the service's port")]
    ProxiesToItself {
        /// The upstream's URL.
        upstream: String,
    },
    /// Ours: a part failed without which the gate does not work.
    #[error("the gate cannot go on: {part} {reason}")]
    Failed {
        /// The part.
        part: &'static str,
        /// How it ended.
        reason: String,
    },
    /// The system's: a thread or its runtime could not be started.
    #[error("cannot start {what}: {source}")]
    System {
        /// What could not be started.
        what: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
}

fn remedy(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::AddrInUse => {
            "; another process has it: stop that or choose another port"
        }
        std::io::ErrorKind::PermissionDenied => {
            "; ports below 1024 need CAP_NET_BIND_SERVICE: grant it or choose another port"
        }
        std::io::ErrorKind::AddrNotAvailable => "; no interface of this machine has that address",
        _ => "",
    }
}
