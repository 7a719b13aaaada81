//! The report page.

use maud::{Markup, html};
use serde_json::Value;
use tidegate_report::number::{NONE, or_none, with_interval};
use tidegate_report::{Cell, Column, Figure, HeadAndCell, Page, Palette, Table};

use super::plan::{USUAL_PAYLOAD, Volume};
use super::words::{headline, number, round, table};
use tidegate_experiment::{Claim, Row, Summary, Verdict};

/// The whole page. `drawn` are all its figures, `palette` how their lines look.
pub(super) fn html(
    summary: &Summary,
    drawn: &[Figure],
    palette: &Palette,
    notes: &[String],
    volume: &Volume,
) -> String {
    let count = |verdict| summary.count(verdict);
    let rows = |name: &str, columns| Table::of(table(summary, name), columns).class(DENSE);
    let page = Page::new("Tidegate study: messages")
        .style(palette.style() + STYLE)
        .kicker(html! { "Study messages" @if summary.quick { " · quick run, its figures are rough" } })
        .headline(&headline(summary), html! {
            "The same small service in the clear, with security per connection and with security per message. Of "
            (summary.claims.len()) " claims " (count(Verdict::Holds)) " hold here, "
            (count(Verdict::DoesNotHold)) " do not, and " (count(Verdict::Undecided)) " are undecided. The tables have the intervals."
        })
        .notes(notes)
        .heading("Key numbers")
        .soft(html! { "Measured here, and beside them those of the paper: Tomcat 5 on two processors of 450 MHz. Of GT3, a SOAP toolkit of that time, it reports the frequency alone." })
        .table(&rows("key_numbers", KEY_NUMBERS))
        .heading("What security costs")
        .soft(html! { "How many times fewer requests per second than the same service in the clear, with two clients." })
        .table(&rows("overheads", OVERHEADS))
        .heading("CPU and bytes of a small message")
        .soft(html! { "Payload of " (USUAL_PAYLOAD) " bytes on a kept connection." })
        .table(&bars(summary))
        .heading("Claims")
        .table(&claims(summary))
        .heading("Figures")
        .figures(drawn.iter().map(Figure::on_page))
        .soft(html! { "Scales of time, CPU and bytes are logarithmic. The figures are in " code { "figures/" } " as SVG and PNG." })
        .heading("A connection per request, and kept")
        .soft(html! { "Each request on one kept connection, on a new one that resumes the session of TLS, and on a new one." })
        .table(&rows("connections", CONNECTIONS))
        .folded("By size of the payload", &rows("sizes", SIZES))
        .heading("How it was measured")
        .raw(how(summary, volume));
    page.html()
}

/// CPU and bytes of the smallest message as bars.
fn bars(summary: &Summary) -> Table {
    const BARS: [(&str, &str, &str); 4] = [
        ("CPU of the server", "server_cpu_us", "µs"),
        ("CPU of the client", "client_cpu_us", "µs"),
        ("Sent", "bytes_out", "B"),
        ("Received", "bytes_in", "B"),
    ];
    let small = |row: &&Row| row["payload_bytes"] == USUAL_PAYLOAD;
    let rows: Vec<&Row> = table(summary, "sizes").iter().filter(small).collect();
    let bar = |row: &Row, name: &str, unit: &str| {
        let of = |row: &&Row| number(row, name);
        let most = rows.iter().filter_map(of).fold(f64::MIN_POSITIVE, f64::max);
        let Some(value) = number(row, name) else { return Cell::from(NONE) };
        let shown = html! {
            i style=(format!("width: {:.1}%", value / most * 100.0)) {}
            span { (round(value)) " " (unit) }
        };
        Cell::from(round(value)).markup(shown)
    };
    let heads = BARS.iter().map(|(head, ..)| *head);
    let mut table = Table::new(["Configuration"].into_iter().chain(heads)).class(DENSE);
    for row in &rows {
        let bars = BARS.iter().map(|(_, name, unit)| bar(row, name, unit).class("amount"));
        table.row([text(row, "configuration").into()].into_iter().chain(bars));
    }
    table
}

