//! Plain text: one line per second while a test runs, and the report at its end.

use super::addresses::addresses;
use super::answers::{answers, not_offered, pages};
use super::failures::failures;
use super::groups::groups;
use super::number::{ms, per_second};
use super::paragraph::paragraph;
use super::percentiles::{explained, percentiles, time};
use super::redirects::redirects;
use crate::outcome::Failure;
use crate::outcome::{Name, Stage};
use crate::result::driver::{AgentOf, Driver};
use crate::result::figures::Negotiated;
use crate::result::snapshot::Snapshot;
use crate::result::summary::Summary;
use crate::result::threshold_result::ThresholdResult;

/// The second that this snapshot completes, in one line without control sequences; `None` if
/// it completes none. The last interval of a run may be shorter.
pub fn line(snapshot: &Snapshot) -> Option<String> {
    let second = snapshot.second.as_ref()?;
    let stage = if second.measured { "measure" } else { "warm-up" };
    let times = &second.response;
    let response = match times.is_empty() {
        true => "no response".to_owned(),
        false => format!("p50 {} p95 {} ms", time(times.p50()), time(times.p95())),
    };
    let mut line = format!(
        "{:7.2} s {stage} sessions/s: offered {:.1} admitted {:.1} refused {:.1} completed {:.1} \
         abandoned {:.1} failed {:.1} | in flight {} | requests/s {:.0} | {response} | \
         handshakes/s full {:.0} resumed {:.0} | driver {:.0} %",
        second.at_s,
        second.offered_per_s,
        second.admitted_per_s,
        second.refused_per_s,
        second.completed_per_s,
        second.abandoned_per_s,
        second.failed_per_s,
        second.in_flight,
        second.requests_per_s,
        second.full_handshakes_per_s,
        second.resumed_handshakes_per_s,
        second.driver_cpu_share * 100.0,
    );
    if !snapshot.driver_warnings.is_empty() {
        line.push_str(" | SATURATED");
    }
    Some(line)
}

/// Adds an entry, see [`put`].
macro_rules! entry {
    ($out:ident, $($text:tt)*) => { put(&mut $out, &format!($($text)*)) };
}

