//! From the entries of a recording to the requests that a scenario can have. Everything else is
//! left out, and counted by its reason.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use url::Url;

use super::left_out::{LeftOut, Reason};
use crate::har::{Entry, PostData};
use crate::scenario::page::Method;

/// Longest address that customers request, in bytes.
const LONGEST_URL: usize = 8000;

/// A request of the recording.
#[derive(Debug)]
pub(super) struct Recorded {
    /// Milliseconds since 1970.
    pub(super) begins: f64,
    pub(super) ends: f64,
    pub(super) kind: Purpose,
    pub(super) pageref: Option<String>,
    /// Address of the document or script because of which it was made.
    pub(super) initiator: Option<String>,
    pub(super) method: Method,
    /// Without fragment.
    pub(super) url: Url,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Option<RecordedBody>,
    pub(super) answer: RecordedAnswer,
    /// Over HTTP/2 or HTTP/3.
    pub(super) multiplexed: bool,
}

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A document that the customer goes to.
    Document,
    /// What the browser fetches for a document: style, script, image, font, frame.
    Asset,
    /// What a script requests.
    Fetch,
}

/// The body of a request.
#[derive(Debug)]
pub(super) enum RecordedBody {
    Form(Vec<(String, String)>),
    Text {
        content_type: String,
        text: String,
    },
    /// No text.
    Bytes {
        content_type: String,
        bytes: Vec<u8>,
    },
}

#[derive(Debug, Default)]
pub(super) struct RecordedAnswer {
    pub(super) status: u16,
    /// Without its parameters, in lower case.
    pub(super) media_type: String,
    pub(super) text: String,
    /// Where it redirects to.
    pub(super) location: Option<Url>,
}

impl Recorded {
    pub(super) fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }
}

/// Path and query of an address.
pub(super) fn path_of(url: &Url) -> String {
    match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    }
}

/// The entries that a scenario can have, of any origin, in the order of their times.
pub(super) fn read(entries: Vec<Entry>, left_out: &mut LeftOut) -> Vec<Recorded> {
    let mut all: Vec<Recorded> = Vec::new();
    for entry in entries {
        match recorded(entry) {
            Ok(recorded) => all.push(recorded),
            Err(reason) => left_out.add(reason),
        }
    }
    all.sort_by(|a, b| a.begins.total_cmp(&b.begins));
    all
}

fn recorded(entry: Entry) -> Result<Recorded, Reason> {
    let mut url = Url::parse(&entry.request.url).map_err(|_| Reason::Scheme)?;
    if matches!(url.scheme(), "ws" | "wss") || entry.resource_type.as_deref() == Some("websocket") {
        return Err(Reason::WebSocket);
    }
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(Reason::Scheme);
    }
    url.set_fragment(None);
    let status = u16::try_from(entry.response.status).unwrap_or_default();
    let media_type = media_type(&entry.response.content.mime_type);
    let sent_type = entry.request.header("content-type").map(self::media_type).unwrap_or_default();
    if [&media_type, &sent_type].iter().any(|kind| kind.starts_with("application/grpc")) {
        return Err(Reason::Grpc);
    }
    if status == 101 {
        return Err(Reason::WebSocket);
    }
    if media_type == "text/event-stream" {
        return Err(Reason::EventStream);
    }
    if entry.response.by_service_worker == Some(true) {
        return Err(Reason::ServiceWorker);
    }
    if entry.from_cache.is_some() {
        return Err(Reason::Cached);
    }
    if !(200..600).contains(&status) || entry.response.error.is_some() {
        return Err(Reason::Aborted);
    }
    if url.as_str().len() > LONGEST_URL {
        return Err(Reason::Address);
    }
    let known = |method: &&Method| method.as_str().eq_ignore_ascii_case(&entry.request.method);
    let method = *Method::ALL.iter().find(known).ok_or(Reason::Method)?;
    let kind = kind(&entry, method, &media_type);
    let initiator = entry.initiator().map(str::to_owned);
    let begins = entry.started_date_time.as_nanosecond() as f64 / 1e6;
    let took = entry.time.filter(|time| time.is_finite()).unwrap_or_default().max(0.0);
    let location = Some(&entry.response.redirect_url).filter(|text| !text.is_empty());
    let location = location.filter(|_| (300..400).contains(&status));
    let mut location = location.and_then(|text| url.join(text).ok());
    location.iter_mut().for_each(|url| url.set_fragment(None));
    let version = entry.request.http_version.to_ascii_lowercase();
    let content = entry.response.content;
    let headers = entry.request.headers.into_iter();
    Ok(Recorded {
        begins,
        ends: begins + took,
        kind,
        pageref: entry.pageref,
        initiator,
        method,
        url,
        headers: headers.map(|pair| (pair.name, pair.value)).collect(),
        body: body(method, entry.request.post_data)?,
        answer: RecordedAnswer {
            status,
            media_type,
            text: text(content.text, content.encoding.as_deref()),
            location,
        },
        multiplexed: ["h2", "h3", "http/2", "http/3"].iter().any(|v| version.starts_with(v)),
    })
}

