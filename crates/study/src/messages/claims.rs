//! The paper's conclusions, and today's questions, with what the run shows of them.

use std::collections::BTreeMap;

use serde_json::json;
use tidegate_stats::{Difference, Verdict as Outcome};

use super::analysis::{Figure, ratio};
use super::configuration::Configuration as Of;
use super::plan::Volume;
use super::series::{Measured, Question, Reuse, mean_ms};
use crate::claim::{Claim, Verdict};

/// How far a ratio may be from the paper's to be the same: 25 %.
const SAME: f64 = 1.25;

/// What a claim demands of its figure.
enum Limit {
    AtLeast(f64),
    Within(f64, f64),
}

/// Every claim.
pub(super) fn check(measured: &Measured, volume: &Volume) -> Vec<Claim> {
    let paper = "paper 002";
    let mut claims = Vec::new();
    let mut claim = |id: &str, source: &str, text: &str, limit: Limit, figure: Option<Figure>| {
        claims.push(decide(id, source, text, &limit, figure));
    };
    for it in [Of::JspClear, Of::JspHttps] {
        claim(
            &format!("first-request-{it}"),
            &format!("{paper}, key numbers"),
            "The first request takes at least ten times as long as one once warm",
            Limit::AtLeast(10.0),
            first_by_warm(measured, volume, it, 1),
        );
        claim(
            &format!("warms-up-{it}"),
            &format!("{paper}, times from 1 to 3900"),
            "The first hundred requests take at least twice as long as a hundred once warm",
            Limit::AtLeast(2.0),
            first_by_warm(measured, volume, it, volume.batch()),
        );
    }
    let same = |ratio: f64| Limit::Within(ratio / SAME, ratio * SAME);
    claim(
        "connection-overhead",
        &format!("{paper}, conclusion"),
        "Security per connection divides the requests per second by 2.9 (within 25 %)",
        same(2.9),
        measured.slowdown(Of::JspClear, Of::JspHttps, volume),
    );
    claim(
        "message-overhead",
        &format!("{paper}, conclusion"),
        "Security per message divides the requests per second by 17.4 (within 25 %)",
        same(17.4),
        measured.slowdown(Of::SoapClear, Of::SoapWss, volume),
    );
    claim(
        "message-costs-more",
        &format!("{paper}, conclusion"),
        "On Java, security per message costs more than security per connection",
        Limit::AtLeast(1.0),
        relative(measured, volume),
    );
    for it in [Of::Jose, Of::Cose, Of::HttpSignatures, Of::Xml] {
        claim(
            &format!("{it}-costs-more"),
            "this study",
            &format!("{it} answers fewer requests per second than rust-https on kept connections"),
            Limit::AtLeast(1.0),
            measured.slowdown(Of::Https, it, volume),
        );
        claim(
            &format!("{it}-costs-less-than-handshakes"),
            "this study",
            &format!("A new connection per request with TLS takes longer than a message with {it}"),
            Limit::AtLeast(1.0),
            handshakes_by(measured, volume, it),
        );
    }
    claim(
        "xml-costs-more",
        "this study",
        "With the same keys and algorithms, rust-xml answers fewer requests per second than rust-jose",
        Limit::AtLeast(1.0),
        measured.slowdown(Of::Jose, Of::Xml, volume),
    );
    claim(
        "handshake-is-the-price",
        "this study",
        "With TLS a request on a new connection takes at least twice as long as on a kept one",
        Limit::AtLeast(2.0),
        between(measured, volume, Of::Https, Reuse::New, Reuse::Keep),
    );
    claim(
        "resumption-saves",
        "this study",
        "A full handshake makes a request slower than a resumed one",
        Limit::AtLeast(1.0),
        between(measured, volume, Of::Https, Reuse::New, Reuse::Resumed),
    );
    claims
}

