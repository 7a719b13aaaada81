//! What the log tells of refusals and of malformed messages: each kind of line at most
//! once a minute, with the counts since the last one. Pure: time is an argument.

use crate::telemetry::counters::Totals;
use crate::telemetry::labels::{End, Malformed};
use std::fmt;
use std::time::Duration;
use tracing::Level;

/// The least time between two lines of a kind, and the time without a refusal after which
/// refusing has ended.
const PERIOD: Duration = Duration::from_secs(60);

/// The counts that the log tells of, since the start of the gate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// New sessions refused at once, after a wait, and for want of a connection.
    refused: [u64; 3],
    /// What customers sent and was malformed.
    customers: Vec<u64>,
    /// What the upstream sent and was malformed.
    upstream: Vec<u64>,
}

/// Why new sessions are refused, in the order of `Counts::refused`.
const REASONS: [&str; 3] =
    ["at once", "after a wait (admission.hold_time)", "over limits.max_connections"];

/// Ends of connections by what was malformed before HTTP, and what to call it.
const BEFORE_HTTP: [(End, &str); 3] =
    [(End::MalformedHello, "hello"), (End::NotTls, "not TLS"), (End::NotHttp, "not HTTP")];

impl Counts {
    /// The counts in the sums of the cores.
    pub fn of(totals: &Totals) -> Self {
        let ends = |end: End| totals.ends[end];
        let before_http = BEFORE_HTTP.iter().map(|(end, _)| ends(*end));
        Self {
            refused: [End::Refused, End::HoldExpired, End::TooMany].map(ends),
            customers: before_http.chain(*totals.malformed_requests.values()).collect(),
            upstream: totals.malformed_responses.values().to_vec(),
        }
    }
}

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The first refusals after a time without.
    RefusingBegins(String),
    /// Refusals since the last line about them.
    Refused {
        /// How many, by reason.
        counts: String,
        /// The time in which.
        within: Duration,
    },
    /// A minute without a refusal.
    RefusingEnded {
        /// How many were refused since the beginning, by reason.
        counts: String,
        /// From the first refusal to the last.
        lasted: Duration,
    },
    /// Customers sent something malformed: how many, by part.
    FromCustomers(String),
    /// The upstream did.
    FromUpstream(String),
}

impl Notice {
    /// The level of the line. Customers' mistakes need nobody's attention.
    pub fn level(&self) -> Level {
        match self {
            Self::RefusingBegins(_) | Self::Refused { .. } | Self::FromUpstream(_) => Level::WARN,
            Self::RefusingEnded { .. } | Self::FromCustomers(_) => Level::INFO,
        }
    }

    /// Whether the controller can tell more about it.
    pub fn is_of_refusing(&self) -> bool {
        matches!(self, Self::RefusingBegins(_) | Self::Refused { .. })
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RefusingBegins(counts) => write!(f, "new sessions are refused: {counts}"),
            Self::Refused { counts, within } => {
                write!(f, "new sessions refused in the last {} s: {counts}", within.as_secs())
            }
            Self::RefusingEnded { counts, lasted } => {
                let lasted = lasted.as_secs();
                write!(f, "new sessions are no longer refused; in {lasted} s: {counts}")
            }
            Self::FromCustomers(counts) => write!(f, "malformed from customers: {counts}"),
            Self::FromUpstream(counts) => write!(f, "malformed from the upstream: {counts}"),
        }
    }
}

/// Decides what the log tells, and when.
#[derive(Debug, Default)]
pub struct Digest {
    seen: Counts,
    refusing: Option<Refusing>,
    customers: Told,
    upstream: Told,
}

/// A time of refusals.
#[derive(Debug)]
struct Refusing {
    began: Duration,
    last: Duration,
    /// Counts before the first refusal, and at the last line.
    before: [u64; 3],
    told: Told,
}

/// The last line of a kind.
#[derive(Debug, Default)]
struct Told {
    at: Option<Duration>,
    counts: Vec<u64>,
}

impl Digest {
    /// The lines that are due now, by the counts until now. Call it with a time that never
    /// falls.
    pub fn observe(&mut self, now: Duration, counts: Counts) -> Vec<Notice> {
        let mut notices = Vec::new();
        notices.extend(self.refusals(now, counts.refused));
        let names = || BEFORE_HTTP.iter().map(|(_, name)| *name).chain(part_names());
        notices
            .extend(self.customers.due(now, &counts.customers, names()).map(Notice::FromCustomers));
        notices.extend(
            self.upstream.due(now, &counts.upstream, part_names()).map(Notice::FromUpstream),
        );
        self.seen = counts;
        notices
    }

    fn refusals(&mut self, now: Duration, counts: [u64; 3]) -> Option<Notice> {
        let more = counts != self.seen.refused;
        let Some(refusing) = &mut self.refusing else {
            if !more {
                return None;
            }
            let before = self.seen.refused;
            let told = Told { at: Some(now), counts: counts.to_vec() };
            self.refusing = Some(Refusing { began: now, last: now, before, told });
            return listed(&counts, &before, REASONS.into_iter()).map(Notice::RefusingBegins);
        };
        if more {
            refusing.last = now;
        }
        if now >= refusing.last + PERIOD {
            let lasted = refusing.last - refusing.began;
            let counts = listed(&counts, &refusing.before, REASONS.into_iter());
            self.refusing = None;
            return counts.map(|counts| Notice::RefusingEnded { counts, lasted });
        }
        let within = now - refusing.told.at.unwrap_or(now);
        let counts = refusing.told.due(now, &counts, REASONS.into_iter())?;
        Some(Notice::Refused { counts, within })
    }
}

