//! A result as JUnit XML, which CI systems read: a test case for each threshold, each check and
//! each page, and one for the run itself.
//!
//! Source: the schemas of Apache Ant's and of Jenkins' reports, which agree on what is used here.

use jiff::Timestamp;
use maud::{Markup, PreEscaped, html};
use tidegate_load::number::times;
use tidegate_load::{Summary, ThresholdResult};

use super::results::outcome;

/// Thresholds that limit failures: where there is one, it judges them, and failures that it allows
/// fail no test case.
const LIMIT_FAILURES: [&str; 7] = [
    "requests_failed_ratio",
    "failed_ratio",
    "completed_ratio",
    "responses_4xx_ratio",
    "responses_5xx_ratio",
    "connection_error_ratio",
    "soft_checks_failed",
];

/// A test case.
struct Case {
    /// What kind of thing it is about: `thresholds`, `checks`, `steps` or `run`.
    group: &'static str,
    name: String,
    end: End,
}

enum End {
    Passed,
    /// It was not reached.
    Skipped,
    /// A goal was missed: what and, in full, why.
    Failed(String, String),
    /// The run failed, for this reason.
    Error(String),
}

/// The document, with a test suite for each run.
pub(super) fn junit(runs: &[Summary]) -> String {
    let suites = runs.iter().enumerate().map(|(index, run)| suite(index, run));
    let document = html! {
        (PreEscaped("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"))
        testsuites { @for suite in suites { (suite) } }
    };
    document.into_string() + "\n"
}

fn suite(index: usize, run: &Summary) -> Markup {
    let (cases, notes) = cases(run);
    let count = |is: fn(&End) -> bool| cases.iter().filter(|case| is(&case.end)).count();
    let at = i64::try_from(run.started_at_unix_ms).unwrap_or_default();
    let at = Timestamp::from_millisecond(at).unwrap_or_default();
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = if host.trim().is_empty() { "localhost" } else { host.trim() };
    let properties = [
        ("seed", run.seed.to_string()),
        ("version", run.version.clone()),
        ("command", run.command.clone()),
    ];
    html! {
        testsuite id=(index) package="tidegate" name=(xml(&format!("{} at {}", run.scenario, run.target)))
            timestamp=(at.strftime("%Y-%m-%dT%H:%M:%S").to_string()) hostname=(xml(host))
            tests=(cases.len()) failures=(count(|end| matches!(end, End::Failed(..))))
            errors=(count(|end| matches!(end, End::Error(_))))
            skipped=(count(|end| matches!(end, End::Skipped)))
            time=(format!("{:.3}", run.warm_up_s + run.measured_s)) {
            properties { @for (name, value) in properties { property name=(name) value=(xml(&value)) {} } }
            @for case in &cases { (case.markup(&run.scenario)) }
            system-out { (xml(&notes)) }
            system-err {}
        }
    }
}

impl Case {
    fn markup(&self, scenario: &str) -> Markup {
        html! {
            testcase classname=(xml(&format!("{scenario}.{}", self.group))) name=(xml(&self.name)) time="0" {
                @match &self.end {
                    End::Passed => {}
                    End::Skipped => { skipped {} }
                    End::Failed(what, why) => { failure type=(self.group) message=(xml(what)) { (xml(why)) } }
                    End::Error(why) => { error type="run" message=(xml(why)) {} }
                }
            }
        }
    }
}

