//! From TOML text to a checked scenario, with every mistake.

use std::sync::OnceLock;

use tidegate_config::Preset::{Else, Is, Required, Unset};
use tidegate_config::{Boolean, Key, Mistakes, Other, Section, Text, Value, keys};

use super::arrivals::arrivals as arrivals_of;
use super::fields::field_rules;
use super::files::Files;
use super::names::Names;
use super::pages::{headers, pages, unknown_values};
use super::{classes, connections, feeders, hosts, run, thresholds, tls};
use crate::scenario::class::Class;
use crate::scenario::definition::ScenarioDefinition;
use crate::scenario::fed;
use crate::scenario::page::Page;

keys! {
    /// The file as a whole.
    pub(super) static SCENARIO: ScenarioKeys {
        /// Name in reports.
        name: Text("") = Else("the file's name");
        /// Its description, in a sentence.
        description: Text("") = Is("");
        /// An attack runs only against a target on loopback, unless `--attack-remote` confirms that
        /// the service is your own.
        attack: Boolean = Is("false");
        /// Rules of every session.
        session: Other("table", "see below") = Required("");
        /// Header fields of all requests, beside those of pages. A Cookie and an Authorization go to
        /// the target only.
        headers: Other("table of texts", "names in braces stand for their values") = Unset;
        /// Hosts that customers request beside the target, by name.
        hosts: Other("table", "at most 16, see below") = Unset;
        /// The pages by name.
        pages: Other("table", "at most 1000") = Required("");
        /// Parameters: names in braces in paths and texts.
        parameters: Other("table", "see below") = Unset;
        /// Files with values for parameters, by name.
        feeders: Other("table", "at most 16, see below") = Unset;
        /// Values of form fields of all pages by name: a text, or a rule, see below.
        fields: Other("table", "texts and rules") = Unset;
        /// The next page of a session.
        transitions: Other("table", "see below") = Else("must be set, unless `steps` is");
        /// Classes of customers.
        classes: Other("list of tables", "1 to 100, see below") = Else("all customers are alike");
        /// Arrivals of customers.
        arrivals: Other("table or list of tables", "at most 100, see below") = Else("given by flags");
        /// How long a run lasts.
        run: Other("table", "see below") = Unset;
        /// Reuse and close of connections.
        connections: Other("table", "see below") = Unset;
        /// TLS of the customers.
        tls: Other("table", "see below") = Unset;
        /// Thresholds that decide the exit code.
        thresholds: Other("table", "see below") = Unset;
    }
}

pub(crate) fn scenario(text: &str, file: &str) -> Result<ScenarioDefinition, Mistakes> {
    tidegate_config::read(text, file, |root| parts(root, file))
}

fn parts(root: &Section<'_>, file: &str) -> Option<ScenarioDefinition> {
    root.known(&SCENARIO);
    let text = |key: &Key<Text>| root.read(key).unwrap_or_default().to_owned();
    let (name, description) = (text(&SCENARIO.name), text(&SCENARIO.description));
    let attack = root.given(&SCENARIO.attack).unwrap_or_default();
    let mut names = Names::of(root);
    let files = Files::beside(file);
    let feeders = root.given(&SCENARIO.feeders);
    let feeders = feeders.map(|value| feeders::read(&value, &mut names, file)).unwrap_or_default();
    let fields = table(root, &SCENARIO.fields, |section| field_rules(section, &names, &files));
    let hosts = root.given(&SCENARIO.hosts);
    let hosts = hosts.map(|value| hosts::read(&value, file)).unwrap_or_default();
    let mut pages = pages(root, &mut names, &files);
    let common = headers(root.given(&SCENARIO.headers), &names);
    pages.iter_mut().for_each(|page| page.add_headers(&common));
    let gives_cookies = pages.iter().any(Page::gives_cookies);
    let (session, classes) = classes::read(root, &pages, file);
    let class_names = class_names(root);
    let arrivals = root.given(&SCENARIO.arrivals);
    let arrivals = arrivals.and_then(|value| arrivals_of(&value, file, Some(&class_names)));
    let run = table(root, &SCENARIO.run, run::read);
    let connections = table(root, &SCENARIO.connections, connections::read);
    let tls = table(root, &SCENARIO.tls, |section| tls::read(section, file));
    let thresholds =
        table(root, &SCENARIO.thresholds, |it| thresholds::read(it, &pages, &class_names));
    unknown_values(root, &pages, &names);
    let classes = classes?;
    let fed = fed::used(&classes, &pages, &fields, &feeders);
    let mut notes = notes(&classes, &pages);
    notes.extend(fed::unused(&fed, &feeders));
    Some(ScenarioDefinition {
        name: if name.is_empty() { stem(file) } else { name },
        description,
        attack,
        session,
        hosts,
        gives_cookies,
        pages,
        classes,
        parameters: names.0,
        fields,
        feeders: feeders.into(),
        fed,
        arrivals,
        run,
        connections,
        tls,
        thresholds,
        notes,
        length: OnceLock::new(),
    })
}