impl Told {
    /// What came since the last line, where a line is due.
    fn due<'a>(
        &mut self,
        now: Duration,
        counts: &[u64],
        names: impl Iterator<Item = &'a str>,
    ) -> Option<String> {
        if self.at.is_some_and(|at| now < at + PERIOD) {
            return None;
        }
        let text = listed(counts, &self.counts, names)?;
        self.at = Some(now);
        self.counts = counts.to_vec();
        Some(text)
    }
}

fn part_names() -> impl Iterator<Item = &'static str> {
    Malformed::ALL.iter().map(|part| part.name())
}

/// The sum and its parts, such as `12 (9 head, 3 chunk)`; `None` where there is nothing new.
fn listed<'a>(
    counts: &[u64],
    before: &[u64],
    names: impl Iterator<Item = &'a str>,
) -> Option<String> {
    let before = before.iter().copied().chain(std::iter::repeat(0));
    let more = counts.iter().zip(before).map(|(count, before)| count - before);
    let parts: Vec<_> = names.zip(more).filter(|(_, count)| *count > 0).collect();
    let sum: u64 = parts.iter().map(|(_, count)| count).sum();
    let parts: Vec<_> = parts.iter().map(|(name, count)| format!("{count} {name}")).collect();
    (sum > 0).then(|| format!("{sum} ({})", parts.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of a course of `(second, refused at once, after a wait)`.
    fn told(course: impl IntoIterator<Item = (u64, u64, u64)>) -> Vec<(u64, String)> {
        let mut digest = Digest::default();
        let mut lines = Vec::new();
        for (second, at_once, late) in course {
            let counts = Counts { refused: [at_once, late, 0], ..Counts::default() };
            let notices = digest.observe(Duration::from_secs(second), counts);
            lines.extend(notices.iter().map(|notice| (second, notice.to_string())));
        }
        lines
    }

    #[test]
    fn the_log_tells_when_refusing_begins_goes_on_and_ends() {
        // One refusal a second from 10 s to 150 s, the last 41 after a wait.
        let course = (0..300).map(|second| {
            let refused = u64::clamp(second, 9, 150) - 9;
            (second, refused.min(100), refused.saturating_sub(100))
        });
        let wait = "after a wait (admission.hold_time)";
        assert_eq!(
            told(course),
            [
                (10, "new sessions are refused: 1 (1 at once)".into()),
                (70, "new sessions refused in the last 60 s: 60 (60 at once)".into()),
                (130, format!("new sessions refused in the last 60 s: 60 (39 at once, 21 {wait})")),
                (190, format!("new sessions refused in the last 60 s: 20 (20 {wait})")),
                (
                    210,
                    format!(
                        "new sessions are no longer refused; in 140 s: 141 (100 at once, 41 {wait})"
                    )
                ),
            ]
        );
    }

    #[test]
    fn refusals_that_come_and_go_are_one_time_of_refusing() {
        // Three seconds of refusals every half minute.
        let refused = |second: u64| second / 30 * 3 + (second % 30).min(3);
        let lines = told((0..600).map(|second| (second, refused(second), 0)));
        assert_eq!(lines.len(), 10, "{lines:?}");
        assert!(
            lines[1..]
                .iter()
                .all(|(_, line)| line.starts_with("new sessions refused in the last 60 s: 6"))
        );
        assert!(lines.windows(2).all(|pair| pair[1].0 - pair[0].0 >= 60));
    }

    #[test]
    fn a_gate_that_refuses_nobody_says_nothing() {
        assert!(told((0..1_000).map(|second| (second, 0, 0))).is_empty());
    }

    #[test]
    fn malformed_messages_are_told_once_a_minute_by_part_and_side() {
        let mut totals = Totals::default();
        let mut digest = Digest::default();
        let mut lines = Vec::new();
        for second in 0..121 {
            if second == 1 {
                totals.malformed_requests[Malformed::Head] += 1;
            }
            if second == 20 {
                totals.malformed_requests[Malformed::Chunk] += 2;
                totals.ends[End::MalformedHello] += 3;
                totals.malformed_responses[Malformed::Trailer] += 4;
            }
            let now = Duration::from_secs(second);
            for notice in digest.observe(now, Counts::of(&totals)) {
                lines.push((second, notice.level(), notice.to_string()));
            }
        }
        let line = |second, level, text: &str| (second, level, text.to_owned());
        assert_eq!(
            lines,
            [
                line(1, Level::INFO, "malformed from customers: 1 (1 head)"),
                line(20, Level::WARN, "malformed from the upstream: 4 (4 trailer)"),
                line(61, Level::INFO, "malformed from customers: 5 (3 hello, 2 chunk)"),
            ]
        );
    }
}
