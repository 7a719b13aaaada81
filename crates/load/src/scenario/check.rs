//! From TOML text to a checked scenario, with every mistake.

use std::sync::OnceLock;
use std::time::Duration;

use toml::de::DeTable;

use super::field::FieldRule;
use super::page::{Method, Page, Source};
use super::reader::{Reader, Section, Value};
use super::table::Table;
use super::template::Template;
use super::{Parameter, Parts, SessionRules, transitions};
use crate::arrivals::{Arrivals, Process, Segment};
use crate::mistakes::Mistakes;
use crate::thresholds::{METRICS, Threshold};

const DAY: Duration = Duration::from_secs(24 * 3600);
/// Most pages of a scenario.
const PAGES: usize = 1000;
/// Names that the table's own moves have.
pub(super) const MOVES: [&str; 3] = ["Back", "End", "Stay"];
/// Parameters that every customer brings along.
pub(super) const OWN: [&str; 3] = ["customer", "session", "random"];

/// Names of parameters, by index; the first three are [`OWN`].
#[derive(Default)]
struct Names(Vec<Parameter>);

impl Names {
    fn index(&mut self, name: &str) -> u16 {
        let found = self.0.iter().position(|parameter| parameter.name == name);
        found.unwrap_or_else(|| {
            self.0.push(Parameter { name: name.to_owned(), uniform: None });
            self.0.len() - 1
        }) as u16
    }
}

pub(super) fn scenario(text: &str, file: &str) -> Result<Parts, Mistakes> {
    let reader = Reader::new(file, text);
    let (tree, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        for error in errors {
            let at = error.span().unwrap_or(0..0);
            reader.wrong(&at, "TOML", error.message().replace('\n', " "), "mend the syntax");
        }
        return Err(reader.into_mistakes());
    }
    let parts = parts(&Section::root(&reader, &tree), file);
    match parts {
        Some(parts) if reader.is_clean() => Ok(parts),
        _ => Err(reader.into_mistakes()),
    }
}

fn parts(root: &Section<'_>, file: &str) -> Option<Parts> {
    root.only(&[
        "name",
        "description",
        "session",
        "pages",
        "parameters",
        "fields",
        "transitions",
        "arrivals",
        "thresholds",
    ]);
    let text = |key| root.get(key).and_then(|value| value.string()).unwrap_or_default().to_owned();
    let (name, description) = (text("name"), text("description"));
    let mut names = Names::default();
    OWN.iter().for_each(|own| {
        names.index(own);
    });
    if let Some(section) = root.get("parameters").and_then(|value| value.section()) {
        parameters(&section, &mut names);
    }
    let fields = root.get("fields").and_then(|value| value.section());
    let fields = fields.map(|section| field_rules(&section)).unwrap_or_default();
    let pages = pages(root, &mut names);
    let session = root.get("session").and_then(|value| value.section());
    let (session, start) = session_rules(root, session.as_ref(), &pages);
    let table = transitions::read(root, &pages, file);
    let arrivals = root.get("arrivals").and_then(|value| arrivals(&value.section()?));
    let thresholds = root.get("thresholds").and_then(|value| value.section());
    let thresholds = thresholds.map(|section| limits(&section)).unwrap_or_default();
    unknown_values(root, &pages, &names);
    let (table, start) = (table?, start?);
    let notes = notes(&table, &pages, start);
    Some(Parts {
        name: if name.is_empty() { stem(file) } else { name },
        description,
        session,
        pages,
        table,
        start,
        parameters: names.0,
        fields,
        arrivals,
        thresholds,
        notes,
        length: OnceLock::new(),
    })
}

fn stem(file: &str) -> String {
    std::path::Path::new(file).file_stem().map_or(file.into(), |stem| stem.to_string_lossy().into())
}