fn decide(id: &str, source: &str, text: &str, limit: &Limit, figure: Option<Figure>) -> Claim {
    let mut evidence = BTreeMap::new();
    let mut put = |name: &str, value: f64| evidence.insert(name.to_owned(), json!(value));
    let (low, high) = match limit {
        Limit::AtLeast(least) => (*least, f64::INFINITY),
        Limit::Within(low, high) => (*low, *high),
    };
    put("at_least", low);
    if high.is_finite() {
        put("at_most", high);
    }
    let verdict = match figure {
        None => Verdict::Undecided,
        Some(figure) => {
            put("mean", figure.mean);
            put("low_95", figure.low);
            put("high_95", figure.high);
            let interval = (figure.low, figure.high);
            let both = [Outcome::at_least(low, interval), Outcome::at_most(high, interval)];
            let worst = if both.contains(&Outcome::Missed) {
                Outcome::Missed
            } else if both.contains(&Outcome::Close) {
                Outcome::Close
            } else {
                Outcome::Met
            };
            worst.into()
        }
    };
    let (id, source, text) = (id.to_owned(), source.to_owned(), text.to_owned());
    Claim { id, source, text, verdict, evidence }
}

/// The mean time of the first requests, divided by that once warm. Its interval is that of
/// the warm ones alone: there is one start per round.
fn first_by_warm(measured: &Measured, volume: &Volume, it: Of, first: usize) -> Option<Figure> {
    let warm = measured.time(it, Question::WarmUp, volume)?;
    let times: Vec<f64> = measured
        .of(it, Question::WarmUp)
        .filter_map(|series| series.samples.get(..first))
        .map(mean_ms)
        .collect();
    let first = super::analysis::mean(&times)?;
    let by = |warm: f64| first / warm.max(f64::MIN_POSITIVE);
    Some(Figure { mean: by(warm.mean), low: by(warm.high), high: by(warm.low) })
}

/// How many times larger the overhead per message is than that per connection.
fn relative(measured: &Measured, volume: &Volume) -> Option<Figure> {
    let log = |it| measured.log_time(it, Question::TwoClients, volume);
    let overhead = |clear, secured| Some(Difference::welch(log(clear)?, log(secured)?).estimate);
    let (message, connection) =
        (overhead(Of::SoapClear, Of::SoapWss)?, overhead(Of::JspClear, Of::JspHttps)?);
    Some(ratio(message, connection))
}

fn between(measured: &Measured, volume: &Volume, it: Of, of: Reuse, to: Reuse) -> Option<Figure> {
    let log = |reuse| measured.log_time(it, Question::Connections(reuse), volume);
    Some(ratio(log(of)?, log(to)?))
}

/// A request on a new connection with TLS, divided by a message on a kept one.
fn handshakes_by(measured: &Measured, volume: &Volume, it: Of) -> Option<Figure> {
    let log = |it, reuse| measured.log_time(it, Question::Connections(reuse), volume);
    Some(ratio(log(Of::Https, Reuse::New)?, log(it, Reuse::Keep)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_interval_decides() {
        let verdict = |limit: Limit, low: f64, high: f64| {
            let figure = Figure { mean: (low + high) / 2.0, low, high };
            decide("id", "source", "text", &limit, Some(figure)).verdict
        };
        assert_eq!(verdict(Limit::AtLeast(2.0), 2.1, 3.0), Verdict::Holds);
        assert_eq!(verdict(Limit::AtLeast(2.0), 1.9, 3.0), Verdict::Undecided);
        assert_eq!(verdict(Limit::AtLeast(2.0), 1.0, 1.9), Verdict::DoesNotHold);
        assert_eq!(verdict(Limit::Within(2.0, 4.0), 2.5, 3.5), Verdict::Holds);
        assert_eq!(verdict(Limit::Within(2.0, 4.0), 3.5, 4.5), Verdict::Undecided);
        assert_eq!(verdict(Limit::Within(2.0, 4.0), 4.5, 5.5), Verdict::DoesNotHold);
    }

    #[test]
    fn without_data_every_claim_is_undecided_and_has_a_name_of_its_own() {
        let claims = check(&Measured::default(), &Volume::usual(true));
        assert!(claims.iter().all(|claim| claim.verdict == Verdict::Undecided));
        let ids: std::collections::BTreeSet<_> = claims.iter().map(|claim| &claim.id).collect();
        assert_eq!(ids.len(), claims.len());
    }
}
