//! What the log tells an operator while the gate runs: what the service carries, refusals,
//! malformed messages, failures of the upstream, and a lack of file descriptors. Each kind
//! of line at most once a minute, with the counts since the last one. What decides on lines
//! is pure: time is an argument.

use crate::shared::Shared;
use crate::telemetry::counters::Totals;
use crate::telemetry::labels::{End, Label, Malformed};
use crate::telemetry::seldom::{PERIOD, Seldom};
use crate::telemetry::troubles::TroubleLog;
use std::array;
use std::time::Duration;
use tidegate_control::Sustainable;
use tidegate_host::open_files;
use tracing::Level;

/// Ends of connections by which new sessions are refused, and what to call them.
const REFUSED: [(End, &str); 3] = [
    (End::Refused, "at once"),
    (End::HoldExpired, "after a wait (admission.hold_time)"),
    (End::TooMany, "over limits.max_connections"),
];

/// Ends of connections by what was malformed before HTTP, and what to call it.
const BEFORE_HTTP: [(End, &str); 3] =
    [(End::MalformedHello, "hello"), (End::NotTls, "not TLS"), (End::NotHttp, "not HTTP")];

/// What was told so far.
#[derive(Default)]
pub struct OperatorLog {
    capacity: CapacityLine,
    refusals: Refusals,
    customers: Seldom<{ BEFORE_HTTP.len() + Malformed::COUNT }>,
    upstream: Seldom<{ Malformed::COUNT }>,
    troubles: TroubleLog,
    shortage: Seldom,
    dropped: Seldom,
}

impl OperatorLog {
    /// Writes the lines that are due at a tick.
    pub fn write(&mut self, now: Duration, totals: &Totals, shared: &Shared) {
        if let Some(line) = self.capacity.due(now, || shared.controller().sustainable()) {
            tracing::info!("{line}");
        }
        match self.refusals.due(now, REFUSED.map(|(end, _)| totals.ends[end])) {
            Some(Refusing::Ended(line)) => tracing::info!("{line}"),
            Some(Refusing::GoesOn(line)) => {
                let why = shared.controller().status(now).why_not;
                tracing::warn!("{line}{}", why.map(|why| format!("; {why}")).unwrap_or_default());
            }
            None => {}
        }
        for (level, line) in self.malformed(now, totals) {
            match level {
                Level::WARN => tracing::warn!("{line}"),
                _ => tracing::info!("{line}"),
            }
        }
        let of_requests = shared.cores.iter().flat_map(|core| core.troubles.take());
        let noted = of_requests.chain(shared.upstreams.troubles.take()).collect();
        for line in self.troubles.observe(now, noted) {
            tracing::warn!("{line}");
        }
        shared.upstreams.set_failures(self.troubles.recent(now));
        if let Some([dropped]) = self.dropped.due(now, [totals.log_dropped]) {
            tracing::warn!(
                dropped,
                "lines of the access log were dropped, because they are written too slowly: raise \
                 access_log.buffer_bytes, or log to a faster disk"
            );
        }
        if let Some([refused]) = self.shortage.due(now, [totals.ends[End::NoFiles]]) {
            tracing::warn!(
                refused,
                "connections were refused, because no file descriptor was left: this process may \
                 open {} files; raise the limit (LimitNOFILE=, ulimit -n) or lower \
                 limits.max_connections",
                open_files::limit()
            );
        }
    }

    /// The lines about malformed messages. Customers' mistakes need nobody's attention.
    fn malformed(&mut self, now: Duration, totals: &Totals) -> Vec<(Level, String)> {
        let ends = BEFORE_HTTP.map(|(end, _)| totals.ends[end]);
        let parts = totals.malformed_requests.values();
        let counts =
            array::from_fn(|n| ends.get(n).copied().unwrap_or_else(|| parts[n - ends.len()]));
        let customers = self.customers.due(now, counts).map(|more| {
            let names = BEFORE_HTTP.iter().map(|(_, name)| *name).chain(Malformed::names());
            (Level::INFO, format!("malformed from customers: {}", listed(&more, names)))
        });
        let upstream = self.upstream.due(now, *totals.malformed_responses.values()).map(|more| {
            (
                Level::WARN,
                format!("malformed from the upstream: {}", listed(&more, Malformed::names())),
            )
        });
        customers.into_iter().chain(upstream).collect()
    }
}