/// The test cases of a run, and what it says of failures that are no failed case.
fn cases(run: &Summary) -> (Vec<Case>, String) {
    let judges =
        |verdict: &ThresholdResult| LIMIT_FAILURES.iter().any(|it| verdict.metric.ends_with(it));
    let judged = run.thresholds.iter().any(judges);
    let mut notes = String::new();
    let mut allowed = |case: &str, end: End| match end {
        End::Failed(what, why) => {
            notes.push_str(&format!("{case}: {what}\n{why}\n"));
            End::Passed
        }
        end => end,
    };
    let mut cases = vec![Case { group: "run", name: "run".to_owned(), end: of_run(run) }];
    cases.extend(run.thresholds.iter().map(threshold));
    for check in &run.checks {
        let name = format!("{}: {}", check.page, check.expected);
        let end = match run.pages.contains_key(&check.page) {
            false => End::Skipped,
            true if check.failed == 0 => End::Passed,
            true => End::Failed(format!("failed {}", times(check.failed)), example(run, check)),
        };
        let end = if judged || check.kind == "soft_check" { allowed(&name, end) } else { end };
        cases.push(Case { group: "checks", name, end });
    }
    for (page, figures) in &run.pages {
        let end = match figures.failed {
            0 => End::Passed,
            failed => {
                let all = figures.ok + failed;
                End::Failed(format!("{failed} of {all} requests failed"), causes(run, page))
            }
        };
        let end = if judged { allowed(page, end) } else { end };
        cases.push(Case { group: "steps", name: page.clone(), end });
    }
    (cases, notes)
}

fn of_run(run: &Summary) -> End {
    match outcome(run) {
        Err(why) => End::Error(why.to_string()),
        Ok(_) => match &run.aborted {
            Some(aborted) => End::Failed(
                format!("ended early, {:.1} s after the start", aborted.at_s),
                shown(&aborted.verdict),
            ),
            None => End::Passed,
        },
    }
}

fn threshold(verdict: &ThresholdResult) -> Case {
    let name = format!("{} {}", verdict.metric, limit(verdict));
    let shown = shown(verdict);
    let end = if verdict.met { End::Passed } else { End::Failed(shown.clone(), shown) };
    Case { group: "thresholds", name, end }
}

/// The figure with its limit.
fn shown(verdict: &ThresholdResult) -> String {
    let relation = if verdict.is_lower_bound { "more than" } else { "was" };
    let value = verdict.value.map_or("no data".to_owned(), |value| format!("{value:.3}"));
    format!("{} {relation} {value}, must be {}", verdict.metric, limit(verdict))
}

fn limit(verdict: &ThresholdResult) -> String {
    verdict.limits(|value| value.to_string())
}

/// What was found in place of what a check expects.
fn example(run: &Summary, check: &tidegate_load::result::figures::CheckFigures) -> String {
    let same = run.failed_checks.iter().find(|it| {
        (&it.page, &it.kind, &it.expected) == (&check.page, &check.kind, &check.expected)
    });
    same.map(|it| format!("found {}", it.example)).unwrap_or_default()
}

/// Why requests of a page failed, with a sample of the most frequent cause.
fn causes(run: &Summary, page: &str) -> String {
    let of_page = || run.failures.iter().filter(|it| it.page == page && it.asset.is_none());
    let causes = of_page().map(|it| format!("{}: {}", it.cause_in_words(), times(it.count)));
    let mut lines: Vec<String> = causes.collect();
    if let Some(sample) = of_page().find_map(|it| it.sample.as_ref()) {
        let parts = [&sample.request, &sample.response, &sample.body, &sample.error];
        lines.extend(parts.into_iter().filter(|part| !part.is_empty()).map(|it| format!("\n{it}")));
    }
    lines.join("\n")
}

/// Without what XML 1.0 cannot have.
fn xml(text: &str) -> String {
    let cannot = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\t')) || matches!(c, '\u{fffe}' | '\u{ffff}')
    };
    text.chars().map(|c| if cannot(c) { '·' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_escaped_and_has_what_its_end_needs() {
        let of = |end| {
            let case = Case { group: "checks", name: "a < \"b\" & \u{1}".to_owned(), end };
            case.markup("shop").into_string()
        };
        let head =
            "<testcase classname=\"shop.checks\" name=\"a &lt; &quot;b&quot; &amp; ·\" time=\"0\">";
        assert_eq!(of(End::Passed), format!("{head}</testcase>"));
        assert_eq!(of(End::Skipped), format!("{head}<skipped></skipped></testcase>"));
        let failed = of(End::Failed("once".to_owned(), "found <p>".to_owned()));
        let failure = "<failure type=\"checks\" message=\"once\">found &lt;p&gt;</failure>";
        assert_eq!(failed, format!("{head}{failure}</testcase>"));
    }
}
