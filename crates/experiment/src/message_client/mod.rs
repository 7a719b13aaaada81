//! Clients of the message services: our own, and one on Java. They send series of requests without
//! pauses.

mod client;
mod connection;
mod java;
mod series;

use tidegate_load::Stop;

use crate::{Error, Result};
pub(crate) use client::Client;
use client::Sent;
pub(crate) use java::JavaClient;
use series::Sample;
pub(crate) use series::{Kind, Series, courses, figures, kinds};

/// A client for a service that runs.
pub(crate) enum Clients {
    Own(Vec<Client>),
    Java(JavaClient),
}

impl Clients {
    /// Sends the requests of a series, over all clients: their samples, which take turns, and the
    /// CPU seconds of the clients' threads.
    ///
    /// # Errors
    /// An answer is missing, late, refused or wrong; the run was stopped.
    pub(crate) fn send(&mut self, kind: Kind, stop: &Stop) -> Result<(Vec<Sample>, f64)> {
        let clients = match self {
            Self::Java(java) => return java.send(kind, stop),
            Self::Own(clients) => &mut clients[..kind.clients],
        };
        let each = kind.requests.div_ceil(kind.clients);
        let sent: Vec<Sent> = std::thread::scope(|scope| {
            let threads: Vec<_> = clients
                .iter_mut()
                .map(|client| scope.spawn(move || client.send(each, kind, stop)))
                .collect();
            let joined = threads.into_iter().map(|thread| {
                thread.join().unwrap_or_else(|_| Err(Error::Internal("a client panicked".into())))
            });
            joined.collect::<Result<_>>()
        })?;
        let cpu_s = sent.iter().map(|it| it.cpu.as_secs_f64()).sum();
        let turn = |index: usize| sent.iter().filter_map(move |it| it.samples.get(index).copied());
        Ok(((0..each).flat_map(turn).collect(), cpu_s))
    }
}
