//! What `tidegate load` counted between two moments of its run: from every request that it
//! recorded, and from its summary.

use serde::{Deserialize, Serialize};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tidegate_lab::peers::Work;
use tidegate_load::Summary;
use tidegate_load::result::figures::Negotiated;

/// The key exchange that an operation must have, so that all servers do the same work.
const GROUP: &str = "x25519";

/// Two moments of a run, by the system's clock.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// The first moment.
    pub from: SystemTime,
    /// The last moment; it is no part of the span.
    pub to: SystemTime,
}

/// Counts of a window.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Tally {
    /// Operations completed as the row requires.
    pub operations: u64,
    /// Operations that failed.
    pub failures: u64,
    /// Connections that were not of the row's kind: full where the row requires a resumed
    /// handshake or the reverse, with another group, admitted where all are to be refused,
    /// or made anew where they are to stay open. Counted over the load's own window, which
    /// contains that of the operations.
    pub other_kind: u64,
    /// How the first failed operation ended.
    pub first_failure: Option<String>,
    /// Why the load generator counts as saturated; empty if it does not. In the closed
    /// model the rate is then its own and not the server's; a cost per operation is not
    /// affected.
    pub driver_saturated: Vec<String>,
    /// Why the counts cannot be used.
    pub driver_fault: Option<String>,
}

impl Tally {
    /// No counts, and why.
    pub fn failed(why: String) -> Self {
        Self { driver_fault: Some(why), ..Self::default() }
    }
}

/// The results of one run of `tidegate load`.
#[derive(Debug)]
pub struct Counts {
    summary: Summary,
    requests: Vec<Request>,
}

/// The part of a line of `--raw` that is used.
#[derive(Debug, Deserialize)]
struct Request {
    intended_s: f64,
    response_ms: f64,
    ok: bool,
    status: u16,
    end: String,
}

impl Counts {
    /// Reads the files that `--json` and `--raw` have written.
    ///
    /// # Errors
    /// They are not such files, in words.
    pub fn parse(json: &[u8], raw: &[u8]) -> Result<Self, String> {
        let wrong = |what: &str, error| format!("tidegate load: {what}: {error}");
        let summary = serde_json::from_slice(json).map_err(|error| wrong("--json", error))?;
        let lines = serde_json::Deserializer::from_slice(raw).into_iter();
        let requests: Result<Vec<_>, _> = lines.collect();
        Ok(Self { summary, requests: requests.map_err(|error| wrong("--raw", error))? })
    }

    /// What happened in a part of the run: an operation counts when it ends.
    pub fn tally(&self, work: Work, span: Span) -> Tally {
        let begun = UNIX_EPOCH + Duration::from_millis(self.summary.started_at_unix_ms);
        let offset = |at: SystemTime| match at.duration_since(begun) {
            Ok(after) => after.as_secs_f64(),
            Err(before) => -before.duration().as_secs_f64(),
        };
        let (from, to) = (offset(span.from), offset(span.to));
        let ended = |request: &&Request| {
            let end = request.intended_s + request.response_ms / 1e3;
            from <= end && end < to
        };
        let (mut operations, mut failures, mut first_failure) = (0, 0, None);
        for request in self.requests.iter().filter(ended) {
            if request.is_done(work) {
                operations += 1;
            } else {
                failures += 1;
                first_failure.get_or_insert_with(|| request.outcome());
            }
        }
        Tally {
            operations,
            failures,
            other_kind: self.other_kind(work),
            first_failure,
            driver_saturated: self.summary.driver.saturated_because.clone(),
            driver_fault: self.fault(from, to),
        }
    }

    fn other_kind(&self, work: Work) -> u64 {
        let Summary { totals, tls, .. } = &self.summary;
        let other = |one: &Negotiated| match work {
            _ if one.group.as_deref().is_some_and(|group| group != GROUP) => one.full + one.resumed,
            Work::Full(_) => one.resumed,
            Work::Resumed(_) => one.full,
            Work::KeepAliveTls | Work::KeepAliveHttp2 | Work::StaticTls | Work::WebSocket => {
                one.full + one.resumed
            }
            // Every admitted connection is counted below, or has no handshake.
            Work::KeepAliveClear | Work::Refused => 0,
        };
        let admitted = if work == Work::Refused { totals.admitted } else { 0 };
        admitted + tls.iter().map(other).sum::<u64>()
    }

    /// Why the requests between two times, in seconds since the start, are not all there.
    fn fault(&self, from: f64, to: f64) -> Option<String> {
        let Summary { warm_up_s, measured_s, driver, raw_error, .. } = &self.summary;
        let end = warm_up_s + measured_s;
        if let Some(error) = raw_error {
            return Some(format!("tidegate load could not record all requests: {error}"));
        }
        if driver.events_lost > 0 {
            return Some(format!("tidegate load lost {} events", driver.events_lost));
        }
        (from < 0.0 || to > end).then(|| {
            format!("the load of {end:.2} s does not cover the window, {from:.2} to {to:.2} s")
        })
    }
}

impl Request {
    /// Whether it is an operation of the row. A refusal is a reset, a close or an alert in
    /// answer to the hello; what comes later has been admitted, which is counted apart.
    fn is_done(&self, work: Work) -> bool {
        match work {
            Work::Refused => matches!(self.end.as_str(), "reset" | "closed" | "alert"),
            _ => self.ok,
        }
    }

