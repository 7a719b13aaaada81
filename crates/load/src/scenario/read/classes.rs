//! Reads `[[classes]]`: the classes of customers, with what they have in common.

use super::{Refuse, every};
use tidegate_config::Preset::{Else, Required};
use tidegate_config::{Keys, Number, Other, Section, Text, Value, keys};

use super::session::{SESSION, own, rules};
use super::{duration, steps, transitions};
use crate::scenario::class::{Class, MOST};
use crate::scenario::navigation::Navigation;
use crate::scenario::page::Page;
use crate::scenario::session_rules::SessionRules;

keys! {
    /// Classes of customers. Besides these keys a class may have those of `[session]`, except
    /// `customers`; those that it does not set it takes from there.
    pub(super) static CLASS: ClassKeys {
        /// Its name.
        name: Text("letters, digits, `-`, `_` and spaces, 30 at most") = Required("bots");
        /// Its weight among the sessions whose arrivals name no class.
        share: Number(0.0, 1e6) = Else("must be set, unless arrivals name the class");
        /// The transitions of its sessions.
        transitions: Other("table", "as `[transitions]`") = Else("`[transitions]`");
    }
}

/// Longest name, in characters: it stands in a table.
const LONGEST_NAME: usize = 30;

/// What `[session]` says, and the classes; where there are none, all customers
/// are one.
pub(super) fn read(
    root: &Section<'_>,
    pages: &[Page],
    file: &str,
) -> (SessionRules, Option<Vec<Class>>) {
    let list = root.get("classes");
    let session = root.get("session").and_then(|value| value.section());
    let Some(section) = session else {
        if root.get("session").is_none() {
            root.wrong("has no [session]", "add [session] with start = \"Home\"");
        }
        return (SessionRules::default(), None);
    };
    section.known(&SESSION);
    let rules = rules(&section, SessionRules::default());
    let transitions = root.get("transitions");
    let common = Common { rules, section: &section, transitions: transitions.as_ref() };
    let Some(list) = list else {
        let class = class(&section, transitions.as_ref(), &common, pages, file);
        return (rules, class.map(|class| vec![class]));
    };
    if let (Some(steps), Some(_)) = (section.get("steps"), &transitions) {
        steps.wrong("cannot be combined with [transitions]", "remove one of them");
    }
    let Some(list) = list.list() else { return (rules, None) };
    if list.is_empty() || list.len() > MOST {
        root.wrong(format!("has {} classes", list.len()), format!("write 1 to {MOST}"));
        return (rules, None);
    }
    let classes = every(&list, |value| {
        let section = value.section()?;
        section.only(&[own(), CLASS.names()].concat());
        let (name, share) = (name(&section), share(&section, root));
        let own = section.given(&CLASS.transitions);
        let class = class(&section, own.as_ref(), &common, pages, file);
        Some(Class { name: name?, share: share?, ..class? })
    });
    let mut names: Vec<&str> = Vec::new();
    for value in &list {
        let Some(name) = name_of(value) else { continue };
        if names.contains(&name) {
            value.wrong("has the name of another class", "choose another name");
        }
        names.push(name);
    }
    if let Some(classes) = &classes {
        duration::wanted(&section, list.iter().zip(classes.iter().map(|class| class.duration)));
    }
    let nobody = |classes: &Vec<Class>| classes.iter().all(|class| class.share == 0.0);
    if classes.as_ref().is_some_and(nobody) && arrivals_without_class(root) {
        list[0].wrong("and all other classes have share = 0", "write share = 1 for one of them");
    }
    (rules, classes)
}

/// Common defaults of all classes.
struct Common<'a, 'r> {
    rules: SessionRules,
    section: &'a Section<'r>,
    transitions: Option<&'a Value<'r>>,
}

