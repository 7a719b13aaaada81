//! The service on Tomcat and its client, both on Java.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::Deserialize;
use tidegate_host::Cores;
use tidegate_lab::services::{MessagesKeys, Services, Tomcat, TomcatSetup, messages_client};
use tidegate_lab::{Key, Launch};
use tidegate_load::Stop;

use super::configuration::Configuration;
use super::series::{Question, Reuse, Sample};
use tidegate_experiment::{Error, Result};

/// Heap of the client.
const HEAP: &str = "-Xmx256m";
/// How long a client may take to end after its last line.
const END: Duration = Duration::from_secs(20);

/// Where the services are, and their keys.
pub(super) struct Java {
    services: Services,
    war: PathBuf,
    keys: MessagesKeys,
    folder: tempfile::TempDir,
}

/// A running Tomcat.
pub(super) struct OnTomcat<'a> {
    java: &'a Java,
    tomcat: Tomcat,
    configuration: Configuration,
    /// Seconds from the start of the process until it was ready.
    pub(super) ready_s: f64,
}

/// A line of the client: of a request, or its last.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Request { us: u64, bytes_out: u64, bytes_in: u64 },
    End { cpu_us: u64 },
}

impl Java {
    /// Finds the services and makes keys for both parties.
    ///
    /// # Errors
    /// [`Error::Operator`]: Java, Tomcat or the services are missing.
    pub(super) fn find() -> Result<Self> {
        let services = Services::find()?;
        let war = services.war("messages")?;
        Tomcat::home()?;
        messages_client(&services, None, &[])?;
        let folder = tempfile::tempdir()
            .map_err(|error| Error::Machine(format!("no temporary folder: {error}")))?;
        let keys = MessagesKeys::make(&folder.path().join("keys"))?;
        Ok(Self { services, war, keys, folder })
    }

    /// Starts Tomcat.
    ///
    /// # Errors
    /// [`Error::Operator`]: it is not installed; [`Error::Process`]: it does not start, or the
    /// run was stopped.
    pub(super) fn start(&self, configuration: Configuration, stop: &Stop) -> Result<OnTomcat<'_>> {
        let cores = Cores::of_this_thread()
            .map_err(|error| Error::Machine(format!("processors: {error}")))?;
        let mut setup = TomcatSetup::new(&cores, &self.war, "/healthz");
        setup.key = Key::P256;
        setup.env = vec![self.keys.env()];
        let begin = Instant::now();
        let tomcat = Tomcat::start(&setup, &self.folder.path().join("tomcat"), stop)?;
        Ok(OnTomcat { java: self, tomcat, configuration, ready_s: begin.elapsed().as_secs_f64() })
    }
}

impl OnTomcat<'_> {
    /// CPU seconds of Tomcat since its start.
    ///
    /// # Errors
    /// It has ended.
    pub(super) fn cpu_s(&self) -> Result<f64> {
        self.tomcat.cpu_s()
    }

    /// Sends so many requests, over all clients of a new client process. The second figure is the
    /// CPU time of its clients' threads in seconds.
    ///
    /// # Errors
    /// The client fails, with its last lines; the run was stopped.
    pub(super) fn send(
        &self,
        question: Question,
        requests: usize,
        stop: &Stop,
    ) -> Result<(Vec<Sample>, f64)> {
        let (path, security) = match self.configuration {
            Configuration::SoapClear => ("/soap", "soap"),
            Configuration::SoapWss => ("/secure", "wss"),
            _ => ("/small.jsp", "none"),
        };
        let base =
            if self.configuration.is_tls() { self.tomcat.secure_url() } else { self.tomcat.url() };
        let reuse = match question.reuse() {
            Reuse::Keep => "keep",
            Reuse::Resumed => "resumed",
            Reuse::New => "new",
        };
        let (services, keys) = (&self.java.services, &self.java.keys);
        let mut command = messages_client(services, Some(keys), &[HEAP.to_owned()])?;
        command
            .args(["--url", &format!("{base}{path}"), "--requests", &requests.to_string()])
            .args(["--clients", &question.clients().to_string()])
            .args(["--payload", &question.payload().to_string()])
            .args(["--connection", reuse, "--security", security]);
        let mut process =
            Launch::new("the messages client", command).piped().log_unnamed()?.start()?;
        let output = process.take_stdout().expect("standard output is piped");
        let mut samples = Vec::with_capacity(requests);
        let mut cpu_s = None;
        for line in BufReader::new(output).lines() {
            if stop.is_stopped() {
                return Err(Error::Process("stopped".into()));
            }
            let line: Option<Line> = line.ok().and_then(|line| serde_json::from_str(&line).ok());
            match line {
                Some(Line::Request { us, bytes_out, bytes_in }) if samples.len() < requests => {
                    samples.push(Sample { us, out: bytes_out, into: bytes_in });
                }
                Some(Line::End { cpu_us }) if samples.len() == requests => {
                    cpu_s = Some(Duration::from_micros(cpu_us).as_secs_f64());
                }
                _ => return Err(Error::Process("the messages client writes other lines".into())),
            }
        }
        let last = process.last_lines();
        process.finish(END)?;
        if let Some(cpu_s) = cpu_s {
            return Ok((samples, cpu_s));
        }
        let url = format!("{base}{path}");
        Err(Error::Process(format!("the messages client failed at {url}: {last}")))
    }
}