/// A line about refusals.
#[derive(Debug)]
enum Refusing {
    /// There are more: the controller can tell why.
    GoesOn(String),
    /// There were none for a minute.
    Ended(String),
}

/// Tells of refusals: when they begin, how many they are, and when there were none for a
/// minute.
#[derive(Debug, Default)]
struct Refusals {
    counts: [u64; REFUSED.len()],
    /// The time of refusals that has not ended.
    under_way: Option<UnderWay>,
}

#[derive(Debug)]
struct UnderWay {
    began: Duration,
    last: Duration,
    /// Counts before the first refusal.
    before: [u64; REFUSED.len()],
    line: Seldom<{ REFUSED.len() }>,
}

impl Refusals {
    fn due(&mut self, now: Duration, counts: [u64; REFUSED.len()]) -> Option<Refusing> {
        let names = || REFUSED.iter().map(|(_, name)| *name);
        let before = std::mem::replace(&mut self.counts, counts);
        let more = counts != before;
        let Some(refusals) = &mut self.under_way else {
            if !more {
                return None;
            }
            let line = Seldom::written(now, counts);
            self.under_way = Some(UnderWay { began: now, last: now, before, line });
            let counts = listed(&grown(counts, before), names());
            return Some(Refusing::GoesOn(format!("new sessions are refused: {counts}")));
        };
        if more {
            refusals.last = now;
        }
        if now >= refusals.last + PERIOD {
            let lasted = (refusals.last - refusals.began).as_secs();
            let counts = listed(&grown(counts, refusals.before), names());
            self.under_way = None;
            return Some(Refusing::Ended(format!(
                "new sessions are no longer refused; in {lasted} s: {counts}"
            )));
        }
        let within = refusals.line.since(now).as_secs();
        let counts = listed(&refusals.line.due(now, counts)?, names());
        Some(Refusing::GoesOn(format!("new sessions refused in the last {within} s: {counts}")))
    }
}

fn grown<const N: usize>(counts: [u64; N], before: [u64; N]) -> [u64; N] {
    array::from_fn(|n| counts[n] - before[n])
}

/// The sum and its parts, such as `12 (9 head, 3 chunk)`.
fn listed<'a>(counts: &[u64], names: impl Iterator<Item = &'a str>) -> String {
    let parts = names.zip(counts).filter(|(_, count)| **count > 0);
    let parts: Vec<_> = parts.map(|(name, count)| format!("{count} {name}")).collect();
    format!("{} ({})", counts.iter().sum::<u64>(), parts.join(", "))
}

/// How often what the service carries is asked for.
const ASK: Duration = Duration::from_secs(10);
/// The longest time between two lines about it.
const LONGEST: Duration = Duration::from_hours(1);
/// A change of the estimate by less than this share is none.
const CHANGE: f64 = 0.2;

/// Tells what the service carries: as soon as that is known, when it has changed, and
/// otherwise once an hour.
#[derive(Debug, Default)]
struct CapacityLine {
    ask_at: Duration,
    last: Option<(Duration, f64)>,
}

impl CapacityLine {
    /// The line to write at this time since the start, if any. `known` is asked for at most
    /// every ten seconds.
    fn due(&mut self, now: Duration, known: impl FnOnce() -> Sustainable) -> Option<String> {
        if now < self.ask_at {
            return None;
        }
        self.ask_at = now + ASK;
        let known = known();
        let per_s = known.sessions_per_s?;
        let is_due = self.last.is_none_or(|(at, value)| {
            let since = now.saturating_sub(at);
            let changed = (per_s.value - value).abs() > CHANGE * value;
            since >= LONGEST || (since >= PERIOD && changed)
        });
        is_due.then(|| {
            self.last = Some((now, per_s.value));
            known.text
        })
    }
}

#[cfg(test)]
mod tests;
