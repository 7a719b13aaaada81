//! Measures one configuration.

use tidegate_load::Stop;

use super::configuration::Configuration;
use super::java::{Java, OnTomcat};
use super::plan::Volume;
use super::series::{Question, Reuse, Sample, Series, Start};
use super::server::{Material, Own};
use tidegate_experiment::{Error, Result};

/// What all measurements share.
pub(super) struct Bench {
    volume: Volume,
    material: Material,
    java: Option<Java>,
}

/// A server that is ready.
enum Server<'a> {
    Own(Box<Own>),
    Java(Box<OnTomcat<'a>>),
}

impl Bench {
    /// Makes keys and certificates.
    ///
    /// # Errors
    /// They cannot be written.
    pub(super) fn new(volume: Volume, java: Option<Java>) -> Result<Self> {
        Ok(Self { volume, material: Material::make()?, java })
    }

    /// Starts a configuration, measures every series, and ends it.
    ///
    /// # Errors
    /// It does not start or does not answer; the run was stopped.
    pub(super) fn measure(
        &self,
        configuration: Configuration,
        round: u32,
        stop: &Stop,
    ) -> Result<(Start, Vec<Series>)> {
        let mut server = self.start(configuration, stop)?;
        let start = Start { configuration, round, ready_s: server.ready_s() };
        let mut all = Vec::new();
        for (question, requests) in self.questions(configuration) {
            let before = server.cpu_s()?;
            let (samples, client_cpu_s) = server.send(question, requests, stop)?;
            let server_cpu_s = server.cpu_s()? - before;
            let series =
                Series { configuration, round, question, samples, server_cpu_s, client_cpu_s };
            all.push(series);
        }
        Ok((start, all))
    }

    /// The series of a configuration with their requests; the one after the start first.
    fn questions(&self, configuration: Configuration) -> Vec<(Question, usize)> {
        let Volume { requests, .. } = self.volume;
        let mut questions = vec![(Question::WarmUp, requests), (Question::TwoClients, requests)];
        let modes: &[Reuse] = if configuration.is_tls() {
            &[Reuse::Keep, Reuse::Resumed, Reuse::New]
        } else {
            &[Reuse::Keep, Reuse::New]
        };
        let connections = self.volume.connections();
        questions.extend(modes.iter().map(|mode| (Question::Connections(*mode), connections)));
        let sizes = self.volume.sizes();
        questions.extend(sizes.map(|(size, requests)| (Question::Size(size), requests)));
        questions
    }

    fn start(&self, configuration: Configuration, stop: &Stop) -> Result<Server<'_>> {
        if !configuration.is_java() {
            return Ok(Server::Own(Box::new(Own::start(configuration, &self.material)?)));
        }
        let java = self.java.as_ref().ok_or_else(|| Error::Internal("there is no Java".into()))?;
        Ok(Server::Java(Box::new(java.start(configuration, stop)?)))
    }
}

impl Server<'_> {
    fn ready_s(&self) -> f64 {
        match self {
            Self::Own(own) => own.ready_s,
            Self::Java(java) => java.ready_s,
        }
    }

    fn cpu_s(&self) -> Result<f64> {
        match self {
            Self::Own(own) => own.cpu_s(),
            Self::Java(java) => java.cpu_s(),
        }
    }

    fn send(
        &mut self,
        question: Question,
        requests: usize,
        stop: &Stop,
    ) -> Result<(Vec<Sample>, f64)> {
        match self {
            Self::Own(own) => own.send(question, requests, stop),
            Self::Java(java) => java.send(question, requests, stop),
        }
    }
}
