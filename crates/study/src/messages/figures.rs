//! The figures of the page.

use tidegate_report::{Figure, Line, Scale};

use super::analysis::{cost, first_times, warm_up};
use super::configuration::Configuration;
use super::plan::{FIRST, Volume};
use super::series::{Measured, Question};

/// Every figure that has a point.
pub(super) fn figures(measured: &Measured, volume: &Volume) -> Vec<Figure> {
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
        let figure =
            Figure { x_tick: Some(size_at), y_unit: unit.into(), ..figure(id, title, note) };
        drawn.push(Figure { lines, x_label: "payload".into(), x_ticks, ..figure });
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

/// A figure without lines; times, CPU and bytes have a logarithmic scale.
fn figure(id: &'static str, title: &str, note: &str) -> Figure {
    let (title, note, y_unit) = (title.to_owned(), note.to_owned(), "ms".to_owned());
    Figure { id, title, note, y_unit, scale: Scale::Log, most_marks: FIRST, ..Figure::default() }
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
) -> Figure {
    let all = warm_up(measured, volume);
    let lines = lines(configurations, |it| {
        let of = all.iter().filter(|(configuration, ..)| *configuration == it);
        of.map(|(_, to, ms)| (*to as f64, *ms)).collect()
    });
    let step = (volume.requests / 5).max(1);
    let (id, title) = if java {
        ("warming-java", "Time per request after the start, on Java")
    } else {
        ("warming-rust", "Time per request after the start, the Rust service")
    };
    let note = "Mean of each batch, one client, payloads of 200 bytes.";
    let x_ticks = (0..=5).map(|number| (number * step) as f64).collect();
    let x_label = "requests since the start".into();
    Figure { lines, x_label, x_ticks, ..figure(id, title, note) }
}

fn first(measured: &Measured, configurations: &[Configuration], java: bool) -> Figure {
    let lines = lines(configurations, |it| {
        let times = first_times(measured, it).into_iter();
        times.map(|(request, ms)| (request as f64, ms)).collect()
    });
    let (id, title) = if java {
        ("first-java", "The first 17 requests, on Java")
    } else {
        ("first-rust", "The first 17 requests, the Rust service")
    };
    let x_ticks = vec![1.0, 5.0, 9.0, 13.0, 17.0];
    let note = "One by one; the first one opens the connection.";
    Figure { lines, x_label: "request".into(), x_ticks, ..figure(id, title, note) }
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
