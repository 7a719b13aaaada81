//! What was found, for a terminal.

use tidegate_report::number::{number, or_none, plural, time};

use super::{Kind, Report, Trial, tables};

/// Width of a terminal.
const WIDTH: usize = 120;

/// What a reader has to know of the figures.
pub(super) fn notes(report: &Report) -> Vec<String> {
    let mut text = Vec::new();
    if !report.found.is_cpu {
        text.push("The site's processes are not seen, so costs are response times, which contain the network and the load generator. Measure on the site's own machine, name its processes with --process, or give --gate-admin.".to_owned());
    }
    let undecided: Vec<&str> =
        report.advice.findings.iter().filter(|it| !it.decided).map(|it| it.factor.name()).collect();
    if !undecided.is_empty() {
        text.push(format!(
            "Undecided, at least in part: {}. More rounds (--rounds) or longer runs (--step) decide smaller differences.",
            undecided.join(", ")
        ));
    }
    let late = report.trials.iter().filter(|it| !it.driver_saturated_because.is_empty()).count();
    if late > 0 {
        text.push(format!(
            "In {} the load generator was late: response times are too long there. CPU times are not affected.",
            plural(late as u64, "run", "runs")
        ));
    }
    let failed = report.trials.iter().filter(|it| !it.is_sound()).count();
    if failed > 0 {
        text.push(format!(
            "{} not counted, because more than 5 % of the requests failed or none was answered.",
            plural(failed as u64, "run is", "runs are")
        ));
    }
    text
}

/// The whole result for a terminal.
pub fn terminal(report: &Report) -> String {
    let paragraph = |text: &String| tidegate_load::paragraph("", text) + "\n";
    let mut text = format!("\n{}\n", report.advice.headline);
    for finding in &report.advice.findings {
        text += &tidegate_load::paragraph(&format!("{}: ", finding.factor.name()), &finding.text);
        text.push('\n');
    }
    text.push('\n');
    text += &report.advice.connections.iter().map(paragraph).collect::<String>();
    text += &format!(
        "\nWhat a session of {} requests costs\n{}",
        number(report.requests_each),
        tables::sessions(report).text_within(WIDTH)
    );
    text +=
        &format!("\nWhat a connection costs\n{}\n", tables::connections(report).text_within(WIDTH));
    text + &notes(report).iter().map(paragraph).collect::<String>()
}

/// A run in a line.
pub fn line(trial: &Trial, kind: &Kind) -> String {
    let mode = trial.mode.map_or("", super::Mode::name);
    let figures = match trial.round {
        None => format!("{} round trips", or_none(trial.round_trips, number)),
        Some(_) => format!(
            "{} CPU time, {} response time",
            or_none(trial.cpu_ms, time),
            time(trial.response_ms)
        ),
    };
    let note = if trial.is_sound() { "" } else { "  (requests failed; not counted)" };
    format!("{}, {mode}: {figures} a session{note}", kind.name())
}
