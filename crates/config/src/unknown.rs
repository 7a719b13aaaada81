//! Tables and keys of a file that no declaration knows, and where such a key may
//! belong.

use toml::de::DeValue;

use crate::key::Table;
use crate::suggest::{known_key, nearest};
use crate::tree::Section;

impl Section<'_> {
    /// Reports every table that is not among these, every key outside a table, and
    /// every key that its table does not have. For the root of a file whose keys all
    /// stand in declared tables, or in lists of tables of these names, whose reader knows
    /// their keys.
    pub fn known_tables(&self, tables: &[Table], lists: &[&str]) {
        for (key, at, value) in self.keys() {
            if lists.contains(&key) {
                continue;
            }
            let table = tables.iter().find(|table| table.name == key);
            match (value.get_ref(), table) {
                (DeValue::Table(_), Some(table)) => {
                    keys_of(&self.table_or_empty(key), table, tables)
                }
                // The keys of an unknown table stand and fall with it.
                (DeValue::Table(_), None) => {
                    self.unknown(key, at, value, "table", known_table(key, tables, lists));
                }
                (DeValue::Array(items), _)
                    if items.iter().all(|item| item.get_ref().is_table()) =>
                {
                    self.unknown(key, at, value, "table", known_table(key, tables, lists));
                }
                _ => self.unknown(key, at, value, "key", outside(key, tables)),
            }
        }
    }
}

fn keys_of(section: &Section<'_>, table: &Table, tables: &[Table]) {
    let names = table.names();
    for (key, at, value) in section.keys() {
        if !names.contains(&key) {
            section.unknown(key, at, value, "key", misplaced(key, &names, tables));
        }
    }
}

fn known_table(name: &str, tables: &[Table], lists: &[&str]) -> String {
    let names: Vec<_> =
        tables.iter().map(|table| table.name).chain(lists.iter().copied()).collect();
    match nearest(name, names.iter().copied()) {
        Some(near) if lists.contains(&near) => format!("did you mean [[{near}]]?"),
        Some(near) => format!("did you mean [{near}]?"),
        None => format!("known tables: {}", names.join(", ")),
    }
}

/// The remedy for an unknown key of a table.
fn misplaced(key: &str, known: &[&str], tables: &[Table]) -> String {
    match tables.iter().find(|table| table.names().contains(&key)) {
        Some(other) => format!("it belongs under [{}]", other.name),
        None => known_key(key, known),
    }
}

/// The remedy for a key outside all tables.
fn outside(key: &str, tables: &[Table]) -> String {
    let keys =
        || tables.iter().flat_map(|table| table.rows.iter().map(move |row| (row.name, table.name)));
    let near = nearest(key, keys().map(|(name, _)| name));
    match near.and_then(|near| keys().find(|(name, _)| *name == near)) {
        Some((near, table)) => format!("did you mean {near} under [{table}]?"),
        None if tables.iter().any(|table| table.name == key) => {
            format!("write [{key}] and its keys below")
        }
        None => "every key stands under a [table]".into(),
    }
}
