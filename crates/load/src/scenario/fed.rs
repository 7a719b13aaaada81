//! Which feeders the sessions of a class use.

use super::class::Class;
use super::definition::ScenarioDefinition;
use super::field::{FieldRule, TextPart};
use super::page::{Body, BodySource, ChannelUse, MessageRule, Page, Source};
use crate::feeder::Feeder;

/// For each class, the indices of the feeders that its pages use.
pub(super) fn used(
    classes: &[Class],
    pages: &[Page],
    fields: &[(String, FieldRule)],
    feeders: &[Feeder],
) -> Vec<Vec<u8>> {
    let of_class = |class: &Class| {
        let reached = class.navigation.reachable(class.start, pages.len());
        let visited = pages.iter().zip(&reached).filter(|(_, reached)| **reached);
        let via = visited.clone().filter_map(|(page, _)| pages.get(usize::from(page.via?)));
        let mut parameters: Vec<u16> = Vec::new();
        visited
            .map(|(page, _)| page)
            .chain(via)
            .for_each(|page| add(page, fields, &mut parameters));
        let uses = |feeder: &Feeder| parameters.iter().any(|parameter| feeder.gives(*parameter));
        let used = (0u8..).zip(feeders).filter(|(_, feeder)| uses(feeder));
        used.map(|(index, _)| index).collect()
    };
    if feeders.is_empty() {
        return Vec::new();
    }
    classes.iter().map(of_class).collect()
}

/// Notes about feeders that nothing uses.
pub(super) fn unused(used: &[Vec<u8>], feeders: &[Feeder]) -> Vec<String> {
    let unused =
        (0u8..).zip(feeders).filter(|(index, _)| !used.iter().flatten().any(|u| u == index));
    let note = |feeder: &Feeder| {
        format!(
            "no page uses a column of {}: {}",
            file_name(feeder),
            feeder.rows.names().join(", ")
        )
    };
    unused.map(|(_, feeder)| note(feeder)).collect()
}

/// The file without its folder.
pub(crate) fn file_name(feeder: &Feeder) -> String {
    let name = std::path::Path::new(&feeder.file).file_name();
    name.map_or_else(|| feeder.file.clone(), |name| name.to_string_lossy().into_owned())
}

/// Adds the parameters that requests for a page may need.
fn add(page: &Page, fields: &[(String, FieldRule)], parameters: &mut Vec<u16>) {
    parameters.extend(page.template().parameters());
    let mut add_text = |text: &[TextPart]| {
        parameters.extend(text.iter().filter_map(|part| match part {
            TextPart::Parameter(index) => Some(*index),
            _ => None,
        }));
    };
    if let Some(Body { source: BodySource::Text(text), .. }) = &page.body {
        add_text(text);
    }
    page.headers.iter().for_each(|(_, text)| add_text(text));
    if let Some(ChannelUse::Message(MessageRule { expect: Some(text), .. })) = &page.channel {
        add_text(text);
    }
    let of_site = fields.iter().filter(|_| matches!(page.source, Source::Form(_)));
    for (_, rule) in page.fields.iter().chain(of_site) {
        if let FieldRule::Text(text) = rule {
            add_text(text);
        }
    }
}

impl ScenarioDefinition {
    /// The rows of a session, one for each feeder: those of feeders that the class does not use
    /// are 0. `session` is its number in the whole test.
    ///
    /// # Errors
    /// The index of a feeder whose rows are used up.
    pub(crate) fn rows(&self, class: u8, session: u64, seed: u64) -> Result<Box<[u32]>, u8> {
        let mut rows = vec![0; self.feeders.len()];
        for &index in self.fed.get(usize::from(class)).into_iter().flatten() {
            let feeder = &self.feeders[usize::from(index)];
            let row = feeder.row(session, seed.wrapping_add(u64::from(index)));
            rows[usize::from(index)] = row.ok_or(index)?;
        }
        Ok(rows.into())
    }
}
