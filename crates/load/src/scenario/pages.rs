//! Reads `[pages]` and `[parameters]`.

use std::time::Duration;

use super::Parameter;
use super::check::{DAY, MOVES, OWN};
use super::fields::field_rules;
use super::page::{Method, Page, Source};
use super::template::Template;
use tidegate_toml::Section;

/// Most pages of a scenario.
const PAGES: usize = 1000;

/// Names of parameters, by index; the first three are [`OWN`].
#[derive(Default)]
pub(super) struct Names(pub(super) Vec<Parameter>);

impl Names {
    pub(super) fn index(&mut self, name: &str) -> u16 {
        let found = self.0.iter().position(|parameter| parameter.name == name);
        found.unwrap_or_else(|| {
            self.0.push(Parameter { name: name.to_owned(), uniform: None });
            self.0.len() - 1
        }) as u16
    }
}

pub(super) fn parameters(section: &Section<'_>, names: &mut Names) {
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

pub(super) fn pages(root: &Section<'_>, names: &mut Names) -> Vec<Page> {
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
    let mut pages: Vec<Page> = entries
        .into_iter()
        .take(PAGES)
        .filter_map(|(name, value)| {
            if MOVES.contains(&name) || matches!(name, "from" | "sum") {
                value.wrong("is a name with a meaning of its own", "choose another name");
            }
            page(name, &value.section()?, names)
        })
        .collect();
    for (name, value) in section.entries() {
        let Some(via) = value.section().and_then(|page| page.get("via")) else { continue };
        let Some(target) = via.string() else { continue };
        let index = |name: &str| pages.iter().position(|page| page.name == name);
        match (index(name), index(target)) {
            (Some(page), Some(other)) if page != other => pages[page].via = Some(other as u16),
            (Some(_), _) => via.wrong(
                format!("= \"{target}\" is no other page"),
                "name the page that offers this one",
            ),
            (None, _) => {}
        }
    }
    pages
}

fn page(name: &str, section: &Section<'_>, names: &mut Names) -> Option<Page> {
    section.only(&[
        "path", "link", "form", "method", "ids", "guess", "via", "fields", "allow", "repeat",
        "think",
    ]);
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
        guess: section.get("guess").and_then(|value| value.boolean()).unwrap_or(true),
        via: None,
        think: section.get("think").and_then(|value| value.duration(Duration::ZERO..=DAY)),
    })
}

/// A made-up path needs a value for each of its parameters: declared, the
/// customer's own, or seen in some link.
pub(super) fn unknown_values(root: &Section<'_>, pages: &[Page], names: &Names) {
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
