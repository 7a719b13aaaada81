//! Why requests failed: a table by step and cause, and a sample of each.

use maud::{Markup, html};
use tidegate_load::Summary;
use tidegate_load::result::failure::{RequestFailure, Sample};

use super::format::{count, share};
use super::kinds::meaning;

/// Most rows, and most samples; all are in the JSON.
const ROWS: usize = 200;
const SAMPLES: usize = 20;

/// The failed requests by step and cause, the most frequent first.
pub(super) fn failures(run: &Summary) -> Markup {
    if run.failures.is_empty() {
        return html! {};
    }
    let failed = run.totals.requests_failed;
    let with_sample = run.failures.iter().filter_map(|it| Some((it, it.sample.as_ref()?)));
    html! {
        h2 { "Why requests failed" }
        div.scroll { table.dense.wrapped {
            thead { tr { th.text { "step" } th.text { "cause" } th { "requests" } th { "of those failed" } } }
            tbody { @for failure in run.failures.iter().take(ROWS) { tr {
                td { (failure.step()) }
                td.text { (cause(failure)) }
                td { (count(failure.count)) }
                td { (share(failure.count, failed)) }
            } } }
        } }
        @if run.failures.len() > ROWS { p.soft { "And " (run.failures.len() - ROWS) " more, all in the JSON." } }
        @for (index, (failure, sample)) in with_sample.take(SAMPLES).enumerate() {
            details.sample open[index == 0] {
                summary { (failure.step()) ": " (cause(failure)) ", the first of them" }
                (shown(sample))
            }
        }
    }
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
