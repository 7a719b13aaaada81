//! The profile of a site's customers: how often a session has each operation, and how long it
//! lasts.
//!
//! Source: Microsoft 1999, "Using Transaction Cost Analysis for Site Capacity Planning", step 1.

use serde::Serialize;
use tidegate_config::Preset::{Is, Required, Unset};
use tidegate_config::{
    Keys, List, Mistakes, Number, Section, Subtable, Text, Time, Whole, did_you_mean, keys,
};

use crate::range::Range;
use crate::spread::Spread;

/// Most operations of a profile.
pub const MOST: usize = 10_000;

keys! {
    /// Who the customers are. A range is `[lowest, highest]` or `[lowest, likely, highest]`.
    pub(crate) static PROFILE: ProfileKeys {
        /// Mean time from the first request of a session to its last, think times included.
        session: Spread<Time>(Time("0s", "30d")) = Required("11m");
        /// Sessions that the profile was taken from; 0 of one that nobody measured.
        sessions: Whole(0, i64::MAX) = Is("0");
        /// The operation that is a checkout.
        checkout: Text("name of an operation") = Unset;
    }

    /// An operation of a session.
    pub(crate) static VISITS: VisitsKeys {
        /// Its name.
        name: Text("") = Required("Home");
        /// How often a session has it on average.
        per_session: Spread<Number>(Number(0.0, 1e6)) = Required("1.5");
    }

    /// The file of a profile.
    static ROOT: RootKeys {
        /// The profile.
        profile: Subtable = Required("see below");
        /// The operations.
        operations: List<Subtable>(Subtable) = Required("see below");
    }
}

/// How often a session has an operation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Visits {
    /// The operation.
    pub operation: String,
    /// How often a session has it on average, at least 0.
    pub per_session: Range,
}

/// What customers do.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Profile {
    /// Mean time from the first request of a session to its last, in seconds, think times included.
    pub session_s: Range,
    /// Sessions that it was taken from; 0 of one that nobody measured.
    pub sessions: u64,
    /// Name of the operation that is a checkout.
    pub checkout: Option<String>,
    /// The operations, each once.
    pub operations: Vec<Visits>,
}

impl Profile {
    /// Reads a file. `file` names the text in mistakes.
    ///
    /// # Errors
    /// Every mistake, with its line and a remedy.
    pub fn from_toml(text: &str, file: &str) -> Result<Self, Mistakes> {
        tidegate_config::read(text, file, read)
    }

    /// The file of the profile. Its operations have the words of a plan's file.
    ///
    /// Session lengths are written to the millisecond.
    pub fn to_toml(&self) -> String {
        let mut text = format!(
            "[profile]\nsession = {}\nsessions = {}\n",
            written(&self.session_s, &seconds),
            self.sessions
        );
        if let Some(checkout) = &self.checkout {
            text += &format!("checkout = {}\n", quoted(checkout));
        }
        for it in &self.operations {
            text += &format!(
                "\n[[operations]]\nname = {}\nper_session = {}\n",
                quoted(&it.operation),
                written(&it.per_session, &|number| number.to_string())
            );
        }
        text
    }

    /// How often a session has an operation; `None` of one that it does not name.
    pub fn per_session(&self, operation: &str) -> Option<Range> {
        self.operations.iter().find(|it| it.operation == operation).map(|it| it.per_session)
    }

    /// Operations of a session, all together, at their likely values.
    pub fn operations_each(&self) -> f64 {
        self.operations.iter().map(|it| it.per_session.value).sum()
    }

    /// Checkouts of a session; `None` where no operation is the checkout.
    pub fn checkouts_each(&self) -> Option<Range> {
        self.per_session(self.checkout.as_deref()?)
    }

    /// Other operations for each checkout, at their likely values; `None` without checkouts.
    pub fn browse_to_buy(&self) -> Option<f64> {
        let checkouts = self.checkouts_each()?.value;
        (checkouts > 0.0).then(|| (self.operations_each() - checkouts) / checkouts)
    }

    /// The operations of the profile that are not among `known`, such as the pages of a site.
    pub fn unknown<'a>(&'a self, known: &[&str]) -> Vec<&'a str> {
        let names = self.operations.iter().map(|it| it.operation.as_str());
        names.filter(|name| !known.contains(name)).collect()
    }
}

/// The keys of a profile's file, with their tables.
pub(crate) fn tables() -> [(&'static str, &'static dyn Keys); 2] {
    [("[profile]", &PROFILE), ("[[operations]]", &VISITS)]
}

fn read(root: &Section<'_>) -> Option<Profile> {
    root.known(&ROOT);
    let list = root.read(&ROOT.operations).unwrap_or_default();
    if list.len() > MOST {
        let rule = format!("has {} operations, at most {MOST}", list.len());
        root.wrong(rule, "leave out the seldom ones");
        return None;
    }
    let operations: Vec<Visits> = list.iter().filter_map(visits).collect();
    let names: Vec<&str> = operations.iter().map(|it| it.operation.as_str()).collect();
    let mut seen = std::collections::BTreeSet::new();
    if let Some(twice) = names.iter().find(|name| !seen.insert(**name)) {
        root.wrong(
            format!("has two operations of the name {twice:?}"),
            "give each a name of its own",
        );
    }
    let table = root.read(&ROOT.profile)?;
    table.known(&PROFILE);
    let (session, sessions) = (table.read(&PROFILE.session), table.read(&PROFILE.sessions));
    let checkout = table.optional(&PROFILE.checkout)?.map(str::to_owned);
    if let (Some(name), Some(value)) = (&checkout, table.get("checkout"))
        && !names.contains(&name.as_str())
    {
        let remedy = did_you_mean(name, &names);
        value.wrong(
            "is none of the operations",
            remedy.unwrap_or_else(|| "add an operation of this name".to_owned()),
        );
    }
    let sessions = u64::try_from(sessions?).ok()?;
    Some(Profile { session_s: session?, sessions, checkout, operations })
}

