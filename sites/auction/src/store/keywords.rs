//! Search for active items by the words of their names. Each database has its
//! own index (see `search_index`); both fold capital letters and accents, and
//! a word of three letters or more also finds the longer words that begin with it.
//!
//! The newest items come first: that is the order of the index, so that no more
//! rows are read than are shown. Matches are counted up to [`MOST`].

use std::fmt::Write as _;

use super::listing::Listed;
use crate::search_index::pg_query;
use tidegate_sitekit::Result;
use tidegate_sitekit::database::{Database, Dialect};
use tidegate_sitekit::values;

/// Most matches that are counted and can be paged through.
pub const MOST: i64 = 1000;
/// Most words of a search; those after them are left out.
const WORDS: usize = 8;
/// Letters from which on a word also finds longer ones.
const PREFIX: usize = 3;

/// What is searched for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    /// At least one; letters and digits only.
    words: Vec<String>,
    /// Only in this category, 0 for all.
    category: i64,
    /// Only in this region, 0 for all.
    region: i64,
}

pub(crate) const COUNT_IN_SQLITE: &str = "SELECT COUNT(*) FROM (
     SELECT 1 FROM item_words WHERE item_words MATCH $1 LIMIT 1001) part_found";

pub(crate) const FIND_IN_SQLITE: &str =
    "SELECT i.id, i.name, i.category, i.initial_price, i.max_bid, i.nb_of_bids, i.buy_now, i.end_date
     FROM (SELECT rowid AS id FROM item_words WHERE item_words MATCH $1
           ORDER BY rowid DESC LIMIT 20 OFFSET $2) part_found
     CROSS JOIN items i WHERE i.id = part_found.id AND i.end_date > $3 ORDER BY i.id DESC";

const COUNT_IN_POSTGRES: &str = concat!(
    "SELECT COUNT(*) FROM (SELECT 1 FROM items WHERE words @@ ",
    pg_query!("$1"),
    " AND (CAST($2 AS BIGINT) = 0 OR category = $2) AND (CAST($3 AS BIGINT) = 0 OR region = $3)
       LIMIT 1001) part_found"
);

const FIND_IN_POSTGRES: &str = concat!(
    "SELECT id, name, category, initial_price, max_bid, nb_of_bids, buy_now, end_date FROM (
       SELECT * FROM items WHERE words @@ ",
    pg_query!("$1"),
    " AND (CAST($2 AS BIGINT) = 0 OR category = $2) AND (CAST($3 AS BIGINT) = 0 OR region = $3)
       ORDER BY id DESC LIMIT 20 OFFSET $4) part_found
     WHERE end_date > $5 ORDER BY id DESC"
);

impl Search {
    /// A search for the words in `text`, in a category and a region (0: all);
    /// `None` if it has no word.
    pub fn new(text: &str, category: i64, region: i64) -> Option<Self> {
        let words: Vec<String> = text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .take(WORDS)
            .map(Into::into)
            .collect();
        (!words.is_empty()).then_some(Self { words, category, region })
    }

    /// As SQLite's FTS5 reads it. Category and region are words of a column of
    /// their own, so that they narrow the search within the index.
    fn for_sqlite(&self) -> String {
        let mut query = String::from("name : (");
        for (index, word) in self.words.iter().enumerate() {
            let and = if index == 0 { "" } else { " AND " };
            let longer = if word.chars().count() < PREFIX { "" } else { " *" };
            let _ = write!(query, "{and}\"{word}\"{longer}");
        }
        query.push(')');
        for (kind, id) in [('c', self.category), ('r', self.region)] {
            if id != 0 {
                let _ = write!(query, " AND place : \"{kind}{id}\"");
            }
        }
        query
    }

    /// As PostgreSQL's `tsquery` reads it.
    fn for_postgres(&self) -> String {
        let mut query = String::new();
        for (index, word) in self.words.iter().enumerate() {
            let and = if index == 0 { "" } else { " & " };
            let longer = if word.chars().count() < PREFIX { "" } else { ":*" };
            let _ = write!(query, "{and}'{word}'{longer}");
        }
        query
    }
}

/// How many items match; one above [`MOST`] stands for more.
pub async fn count(database: &Database, search: &Search) -> Result<i64> {
    let found = match database.dialect() {
        Dialect::Sqlite => {
            let query = search.for_sqlite();
            database.first(COUNT_IN_SQLITE, &values![query]).await?
        }
        Dialect::Postgres => {
            let query = search.for_postgres();
            let values = values![query, search.category, search.region];
            database.first(COUNT_IN_POSTGRES, &values).await?
        }
    };
    Ok(found.unwrap_or(0))
}

/// A page of the matches, the newest first; `from` of them are skipped.
pub async fn find(
    database: &Database,
    search: &Search,
    now: i64,
    from: i64,
) -> Result<Vec<Listed>> {
    match database.dialect() {
        Dialect::Sqlite => {
            let query = search.for_sqlite();
            database.all(FIND_IN_SQLITE, &values![query, from, now]).await
        }
        Dialect::Postgres => {
            let query = search.for_postgres();
            let values = values![query, search.category, search.region, from, now];
            database.all(FIND_IN_POSTGRES, &values).await
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_holds_letters_and_digits_only() {
        let of = |text| Search::new(text, 7, 12).unwrap();
        let hostile = of("\" OR name:x* NEAR('a' & b) \\ -- ;é\u{301}\0");
        assert_eq!(hostile.words, ["OR", "name", "x", "NEAR", "a", "b", "é"]);
        assert_eq!(
            of("old Clock").for_sqlite(),
            "name : (\"old\" * AND \"Clock\" *) AND place : \"c7\" AND place : \"r12\""
        );
        assert_eq!(Search::new("tv 2", 0, 0).unwrap().for_sqlite(), "name : (\"tv\" AND \"2\")");
        assert_eq!(of("old tv").for_postgres(), "'old':* & 'tv'");
        assert_eq!(of(&"a ".repeat(99)).words.len(), WORDS);
        for empty in ["", "  ", "-\"*", "\u{301}"] {
            assert_eq!(Search::new(empty, 0, 0), None);
        }
    }
}
