//! The state of the load generator, and how the run can be repeated.

use jiff::Timestamp;
use maud::{Markup, html};

use super::format::{Percentile, count, number, percent, plural, seconds, share};
use tidegate_load::Summary;
use tidegate_load::result::driver::{Driver, Machine};

/// The load generators, with their delays.
pub(super) fn drivers(run: &Summary) -> Markup {
    let driver = &run.driver;
    html! {
        div.scroll { table.dense {
            thead { tr {
                th { "load generator" } th { "threads" } th { "CPU of the busiest" } th { "CPU time" }
                th { "late starts" } th { "stalled" }
                th { "start delay p50 ms" } th { "p99 ms" } th { "loop delay p50 ms" } th { "p99 ms" }
            } }
            tbody {
                (row(if run.drivers.is_empty() { "this process" } else { "all" }, driver))
                @for one in &run.drivers { (row(&format!("{} on {}", one.shard, one.machine.cpu), &one.driver)) }
            }
        } }
        p.soft {
            (plural(run.totals.missed_starts, "start", "starts")) " of " (count(run.totals.starts)) " ("
            (share(run.totals.missed_starts, run.totals.starts)) ") came more than 10 ms after the intended time. "
            "Response times count from the intended time, so that this delay is part of them."
        }
    }
}

fn row(name: &str, driver: &Driver) -> Markup {
    html! { tr {
        td.title { (name) } td { (driver.threads) }
        td { (percent(driver.cpu_share)) } td { (seconds(driver.cpu_s)) }
        td { (percent(driver.missed_share)) } td { (percent(driver.stalled_share)) }
        @for delay in [&driver.start_delay, &driver.loop_delay] {
            td { (Percentile::P50.text(delay)) } td { (Percentile::P99.text(delay)) }
        }
    } }
}

/// Everything that the figures depend on.
pub(super) fn how(run: &Summary) -> Markup {
    let totals = &run.totals;
    html! { dl.how {
        dt { "Target" } dd { (run.target) }
        dt { "Scenario" } dd { (run.scenario) ": sessions of " (number(run.session_length.mean_requests)) " requests on average" }
        dt { "Arrivals" } dd { (run.arrivals) }
        dt { "Time" } dd {
            (started(run)) "; " (seconds(run.measured_s)) " measured after " (seconds(run.warm_up_s)) " of warm-up" }
        dt { "Patience" } dd { (seconds(run.patience_ms / 1000.0)) " from the intended start to the last byte"
            @if run.time_scale != 1.0 { "; think times and patience × " (run.time_scale) }
            @if run.patience_scale != 1.0 && run.patience_scale > 0.0 { "; patience × " (run.patience_scale) " in addition" } }
        @if !run.http.is_empty() { dt { "HTTP" } dd { (run.http) } }
        @if totals.full_attempted > 0 || totals.resumed_attempted > 0 {
            dt { "Handshakes" } dd {
                (count(totals.full_ok)) " full of " (count(totals.full_attempted)) ", "
                (count(totals.resumed_ok)) " resumed of " (count(totals.resumed_attempted))
                "; " (share(totals.full_ok, totals.full_ok.saturating_add(totals.resumed_ok))) " full"
                @if let Some(asked) = run.full_share_asked { " (" (percent(asked)) " requested)" }
                @if totals.resumption_declined > 0 { "; " (count(totals.resumption_declined)) " declined by the server" }
                @if totals.resumption_without_ticket > 0 { "; " (count(totals.resumption_without_ticket)) " without a ticket" } }
        }
        @for tls in &run.tls {
            dt { "TLS " (tls.version) } dd {
                (tls.suite) @if let Some(group) = &tls.group { ", " (group) }
                ": " (count(tls.full)) " full, " (count(tls.resumed)) " resumed" }
        }
        dt { "Seed" } dd { (run.seed) }
        @if !run.version.is_empty() { dt { "Version" } dd { "tidegate " (run.version) } }
        dt { "Machine" } dd { (machine(&run.machine)) }
        @if !run.command.is_empty() { dt { "Command" } dd { code { (run.command) } } }
    } }
}

fn machine(machine: &Machine) -> String {
    let cpu = if machine.cpu.is_empty() { "unknown processor" } else { &machine.cpu };
    format!(
        "{cpu}, {}, Linux {}",
        plural(machine.cpus as u64, "processor", "processors"),
        machine.kernel
    )
}

/// When the run started, in UTC.
pub(super) fn started(run: &Summary) -> String {
    let at = i64::try_from(run.started_at_unix_ms).ok();
    let at = at.and_then(|ms| Timestamp::from_millisecond(ms).ok());
    at.map_or("unknown".to_owned(), |at| at.strftime("%-d %B %Y, %H:%M:%S UTC").to_string())
}