    fn outcome(&self) -> String {
        if self.status == 0 { self.end.clone() } else { format!("status {}", self.status) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_lab::peers::Version;
    use tidegate_load::Totals;
    use tidegate_load::result::driver::Driver;

    const START_MS: u64 = 1_800_000_000_000;

    /// A run of 0.2 s of warm-up and 1 s, with one group of handshakes.
    fn counts(full: u64, resumed: u64, group: &str, raw: &str) -> Counts {
        let tls = Negotiated {
            version: "1.3".into(),
            suite: "TLS_AES_128_GCM_SHA256".into(),
            group: Some(group.to_owned().into()),
            full,
            resumed,
        };
        let driver = Driver { saturated_because: vec!["busy".to_owned()], ..Driver::default() };
        let totals = Totals { admitted: full, ..Totals::default() };
        Counts::parse(&json(totals, driver, vec![tls]), raw.as_bytes()).unwrap()
    }

    fn json(totals: Totals, driver: Driver, tls: Vec<Negotiated>) -> Vec<u8> {
        let summary = Summary {
            started_at_unix_ms: START_MS,
            warm_up_s: 0.2,
            measured_s: 1.0,
            totals,
            driver,
            tls,
            ..Summary::default()
        };
        serde_json::to_vec(&summary).unwrap()
    }

    fn line(intended_s: f64, response_ms: f64, status: u16, end: &str) -> String {
        let ok = status == 200;
        format!(
            "{{\"page\":\"Page\",\"intended_s\":{intended_s},\"response_ms\":{response_ms},\
             \"ok\":{ok},\"status\":{status},\"end\":\"{end}\"}}\n"
        )
    }

    fn span(from_ms: u64, to_ms: u64) -> Span {
        let at = |ms| UNIX_EPOCH + Duration::from_millis(START_MS + ms);
        Span { from: at(from_ms), to: at(to_ms) }
    }

    const FULL: Work = Work::Full(Version::Tls13);

    #[test]
    fn operations_are_those_that_end_between_the_two_moments() {
        let raw: String = [
            line(0.2, 99.0, 200, "answered"),
            // Begins before the span and ends at its first moment.
            line(0.2, 100.0, 200, "answered"),
            line(0.5, 10.0, 200, "answered"),
            line(0.5, 11.0, 502, "answered"),
            line(0.5, 12.0, 0, "closed"),
            // Begins within the span and ends at its last moment.
            line(0.6, 100.0, 200, "answered"),
        ]
        .concat();
        let tally = counts(4, 0, "x25519", &raw).tally(FULL, span(300, 700));
        assert_eq!((tally.operations, tally.failures, tally.other_kind), (2, 2, 0));
        assert_eq!(tally.first_failure.as_deref(), Some("status 502"));
        assert_eq!((tally.driver_saturated, tally.driver_fault), (vec!["busy".to_owned()], None));
    }

    #[test]
    fn a_refusal_is_an_operation_where_all_are_to_be_refused_and_nowhere_else() {
        let ends = ["reset", "closed", "alert", "tls", "connect_refused"];
        let raw: String = ends.map(|end| line(0.4, 1.0, 0, end)).concat();
        let refused = counts(0, 0, "x25519", &raw).tally(Work::Refused, span(300, 700));
        assert_eq!((refused.operations, refused.failures, refused.other_kind), (3, 2, 0));
        let full = counts(0, 0, "x25519", &raw).tally(FULL, span(300, 700));
        assert_eq!((full.operations, full.failures), (0, 5));
        let admitted = counts(7, 0, "x25519", &raw).tally(Work::Refused, span(300, 700));
        assert_eq!(admitted.other_kind, 7);
    }

    #[test]
    fn handshakes_that_are_not_of_the_rows_kind_are_counted() {
        let other = |work, group| counts(3, 5, group, "").tally(work, span(300, 700)).other_kind;
        assert_eq!(other(FULL, "x25519"), 5);
        assert_eq!(other(Work::Resumed(Version::Tls12), "x25519"), 3);
        assert_eq!(other(FULL, "secp256r1"), 8);
        assert_eq!(other(Work::KeepAliveTls, "x25519"), 8);
    }

    #[test]
    fn a_window_that_the_load_does_not_cover_is_a_fault() {
        let counts = counts(0, 0, "x25519", "");
        let fault = |from, to| counts.tally(FULL, span(from, to)).driver_fault;
        assert_eq!(fault(0, 1200), None);
        assert!(fault(300, 1201).unwrap().contains("does not cover"));
        let early = Span { from: UNIX_EPOCH, ..span(0, 700) };
        assert!(counts.tally(FULL, early).driver_fault.is_some());
    }

    #[test]
    fn files_that_are_not_results_are_a_fault_that_names_the_flag() {
        assert!(Counts::parse(b"", b"").unwrap_err().contains("--json"));
        let driver = Driver { events_lost: 1, ..Driver::default() };
        let json = &json(Totals::default(), driver, Vec::new());
        assert!(Counts::parse(json, b"{\"intended_s\": 1").unwrap_err().contains("--raw"));
        let lost = Counts::parse(json, b"").unwrap().tally(FULL, span(0, 1));
        assert!(lost.driver_fault.unwrap().contains("lost 1 events"));
    }
}
