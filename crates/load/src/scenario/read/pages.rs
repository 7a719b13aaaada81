//! Reads `[pages]` and `[parameters]`.

use super::Refuse;
use super::body::{Sent, sent};
use super::channel;
use super::expectations;
use super::fields::text;
use super::files::Files;
use super::limits::MOVES;
use super::names::Names;
use crate::scenario::expected::Expected;
use crate::scenario::field::TextPart;
use crate::scenario::page::{ASSETS, COOKIE, ChannelKind, Page, Source, are_cookies, is_literal};
use crate::scenario::template::Template;
use tidegate_config::Preset::{Else, Is, Unset};
use tidegate_config::{Boolean, Choice, Key, Other, Section, Text, Time, Value, Whole, keys};

/// Paths with parameters in braces.
const PATH: &str = "begins with `/`; parameters in braces, as in `/items/{item}`";

keys! {
    /// A page, by its name. One of `path`, `link` and `form` must be set, and none where it is a
    /// message.
    pub(super) static PAGE: PageKeys {
        /// The host that has it.
        host: Text("a name of `[hosts]`") = Else("the target");
        /// The customer requests this address.
        path: Text(PATH) = Unset;
        /// The customer follows a matching link of the last page.
        link: Text(PATH) = Unset;
        /// The customer submits a form of the last page whose action matches.
        form: Text(PATH) = Unset;
        /// Method of the request.
        method: Text("`GET`, `HEAD`, `POST`, `PUT`, `PATCH` or `DELETE`; of a form `GET` or `POST`")
            = Else("the form's own; `\"POST\"` with a body, and with the `fields` of a `path`; otherwise `\"GET\"`");
        /// Links of the last page from which parameters are taken, where the request follows no
        /// link.
        ids: Text(PATH) = Unset;
        /// Whether the last known id is used if the last page has no such link.
        guess: Boolean = Is("true");
        /// The page that is requested instead if the last page does not offer this one.
        via: Text("another page's name") = Unset;
        /// Values of form fields by name: a text, or a rule, see below. They override those of
        /// `[fields]`. A `path` sends exactly these: as a form, or in its query with `GET`.
        fields: Other("table", "texts and rules") = Unset;
        /// Whether the `fields` of a `path` are sent as `multipart/form-data`. A `form` is sent as
        /// the page says.
        multipart: Boolean = Else("`true` where one of them is a file");
        /// Body of the request.
        body: Text("names in braces stand for their values") = Unset;
        /// Body of the request, for bytes that are no text: sent decoded.
        body_base64: Text("base64 (RFC 4648, section 4)") = Unset;
        /// Body of the request: the content of this file as it is.
        body_file: Text("path from the scenario's folder; at most 16 MiB") = Unset;
        /// Media type of the body.
        content_type: Text("a media type")
            = Else("`\"application/json\"` with `body`, otherwise `\"application/octet-stream\"`");
        /// Further header fields of the request.
        headers: Other("table of texts", "names in braces stand for their values") = Unset;
        /// Values that are taken from the response, by name, see below.
        extract: Other("table", "at most 64") = Unset;
        /// Checks of the response, see below.
        check: Other("table", "see below") = Unset;
        /// Checks that are counted and shown when they fail, and do not fail the session.
        soft_check: Other("table", "as `check`") = Unset;
        /// Statuses that do not count as failures.
        allow: Other("list of whole numbers", "400 to 599") = Unset;
        /// Whether Back and Stay may send the request again.
        repeat: Boolean = Else("`true` for GET and HEAD, which may always be sent again");
        /// Mean think time before this page, exponentially distributed.
        think: Time("0s", "24h") = Else("the session's");
        /// What the browser requests once the page has arrived: addresses on the page's host,
        /// several at the same time (`connections.parallel`).
        assets: Other("list of texts", "at most 500; each as `path`") = Unset;
        /// The request of the `path` opens a connection that stays open for messages: a WebSocket,
        /// or a stream of events. It takes the place of one that is open. HTTP/1.1 only.
        opens: Choice<ChannelKind>(ChannelKind::ALL) = Unset;
        /// A page without an address is a message in the open WebSocket: this text is sent. Each
        /// message is measured as a request of its own.
        send: Text("names in braces stand for their values") = Unset;
        /// The message is over when one arrives that has this text, else when it is sent. Others
        /// that arrive before are passed over. Without `send`, for streams of events too.
        expect: Text("names in braces stand for their values") = Unset;
        /// How many times the message is sent and its answer awaited.
        messages: Whole(1, 1_000_000) = Is("1");
        /// Time from the intended start of a message to that of the next. Response times count from
        /// it, also where the answer before was late.
        every: Time("1ms", "1h") = Else("each starts when the one before is over");
        /// How long the customer then listens: what arrives is read, and pings are answered.
        hold: Time("0s", "24h") = Is("0s");
    }
}

/// Most pages of a scenario.
const PAGES: usize = 1000;

