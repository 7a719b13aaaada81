//! Keeps open pages up to date: an event a second to each, drawn once for all of them. Nothing is
//! drawn while no page is open.

use super::{Span, View};
use crate::limited_connections::Uses;
use crate::telemetry::history::SharedHistory;
use crate::telemetry::snapshot::Snapshot;
use hyper::body::{Body, Bytes, Frame};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tidegate_report::Page;
use tokio::sync::{Notify, mpsc};
use tokio::time::MissedTickBehavior;

/// Returns the snapshot that a page shows.
pub type Source = Arc<dyn Fn() -> Snapshot + Send + Sync>;

/// Most pages that are kept up to date at once.
pub const READERS: usize = 8;
/// Events in a row that a reader may not have room for.
const MISSED: u32 = 10;
/// Time between two events.
const INTERVAL: Duration = Duration::from_secs(1);

/// What the page is drawn from, and who reads it.
#[derive(Clone)]
pub struct Live {
    source: Source,
    history: SharedHistory,
    readers: Arc<Mutex<Vec<Reader>>>,
}

struct Reader {
    span: Span,
    events: mpsc::Sender<Bytes>,
    /// The end of the figures that it has.
    drawn: Option<Duration>,
    missed: u32,
    slow: Arc<Notify>,
}

impl Live {
    /// Of a gate without readers.
    pub fn new(source: Source, history: SharedHistory) -> Self {
        Self { source, history, readers: Arc::default() }
    }

    /// The snapshot of this moment.
    pub fn now(&self) -> Snapshot {
        (self.source)()
    }

    /// The page of this moment.
    pub fn page(&self, span: Span) -> Page {
        View { now: &self.now(), history: &self.history.lock(), span }.page()
    }

    /// Events of this page from now on; `None` where as many are open as are kept up to date.
    /// `slow` is notified once they are not read.
    pub fn follow(&self, span: Span, slow: Arc<Notify>, uses: Uses) -> Option<Events> {
        let mut readers = self.readers();
        readers.retain(|reader| !reader.events.is_closed());
        if readers.len() >= READERS {
            return None;
        }
        let (events, taken) = mpsc::channel(1);
        readers.push(Reader { span, events, drawn: None, missed: 0, slow });
        Some(Events { events: taken, uses })
    }

    /// Sends events until dropped.
    pub async fn run(self) {
        let mut interval = tokio::time::interval(INTERVAL);
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            interval.tick().await;
            self.send();
        }
    }

    /// Sends an event to each reader that has taken the one before.
    fn send(&self) {
        let mut readers = self.readers();
        readers.retain(|reader| !reader.events.is_closed());
        if readers.is_empty() {
            return;
        }
        let (now, history) = (self.now(), self.history.lock());
        for span in [Span::Minutes, Span::Hour] {
            let view = View { now: &now, history: &history, span };
            // With figures, and without.
            let mut drawn: [Option<Bytes>; 2] = [None, None];
            for reader in readers.iter_mut().filter(|reader| reader.span == span) {
                let Ok(place) = reader.events.try_reserve() else {
                    reader.missed += 1;
                    continue;
                };
                let figures = reader.drawn != Some(view.end());
                let event = &mut drawn[usize::from(figures)];
                place.send(event.get_or_insert_with(|| view.event(figures).into()).clone());
                (reader.drawn, reader.missed) = (Some(view.end()), 0);
            }
        }
        readers.retain(|reader| {
            let follows = reader.missed <= MISSED;
            if !follows {
                reader.slow.notify_one();
            }
            follows
        });
    }

    fn readers(&self) -> MutexGuard<'_, Vec<Reader>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The body of a stream of events.
pub struct Events {
    events: mpsc::Receiver<Bytes>,
    uses: Uses,
}

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let event = self.events.poll_recv(context);
        if let Poll::Ready(Some(_)) = event {
            // A connection that is read is used.
            self.uses.request();
        }
        event.map(|event| event.map(|event| Ok(Frame::data(event))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::history::Record;
    use http_body_util::BodyExt as _;

    fn live() -> Live {
        Live::new(Arc::new(Snapshot::default), SharedHistory::default())
    }

    fn second(live: &Live, second: u64) {
        let at = Duration::from_secs(second);
        live.history.lock().push(Record { at, length: INTERVAL, ..Record::default() });
        live.send();
    }

    async fn next(events: &mut Events) -> serde_json::Value {
        let event = events.frame().await.unwrap().unwrap().into_data().unwrap();
        let text = std::str::from_utf8(&event).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!((lines.len(), lines[0], lines[2]), (3, "retry: 1000", ""), "{text}");
        serde_json::from_str(lines[1].strip_prefix("data: ").unwrap()).unwrap()
    }

    #[tokio::test]
    async fn a_reader_gets_figures_at_first_and_whenever_these_change() {
        let live = live();
        let mut events = live.follow(Span::Minutes, Arc::default(), Uses::default()).unwrap();
        let mut with_figures = Vec::new();
        for at in 1..=7 {
            second(&live, at);
            let event = next(&mut events).await;
            assert!(event["state"].as_str().unwrap().starts_with("<div id=\"state\">"));
            if event.get("figures").is_some() {
                with_figures.push(at);
            }
        }
        assert_eq!(with_figures, [1, 3, 6], "a point every three seconds");
    }

    #[tokio::test]
    async fn a_slow_reader_is_dropped_and_delays_nobody() {
        let live = live();
        let [slow, fine] = [Arc::<Notify>::default(), Arc::default()];
        let _unread = live.follow(Span::Hour, slow.clone(), Uses::default()).unwrap();
        let mut events = live.follow(Span::Hour, fine, Uses::default()).unwrap();
        for at in 0..u64::from(MISSED) + 2 {
            second(&live, at);
            next(&mut events).await;
        }
        slow.notified().await;
        assert_eq!(live.readers().len(), 1);
    }

    #[test]
    fn pages_beyond_the_limit_are_not_kept_up_to_date_until_one_closes() {
        let live = live();
        let follow = || live.follow(Span::Hour, Arc::default(), Uses::default());
        let mut open: Vec<_> = (0..READERS).map(|_| follow().unwrap()).collect();
        assert!(follow().is_none());
        open.pop();
        assert!(follow().is_some());
    }
}
