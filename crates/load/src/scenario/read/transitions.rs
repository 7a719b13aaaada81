//! Reads the table of transitions: inline, from a CSV file, a published one
//! by name, or weights.

use super::Refuse;
use super::files::beside;

use super::limits::MOVES;
use super::steps::one_of;
use crate::scenario::builtin;
use crate::scenario::page::Page;
use crate::scenario::table::{Form, Move, Table};
use tidegate_config::Preset::{Is, Unset};
use tidegate_config::{Choice, Other, Reader, Section, Text, Value, Words, keys};

keys! {
    /// The next page of a session: a row for each page that is reached, such as
    /// `Home = { Item = 0.5, Back = 0.1, End = 0.4 }`, or one of `table`, `file` and `weights`.
    /// A row has the probabilities of pages, `Back` (to the page before), `Stay` (the same
    /// request again) and `End`.
    pub(super) static TRANSITIONS: TransitionKeys {
        /// A published table; `[pages]` must have its states.
        table: Words(&builtin::TABLES) = Unset;
        /// A table in a file: the first line names the states, each further line is a row.
        file: Text("path of a CSV file, from the scenario's folder") = Unset;
        /// One row for every page; with no other key.
        weights: Other("table of numbers", "a page, `Back`, `Stay` or `End` each; not all 0") = Unset;
        /// `as-is`: rows must sum to one. `normalised`: each row is divided by its sum.
        /// `effective`: a row counts up to a sum of one, and the rest to one is `Stay`.
        form: Choice<Form>(Form::ALL) = Is("as-is");
    }
}

/// Largest CSV file.
const LARGEST: u64 = 8 << 20;
/// Columns of published tables that are no states.
const REMARKS: [&str; 2] = ["sum", "mean_wait_ms_on_entry"];

type Rows = Vec<Vec<(Move, f64)>>;
/// Where each row stands: file and line.
type Places = Vec<Option<(String, usize)>>;

/// `start` is where sessions begin, if that is known.
pub(super) fn read(
    value: &Value<'_>,
    pages: &[Page],
    start: Option<u16>,
    file: &str,
) -> Option<Table> {
    let section = value.section()?;
    let form = section.read(&TRANSITIONS.form)?;
    let with_form = |key| section.only(&[key, TRANSITIONS.form.name]);
    if let Some(weights) = section.given(&TRANSITIONS.weights) {
        section.only(&[TRANSITIONS.weights.name]);
        let row = row(&weights.section()?, pages);
        let rows = vec![row; pages.len()];
        return match Table::new(rows, Form::Normalised) {
            Ok(table) => Some(table),
            Err(_) => weights.refuse("sum to zero", "give at least one page a weight"),
        };
    }
    let csv = if section.get(TRANSITIONS.table.name).is_some() {
        with_form(TRANSITIONS.table.name);
        let name = builtin::TABLES[section.given(&TRANSITIONS.table)?];
        Some((name.to_owned(), builtin::table(name)?.to_owned()))
    } else if let Some(value) = section.get(TRANSITIONS.file.name) {
        with_form(TRANSITIONS.file.name);
        let path = beside(file, value.string()?);
        match tidegate_config::read_text(&path, LARGEST) {
            Ok(text) => Some((path.to_string_lossy().into_owned(), text)),
            Err(error) => {
                return value.refuse(
                    format!("{} cannot be read: {error}", path.display()),
                    "the path is relative to the scenario's file",
                );
            }
        }
    } else {
        None
    };
    let (mut rows, places) = match csv {
        Some((name, text)) => from_csv(section.reader, &name, &text, pages)?,
        None => inline(&section, pages),
    };
    // Pages of other classes need no row.
    let wanted = |state: usize| {
        let to = Move::Page(state as u16);
        start == Some(state as u16)
            || rows.iter().flatten().any(|(entry, p)| *entry == to && *p > 0.0)
    };
    let idle: Vec<usize> =
        (0..rows.len()).filter(|state| rows[*state].is_empty() && !wanted(*state)).collect();
    idle.into_iter().for_each(|state| rows[state].push((Move::End, 1.0)));
    build(&section, pages, rows, &places, form)
}

