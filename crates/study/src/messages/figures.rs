//! The figures of the page.

use tidegate_report::{Chart, Line, Scale};

use super::analysis::{cost, warm_up};
use super::configuration::Configuration;
use super::plan::{FIRST, Volume};
use super::series::{Measured, Question};

/// A figure to draw.
pub(super) struct Drawn {
    /// Short name, also of its file.
    pub id: &'static str,
    pub title: &'static str,
    pub note: &'static str,
    pub lines: Vec<Line>,
    x_label: &'static str,
    x_ticks: Vec<f64>,
    x_tick: Option<fn(f64) -> String>,
    unit: &'static str,
}

impl Drawn {
    pub(super) fn chart(&self) -> Chart<'_> {
        Chart {
            lines: &self.lines,
            x_label: self.x_label,
            x_ticks: &self.x_ticks,
            x_tick: self.x_tick,
            y_unit: self.unit,
            scale: Scale::Log,
            marks: self.lines.iter().all(|line| line.points.len() <= FIRST),
            readings: true,
            ..Chart::default()
        }
    }
}

/// Every figure that has a point.
pub(super) fn figures(measured: &Measured, volume: &Volume) -> Vec<Drawn> {
    let mut drawn = Vec::new();
    for java in [true, false] {
        let configurations: Vec<_> =
            measured.configurations().into_iter().filter(|it| it.is_java() == java).collect();
        if configurations.is_empty() {
            continue;
        }
        drawn.push(warming(measured, volume, &configurations, java));
        drawn.push(first(measured, &configurations, java));
    }
    for (id, title, note, unit, of) in COSTS {
        let lines = lines(&measured.configurations(), |it| {
            let point = |(index, (size, _)): (usize, (usize, usize))| {
                Some((index as f64, of(measured, it, Question::Size(size))?))
            };
            volume.sizes().enumerate().filter_map(point).collect()
        });
        let x_ticks = (0..volume.sizes().count()).map(|index| index as f64).collect();
        let x_tick: Option<fn(f64) -> String> = Some(size_at);
        drawn.push(Drawn { id, title, note, lines, x_label: "payload", x_ticks, x_tick, unit });
    }
    drawn.retain(|figure| figure.lines.iter().any(|line| !line.points.is_empty()));
    drawn
}

type Of = fn(&Measured, Configuration, Question) -> Option<f64>;

const COSTS: [(&str, &str, &str, &str, Of); 3] = [
    (
        "server-cpu",
        "CPU of the server per message",
        "User and kernel, on kept connections; the larger the message, the more its transport weighs.",
        "µs",
        |measured, it, question| cost(measured, it, question).map(|it| it.server_cpu_us),
    ),
    (
        "client-cpu",
        "CPU of the client per message",
        "Of the client's thread; on Java without its compiler and garbage collector.",
        "µs",
        |measured, it, question| cost(measured, it, question).map(|it| it.client_cpu_us),
    ),
    (
        "bytes",
        "Bytes sent beside the payload",
        "Per message, counted at the socket below TLS: HTTP header, format, base64 and records.",
        "bytes",
        |measured, it, question| {
            Some(cost(measured, it, question)?.bytes_out - question.payload() as f64)
        },
    ),
];

/// The label of a payload by its place.
fn size_at(index: f64) -> String {
    let size = Volume::usual(true).sizes().nth(index.max(0.0) as usize).map_or(0, |(size, _)| size);
    match size {
        size if size < 1024 => format!("{size} B"),
        size if size < 1024 * 1024 => format!("{} KiB", size / 1024),
        size => format!("{} MiB", size / 1024 / 1024),
    }
}

fn lines(
    configurations: &[Configuration],
    points: impl Fn(Configuration) -> Vec<(f64, f64)>,
) -> Vec<Line> {
    let line = |it: &Configuration| Line { name: it.name().to_owned(), points: points(*it) };
    configurations.iter().map(line).filter(|line| !line.points.is_empty()).collect()
}

fn warming(
    measured: &Measured,
    volume: &Volume,
    configurations: &[Configuration],
    java: bool,
) -> Drawn {
    let all = warm_up(measured, volume);
    let lines = lines(configurations, |it| {
        let of = all.iter().filter(|(configuration, ..)| *configuration == it);
        of.map(|(_, to, ms)| (*to as f64, *ms)).collect()
    });
    let step = (volume.requests / 5).max(1);
    let (id, title) = if java {
        ("warming-java", "Time per request after the start, on Java")
    } else {
        ("warming-rust", "Time per request after the start, our own service")
    };
    Drawn {
        id,
        title,
        note: "Mean of each batch, one client, payloads of 200 bytes.",
        lines,
        x_label: "requests since the start",
        x_ticks: (0..=5).map(|number| (number * step) as f64).collect(),
        x_tick: None,
        unit: "ms",
    }
}

fn first(measured: &Measured, configurations: &[Configuration], java: bool) -> Drawn {
    let lines = lines(configurations, |it| {
        let point = |index: usize| {
            let of = measured.of(it, Question::WarmUp);
            let times: Vec<f64> =
                of.filter_map(|it| it.samples.get(index)).map(|it| it.us as f64 / 1e3).collect();
            Some(((index + 1) as f64, super::analysis::mean(&times)?))
        };
        (0..FIRST).filter_map(point).collect()
    });
    let (id, title) = if java {
        ("first-java", "The first 17 requests, on Java")
    } else {
        ("first-rust", "The first 17 requests, our own service")
    };
    Drawn {
        id,
        title,
        note: "One by one; the first one opens the connection.",
        lines,
        x_label: "request",
        x_ticks: vec![1.0, 5.0, 9.0, 13.0, 17.0],
        x_tick: None,
        unit: "ms",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_are_labelled_in_their_unit() {
        let labels: Vec<String> = (0..5).map(|index| size_at(f64::from(index))).collect();
        assert_eq!(labels, ["200 B", "1 KiB", "16 KiB", "128 KiB", "1 MiB"]);
    }
}