/// A class with its own transitions or steps, else the common ones.
fn class(
    section: &Section<'_>,
    own: Option<&Value<'_>>,
    common: &Common<'_, '_>,
    pages: &[Page],
    file: &str,
) -> Option<Class> {
    let session = rules(section, common.rules);
    let own_steps = section.given(&SESSION.steps);
    if let (Some(steps), Some(_)) = (&own_steps, own) {
        return steps.refuse("cannot be combined with [transitions]", "remove one of them");
    }
    let inherits = own_steps.is_none() && own.is_none();
    let steps = own_steps.or_else(|| common.section.given(&SESSION.steps).filter(|_| inherits));
    if let Some(value) = steps {
        if let Some(start) = section.get(SESSION.start.name) {
            start.wrong("cannot be combined with steps, which begin with their first", "remove it");
        }
        duration::refuse(section);
        let steps = steps::read(&value, pages)?;
        if steps.len() > session.max_requests as usize {
            let most = session.max_requests;
            value.wrong(
                format!("are {} requests, more than max_requests = {most}", steps.len()),
                format!("write max_requests = {}", steps.len()),
            );
        }
        let (start, navigation, duration) = (steps[0].page, Navigation::Steps(steps), None);
        return Some(Class {
            name: String::new(),
            share: 1.0,
            start,
            navigation,
            session,
            duration,
        });
    }
    let start = start(section, common.section, pages);
    let Some(transitions) = own.or(common.transitions) else {
        let remedy = "add [transitions] with a row for each page, or steps = [\"Home\"]";
        return section.refuse("has neither steps nor [transitions]", remedy);
    };
    let table = transitions::read(transitions, pages, start, file);
    let (start, table) = (start?, table?);
    let duration = duration::read(section, common.section, (transitions, &table), start, pages)?;
    let navigation = Navigation::Table(table);
    Some(Class { name: String::new(), share: 1.0, start, navigation, session, duration })
}

fn start(section: &Section<'_>, common: &Section<'_>, pages: &[Page]) -> Option<u16> {
    let Some(value) = section.get(SESSION.start.name).or_else(|| common.get(SESSION.start.name))
    else {
        return section.refuse("has no start", "write start = \"Home\"");
    };
    let name = value.string()?;
    match pages.iter().position(|page| page.name == name) {
        Some(index) if pages[index].reads_last_page() => value
            .refuse("follows the last page, but there is none yet", "start at a page with a path"),
        Some(index) => Some(index as u16),
        None => value.refuse("is not a page", steps::one_of(name, pages)),
    }
}

fn name(section: &Section<'_>) -> Option<String> {
    let Some(value) = section.get(CLASS.name.name) else {
        return section.refuse("has no name", "write name = \"bots\"");
    };
    let name = value.string()?;
    let good = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ' ');
    if name.trim().is_empty() || name.chars().count() > LONGEST_NAME || !name.chars().all(good) {
        return value.refuse(
            format!("must be letters, digits, -, _ and spaces, {LONGEST_NAME} at most"),
            "write name = \"bots\"",
        );
    }
    Some(name.to_owned())
}

/// The share; not required for a class with arrivals of its own.
fn share(section: &Section<'_>, root: &Section<'_>) -> Option<f64> {
    match section.get(CLASS.share.name) {
        Some(_) => section.given(&CLASS.share),
        None if arrivals(root).iter().any(|own| own.is_some() && *own == word(section, "name")) => {
            Some(0.0)
        }
        None => section.refuse(
            "has neither a share nor arrivals of its own",
            "write share = 0.2, or [[arrivals]] with its class",
        ),
    }
}

/// The class of each entry of the arrivals.
fn arrivals<'r>(root: &Section<'r>) -> Vec<Option<&'r str>> {
    let Some(value) = root.get("arrivals") else { return Vec::new() };
    let entries = if value.is_list() { value.list().unwrap_or_default() } else { vec![value] };
    let tables = entries.iter().filter(|value| value.is_table()).filter_map(Value::section);
    tables.map(|section| word(&section, "class")).collect()
}

fn arrivals_without_class(root: &Section<'_>) -> bool {
    let all = arrivals(root);
    all.is_empty() || all.iter().any(Option::is_none)
}

/// A string if it is one; a mistake in it is reported elsewhere.
fn word<'r>(section: &Section<'r>, key: &str) -> Option<&'r str> {
    section.get(key).filter(Value::is_str).and_then(|value| value.string())
}

fn name_of<'r>(value: &Value<'r>) -> Option<&'r str> {
    if value.is_table() { value.section().and_then(|section| word(&section, "name")) } else { None }
}

#[cfg(test)]
mod tests {
    use super::super::mistakes;
    use crate::scenario::Scenario;

    const SHOP: &str = r#"
[session]
start = "Home"
patience = "5s"
[pages]
Home = { path = "/" }
Item = { link = "/items/{item}" }
Api = { path = "/api" }
[transitions]
Home = { Item = 1 }
Item = { End = 1 }
"#;

