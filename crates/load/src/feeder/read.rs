//! Reads feeder files: CSV (RFC 4180) and JSON Lines, in UTF-8.

use std::collections::HashSet;
use std::path::Path;

use serde_json::{Map, Value};
use tidegate_config::Problem;

use super::rows::Rows;
use crate::file_mistake::FileMistake;

/// Largest file in bytes, and most rows and columns in it.
const LARGEST: u64 = 256 << 20;
const MOST_ROWS: usize = 5_000_000;
const MOST_COLUMNS: usize = 256;
/// Longest value in bytes, as of extracted values.
const LONGEST: usize = 16 * 1024;
/// Most mistakes reported of one file.
const MOST_REPORTED: usize = 10;

/// Reads a file: JSON Lines if its name ends in `.jsonl` or `.ndjson`, else CSV.
///
/// # Errors
/// All mistakes, up to a limit. The list is never empty.
pub fn from_file(path: &Path) -> Result<Rows, Vec<FileMistake>> {
    let ends_in = |end: &str| path.extension().is_some_and(|own| own.eq_ignore_ascii_case(end));
    if ends_in("json") {
        let remedy = "write one object on each line, in a file that ends in .jsonl";
        return Err(FileMistake::whole(format!("{} is no table of rows", path.display()), remedy));
    }
    let bytes = tidegate_config::read_bytes(path, LARGEST).map_err(|why| {
        let rule = format!("{} cannot be read: {why}", path.display());
        FileMistake::whole(rule, "the path is relative to the scenario's file")
    })?;
    if ends_in("jsonl") || ends_in("ndjson") { from_json_lines(&bytes) } else { from_csv(&bytes) }
}

/// Reads CSV: the first line names the columns, separated by commas. Values may be in double
/// quotes and then have commas and line breaks. Empty lines are left out.
///
/// # Errors
/// As [`from_file`].
pub fn from_csv(bytes: &[u8]) -> Result<Rows, Vec<FileMistake>> {
    let bytes = text_of(bytes, "name,password")?;
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(bytes);
    let mut record = csv::ByteRecord::new();
    let mut next = |record: &mut csv::ByteRecord| {
        let more = reader.read_byte_record(record).map_err(|error| {
            FileMistake::whole(
                format!("cannot be read as CSV: {error}"),
                "write it as CSV in UTF-8",
            )
        })?;
        let at = record.position().map_or(0, |position| position.byte() as usize);
        Ok::<_, Vec<FileMistake>>(more.then_some(at))
    };
    let Some(at) = next(&mut record)? else { return Err(empty("name,password")) };
    let names =
        names(&record).map_err(|problem| vec![FileMistake { line: line(bytes, at), problem }])?;
    let mut table = Table::new(names);
    let mut last = at;
    while table.wants_more()
        && let Some(at) = next(&mut record)?
    {
        table.take(record.iter(), |problem| FileMistake { line: line(bytes, at), problem });
        last = at;
    }
    if table.wants_more() && leaves_a_quote_open(&bytes[last..]) {
        let line = line(bytes, last);
        table.wrong.retain(|wrong| wrong.line != line);
        let remedy = "close it; within quotes a quote is written twice";
        table.wrong.push(FileMistake::at(line, "opens a quote that is not closed", remedy));
    }
    table.finish()
}

/// Whether the last record of a file ends within quotes.
fn leaves_a_quote_open(record: &[u8]) -> bool {
    // Within quotes a further line is part of the value.
    let longer = [record.trim_ascii_end(), b"\nx"].concat();
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(longer.as_slice());
    let first = reader.byte_records().next().and_then(Result::ok);
    first.is_some_and(|first| first.iter().next_back().is_some_and(|last| last.ends_with(b"\nx")))
}