fn claims(summary: &Summary) -> Table {
    let heads = ["Claim", "Here", "Measured", "Demanded"];
    let mut table = Table::new(heads.map(Column::new)).class(DENSE);
    for claim in &summary.claims {
        let verdict = claim.verdict.words();
        let told = html! { (claim.text) small { (claim.id) " · " (claim.source) } };
        table.row([
            Cell::default().markup(told).class("claim"),
            Cell::from(verdict).class(verdict.replace(' ', "-")),
            measured(claim).into(),
            demanded(claim).into(),
        ]);
    }
    table
}

fn how(summary: &Summary, volume: &Volume) -> Markup {
    let (machine, provenance) = (&summary.machine, &summary.provenance);
    let Volume { requests, rounds } = *volume;
    html! { dl.how {
        dt { "Rounds" } dd { (rounds) ", in each of which every configuration is started anew once, in random order" }
        dt { "Series" } dd { (requests) " requests of one client from the start on, then " (requests) " of two clients at a time, then connections and sizes. Requests follow each other without a pause; client and server share all processors, as in the paper" }
        dt { "A request" } dd { "From before the message is made until its answer was verified. The answer to a payload is short" }
        dt { "Once warm" } dd { "The second half of a series" }
        dt { "Requests per second" } dd { "Of two clients without pauses: their number divided by the mean time of a request" }
        dt { "First answer" } dd { "From the start of the server's process until it reports that it is ready, and the first request" }
        dt { "CPU" } dd { "Of the whole server process, on Java with its compiler and garbage collector; of the client's threads, on Java without them. Bytes are counted at the socket, below TLS" }
        dt { "Security" } dd { "rust-https: TLS 1.3, ECDSA P-256. rust-jose: ES256 in ECDH-ES with A256GCM, a new key pair per message. rust-cose: ES256 in A256GCM under a shared secret. rust-http-signatures: signed, not encrypted. rust-xml: XML Signature with ECDSA P-256 in XML Encryption with ECDH-ES and AES-256-GCM, a new key pair per message. soap-wss: signed and encrypted by WSS4J with RSA" }
        dt { "Intervals" } dd { "95 %, by Student's t over the rounds, each with a server of its own; ratios from logarithms. A verdict takes five rounds" }
        dt { "Machine" } dd { (machine) ", " (machine.system) ", " (machine.cpus) " processors" }
        dt { "Commit" } dd { (provenance.commit) }
        dt { "Command" } dd { code { (provenance.command) } }
        dt { "Data" } dd { code { "requests.parquet" } " has every request, " code { "results.parquet" } " a row for each configuration and round, " code { "summary.json" } " the tables and claims of this page" }
    } }
}

fn text(row: &Row, name: &str) -> String {
    match row.get(name) {
        Some(Value::String(text)) => text.clone(),
        _ => or_none(number(row, name), round),
    }
}

/// A figure with its interval, from what holds them by name.
fn interval(
    of: impl Fn(&str) -> Option<f64>,
    mean: &str,
    [low, high]: [&str; 2],
) -> Option<String> {
    Some(with_interval(of(mean)?, (of(low)?, of(high)?), round))
}

fn estimate(row: &Row, name: &str) -> String {
    let [low, high] = ["low", "high"].map(|end| format!("{name}_{end}_95"));
    or_none(interval(|name| number(row, name), name, [&low, &high]), |it| it)
}

fn evidence(claim: &Claim, name: &str) -> Option<f64> {
    claim.evidence.get(name).and_then(Value::as_f64)
}

fn measured(claim: &Claim) -> String {
    let found = interval(|name| evidence(claim, name), "mean", ["low_95", "high_95"]);
    found.unwrap_or_else(|| "not measured".into())
}

fn demanded(claim: &Claim) -> String {
    match (evidence(claim, "at_least"), evidence(claim, "at_most")) {
        (Some(low), Some(high)) => format!("{} to {}", round(low), round(high)),
        (Some(low), None) => format!("at least {}", round(low)),
        (None, Some(high)) => format!("at most {}", round(high)),
        (None, None) => String::new(),
    }
}

