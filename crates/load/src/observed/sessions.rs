//! From requests to sessions, in bounded memory.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};

use super::sums::{Session, Sums};
use crate::access_log::Entry;

/// Most sessions that are open at a time; those beyond are left out and counted.
const MOST_OPEN: usize = 1_000_000;
/// A request that comes within so many seconds after a redirect was answered is taken to follow it;
/// logs have whole seconds.
const FOLLOWS_S: f64 = 2.0;

/// Sessions of a log.
pub(super) struct Sessions {
    pause_s: f64,
    hasher: RandomState,
    open: HashMap<u64, Open>,
    /// Keys of open sessions by the time at which each was looked at last.
    queue: VecDeque<(f64, u64)>,
    begin: f64,
    end: f64,
    /// Sessions that neither the begin nor the end of the log cuts.
    pub(super) whole: Sums,
    /// Those that one of them may cut.
    pub(super) cut: Sums,
    pub(super) counts: Counts,
}

/// What is told of sessions beside their operations.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) begun_before: u64,
    pub(super) going_on: u64,
    pub(super) without_field: u64,
    pub(super) too_many: u64,
    pub(super) followed: u64,
    pub(super) jumps_back: u64,
}

struct Open {
    first: f64,
    last: f64,
    /// When a redirect was answered that nothing has followed.
    redirected: Option<f64>,
    operations: Vec<(u32, u32)>,
    has_field: bool,
}

impl Sessions {
    pub(super) fn new(pause_s: f64) -> Self {
        Self {
            pause_s,
            hasher: RandomState::new(),
            open: HashMap::new(),
            queue: VecDeque::new(),
            begin: f64::INFINITY,
            end: f64::NEG_INFINITY,
            whole: Sums::default(),
            cut: Sums::default(),
            counts: Counts::default(),
        }
    }

    /// Adds a request of an operation. Requests come nearly in the order of their times.
    pub(super) fn add(&mut self, entry: &Entry, operation: u32) {
        let at = entry.time;
        if at < self.end - self.pause_s {
            self.counts.jumps_back += 1;
        }
        (self.begin, self.end) = (self.begin.min(at), self.end.max(at));
        self.expire(at);
        let visitor = self.hasher.hash_one(("visitor", &entry.client, &entry.agent));
        let key = match &entry.session {
            Some(value) => {
                let key = self.hasher.hash_one(("field", value));
                // Its first request came before the site had named it.
                if !self.open.contains_key(&key)
                    && let Some(unnamed) = self.open.get(&visitor)
                    && (at - unnamed.last).abs() <= self.pause_s
                    && let Some(mut unnamed) = self.open.remove(&visitor)
                {
                    unnamed.has_field = true;
                    self.queue.push_back((unnamed.last, key));
                    self.open.insert(key, unnamed);
                }
                key
            }
            None => visitor,
        };
        let fresh = Open {
            first: at,
            last: at,
            redirected: None,
            operations: Vec::new(),
            has_field: entry.session.is_some(),
        };
        let is_full = self.open.len() == MOST_OPEN;
        match self.open.get_mut(&key) {
            // Its place in the queue is the new session's.
            Some(open) if (at - open.last).abs() > self.pause_s => {
                let ended = std::mem::replace(open, fresh);
                self.close(ended, false);
            }
            Some(_) => {}
            None if is_full => {
                self.counts.too_many += 1;
                return;
            }
            None => {
                self.open.insert(key, fresh);
                self.queue.push_back((at, key));
            }
        }
        let Some(session) = self.open.get_mut(&key) else { return };
        (session.first, session.last) = (session.first.min(at), session.last.max(at));
        let redirects = matches!(entry.status, 301 | 302 | 303 | 307 | 308);
        let follows = session.redirected.is_some_and(|then| (at - then).abs() <= FOLLOWS_S);
        session.redirected = redirects.then_some(at);
        if follows {
            self.counts.followed += 1;
            return;
        }
        match session.operations.iter_mut().find(|(own, _)| *own == operation) {
            Some((_, count)) => *count = count.saturating_add(1),
            None => session.operations.push((operation, 1)),
        }
    }

    /// Closes the sessions whose pause is over. Also those far ahead: of a clock that was wrong.
    fn expire(&mut self, now: f64) {
        while let Some((seen, key)) = self.queue.front().copied()
            && (now - seen).abs() > self.pause_s
        {
            self.queue.pop_front();
            match self.open.get(&key).map(|session| session.last) {
                Some(last) if last > seen => self.queue.push_back((last, key)),
                Some(_) => {
                    if let Some(ended) = self.open.remove(&key) {
                        self.close(ended, false);
                    }
                }
                None => {}
            }
        }
    }

