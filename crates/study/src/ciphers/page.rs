//! The page: what to choose first, and the figures behind it.

use maud::{Markup, html};
use tidegate_host::Machine;
use tidegate_report::Page;
use tidegate_report::number::number;
use tidegate_report::words::capital;

use super::{Report, tables, words};

/// The whole page.
pub(super) fn page(report: &Report) -> String {
    let options = &report.options;
    let site = options.plan.target.trim_end_matches('/');
    let advice = &report.advice;
    let findings = advice
        .findings
        .iter()
        .map(|it| (format!("{}: {}", capital(it.factor.name()), it.choose), it.text.as_str()));
    Page::new(format!("TLS of {site}"))
        .kicker(html! { "What TLS costs at " span.address { (site) } " · scenario " (options.plan.scenario.name()) @if options.quick { " · short run, rough figures" } })
        .headline(&advice.headline, html! { (advice.connections.first().map_or("", String::as_str)) })
        .notes(&words::notes(report))
        .heading("What to choose")
        .facts(findings)
        .heading("Connections that are kept or resumed")
        .paragraphs(&advice.connections)
        .heading(&format!("What a session of {} requests costs", number(report.requests_each)))
        .table(&tables::sessions(report).class("dense"))
        .soft(html! { "Bytes are above TCP, both ways; a round trip opens a connection, answers a flight of the customer, or continues a flight that exceeds the window of TCP. The share of handshakes contains opening their connections." })
        .heading("What a connection costs")
        .table(&tables::connections(report).class("dense"))
        .soft(html! { "The difference of sessions with a connection for each interaction from sessions whose connections stay open, in the same round, per handshake." })
        .heading("How it was measured")
        .definitions(setting(report))
        .html()
}

fn setting(report: &Report) -> Markup {
    let machine = Machine::read();
    let lacking = report.not_offered.iter().map(|it| it.level.as_str()).collect::<Vec<_>>();
    html! {
        dt { "Runs" } dd { (format!("{} runs. Each kind of connection was used in each way once in every round, in random order; differences are those within rounds, with 95 % intervals. Nobody thinks.", report.trials.len())) }
        dt { "Bytes and round trips" } dd { "counted by a relay, with one customer at a time" }
        dt { "Customers get today" } dd { (report.kinds[0].levels()) }
        dt { "This scenario's customers come" } dd { (report.own_mode.clause()) }
        @if !lacking.is_empty() { dt { "Not offered by the site" } dd { (lacking.join(", ")) } }
        dt { "The site's processes" } dd { @match &report.processes { Some(it) => (it), None => "not seen: the site was measured from outside" } }
        dt { "Machine" } dd { (machine.to_string()) " · " (machine.system) }
        dt { "Command" } dd { code { (report.provenance.command) } }
        dt { "Commit" } dd { (report.provenance.commit) }
        dt { "Raw data" } dd { "operations/: the result of each run with its histograms (JSON); results.parquet: a row for each run" }
    }
}
