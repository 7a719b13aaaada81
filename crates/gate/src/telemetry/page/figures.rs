//! The figures of the page over time.

use super::{Span, View, rate, tables};
use crate::telemetry::durations::quantile;
use crate::telemetry::history::Stretch;
use tidegate_control::ResourceName;
use tidegate_report::number::{or_none, percent, time};
use tidegate_report::{Chart, Line, Page, Palette, Scale, figure};

/// The lines of all figures: colours of which text is readable on the page, and whether a line is
/// dashed.
const LOOKS: [(&str, usize, bool); 17] = [
    ("offered", 6, true),
    ("admitted", 0, false),
    ("refused", 1, false),
    ("capacity", 5, true),
    ("inside", 0, false),
    ("waiting", 3, false),
    ("p50", 0, false),
    ("p95", 3, false),
    ("p99", 1, false),
    ("full", 1, false),
    ("resumed", 0, false),
    ("requests", 0, false),
    ("errors", 1, false),
    ("gate", 0, false),
    ("upstream", 3, false),
    ("routed", 5, false),
    ("host", 6, false),
];

/// The rules for the lines.
pub fn style() -> String {
    let lines = LOOKS.map(|(name, ..)| Line { name: name.into(), points: Vec::new() });
    Palette::with(&lines, &LOOKS).style()
}

/// What a line shows of a stretch; not a number where it is not known.
type Show<'a> = (&'static str, &'a dyn Fn(&Stretch) -> f64);

/// Everything that the figures of a page have in common.
struct Axis {
    steps: Vec<(f64, Stretch)>,
    moments: Vec<(f64, String)>,
    span: Span,
}

impl Axis {
    fn of(view: &View) -> Self {
        let (span, end) = (view.span, view.end());
        let count = (span.length().as_secs() / span.step().as_secs()) as u32;
        let from = |index: u32| end.saturating_sub(span.step() * (count - index));
        let steps = (0..count).map(|index| {
            let records = view.history.between(from(index), from(index + 1));
            (f64::from(index + 1) * span.step().as_secs_f64(), Stretch::of(records))
        });
        let begin = end.as_secs_f64() - span.length().as_secs_f64();
        let moments = view
            .history
            .events()
            .map(|event| (event.at.as_secs_f64() - begin, event.number.to_string()));
        let within = 0.0..=span.length().as_secs_f64();
        let moments = moments.filter(|(at, _)| within.contains(at)).collect();
        Self { steps: steps.collect(), moments, span }
    }

    fn lines(&self, shown: &[Show<'_>]) -> Vec<Line> {
        let line = |(name, of): &Show<'_>| Line {
            name: (*name).to_owned(),
            points: self.steps.iter().map(|(x, stretch)| (*x, of(stretch))).collect(),
        };
        shown.iter().map(line).collect()
    }

