//! Reads settings by their rules from a document and from flags, and gathers
//! every mistake on the way.

use super::document::{Document, line_of, one_line};
use super::mistake::Mistake;
use super::rule::{Problem, Raw, Rule};
use super::settings::{Preset, Section};
use super::suggest::nearest;
use std::collections::{HashMap, HashSet};

/// What was given, and what was wrong with it.
pub struct Reader {
    name: String,
    given: HashMap<(String, String), Given>,
    wrong: HashSet<(String, String)>,
    mistakes: Vec<(usize, Mistake)>,
}

/// A value with its origin.
#[derive(Clone, Debug)]
struct Given {
    raw: Raw,
    shown: String,
    place: String,
    line: usize,
    from_file: bool,
}

/// Longest rule or remedy in a message, in characters.
const SENTENCE: usize = 300;

/// Mistakes that belong to no line come after those of the file.
const AFTER_THE_FILE: usize = usize::MAX;

impl Reader {
    /// With nothing given; `name` is the place of what is missing.
    pub fn new(name: &str) -> Self {
        Self {
            name: one_line(name),
            given: HashMap::new(),
            wrong: HashSet::new(),
            mistakes: Vec::new(),
        }
    }

    /// Takes in a document, and reports what none of the sections knows.
    pub fn add_document(&mut self, document: Document, sections: &[Section]) {
        self.mistakes.extend(document.mistakes);
        for (name, line) in &document.sections {
            if !sections.iter().any(|section| section.name == name) {
                let near = nearest(name, sections.iter().map(|section| section.name));
                let remedy = match near {
                    Some(near) => format!("did you mean [{near}]?"),
                    None => {
                        let all: Vec<_> = sections.iter().map(|section| section.name).collect();
                        format!("sections are {}", all.join(", "))
                    }
                };
                self.unknown(*line, format!("[{name}]"), String::new(), "section", remedy);
            }
        }
        for entry in document.entries {
            let Some(section) = sections.iter().find(|section| section.name == entry.section)
            else {
                if entry.section.is_empty() {
                    let remedy = homeless(&entry.key, sections);
                    self.unknown(entry.line, entry.key, entry.shown, "key", remedy);
                }
                // The keys of an unknown section stand and fall with it.
                continue;
            };
            if !section.rows.iter().any(|row| row.key == entry.key) {
                let path = format!("{}.{}", entry.section, entry.key);
                let remedy = misplaced(&entry.key, section, sections);
                self.unknown(entry.line, path, entry.shown, "key", remedy);
                continue;
            }
            let given = Given {
                raw: entry.raw,
                shown: entry.shown,
                place: format!("{}:{}", self.name, entry.line),
                line: entry.line,
                from_file: true,
            };
            self.given.insert((entry.section, entry.key), given);
        }
    }

    /// Takes in the value of a flag, which goes before that of a file.
    pub fn add_flag(&mut self, section: &str, key: &str, flag: &str, value: &str) {
        let given = Given {
            raw: Raw::Bare(value.to_owned()),
            shown: one_line(value),
            place: flag.to_owned(),
            line: AFTER_THE_FILE,
            from_file: false,
        };
        self.given.insert((section.to_owned(), key.to_owned()), given);
    }

    /// Reads one setting. On a mistake, or when it was not given, its preset.
    pub fn read<T, R: Rule<T>>(&mut self, section: &str, key: &str, rule: &R, preset: Preset) -> T {
        let path = (section.to_owned(), key.to_owned());
        if let Some(given) = self.given.get(&path) {
            match rule.check(&given.raw) {
                Ok(value) => return value,
                Err(problem) => self.mistake(section, key, problem),
            }
        } else if let Preset::Required(example) = preset {
            let flag = super::FLAGS.iter().find(|row| row.section == section && row.key == key);
            let line = format!("{key} = {} under [{section}]", rule.toml(example));
            let remedy = match flag {
                Some(row) if self.name == super::COMMAND_LINE => {
                    format!("give {} {example}", row.flag)
                }
                Some(row) => format!("add {line}, or give {}", row.flag),
                None => format!("add {line}"),
            };
            self.mistake(section, key, Problem::new("must be set", remedy));
        }
        let preset = match preset {
            Preset::Is(text) | Preset::Required(text) => {
                rule.check(&Raw::Bare(text.to_owned())).ok()
            }
            Preset::Unset => rule.absent(),
        };
        preset.expect("presets obey their rules: a test reads every one")
    }

    /// Whether a setting was given in the file, not by a flag.
    pub fn is_from_file(&self, section: &str, key: &str) -> bool {
        let given = self.given.get(&(section.to_owned(), key.to_owned()));
        given.is_some_and(|given| given.from_file)
    }

    /// Whether the settings can be judged together: none of them is wrong by itself.
    pub fn are_sound(&self, paths: &[(&str, &str)]) -> bool {
        let wrong = |(section, key): &(&str, &str)| {
            self.wrong.contains(&((*section).to_owned(), (*key).to_owned()))
        };
        !paths.iter().any(wrong)
    }

    /// Notes what is wrong with a setting, at the place where it was given.
    pub fn mistake(&mut self, section: &str, key: &str, problem: Problem) {
        let path = (section.to_owned(), key.to_owned());
        let given = self.given.get(&path);
        let line = given.map_or(AFTER_THE_FILE, |given| given.line);
        let mistake = Mistake {
            place: given.map_or_else(|| self.name.clone(), |given| given.place.clone()),
            key: format!("{section}.{key}"),
            value: given.map(|given| given.shown.clone()).unwrap_or_default(),
            // They may repeat what was given: a path, a URL, a name.
            rule: line_of(&problem.rule, SENTENCE),
            remedy: line_of(&problem.remedy, SENTENCE),
        };
        self.wrong.insert(path);
        self.mistakes.push((line, mistake));
    }

    /// Every mistake, in the order of the file; those of flags come last.
    pub fn into_mistakes(mut self) -> Vec<Mistake> {
        self.mistakes.sort_by_key(|(line, _)| *line);
        self.mistakes.into_iter().map(|(_, mistake)| mistake).collect()
    }

    fn unknown(&mut self, line: usize, key: String, value: String, what: &str, remedy: String) {
        let mistake = Mistake {
            place: format!("{}:{line}", self.name),
            key,
            value,
            rule: format!("is no {what} of the gate"),
            remedy,
        };
        self.mistakes.push((line, mistake));
    }
}

/// What to do with an unknown key of a section.
fn misplaced(key: &str, section: &Section, sections: &[Section]) -> String {
    if let Some(near) = nearest(key, section.rows.iter().map(|row| row.key)) {
        return format!("did you mean {near}?");
    }
    match sections.iter().find(|other| other.rows.iter().any(|row| row.key == key)) {
        Some(other) => format!("it belongs under [{}]", other.name),
        None => format!("docs/configuration.md lists the keys of [{}]", section.name),
    }
}

/// What to do with a key above all sections.
fn homeless(key: &str, sections: &[Section]) -> String {
    let rows = || sections.iter().flat_map(|section| section.rows.iter());
    match nearest(key, rows().map(|row| row.key)) {
        Some(near) => {
            let row = rows().find(|row| row.key == near).expect("it was found among the rows");
            format!("did you mean {near} under [{}]?", row.section)
        }
        None if sections.iter().any(|section| section.name == key) => {
            format!("write [{key}] and its keys below")
        }
        None => "every key stands under a [section]".into(),
    }
}
