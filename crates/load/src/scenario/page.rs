//! One page of a site, as a customer asks for it.

use std::time::Duration;

use super::field::FieldRule;
use super::template::Template;

/// How a page is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// Its name: the state in the table.
    pub name: String,
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
    /// Whether the request needs the body of the page before it.
    pub fn reads_last_page(&self) -> bool {
        !matches!(self.source, Source::Path(_))
    }

    /// The template, whatever it is matched with.
    pub fn template(&self) -> &Template {
        match &self.source {
            Source::Path(template) | Source::Link(template) | Source::Form(template) => template,
        }
    }
}

/// Method of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// GET
    Get,
    /// HEAD
    Head,
    /// POST
    Post,
}

impl Method {
    /// As in the request line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
        }
    }
}
