//! The trace of a run: what each customer was doing at each time.

use std::sync::{Arc, Mutex, PoisonError};

use tidegate_trace::{Handle, Options, Role, Tracing};

use crate::error::Error;
use crate::plan::Plan;

/// The trace of a run, if the plan has one.
pub(super) struct RunTrace {
    tracing: Option<Tracing>,
    /// Why it ended early.
    ended: Arc<Mutex<Option<String>>>,
}

impl RunTrace {
    /// Begins.
    ///
    /// # Errors
    /// The file cannot be made.
    pub(super) fn start(plan: &Plan) -> Result<Self, Error> {
        let ended = Arc::<Mutex<Option<String>>>::default();
        let tracing = plan.trace.as_deref().map(|file| {
            let ended = ended.clone();
            let note = move |why| *ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
            // The driver's own CPU time is not what is asked.
            let options = Options { cpu_every: 0, ..Options::new(Role::Load, file) };
            Tracing::start(&options, note)
        });
        Ok(Self { tracing: tracing.transpose()?, ended })
    }

    /// Attaches the worker threads.
    pub(super) fn handle(&self) -> Option<Handle> {
        self.tracing.as_ref().map(Tracing::handle)
    }

    /// Ends. Returns what was traced and what it took, in words.
    pub(super) fn finish(self) -> Option<String> {
        let summary = self.tracing?.finish().to_string();
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner).take();
        Some(ended.map_or(summary.clone(), |why| format!("{summary}; {why}")))
    }
}