/// Reads JSON Lines: an object on each line, whose members are the values. All lines have the
/// members of the first. Empty lines are left out.
///
/// # Errors
/// As [`from_file`].
pub fn from_json_lines(bytes: &[u8]) -> Result<Rows, Vec<FileMistake>> {
    const EXAMPLE: &str = "{\"name\": \"ann\", \"password\": \"1\"}";
    let bytes = text_of(bytes, EXAMPLE)?;
    let mut table: Option<Table> = None;
    for (line, number) in bytes.split(|byte| *byte == b'\n').zip(1..) {
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        let wrong = |problem| FileMistake { line: number, problem };
        let object: Map<String, Value> = match serde_json::from_slice(line) {
            Ok(object) => object,
            Err(error) => {
                let problem = Problem::new(
                    format!("column {}: is no JSON object: {error}", error.column()),
                    format!("write {EXAMPLE} on each line"),
                );
                match &mut table {
                    Some(table) => table.wrong.push(wrong(problem)),
                    None => return Err(vec![wrong(problem)]),
                }
                continue;
            }
        };
        let table = match &mut table {
            Some(table) => table,
            None => {
                let names = checked(object.keys().cloned().collect());
                table.insert(Table::new(names.map_err(|problem| vec![wrong(problem)])?))
            }
        };
        if !table.wants_more() {
            break;
        }
        table.take_object(&object, wrong);
    }
    table.ok_or_else(|| empty(EXAMPLE))?.finish()
}

/// The bytes behind a byte order mark.
fn text_of<'b>(bytes: &'b [u8], example: &str) -> Result<&'b [u8], Vec<FileMistake>> {
    if bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]) {
        return Err(FileMistake::whole("is UTF-16", "save it as UTF-8"));
    }
    let bytes = tidegate_config::without_mark(bytes);
    match bytes.trim_ascii().is_empty() {
        true => Err(empty(example)),
        false => Ok(bytes),
    }
}

fn empty(example: &str) -> Vec<FileMistake> {
    FileMistake::whole("is empty", format!("begin it with {example}"))
}

