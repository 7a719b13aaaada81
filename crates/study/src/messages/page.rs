//! The report page.

use maud::{Markup, PreEscaped, html};
use serde_json::Value;
use tidegate_report::{Palette, figure};

use super::figures::Drawn;
use super::plan::{USUAL_PAYLOAD, Volume};
use super::words::{headline, number, round, table};
use tidegate_experiment::{Claim, Verdict};
use tidegate_experiment::{Row, Summary};

/// What the page shows.
pub(super) struct Page<'a> {
    pub(super) summary: &'a Summary,
    pub(super) drawn: &'a [Drawn],
    pub(super) palette: &'a Palette<'a>,
    pub(super) notes: &'a [String],
    pub(super) volume: &'a Volume,
}

/// A column: its title and how a cell of a row is shown.
type Column = (&'static str, fn(&Row) -> String);

impl Page<'_> {
    /// The whole page.
    pub(super) fn html(&self) -> String {
        let count = |verdict| self.summary.count(verdict);
        let content = html! {
            style { (PreEscaped(self.palette.style() + STYLE)) }
            p.kicker { "Study messages" @if self.summary.quick { " · quick run, its figures are rough" } }
            h1 { (headline(self.summary)) }
            p.lead {
                "The same small service in the clear, with security per connection and with security per message. Of "
                (self.summary.claims.len()) " claims " (count(Verdict::Holds)) " hold here, "
                (count(Verdict::DoesNotHold)) " do not, and " (count(Verdict::Undecided)) " are undecided. The tables have the intervals."
            }
            @for note in self.notes { p.note { (note) } }
            h2 { "Key numbers" }
            p.soft { "Ours, and beside them those of the paper: Tomcat 5 on two processors of 450 MHz. Of GT3, a SOAP toolkit of that time, it reports the frequency alone." }
            (self.rows("key_numbers", KEY_NUMBERS))
            h2 { "What security costs" }
            p.soft { "How many times fewer requests per second than the same service in the clear, with two clients." }
            (self.rows("overheads", OVERHEADS))
            h2 { "CPU and bytes of a small message" }
            p.soft { "Payload of " (USUAL_PAYLOAD) " bytes on a kept connection." }
            (self.bars())
            h2 { "Claims" }
            (self.claims())
            h2 { "Figures" }
            div.charts { @for drawn in self.drawn { (figure(drawn.title, drawn.note, &drawn.chart())) } }
            p.soft { "Scales of time, CPU and bytes are logarithmic. The figures are in " code { "figures/" } " as SVG and PNG." }
            h2 { "A connection per request, and kept" }
            p.soft { "Each request on one kept connection, on a new one that resumes the session of TLS, and on a new one." }
            (self.rows("connections", CONNECTIONS))
            details { summary { "By size of the payload" } (self.rows("sizes", SIZES)) }
            h2 { "How it was measured" }
            (self.how())
        };
        tidegate_report::page("Tidegate study: messages", &content)
    }

    fn rows(&self, name: &str, columns: &[Column]) -> Markup {
        let rows = table(self.summary, name);
        html! { div.scroll { table.dense.messages {
            thead { tr { @for (title, _) in columns { th { (title) } } } }
            tbody { @for row in rows { tr { @for (_, cell) in columns { td { (cell(row)) } } } } }
        } } }
    }

    /// CPU and bytes of the smallest message as bars.
    fn bars(&self) -> Markup {
        let small = |row: &&Row| row["payload_bytes"] == USUAL_PAYLOAD;
        let rows: Vec<&Row> = table(self.summary, "sizes").iter().filter(small).collect();
        let most = |name: &str| {
            rows.iter().filter_map(|row| number(row, name)).fold(f64::MIN_POSITIVE, f64::max)
        };
        let bar = |row: &Row, name: &str, unit: &str| {
            let value = number(row, name);
            let share = value.unwrap_or_default() / most(name) * 100.0;
            html! { td.amount {
                @if let Some(value) = value {
                    i style=(format!("width: {share:.1}%")) {} span { (round(value)) " " (unit) }
                } @else { span { "–" } }
            } }
        };
        html! { div.scroll { table.dense.messages {
            thead { tr { th { "Configuration" } th { "CPU of the server" } th { "CPU of the client" } th { "Sent" } th { "Received" } } }
            tbody { @for row in &rows { tr {
                td { (text(row, "configuration")) }
                (bar(row, "server_cpu_us", "µs")) (bar(row, "client_cpu_us", "µs"))
                (bar(row, "bytes_out", "B")) (bar(row, "bytes_in", "B"))
            } } }
        } } }
    }

    fn claims(&self) -> Markup {
        html! { div.scroll { table.dense.messages {
            thead { tr { th { "Claim" } th { "Here" } th { "Measured" } th { "Demanded" } } }
            tbody { @for claim in &self.summary.claims { tr {
                td.claim { (claim.text) small { (claim.id) " · " (claim.source) } }
                @let (class, words) = verdict(claim.verdict);
                td class=(class) { (words) }
                td { (measured(claim)) }
                td { (demanded(claim)) }
            } } }
        } } }
    }

    fn how(&self) -> Markup {
        let machine = &self.summary.machine;
        let Volume { requests, rounds } = *self.volume;
        html! { dl.how {
            dt { "Rounds" } dd { (rounds) ", in each of which every configuration is started anew once, in random order" }
            dt { "Series" } dd { (requests) " requests of one client from the start on, then " (requests) " of two clients at a time, then connections and sizes. Requests follow each other without a pause; client and server share all processors, as in the paper" }
            dt { "A request" } dd { "From before the message is made until its answer was verified. The answer to a payload is short" }
            dt { "Once warm" } dd { "The second half of a series, in batches of " (self.volume.batch()) " requests" }
            dt { "Requests per second" } dd { "Of two clients without pauses: their number divided by the mean time of a request" }
            dt { "First answer" } dd { "From the start of the server's process until it reports that it is ready, and the first request" }
            dt { "CPU" } dd { "Of the whole server process, on Java with its compiler and garbage collector; of the client's threads, on Java without them. Bytes are counted at the socket, below TLS" }
            dt { "Security" } dd { "rust-https: TLS 1.3, ECDSA P-256. rust-jose: ES256 in ECDH-ES with A256GCM, a new key pair per message. rust-cose: ES256 in A256GCM under a shared secret. rust-http-signatures: signed, not encrypted. rust-xml: XML Signature with ECDSA P-256 in XML Encryption with ECDH-ES and AES-256-GCM, a new key pair per message. soap-wss: signed and encrypted by WSS4J with RSA" }
            dt { "Intervals" } dd { "95 %, by Student's t over batches; ratios from logarithms. Batches that follow each other are alike, so the true uncertainty is somewhat larger. Where a first request is compared with the warm time, the interval is that of the warm time; where two are compared with each other, it is over the starts" }
            dt { "Machine" } dd { (machine) ", " (machine.system) ", " (machine.cpus) " processors" }
            dt { "Commit" } dd { (self.summary.provenance.commit) }
            dt { "Command" } dd { code { (self.summary.provenance.command) } }
            dt { "Data" } dd { code { "requests.parquet" } " has every request, " code { "results.parquet" } " a row for each configuration and round, " code { "summary.json" } " the tables and claims of this page" }
        } }
    }
}

