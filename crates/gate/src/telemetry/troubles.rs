//! What the log and the status page tell of an upstream, or a static tier, that fails: each cause at most once a
//! minute, with the first request that failed. Pure: time is an argument.

use crate::telemetry::labels::UpstreamFault;
use crate::telemetry::seldom::PERIOD;
use serde::Serialize;
use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tidegate_config::one_sentence;

/// Most causes that are told apart at once; the counters have the others too.
const CAUSES: usize = 16;

/// What failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The upstream; with its URL if it is that of a route.
    Upstream(Option<Arc<str>>),
    /// A static tier.
    Static,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Upstream(None) => f.write_str("the upstream"),
            Self::Upstream(Some(url)) => write!(f, "the upstream {url}"),
            Self::Static => f.write_str("the static tier"),
        }
    }
}

/// Failures of one cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// What failed.
    pub of: Subject,
    /// The kind of the failure.
    pub fault: UpstreamFault,
    /// What is known beside its kind, in a few words.
    pub why: String,
    /// How many requests failed; none where the gate itself tried to connect.
    pub requests: u64,
    /// Method and path of the first of them.
    pub first: Option<String>,
}

/// Failures since they were last taken, each cause once. Each core has its own, so that its
/// lock is contended by the control loop alone.
#[derive(Debug, Default)]
pub struct Troubles(Mutex<Vec<Trouble>>);

impl Troubles {
    /// Notes a failed request, `first` if it is the first of its cause.
    pub fn note_request(
        &self,
        of: Subject,
        fault: UpstreamFault,
        why: &str,
        first: impl FnOnce() -> String,
    ) {
        let mut troubles = self.lock();
        let known = |noted: &Trouble| noted.fault == fault && noted.why == why && noted.of == of;
        if let Some(at) = troubles.iter().position(known) {
            troubles[at].requests += 1;
        } else if troubles.len() < CAUSES {
            let first = Some(first());
            troubles.push(Trouble { of, fault, why: why.to_owned(), requests: 1, first });
        }
    }

    /// Notes that the gate itself found an upstream unreachable.
    pub fn note_unreachable(&self, of: Subject, why: String) {
        let fault = UpstreamFault::Connect;
        let trouble = Trouble { of, fault, why, requests: 0, first: None };
        let mut troubles = self.lock();
        if !troubles.contains(&trouble) && troubles.len() < CAUSES {
            troubles.push(trouble);
        }
    }

    /// Takes them.
    pub fn take(&self) -> Vec<Trouble> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Trouble>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A cause of failures in the last minute.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UpstreamFailure {
    /// The URL of the upstream if it is that of a route; null for that of `[upstream]`.
    pub upstream: Option<String>,
    /// The kind of the failure (`connect`, `queue`, `timeout`, `broken`, `truncated`, `stalled`).
    pub reason: &'static str,
    /// What happened, a clause.
    pub cause: String,
    /// Requests that failed since the cause first occurred.
    pub requests: u64,
    /// Method and path of the first of them; null where only the gate itself tried.
    pub first: Option<String>,
    /// Seconds since it last occurred.
    pub last_s: f64,
}

/// The causes of the last minute, and what was told of them.
#[derive(Debug, Default)]
pub struct TroubleLog(Vec<Cause>);

#[derive(Debug)]
struct Cause {
    of: Subject,
    fault: UpstreamFault,
    why: String,
    /// Requests in all, and since the last line.
    requests: u64,
    untold: u64,
    first: Option<String>,
    /// It occurred since the last line; and the first request since.
    fresh: bool,
    first_untold: Option<String>,
    told: Option<Duration>,
    last: Duration,
}

impl TroubleLog {
    /// Adds what was noted until now. Returns the lines that are due. Call it with a time that
    /// never falls.
    pub fn observe(&mut self, now: Duration, troubles: Vec<Trouble>) -> Vec<String> {
        troubles.into_iter().for_each(|trouble| self.add(now, trouble));
        let lines = self.0.iter_mut().filter_map(|cause| cause.line(now)).collect();
        self.0.retain(|cause| cause.fresh || now < cause.last + PERIOD);
        lines
    }

    fn add(&mut self, now: Duration, trouble: Trouble) {
        let Trouble { of, fault, why, requests, first } = trouble;
        let mut known = self.0.iter_mut();
        let known = known.find(|known| known.fault == fault && known.why == why && known.of == of);
        if let Some(cause) = known {
            cause.requests += requests;
            cause.untold += requests;
            cause.first = cause.first.take().or_else(|| first.clone());
            cause.first_untold = cause.first_untold.take().or(first);
            cause.fresh = true;
            cause.last = now;
        } else if self.0.len() < CAUSES {
            self.0.push(Cause {
                of,
                fault,
                why,
                requests,
                untold: requests,
                first: first.clone(),
                fresh: true,
                first_untold: first,
                told: None,
                last: now,
            });
        }
    }

    /// The failures of upstreams in the last minute, for the status page.
    pub fn recent(&self, now: Duration) -> Vec<UpstreamFailure> {
        let failure = |cause: &Cause| {
            let Subject::Upstream(upstream) = &cause.of else { return None };
            Some(UpstreamFailure {
                upstream: upstream.as_deref().map(str::to_owned),
                reason: cause.fault.name(),
                cause: cause.text(),
                requests: cause.requests,
                first: cause.first.clone(),
                last_s: now.saturating_sub(cause.last).as_secs_f64(),
            })
        };
        self.0.iter().filter_map(failure).collect()
    }
}

impl Cause {
    fn line(&mut self, now: Duration) -> Option<String> {
        if !self.fresh || self.told.is_some_and(|told| now < told + PERIOD) {
            return None;
        }
        let mut line = format!("{} {}", self.of, self.text());
        if let Some(first) = &self.first_untold {
            let _ = match (self.untold, self.told) {
                (1, _) => write!(line, "; 1 request failed: {first}"),
                (requests, None) => write!(line, "; {requests} requests failed, first {first}"),
                (requests, Some(told)) => {
                    let within = (now - told).as_secs();
                    write!(line, "; {requests} requests failed in {within} s, first {first}")
                }
            };
        }
        (self.told, self.fresh, self.untold, self.first_untold) = (Some(now), false, 0, None);
        Some(line)
    }