const KEY_NUMBERS: &[HeadAndCell<'_, Row, String>] = &[
    ("Configuration", |row| text(row, "configuration")),
    ("Ready after, s", |row| text(row, "ready_s")),
    ("First answer after, s", |row| text(row, "first_answer_s")),
    ("First request, ms", |row| text(row, "first_request_ms")),
    ("Paper", |row| text(row, "paper_first_request_ms")),
    ("Once warm, ms", |row| estimate(row, "average_ms")),
    ("Paper", |row| text(row, "paper_average_ms")),
    ("Requests/s", |row| estimate(row, "overall_per_s")),
    ("Paper", |row| text(row, "paper_overall_per_s")),
];

const OVERHEADS: &[HeadAndCell<'_, Row, String>] = &[
    ("Configuration", |row| text(row, "configuration")),
    ("Compared with", |row| text(row, "compared_with")),
    ("Clear / secured", |row| estimate(row, "clear_by_secured")),
    ("Paper", |row| text(row, "paper_clear_by_secured")),
];

const CONNECTIONS: &[HeadAndCell<'_, Row, String>] = &[
    ("Configuration", |row| text(row, "configuration")),
    ("Connection", |row| text(row, "connection")),
    ("Time, ms", |row| estimate(row, "average_ms")),
    ("Server CPU, µs", |row| text(row, "server_cpu_us")),
    ("Client CPU, µs", |row| text(row, "client_cpu_us")),
    ("Sent, bytes", |row| text(row, "bytes_out")),
    ("Received, bytes", |row| text(row, "bytes_in")),
];

const SIZES: &[HeadAndCell<'_, Row, String>] = &[
    ("Configuration", |row| text(row, "configuration")),
    ("Payload, bytes", |row| text(row, "payload_bytes")),
    ("Time, ms", |row| estimate(row, "average_ms")),
    ("Server CPU, µs", |row| text(row, "server_cpu_us")),
    ("Client CPU, µs", |row| text(row, "client_cpu_us")),
    ("Sent, bytes", |row| text(row, "bytes_out")),
    ("Received, bytes", |row| text(row, "bytes_in")),
];

const DENSE: &str = "dense messages";

const STYLE: &str = "\
.note { border-left: 4px solid var(--amber); padding: 2px 0 2px 14px; max-width: 58em; font-size: 15px; }
.messages td:first-child, .messages th:first-child { text-align: left; }
.messages td.claim { white-space: normal; min-width: 18em; max-width: 34em; } .messages small { display: block; color: var(--soft); font-size: 13px; }
.messages .holds { color: var(--good); font-weight: 700; } .messages .does-not-hold { color: var(--bad); font-weight: 700; } .messages .undecided { color: var(--soft); font-weight: 600; }
.messages td.amount { position: relative; min-width: 130px; text-align: left; } .messages td.amount i { position: absolute; left: 4px; top: 4px; bottom: 4px; max-width: calc(100% - 8px); background: var(--tide); opacity: .28; border-radius: 3px; } .messages td.amount span { position: relative; padding-left: 6px; }
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_claim_demands_is_shown_with_the_limits_that_it_has() {
        let claim = |limits: &[(&str, f64)]| Claim {
            id: "id".into(),
            source: "source".into(),
            text: "text".into(),
            verdict: Verdict::Undecided,
            evidence: limits.iter().map(|(name, it)| ((*name).to_owned(), (*it).into())).collect(),
        };
        let shown = |limits: &[(&str, f64)]| demanded(&claim(limits));
        assert_eq!(shown(&[("at_least", 2.0)]), format!("at least {}", round(2.0)));
        assert_eq!(shown(&[("at_most", 1.5)]), format!("at most {}", round(1.5)));
        let both = format!("{} to {}", round(2.0), round(4.0));
        assert_eq!(shown(&[("at_least", 2.0), ("at_most", 4.0)]), both);
    }
}
