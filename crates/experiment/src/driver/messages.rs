//! The client of a message service as a driver: series of requests, one after the other.
//!
//! Source: paper 002, "Comparing the performance of GT3 security with SSL".

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Instant;

use tidegate_load::Snapshot;

use super::{Driver, Readings, Window, write};
use crate::message_client::{Client, Clients, JavaClient, courses, figures, kinds};
use crate::system::{Configuration, Server, Started};
use crate::{Error, Result, parquet};

/// How a run is measured, for a page: terms with their explanation.
pub(crate) const METHOD: [(&str, &str); 7] = [
    (
        "Series",
        "One client from the start of the service on, then two clients at a time, then connections and sizes. Requests follow each other without a pause. The first two series go on until the service and its client, which is one process for all series, are warm",
    ),
    (
        "A request",
        "From before the message is made until its answer was verified. The answer to a payload is short",
    ),
    (
        "Once warm",
        "The last three stretches of 5 s, if they agree within 5 %; else the second half of the series. The first 3,900 requests of a series, as in the paper, are shown beside it: both compilers are still at work. A hundred requests are a batch, in short series a tenth of it",
    ),
    (
        "Requests per second",
        "Of two clients without pauses: their number divided by the mean time of a request",
    ),
    (
        "First answer",
        "From the start of the service's process until it reports that it is ready, and the first request",
    ),
    (
        "CPU",
        "Of the whole service and a whole series, on Java with its compiler and garbage collector; of the client's threads, on Java without them. Bytes are counted at the socket, below TLS",
    ),
    (
        "Security",
        "rust-https: TLS 1.3, ECDSA P-256. rust-jose: ES256 in ECDH-ES with A256GCM, a new key pair per message. rust-cose: ES256 in A256GCM under a shared secret. rust-http-signatures: signed, not encrypted. rust-xml: XML Signature with ECDSA P-256 in XML Encryption with ECDH-ES and AES-256-GCM, a new key pair per message. soap-wss: signed and encrypted by WSS4J with RSA",
    ),
];

/// The client of the message services.
pub(super) struct MessageClient;

impl Driver for MessageClient {
    fn drive(
        &self,
        window: Window<'_>,
        started: &Started,
        _: &mut dyn FnMut(&Snapshot) -> ControlFlow<()>,
    ) -> Result<Readings> {
        let settings = &window.planned.settings;
        let missing = |what: &str| Error::Internal(format!("a message service has no {what}"));
        let configuration = Configuration::of(settings).ok_or_else(|| missing("configuration"))?;
        let requests = window.planned.windows.requests.ok_or_else(|| missing("requests"))?;
        // Without TLS as behind a gate.
        let url = started.system().url(!configuration.is_tls)?;
        let mut clients = match configuration.server {
            Server::Own(format) => {
                let two = (0..2).map(|_| {
                    let (channel, chain) = window.workshop.message_client(settings, format)?;
                    Client::new(&url, configuration.is_tls.then_some(chain), channel)
                });
                Clients::Own(two.collect::<Result<_>>()?)
            }
            Server::Tomcat(path, security) => {
                let keys = window.workshop.java_keys()?;
                Clients::Java(JavaClient::start(&(url + path), security, &keys)?)
            }
        };
        let from = Instant::now();
        let mut all = Vec::new();
        let at_most = window.planned.windows.requests_at_most.map(|it| it as usize);
        let cpu_s = || Ok(started.cpu()?.service);
        for kind in kinds(requests as usize, at_most, configuration.is_tls) {
            all.push(clients.send(kind, &cpu_s, window.stop)?);
        }
        let measured = (from, Instant::now());
        let rows = all.iter().map(|it| it.rows(configuration.name, window.planned.round));
        write(&window.folder.join("requests.parquet"), &parquet::groups(rows)?)?;
        Ok(Readings {
            figures: figures(started.ready_s, &all),
            phases: BTreeMap::new(),
            courses: courses(&all),
            seconds: Vec::new(),
            saturated: Vec::new(),
            measured,
        })
    }
}
