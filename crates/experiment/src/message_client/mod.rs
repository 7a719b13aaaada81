//! Clients of the message services: our own, and one on Java. They send series of requests without
//! pauses.

mod client;
mod connection;
mod java;
mod series;
mod warmth;

use tidegate_load::Stop;

use crate::{Error, Result};
pub(crate) use client::Client;
use client::Sent;
pub(crate) use java::JavaClient;
use series::Sample;
pub(crate) use series::{Kind, Series, courses, figures, kinds};
use warmth::Warmth;

/// Shortest portion of a series, in requests, where it goes on.
const FEWEST: usize = 20;

/// A client for a service that runs.
pub(crate) enum Clients {
    Own(Vec<Client>),
    Java(JavaClient),
}

impl Clients {
    /// Sends a series: its requests, and if it may have more, portions of about a second until the
    /// service is warm, or shows no sign of becoming so. `cpu_s` gives the CPU seconds of the service.
    ///
    /// # Errors
    /// As of [`portion`](Self::portion); or the service has ended.
    pub(crate) fn send(
        &mut self,
        kind: Kind,
        cpu_s: &dyn Fn() -> Result<f64>,
        stop: &Stop,
    ) -> Result<Series> {
        let before_s = cpu_s()?;
        let (mut samples, mut client_cpu_s) = self.portion(kind, stop)?;
        let mut warmth = Warmth::new(&kind);
        warmth.add(&samples);
        let mut last = samples.len();
        while samples.len() < kind.at_most && !warmth.is_warm() && !warmth.gives_up() {
            let us: u64 = samples[samples.len() - last..].iter().map(|it| it.us).sum();
            let per_s = 1e6 * (last * kind.clients) as f64 / us.max(1) as f64;
            let requests = (per_s as usize).max(FEWEST).min(kind.at_most - samples.len());
            let (more, cpu_s) = self.portion(Kind { requests, ..kind }, stop)?;
            warmth.add(&more);
            last = more.len();
            samples.extend(more);
            client_cpu_s += cpu_s;
        }
        let (settled, server_cpu_s) = (warmth.settled(), cpu_s()? - before_s);
        Ok(Series { kind, samples, settled, server_cpu_s, client_cpu_s })
    }

    /// Sends requests of a series, over all clients: their samples, which take turns, and the CPU
    /// seconds of the clients' threads.
    ///
    /// # Errors
    /// An answer is missing, late, refused or wrong; the run was stopped.
    fn portion(&mut self, kind: Kind, stop: &Stop) -> Result<(Vec<Sample>, f64)> {
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