    fn text(&self) -> String {
        let what = match self.fault {
            _ if self.of == Subject::Static => "cannot read a file",
            UpstreamFault::Connect => "cannot be reached",
            UpstreamFault::Queue => "has no connection free",
            UpstreamFault::Timeout => "did not respond in time",
            UpstreamFault::Broken => "gave no usable response",
            UpstreamFault::Truncated => "cut a response short",
            UpstreamFault::Stalled => "stopped in the middle of a request or response",
        };
        format!("{what}: {}", one_sentence(&self.why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAIN: Subject = Subject::Upstream(None);

    fn noted(fault: UpstreamFault, why: &str, paths: &[&str]) -> Vec<Trouble> {
        let troubles = Troubles::default();
        for path in paths {
            troubles.note_request(MAIN, fault, why, || format!("GET {path}"));
        }
        troubles.take()
    }

    #[test]
    fn a_cause_is_told_at_once_and_then_once_a_minute_with_its_first_request() {
        let mut log = TroubleLog::default();
        let mut lines = Vec::new();
        for second in 0..150 {
            let paths = [format!("/{second}"), "/again".into()];
            let paths: Vec<_> = paths.iter().map(String::as_str).collect();
            let troubles = match second {
                1..=100 => noted(UpstreamFault::Connect, "refused", &paths),
                _ => Vec::new(),
            };
            let told = log.observe(Duration::from_secs(second), troubles);
            lines.extend(told.into_iter().map(|line| (second, line)));
        }
        let told = [
            (1, "the upstream cannot be reached: refused; 2 requests failed, first GET /1"),
            (
                61,
                "the upstream cannot be reached: refused; 120 requests failed in 60 s, first GET /2",
            ),
            (
                121,
                "the upstream cannot be reached: refused; 78 requests failed in 60 s, first GET /62",
            ),
        ];
        assert_eq!(lines, told.map(|(second, line)| (second, line.to_owned())));
    }

    #[test]
    fn each_cause_has_lines_of_its_own() {
        let mut log = TroubleLog::default();
        let mut at = |second, troubles| log.observe(Duration::from_secs(second), troubles);
        assert_eq!(
            at(0, noted(UpstreamFault::Timeout, "30 s", &["/a"])),
            ["the upstream did not respond in time: 30 s; 1 request failed: GET /a"]
        );
        assert_eq!(
            at(1, noted(UpstreamFault::Truncated, "it closed", &["/b"])),
            ["the upstream cut a response short: it closed; 1 request failed: GET /b"]
        );
        assert_eq!(at(2, noted(UpstreamFault::Timeout, "30 s", &["/c"])), [""; 0]);
        let troubles = Troubles::default();
        (0..3).for_each(|_| troubles.note_unreachable(MAIN, "refused".into()));
        assert_eq!(at(3, troubles.take()), ["the upstream cannot be reached: refused"]);
    }

    #[test]
    fn upstreams_and_the_static_tier_have_lines_of_their_own() {
        let (troubles, mut log) = (Troubles::default(), TroubleLog::default());
        let checkout = Subject::Upstream(Some("http://checkout:80".into()));
        for of in [MAIN, checkout.clone(), checkout, Subject::Static] {
            troubles.note_request(of, UpstreamFault::Broken, "x", || "GET /a".into());
        }
        assert_eq!(
            log.observe(Duration::ZERO, troubles.take()),
            [
                "the upstream gave no usable response: x; 1 request failed: GET /a",
                "the upstream http://checkout:80 gave no usable response: x; 2 requests failed, \
                 first GET /a",
                "the static tier cannot read a file: x; 1 request failed: GET /a",
            ]
        );
        let upstreams: Vec<_> =
            log.recent(Duration::ZERO).into_iter().map(|failure| failure.upstream).collect();
        assert_eq!(upstreams, [None, Some("http://checkout:80".into())]);
    }

    #[test]
    fn the_status_has_the_causes_of_the_last_minute() {
        let mut log = TroubleLog::default();
        for second in [0, 30] {
            log.observe(Duration::from_secs(second), noted(UpstreamFault::Broken, "x", &["/a"]));
        }
        let recent = log.recent(Duration::from_secs(40));
        let (first, cause) = (Some("GET /a".into()), "gave no usable response: x".into());
        let expected = UpstreamFailure {
            upstream: None,
            reason: "broken",
            cause,
            requests: 2,
            first,
            last_s: 10.0,
        };
        assert_eq!(recent, [expected]);
        // The second one was not told yet.
        assert_eq!(log.observe(Duration::from_secs(60), Vec::new()).len(), 1);
        log.observe(Duration::from_secs(95), Vec::new());
        assert_eq!(log.recent(Duration::from_secs(95)), []);
    }

    #[test]
    fn however_many_causes_there_are_memory_and_lines_are_bounded() {
        let (troubles, mut log) = (Troubles::default(), TroubleLog::default());
        let mut lines = 0;
        for round in 0..100 {
            for number in 0..100 {
                let why = format!("{round} {number}");
                troubles.note_request(MAIN, UpstreamFault::Broken, &why, || "GET /".into());
            }
            lines += log.observe(Duration::from_millis(round), troubles.take()).len();
        }
        assert_eq!(lines, CAUSES);
    }
}