fn visits(table: &Section<'_>) -> Option<Visits> {
    table.known(&VISITS);
    let (name, per_session) = (table.read(&VISITS.name), table.read(&VISITS.per_session));
    Some(Visits { operation: name?.to_owned(), per_session: per_session? })
}

/// A figure as one value, or as its bounds with the value between them.
fn written(range: &Range, number: &dyn Fn(f64) -> String) -> String {
    match range.is_exact() {
        true => number(range.value),
        false => {
            format!("[{}, {}, {}]", number(range.low), number(range.value), number(range.high))
        }
    }
}

/// Seconds as a duration in quotes, to the millisecond.
fn seconds(seconds: f64) -> String {
    format!("\"{}s\"", (seconds * 1e3).round() / 1e3)
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted += &format!("\\u{:04X}", u32::from(c)),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The profile of the paper: 40 operations of browsing for each checkout.
    pub(crate) fn shop() -> Profile {
        let visits =
            |operation: &str, per_session| Visits { operation: operation.into(), per_session };
        Profile {
            session_s: Range { value: 660.0, low: 631.25, high: 700.0 },
            sessions: 1200,
            checkout: Some("Checkout".into()),
            operations: vec![
                visits("Browse", Range::exactly(4.0)),
                visits("Checkout", Range { value: 0.1, low: 0.08, high: 0.12 }),
            ],
        }
    }

    #[test]
    fn a_profile_is_written_with_the_words_of_a_plan() {
        assert_eq!(
            shop().to_toml(),
            "[profile]\nsession = [\"631.25s\", \"660s\", \"700s\"]\nsessions = 1200\n\
             checkout = \"Checkout\"\n\n[[operations]]\nname = \"Browse\"\nper_session = 4\n\n\
             [[operations]]\nname = \"Checkout\"\nper_session = [0.08, 0.1, 0.12]\n"
        );
    }

    #[test]
    fn figures_of_a_profile_by_hand() {
        let shop = shop();
        assert!((shop.operations_each() - 4.1).abs() < 1e-12);
        assert!((shop.browse_to_buy().unwrap() - 40.0).abs() < 1e-9);
        assert_eq!(shop.checkouts_each().unwrap().low, 0.08);
        assert_eq!(shop.unknown(&["Browse", "Home"]), ["Checkout"]);
        let without = Profile { checkout: None, ..shop };
        assert_eq!((without.browse_to_buy(), without.checkouts_each()), (None, None));
    }

    #[test]
    fn mistakes_are_named_with_a_remedy() {
        let text = "[profile]\nsession = 3\ncheckout = \"Chekout\"\n[[operations]]\n\
                    name = \"Checkout\"\nper_session = -1\n[[operations]]\nname = \"Checkout\"\n\
                    per_session = 1\n[[operations]]\nname = \"Checkout\"\nper_session = 1\nx = 1\n";
        let all = Profile::from_toml(text, "profile.toml").unwrap_err().to_string();
        for expected in [
            "profile.toml:2: profile.session = 3: must be a duration of 0s to 30d; add the unit",
            "profile.checkout = \"Chekout\": is none of the operations; did you mean Checkout?",
            "profile.toml:6: operations[0].per_session = -1: must be a number of 0 to 1000000",
            "has two operations of the name \"Checkout\"; give each a name of its own",
            "operations[2].x = 1: is not a known key",
        ] {
            assert!(all.contains(expected), "{expected} is missing in\n{all}");
        }
        let empty = Profile::from_toml("", "profile.toml").unwrap_err().to_string();
        assert!(empty.contains("profile: must be set"), "{empty}");
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(
            names in proptest::collection::btree_set("\\PC{1,20}|[\\x00-\\x7f]{1,8}", 1..8),
            figures in proptest::collection::vec((0.0..1e6f64, 0.0..1.0f64, 0.0..1.0f64), 8),
            ms in 0..2_000_000_000u32, sessions: u32,
        ) {
            let operations: Vec<Visits> = names.iter().zip(&figures).map(|(name, (high, a, b))| {
                let (low, value) = (high * a.min(*b), high * a.max(*b));
                let per_session = Range { value, low, high: *high };
                Visits { operation: name.clone(), per_session }
            }).collect();
            let profile = Profile {
                session_s: Range::exactly(f64::from(ms) / 1e3),
                sessions: sessions.into(),
                checkout: names.last().cloned(),
                operations,
            };
            let read = Profile::from_toml(&profile.to_toml(), "profile.toml");
            prop_assert_eq!(read.map_err(|it| it.to_string()), Ok(profile));
        }
    }
}
