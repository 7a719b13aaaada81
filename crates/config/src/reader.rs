//! One file and the flags over it: where a byte stands, what flags say, and
//! the mistakes found so far.

use std::cell::RefCell;
use std::path::Path;

use crate::mistake::{Mistake, Mistakes, Problem};
use crate::one_line::{one_line, one_sentence};

/// A flag of the command line that stands for a key of the file.
#[derive(Clone, Copy, Debug)]
pub struct Flag<'a> {
    /// The flag: `--listen`.
    pub name: &'static str,
    /// Dotted key that it stands for: `listen.address`.
    pub key: &'static str,
    /// Its value as typed, which goes before that of the file; none if the flag
    /// is not given.
    pub value: Option<&'a str>,
}

/// The place of mistakes where there is no file.
const COMMAND_LINE: &str = "command line";

/// Collects the mistakes of one file and the flags over it.
pub struct Reader<'a> {
    file: Option<&'a str>,
    text: &'a str,
    /// Byte offsets at which lines begin.
    lines: Vec<usize>,
    flags: &'a [Flag<'a>],
    /// Lines that are not TOML; what the parser makes of them is left out.
    broken: Vec<usize>,
    mistakes: RefCell<Vec<(Rank, Mistake)>>,
}

/// Order of mistakes: by kind of place, then by line.
type Rank = (u8, usize);
const IN_THE_FILE: u8 = 0;
const IN_ANOTHER_FILE: u8 = 1;
const WITHOUT_LINE: Rank = (2, 0);

impl<'a> Reader<'a> {
    /// A reader of a file's name and text, and of flags. No file: flags alone.
    pub(crate) fn new(file: Option<(&'a str, &'a str)>, flags: &'a [Flag<'a>]) -> Self {
        let text = file.map_or("", |(_, text)| text);
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self {
            file: file.map(|(name, _)| name),
            text,
            lines: std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect(),
            flags,
            broken: Vec::new(),
            mistakes: RefCell::default(),
        }
    }

    /// Notes where the text is not TOML. One slip makes several errors of its
    /// line, of which the first is the clearest.
    pub(crate) fn syntax_errors(&mut self, errors: &[toml::de::Error]) {
        let line = |error: &toml::de::Error| error.span().map_or(1, |span| self.line(span.start));
        let mut errors: Vec<_> = errors.iter().map(|error| (line(error), error)).collect();
        errors.sort_by_key(|(line, _)| *line);
        errors.dedup_by_key(|(line, _)| *line);
        for (line, error) in &errors {
            let problem = Problem::new(
                format!("is not TOML: {}", one_line(error.message())),
                "a line is [table] or key = value, text in double quotes",
            );
            self.wrong_at(*line, "", "", problem);
        }
        self.broken = errors.into_iter().map(|(line, _)| line).collect();
    }

    /// Whether the text is TOML as a whole.
    pub(crate) fn is_toml(&self) -> bool {
        self.broken.is_empty()
    }

    /// Whether the line of this byte is not TOML.
    pub(crate) fn is_broken(&self, offset: usize) -> bool {
        !self.broken.is_empty() && self.broken.contains(&self.line(offset))
    }

    /// The line of a byte, from 1.
    pub(crate) fn line(&self, offset: usize) -> usize {
        self.lines.partition_point(|start| *start <= offset)
    }

    /// What stands at these bytes.
    pub(crate) fn text(&self, at: std::ops::Range<usize>) -> &'a str {
        self.text.get(at).unwrap_or_default()
    }

    /// The flag that stands for a key.
    pub(crate) fn flag(&self, key: &str) -> Option<&'a Flag<'a>> {
        self.flags.iter().find(|flag| flag.key == key)
    }

    /// Whether there are flags and no file.
    pub(crate) fn has_flags_only(&self) -> bool {
        self.file.is_none()
    }

    /// The folder of the file, in which relative paths start.
    pub(crate) fn folder(&self) -> &'a Path {
        self.file.and_then(|file| Path::new(file).parent()).unwrap_or(Path::new(""))
    }

    /// Notes a mistake at a line of the file.
    pub(crate) fn wrong_at(&self, line: usize, key: &str, value: &str, problem: Problem) {
        let place = format!("{}:{line}", self.name());
        self.note((IN_THE_FILE, line), place, key, value, problem);
    }

    /// Notes a mistake of a flag's value.
    pub(crate) fn wrong_flag(&self, flag: &str, key: &str, value: &str, problem: Problem) {
        self.note(WITHOUT_LINE, flag.to_owned(), key, value, problem);
    }

    /// Notes a mistake about something that is not there.
    pub(crate) fn wrong_without_line(&self, key: &str, problem: Problem) {
        self.note(WITHOUT_LINE, self.name(), key, "", problem);
    }

    /// Notes a mistake in another file, such as a table of numbers.
    pub fn wrong_in(
        &self,
        file: &str,
        line: usize,
        key: &str,
        rule: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let place = format!("{}:{line}", one_sentence(file));
        self.note((IN_ANOTHER_FILE, line), place, key, "", Problem::new(rule, remedy));
    }

    /// Whether no mistake was found in the value of a key.
    pub fn is_sound(&self, key: &str) -> bool {
        !self.mistakes.borrow().iter().any(|(_, mistake)| mistake.key == key)
    }

    /// Whether no mistake was found at all.
    pub(crate) fn is_sound_as_a_whole(&self) -> bool {
        self.mistakes.borrow().is_empty()
    }

    /// All mistakes in the order of their places.
    pub(crate) fn into_mistakes(self) -> Mistakes {
        let mut mistakes = self.mistakes.into_inner();
        mistakes.sort_by_key(|(rank, _)| *rank);
        mistakes.dedup();
        Mistakes(mistakes.into_iter().map(|(_, mistake)| mistake).collect())
    }

    fn name(&self) -> String {
        one_sentence(self.file.unwrap_or(COMMAND_LINE))
    }

    /// A value, a rule or a remedy may repeat what the file says.
    fn note(&self, rank: Rank, place: String, key: &str, value: &str, problem: Problem) {
        let mistake = Mistake {
            place,
            key: one_sentence(key),
            value: one_line(value),
            rule: one_sentence(&problem.rule),
            remedy: one_sentence(&problem.remedy),
        };
        self.mistakes.borrow_mut().push((rank, mistake));
    }
}