/// What a table says; what is read of none if the file does not have it.
fn table<T: Default>(
    root: &Section<'_>,
    key: &Key<Other>,
    read: impl FnOnce(&Section<'_>) -> T,
) -> T {
    root.given(key).and_then(|value| value.section()).map(|it| read(&it)).unwrap_or_default()
}

fn stem(file: &str) -> String {
    std::path::Path::new(file).file_stem().map_or(file.into(), |stem| stem.to_string_lossy().into())
}

/// Names of the classes as far as they are any.
fn class_names<'r>(root: &Section<'r>) -> Vec<&'r str> {
    let list = root.get("classes").filter(Value::is_list).and_then(|value| value.list());
    let name = |value: Value<'r>| {
        let section = value.is_table().then(|| value.section()).flatten()?;
        section.get("name").filter(Value::is_str)?.string()
    };
    list.unwrap_or_default().into_iter().filter_map(name).collect()
}

fn notes(classes: &[Class], pages: &[Page]) -> Vec<String> {
    let reached: Vec<Vec<bool>> =
        classes.iter().map(|class| class.navigation.reachable(class.start, pages.len())).collect();
    let lost: Vec<&str> = pages
        .iter()
        .enumerate()
        .filter(|(index, _)| reached.iter().all(|seen| !seen[*index]))
        .map(|(_, page)| page.name.as_str())
        .collect();
    if lost.is_empty() {
        return Vec::new();
    }
    vec![format!("no session reaches {}", lost.join(", "))]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::scenario::SessionRules;

    const GOOD: &str = r#"
[session]
start = "Home"
[pages]
Home = { path = "/" }
Item = { link = "/items/{item}", think = "2s" }
[transitions]
Home = { Item = 0.5, End = 0.5 }
Item = { Back = 1 }
"#;

    fn mistakes(text: &str) -> Vec<String> {
        scenario(text, "shop.toml").map(drop).unwrap_err().lines()
    }

    #[test]
    fn a_short_scenario_is_enough() {
        let parts = scenario(GOOD, "dir/shop.toml").unwrap();
        assert_eq!(parts.name, "shop");
        assert_eq!(parts.session, SessionRules::default());
        assert_eq!(parts.pages[1].think, Some(Duration::from_secs(2)));
        assert!(parts.notes.is_empty());
    }

    #[test]
    fn all_mistakes_are_reported_together_with_line_and_remedy() {
        let text = r#"nmae = "shop"
[session]
start = "Hmoe"
patience = "soon"
max_requests = 0
[pages]
Home = { path = "home" }
Item = { link = "/items/{item}", form = "/x" }
Search = { path = "/search?q={word}" }
[transitions]
Home = { Item = 0.5, End = 0.4 }
Item = { Nowhere = 1 }
[thresholds]
response_p95_ms = { maximum = 5 }
"#;
        let found = mistakes(text);
        for expected in [
            "shop.toml:1: nmae = \"shop\": is not a known key; did you mean name?",
            "shop.toml:3: session.start = \"Hmoe\": is not a page; did you mean Home?",
            "shop.toml:4: session.patience = \"soon\": must be a duration of 1ms to 24h; \
             write a number and one of ms, s, m, h, d, as in \"10s\"",
            "shop.toml:5: session.max_requests = 0: must be a whole number of 1 to 1000000; try 1",
            "shop.toml:7: pages.Home.path = \"home\": \"home\" must begin with /; \
             write a path such as \"/items/{item}\"",
            "shop.toml:8: pages.Item: has 2 of path, link and form, must have one; \
             path makes the address up, link and form follow the last page",
            "shop.toml:9: pages.Search.path = \"/search?q={word}\": has {word}, which no link, extraction, parameter or feeder gives; \
             add [parameters] word = { uniform = [1, 20] }",
            "shop.toml:12: transitions.Item.Nowhere = 1: is neither a page nor Back, Stay or End; \
             pages are Home, Item, Search, or remove it",
            "shop.toml:14: thresholds.response_p95_ms.maximum = 5: is not a known key; \
             known keys: min, max, abort_on_fail, abort_after",
        ] {
            assert!(found.iter().any(|line| line == expected), "{expected}\nin {found:#?}");
        }
    }

    #[test]
    fn a_step_of_a_scenario_without_pages_says_how_a_page_is_written() {
        let found = mistakes("[session]\nsteps = [\"Home\"]\n");
        let expected = "is not a page; add a page, such as [pages.Home] with path = \"/\"";
        assert!(found.iter().any(|line| line.ends_with(expected)), "{found:#?}");
    }

    #[test]
    fn each_bad_row_is_reported_with_its_sum() {
        let text = GOOD.replace("End = 0.5", "End = 0.4").replace("Back = 1", "Back = 1.2");
        assert_eq!(
            mistakes(&text),
            [
                "shop.toml:8: transitions.Home: row sums to 0.9, must be 1; \
                 correct it, or set form = \"normalised\" or \"effective\"",
                "shop.toml:9: transitions.Item: row sums to 1.2, must be 1; \
                 correct it, or set form = \"normalised\" or \"effective\"",
            ]
        );
        let missing = GOOD.replace("Item = { Back = 1 }\n", "");
        assert!(mistakes(&missing)[0].contains("Item has no row"), "{:?}", mistakes(&missing));
    }

    #[test]
    fn states_that_no_session_reaches_are_noted() {
        let text = GOOD.replace("Home = { Item = 0.5, End = 0.5 }", "Home = { End = 1 }");
        assert_eq!(scenario(&text, "shop.toml").unwrap().notes, ["no session reaches Item"]);
    }

    #[test]
    fn a_table_from_a_file_is_checked_at_its_own_lines() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("shop.toml");
        let csv = "# a remark\nfrom,Home,Item,End,sum\nHome,0,0.5,0.6,1.1\nItem,x,0,1,1\n";
        std::fs::write(directory.path().join("table.csv"), csv).unwrap();
        let (start, _) = GOOD.split_once("[transitions]").unwrap();
        let text = format!("{start}[transitions]\nfile = \"table.csv\"\n");
        let found = scenario(&text, &file.to_string_lossy()).map(drop).unwrap_err();
        assert!(found.0[0].place.ends_with("table.csv:3"));
        assert_eq!(found.0[0].rule, "row sums to 1.1, must be 1");
        assert_eq!(found.0[1].rule, "\"x\" is not a probability");
        let normalised = format!("{text}form = \"normalised\"\n");
        let found = scenario(&normalised, &file.to_string_lossy()).map(drop).unwrap_err();
        assert_eq!(found.0.len(), 1, "{found}");
    }

    #[test]
    fn weights_make_every_row_the_same() {
        let (start, _) = GOOD.split_once("[transitions]").unwrap();
        let text = format!("{start}[transitions]\nweights = {{ Home = 3, End = 1 }}\n");
        let parts = scenario(&text, "shop.toml").unwrap();
        let first = parts.classes[0].navigation.table().unwrap().moves(1).next().unwrap();
        assert_eq!(first, (crate::scenario::Move::Page(0), 0.75));
    }

    #[test]
    fn syntax_errors_have_their_line() {
        let found = mistakes("[session\nstart = \n");
        assert!(found[0].starts_with("shop.toml:1: is not TOML:"), "{found:?}");
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(cut in 0..GOOD.len(), junk in ".{0,20}") {
            if GOOD.is_char_boundary(cut) {
                let text = format!("{}{junk}{}", &GOOD[..cut], &GOOD[cut..]);
                let _ = scenario(&text, "shop.toml");
            }
        }
    }
}