/// The line of a record that begins at or after a byte, with empty lines before it.
fn line(bytes: &[u8], at: usize) -> usize {
    let before = bytes[at..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    1 + memchr::memchr_iter(b'\n', &bytes[..at + before]).count()
}

/// The names of the columns.
fn names(record: &csv::ByteRecord) -> Result<Vec<String>, Problem> {
    let name = |cell: &[u8]| {
        let name = std::str::from_utf8(cell).ok().map(str::trim);
        name.map(str::to_owned).ok_or_else(|| Problem::new("is not UTF-8 text", "save it as UTF-8"))
    };
    let names: Vec<String> = record.iter().map(name).collect::<Result<_, _>>()?;
    if let [only] = names.as_slice()
        && let Some(other) = only.chars().find(|c| matches!(c, ';' | '\t' | '|'))
    {
        return Err(Problem::new(
            format!("has one column, {only:?}, separated by {other:?}"),
            "separate columns by commas",
        ));
    }
    checked(names)
}

/// Names that are distinct and that texts can have in braces, at least one of them.
fn checked(names: Vec<String>) -> Result<Vec<String>, Problem> {
    const REMEDY: &str = "the first line names the columns, such as name,password";
    if names.len() > MOST_COLUMNS {
        let rule = format!("has {} columns, at most {MOST_COLUMNS}", names.len());
        return Err(Problem::new(rule, "remove those that the scenario does not use"));
    }
    if let Some(index) = names.iter().position(String::is_empty) {
        return Err(Problem::new(format!("column {} has no name", index + 1), REMEDY));
    }
    let mut seen = HashSet::new();
    if let Some(twice) = names.iter().find(|name| !seen.insert(name.as_str())) {
        return Err(Problem::new(format!("has two columns {twice:?}"), "rename one of them"));
    }
    if !names.iter().any(|name| is_plain(name)) {
        let shown = names.join(", ");
        let rule = format!("no column has a name of letters, digits and _, but {shown}");
        return Err(Problem::new(rule, REMEDY));
    }
    Ok(names)
}

/// Whether a text can have the name in braces. A number is no name: the line of names is
/// missing then.
pub(crate) fn is_plain(name: &str) -> bool {
    !name.bytes().all(|b| b.is_ascii_digit())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Rows so far, and what is wrong with some.
struct Table {
    rows: Rows,
    wrong: Vec<FileMistake>,
    /// There are more rows than are possible.
    is_full: bool,
}

impl Table {
    fn new(names: Vec<String>) -> Self {
        Self { rows: Rows::new(names), wrong: Vec::new(), is_full: false }
    }

    fn wants_more(&mut self) -> bool {
        self.is_full = self.rows.len() > MOST_ROWS;
        self.wrong.len() < MOST_REPORTED && !self.is_full
    }

    /// Adds the values of a row, or what is wrong with them.
    fn take<'c>(
        &mut self,
        cells: impl ExactSizeIterator<Item = &'c [u8]> + Clone,
        wrong: impl Fn(Problem) -> FileMistake,
    ) {
        let columns = self.rows.names().len();
        let has = cells.len();
        if has != columns {
            let lines = cells.clone().flatten().any(|byte| *byte == b'\n');
            let remedy = match (lines, has > columns) {
                (true, _) => "it has a line break within quotes: is a quote left open?",
                (false, true) => "put values with commas into double quotes",
                (false, false) => "write a value for each column, or nothing between commas",
            };
            let values = if has == 1 { "value" } else { "values" };
            let rule = format!("has {has} {values} for {columns} columns");
            return self.wrong.push(wrong(Problem::new(rule, remedy)));
        }
        let mut values = Vec::with_capacity(columns);
        for (cell, name) in cells.zip(self.rows.names()) {
            match std::str::from_utf8(cell) {
                Ok(value) if value.len() <= LONGEST => values.push(value),
                Ok(value) => {
                    let rule =
                        format!("column {name}: has {} bytes, at most {LONGEST}", value.len());
                    let remedy = "shorten it; a quote that is left open takes in further lines";
                    return self.wrong.push(wrong(Problem::new(rule, remedy)));
                }
                Err(_) => {
                    let rule = format!("column {name}: is not UTF-8 text");
                    return self.wrong.push(wrong(Problem::new(rule, "save the file as UTF-8")));
                }
            }
        }
        values.into_iter().for_each(|value| self.rows.push(value));
    }

    fn take_object(&mut self, object: &Map<String, Value>, wrong: impl Fn(Problem) -> FileMistake) {
        let mut values = Vec::with_capacity(self.rows.names().len());
        for name in self.rows.names() {
            values.push(match object.get(name) {
                Some(Value::String(text)) => text.clone(),
                Some(value @ (Value::Number(_) | Value::Bool(_))) => value.to_string(),
                Some(_) => {
                    let rule = format!("column {name}: is neither text, number, true nor false");
                    let remedy = "write it in quotes, \"\" for nothing";
                    return self.wrong.push(wrong(Problem::new(rule, remedy)));
                }
                None => {
                    let rule = format!("has no {name:?}, which the first line has");
                    let remedy = format!("add {name:?}: \"\", or remove it everywhere");
                    return self.wrong.push(wrong(Problem::new(rule, remedy)));
                }
            });
        }
        let cells: Vec<&[u8]> = values.iter().map(|value| value.as_bytes()).collect();
        self.take(cells.into_iter(), wrong);
    }

    fn finish(mut self) -> Result<Rows, Vec<FileMistake>> {
        if !self.wrong.is_empty() {
            self.wrong.truncate(MOST_REPORTED);
            return Err(self.wrong);
        }
        if self.is_full || self.rows.len() > MOST_ROWS {
            return Err(FileMistake::whole(
                format!("has more than {MOST_ROWS} rows"),
                "use a part of it",
            ));
        }
        if self.rows.is_empty() {
            let names = self.rows.names().join(",");
            let rule = format!("has no row below its names, {names}");
            return Err(FileMistake::whole(rule, "add at least one"));
        }
        self.rows.shrink();
        Ok(self.rows)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn table(rows: &Rows) -> Vec<Vec<&str>> {
        let values = |row| (0..rows.names().len()).map(move |column| rows.value(row, column));
        (0..rows.len()).map(|row| values(row).collect()).collect()
    }

    /// The lines and rules of mistakes.
    fn mistakes(read: Result<Rows, Vec<FileMistake>>) -> Vec<(usize, String)> {
        let all = read.unwrap_err().into_iter();
        all.map(|wrong| (wrong.line, format!("{}; {}", wrong.problem.rule, wrong.problem.remedy)))
            .collect()
    }

    fn csv_mistakes(text: &str) -> Vec<(usize, String)> {
        mistakes(from_csv(text.as_bytes()))
    }

    #[test]
    fn csv_has_names_quotes_and_lines_of_every_system() {
        let text = "\u{FEFF}name, age ,note\r\nann,1,\"a, \"\"b\"\"\nc\"\r\n\r\nbob,,\n";
        let rows = from_csv(text.as_bytes()).unwrap();
        assert_eq!(rows.names(), ["name", "age", "note"]);
        assert_eq!(table(&rows), [["ann", "1", "a, \"b\"\nc"], ["bob", "", ""]]);
        let one = from_csv(b"a\n1").unwrap();
        assert_eq!(table(&one), [["1"]]);
        let spaces = from_csv(b"a,b\n x , y").unwrap();
        assert_eq!(table(&spaces), [[" x ", " y"]], "spaces are part of a value");
    }

    #[test]
    fn json_lines_have_texts_numbers_and_truths_in_any_order() {
        let text =
            "\u{FEFF}{\"b\": \"x\", \"a\": 1.5}\r\n\n{\"a\": true, \"b\": \"\", \"c\": []}\n";
        let rows = from_json_lines(text.as_bytes()).unwrap();
        assert_eq!(rows.names(), ["a", "b"]);
        assert_eq!(table(&rows), [["1.5", "x"], ["true", ""]]);
    }

    #[test]
    fn every_mistake_of_a_csv_file_has_its_line_and_remedy() {
        let text = "name,age\nann\n\r\nbob,1,2\n\"x\ny\",3\ndan,5\" pipe\ncyd,\"4\n5,6\n";
        let expected = [
            (
                2,
                "has 1 value for 2 columns; write a value for each column, or nothing between commas",
            ),
            (4, "has 3 values for 2 columns; put values with commas into double quotes"),
            (
                8,
                "opens a quote that is not closed; close it; within quotes a quote is written twice",
            ),
        ];
        let found = csv_mistakes(text);
        assert_eq!(found, expected.map(|(line, text)| (line, text.to_owned())));
        let open = csv_mistakes("name,age\n\"ann,1\nbob,2\n");
        assert_eq!((open[0].0, open.len()), (2, 1), "{open:?}");
        let closed_late = csv_mistakes("name,age\n\"ann,1\nbob\",2,3\n");
        assert!(closed_late[0].1.ends_with("is a quote left open?"), "{closed_late:?}");
        let latin = mistakes(from_csv(b"name,city\nann,K\xF6ln\n"));
        assert_eq!(
            latin,
            [(2, "column city: is not UTF-8 text; save the file as UTF-8".to_owned())]
        );
        let long = format!("name\nann\n{}\n", "x".repeat(LONGEST + 1));
        assert!(
            csv_mistakes(&long)[0].1.starts_with("column name: has 16385 bytes, at most 16384")
        );
        let many = csv_mistakes(&format!("a,b\n{}", "x\n".repeat(100)));
        assert_eq!(many.len(), MOST_REPORTED);
    }

    #[test]
    fn a_line_of_names_that_is_missing_or_unusable_is_reported() {
        for (text, expected) in [
            ("", "is empty; begin it with name,password"),
            (" \r\n\n", "is empty; begin it with name,password"),
            ("name,age\n", "has no row below its names, name,age; add at least one"),
            ("ann@a.example,1\nbob@a.example,2\n", "no column has a name of letters, digits and _"),
            (
                "1,2\n3,4\n",
                "no column has a name of letters, digits and _, but 1, 2; the first line",
            ),
            ("name,\nann,1\n", "column 2 has no name; the first line names the columns"),
            ("name,name\nann,1\n", "has two columns \"name\"; rename one of them"),
            (
                "name;age\nann;1\n",
                "has one column, \"name;age\", separated by ';'; separate columns",
            ),
        ] {
            let found = csv_mistakes(text);
            assert!(found[0].1.starts_with(expected), "{text:?}: {found:?}");
        }
        assert!(mistakes(from_csv(b"\xFF\xFEn\0"))[0].1.starts_with("is UTF-16;"));
        assert!(mistakes(from_csv(b"\x7FELF\xFF,\0\n1,2"))[0].1.starts_with("is not UTF-8 text"));
        let wide = format!("{}\n", (0..300).map(|n| format!("c{n}")).collect::<Vec<_>>().join(","));
        assert!(csv_mistakes(&wide)[0].1.starts_with("has 300 columns, at most 256;"));
    }

    #[test]
    fn every_mistake_of_json_lines_has_its_line_and_remedy() {
        let text = "{\"a\": 1, \"b\": 2}\n[1]\n{\"a\": 1}\n{\"a\": {}, \"b\": null}\n{\"a\": 1,\n";
        let found = mistakes(from_json_lines(text.as_bytes()));
        let starts = [
            (2, "column 0: is no JSON object: invalid type: sequence, expected a map"),
            (3, "has no \"b\", which the first line has; add \"b\": \"\","),
            (4, "column a: is neither text, number, true nor false;"),
            (5, "column 8: is no JSON object: EOF while parsing"),
        ];
        assert_eq!(found.len(), starts.len(), "{found:?}");
        for ((line, start), (found_line, found)) in starts.into_iter().zip(&found) {
            assert_eq!(line, *found_line, "{found}");
            assert!(found.starts_with(start), "{found}");
        }
        assert!(mistakes(from_json_lines(b"\n"))[0].1.starts_with("is empty; begin it with {"));
        assert!(mistakes(from_json_lines(b"{}\n"))[0].1.starts_with("no column has a name"));
        assert!(mistakes(from_json_lines(b"[{\"a\": 1}]"))[0].1.contains("is no JSON object"));
    }

    #[test]
    fn a_file_that_cannot_be_read_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let of = |name: &str| mistakes(from_file(&folder.path().join(name)))[0].1.clone();
        assert!(
            of("none.csv").contains("none.csv cannot be read: No such file"),
            "{}",
            of("none.csv")
        );
        assert!(of("").contains("cannot be read: Is a directory"), "{}", of(""));
        assert!(of("users.json").contains("write one object on each line"));
        std::fs::write(folder.path().join("a.JSONL"), "{\"a\": 1}").unwrap();
        assert_eq!(from_file(&folder.path().join("a.JSONL")).unwrap().names(), ["a"]);
    }

    proptest! {
        #[test]
        fn no_file_is_too_strange(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let lines = [b"a,b\n".as_slice(), &bytes].concat();
            for read in [from_csv(&bytes), from_csv(&lines), from_json_lines(&bytes)] {
                match read {
                    Ok(rows) => prop_assert!(!rows.is_empty() && table(&rows).len() == rows.len()),
                    Err(wrong) => prop_assert!(!wrong.is_empty()),
                }
            }
        }

        #[test]
        fn values_come_back_as_they_were_written(
            values in proptest::collection::vec((".{0,9}", ".{0,9}"), 1..9)
        ) {
            let mut writer = csv::Writer::from_writer(Vec::new());
            writer.write_record(["a", "b"]).unwrap();
            values.iter().for_each(|(a, b)| writer.write_record([a, b]).unwrap());
            let rows = from_csv(&writer.into_inner().unwrap()).unwrap();
            let expected: Vec<_> = values.iter().map(|(a, b)| vec![a.as_str(), b]).collect();
            prop_assert_eq!(&table(&rows), &expected);
            let json = |(a, b): &(String, String)| serde_json::json!({ "b": b, "a": a }).to_string();
            let lines: Vec<String> = values.iter().map(json).collect();
            let rows = from_json_lines(lines.join("\n").as_bytes()).unwrap();
            prop_assert_eq!(&table(&rows), &expected);
        }
    }
}