    fn figure(
        &self,
        title: &str,
        note: &str,
        unit: &str,
        scale: Scale,
        shown: &[Show<'_>],
    ) -> maud::Markup {
        let (ticks, x_tick): (_, fn(f64) -> String) = match self.span {
            Span::Minutes => ([0.0, 60.0, 120.0, 180.0, 240.0, 300.0], |x| ago(300.0 - x)),
            Span::Hour => ([0.0, 720.0, 1440.0, 2160.0, 2880.0, 3600.0], |x| ago(3600.0 - x)),
        };
        let lines = self.lines(shown);
        let chart = Chart {
            lines: &lines,
            x_label: "time",
            x_ticks: &ticks,
            x_tick: Some(x_tick),
            y_unit: unit,
            scale,
            moments: &self.moments,
            readings: true,
            ..Chart::default()
        };
        figure(title, note, &chart)
    }
}

/// A label of the time axis.
fn ago(seconds: f64) -> String {
    match seconds {
        now if now < 0.5 => "now".to_owned(),
        short if short < 60.0 || short % 60.0 != 0.0 => {
            format!("−{}:{:02}", (short / 60.0) as u64, (short % 60.0) as u64)
        }
        _ => format!("−{} min", seconds / 60.0),
    }
}

/// The figures, and the same as a table.
pub fn figures(view: &View) -> Page {
    let axis = Axis::of(view);
    let none = Stretch::default();
    let last = axis.steps.last().map_or(&none, |(_, stretch)| stretch);
    let known = |value: Option<f64>| value.unwrap_or(f64::NAN);
    // Between two steps nothing is known of a gauge.
    let gauge =
        |it: &Stretch, value: u32| if it.seconds > 0.0 { f64::from(value) } else { f64::NAN };
    let ms = |share: f64| move |it: &Stretch| known(quantile(&it.durations, share)) * 1e3;
    let per_s = |count: u64| rate(last.per_s(count));
    let carries = match last.capacity_per_s {
        Some(capacity) => format!("; the service carries about {}/s", rate(capacity)),
        None => String::new(),
    };
    let cpu = |name: ResourceName| move |it: &Stretch| known(it.in_use.get(name).copied()) * 100.0;
    let uses = ResourceName::ALL.map(|name| (name, cpu(name)));
    let uses = uses.iter().filter(|(_, of)| axis.steps.iter().any(|(_, it)| of(it).is_finite()));
    let uses: Vec<Show<'_>> =
        uses.map(|(name, of)| (name.as_str(), of as &dyn Fn(&Stretch) -> f64)).collect();
    let used = uses.iter().map(|(name, of)| format!("{name} {}", percent(of(last) / 100.0)));
    let used = match uses.len() {
        0 => "not known".to_owned(),
        _ => used.collect::<Vec<_>>().join(", "),
    };
    let (p50, p95, p99) = (ms(0.5), ms(0.95), ms(0.99));
    let answer =
        |of: &dyn Fn(&Stretch) -> f64| or_none(Some(of(last)).filter(|ms| ms.is_finite()), time);
    let figures = [
        axis.figure(
            "New sessions",
            &format!(
                "{}/s offered, {}/s admitted, {}/s refused{carries}",
                per_s(last.offered),
                per_s(last.admitted),
                per_s(last.refused)
            ),
            "sessions/s",
            Scale::Linear,
            &[
                ("capacity", &|it| known(it.capacity_per_s)),
                ("offered", &|it| it.per_s(it.offered)),
                ("refused", &|it| it.per_s(it.refused)),
                ("admitted", &|it| it.per_s(it.admitted)),
            ],
        ),
        axis.figure(
            "Sessions",
            &format!("{} inside, {} wait", last.most_sessions, last.most_waiting),
            "sessions",
            Scale::Linear,
            &[
                ("inside", &|it| gauge(it, it.most_sessions)),
                ("waiting", &|it| gauge(it, it.most_waiting)),
            ],
        ),
        axis.figure(
            "Response times of those inside",
            &format!(
                "p50 {}, p95 {}, p99 {}; interpolated within the buckets of the histogram",
                answer(&p50),
                answer(&p95),
                answer(&p99)
            ),
            "ms",
            Scale::Log,
            &[("p50", &p50), ("p95", &p95), ("p99", &p99)],
        ),
        axis.figure(
            "CPU time in use",
            &format!("Of what each has: {used}"),
            "%",
            Scale::Linear,
            &uses,
        ),
        axis.figure(
            "Requests",
            &format!(
                "{}/s, of which {}/s with a status of 500 or above",
                per_s(last.requests()),
                per_s(last.errors)
            ),
            "requests/s",
            Scale::Linear,
            &[("requests", &|it| it.per_s(it.requests())), ("errors", &|it| it.per_s(it.errors))],
        ),
        axis.figure(
            "TLS handshakes",
            &format!("{}/s full, {}/s resumed", per_s(last.full), per_s(last.resumed)),
            "handshakes/s",
            Scale::Linear,
            &[("full", &|it| it.per_s(it.full)), ("resumed", &|it| it.per_s(it.resumed))],
        ),
    ];
    let title = format!("The {} in numbers", view.span.words());
    Page::default().figures(figures).folded(&title, tables::over_time(view).html())
}
