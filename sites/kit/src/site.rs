//! A site that runs: its database, a server with a connection to it on each core, and its trace.

use std::net::SocketAddr;
use std::path::Path;

use tidegate_trace::Tracing;

use crate::Result;
use crate::database::{Database, Location};
use crate::server::{Server, Service, begin_trace, runtimes};

/// Where a site listens, and on what it runs.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Address to listen on; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The cores to run on, one runtime pinned to each; without, one runtime per processor that
    /// this process may use, not pinned.
    pub cores: Option<&'a [usize]>,
    /// File for a trace of what every connection does.
    pub trace: Option<&'a Path>,
}

/// A running site. `P` is its database as it was prepared.
#[derive(Debug)]
pub struct Site<P> {
    server: Server,
    prepared: P,
    tracing: Option<Tracing>,
}

impl<P> Site<P> {
    /// Starts a site on a database. `of_core` is asked for each core, by its number from 0 and with
    /// its connection to the database, how it makes its service; that is called on the core itself.
    ///
    /// # Errors
    /// Those of `of_core`; the trace cannot be written; the address is in use or not of this
    /// machine; a core does not exist.
    pub fn start<F: FnOnce() -> Service + Send + 'static>(
        place: Place<'_>,
        location: &Location,
        prepared: P,
        mut of_core: impl FnMut(&P, usize, Database) -> Result<F>,
    ) -> Result<Self> {
        let mut databases = Database::for_cores(location, runtimes(place.cores)?).into_iter();
        let tracing = place.trace.map(begin_trace).transpose()?;
        let handle = tracing.as_ref().map(Tracing::handle);
        let server = Server::start(place.listen, place.cores, handle.as_ref(), |core| {
            of_core(&prepared, core, databases.next().expect("one for each core"))
        })?;
        if let Some(handle) = handle {
            handle.watch_ports([server.address().port()]);
        }
        Ok(Self { server, prepared, tracing })
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Its database.
    pub fn prepared(&self) -> &P {
        &self.prepared
    }

    /// Stops accepting, waits for the requests in flight (at most 5 s), and returns when every core
    /// has stopped and the trace is written.
    pub fn shutdown(self) {
        self.server.shutdown();
        if let Some(tracing) = self.tracing {
            tracing::info!("{}", tracing.finish());
        }
    }
}