    fn close(&mut self, session: Open, going_on: bool) {
        let begun_before = session.first - self.begin < self.pause_s;
        self.counts.begun_before += u64::from(begun_before);
        self.counts.going_on += u64::from(going_on);
        self.counts.without_field += u64::from(!session.has_field);
        let length_s = session.last - session.first;
        let sums = if begun_before || going_on { &mut self.cut } else { &mut self.whole };
        sums.add(&Session { length_s, operations: session.operations });
    }

    /// Ends the log.
    pub(super) fn finish(&mut self) {
        for (_, session) in std::mem::take(&mut self.open) {
            let going_on = self.end - session.last <= self.pause_s;
            self.close(session, going_on);
        }
    }

    /// Seconds between the first request of the log and the last.
    pub(super) fn lasts_s(&self) -> f64 {
        (self.end - self.begin).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access_log::Request;

    fn entry(time: f64, client: &str, session: Option<&str>, status: u16) -> Entry {
        let request = Request { method: "GET".into(), target: "/".into() };
        Entry {
            time,
            client: client.into(),
            agent: "x".into(),
            request: Some(request),
            status,
            session: session.map(Into::into),
        }
    }

    fn sessions(of: &[(f64, &str, Option<&str>, u16)]) -> Sessions {
        let mut sessions = Sessions::new(100.0);
        for (time, client, session, status) in of {
            sessions.add(&entry(*time, client, *session, *status), 0);
        }
        sessions.finish();
        sessions.whole.merge(&sessions.cut.clone());
        sessions
    }

    #[test]
    fn a_pause_ends_a_session_and_addresses_are_apart() {
        let found = sessions(&[
            (0.0, "a", None, 200),
            (50.0, "b", None, 200),
            (100.0, "a", None, 200),
            (201.0, "a", None, 200),
            (260.0, "a", None, 200),
        ]);
        assert_eq!(found.whole.sessions, 3);
        // 100, 0 and 59 s.
        assert!((found.whole.length_s().value - 53.0).abs() < 1e-9);
        assert_eq!(found.whole.count(0), 5);
    }

    #[test]
    fn a_named_session_has_the_request_before_it_was_named_and_any_address() {
        let found = sessions(&[
            (0.0, "a", None, 200),
            (5.0, "a", Some("s"), 200),
            (9.0, "b", Some("s"), 200),
            (9.0, "a", Some("t"), 200),
        ]);
        assert_eq!((found.whole.sessions, found.counts.without_field), (2, 0));
        assert!((found.whole.length_s().value - 4.5).abs() < 1e-9);
    }

    #[test]
    fn what_follows_a_redirect_is_part_of_the_operation() {
        let found = sessions(&[
            (0.0, "a", None, 303),
            (1.0, "a", None, 200),
            (1.0, "a", None, 302),
            (9.0, "a", None, 200),
        ]);
        assert_eq!((found.whole.count(0), found.counts.followed), (3, 1));
    }

    #[test]
    fn sessions_that_the_log_cuts_are_counted_apart() {
        let mut sessions = Sessions::new(100.0);
        for (time, client) in [(0.0, "a"), (150.0, "b"), (170.0, "b"), (400.0, "c"), (450.0, "c")] {
            sessions.add(&entry(time, client, None, 200), 0);
        }
        sessions.finish();
        assert_eq!((sessions.counts.begun_before, sessions.counts.going_on), (1, 1));
        assert_eq!((sessions.whole.sessions, sessions.cut.sessions), (1, 2));
        assert_eq!(sessions.whole.length_s().value, 20.0);
        assert_eq!(sessions.lasts_s(), 450.0);
    }

    #[test]
    fn open_sessions_are_forgotten_after_their_pause() {
        let mut sessions = Sessions::new(100.0);
        for second in 0..10_000 {
            let client = format!("{second}");
            sessions.add(&entry(f64::from(second), &client, None, 200), 0);
            sessions.add(&entry(f64::from(second), "always", None, 200), 0);
            assert!(sessions.open.len() <= 203 && sessions.queue.len() <= 203);
        }
        sessions.finish();
        assert_eq!(sessions.whole.sessions + sessions.cut.sessions, 10_001);
        assert_eq!(sessions.counts.jumps_back, 0);
    }

    #[test]
    fn a_log_whose_times_jump_back_says_so() {
        let mut sessions = Sessions::new(100.0);
        sessions.add(&entry(1000.0, "a", None, 200), 0);
        sessions.add(&entry(0.0, "a", None, 200), 0);
        assert_eq!(sessions.counts.jumps_back, 1);
    }
}
