//! Publishes a finished study: its tables and figures beside its page, and the page's first table.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::citation::{CITATION, citation};
use super::figures::comment;
use super::names::{NAMES, Names};
use super::page::{Finding, check};
use super::pivot::{self, line};
use super::sheet::{Sheets, csv};
use crate::analysis::figures;
use crate::claim::Claim;
use crate::conclusions::{self, Conclusion, HEADS};
use crate::environment::{self, ENVIRONMENT, as_anybody_would};
use crate::folder::{Folder, SUMMARY};
use crate::summary::{FIGURES, NOTES, Row, Summary};
use crate::{Error, Result};

/// How the comment above the part of a page that is written here begins; the study's name follows.
pub(super) const STUDY: &str = "study:";
/// The comment below it.
pub(super) const STUDY_END: &str = "/study";
/// The table of the claims with every condition.
const CLAIMS: &str = "claims";
/// Tables that stay in the summary.
const KEPT: [&str; 3] = [ENVIRONMENT, NOTES, FIGURES];
/// What a publication consists of, by the ends of names. Earlier ones are removed.
const PUBLISHED: [&str; 4] = [".csv", ".png", CITATION, SUMMARY];

/// What was published.
#[derive(Debug)]
pub struct Published {
    /// The page.
    pub page: PathBuf,
    /// Each table, and the command that prints it.
    pub tables: Vec<(String, String)>,
    /// What is wrong with the page now: figures in its text that have changed.
    pub findings: Vec<Finding>,
}

/// Publishes the study in `from` below `to`, the folder of the studies' pages. All is made beside
/// its place first: what fails changes nothing.
///
/// # Errors
/// [`Error::Operator`]: `from` holds no finished study, no page in `to` has a place for it, or the
/// page asks for a table that the study does not have;
/// [`Error::Machine`]: a file cannot be written.
pub fn publish(from: &Path, to: &Path) -> Result<Published> {
    let mut summary = result(from)?;
    let study = summary.study.clone();
    let page = page_of(&study, to)?;
    let tables = tables(&summary);
    let staged = Staged::create(&to.join(format!("{study}.partial")))?;
    let place = &staged.0;
    for (name, rows) in &tables {
        place.write(&format!("{name}.csv"), csv(rows).as_bytes())?;
    }
    for figure in of_kind(&from.join("figures"), ".png") {
        place.write(&name_of(&figure), &fs::read(&figure).map_err(|it| machine(&figure, &it))?)?;
    }
    place.write(CITATION, citation(&summary, from).as_bytes())?;
    summary.tables.retain(|name, _| KEPT.contains(&name.as_str()));
    summary.provenance.command = as_anybody_would(&summary.provenance.command);
    place.finish(&summary)?;
    let wrong = |error: String| {
        Error::Operator(format!("{}: {error}; nothing is published", page.display()))
    };
    let sheets = Sheets::new(to).with(&study, place.path());
    let text = renew_block(&read(&page)?, &sheets).map_err(wrong)?;
    let text = pivot::renew(&text, &sheets).map_err(wrong)?;
    let names = Names::read(&read(&to.join(NAMES)).unwrap_or_default()).map_err(wrong)?;
    let findings = check(&text, &names, &sheets, &mut Default::default());
    staged.publish(&to.join(&study))?;
    Folder::create(to)?.write(&name_of(&page), text.as_bytes())?;
    let tables = tables.into_iter().map(|(name, _)| (command(from, &name), name));
    let tables = tables.map(|(command, name)| (name, command)).collect();
    Ok(Published { page, tables, findings })
}

/// The folder of what is not published yet. Removed when it is dropped.
struct Staged(Folder);

impl Staged {
    fn create(path: &Path) -> Result<Self> {
        let _ = fs::remove_dir_all(path);
        Folder::create(path).map(Self)
    }

    /// Moves all files to `place`, after what was published there before was removed: tables of
    /// another run beside the new ones would be taken for theirs.
    fn publish(self, place: &Path) -> Result<()> {
        let place = Folder::create(place)?;
        for path in PUBLISHED.iter().flat_map(|end| of_kind(place.path(), end)) {
            fs::remove_file(&path).map_err(|error| machine(&path, &error))?;
        }
        for path in of_kind(self.0.path(), "") {
            let to = place.file(&name_of(&path));
            fs::rename(&path, &to).map_err(|error| machine(&to, &error))?;
        }
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(self.0.path());
    }
}

