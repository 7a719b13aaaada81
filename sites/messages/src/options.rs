//! Options of the message service.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::formats::Format;
use tidegate_sitekit::tls::Tls;

/// Options of the message service.
#[derive(Clone, Debug)]
pub struct Options {
    /// Address to listen on; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Format of the messages.
    pub format: Format,
    /// File of the server's keys; needed unless the format is [`Format::None`].
    pub keys: Option<PathBuf>,
    /// TLS of the connections; `None`: plain HTTP.
    pub tls: Option<Tls>,
    /// Processors to run on, one thread pinned to each; `None`: all that are allowed.
    pub cores: Option<Vec<usize>>,
}
