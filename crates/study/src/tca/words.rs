//! What was found, in sentences and for a terminal.

use tidegate_plan::Range;
use tidegate_report::number::{number, percent, plural, range, significant};

use super::predicted::AT_A_TIME;
use super::resources::{Resource, Unit};
use super::verify::LARGE;
use super::{Report, Run, Verification, tables};

/// Width of a terminal.
const WIDTH: usize = 120;

/// A figure for people: two digits below 100, else three.
pub(super) fn round(value: f64) -> String {
    let digits = 10f64.powi(value.abs().max(1.0).log10().floor() as i32 - 2).max(1.0);
    significant((value / digits).round() * digits, 2)
}

/// A figure with its interval.
fn with_range(it: Range) -> String {
    match it.is_exact() {
        true => round(it.value),
        false => format!("{} ({})", round(it.value), range((it.low, it.high), round)),
    }
}

/// The sentence for the reader in a hurry.
pub(super) fn headline(report: &Report) -> String {
    let Some(carried) = report.predicted.sessions_per_s else {
        return "What the site carries is not known: no resource of it came to a limit.".to_owned();
    };
    let customers = report.predicted.customers.map(|it| round(it.value));
    format!(
        "The site carries {} sessions per second{}.",
        round(carried.value),
        customers.map(|it| format!(", about {it} customers at a time")).unwrap_or_default()
    )
}

/// What that means, and what limits it.
pub(super) fn lead(report: &Report) -> Vec<String> {
    let predicted = &report.predicted;
    let mut text = Vec::new();
    if let Some(carried) = predicted.sessions_per_s {
        let mut figures = vec![format!("{} sessions/s", with_range(carried))];
        let more = [
            (predicted.customers, "customers at a time"),
            (predicted.page_views_per_hour, "page views per hour"),
            (predicted.orders_per_hour, "orders per hour"),
        ];
        figures.extend(
            more.into_iter().filter_map(|(it, noun)| Some(format!("{} {noun}", with_range(it?)))),
        );
        text.push(format!("{}, with 95 % intervals.", figures.join(", ")));
    }
    if let Some(at) = predicted.tightest {
        let it = &predicted.sums[at];
        text.push(match it.unit {
            _ if it.resource == AT_A_TIME => "The tightest resource is not a processor: alone, operations met a limit of throughput while processors had time left. A lock, a pool of workers or connections, or a single thread does that.".to_owned(),
            Unit::CpuSeconds => format!(
                "The tightest resource is the processor time of {}: {} processors, of which a session takes {}.",
                it.resource,
                number(it.usable_per_s.unwrap_or(0.0)),
                tables::amount(it.unit)(it.session.value),
            ),
            _ => format!("The tightest resource is {}.", it.resource),
        });
    }
    if report.options.order.is_none() {
        text.push(
            "Name the page that is an order with --order PAGE for orders per hour.".to_owned(),
        );
    }
    text.extend(constant_use(report));
    text
}

/// What is used of the site's processors whatever the number of customers.
fn constant_use(report: &Report) -> Option<String> {
    let site = |of: &dyn Fn(usize) -> f64| -> f64 {
        let cpu = |it: &(usize, &Resource)| it.1.unit == Unit::CpuSeconds && !it.1.driver;
        report.resources.iter().enumerate().filter(cpu).map(|(at, _)| of(at)).sum()
    };
    let nobody = site(&|at| report.costs.nobody[at]);
    let constant = site(&|at| report.costs.idle[at].value);
    if nobody > IDLE {
        Some(format!(
            "Without customers the site uses {} processors: a background job, which is counted once and not per session.",
            number(nobody)
        ))
    } else if constant - nobody > IDLE {
        Some(format!(
            "Besides what each session takes, {} processors are counted once, though the idle site uses {}: at light load a request is dearer, since threads are woken up for each.",
            number(constant),
            number(nobody)
        ))
    } else {
        None
    }
}

/// Processors that an idle site uses which are worth a sentence.
const IDLE: f64 = 0.05;

