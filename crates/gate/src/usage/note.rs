//! What the operator is told about the upstream that cannot be measured: in the
//! log when it changes, and on the status page for as long as it is so.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Why the upstream cannot be seen, as last told.
#[derive(Debug, Default)]
pub struct Note(Mutex<Option<String>>);

impl Note {
    /// Takes what is so now, a sentence or none when all is well; logs it where
    /// it differs from what was so before.
    pub fn tell(&self, now: Option<&str>) {
        let mut told = self.told();
        if told.as_deref() == now {
            return;
        }
        match now {
            Some(why) => tracing::warn!("the upstream's CPU time is not known: {why}"),
            None => tracing::info!("the upstream's CPU time is known again"),
        }
        *told = now.map(str::to_owned);
    }

    /// What is so now.
    pub fn get(&self) -> Option<String> {
        self.told().clone()
    }

    fn told(&self) -> MutexGuard<'_, Option<String>> {
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

    /// Keeps what is logged.
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
            let mut said = Said(String::new());
            event.record(&mut said);
            self.0.lock().unwrap().push((*event.metadata().level(), said.0));
        }
        fn enter(&self, _: &Id) {}
        fn exit(&self, _: &Id) {}
    }

    struct Said(String);

    impl Visit for Said {
        fn record_debug(&mut self, _: &Field, value: &dyn std::fmt::Debug) {
            self.0 += &format!("{value:?}");
        }
    }

    #[test]
    fn a_note_is_logged_once_whenever_it_changes() {
        let (log, note) = (Log::default(), Note::default());
        tracing::subscriber::with_default(log.clone(), || {
            for now in [None, Some("a; b"), Some("a; b"), Some("c"), None, None, Some("c")] {
                note.tell(now);
                assert_eq!(note.get().as_deref(), now);
            }
        });
        let said = log.0.lock().unwrap();
        let levels: Vec<_> = said.iter().map(|(level, _)| *level).collect();
        assert_eq!(levels, [Level::WARN, Level::WARN, Level::INFO, Level::WARN]);
        assert_eq!(said[0].1, "the upstream's CPU time is not known: a; b");
    }
}