/// A table of a finished study as CSV, as it is published.
///
/// # Errors
/// [`Error::Operator`]: `from` holds no finished study, or it has no such table.
pub fn table(from: &Path, name: &str) -> Result<String> {
    let summary = result(from)?;
    let tables = tables(&summary);
    let found = tables.iter().find(|(known, _)| known == name).ok_or_else(|| {
        let known: Vec<&str> = tables.iter().map(|(name, _)| name.as_str()).collect();
        Error::Operator(format!(
            "--table {name}: the study has no such table; choose one of {}",
            known.join(", ")
        ))
    })?;
    Ok(csv(&found.1))
}

/// The page with the part of each study that it shows written anew, from what is published. Of a
/// study without a published summary the part stays as it is.
///
/// # Errors
/// The line of a comment, and what is wrong with it.
pub fn renew_block(page: &str, sheets: &Sheets) -> std::result::Result<String, String> {
    let by_hand = without_blocks(page);
    let mut renewed = String::new();
    let mut lines = page.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        renewed += line;
        renewed += "\n";
        let Some(study) = study_of(line) else { continue };
        let mut former = String::new();
        let end = lines.by_ref().find(|(_, line)| {
            let is_end = comment(line) == Some(STUDY_END);
            if !is_end {
                former += line;
                former += "\n";
            }
            is_end
        });
        if end.is_none() {
            return Err(format!("line {}: has no <!-- {STUDY_END} --> below it", number + 1));
        }
        renewed += &match sheets.is_published(study) {
            true => block(&sheets.folder(study), &by_hand).map_err(|error| error.to_string())?,
            false => former,
        };
        renewed += &format!("<!-- {STUDY_END} -->\n");
    }
    Ok(renewed)
}

/// What people wrote of a page.
fn without_blocks(page: &str) -> String {
    let mut in_block = false;
    let by_hand = page.lines().filter(|line| {
        in_block = study_of(line).is_some() || in_block && comment(line) != Some(STUDY_END);
        !in_block
    });
    by_hand.collect::<Vec<_>>().join("\n")
}

/// What is written between the comments, from the folder of what was published.
fn block(place: &Path, by_hand: &str) -> Result<String> {
    let summary = result(place)?;
    let study = &summary.study;
    let mut text = String::new();
    for (heading, rows) in conclusions::tables(&summary.claims) {
        text += &format!("\n**{heading}**\n\n{}", markdown(&rows));
    }
    text += &first_figures(&summary, by_hand);
    text += "\n| measured | |\n| --- | --- |\n";
    for (what, value) in environment::facts(&summary) {
        let value = if what == "command" { format!("`{value}`") } else { value };
        text += &line(&[what, value]);
    }
    let notes = texts(&summary, NOTES, "note");
    if !notes.is_empty() {
        text += "\n";
    }
    for note in notes {
        text += &format!("- {note}\n");
    }
    text += &format!(
        "\nTables, each with the command that prints it after `tidegate study {study}`; \
         [{SUMMARY}]({study}/{SUMMARY}) has the claims and the machine"
    );
    if place.join(CITATION).exists() {
        text += &format!(", [{CITATION}]({study}/{CITATION}) how to cite them");
    }
    text += ".\n\n| table | command |\n| --- | --- |\n";
    let mut sheets = of_kind(place, ".csv");
    sheets.sort();
    for sheet in sheets {
        let name = sheet.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        let command = command(&Path::new("out/study").join(study), name);
        text += &line(&[format!("[{name}]({study}/{name}.csv)"), format!("`{command}`")]);
    }
    Ok(text + "\n")
}

/// The first figures of the study, but for those that the page shows already.
fn first_figures(summary: &Summary, by_hand: &str) -> String {
    let rows = summary.tables.get(FIGURES).map(Vec::as_slice).unwrap_or_default();
    let image = |row: &Row| {
        let text = |name: &str| row[name].as_str().unwrap_or_default();
        let file = format!("({}/{}.png)", summary.study, text("id"));
        (!by_hand.contains(&file)).then(|| format!("\n![{}]{file}\n", text("title")))
    };
    rows.iter().take(figures::FIRST).filter_map(image).collect()
}

/// A column of a table that the summary keeps.
fn texts<'s>(summary: &'s Summary, table: &str, column: &str) -> Vec<&'s str> {
    let rows = summary.tables.get(table).map(Vec::as_slice).unwrap_or_default();
    rows.iter().filter_map(|row| row.get(column)?.as_str()).collect()
}

fn command(from: &Path, table: &str) -> String {
    format!("tidegate study publish {} --table {table}", from.display())
}