pub(super) fn pages(root: &Section<'_>, names: &mut Names, files: &Files) -> Vec<Page> {
    let Some(section) = root.get("pages").and_then(|value| value.section()) else {
        if root.get("pages").is_none() {
            root.wrong("has no pages", "add [pages.Home] with path = \"/\"");
        }
        return Vec::new();
    };
    let entries = section.entries();
    section.at_most(PAGES, entries.len(), "pages", "split it");
    // One that could not be read is a host as well.
    let known: Vec<&str> =
        match root.get("hosts").filter(Value::is_table).and_then(|it| it.section()) {
            Some(section) => section.entries().into_iter().map(|(name, _)| name).collect(),
            None => Vec::new(),
        };
    let mut pages: Vec<Page> = entries
        .into_iter()
        .take(PAGES)
        .map(|(name, value)| {
            if MOVES.contains(&name) || matches!(name, "from" | "sum") {
                value.wrong("is a name with a meaning of its own", "choose another name");
            }
            let read = |section| page(name, &section, names, files, &known);
            value.section().map_or_else(|| unread(name), read)
        })
        .collect();
    for (name, value) in section.entries() {
        let Some(via) = value.section().and_then(|page| page.get(PAGE.via.name)) else { continue };
        let Some(target) = via.string() else { continue };
        let index = |name: &str| pages.iter().position(|page| page.name == name);
        match (index(name), index(target)) {
            (Some(page), Some(other)) if page != other => pages[page].via = Some(other as u16),
            (Some(_), _) => via.wrong("is not another page", "name the page that offers this one"),
            (None, _) => {}
        }
    }
    pages
}

/// A page whose mistakes are reported. It keeps its name, so that steps and transitions to it
/// are not mistakes as well.
fn unread(name: &str) -> Page {
    Page {
        name: name.to_owned(),
        host: 0,
        method: None,
        source: Source::Path(root_path()),
        ids: None,
        fields: Vec::new(),
        multipart: false,
        body: None,
        headers: Vec::new(),
        expected: Expected::default(),
        allow: Vec::new(),
        repeat: true,
        guess: true,
        via: None,
        think: None,
        assets: Vec::new(),
        channel: None,
    }
}

fn root_path() -> Template {
    Template::parse("/", |_| 0).expect("a path without parameters")
}

fn page(
    name: &str,
    section: &Section<'_>,
    names: &mut Names,
    files: &Files,
    hosts: &[&str],
) -> Page {
    section.known(&PAGE);
    let mut template = |key: &Key<Text>| {
        let value = section.get(key.name)?;
        let template = Template::parse(value.string()?, |name| names.index(name));
        value.accept(template, "write a path such as \"/items/{item}\"")
    };
    let (path, link, form) = (template(&PAGE.path), template(&PAGE.link), template(&PAGE.form));
    let ids = template(&PAGE.ids);
    let sources = [&PAGE.path, &PAGE.link, &PAGE.form];
    let given = sources.iter().filter(|key| section.get(key.name).is_some()).count();
    let (channel, message) = channel::read(section, names);
    if channel::is_message(section) {
        if given > 0 {
            section.wrong(
                format!("has {given} of path, link and form, must have none as a message"),
                "a message goes to the WebSocket that is open",
            );
        }
    } else if given != 1 {
        section.wrong(
            format!("has {given} of path, link and form, must have one"),
            "path makes the address up, link and form follow the last page",
        );
    }
    let source = path
        .map(Source::Path)
        .or_else(|| link.map(Source::Link))
        .or_else(|| form.map(Source::Form));
    // What is missing here is reported above; the rest of the page is read all the same.
    let has = |key: &Key<Text>| section.get(key.name).is_some();
    let source = source.unwrap_or_else(|| match (has(&PAGE.path), has(&PAGE.link)) {
        (false, true) => Source::Link(root_path()),
        (false, false) if has(&PAGE.form) => Source::Form(root_path()),
        _ => Source::Path(root_path()),
    });
    let sends_form = has(&PAGE.form);
    let Sent { method, body, fields, multipart } = sent(section, names, files);
    let unsafe_ = method.map_or(sends_form, |method| !method.is_safe());
    let repeat = section.given(&PAGE.repeat).unwrap_or(false);
    let allow = section.given(&PAGE.allow).and_then(|value| value.list()).unwrap_or_default();
    Page {
        name: name.to_owned(),
        host: host(section, hosts),
        method,
        source,
        ids,
        fields,
        multipart,
        body: message.or(body),
        headers: headers(section.given(&PAGE.headers), names),
        expected: expectations::read(section, names),
        allow: allow.iter().filter_map(|v| v.integer(400..=599)).map(|code| code as u16).collect(),
        repeat: repeat || !unsafe_,
        guess: section.field(&PAGE.guess),
        via: None,
        think: section.given(&PAGE.think),
        assets: assets(section, names),
        channel,
    }
}

/// The index of the page's host.
fn host(section: &Section<'_>, hosts: &[&str]) -> u8 {
    let Some(value) = section.get(PAGE.host.name) else { return 0 };
    let Some(given) = value.string() else { return 0 };
    if let Some(at) = hosts.iter().position(|name| *name == given) {
        return at as u8 + 1;
    }
    let remedy = match hosts {
        [] => format!("add [hosts.{given}] with url = \"https://login.example\""),
        known => format!("hosts are {}", known.join(", ")),
    };
    value.wrong("is not a host", remedy);
    0
}

