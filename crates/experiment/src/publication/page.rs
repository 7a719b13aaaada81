//! Compares the figures in the text of a page with the published tables.
//!
//! A figure is a number with a unit, or any number in a table but for its head and first column.
//! Each names where it comes from in a comment after it, or says with `=paper` or `=setting` that
//! it is none of a run. A comment of its own exempts the block after it, such as
//! `<!-- figures: setting -->`, or the rest of its section, such as
//! `<!-- figures of this section: setting -->`. Generated tables are compared as a whole, and so is
//! the part that a study's publication writes, once there is one.

use std::collections::BTreeSet;

use super::figures::{Shown, comment, shown, without_comments_and_code};
use super::names::{NAMES, Names};
use super::pivot::TABLE;
use super::publish::{STUDY, STUDY_END};
use super::sheet::Sheets;

/// What is wrong with a page.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Its line.
    pub line: usize,
    /// What, and how to mend it.
    pub text: String,
}

/// What figures can be other than results of a run: the word, and what it means.
const EXEMPT: [(&str, &str); 4] = [
    ("setting", "chosen, not measured"),
    ("paper", "of the paper"),
    ("elsewhere", "of a measurement that is no study; its command stands beside it"),
    (NOT_PUBLISHED, "of a run whose tables are not published, which the page says"),
];
const NOT_PUBLISHED: &str = "not published";
/// How a comment begins that exempts figures of the next block.
const OF_BLOCK: &str = "figures:";
/// The same of the rest of a section.
const OF_SECTION: &str = "figures of this section:";

/// The findings in a page of Markdown; the names that it uses are added to `used`.
pub fn check(
    page: &str,
    names: &Names,
    sheets: &Sheets,
    used: &mut BTreeSet<String>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let blocks = blocks(page);
    // The level of the last heading, and of the one whose section is exempt.
    let (mut level, mut exempt_section) = (0, None);
    let (mut exempt_block, mut generated) = (false, false);
    for (place, block) in blocks.iter().enumerate() {
        if let Some(heading) = block.heading() {
            level = heading;
            exempt_section = exempt_section.filter(|section| level > *section);
            exempt_block = false;
            continue;
        }
        if let Some(text) = block.comment() {
            let rest = &blocks[place + 1..];
            if let Some(study) = text.strip_prefix(STUDY) {
                generated = sheets.is_published(study.trim());
            } else if text == STUDY_END {
                generated = false;
            } else if let Some(kind) = text.strip_prefix(OF_SECTION) {
                findings.extend(wrong_exemption(kind.trim(), block.line, section(rest, level)));
                exempt_section = exempt_section.or(Some(level));
            } else if let Some(kind) = text.strip_prefix(OF_BLOCK) {
                let scope = &rest[..rest.len().min(1)];
                findings.extend(wrong_exemption(kind.trim(), block.line, scope));
                exempt_block = true;
            } else if text.starts_with(TABLE) {
                exempt_block = true;
            }
            continue;
        }
        if !generated && exempt_section.is_none() && !exempt_block {
            for (line, figure) in block.figures() {
                let finding = compare(&figure, names, sheets, used);
                findings.extend(finding.map(|text| Finding { line, text }));
            }
        }
        exempt_block = false;
    }
    findings
}

/// What is wrong with a figure.
fn compare(
    figure: &Shown,
    names: &Names,
    sheets: &Sheets,
    used: &mut BTreeSet<String>,
) -> Option<String> {
    let written = format!("{} {}", figure.text, figure.unit.unwrap_or_default());
    let written = written.trim();
    let Some(name) = &figure.origin else {
        return Some(format!(
            "{written} does not say where it comes from; add a name of docs/studies/{NAMES} as it explains"
        ));
    };
    if EXEMPT.iter().any(|(kind, _)| kind == name) {
        return None;
    }
    used.insert(name.clone());
    let value = names.get(name).and_then(|it| Ok((it.value(sheets)?, it.column())));
    match value {
        Err(error) => Some(format!("{written}: {error}")),
        Ok((value, column)) if !figure.shows(value, column) => Some(format!(
            "{written}: {name} is {value}, which is {}; correct the text",
            figure.written(value, column)
        )),
        Ok(_) => None,
    }
}

fn wrong_exemption(kind: &str, line: usize, scope: &[Block<'_>]) -> Option<Finding> {
    let wrong = |text: String| Some(Finding { line, text });
    if !EXEMPT.iter().any(|(known, _)| *known == kind) {
        let known = EXEMPT.map(|(known, what)| format!("{known} ({what})")).join(", ");
        return wrong(format!("figures of the kind {kind:?} are unknown; write one of {known}"));
    }
    let is_visible = |block: &Block<'_>| {
        without_comments_and_code(&block.text()).0.to_lowercase().contains(NOT_PUBLISHED)
    };
    if kind == NOT_PUBLISHED && !scope.iter().any(is_visible) {
        return wrong(format!("a reader does not see it; write \"{NOT_PUBLISHED}\" in the text"));
    }
    None
}

/// The blocks before the next heading of this level or a higher one.
fn section<'b, 'p>(blocks: &'b [Block<'p>], level: usize) -> &'b [Block<'p>] {
    let ends = |block: &Block<'_>| block.heading().is_some_and(|other| other <= level);
    &blocks[..blocks.iter().position(ends).unwrap_or(blocks.len())]
}

/// Lines without an empty one between them.
struct Block<'p> {
    line: usize,
    lines: Vec<&'p str>,
}

impl Block<'_> {
    fn text(&self) -> String {
        self.lines.join("\n")
    }

    fn heading(&self) -> Option<usize> {
        let hashes = self.lines[0].bytes().take_while(|byte| *byte == b'#').count();
        (hashes > 0 && self.lines[0][hashes..].starts_with(' ')).then_some(hashes)
    }

    /// The content of a block that is one comment.
    fn comment(&self) -> Option<&str> {
        match self.lines[..] {
            [line] => comment(line),
            _ => None,
        }
    }

    /// Its figures, each with its line.
    fn figures(&self) -> Vec<(usize, Shown)> {
        let with_line = |(line, text): (usize, &str), is_figure: fn(&Shown) -> bool| {
            let figures = shown(text).into_iter().filter(is_figure);
            figures.map(move |figure| (line, figure)).collect::<Vec<_>>()
        };
        if !self.lines.iter().all(|line| line.starts_with('|')) {
            let text = self.text();
            let line = |at: usize| self.line + text[..at].matches('\n').count();
            return with_line((0, &text), |it| it.unit.is_some() || it.origin.is_some())
                .into_iter()
                .map(|(_, figure)| (line(figure.at), figure))
                .collect();
        }
        // The head and the line below it come before the rows.
        let rows = self.lines.iter().enumerate().skip(2);
        let cells = rows.flat_map(|(row, line)| {
            let cells = line.trim_matches('|').split('|').skip(1);
            cells.map(move |cell| (self.line + row, cell))
        });
        cells.flat_map(|cell| with_line(cell, |_| true)).collect()
    }
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let (mut is_open, mut in_code) = (false, false);
    for (number, line) in page.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            (in_code, is_open) = (!in_code, false);
            continue;
        }
        if in_code || line.trim().is_empty() {
            is_open = false;
            continue;
        }
        // A comment of its own is a block, whatever stands beside it.
        let alone = line.starts_with('#') || comment(line).is_some();
        match blocks.last_mut() {
            Some(block) if is_open && !alone => block.lines.push(line),
            _ => blocks.push(Block { line: number + 1, lines: vec![line] }),
        }
        is_open = !alone;
    }
    blocks
}

#[cfg(test)]
mod tests;
