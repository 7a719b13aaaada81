//! Reads `[feeders]` and the files named there.

use super::Refuse;
use super::files::beside;
use super::names::{Names, is_own};
use crate::feeder::read::{from_file, is_plain};
use crate::feeder::rows::Rows;
use crate::feeder::{Feeder, Pick};
use crate::file_mistake::FileMistake;
use tidegate_config::Preset::{Is, Required};
use tidegate_config::{Choice, Section, Text, Value, keys};

keys! {
    /// A feeder, by its name: a file with a row of values for each session. The names of its
    /// columns stand in braces in paths and texts, as parameters do.
    pub(super) static FEEDER: FeederKeys {
        /// A CSV file whose first line names the columns, or a `.jsonl` file with a JSON object on
        /// each line.
        file: Text("path from the scenario's folder") = Required("users.csv");
        /// `in-turn`: each session gets the next row, after the last one the first again. `random`:
        /// any row, by the seed. `once`: each session gets the next row; after the last one
        /// sessions fail (`rows_used_up`).
        pick: Choice<Pick>(Pick::ALL) = Is("in-turn");
    }
}

/// Most feeders of a scenario.
const MOST: usize = 16;

/// The feeders of a scenario. Their columns become names that texts may have.
pub(super) fn read(value: &Value<'_>, names: &mut Names, file: &str) -> Vec<Feeder> {
    let Some(section) = value.section() else { return Vec::new() };
    let entries = section.entries();
    section.at_most(MOST, entries.len(), "feeders", "join some files");
    let mut feeders: Vec<Feeder> = Vec::new();
    for (_, value) in entries.into_iter().take(MOST) {
        match value.section().and_then(|section| feeder(&section, &feeders, names, file)) {
            Some(feeder) => feeders.push(feeder),
            // Its columns are unknown: names that nothing gives may be theirs.
            None => names.some_are_unread(),
        }
    }
    feeders
}

fn feeder(
    section: &Section<'_>,
    others: &[Feeder],
    names: &mut Names,
    file: &str,
) -> Option<Feeder> {
    section.known(&FEEDER);
    let pick = section.read(&FEEDER.pick);
    let given = section.read(&FEEDER.file)?;
    let path = beside(file, given);
    let shown = path.to_string_lossy().into_owned();
    let rows = match from_file(&path) {
        Ok(rows) => rows,
        Err(mistakes) => {
            let named = section.get(FEEDER.file.name)?;
            FileMistake::report(mistakes, &named, &shown, &section.path);
            return None;
        }
    };
    let parameters = parameters(section, &shown, &rows, others, names);
    Some(Feeder { file: shown, pick: pick?, rows, parameters: parameters? })
}

