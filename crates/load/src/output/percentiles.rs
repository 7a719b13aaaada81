//! Percentiles in text, and what is said of those with few answers behind them.

use tidegate_stats::{Percentiles, Quantile, fewest_for_quantile};

use super::number::ms;
use super::paragraph::paragraph;
use crate::result::summary::Summary;

/// Marks a percentile of too few answers: it is about as much, and no more is known.
const ABOUT: &str = "~";

/// Marks a lower bound, see [`tidegate_stats::CensoredHistogram`].
const AT_LEAST: &str = ">";

/// A figure of response times in milliseconds, marked if it is a lower bound.
pub(super) fn time(figure: Quantile) -> String {
    format!("{}{}", if figure.is_lower_bound { AT_LEAST } else { "" }, ms(figure.ms))
}

/// One of the usual percentiles, marked if it is a lower bound or too few values are behind it.
pub(super) fn percentile(times: &Percentiles, q: f64) -> String {
    let value = times.usual().into_iter().find(|(usual, _)| *usual == q);
    let (_, value) = value.expect("callers ask for the usual ones");
    let about = has_few(times, q) && !value.is_lower_bound;
    format!("{}{}", if about { ABOUT } else { "" }, time(value))
}

/// All percentiles in a line.
pub(super) fn percentiles(times: &Percentiles) -> String {
    if times.is_empty() {
        return "none".to_owned();
    }
    let without = match times.unanswered {
        0 => String::new(),
        unanswered => format!(", and {unanswered} without a response"),
    };
    let of = |q| percentile(times, q);
    format!(
        "p50 {} p90 {} p95 {} p99 {} p99.9 {} max {} ms ({}{without})",
        of(0.5),
        of(0.9),
        of(0.95),
        of(0.99),
        of(0.999),
        time(times.max()),
        times.count
    )
}

fn has_few(times: &Percentiles, q: f64) -> bool {
    let known = times.count + times.unanswered;
    0 < known && known < fewest_for_quantile(q)
}

/// What the mark means, if any percentile of the report has it.
pub(super) fn explained(summary: &Summary) -> Option<String> {
    let phases = &summary.phases;
    let handshakes = [&phases.connect, &phases.full_handshake, &phases.resumed_handshake];
    let whole = [&summary.response, &summary.response_uncorrected];
    let pages = summary.pages.values().map(|page| &page.response);
    let groups = summary.classes.iter().chain(&summary.models).map(|group| &group.response);
    let lines = handshakes.into_iter().chain(whole).chain([&phases.first_byte, &phases.last_byte]);
    // The tables have fewer percentiles than the lines.
    let marked = lines.clone().any(|times| has_few(times, 0.999))
        || pages.clone().any(|times| has_few(times, 0.95))
        || groups.clone().any(|times| has_few(times, 0.99));
    let text = "one of the few longest times: fewer than 10 answers are expected beyond it (p50 \
                takes 20 answers, p95 200, p99 1000, p99.9 10000)";
    marked.then(|| paragraph(&format!("{ABOUT:16}"), text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_of_few_answers_is_marked_and_the_others_are_not() {
        let times = |count| Percentiles {
            count,
            p50_ms: 1.0,
            p90_ms: 2.0,
            p95_ms: 3.0,
            p99_ms: 12.34,
            p99_9_ms: 150.0,
            max_ms: 150.0,
            ..Percentiles::default()
        };
        assert_eq!(
            percentiles(&times(250)),
            "p50 1.00 p90 2.00 p95 3.00 p99 ~12.3 p99.9 ~150 max 150 ms (250)"
        );
        assert_eq!(
            percentiles(&times(10_000)),
            "p50 1.00 p90 2.00 p95 3.00 p99 12.3 p99.9 150 max 150 ms (10000)"
        );
        assert!(percentiles(&times(19)).starts_with("p50 ~1.00 p90 ~2.00"));
        assert_eq!(percentiles(&times(0)), "none");
        assert_eq!(percentile(&times(200), 0.95), "3.00");
        assert_eq!(percentile(&times(199), 0.95), "~3.00");
    }
}