/// How far off the prediction is.
pub(super) fn verified(report: &Report) -> Vec<String> {
    let Some(accuracy) = &report.accuracy else {
        return vec!["There is no verification: no capacity was predicted.".to_owned()];
    };
    let mut text = Vec::new();
    let off = |error: f64| {
        let size = percent(error.abs());
        if error < 0.0 { format!("{size} less") } else { format!("{size} more") }
    };
    if let Some(error) = accuracy.cpu_error {
        text.push(format!(
            "While it followed, it used {} processor time than predicted.",
            off(error)
        ));
    }
    let peak = number(accuracy.peak_per_s);
    text.push(match accuracy.throughput_error {
        _ if accuracy.peak_per_s <= 0.0 => {
            "No step says what it carries: in all of them the load generator was saturated, or no session completed.".to_owned()
        }
        Some(error) => {
            format!("It completed at most {peak} sessions/s, {} than predicted.", off(error))
        }
        None => format!(
            "It completed up to {peak} sessions/s, all that arrived: its limit was not reached."
        ),
    });
    if let Some(with) = report.predicted.with_driver_per_s
        && report.predicted.sessions_per_s.is_some_and(|it| it.value > with)
    {
        text.push(format!(
            "Here the load generator runs on the site's processors, so that at most {} sessions/s can be measured; the site alone carries more.",
            number(with)
        ));
    }
    if report.is_off() {
        text.push(format!("WARNING: THE PREDICTION IS MORE THAN {:.0} % OFF.", 100.0 * LARGE));
    }
    text.extend(accuracy.reasons.iter().map(|it| it.text.clone()));
    text
}

/// Operations that are not told apart, and those that never came.
pub(super) fn groups(report: &Report) -> Vec<String> {
    let told = |it: &super::Together| {
        let names = it.operations.join(", ");
        match it.with_idle {
            true => format!("{names}: their cost cannot be told from what the idle site uses."),
            false => format!(
                "{names} always come together: only their sum is known, and each is given an equal share."
            ),
        }
    };
    let unseen = report.costs.operations.iter().filter(|it| it.is_unseen());
    let unseen: Vec<&str> = unseen.map(|it| it.operation.as_str()).collect();
    let left_out = (!unseen.is_empty()).then(|| {
        format!(
            "No session came to {}, so that nothing is said of what it costs.",
            unseen.join(", ")
        )
    });
    report.costs.groups.iter().map(told).chain(left_out).collect()
}

/// The whole result for a terminal.
pub fn terminal(report: &Report) -> String {
    let paragraph = |text: &String| tidegate_load::paragraph("", text) + "\n";
    let mut text = format!("\n{}\n", headline(report));
    text += &lead(report).iter().map(paragraph).collect::<String>();
    text += &format!(
        "\nWhat an operation costs, with 95 % intervals\n{}",
        tables::costs(report).text_within(WIDTH)
    );
    text += &groups(report).iter().map(paragraph).collect::<String>();
    text += &format!("\nWhat a session uses\n{}", tables::sums(report).text_within(WIDTH));
    if !report.steps.is_empty() {
        text += &format!(
            "\nThe scenario itself at rising load\n{}",
            tables::steps(&report.steps).text_within(WIDTH)
        );
    }
    text + "\n" + &verified(report).iter().map(paragraph).collect::<String>()
}

/// A run in a line.
pub fn line(run: &Run, operations: &[String]) -> String {
    let what = match run.operation {
        Some(at) => {
            let name = operations.get(at).map_or(super::CONNECTION, String::as_str);
            format!("{name} {}/s", number(run.count(at)))
        }
        None => "the scenario".to_owned(),
    };
    let notes = match () {
        () if !run.is_in_time() => "  (the load generator was late)".to_owned(),
        () if run.requests_failed > 0 => {
            format!("  ({} failed)", plural(run.requests_failed, "request", "requests"))
        }
        () if !run.follows => "  (the site did not follow)".to_owned(),
        () => String::new(),
    };
    format!("{what}, busiest resource {}{notes}", percent(run.busy))
}

/// A step of the verification in a line, with its heading.
pub fn step_line(step: &Verification) -> (String, String) {
    let text = tables::steps([step]).text_within(0);
    let (heading, line) = text.split_once('\n').unwrap_or_default();
    (heading.to_owned(), line.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::page::tests::report;
    use super::*;

    #[test]
    fn what_an_idle_site_uses_is_told_from_what_light_load_adds() {
        let mut it = report();
        it.costs.idle[0].value = 0.2;
        it.costs.nobody[0] = 0.2;
        assert!(constant_use(&it).unwrap().contains("a background job"));
        it.costs.nobody[0] = 0.01;
        assert!(constant_use(&it).unwrap().contains("though the idle site uses 0.01"));
        it.costs.idle[0].value = 0.03;
        assert_eq!(constant_use(&it), None);
    }
}
