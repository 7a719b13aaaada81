//! The paper's conclusions, and today's questions, with what the run shows of them.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::json;

use super::analysis::ratio;
use super::configuration::Configuration as Of;
use super::plan::Volume;
use super::series::{Measured, Question, Reuse, Series, mean_ms};
use tidegate_experiment::analysis::claims::ROUNDS;
use tidegate_experiment::{Claim, Verdict};
use tidegate_stats::{Difference, Estimate, Interval};

/// How far a ratio may be from the paper's to be the same: 25 %.
const SAME: f64 = 1.25;

/// The least and the most that a figure may be.
type Limits = (Option<f64>, Option<f64>);

/// Every claim.
pub(super) fn check(measured: &Measured, volume: &Volume) -> Vec<Claim> {
    let paper = "paper 002";
    let mut claims = Vec::new();
    let mut claim =
        |id: &str, source: &str, text: &str, limits: Limits, figure: Option<Interval>| {
            let mut claim = decide(id, source, text, limits, figure);
            if (volume.rounds as usize) < ROUNDS {
                let why = format!("{} rounds; a verdict takes {ROUNDS}", volume.rounds);
                claim.verdict = Verdict::Undecided;
                claim.evidence.insert("undecided_because".into(), json!(why));
            }
            claims.push(claim);
        };
    for it in [Of::JspClear, Of::JspHttps] {
        claim(
            &format!("first-request-{it}"),
            &format!("{paper}, key numbers"),
            "The first request takes at least ten times as long as one once warm",
            (Some(10.0), None),
            batch_by_warm(measured, it, 0..1),
        );
        claim(
            &format!("warms-up-{it}"),
            &format!("{paper}, times from 1 to 3900"),
            "The first hundred requests take at least twice as long as a hundred once warm",
            (Some(2.0), None),
            batch_by_warm(measured, it, 0..volume.batch()),
        );
    }
    let same = |ratio: f64| (Some(ratio / SAME), Some(ratio * SAME));
    for it in [Of::JspClear, Of::JspHttps] {
        claim(
            &format!("settles-{it}"),
            &format!("{paper}, \"stabilizes\" and \"settles\""),
            "The time settles: a request of the third quarter takes as long as one of the last (within 25 %)",
            same(1.0),
            quarters(measured, it),
        );
    }
    claim(
        "settles-quickly-jsp-https",
        &format!("{paper}, with security"),
        "Over HTTPS the second hundred requests take at most 1.5 times as long as a hundred once warm",
        (None, Some(1.5)),
        batch_by_warm(measured, Of::JspHttps, volume.batch()..2 * volume.batch()),
    );
    claim(
        "jsp-answers-more",
        &format!("{paper}, no security"),
        "In the clear the JSP answers more requests per second than the SOAP service",
        (Some(1.0), None),
        measured.slowdown(Of::JspClear, Of::SoapClear),
    );
    claim(
        "jsp-starts-sooner",
        &format!("{paper}, no security"),
        "The first request of the SOAP service takes at least twice as long as that of the JSP",
        (Some(2.0), None),
        starts(measured, Of::SoapClear, Of::JspClear),
    );
    claim(
        "connection-overhead",
        &format!("{paper}, conclusion"),
        "Security per connection divides the requests per second by 2.9 (within 25 %)",
        same(2.9),
        measured.slowdown(Of::JspClear, Of::JspHttps),
    );
    claim(
        "message-overhead",
        &format!("{paper}, conclusion"),
        "Security per message divides the requests per second by 17.4 (within 25 %)",
        same(17.4),
        measured.slowdown(Of::SoapClear, Of::SoapWss),
    );
    claim(
        "message-costs-more",
        &format!("{paper}, conclusion"),
        "On Java, security per message costs more than security per connection",
        (Some(1.0), None),
        relative(measured),
    );
    for it in [Of::Jose, Of::Cose, Of::HttpSignatures, Of::Xml] {
        claim(
            &format!("{it}-costs-more"),
            "this study",
            &format!("{it} answers fewer requests per second than rust-https on kept connections"),
            (Some(1.0), None),
            measured.slowdown(Of::Https, it),
        );
        claim(
            &format!("{it}-costs-less-than-handshakes"),
            "this study",
            &format!("A new connection per request with TLS takes longer than a message with {it}"),
            (Some(1.0), None),
            handshakes_by(measured, it),
        );
    }
    claim(
        "xml-costs-more",
        "this study",
        "With the same keys and algorithms, rust-xml answers fewer requests per second than rust-jose",
        (Some(1.0), None),
        measured.slowdown(Of::Jose, Of::Xml),
    );
    claim(
        "handshake-is-the-price",
        "this study",
        "With TLS a request on a new connection takes at least twice as long as on a kept one",
        (Some(2.0), None),
        between(measured, Of::Https, Reuse::New, Reuse::Keep),
    );
    claim(
        "resumption-saves",
        "this study",
        "A full handshake makes a request slower than a resumed one",
        (Some(1.0), None),
        between(measured, Of::Https, Reuse::New, Reuse::Resumed),
    );
    claims
}

