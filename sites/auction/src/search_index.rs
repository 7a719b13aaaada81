//! The index of the words in the names of active items. The databases keep it
//! themselves, by triggers in SQLite and a generated column in PostgreSQL, so that
//! no statement of the site can leave it behind.

use tidegate_sitekit::database::{self, Connection, Dialect};

/// `$text` in small letters without accents: what SQLite's tokenizer does,
/// whatever the server's locale.
macro_rules! pg_folded {
    ($text:literal) => {
        concat!(
            "translate(lower(",
            $text,
            "),
             'ÀÁÂÃÄÅÇÈÉÊËÌÍÎÏÑÒÓÔÕÖÙÚÛÜÝàáâãäåçèéêëìíîïñòóôõöùúûüýÿĀāĂăĄąĆćĈĉĊċČčĎďĒēĔĕĖėĘęĚěĜĝĞğĠġĢģĤĥĨĩĪīĬĭĮįİĴĵĶķĹĺĻļĽľŃńŅņŇňŌōŎŏŐőŔŕŖŗŘřŚśŜŝŞşŠšŢţŤťŨũŪūŬŭŮůŰűŲųŴŵŶŷŸŹźŻżŽžȘșȚț',
             'aaaaaaceeeeiiiinooooouuuuyaaaaaaceeeeiiiinooooouuuuyyaaaaaaccccccccddeeeeeeeeeegggggggghhiiiiiiiiijjkkllllllnnnnnnoooooorrrrrrssssssssttttuuuuuuuuuuuuwwyyyzzzzzzsstt')"
        )
    };
}

/// The words of an item's name, as PostgreSQL keeps them. Its own parser would
/// keep in one piece what looks like a path, a host or a number.
macro_rules! pg_words {
    () => {
        concat!(
            "array_to_tsvector(array_remove(string_to_array(translate(",
            $crate::search_index::pg_folded!("name"),
            ",
             '!\"#$%&()*+,-./:;<=>?@[]^_`{|}~\\\u{a0}¡§«¬°±´¶·»¿×÷–—‘’‚“”„†•…‹›€£¥''',
             '                                                              '), ' '), ''))"
        )
    };
}

/// A placeholder, read as a query for such words.
macro_rules! pg_query {
    ($place:literal) => {
        concat!("CAST(", $crate::search_index::pg_folded!($place), " AS tsquery)")
    };
}

pub(crate) use {pg_folded, pg_query};

/// `place` holds the category and the region as the words `c7` and `r12`. The
/// texts themselves are not stored, so the index is small. The site never changes
/// a name, category or region; the third trigger is for an operator who does.
const IN_SQLITE: [&str; 5] = [
    "CREATE VIRTUAL TABLE item_words USING fts5(name, place, content='', contentless_delete=1,
         tokenize='unicode61 remove_diacritics 2')",
    "INSERT INTO item_words (rowid, name, place)
         SELECT id, name, 'c' || category || ' r' || region FROM items ORDER BY id",
    "CREATE TRIGGER item_words_insert AFTER INSERT ON items BEGIN
         INSERT INTO item_words (rowid, name, place)
         VALUES (new.id, new.name, 'c' || new.category || ' r' || new.region);
     END",
    "CREATE TRIGGER item_words_delete AFTER DELETE ON items BEGIN
         DELETE FROM item_words WHERE rowid = old.id;
     END",
    "CREATE TRIGGER item_words_update AFTER UPDATE OF id, name, category, region ON items BEGIN
         DELETE FROM item_words WHERE rowid = old.id;
         INSERT INTO item_words (rowid, name, place)
         VALUES (new.id, new.name, 'c' || new.category || ' r' || new.region);
     END",
];

/// A column, not an index on the expression: where a word is frequent, the server
/// reads the newest items in order and compares, which must cost little for each.
const IN_POSTGRES: [&str; 2] = [
    concat!(
        "ALTER TABLE items ADD COLUMN words tsvector GENERATED ALWAYS AS (",
        pg_words!(),
        ") STORED"
    ),
    "CREATE INDEX items_words ON items USING GIN (words)",
];

/// Creates the index of the items that are there.
pub async fn create(connection: &mut Connection) -> database::Result<()> {
    let statements: &[&str] = match connection.dialect() {
        Dialect::Sqlite => &IN_SQLITE,
        Dialect::Postgres => &IN_POSTGRES,
    };
    for statement in statements {
        connection.run(*statement, &[]).await?;
    }
    Ok(())
}
