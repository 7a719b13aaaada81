//! One page of a site, as a customer requests it.

use std::time::Duration;

use super::content::Content;
use super::expected::Expected;
use super::field::{FieldRule, TextPart};
use super::template::Template;
use crate::word::words;

/// How a page is requested, and what its response must contain.
#[derive(Clone, Debug)]
pub struct Page {
    /// Its name: the state in the table.
    pub name: String,
    /// The host: 0 is the target, the others are those of the scenario.
    pub host: u8,
    /// Method of the request. A form's own method counts where the page does
    /// not say.
    pub method: Option<Method>,
    /// Where the request comes from.
    pub source: Source,
    /// Links of the last page from which parameters are taken, where none of
    /// them is the request itself.
    pub ids: Option<Template>,
    /// Values of fields, by name; they go before the scenario's.
    pub fields: Vec<(String, FieldRule)>,
    /// The fields of a path are sent as `multipart/form-data`.
    pub multipart: bool,
    /// The body of a request that sends no form.
    pub body: Option<Body>,
    /// Header fields of the request beyond the customer's own.
    pub headers: Vec<(String, Vec<TextPart>)>,
    /// What the answer must have, and what of it is kept.
    pub expected: Expected,
    /// Statuses from 400 that are no failure here.
    pub allow: Vec<u16>,
    /// The request may be sent again by Back and Stay. Always true of GET and
    /// HEAD.
    pub repeat: bool,
    /// Where the last page has no link, the id used last may do.
    pub guess: bool,
    /// The page to go to instead, where the last page does not offer this one:
    /// the form before the form.
    pub via: Option<u16>,
    /// Mean think time before this page, if not the session's.
    pub think: Option<Duration>,
    /// Addresses that the browser requests for the page at the same time.
    pub assets: Vec<Template>,
    /// What it has to do with a WebSocket or a stream of events.
    pub channel: Option<ChannelUse>,
}

/// What a page has to do with a connection that stays open for messages.
#[derive(Clone, Debug, PartialEq)]
pub enum ChannelUse {
    /// Its request opens one, in place of one that is open.
    Open {
        /// Of this kind.
        kind: ChannelKind,
        /// How long the customer then listens.
        hold: Duration,
    },
    /// It is a message in the one that is open.
    Message(MessageRule),
}

/// A kind of connections that stay open for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelKind {
    /// RFC 6455.
    WebSocket,
    /// `text/event-stream`.
    Events,
}

words!(ChannelKind: "websocket" => WebSocket, "events" => Events);

/// A message, or several.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageRule {
    /// Whether the page's body is sent.
    pub sends: bool,
    /// Text that a message must have which ends the wait; none waits for no message.
    pub expect: Option<Vec<TextPart>>,
    /// How many times.
    pub times: u32,
    /// The time from one intended start to the next; without it each starts when the one before
    /// is over.
    pub every: Option<Duration>,
    /// How long the customer then listens.
    pub hold: Duration,
}

/// The header field of cookies.
pub(crate) const COOKIE: &str = "cookie";

/// Whether a header field says who the customer is: it belongs to the host that it was given for.
pub(crate) fn is_credential(name: &str) -> bool {
    name.eq_ignore_ascii_case(COOKIE) || name.eq_ignore_ascii_case("authorization")
}

/// Checks that a text is names and values of cookies.
///
/// # Errors
/// What is wrong, in words.
pub(crate) fn are_cookies(text: &str) -> Result<(), &'static str> {
    let mut all = text.split(';').map(str::trim).filter(|cookie| !cookie.is_empty()).peekable();
    let is_sound = |cookie: &str| cookie.split_once('=').is_some_and(|(name, _)| !name.is_empty());
    match all.peek().is_some() && all.all(is_sound) {
        true => Ok(()),
        false => Err("is not names and values of cookies"),
    }
}

/// Whether all of a text is given.
pub(crate) fn is_literal(text: &[TextPart]) -> bool {
    text.iter().all(|part| matches!(part, TextPart::Literal(_)))
}

/// Most assets of a page.
pub(crate) const ASSETS: usize = 500;

/// A body of a request as the scenario has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    /// Its media type.
    pub content_type: String,
    /// Where it comes from.
    pub source: BodySource,
}

/// Where a body comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum BodySource {
    /// A text with values.
    Text(Vec<TextPart>),
    /// Sent as it is.
    Bytes(Content),
}

/// Where a request comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// Made up: the customer knows the address.
    Path(Template),
    /// A link in the last page, one of those that fit.
    Link(Template),
    /// A form in the last page whose action fits.
    Form(Template),
}

impl Page {
    /// How long the customer listens after it.
    pub(crate) fn hold(&self) -> Duration {
        match &self.channel {
            None => Duration::ZERO,
            Some(ChannelUse::Open { hold, .. }) => *hold,
            Some(ChannelUse::Message(rule)) => rule.hold,
        }
    }

    /// Whether the request needs the body of the page before it.
    pub fn reads_last_page(&self) -> bool {
        !matches!(self.source, Source::Path(_))
    }

    /// Adds header fields that it does not have. Credentials are for the target.
    pub(crate) fn add_headers(&mut self, fields: &[(String, Vec<TextPart>)]) {
        for (name, text) in fields {
            let has = self.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
            if !has && (self.host == 0 || !is_credential(name)) {
                self.headers.push((name.clone(), text.clone()));
            }
        }
    }

    /// Whether its header fields give cookies.
    pub fn gives_cookies(&self) -> bool {
        self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(COOKIE))
    }

    /// Header fields that a browser sends with the assets of a page as well.
    pub(crate) fn credentials(&self) -> impl Iterator<Item = &(String, Vec<TextPart>)> {
        self.headers.iter().filter(|(name, _)| is_credential(name))
    }

    /// Whether its request is the same for everybody at any time.
    pub fn is_fixed(&self) -> bool {
        let of_itself = matches!(&self.source, Source::Path(path) if path.is_fixed());
        let fixed_body = |body: &Body| match &body.source {
            BodySource::Text(text) => is_literal(text),
            BodySource::Bytes(_) => true,
        };
        of_itself
            // A WebSocket has a key of its own.
            && self.channel.is_none()
            && self.fields.is_empty()
            && self.body.as_ref().is_none_or(fixed_body)
            && self.headers.iter().all(|(_, text)| is_literal(text))
    }

    /// The template, whatever it is matched with.
    pub fn template(&self) -> &Template {
        match &self.source {
            Source::Path(template) | Source::Link(template) | Source::Form(template) => template,
        }
    }
}

/// Method of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// GET
    Get,
    /// HEAD
    Head,
    /// POST
    Post,
    /// PUT
    Put,
    /// PATCH
    Patch,
    /// DELETE
    Delete,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Get, Self::Head, Self::Post, Self::Put, Self::Patch, Self::Delete];

    /// Whether the effect of several such requests is that of one.
    ///
    /// Source: RFC 9110, section 9.2.2.
    pub fn is_idempotent(self) -> bool {
        matches!(self, Self::Get | Self::Head | Self::Put | Self::Delete)
    }

    /// As in the request line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    /// Whether the method is safe (RFC 9110, section 9.2.1), so that the request can be repeated.
    pub fn is_safe(self) -> bool {
        matches!(self, Self::Get | Self::Head)
    }

    /// Whether a request has Content-Length even without a body.
    ///
    /// Source: RFC 9110, section 8.6.
    pub fn has_body(self) -> bool {
        matches!(self, Self::Post | Self::Put | Self::Patch)
    }
}
