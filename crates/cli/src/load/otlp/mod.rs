//! Sends how a run stands to an OpenTelemetry collector. A thread of its own posts
//! what it is handed, so that nothing waits for the collector but the end, and that not
//! for long.

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

/// How long one export may take, and the end of a run because of the last.
const DEADLINE: Duration = Duration::from_secs(2);

/// The exporter, as the run sees it.
pub struct Otlp {
    interval: Duration,
    /// When figures are sent next.
    due: Instant,
    /// The newest figures, unless they were sent.
    unsent: Option<Figures>,
    figures: Sender<Figures>,
    /// How many were handed over that the thread has not done with.
    pending: Arc<AtomicUsize>,
    /// The first thing that went wrong; closed once the thread is through.
    trouble: Receiver<String>,
    /// Whether that was said.
    told: bool,
}

/// A snapshot, and when it was taken.
struct Figures {
    snapshot: Snapshot,
    at: SystemTime,
}

impl Otlp {
    /// Reads the flag and the environment, and starts the thread.
    ///
    /// # Errors
    /// The address or a variable of the environment is wrong.
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
                    // Nobody listens any more if the user has gone.
                    let _ = told.send(format!(
                        "otlp: {collector}: {why}: figures are missing there (said once; the run \
                         goes on)"
                    ));
                }
                left.fetch_sub(1, Ordering::Relaxed);
            }
            // Not held up by a name that is still being looked up.
            runtime.shutdown_background();
        };
        std::thread::Builder::new()
            .name("otlp".into())
            .spawn(work)
            .context("cannot start the thread that exports figures")?;
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

    /// Sends how the run stands if it is time to, or the run's end. A collector that has
    /// not answered yet is left alone until then. Gives what went wrong, once.
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

    /// Sends what has not been, and waits until all has arrived, [`DEADLINE`] at most.
    /// Gives what went wrong, unless that was said before.
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
                // Each answer came in time, but those before the last took most of it.
                Err(RecvTimeoutError::Timeout) => {
                    let late = || "otlp: no time was left for the last figures".to_owned();
                    return trouble.or_else(|| (!self.told).then(late));
                }
            }
        }
    }

    fn send(&mut self) {
        if let Some(figures) = self.unsent.take() {
            self.pending.fetch_add(1, Ordering::Relaxed);
            // Its thread only ends after this.
            let _ = self.figures.send(figures);
        }
    }
}