/// The report of a result, warnings first.
pub fn report(summary: &Summary) -> String {
    let mut out = String::new();
    let totals = &summary.totals;
    for reason in &summary.driver.saturated_because {
        row(&mut out, &paragraph("SATURATED: ", reason));
    }
    for reason in &summary.incomplete {
        row(&mut out, &paragraph("INCOMPLETE: ", reason));
    }
    if let Some(error) = &summary.raw_error {
        entry!(out, "FILE INCOMPLETE: {error}");
    }
    if let Some(aborted) = &summary.aborted {
        let text = format!("{}, {:.1} s after the start", limited(&aborted.verdict), aborted.at_s);
        row(&mut out, &paragraph("ABORTED: ", &text));
    }
    for warning in summary.warnings.iter().chain(&summary.driver.warned_because) {
        row(&mut out, &paragraph("WARNING: ", warning));
    }
    let length = &summary.session_length;
    let title = format!(
        "{} at {}: {:.1} s measured after {:.1} s{}, seed {}",
        summary.scenario,
        summary.target,
        summary.measured_s,
        summary.warm_up_s,
        if summary.interrupted { " (stopped early)" } else { "" },
        summary.seed
    );
    row(&mut out, &paragraph("", &title));
    if let Some(shard_result) = &summary.shard_result {
        entry!(
            out,
            "shard           {} of the load; `tidegate load merge` adds up all shards",
            shard_result.shard()
        );
    }
    entry!(out, "arrivals        {}", summary.arrivals);
    entry!(
        out,
        "session length  mean {:.1}, median {}, p99 {} requests",
        length.mean_requests,
        length.median_requests,
        length.p99_requests
    );
    entry!(
        out,
        "sessions/s      offered {}, admitted {}, refused {}, completed {}, abandoned {}, \
             failed {}",
        per_second(summary.offered_per_s),
        per_second(summary.admitted_per_s),
        per_second(summary.refused_per_s),
        per_second(summary.completed_per_s),
        per_second(summary.abandoned_per_s),
        per_second(summary.failed_per_s)
    );
    entry!(
        out,
        "sessions        offered {}, started {}, refused {}{}, failed {}{}, abandoned {}{}, \
             completed {}, unfinished {}; {:.1} % of those admitted completed",
        totals.offered,
        totals.started,
        totals.refused,
        kinds(&totals.refused_by_kind),
        totals.failed,
        kinds(&totals.failed_by_kind),
        totals.abandoned,
        kinds(&totals.abandoned_by_stage),
        totals.completed,
        totals.cut_off,
        summary.completed_ratio * 100.0
    );
    entry!(
        out,
        "requests        {}/s, ok {}, failed {}",
        per_second(summary.requests_per_s),
        totals.requests_ok,
        totals.requests_failed
    );
    if let Some(entry) = not_offered(totals) {
        row(&mut out, &entry);
    }
    for entry in answers(totals, &summary.responses_by_status) {
        row(&mut out, &entry);
    }
    if totals.encoded_responses > 0 {
        entry!(
            out,
            "compressed      {} responses; {} KB received in all",
            totals.encoded_responses,
            totals.received_bytes / 1000
        );
    }
    if totals.sessions_returned + totals.requests_reloaded > 0 {
        entry!(
            out,
            "impatience      {} sessions returned, {} requests were repeated",
            totals.sessions_returned,
            totals.requests_reloaded
        );
    }
    if totals.waiting_pages > 0 {
        entry!(
            out,
            "waiting room    {} let in after {} s on average, {} left; {} pages",
            totals.waited,
            ms(totals.waited_ms as f64 / 1e3 / totals.waited.max(1) as f64),
            totals.abandoned_by_stage.get(Stage::Waiting.name()).copied().unwrap_or_default(),
            totals.waiting_pages
        );
    }
    if totals.redirects > 0 {
        let text = "followed, each a further request beside those above";
        entry!(out, "redirects       {} {text}", totals.redirects);
    }
    for paragraph in redirects(summary) {
        row(&mut out, &paragraph);
    }
    for line in failures(summary) {
        row(&mut out, &line);
    }
    failed_checks(&mut out, summary);
    entry!(out, "response        {}", percentiles(&summary.response));
    entry!(out, "  uncorrected   {}", percentiles(&summary.response_uncorrected));
    for line in pages(summary) {
        row(&mut out, &line);
    }
    for line in groups("class", &summary.classes).iter().chain(&groups("arrivals", &summary.models))
    {
        row(&mut out, line);
    }
    let phases = &summary.phases;
    for (name, phase) in [
        ("connect", &phases.connect),
        ("full TLS", &phases.full_handshake),
        ("resumed TLS", &phases.resumed_handshake),
        ("first byte", &phases.first_byte),
        ("last byte", &phases.last_byte),
    ] {
        // Empty phases, such as handshakes over plain HTTP, are left out.
        if phase.count > 0 {
            entry!(out, "{name:15} {}", percentiles(phase));
        }
    }
    if let Some(explained) = explained(summary) {
        row(&mut out, &explained);
    }
    if totals.full_attempted + totals.resumed_attempted > 0 {
        entry!(
            out,
            "handshakes      full {} of {}, resumed {} of {}; {:.1} % full{}",
            totals.full_ok,
            totals.full_attempted,
            totals.resumed_ok,
            totals.resumed_attempted,
            summary.full_handshake_share * 100.0,
            not_resumed(summary)
        );
    }
    if !summary.tls.is_empty() {
        entry!(out, "tls             {}", negotiated(&summary.tls));
    }
    if let Some(line) = addresses(&summary.addresses) {
        entry!(out, "{line}");
    }
    entry!(
        out,
        "driver          {}{}, missed starts {} of {}, start delay p95 {} \
             ms, loop delay p99 {} ms",
        threads(summary.driver.threads),
        busiest(&summary.driver),
        totals.missed_starts,
        totals.starts,
        ms(summary.driver.start_delay.p95_ms),
        ms(summary.driver.loop_delay.p99_ms)
    );
    for it in &summary.drivers {
        let driver = &it.driver;
        entry!(
            out,
            "driver {:8} {}{}, {:.2} % of starts missed, loop delay p99 {} \
                 ms{}{}",
            it.shard.to_string(),
            threads(driver.threads),
            busiest(driver),
            driver.missed_share * 100.0,
            ms(driver.loop_delay.p99_ms),
            if driver.saturated_because.is_empty() { "" } else { ", SATURATED" },
            it.agent.as_ref().map(of_agent).unwrap_or_default()
        );
    }
    for verdict in &summary.thresholds {
        // Of few answers, the next run can come out the other way.
        let word = match (verdict.met, verdict.few) {
            (true, None) => "ok    ",
            (true, Some(_)) => "CHANCE",
            (false, _) => "MISSED",
        };
        row(&mut out, &format!("{word} {}", limited(verdict)));
    }
    out
}