fn parameters(section: &Section<'_>, names: &mut Names) {
    for (name, value) in section.entries() {
        if OWN.contains(&name) {
            value.wrong("is a name that every customer has already", "choose another name");
            continue;
        }
        let Some(inner) = value.section() else { continue };
        inner.only(&["uniform"]);
        match inner.get("uniform").map(|value| value.pair(0..=i64::MAX)) {
            Some(Some((first, last))) => {
                let index = names.index(name);
                names.0[index as usize].uniform = Some((first as u64, last as u64));
            }
            Some(None) => {}
            None => inner.wrong("has no values to draw from", "write { uniform = [1, 20] }"),
        }
    }
}

fn pages(root: &Section<'_>, names: &mut Names) -> Vec<Page> {
    let Some(section) = root.get("pages").and_then(|value| value.section()) else {
        if root.get("pages").is_none() {
            root.wrong("has no pages", "add [pages.Home] with path = \"/\"");
        }
        return Vec::new();
    };
    let entries = section.entries();
    if entries.len() > PAGES {
        section.wrong(format!("has {} pages, at most {PAGES}", entries.len()), "split it");
    }
    entries
        .into_iter()
        .take(PAGES)
        .filter_map(|(name, value)| {
            if MOVES.contains(&name) || matches!(name, "from" | "sum") {
                value.wrong("is a name with a meaning of its own", "choose another name");
            }
            page(name, &value.section()?, names)
        })
        .collect()
}

fn page(name: &str, section: &Section<'_>, names: &mut Names) -> Option<Page> {
    section.only(&["path", "link", "form", "method", "ids", "fields", "allow", "repeat", "think"]);
    let mut template = |key: &str| {
        let value = section.get(key)?;
        match Template::parse(value.string()?, |name| names.index(name)) {
            Ok(template) => Some(template),
            Err(rule) => {
                value.wrong(rule, "write a path such as \"/items/{item}\"");
                None
            }
        }
    };
    let (path, link, form) = (template("path"), template("link"), template("form"));
    let ids = template("ids");
    let given = ["path", "link", "form"].iter().filter(|key| section.get(key).is_some()).count();
    if given != 1 {
        section.wrong(
            format!("has {given} of path, link and form, must have one"),
            "path makes the address up, link and form follow the last page",
        );
    }
    let source = path
        .map(Source::Path)
        .or_else(|| link.map(Source::Link))
        .or_else(|| form.map(Source::Form));
    let method = section.get("method").and_then(|value| match value.string()? {
        "GET" => Some(Method::Get),
        "HEAD" => Some(Method::Head),
        "POST" => Some(Method::Post),
        other => {
            value.wrong(format!("= \"{other}\" must be GET, HEAD or POST"), "write \"GET\"");
            None
        }
    });
    let sends_form = matches!(source, Some(Source::Form(_)));
    let posts = method == Some(Method::Post) || (method.is_none() && sends_form);
    let repeat = section.get("repeat").and_then(|value| value.boolean()).unwrap_or(false);
    let fields = section.get("fields").and_then(|value| value.section());
    let allow = section.get("allow").and_then(|value| value.list()).unwrap_or_default();
    Some(Page {
        name: name.to_owned(),
        method,
        source: source?,
        ids,
        fields: fields.map(|section| field_rules(&section)).unwrap_or_default(),
        allow: allow.iter().filter_map(|v| v.integer(400..=599)).map(|code| code as u16).collect(),
        repeat: repeat || !posts,
        think: section.get("think").and_then(|value| value.duration(Duration::ZERO..=DAY)),
    })
}