/// The parameter of each column.
fn parameters(
    section: &Section<'_>,
    shown: &str,
    rows: &Rows,
    others: &[Feeder],
    names: &mut Names,
) -> Option<Vec<Option<u16>>> {
    let mut parameters = Vec::new();
    let mut is_sound = true;
    for name in rows.names() {
        if !is_plain(name) {
            parameters.push(None);
            continue;
        }
        let index = names.index(name);
        let taken = if is_own(name) {
            Some("a name that every customer has already".to_owned())
        } else if names.0[usize::from(index)].uniform.is_some() {
            Some(format!("parameters.{name} as well"))
        } else {
            let other = others.iter().find(|other| other.gives(index));
            other.map(|other| format!("a column of {} as well", other.file))
        };
        if let Some(taken) = taken {
            let rule = format!("column {name}: is {taken}");
            section.reader.wrong_in(shown, 1, &section.path, rule, "rename one of them");
            is_sound = false;
        }
        names.give(name);
        parameters.push(Some(index));
    }
    is_sound.then_some(parameters)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::scenario::Scenario;

    /// The scenario with these feeders, in a folder with two files of users.
    fn with(folder: &Path, feeders: &str) -> Result<Scenario, Vec<String>> {
        std::fs::write(folder.join("users.csv"), "name,password,e-mail\nann,a1,a@b\n").unwrap();
        std::fs::write(folder.join("items.jsonl"), "{\"item\": 7}\n{\"item\": 8}\n").unwrap();
        let text = format!(
            "[session]\nsteps = [\"Home\"]\n[pages.Home]\npath = \"/{{item}}\"\n\
             body = \"{{name}}:{{password}}\"\n{feeders}"
        );
        let name = folder.join("shop.toml").to_string_lossy().into_owned();
        Scenario::from_toml(&text, &name).map_err(|found| {
            let prefix = format!("{}/", folder.display());
            found.lines().iter().map(|line| line.replace(&prefix, "")).collect()
        })
    }

    const USERS: &str = "[feeders.users]\nfile = \"users.csv\"\n";
    const ITEMS: &str = "[feeders.items]\nfile = \"items.jsonl\"\npick = \"random\"\n";

    #[test]
    fn columns_give_the_names_of_texts_and_paths() {
        let folder = tempfile::tempdir().unwrap();
        let shop = with(folder.path(), &format!("{USERS}{ITEMS}")).unwrap();
        let [users, items] = &shop.definition().feeders[..] else { panic!("two feeders") };
        let columns: Vec<bool> = users.parameters.iter().map(Option::is_some).collect();
        assert_eq!(columns, [true, true, false], "no text can name e-mail");
        assert_eq!((users.rows.len(), items.rows.len()), (1, 2));
        assert_eq!(shop.notes(), [""; 0]);
    }

    #[test]
    fn a_name_that_no_column_has_is_reported_unless_a_file_could_not_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let found = with(folder.path(), USERS).unwrap_err();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].contains("has {item}, which no link, extraction, parameter or feeder gives")
        );
        let found = with(folder.path(), "[feeders.users]\nfile = \"user.csv\"\n").unwrap_err();
        let expected = "shop.toml:7: feeders.users.file = \"user.csv\": user.csv cannot be read: \
                        No such file or directory (os error 2); the path is relative to the \
                        scenario's file";
        assert_eq!(found, [expected]);
    }

    #[test]
    fn every_mistake_of_a_feeder_is_reported_with_its_place() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("bad.csv"), "a,b\n1\n2,3\n4,\"5\n").unwrap();
        std::fs::write(folder.path().join("own.csv"), "session,name,size\n1,2,3\n").unwrap();
        let found = with(
            folder.path(),
            &format!(
                "{USERS}{ITEMS}[feeders.bad]\nfile = \"bad.csv\"\npick = \"one\"\n\
                 [feeders.own]\nfile = \"own.csv\"\nfiel = \"x\"\n[feeders.none]\n\
                 [parameters]\nsize = {{ uniform = [1, 2] }}\n"
            ),
        );
        let found = found.unwrap_err();
        for expected in [
            "shop.toml:13: feeders.bad.pick = \"one\": must be one of in-turn, random, once",
            "shop.toml:16: feeders.own.fiel = \"x\": is not a known key; did you mean file?",
            "shop.toml:17: feeders.none.file: must be set; add file = \"users.csv\"",
            "bad.csv:2: feeders.bad: has 1 value for 2 columns;",
            "bad.csv:4: feeders.bad: opens a quote that is not closed;",
            "own.csv:1: feeders.own: column session: is a name that every customer has already;",
            "own.csv:1: feeders.own: column name: is a column of users.csv as well;",
            "own.csv:1: feeders.own: column size: is parameters.size as well;",
        ] {
            assert!(found.iter().any(|line| line.starts_with(expected)), "{expected}\n{found:#?}");
        }
        assert_eq!(found.len(), 8, "{found:#?}");
    }

    #[test]
    fn a_feeder_that_no_page_uses_is_noted() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("more.csv"), "size\n1\n").unwrap();
        let more = format!("{USERS}{ITEMS}[feeders.more]\nfile = \"more.csv\"\n");
        let shop = with(folder.path(), &more).unwrap();
        assert_eq!(shop.notes(), ["no page uses a column of more.csv: size"]);
    }
}
