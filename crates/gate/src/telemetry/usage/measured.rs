//! One upstream and what is known of its CPU time: by its clocks on this host, or by what it, an
//! agent or a page says.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use tidegate_agent::{Secret, boot_id};
use tidegate_host::cgroup::{Membership, Mounts};
use tidegate_host::service::Service;
use tidegate_host::{Files, Kernel};

use super::load::{Load, Loads};
use super::orca_load::OrcaLoad;
use super::upstream::{note, target};
use crate::config::{LoadFrom, Upstream};

/// An upstream.
#[derive(Debug)]
pub struct Measured {
    source: Source,
    /// What is told of it now; none where it is measured on this host.
    load: Option<Load>,
    /// Why a part of it is never visible here.
    elsewhere: Option<String>,
    note: Option<String>,
}

#[derive(Debug)]
enum Source {
    /// Measured on this host.
    Here(Service),
    /// Told by agents and pages.
    Told(Loads),
    /// Told by its responses.
    Orca(OrcaLoad),
}

impl Measured {
    /// The upstream that the configuration names. The process `own` is never part of it.
    pub fn new(upstream: &Upstream, files: &Files, own: u32, secret: Option<&Secret>) -> Self {
        let (source, unseen) = match &upstream.load_from {
            LoadFrom::Host => {
                let (target, unseen) = target(upstream, files);
                (Source::Here(Service::new(target, own)), unseen)
            }
            LoadFrom::Sources(sources) => {
                (Source::Told(Loads::start(sources, secret, boot_id(files))), None)
            }
            // A checked configuration has the processors.
            LoadFrom::Orca => (Source::Orca(OrcaLoad::new(upstream.cpus.unwrap_or(1.0))), None),
        };
        let elsewhere = unseen.as_ref().map(note);
        Self { source, load: None, note: elsewhere.clone(), elsewhere }
    }

    /// Searches for its processes again where that is due, or takes what was told of it.
    pub fn find(&mut self, now: Instant, files: &Files, mounts: &Mounts, kernel: &dyn Kernel) {
        let latest = match &mut self.source {
            Source::Here(service) => {
                if service.find(now, files, mounts, kernel) {
                    self.note = self.elsewhere.clone().or_else(|| service.unseen().map(note));
                }
                return;
            }
            Source::Told(loads) => loads.latest(now),
            Source::Orca(load) => load.latest(now),
        };
        (self.load, self.note) = match latest {
            Ok(load) => (Some(load), None),
            Err(why) => (None, why),
        };
    }

    /// Takes the number of its responses and the sum of the reports in them (`orca_addend`), where
    /// these tell its load.
    pub fn reported(&mut self, now: Instant, responses: u64, reports: u64) {
        if let Source::Orca(load) = &mut self.source {
            load.reported(now, responses, reports);
        }
    }

    /// Why it, or a part of it, cannot be measured, and the remedy: a sentence.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// What is told of it now; none where it is measured on this host.
    pub fn load(&self) -> Option<&Load> {
        self.load.as_ref()
    }

    /// Whether any part of it is visible.
    pub fn is_visible(&self) -> bool {
        match &self.source {
            Source::Here(service) => service.is_visible(),
            _ => self.load.is_some(),
        }
    }

    /// Whether it is visible, on another host.
    pub fn is_elsewhere(&self) -> bool {
        self.load.as_ref().is_some_and(|load| load.here.is_empty())
    }

    /// CPU time used since the call before, `passed` ago; `None`: unknown.
    pub fn used(
        &mut self,
        passed: Option<Duration>,
        files: &Files,
        mounts: &Mounts,
        kernel: &dyn Kernel,
    ) -> Option<Duration> {
        if let Source::Here(service) = &mut self.source {
            return service.used(files, mounts, kernel);
        }
        // At the rate of the last report, also in an interval without a new one.
        Some(passed?.mul_f64(self.load.as_ref()?.used_cpus?))
    }

    /// Processors of this host that any part of it may run on; empty where unknown.
    pub fn processors(&self, files: &Files, kernel: &dyn Kernel) -> BTreeSet<usize> {
        match (&self.source, &self.load) {
            (Source::Here(service), _) if service.is_visible() => service.processors(files, kernel),
            (_, Some(load)) => load.here.clone(),
            _ => BTreeSet::new(),
        }
    }

    /// The control groups of this host that it is in, each once.
    pub fn groups(&self, files: &Files) -> BTreeSet<Membership> {
        match &self.source {
            Source::Here(service) => service.groups(files),
            _ => BTreeSet::new(),
        }
    }
}
