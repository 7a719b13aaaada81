//! What a run found and wrote.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::crawl::Seen;
use crate::key::Key;
use crate::media::Kind;
use crate::outcome::{Outcome, Why};

/// Most examples of a reason.
const EXAMPLES: usize = 3;

/// What a run found and wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// The site.
    pub site: String,
    /// Addresses that were found, each once, in all variants.
    pub found: u64,
    /// Answers of the site in this run.
    pub answers: u64,
    /// Answers that an interrupted run left.
    pub resumed: u64,
    /// Pages that are rendered, without variants.
    pub pages: u64,
    /// Other files: style sheets, scripts, images.
    pub files: u64,
    /// Redirects whose links lead to where they go.
    pub redirects: u64,
    /// For each value of the cookie, the files that differ from those without it.
    pub variants: Vec<VariantFiles>,
    /// Files that are new.
    pub new: u64,
    /// Files with other content than before.
    pub changed: u64,
    /// Files that are as before.
    pub unchanged: u64,
    /// Files of the last run that are gone.
    pub removed: u64,
    /// Pages of the last run that stay because the site could not answer for now.
    pub kept: u64,
    /// Size of all files without compression, in bytes.
    pub bytes: u64,
    /// What stays dynamic, by reason, most frequent first.
    pub skipped: Vec<Skipped>,
}

/// The files of one value of the cookie.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VariantFiles {
    /// The value.
    pub value: String,
    /// The files that differ.
    pub files: u64,
}

/// Pages that stay dynamic for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// The reason.
    pub why: String,
    /// How many.
    pub count: u64,
    /// The first of them.
    pub examples: Vec<String>,
}

impl Summary {
    /// Counts the pages of all variants; of each, `loops` are the redirects that go round, in
    /// order.
    pub fn of<'s>(seen: &'s [Seen], loops: &dyn Fn(usize) -> Vec<&'s Key>) -> Self {
        let mut summary = Self::default();
        let mut skipped: BTreeMap<String, (u64, Vec<String>)> = BTreeMap::new();
        let mut skip = |why: &Why, example: String| {
            let (count, examples) = skipped.entry(why.to_string()).or_default();
            *count += 1;
            if examples.len() < EXAMPLES {
                examples.push(example);
            }
        };
        for (variant, seen) in seen.iter().enumerate() {
            summary.found += seen.outcomes.len() as u64;
            let loops = loops(variant);
            for (key, outcome) in &seen.outcomes {
                let example = match &seen.variant {
                    Some(value) => format!("{key} ({value})"),
                    None => key.to_string(),
                };
                match outcome {
                    Outcome::Body(body) => {
                        summary.kept += u64::from(body.kept);
                        if variant == 0 {
                            let is_page = body.kind == Kind::Page;
                            summary.pages += u64::from(is_page);
                            summary.files += u64::from(!is_page);
                        }
                    }
                    Outcome::Moved { .. } if loops.binary_search(&key).is_ok() => {
                        skip(&Why::RedirectLoop, example);
                    }
                    Outcome::Moved { .. } => summary.redirects += u64::from(variant == 0),
                    Outcome::Skipped(why) => skip(why, example),
                }
            }
            if seen.beyond > 0 {
                summary.found += seen.beyond;
                skipped_many(&mut summary, seen.beyond);
            }
        }
        let all =
            skipped.into_iter().map(|(why, (count, examples))| Skipped { why, count, examples });
        for reason in all {
            match summary.skipped.iter_mut().find(|it| it.why == reason.why) {
                Some(known) => {
                    known.count += reason.count;
                    known.examples = reason.examples;
                }
                None => summary.skipped.push(reason),
            }
        }
        summary.skipped.sort_by(|one, other| {
            other.count.cmp(&one.count).then_with(|| one.why.cmp(&other.why))
        });
        summary
    }
}

/// Links beyond those that are remembered: each counts, whether another leads to the same page.
fn skipped_many(summary: &mut Summary, count: u64) {
    let why = Why::MaxPages.to_string();
    match summary.skipped.iter_mut().find(|it| it.why == why) {
        Some(known) => known.count += count,
        None => summary.skipped.push(Skipped { why, count, examples: Vec::new() }),
    }
}
