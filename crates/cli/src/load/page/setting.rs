//! The state of the load generator, and how the run can be repeated.

use jiff::Timestamp;
use maud::{Markup, html};
use tidegate_report::number::{count, number, percent, plural, seconds, share};
use tidegate_report::{Cell, Page, Table};

use super::percentile::Percentile;
use tidegate_load::result::driver::{Driver, Machine};
use tidegate_load::{AgentOf, Summary};

/// The load generators, with their delays.
pub(super) fn drivers(page: Page, run: &Summary) -> Page {
    let heads = ["load generator", "threads", "CPU of the busiest", "CPU time", "late starts"];
    let delays = ["stalled", "start delay p50 ms", "p99 ms", "loop delay p50 ms", "p99 ms"];
    let mut table = Table::new(heads.into_iter().chain(delays)).class("dense");
    let mut row = |name: String, driver: &Driver| {
        let delays = [&driver.start_delay, &driver.loop_delay];
        let delays = delays.map(|it| [Percentile::P50, Percentile::P99].map(|of| of.text(it)));
        let figures = [
            driver.threads.to_string(),
            percent(driver.cpu_share),
            seconds(driver.cpu_s),
            percent(driver.missed_share),
            percent(driver.stalled_share),
        ];
        let figures = figures.into_iter().chain(delays.concat()).map(Cell::from);
        table.row([Cell::from(name).class("title")].into_iter().chain(figures));
    };
    row(if run.drivers.is_empty() { "this process" } else { "all" }.into(), &run.driver);
    for one in &run.drivers {
        let agent = one.agent.as_ref().map(|agent| {
            let AgentOf { name, clock_ahead_ms, clock_error_ms } = agent;
            format!(" by {name}, clock {clock_ahead_ms:+.1} ± {clock_error_ms:.1} ms,")
        });
        let agent = agent.unwrap_or_default();
        row(format!("{}{agent} on {}", one.shard, one.machine.cpu), &one.driver);
    }
    let (missed, starts) = (run.totals.missed_starts, run.totals.starts);
    page.table(&table).soft(html! {
        (plural(missed, "start", "starts")) " of " (count(starts)) " ("
        (share(missed, starts)) ") came more than 10 ms after the intended time. "
        "Response times count from the intended time, so that this delay is part of them."
    })
}

/// Everything that the figures depend on.
pub(super) fn how(run: &Summary) -> Vec<(String, Markup)> {
    let totals = &run.totals;
    let mut facts = Vec::new();
    let mut fact = |name: &str, is: Markup| facts.push((name.to_owned(), is));
    fact("Target", html! { (run.target) });
    fact(
        "Scenario",
        html! { (run.scenario) ": sessions of " (number(run.session_length.mean_requests)) " requests on average" },
    );
    fact("Arrivals", html! { (run.arrivals) });
    fact(
        "Time",
        html! { (started(run)) "; " (seconds(run.measured_s)) " measured after " (seconds(run.warm_up_s)) " of warm-up" },
    );
    fact(
        "Patience",
        html! { (seconds(run.patience_ms / 1000.0)) " from the intended start to the last byte"
        @if run.time_scale != 1.0 { "; think times and patience × " (run.time_scale) }
        @if run.patience_scale != 1.0 && run.patience_scale > 0.0 { "; patience × " (run.patience_scale) " in addition" } },
    );
    if !run.http.is_empty() {
        fact("HTTP", html! { (run.http) });
    }
    if totals.full_attempted > 0 || totals.resumed_attempted > 0 {
        fact(
            "Handshakes",
            html! {
            (count(totals.full_ok)) " full of " (count(totals.full_attempted)) ", "
            (count(totals.resumed_ok)) " resumed of " (count(totals.resumed_attempted))
            "; " (share(totals.full_ok, totals.full_ok.saturating_add(totals.resumed_ok))) " full"
            @if let Some(asked) = run.full_share_asked { " (" (percent(asked)) " requested)" }
            @if totals.resumption_declined > 0 { "; " (count(totals.resumption_declined)) " declined by the server" }
            @if totals.resumption_without_ticket > 0 { "; " (count(totals.resumption_without_ticket)) " without a ticket" } },
        );
    }
    for tls in &run.tls {
        fact(
            &format!("TLS {}", tls.version),
            html! {
            (tls.suite) @if let Some(group) = &tls.group { ", " (group) }
            ": " (count(tls.full)) " full, " (count(tls.resumed)) " resumed" },
        );
    }
    fact("Seed", html! { (run.seed) });
    if !run.version.is_empty() {
        fact("Version", html! { "tidegate " (run.version) });
    }
    fact("Machine", html! { (machine(&run.machine)) });
    if !run.command.is_empty() {
        fact("Command", html! { code { (run.command) } });
    }
    facts
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