fn build(
    section: &Section<'_>,
    pages: &[Page],
    rows: Rows,
    places: &Places,
    form: Form,
) -> Option<Table> {
    let bad = match Table::new(rows, form) {
        Ok(table) => return Some(table),
        Err(bad) => bad,
    };
    for (state, sum) in bad {
        let name = &pages[state].name;
        let rule = format!("row sums to {}, must be 1", (sum * 1e9).round() / 1e9);
        let remedy = "correct it, or set form = \"normalised\" or \"effective\"";
        match (&places[state], section.get(name)) {
            (Some((file, line)), _) => section.reader.wrong_in(file, *line, name, rule, remedy),
            (None, Some(value)) => value.wrong(rule, remedy),
            (None, None) => section.wrong(
                format!("{name} has no row"),
                format!("add {name} = {{ End = 1 }}, or where customers go from there"),
            ),
        }
    }
    None
}

fn inline(section: &Section<'_>, pages: &[Page]) -> (Rows, Places) {
    let mut rows = vec![Vec::new(); pages.len()];
    for (name, value) in section.entries() {
        if name == TRANSITIONS.form.name {
            continue;
        }
        match pages.iter().position(|page| page.name == name) {
            Some(state) => {
                if let Some(entries) = value.section() {
                    rows[state] = row(&entries, pages);
                }
            }
            None => value.wrong("is not a page", one_of(name, pages)),
        }
    }
    (rows, vec![None; pages.len()])
}

fn row(entries: &Section<'_>, pages: &[Page]) -> Vec<(Move, f64)> {
    let mut row = Vec::new();
    for (name, value) in entries.entries() {
        match state(name, pages) {
            Some(to) => row.extend(value.number(0.0..=1e9).map(|weight| (to, weight))),
            None => value.wrong(
                "is neither a page nor Back, Stay or End",
                format!("{}, or remove it", one_of(name, pages).trim_end_matches('?')),
            ),
        }
    }
    row
}

fn state(name: &str, pages: &[Page]) -> Option<Move> {
    match name {
        "Back" => Some(Move::Back),
        "Stay" => Some(Move::Stay),
        "End" => Some(Move::End),
        _ => pages.iter().position(|page| page.name == name).map(|index| Move::Page(index as u16)),
    }
}

fn from_csv(reader: &Reader<'_>, file: &str, text: &str, pages: &[Page]) -> Option<(Rows, Places)> {
    let wrong = |line: usize, name: &str, rule: &str, remedy: &str| {
        reader.wrong_in(file, line, name, rule, remedy);
    };
    let mut lines = text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let Some((header_line, header)) = lines.next() else {
        wrong(1, "table", "is empty", "the first line names the states");
        return None;
    };
    let column = |name: &str| {
        let found = state(name, pages);
        if found.is_none() && !REMARKS.contains(&name) {
            let rule = format!("is neither a page nor one of {}", MOVES.join(", "));
            wrong(header_line, name, &rule, "add it to [pages]");
        }
        found
    };
    let columns: Vec<Option<Move>> = header.split(',').skip(1).map(str::trim).map(column).collect();
    let mut rows: Rows = vec![Vec::new(); pages.len()];
    let mut places: Places = vec![None; pages.len()];
    for (number, line) in lines {
        let mut cells = line.split(',').map(str::trim);
        let name = cells.next().unwrap_or_default();
        let Some(Move::Page(index)) = state(name, pages) else {
            wrong(number, name, "is not a page", "add it to [pages]");
            continue;
        };
        let index = index as usize;
        if places[index].is_some() {
            wrong(number, name, "has a row already", "remove one");
        }
        places[index] = Some((file.to_owned(), number));
        let cells: Vec<&str> = cells.collect();
        for (to, cell) in columns.iter().zip(&cells) {
            let Some(to) = to else { continue };
            match cell.parse::<f64>() {
                Ok(p) if (0.0..=1e9).contains(&p) => rows[index].push((*to, p)),
                _ => {
                    let rule = format!("\"{cell}\" is not a probability");
                    wrong(number, name, &rule, "write a number from 0");
                }
            }
        }
        if cells.len() != columns.len() {
            let rule = format!("has {} entries for {} columns", cells.len(), columns.len());
            wrong(number, name, &rule, "give each column one entry");
        }
    }
    Some((rows, places))
}
