//! The note to the operator about an upstream that cannot be measured: in the log when it
//! changes, and on the status page for as long as it holds.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Why the upstream cannot be measured, as of the last report.
#[derive(Debug, Default)]
pub struct Note(Mutex<Option<String>>);

impl Note {
    /// Sets the note: a sentence, or `None` while the upstream is measured. Logs it where
    /// it differs from the one before.
    pub fn set(&self, now: Option<&str>) {
        let mut note = self.lock();
        if note.as_deref() == now {
            return;
        }
        match now {
            Some(why) => tracing::warn!("the upstream's CPU time is not known: {why}"),
            None => tracing::info!("the upstream's CPU time is known again"),
        }
        *note = now.map(str::to_owned);
    }

    /// The current note.
    pub fn get(&self) -> Option<String> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Option<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Level, Metadata, Subscriber};

    /// Collects what is logged.
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<(Level, String)>>>);

    impl Subscriber for Log {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }
        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }
        fn record(&self, _: &Id, _: &Record<'_>) {}
        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn event(&self, event: &Event<'_>) {
            let mut text = Text(String::new());
            event.record(&mut text);
            self.0.lock().unwrap().push((*event.metadata().level(), text.0));
        }
        fn enter(&self, _: &Id) {}
        fn exit(&self, _: &Id) {}
    }

    struct Text(String);

    impl Visit for Text {
        fn record_debug(&mut self, _: &Field, value: &dyn std::fmt::Debug) {
            self.0 += &format!("{value:?}");
        }
    }

    #[test]
    fn a_note_is_logged_once_whenever_it_changes() {
        let (log, note) = (Log::default(), Note::default());
        tracing::subscriber::with_default(log.clone(), || {
            for now in [None, Some("a; b"), Some("a; b"), Some("c"), None, None, Some("c")] {
                note.set(now);
                assert_eq!(note.get().as_deref(), now);
            }
        });
        let logged = log.0.lock().unwrap();
        let levels: Vec<_> = logged.iter().map(|(level, _)| *level).collect();
        assert_eq!(levels, [Level::WARN, Level::WARN, Level::INFO, Level::WARN]);
        assert_eq!(logged[0].1, "the upstream's CPU time is not known: a; b");
    }
}