fn text(row: &Row, name: &str) -> String {
    match row.get(name) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.as_f64().map(round).unwrap_or_default(),
        _ => "–".into(),
    }
}

fn with_interval(row: &Row, name: &str) -> String {
    let bound = |end: &str| number(row, &format!("{name}_{end}_95"));
    match (number(row, name), bound("low"), bound("high")) {
        (Some(mean), Some(low), Some(high)) => {
            format!("{} ({} to {})", round(mean), round(low), round(high))
        }
        _ => "–".into(),
    }
}

fn verdict(verdict: Verdict) -> (&'static str, &'static str) {
    match verdict {
        Verdict::Holds => ("holds", "holds"),
        Verdict::DoesNotHold => ("does-not-hold", "does not hold"),
        Verdict::Undecided => ("undecided", "undecided"),
    }
}

fn evidence(claim: &Claim, name: &str) -> Option<f64> {
    claim.evidence.get(name).and_then(Value::as_f64)
}

fn measured(claim: &Claim) -> String {
    match ["mean", "low_95", "high_95"].map(|name| evidence(claim, name)) {
        [Some(mean), Some(low), Some(high)] => {
            format!("{} ({} to {})", round(mean), round(low), round(high))
        }
        _ => "not measured".into(),
    }
}

fn demanded(claim: &Claim) -> String {
    match (evidence(claim, "at_least"), evidence(claim, "at_most")) {
        (Some(low), Some(high)) => format!("{} to {}", round(low), round(high)),
        (Some(low), None) => format!("at least {}", round(low)),
        (None, Some(high)) => format!("at most {}", round(high)),
        (None, None) => String::new(),
    }
}

const KEY_NUMBERS: &[Column] = &[
    ("Configuration", |row| text(row, "configuration")),
    ("Ready after, s", |row| text(row, "ready_s")),
    ("First answer after, s", |row| text(row, "first_answer_s")),
    ("First request, ms", |row| text(row, "first_request_ms")),
    ("Paper", |row| text(row, "paper_first_request_ms")),
    ("Once warm, ms", |row| with_interval(row, "average_ms")),
    ("Paper", |row| text(row, "paper_average_ms")),
    ("Requests/s", |row| with_interval(row, "overall_per_s")),
    ("Paper", |row| text(row, "paper_overall_per_s")),
];

const OVERHEADS: &[Column] = &[
    ("Configuration", |row| text(row, "configuration")),
    ("Compared with", |row| text(row, "compared_with")),
    ("Clear / secured", |row| with_interval(row, "clear_by_secured")),
    ("Paper", |row| text(row, "paper_clear_by_secured")),
];

const CONNECTIONS: &[Column] = &[
    ("Configuration", |row| text(row, "configuration")),
    ("Connection", |row| text(row, "connection")),
    ("Time, ms", |row| with_interval(row, "average_ms")),
    ("Server CPU, µs", |row| text(row, "server_cpu_us")),
    ("Client CPU, µs", |row| text(row, "client_cpu_us")),
    ("Sent, bytes", |row| text(row, "bytes_out")),
    ("Received, bytes", |row| text(row, "bytes_in")),
];

const SIZES: &[Column] = &[
    ("Configuration", |row| text(row, "configuration")),
    ("Payload, bytes", |row| text(row, "payload_bytes")),
    ("Time, ms", |row| with_interval(row, "average_ms")),
    ("Server CPU, µs", |row| text(row, "server_cpu_us")),
    ("Client CPU, µs", |row| text(row, "client_cpu_us")),
    ("Sent, bytes", |row| text(row, "bytes_out")),
    ("Received, bytes", |row| text(row, "bytes_in")),
];

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