/// The rows of a table of conclusions. A claim that is checked for several levels has its text
/// once.
fn markdown(rows: &[Conclusion]) -> String {
    let mut text = line(&HEADS.map(str::to_owned)) + &line(&HEADS.map(|_| "---".to_owned()));
    let mut last = "";
    for row in rows {
        let (conclusion, paper) = match row.text == last {
            true => (String::new(), ""),
            false => (format!("{}<br><small>{}</small>", row.text, row.source), row.paper.as_str()),
        };
        last = &row.text;
        let of = if row.of.is_empty() { String::new() } else { format!("{}: ", row.of) };
        text += &line(&[
            conclusion,
            paper.to_owned(),
            format!("{of}{}", row.here),
            row.verdict.words().to_owned(),
            row.why.clone(),
        ]);
    }
    text
}

/// Every table that is published as CSV.
fn tables(summary: &Summary) -> Vec<(String, Vec<Row>)> {
    let own = summary.tables.iter().filter(|(name, _)| !KEPT.contains(&name.as_str()));
    let own = own.map(|(name, rows)| (name.clone(), rows.clone()));
    let claims = claims(&summary.claims);
    let claims = (!claims.is_empty()).then(|| (CLAIMS.to_owned(), claims));
    own.chain(claims).collect()
}

/// A row for each claim, and one for each of its conditions. Text, source and metric stand in the
/// first alone.
fn claims(claims: &[Claim]) -> Vec<Row> {
    const EVIDENCE: [&str; 8] = [
        "mean",
        "low_95",
        "high_95",
        "at_least",
        "at_most",
        "rounds",
        "rounds_without_value",
        "ratios_to_zero",
    ];
    let mut rows = Vec::new();
    for claim in claims {
        let row = |condition: &str, of: &dyn Fn(&str) -> Value| {
            let mut row = Row::from_iter([
                ("id".to_owned(), json!(claim.id)),
                ("kind".to_owned(), json!(claim.kind)),
                ("condition".to_owned(), json!(condition)),
                ("verdict".to_owned(), of("verdict")),
            ]);
            row.extend(EVIDENCE.map(|name| (name.to_owned(), of(name))));
            row
        };
        let of_all = |name: &str| match name {
            "verdict" => json!(claim.verdict),
            name => claim.evidence.get(name).cloned().unwrap_or_default(),
        };
        let mut all = row("all", &of_all);
        all.insert("text".into(), json!(claim.text));
        all.insert("source".into(), json!(claim.source));
        all.insert("metric".into(), of_all("metric"));
        rows.push(all);
        let conditions = claim.evidence.get("conditions").and_then(Value::as_array);
        for condition in conditions.into_iter().flatten() {
            let levels = condition["levels"].as_object().into_iter().flatten();
            let levels = levels
                .map(|(factor, level)| format!("{factor} {}", level.as_str().unwrap_or_default()));
            let words = levels.collect::<Vec<_>>().join(", ");
            rows.push(row(&words, &|name| match name {
                "at_least" | "at_most" => of_all(name),
                name => condition[name].clone(),
            }));
        }
    }
    rows
}

/// The result in a folder, which is not made if it is missing.
fn result(from: &Path) -> Result<Summary> {
    if !from.is_dir() {
        let from = from.display();
        return Err(Error::Operator(format!(
            "{from}: is no folder; give that of a finished study"
        )));
    }
    Folder::create(from)?.result()
}

/// The page that has a place for a study.
fn page_of(study: &str, to: &Path) -> Result<PathBuf> {
    let pages = of_kind(to, ".md");
    let found = pages.into_iter().find(|page| {
        read(page).is_ok_and(|text| text.lines().any(|line| study_of(line) == Some(study)))
    });
    found.ok_or_else(|| {
        Error::Operator(format!(
            "--to {}: no page has a place for the study {study}; add the lines `<!-- {STUDY} {study} -->` and `<!-- {STUDY_END} -->` below the title of its page",
            to.display()
        ))
    })
}

fn study_of(line: &str) -> Option<&str> {
    comment(line)?.strip_prefix(STUDY).map(str::trim)
}

/// Files of a folder whose names end so.
fn of_kind(folder: &Path, end: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths.filter(|path| path.is_file() && path.to_string_lossy().ends_with(end)).collect()
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn read(path: &Path) -> Result<String> {
    tidegate_config::read_text(path, crate::folder::LARGEST)
        .map_err(|error| Error::Operator(format!("{}: {error}", path.display())))
}

fn machine(path: &Path, error: &std::io::Error) -> Error {
    Error::Machine(format!("{}: {error}; check the rights of the folder", path.display()))
}

#[cfg(test)]
mod tests;
