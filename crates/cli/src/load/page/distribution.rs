//! The distribution of response times in the window, and the phases of requests.

use maud::{Markup, html};
use tidegate_load::result::series::Subwindow;
use tidegate_load::{Percentiles, Summary};
use tidegate_report::number::{NONE, count, number};
use tidegate_report::{Bars, Cell, Chart, Line, Scale, Table, figure, histogram};
use tidegate_stats::{CensoredHistogram, Histogram};

use super::percentile::Percentile;

/// Bars of the histogram, and points of the percentile curve.
const BARS: usize = 40;
const POINTS: usize = 160;
/// Fewest responses whose distribution is drawn.
const FEWEST: u64 = 10;
/// Ticks of the percentile axis, as shares.
const TICKS: [f64; 9] = [0.0, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999];

/// Both figures.
pub(super) fn figures(run: &Summary) -> Markup {
    let mut responses = CensoredHistogram::new();
    run.stretches.iter().filter_map(Subwindow::times).for_each(|times| responses.merge(&times));
    if responses.exact().count() < FEWEST {
        return html! {
            p.soft { "Fewer than " (FEWEST) " responses in the window: there is no distribution to draw." }
        };
    }
    html! { div.charts { (curve(&responses)) (bars(responses.exact(), &run.response)) } }
}

/// Response time by percentile, up to the one that a single request exceeds. The line ends where
/// only a lower bound is known.
fn curve(times: &CensoredHistogram) -> Markup {
    let total = times.count();
    let end = position(1.0 - 1.0 / total as f64);
    let point = |index: usize| {
        let x = end * index as f64 / POINTS as f64;
        let quantile = times.quantile(share_at(x));
        (x, if quantile.is_lower_bound { f64::NAN } else { quantile.ms })
    };
    let lines = [Line { name: "response".to_owned(), points: (0..=POINTS).map(point).collect() }];
    let ticks: Vec<f64> =
        TICKS.into_iter().map(position).filter(|tick| *tick <= end + 1e-9).collect();
    let chart = Chart {
        lines: &lines,
        x_label: "of the requests took at most",
        x_ticks: &ticks,
        x_tick: Some(|x| percentile_name(share_at(x))),
        x_max: Some(end),
        y_unit: "ms",
        scale: Scale::Log,
        readings: true,
        ..Chart::default()
    };
    let lost = times.ended().count - times.exact().count();
    let without = match lost {
        0 => String::new(),
        lost => {
            format!(", and {} requests without a response, beyond the end of the line", count(lost))
        }
    };
    let note = format!(
        "{} responses{without}. Both axes are logarithmic: 90, 99 and 99.9 % are equally far apart.",
        count(times.exact().count())
    );
    figure("Response time by percentile", &note, &chart)
}

/// Responses by their time.
fn bars(responses: &Histogram, times: &Percentiles) -> Markup {
    let (least, most) = (responses.quantile_ms(0.0), responses.max_ms());
    // A bar is wider than what the histogram can tell apart.
    let low = (least * 0.98).max(0.001);
    let high = (most * 1.02).max(low * 1.5);
    let widest = (high / low).ln() / (1.0 + 0.003 / low).ln();
    let bars = BARS.min(widest.floor().max(3.0) as usize);
    let edge = |index: usize| low * (high / low).powf(index as f64 / bars as f64);
    let edges: Vec<f64> = (0..=bars).map(edge).collect();
    // The first bar has everything up to its end, so that none is left out.
    let below = |edge: &f64| if *edge <= low { 0 } else { responses.count_up_to_ms(*edge) };
    let counts: Vec<u64> =
        edges.windows(2).map(|two| below(&two[1]).saturating_sub(below(&two[0]))).collect();
    let marks: Vec<(f64, String)> = Percentile::MAIN
        .into_iter()
        .filter_map(|of| Some((of.of(times)?.ms, format!("{} {} ms", of.name(), of.text(times)))))
        .collect();
    let marks: Vec<(f64, &str)> = marks.iter().map(|(at, text)| (*at, text.as_str())).collect();
    let bars = Bars {
        edges: &edges,
        counts: &counts,
        marks: &marks,
        x_label: "response time, ms (logarithmic)",
        x_unit: "ms",
        y_unit: "responses",
    };
    histogram("Responses by their time", "In the measured window.", &bars)
}

/// Where a share lies on the percentile axis: 90, 99 and 99.9 % are equally far apart.
fn position(share: f64) -> f64 {
    -(1.0 - share).max(1e-12).log10()
}

fn share_at(position: f64) -> f64 {
    1.0 - 10f64.powf(-position)
}

/// `99.9 %`.
fn percentile_name(share: f64) -> String {
    // As many decimals as the distance to 100 % needs.
    let rest = (1.0 - share).max(1e-12);
    let decimals = (-rest.log10() - 2.0 - 1e-9).ceil().clamp(0.0, 6.0) as usize;
    format!("{:.decimals$}\u{a0}%", share * 100.0)
}

/// Percentiles of response times and of the phases of requests.
pub(super) fn table(run: &Summary) -> Table {
    let phases = &run.phases;
    let rows = [
        ("response", "from the intended start to the last byte", &run.response),
        (
            "uncorrected",
            "from the actual start, as tools show it that leave out their own delay",
            &run.response_uncorrected,
        ),
        ("connect", "TCP connection", &phases.connect),
        ("full handshake", "TLS with certificate and signature", &phases.full_handshake),
        ("resumed handshake", "TLS from a ticket", &phases.resumed_handshake),
        ("first byte", "from sending the request", &phases.first_byte),
        ("last byte", "from the first byte", &phases.last_byte),
    ];
    let percentiles = Percentile::ALL.map(Percentile::name);
    let heads = ["ms"].into_iter().chain(percentiles).chain(["mean", "count"]);
    let mut table = Table::new(heads).class("dense");
    for (name, meaning, times) in rows.iter().filter(|row| row.2.count > 0) {
        let name = Cell::default().markup(html! { (name) small.meaning { (meaning) } });
        let percentiles = Percentile::ALL.map(|of| Cell::from(of.text(times)));
        let rest = [number(times.mean_ms), count(times.count)].map(Cell::from);
        table.row([name].into_iter().chain(percentiles).chain(rest));
    }
    if rows.iter().all(|row| row.2.count == 0) {
        table.row([NONE, ""]);
    }
    table
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn percentiles_are_named_as_precisely_as_they_differ_from_all() {
        let names =
            TICKS.map(|share| percentile_name(share_at(position(share))).replace('\u{a0}', ""));
        assert_eq!(names, ["0%", "50%", "75%", "90%", "95%", "99%", "99.9%", "99.99%", "99.999%"]);
    }

    #[test]
    fn every_response_is_in_a_bar_of_the_histogram() {
        for (first, last) in [(1, 400), (7, 7), (500, 500_000)] {
            let mut responses = Histogram::new();
            let all = (first..=last).step_by(((last - first) / 300).max(1) as usize);
            all.for_each(|micros| responses.record(Duration::from_micros(micros)));
            let html = bars(&responses, &responses.percentiles()).into_string();
            let (wide, _) = html.split_once("class=\"narrow\"").unwrap();
            let counted: u64 = wide
                .split("<title>")
                .skip(1)
                .map(|bar| bar.split(": ").nth(1).unwrap().split(' ').next().unwrap())
                .map(|number| number.parse::<u64>().unwrap())
                .sum();
            assert_eq!(counted, responses.count(), "{first} to {last}");
        }
    }
}
