//! A scenario from a recording of a browser's session (HAR 1.2): the pages in order with their
//! forms, assets and think times, and values that the server issued as extractions.
//!
//! The recording is hostile input: its size, its depth and the size of the scenario are bounded,
//! and malformed entries are left out and told.

mod headers;
mod issued;
mod left_out;
mod parameters;
mod recorded;
mod script;
mod visits;
mod write;

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;

use left_out::{LeftOut, Reason};
use recorded::Recorded;
use script::{Script, can_send};
use write::Heading;

use crate::client::target::Target;
use crate::error::Error;
use crate::har::{self, Entry, Lenient};
use crate::scenario::Scenario;

/// Largest recording, in bytes.
pub const LARGEST: u64 = 256 << 20;
/// Most entries of one.
const ENTRIES: usize = 100_000;

/// What to import.
#[derive(Clone, Debug, Default)]
pub struct Import {
    /// The recording as the user named it.
    pub recording: String,
    /// The recorded origin whose requests are kept; `None` for that of the first document.
    pub origin: Option<String>,
    /// The origin that customers will request, for Origin and Referer; `None` for the recorded.
    pub target: Option<String>,
}

/// A scenario from a recording.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The scenario file.
    pub scenario: String,
    /// What was left out, and what its reader should know: a line each.
    pub notes: Vec<String>,
    /// Requests of a session, without assets.
    pub steps: usize,
    /// Assets of its pages.
    pub assets: usize,
    /// The origin that customers will request.
    pub target: String,
}

impl Import {
    /// Reads the recording from a file.
    ///
    /// # Errors
    /// It cannot be read, or is none that a scenario can be made from; in words.
    pub fn from_file(&self, path: &Path) -> Result<Imported, String> {
        let bytes = tidegate_config::read_bytes(path, LARGEST).map_err(|error| {
            let remedy = match error.kind() {
                ErrorKind::FileTooLarge => "record a shorter session, or export it without content",
                _ => "name a recording that can be read",
            };
            format!("{}: cannot be read: {error}; {remedy}", self.recording)
        })?;
        self.from_bytes(&bytes)
    }

    /// Makes the scenario.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn from_bytes(&self, bytes: &[u8]) -> Result<Imported, String> {
        let wrong = |rule: String, remedy: &str| format!("{}: {rule}; {remedy}", self.recording);
        let entries: Vec<Lenient<Entry>> = har::from_slice(bytes)
            .map_err(|error| wrong(format!("is no HAR: {error}"), har::EXPORT))?;
        if entries.len() > ENTRIES {
            let rule = format!("has {} entries, at most {ENTRIES}", entries.len());
            return Err(wrong(rule, "record a shorter session"));
        }
        let mut left_out = LeftOut::default();
        let mut good = Vec::with_capacity(entries.len());
        for (index, Lenient(entry)) in entries.into_iter().enumerate() {
            match entry {
                Ok(entry) => good.push(entry),
                Err(rule) => left_out.malformed(index, rule),
            }
        }
        let all = recorded::read(good, &mut left_out);
        let origins: BTreeSet<String> = all.iter().map(Recorded::origin).collect();
        let Some(first) = recorded::first_origin(&all) else {
            let notes = left_out.notes().join("\n");
            let rule = "has no request that customers can send".to_owned();
            return Err(wrong(rule, "record the session from its first page") + "\n" + &notes);
        };
        let origin = match &self.origin {
            Some(origin) => origin_of(origin)?,
            None => first,
        };
        if !origins.contains(&origin) {
            let known: Vec<String> = origins.into_iter().take(20).collect();
            let rule = format!("has no request to {origin}");
            return Err(wrong(rule, &format!("name one of {}", known.join(", "))));
        }
        let target = self.target.as_deref().map_or_else(|| Ok(origin.clone()), origin_of)?;
        self.scenario(all, &origin, target, left_out)
    }

    fn scenario(
        &self,
        all: Vec<Recorded>,
        origin: &str,
        target: String,
        mut left_out: LeftOut,
    ) -> Result<Imported, String> {
        let own = recorded::of_origin(all, origin, &mut left_out);
        let had_cookies = own.first().is_some_and(|first| {
            first.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("cookie"))
        });
        let multiplexed = own.iter().filter(|it| it.multiplexed).count();
        let http2 = target.starts_with("https:") && 2 * multiplexed > own.len();
        let accepts = |(name, _): &(String, String)| name.eq_ignore_ascii_case("accept-encoding");
        let compressed = own.iter().any(|it| it.headers.iter().any(accepts));
        let visits = visits::group(own, origin, &mut left_out);
        let (visits, unsendable): (Vec<_>, Vec<_>) =
            visits.into_iter().partition(|visit| can_send(&visit.request));
        unsendable.iter().for_each(|_| left_out.add(Reason::Braces));
        let script = Script::of(&visits, &target, &mut left_out);
        if script.steps.is_empty() {
            let notes = left_out.notes().join("\n");
            return Err(format!(
                "{}: has no page of {origin}; record the session from its first page\n{notes}",
                self.recording
            ));
        }
        let name = Path::new(&self.recording).file_stem().unwrap_or_default().to_string_lossy();
        let heading = Heading {
            recording: &self.recording,
            name: &name,
            origin,
            target: &target,
            http2,
            compressed,
        };
        let text = write::scenario(&script, &heading);
        // A mistake here would be one of the importer.
        if let Err(mistakes) = Scenario::from_toml(&text, "the imported scenario") {
            return Err(format!("{}: makes no valid scenario: {mistakes}", self.recording));
        }
        let mut notes = left_out.notes();
        notes.extend(script.credentials.notes());
        if had_cookies {
            notes.push(
                "the recording begins with cookies of an earlier visit, which customers do not \
                 have: record in a private window"
                    .to_owned(),
            );
        }
        let assets: usize = script.pages.iter().map(|(_, page)| page.assets.len()).sum();
        Ok(Imported { scenario: text, notes, steps: script.steps.len(), assets, target })
    }
}

/// `https://host[:port]` of an address.
fn origin_of(text: &str) -> Result<String, String> {
    Target::parse(text).map(|target| target.origin).map_err(|error: Error| error.to_string())
}

#[cfg(test)]
mod tests;