fn assets(section: &Section<'_>, names: &mut Names) -> Vec<Template> {
    let Some(value) = section.given(&PAGE.assets) else { return Vec::new() };
    let list = value.list().unwrap_or_default();
    value.at_most(ASSETS, list.len(), "assets", "remove some");
    let read = |value: &Value<'_>| {
        let template = Template::parse(value.string()?, |name| names.index(name));
        value.accept(template, "write a path such as \"/style.css\"")
    };
    list.iter().take(ASSETS).filter_map(read).collect()
}

/// Header fields that the load generator sets itself.
pub(in crate::scenario) const OWN_HEADERS: [&str; 6] =
    ["host", "connection", "content-length", "transfer-encoding", "content-type", "te"];

/// Header fields with their texts.
pub(super) fn headers(value: Option<Value<'_>>, names: &Names) -> Vec<(String, Vec<TextPart>)> {
    let Some(headers) = value.and_then(|value| value.section()) else { return Vec::new() };
    let read = |(name, value): (&str, Value<'_>)| {
        // Source: RFC 9110, section 5.6.2.
        let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
        if name.is_empty() || !name.bytes().all(token) {
            return value
                .refuse("is not a name of a header field", "write \"X-Token\" = \"{token}\"");
        }
        if OWN_HEADERS.iter().any(|own| name.eq_ignore_ascii_case(own)) {
            return value.refuse(
                "is a header field that the load generator sets",
                "remove it; content_type has a key of its own",
            );
        }
        let parts = text(&value, names)?;
        let control = |part: &TextPart| matches!(part, TextPart::Literal(text) if text.contains(char::is_control));
        if parts.iter().any(control) {
            return value.refuse("has a line break or control character", "remove it");
        }
        if name.eq_ignore_ascii_case(COOKIE)
            && is_literal(&parts)
            && let Err(rule) = are_cookies(value.string()?)
        {
            return value.refuse(rule, "write Cookie = \"sid=1; lang=en\"");
        }
        Some((name.to_owned(), parts))
    };
    headers.entries().into_iter().filter_map(read).collect()
}

/// A made-up path needs a value for each of its parameters: declared,
/// extracted, the customer's own, or seen in some link.
pub(super) fn unknown_values(root: &Section<'_>, pages: &[Page], names: &Names) {
    let Some(section) = root.get("pages").and_then(|value| value.section()) else { return };
    if !names.are_all_known() {
        return;
    }
    for page in pages {
        let own = (!page.reads_last_page()).then(|| (page.template(), PAGE.path.name));
        let assets = page.assets.iter().map(|asset| (asset, PAGE.assets.name));
        let indices = own.into_iter().chain(assets);
        let indices = indices.flat_map(|(text, key)| text.parameters().map(move |it| (it, key)));
        for (index, key) in indices {
            let parameter = &names.0[index as usize];
            if names.given(&parameter.name).is_some() {
                continue;
            }
            let place = section.get(&page.name).and_then(|v| v.section()?.get(key));
            if let Some(place) = place {
                place.wrong(
                    format!(
                        "has {{{}}}, which no link, extraction, parameter or feeder gives",
                        parameter.name
                    ),
                    format!("add [parameters] {} = {{ uniform = [1, 20] }}", parameter.name),
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::mistakes;

    #[test]
    fn a_page_with_a_bad_path_is_still_a_page_and_its_other_mistakes_are_reported() {
        let text = r#"[session]
steps = ["Home", "Item", "Basket", "Hmoe"]
[pages]
Home = { path = "home", think = "soon", check = { status = [20] } }
Item = { link = "items", via = "Home" }
Basket = "/basket"
Gallery = { path = "/gallery", assets = ["/a.css", "b.css", "/{size}.png"] }
"#;
        let found = mistakes(text);
        for expected in [
            "shop.toml:2: session.steps[3] = \"Hmoe\": is not a page; did you mean Home?",
            "shop.toml:4: pages.Home.path = \"home\": \"home\" must begin with /;",
            "shop.toml:4: pages.Home.think = \"soon\": must be a duration",
            "shop.toml:4: pages.Home.check.status[0] = 20: must be a whole number",
            "shop.toml:5: pages.Item.link = \"items\": \"items\" must begin with /;",
            "shop.toml:7: pages.Gallery.assets[1] = \"b.css\": \"b.css\" must begin with /;",
            "shop.toml:7: pages.Gallery.assets = [\"/a.css\", \"b.css\", \"/{size}.png\"]: has {size}, which no link,",
            "shop.toml:6: pages.Basket = \"/basket\": must be a table;",
        ] {
            assert!(found.iter().any(|line| line.starts_with(expected)), "{expected}\n{found:#?}");
        }
        assert_eq!(found.len(), 8, "{found:#?}");
    }
}