fn decide(
    id: &str,
    source: &str,
    text: &str,
    (least, most): Limits,
    figure: Option<Interval>,
) -> Claim {
    let mut evidence = BTreeMap::new();
    let mut put = |name: &str, value: f64| {
        evidence.insert(name.to_owned(), json!(value));
    };
    least.into_iter().for_each(|least| put("at_least", least));
    most.into_iter().for_each(|most| put("at_most", most));
    let verdict = match figure {
        None => Verdict::Undecided,
        Some(figure) => {
            put("mean", figure.value);
            put("low_95", figure.low);
            put("high_95", figure.high);
            Verdict::within(least, most, (figure.low, figure.high))
        }
    };
    let (id, source, text) = (id.to_owned(), source.to_owned(), text.to_owned());
    Claim { id, source, text, verdict, evidence }
}

/// The mean time of these requests after the start, divided by that once warm, by round.
fn batch_by_warm(measured: &Measured, it: Of, requests: Range<usize>) -> Option<Interval> {
    by_round(measured, it, |series| {
        Some(mean_ms(series.samples.get(requests.clone())?) / mean_ms(series.warm()))
    })
}

/// A request of the third quarter of the long series, divided by one of the last, by round.
fn quarters(measured: &Measured, it: Of) -> Option<Interval> {
    by_round(measured, it, |series| {
        let (third, last) = series.warm().split_at(series.warm().len() / 2);
        Some(mean_ms(third) / mean_ms(last))
    })
}

/// A ratio of the long series of each round: geometric mean and interval over the rounds.
fn by_round(
    measured: &Measured,
    it: Of,
    ratio: impl Fn(&Series) -> Option<f64>,
) -> Option<Interval> {
    let ratios = measured.of(it, Question::WarmUp).filter_map(ratio);
    let logs: Vec<f64> = ratios.map(f64::ln).filter(|log| log.is_finite()).collect();
    Some(Interval::of_mean(&logs)?.map(f64::exp))
}

/// The first request after the start of one service, divided by that of another; with an
/// interval over the starts, so `None` of one round.
fn starts(measured: &Measured, of: Of, to: Of) -> Option<Interval> {
    let log = |it| {
        let first = measured.of(it, Question::WarmUp).filter_map(|series| series.samples.first());
        let logs: Vec<f64> = first.map(|sample| (sample.us as f64).ln()).collect();
        Estimate::of_mean(&logs)
    };
    Some(ratio(log(of)?, log(to)?))
}

/// How many times larger the overhead per message is than that per connection.
fn relative(measured: &Measured) -> Option<Interval> {
    let log = |it| measured.log_time(it, Question::TwoClients);
    let overhead = |clear, secured| Some(Difference::welch(log(clear)?, log(secured)?).estimate);
    let (message, connection) =
        (overhead(Of::SoapClear, Of::SoapWss)?, overhead(Of::JspClear, Of::JspHttps)?);
    Some(ratio(message, connection))
}

fn between(measured: &Measured, it: Of, of: Reuse, to: Reuse) -> Option<Interval> {
    let log = |reuse| measured.log_time(it, Question::Connections(reuse));
    Some(ratio(log(of)?, log(to)?))
}