/// The agent of a driver, with its clock.
fn of_agent(agent: &AgentOf) -> String {
    let AgentOf { name, clock_ahead_ms, clock_error_ms } = agent;
    format!(", on {name}, clock {clock_ahead_ms:+.1} ± {clock_error_ms:.1} ms")
}

/// A figure with its limits.
fn limited(verdict: &ThresholdResult) -> String {
    let limit = verdict.limits(|value| value.to_string());
    let value = verdict.value.map_or("no data".to_owned(), |value| format!("{value:.3}"));
    let relation = if verdict.is_lower_bound { ">" } else { "=" };
    let few = verdict.few.map(|few| format!(", {} of {} answers", few.answers, few.needed));
    format!("{} {relation} {value} ({limit}){}", verdict.metric, few.unwrap_or_default())
}

/// Negotiated parameters with their numbers.
fn negotiated(all: &[Negotiated]) -> String {
    let lines = all.iter().map(|it| {
        let group = it.group.as_ref().map(|group| format!(" {group}")).unwrap_or_default();
        let Negotiated { version, suite, full, resumed, .. } = it;
        format!("{version} {suite}{group} (full {full}, resumed {resumed})")
    });
    lines.collect::<Vec<_>>().join("; ")
}

/// Most failed checks that are listed.
const FAILED_CHECKS: usize = 10;

/// The failed checks.
fn failed_checks(out: &mut String, summary: &Summary) {
    // Redirects have lines of their own.
    let redirect = Failure::RedirectElsewhere.name();
    let checks = summary.failed_checks.iter().filter(|check| check.kind != redirect);
    for check in checks.clone().take(FAILED_CHECKS) {
        put(
            out,
            &format!(
                "{:15} {} ({}): expected {}; found {}",
                check.kind.replace('_', " "),
                check.page,
                check.count,
                check.expected,
                check.example
            ),
        );
    }
    if let Some(more @ 1..) = checks.count().checked_sub(FAILED_CHECKS) {
        put(out, &format!("                and {more} more kinds, all in the JSON"));
    }
}

/// The CPU share of the busiest thread; nothing where the run was too short to tell.
fn busiest(driver: &Driver) -> String {
    let percent = driver.cpu_share * 100.0;
    if percent > 0.0 { format!(", busiest {percent:.0} % CPU") } else { String::new() }
}

fn threads(number: usize) -> String {
    if number == 1 { "1 thread".to_owned() } else { format!("{number} threads") }
}

/// The requested share of full handshakes, and those that could not be resumed.
fn not_resumed(summary: &Summary) -> String {
    let totals = &summary.totals;
    let requested =
        summary.full_share_asked.map(|share| format!(" ({:.1} % requested)", share * 100.0));
    let reasons = [
        (totals.resumption_declined, "declined by the server"),
        (totals.resumption_without_ticket, "without a ticket"),
    ];
    let reasons = reasons.iter().filter(|(count, _)| *count > 0);
    let reasons = reasons.map(|(count, what)| format!("; {count} {what}")).collect::<String>();
    requested.unwrap_or_default() + &reasons
}

/// Columns of the label of an entry.
const LABEL: usize = 16;

/// An entry: a label, and a text that continues below itself.
fn put(out: &mut String, text: &str) {
    match text.split_at_checked(LABEL) {
        Some((label, text)) if label.ends_with(' ') => row(out, &paragraph(label, text)),
        _ => row(out, text),
    }
}

/// A line as it is, such as that of a table.
fn row(out: &mut String, line: &str) {
    out.push_str(line);
    out.push('\n');
}

fn kinds(counts: &std::collections::BTreeMap<Name, u64>) -> String {
    if counts.is_empty() {
        return String::new();
    }
    let parts: Vec<String> = counts.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    format!(" ({})", parts.join(", "))
}