/// `Text/HTML; charset=utf-8` becomes `text/html`.
fn media_type(text: &str) -> String {
    text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The text of a response; empty where it is no text.
fn text(text: Option<String>, encoding: Option<&str>) -> String {
    let text = text.unwrap_or_default();
    if encoding != Some("base64") {
        return text;
    }
    STANDARD
        .decode(text.trim())
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .unwrap_or_default()
}

fn body(method: Method, sent: Option<PostData>) -> Result<Option<RecordedBody>, Reason> {
    let Some(sent) = sent.filter(|_| !method.is_safe()) else { return Ok(None) };
    let mut text = sent.text.unwrap_or_default();
    let mut bytes = None;
    match sent.encoding.as_deref().unwrap_or_default() {
        "" | "utf-8" | "UTF-8" => {}
        "base64" => {
            let encoded: String = text.split_ascii_whitespace().collect();
            let decoded = STANDARD.decode(encoded).map_err(|_| Reason::Encoded)?;
            match String::from_utf8(decoded) {
                Ok(decoded) => text = decoded,
                Err(error) => bytes = Some(error.into_bytes()),
            }
        }
        _ => return Err(Reason::Encoded),
    }
    let params = sent.params.unwrap_or_default();
    if media_type(&sent.mime_type) == FORM && bytes.is_none() {
        let given = || params.iter().map(|p| (p.name.clone(), p.value.clone().unwrap_or_default()));
        // The parameters of some browsers are still encoded; the text is unmistakable.
        let form: Vec<(String, String)> = match text.is_empty() {
            false => url::form_urlencoded::parse(text.as_bytes()).into_owned().collect(),
            true => given().collect(),
        };
        return Ok(
            Some(RecordedBody::Form(form)).filter(|_| !text.is_empty() || !params.is_empty())
        );
    }
    if text.is_empty() && bytes.is_none() {
        // Such as a form with a file, whose content the browser did not record.
        return if params.is_empty() { Ok(None) } else { Err(Reason::Body) };
    }
    let sendable = |b: u8| b.is_ascii_graphic() || b == b' ';
    let content_type = sent.mime_type.trim();
    let unknown = if bytes.is_some() { "application/octet-stream" } else { "text/plain" };
    let content_type = if content_type.is_empty() { unknown } else { content_type };
    if !content_type.contains('/') || !content_type.bytes().all(sendable) {
        return Err(Reason::Body);
    }
    let content_type = content_type.to_owned();
    Ok(Some(match bytes {
        Some(bytes) => RecordedBody::Bytes { content_type, bytes },
        None => RecordedBody::Text { content_type, text },
    }))
}

/// The media type of forms.
pub(super) const FORM: &str = "application/x-www-form-urlencoded";

/// By what Chromium states, else by `Sec-Fetch-Dest`, which both browsers send, else by the media
/// type of the response.
fn kind(entry: &Entry, method: Method, media_type: &str) -> Purpose {
    let destination = entry.request.header("sec-fetch-dest");
    let within = matches!(destination, Some("iframe" | "frame" | "embed" | "object"));
    let kind = match (entry.resource_type.as_deref(), destination) {
        (Some("document"), _) if within => Purpose::Asset,
        (Some("document"), _) => Purpose::Document,
        (Some("xhr" | "fetch" | "ping" | "preflight" | "csp-violation-report"), _) => {
            Purpose::Fetch
        }
        (
            Some("stylesheet" | "script" | "image" | "font" | "media" | "manifest" | "texttrack"),
            _,
        ) => Purpose::Asset,
        (_, Some("document")) => Purpose::Document,
        (_, Some("empty")) => Purpose::Fetch,
        (_, Some(_)) => Purpose::Asset,
        (_, None) => by_media_type(entry, media_type),
    };
    // What is fetched for a document is only read.
    if kind == Purpose::Asset && method != Method::Get { Purpose::Fetch } else { kind }
}

fn by_media_type(entry: &Entry, media_type: &str) -> Purpose {
    let html = matches!(media_type, "text/html" | "application/xhtml+xml");
    let accepts_html =
        || entry.request.header("accept").is_some_and(|accept| accept.contains("text/html"));
    let asset = |kind: &str| {
        ["image/", "font/", "audio/", "video/"].iter().any(|begin| kind.starts_with(begin))
            || ["css", "javascript", "ecmascript", "wasm", "font", "manifest"]
                .iter()
                .any(|part| kind.contains(part))
    };
    if entry.request.header("x-requested-with").is_some() {
        Purpose::Fetch
    } else if html || (media_type.is_empty() && accepts_html()) {
        Purpose::Document
    } else if asset(media_type) {
        Purpose::Asset
    } else {
        Purpose::Fetch
    }
}

/// The origin with the first document that was answered, else with the first request.
///
/// `None` if there is no request.
pub(super) fn first_origin(all: &[Recorded]) -> Option<String> {
    let document = |recorded: &&Recorded| {
        recorded.kind == Purpose::Document && (200..300).contains(&recorded.answer.status)
    };
    all.iter().find(document).or(all.first()).map(Recorded::origin)
}

/// The requests to one origin; those to others are left out.
pub(super) fn of_origin(all: Vec<Recorded>, origin: &str, left_out: &mut LeftOut) -> Vec<Recorded> {
    let (own, other): (Vec<_>, Vec<_>) = all.into_iter().partition(|it| it.origin() == origin);
    let mut others: BTreeMap<String, u64> = BTreeMap::new();
    other.iter().for_each(|it| *others.entry(it.origin()).or_default() += 1);
    left_out.other_origins(others);
    own
}
