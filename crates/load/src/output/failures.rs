//! Why requests failed, with a sample of each cause.

use super::number::times;
use super::paragraph::paragraph;
use crate::outcome::Failure;
use crate::result::failure::{RequestFailure, Sample};
use crate::result::summary::Summary;
use crate::scenario::expected::excerpt;

/// Most causes that are listed.
const LISTED: usize = 10;
/// Columns of the label of an entry.
const LABEL: &str = "failed          ";
const INDENT: &str = "                ";

/// An entry for each page and cause, the most frequent first.
pub(super) fn failures(summary: &Summary) -> Vec<String> {
    // What a check or a redirect did not meet has entries of its own.
    let own = [Failure::Check, Failure::Extraction, Failure::RedirectElsewhere].map(Failure::name);
    let all = summary.failures.iter().filter(|it| !own.contains(&it.cause.as_str()));
    let mut lines: Vec<String> = all.clone().take(LISTED).flat_map(entry).collect();
    if let Some(more @ 1..) = all.count().checked_sub(LISTED) {
        lines.push(format!("{INDENT}and {more} more, all in the JSON"));
    }
    lines
}

fn entry(failure: &RequestFailure) -> Vec<String> {
    let (step, cause, count) = (failure.step(), failure.cause_in_words(), failure.count);
    let mut lines = vec![paragraph(LABEL, &format!("{step}: {cause}, {}", times(count)))];
    lines.extend(failure.sample.iter().flat_map(sample));
    lines
}

/// The first lines of the request and its response, and the beginning of the body.
fn sample(sample: &Sample) -> Vec<String> {
    let first = |text: &str| excerpt(text.lines().next().unwrap_or_default().as_bytes());
    let mut lines = vec![("> ", first(&sample.request))];
    if !sample.response.is_empty() {
        lines.push(("< ", first(&sample.response)));
    }
    if !sample.body.is_empty() {
        lines.push(("< ", excerpt(sample.body.as_bytes())));
    }
    if !sample.error.is_empty() {
        lines.push(("! ", excerpt(sample.error.as_bytes())));
    }
    let line = |(mark, text): (&str, String)| paragraph(&format!("{INDENT}{mark}"), &text);
    lines.into_iter().map(line).collect()
}
