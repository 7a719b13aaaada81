//! Where one core logs to.

use super::buffers::AccessLog;
use super::line::{Line, TimeText};
use crate::config::{self, AccessFormat};
use crate::telemetry::counters::Counters;
use crate::telemetry::labels::{Class, End};
use std::cell::RefCell;
use std::fmt;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Logs of one core, with one configuration.
pub struct Sink {
    log: Arc<AccessLog>,
    core: usize,
    counters: Arc<Counters>,
    format: AccessFormat,
    /// Whether queries are logged.
    pub(super) queries: bool,
    scratch: RefCell<(TimeText, Vec<u8>)>,
}

impl Sink {
    /// A core's way to the log; `None` where the configuration has none.
    pub fn new(
        log: &Arc<AccessLog>,
        core: usize,
        counters: &Arc<Counters>,
        config: &config::AccessLog,
    ) -> Option<Rc<Self>> {
        config.file.as_ref()?;
        Some(Rc::new(Self {
            log: log.clone(),
            core,
            counters: counters.clone(),
            format: config.format,
            queries: config.queries,
            scratch: RefCell::default(),
        }))
    }

    /// A connection was not admitted, after it waited in the queue if it did.
    pub fn refused(&self, client: IpAddr, class: Class, end: End, waited: Option<Duration>) {
        let phases = waited.map(|waited| ("queue", waited));
        self.write(&Line {
            time: SystemTime::now(),
            client: client.to_canonical(),
            class: class.name(),
            // The customer went before the decision.
            verdict: if end == End::HoldLeft { "held" } else { "refused" },
            session: None,
            phases: phases.as_slice(),
            exchange: None,
            reason: Some(end.name()),
        });
    }

    /// Logs a line, if the log is still on.
    pub(super) fn write(&self, line: &Line<'_>) {
        if !self.log.is_on() {
            return;
        }
        let (times, bytes) = &mut *self.scratch.borrow_mut();
        bytes.clear();
        match self.format {
            AccessFormat::Json => line.json(times, bytes),
            AccessFormat::Combined => line.combined(times, bytes),
        }
        match self.log.push(self.core, bytes) {
            true => self.counters.log_lines.add(1),
            false => self.counters.log_dropped.add(1),
        }
    }
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sink").field("core", &self.core).finish_non_exhaustive()
    }
}