fn field_rules(section: &Section<'_>) -> Vec<(String, FieldRule)> {
    let rule = |(name, value): (&str, Value<'_>)| Some((name.to_owned(), field_rule(&value)?));
    section.entries().into_iter().filter_map(rule).collect()
}

fn field_rule(value: &Value<'_>) -> Option<FieldRule> {
    const REMEDY: &str = "write a text, { uniform = [1, 9] }, { above_min = [1, 10] }, \
                          { above = \"bid\", by = [1, 10] }, { text = [1, 2048] }, \
                          { one_of = [\"a\", \"b\"] } or { keep = true }";
    if value.is_str() {
        let text = value.string()?;
        return FieldRule::text(text).map_err(|rule| value.wrong(rule, REMEDY)).ok();
    }
    let section = value.section()?;
    section.only(&["uniform", "above_min", "above", "by", "text", "one_of", "keep"]);
    let small = 0..=1_000_000;
    let short = |(a, b): (i64, i64)| (a as u32, b as u32);
    if let Some(range) = section.get("uniform") {
        return range.pair(-1_000_000_000..=1_000_000_000).map(|(a, b)| FieldRule::Uniform(a, b));
    }
    if let Some(range) = section.get("above_min") {
        return range.pair(small).map(short).map(|(a, b)| FieldRule::AboveMin(a, b));
    }
    if let Some(range) = section.get("text") {
        return range.pair(0..=65_536).map(short).map(|(a, b)| FieldRule::RandomText(a, b));
    }
    if let (Some(other), Some(range)) = (section.get("above"), section.get("by")) {
        let (other, (a, b)) = (other.string()?, range.pair(small).map(short)?);
        return Some(FieldRule::AboveField(other.to_owned(), a, b));
    }
    if let Some(list) = section.get("one_of") {
        let choices: Vec<String> =
            list.list()?.iter().filter_map(|v| v.string().map(str::to_owned)).collect();
        if !choices.is_empty() {
            return Some(FieldRule::OneOf(choices));
        }
    }
    if section.get("keep").and_then(|value| value.boolean()) == Some(true) {
        return Some(FieldRule::Keep);
    }
    section.wrong("is no rule for a field", REMEDY);
    None
}

fn session_rules(
    root: &Section<'_>,
    section: Option<&Section<'_>>,
    pages: &[Page],
) -> (SessionRules, Option<u16>) {
    let mut rules = SessionRules::default();
    let Some(section) = section else {
        if root.get("session").is_none() {
            root.wrong("has no [session]", "add [session] with start = \"Home\"");
        }
        return (rules, None);
    };
    section.only(&[
        "start",
        "max_requests",
        "think",
        "think_cap",
        "patience",
        "customers",
        "follow_redirects",
    ]);
    if let Some(n) = section.get("max_requests").and_then(|value| value.integer(1..=1_000_000)) {
        rules.max_requests = n as u32;
    }
    if let Some(think) = section.get("think").and_then(|value| value.duration(Duration::ZERO..=DAY))
    {
        rules.think = think;
    }
    if let Some(cap) = section.get("think_cap").and_then(|value| value.number(1.0..=1000.0)) {
        rules.think_cap = cap;
    }
    let shortest = Duration::from_millis(1);
    if let Some(patience) = section.get("patience").and_then(|value| value.duration(shortest..=DAY))
    {
        rules.patience = patience;
    }
    if let Some(n) = section.get("customers").and_then(|value| value.integer(1..=i64::MAX)) {
        rules.customers = n as u64;
    }
    if let Some(follow) = section.get("follow_redirects").and_then(|value| value.boolean()) {
        rules.follow_redirects = follow;
    }
    let start = match section.get("start") {
        Some(value) => value.string().and_then(|name| {
            let found = pages.iter().position(|page| page.name == name);
            match found {
                Some(index) if pages[index].reads_last_page() => {
                    value.wrong(
                        format!("= \"{name}\" follows the last page, but there is none yet"),
                        "start at a page with a path",
                    );
                    None
                }
                Some(index) => Some(index as u16),
                None => {
                    value.wrong(format!("= \"{name}\" is no page"), "name one of [pages]");
                    None
                }
            }
        }),
        None => {
            section.wrong("has no start", "write start = \"Home\"");
            None
        }
    };
    (rules, start)
}

fn arrivals(section: &Section<'_>) -> Option<Arrivals> {
    section.only(&["rate", "process", "segments", "times"]);
    let rate_of = |section: &Section<'_>, key: &str| {
        section.get(key).and_then(|value| value.number(0.0..=Arrivals::FASTEST))
    };
    let given =
        ["rate", "segments", "times"].iter().filter(|key| section.get(key).is_some()).count();
    if given != 1 {
        section.wrong(
            format!("has {given} of rate, segments and times, must have one"),
            "write rate = 5 for five sessions per second",
        );
        return None;
    }
    let process = match section.get("process") {
        None => Process::Poisson,
        Some(value) => match value.string()? {
            "poisson" => Process::Poisson,
            "even" => Process::Even,
            other => {
                value.wrong(format!("= \"{other}\" is not known"), "write \"poisson\" or \"even\"");
                return None;
            }
        },
    };
    if let Some(times) = section.get("times") {
        let times = times.list()?;
        let times = times.iter().filter_map(|value| value.duration(Duration::ZERO..=DAY)).collect();
        return Some(Arrivals::times(times));
    }
    if let Some(list) = section.get("segments") {
        let list = list.list()?;
        let segments = list.iter().filter_map(|value| {
            let section = value.section()?;
            section.only(&["for", "rate", "from", "to"]);
            let lasts = match section.get("for") {
                Some(value) => value.duration(Duration::from_millis(1)..=DAY)?,
                None => {
                    section.wrong("has no length", "write { for = \"30s\", rate = 5 }");
                    return None;
                }
            };
            let (rate, from, to) =
                (rate_of(&section, "rate"), rate_of(&section, "from"), rate_of(&section, "to"));
            match (rate, from, to) {
                (Some(rate), None, None) => {
                    Some(Segment { lasts, from_per_s: rate, to_per_s: rate })
                }
                (None, Some(from_per_s), Some(to_per_s)) => {
                    Some(Segment { lasts, from_per_s, to_per_s })
                }
                _ => {
                    section.wrong("must have either rate, or from and to", "write rate = 5");
                    None
                }
            }
        });
        return Some(Arrivals::segments(process, segments.collect()));
    }
    let per_s = rate_of(section, "rate")?;
    Some(match process {
        Process::Even => Arrivals::even(per_s),
        _ => Arrivals::poisson(per_s),
    })
}