/// A request on a new connection with TLS, divided by a message on a kept one.
fn handshakes_by(measured: &Measured, it: Of) -> Option<Interval> {
    let log = |it, reuse| measured.log_time(it, Question::Connections(reuse));
    Some(ratio(log(Of::Https, Reuse::New)?, log(it, Reuse::Keep)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::series::{Sample, Series};

    #[test]
    fn the_whole_interval_decides() {
        let verdict = |limits: Limits, low: f64, high: f64| {
            let figure = Interval { value: (low + high) / 2.0, low, high };
            decide("id", "source", "text", limits, Some(figure)).verdict
        };
        assert_eq!(verdict((Some(2.0), None), 2.1, 3.0), Verdict::Holds);
        assert_eq!(verdict((Some(2.0), None), 1.9, 3.0), Verdict::Undecided);
        assert_eq!(verdict((Some(2.0), None), 1.0, 1.9), Verdict::DoesNotHold);
        assert_eq!(verdict((None, Some(1.5)), 1.1, 1.4), Verdict::Holds);
        assert_eq!(verdict((None, Some(1.5)), 1.4, 1.6), Verdict::Undecided);
        assert_eq!(verdict((None, Some(1.5)), 1.6, 9.0), Verdict::DoesNotHold);
        assert_eq!(verdict((Some(2.0), Some(4.0)), 2.5, 3.5), Verdict::Holds);
        assert_eq!(verdict((Some(2.0), Some(4.0)), 3.5, 4.5), Verdict::Undecided);
        assert_eq!(verdict((Some(2.0), Some(4.0)), 4.5, 5.5), Verdict::DoesNotHold);
    }

    #[test]
    fn without_data_every_claim_is_undecided_and_has_a_name_of_its_own() {
        let claims = check(&Measured::default(), &Volume::usual(true));
        assert!(claims.iter().all(|claim| claim.verdict == Verdict::Undecided));
        let ids: std::collections::BTreeSet<_> = claims.iter().map(|claim| &claim.id).collect();
        assert_eq!(ids.len(), claims.len());
    }

    /// Time of a request in microseconds, by round and index.
    type Times<'a> = &'a dyn Fn(u32, usize) -> u64;

    /// Rounds with a series of one question.
    fn measured(rounds: u32, question: Question, configurations: &[(Of, Times<'_>)]) -> Measured {
        let mut measured = Measured::default();
        for (configuration, us) in configurations {
            for round in 0..rounds {
                let sample = |index| Sample { us: us(round, index), out: 1, into: 1 };
                measured.series.push(Series {
                    configuration: *configuration,
                    round,
                    question,
                    samples: (0..VOLUME.requests).map(sample).collect(),
                    server_cpu_s: 1.0,
                    client_cpu_s: 1.0,
                });
            }
        }
        measured
    }

    const VOLUME: Volume = Volume { requests: 400, rounds: 5 };

    #[track_caller]
    fn decided(measured: &Measured, id: &str, verdict: Verdict, mean: f64) {
        let claims = check(measured, &VOLUME);
        let claim = claims.iter().find(|claim| claim.id == id).unwrap();
        let found = claim.evidence["mean"].as_f64().unwrap();
        assert!((found - mean).abs() < 0.02 * mean, "{id}: {found} instead of {mean}");
        assert_eq!(claim.verdict, verdict, "{id}: {:?}", claim.evidence);
    }

    #[test]
    fn the_service_that_answers_more_requests_is_the_one_with_the_shorter_time() {
        let short = |_: u32, index: usize| 100 + index as u64 % 3;
        let long = |_: u32, index: usize| 250 + index as u64 % 3;
        let rates = |jsp: Times<'_>, soap: Times<'_>| {
            measured(5, Question::TwoClients, &[(Of::JspClear, jsp), (Of::SoapClear, soap)])
        };
        decided(&rates(&short, &long), "jsp-answers-more", Verdict::Holds, 2.5);
        decided(&rates(&long, &short), "jsp-answers-more", Verdict::DoesNotHold, 0.4);
    }

    #[test]
    fn the_first_requests_of_several_starts_decide_who_starts_sooner() {
        // The first request of a round; later ones are alike and must not count.
        let first = |us: u64| {
            move |round: u32, index: usize| if index == 0 { us + u64::from(round) } else { 100 }
        };
        let of = |rounds, jsp, soap| {
            let (jsp, soap) = (first(jsp), first(soap));
            let (jsp, soap): (Times<'_>, Times<'_>) = (&jsp, &soap);
            measured(rounds, Question::WarmUp, &[(Of::JspClear, jsp), (Of::SoapClear, soap)])
        };
        decided(&of(5, 1000, 4000), "jsp-starts-sooner", Verdict::Holds, 4.0);
        decided(&of(5, 1000, 1500), "jsp-starts-sooner", Verdict::DoesNotHold, 1.5);
        let claims = check(&of(1, 1000, 4000), &VOLUME);
        let claim = claims.iter().find(|claim| claim.id == "jsp-starts-sooner").unwrap();
        assert_eq!(claim.verdict, Verdict::Undecided, "one start has no spread");
        assert!(!claim.evidence.contains_key("mean"));
    }

    #[test]
    fn a_series_that_still_gets_faster_in_its_last_quarter_has_not_settled() {
        // 40 requests are a batch: the second is that of 40 to 79.
        let settled = |_: u32, index: usize| match index {
            0..40 => 900,
            40..80 => 130,
            _ => 100 + index as u64 % 2,
        };
        let falling = |_: u32, index: usize| match index {
            0..80 => 900,
            80..300 => 200 + index as u64 % 2,
            _ => 100 + index as u64 % 2,
        };
        let of = |us: Times<'_>| {
            measured(5, Question::WarmUp, &[(Of::JspClear, us), (Of::JspHttps, us)])
        };
        for id in ["settles-jsp-clear", "settles-jsp-https"] {
            decided(&of(&settled), id, Verdict::Holds, 1.0);
            decided(&of(&falling), id, Verdict::DoesNotHold, 2.0);
        }
        decided(&of(&settled), "settles-quickly-jsp-https", Verdict::Holds, 1.3);
        decided(&of(&falling), "settles-quickly-jsp-https", Verdict::DoesNotHold, 6.0);
    }
}
