//! Why requests failed: a table by step and cause, and a sample of each.

use maud::{Markup, html};
use tidegate_load::Summary;
use tidegate_load::outcome::meaning;
use tidegate_load::result::failure::{RequestFailure, Sample};
use tidegate_report::Page;
use tidegate_report::number::{count, share};

use super::tables::listed;

/// Most samples; all are in the JSON.
const SAMPLES: usize = 20;

/// The failed requests by step and cause, the most frequent first.
pub(super) fn failures(page: Page, run: &Summary) -> Page {
    let failed = run.totals.requests_failed;
    let failures: Vec<_> = run.failures.iter().map(|failure| (failure, failed)).collect();
    let page = listed(
        page,
        "Why requests failed",
        ("dense wrapped", &[1]),
        &failures,
        &[
            ("step", |(it, _)| it.step().into()),
            ("cause", |(it, _)| cause(it).into()),
            ("requests", |(it, _)| count(it.count).into()),
            ("of those failed", |(it, failed)| share(it.count, *failed).into()),
        ],
    );
    let with_sample = run.failures.iter().filter_map(|it| Some((it, it.sample.as_ref()?)));
    page.raw(html! {
        @for (index, (failure, sample)) in with_sample.take(SAMPLES).enumerate() {
            details.sample open[index == 0] {
                summary { (failure.step()) ": " (cause(failure)) ", the first of them" }
                (shown(sample))
            }
        }
    })
}

fn cause(failure: &RequestFailure) -> String {
    meaning(&failure.cause)
}

fn shown(sample: &Sample) -> Markup {
    html! {
        pre { (sample.request) }
        @if !sample.response.is_empty() || !sample.body.is_empty() {
            pre { (sample.response) @if !sample.body.is_empty() { "\n\n" (sample.body) } }
        }
        @if !sample.error.is_empty() { pre { (sample.error) } }
    }
}