fn limits(section: &Section<'_>) -> Vec<Threshold> {
    let names: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
    section.only(&names);
    let limit = |(name, value): (&str, Value<'_>)| {
        if !names.contains(&name) {
            return None;
        }
        let inner = value.section()?;
        inner.only(&["min", "max"]);
        let bound = |key| inner.get(key).and_then(|value| value.number(0.0..=f64::MAX));
        let (min, max) = (bound("min"), bound("max"));
        if inner.get("min").is_none() && inner.get("max").is_none() {
            inner.wrong("has no limit", "write { max = 500 } or { min = 0.98 }");
        }
        Threshold::new(name, min, max)
    };
    section.entries().into_iter().filter_map(limit).collect()
}

/// A made-up path needs a value for each of its parameters: declared, the
/// customer's own, or seen in some link.
fn unknown_values(root: &Section<'_>, pages: &[Page], names: &Names) {
    let offered = |index: u16| {
        pages.iter().any(|page| {
            let links = page.reads_last_page().then(|| page.template());
            links
                .into_iter()
                .chain(&page.ids)
                .any(|template| template.parameters().any(|parameter| parameter == index))
        })
    };
    let Some(section) = root.get("pages").and_then(|value| value.section()) else { return };
    for page in pages.iter().filter(|page| !page.reads_last_page()) {
        for index in page.template().parameters() {
            let parameter = &names.0[index as usize];
            let own = (index as usize) < OWN.len();
            if own || parameter.uniform.is_some() || offered(index) {
                continue;
            }
            let place = section.get(&page.name).and_then(|v| v.section()?.get("path"));
            if let Some(place) = place {
                place.wrong(
                    format!("has {{{}}}, which no link and no parameter gives", parameter.name),
                    format!("add [parameters] {} = {{ uniform = [1, 20] }}", parameter.name),
                );
            }
        }
    }
}

fn notes(table: &Table, pages: &[Page], start: u16) -> Vec<String> {
    let reachable = table.reachable(start);
    let lost: Vec<&str> = pages
        .iter()
        .zip(&reachable)
        .filter(|(_, seen)| !**seen)
        .map(|(p, _)| p.name.as_str())
        .collect();
    if lost.is_empty() {
        return Vec::new();
    }
    vec![format!("no session reaches {}", lost.join(", "))]
}
