//! Why the upstream cannot be reached, or broke off, in words for the operator.

use std::error::Error;
use std::io;
use std::time::Duration;
use tidegate_config::show_duration;

/// Why there is no connection to the upstream.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Its name has no address.
    #[error("{host} does not resolve ({source})")]
    Resolve {
        /// The name.
        host: String,
        /// The resolver's error.
        source: io::Error,
    },
    /// It does not accept the connection.
    #[error("{address}: {source}")]
    Connect {
        /// The last address that was tried.
        address: String,
        /// The system's error.
        source: io::Error,
    },
    /// TLS failed.
    #[error("TLS with {address}: {source}")]
    Tls {
        /// The address.
        address: String,
        /// What failed.
        source: io::Error,
    },
    /// It was not open in time.
    #[error("{step}: nothing within upstream.connect_timeout = {}", show_duration(*.timeout))]
    Late {
        /// What was waited for.
        step: String,
        /// The time that it had.
        timeout: Duration,
    },
    /// The HTTP library does not begin on it.
    #[error("{0}")]
    Http(hyper::Error),
}

/// An error of an exchange with the upstream.
pub fn in_words(error: &hyper::Error) -> String {
    if error.is_incomplete_message() || error.is_canceled() || error.is_closed() {
        return "it closed the connection".into();
    }
    match error.source() {
        Some(cause) => format!("{error} ({cause})"),
        None => error.to_string(),
    }
}
