//! Sends the state of a run to an OpenTelemetry collector. A thread of its own posts the
//! messages, so only the end of the run waits for the collector, for a limited time.

mod collector;
mod message;
mod settings;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant, SystemTime};

use anyhow::Context;
use prost::Message as _;
use tidegate_load::{RunStage, Snapshot};

use crate::exit::bad_input;
use collector::Collector;
use settings::Settings;

/// Time limit of one export, and of the last one at the end of the run.
const DEADLINE: Duration = Duration::from_secs(2);

/// The exporter.
pub struct Otlp {
    interval: Duration,
    /// Time of the next export.
    due: Instant,
    /// The latest snapshot, unless it was sent.
    unsent: Option<Figures>,
    figures: Sender<Figures>,
    /// Exports that the thread has not finished.
    pending: Arc<AtomicUsize>,
    /// The first error; closed when the thread ends.
    trouble: Receiver<String>,
    /// The error was reported.
    told: bool,
}

/// A snapshot and its time.
struct Figures {
    snapshot: Snapshot,
    at: SystemTime,
}

impl Otlp {
    /// Reads the flag and the environment, and starts the thread.
    ///
    /// # Errors
    /// The address or an environment variable is invalid.
    pub fn open(flag: &str) -> anyhow::Result<Self> {
        let settings = Settings::from_environment(flag).map_err(bad_input)?;
        let collector = Collector::new(&settings)?;
        let resource = message::resource(settings.attributes);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (figures, taken) = channel::<Figures>();
        let (told, trouble) = channel();
        let pending = Arc::<AtomicUsize>::default();
        let left = pending.clone();
        let work = move || {
            let mut well = true;
            for Figures { snapshot, at } in taken {
                let request = message::request(&snapshot, &resource, at);
                let sent = runtime.block_on(collector.post(request.encode_to_vec()));
                if let Err(why) = sent
                    && std::mem::take(&mut well)
                {
                    // The receiver is gone if the run has ended.
                    let _ = told.send(format!(
                        "otlp: {collector}: {why}: figures are missing there (said once; the run \
                         goes on)"
                    ));
                }
                left.fetch_sub(1, Ordering::Relaxed);
            }
            // Does not wait for a pending name resolution.
            runtime.shutdown_background();
        };
        std::thread::Builder::new()
            .name("otlp".into())
            .spawn(work)
            .context("cannot start the OTLP export thread")?;
        let due = Instant::now() + settings.interval;
        Ok(Self {
            interval: settings.interval,
            due,
            unsent: None,
            figures,
            pending,
            trouble,
            told: false,
        })
    }

    /// Sends the snapshot if an export is due or the run has ended, unless an export is still
    /// pending. Returns an error once.
    pub fn show(&mut self, snapshot: &Snapshot) -> Option<String> {
        self.unsent = Some(Figures { snapshot: snapshot.clone(), at: SystemTime::now() });
        let now = Instant::now();
        let idle = self.pending.load(Ordering::Relaxed) == 0;
        if snapshot.stage == RunStage::Done || (now >= self.due && idle) {
            self.due = now + self.interval;
            self.send();
        }
        let trouble = self.trouble.try_recv().ok();
        self.told |= trouble.is_some();
        trouble
    }

    /// Sends the last snapshot and waits at most [`DEADLINE`] for the pending exports. Returns
    /// an error unless one was reported before.
    pub fn finish(mut self) -> Option<String> {
        self.send();
        drop(self.figures);
        let until = Instant::now() + DEADLINE;
        let mut trouble = None;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.trouble.recv_timeout(left) {
                Ok(why) => trouble = Some(why),
                Err(RecvTimeoutError::Disconnected) => return trouble,
                // Earlier exports used up the time limit.
                Err(RecvTimeoutError::Timeout) => {
                    let late = || "otlp: no time was left for the last export".to_owned();
                    return trouble.or_else(|| (!self.told).then(late));
                }
            }
        }
    }

    fn send(&mut self) {
        if let Some(figures) = self.unsent.take() {
            self.pending.fetch_add(1, Ordering::Relaxed);
            // The thread ends only after this.
            let _ = self.figures.send(figures);
        }
    }
}