    #[test]
    fn a_class_has_its_own_values_and_otherwise_those_of_the_session() {
        let text = format!(
            "{SHOP}[[classes]]\nname = \"people\"\nshare = 0.9\n\
             [[classes]]\nname = \"bots\"\nsteps = [{{ page = \"Api\", repeat = 3 }}, \"Home\"]\n\
             patience = \"1s\"\nthink = \"0s\"\n[[arrivals]]\nrate = 1\n\
             [[arrivals]]\nrate = 2\nclass = \"bots\"\n"
        );
        let scenario = Scenario::from_toml(&text, "shop.toml").unwrap();
        let [people, bots] = scenario.classes() else { panic!("two classes") };
        assert_eq!((people.share, bots.share), (0.9, 0.0));
        assert!(people.navigation.table().is_some());
        let steps = bots.navigation.steps().unwrap();
        assert_eq!(steps.iter().map(|step| step.page).collect::<Vec<_>>(), [2, 2, 2, 0]);
        assert_eq!(bots.start, 2);
        let seconds = |class: &super::Class| class.session.patience.as_secs();
        assert_eq!((seconds(people), seconds(bots)), (5, 1));
        let words = "partly open: sessions at 1/s, Poisson + \
                     partly open: sessions at 2/s, Poisson (bots)";
        assert_eq!(scenario.arrivals().unwrap().to_string(), words);
        assert!(scenario.notes().is_empty(), "{:?}", scenario.notes());
    }

    #[test]
    fn the_example_of_the_documentation_is_right() {
        let text = include_str!("../../../../../docs/load-example.toml");
        let scenario = Scenario::from_toml(text, "load-example.toml").unwrap();
        assert_eq!(scenario.classes().len(), 2);
        assert_eq!(scenario.notes(), [""; 0]);
        crate::Plan::new(scenario, "https://127.0.0.1:8443").check().unwrap();
    }

    #[test]
    fn steps_stand_in_place_of_transitions() {
        let (start, _) = SHOP.split_once("[transitions]").unwrap();
        let text = start.replace("start = \"Home\"", "steps = [\"Home\", \"Item\"]");
        let scenario = Scenario::from_toml(&text, "shop.toml").unwrap();
        assert_eq!(scenario.session_length().mean_requests, 2.0);
        assert_eq!(scenario.notes(), ["no session reaches Api"]);
    }

    #[test]
    fn every_mistake_of_steps_and_classes_is_reported_with_line_and_remedy() {
        let text = r#"[session]
steps = ["Home", "Hmoe", { page = "Home", repeat = 0 }, { think = "1s" }]
[pages]
Home = { path = "/" }
Item = { link = "/items/{item}" }
[[classes]]
name = "a"
share = 0
[[classes]]
name = "a"
share = 0
steps = ["Item"]
[[classes]]
share = 0
start = "Home"
steps = [{ page = "Home", repeat = 9 }]
max_requests = 5
[[classes]]
name = "b"
steps = ["Home"]
transitions = { Home = { End = 1 } }
[[classes]]
name = "a\tb"
share = -1
transitions = { Home = { End = 0.5 } }
start = "Home"
[arrivals]
rate = 5
class = "c"
"#;
        let found = mistakes(text);
        for expected in [
            "shop.toml:2: session.steps[1] = \"Hmoe\": is not a page; did you mean Home?",
            "shop.toml:2: session.steps[2].repeat = 0: must be a whole number of 1 to 10000;",
            "shop.toml:2: session.steps[3]: has no page;",
            "shop.toml:9: classes[1]: has the name of another class; choose another name",
            "shop.toml:12: classes[1].steps[0] = \"Item\": follows the last page, but there is none yet;",
            "shop.toml:13: classes[2]: has no name; write name = \"bots\"",
            "shop.toml:15: classes[2].start = \"Home\": cannot be combined with steps",
            "shop.toml:16: classes[2].steps: are 9 requests, more than max_requests = 5;",
            "shop.toml:18: classes[3]: has neither a share nor arrivals of its own;",
            "shop.toml:20: classes[3].steps = [\"Home\"]: cannot be combined with [transitions]; remove one of them",
            "shop.toml:23: classes[4].name = \"a\\tb\": must be letters",
            "shop.toml:24: classes[4].share = -1: must be a number of 0 to 1000000;",
            "shop.toml:25: classes[4].transitions.Home: row sums to 0.5, must be 1;",
            "shop.toml:29: arrivals.class = \"c\": must be one of a, a, b, a b; try \"a\"",
        ] {
            assert!(found.iter().any(|line| line.starts_with(expected)), "{expected}\n{found:#?}");
        }
        assert_eq!(found.len(), 14, "{found:#?}");

        let both = SHOP.replace("start = \"Home\"", "steps = [\"Home\"]");
        let expected = "shop.toml:3: session.steps = [\"Home\"]: cannot be combined with [transitions]; remove one of them";
        assert_eq!(mistakes(&both), [expected]);
        let zero = format!("{SHOP}[[classes]]\nname = \"a\"\nshare = 0\n");
        let expected = "shop.toml:12: classes[0]: and all other classes have share = 0; \
                        write share = 1 for one of them";
        assert_eq!(mistakes(&zero), [expected]);
    }
}
