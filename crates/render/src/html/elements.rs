//! Which attributes hold URLs, and what becomes of them.
//!
//! Source: HTML Standard, "Attributes" (index); SVG 2, section 16.

use super::tokens::Tag;

/// What an attribute holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A URL that is requested, or visited by a click.
    Follow,
    /// A URL that stays with the live site.
    Keep,
    /// Candidates of an image.
    Srcset,
    /// Declarations of CSS.
    Style,
    /// The time and URL of a refresh.
    Refresh,
    /// A page.
    Document,
    /// The URL that others are relative to.
    Base,
    /// The name of the page's charset.
    Charset,
    /// A content type, with a charset.
    ContentType,
}

/// Relations of which the other end belongs to the page or is the next one. Others, as
/// `canonical` and `alternate`, name a page's address for programs.
const FOLLOWED: [&str; 12] = [
    "stylesheet",
    "icon",
    "apple-touch-icon",
    "apple-touch-icon-precomposed",
    "mask-icon",
    "preload",
    "modulepreload",
    "prefetch",
    "prerender",
    "manifest",
    "next",
    "prev",
];

impl Role {
    /// The role of an attribute of a tag; none if it holds no URL.
    pub fn of(tag: &Tag, attribute: &str) -> Option<Self> {
        let refers = |value: &str| tag.value("http-equiv").is_some_and(|it| is(it, value));
        Some(match (tag.name.as_str(), attribute) {
            (_, "style") => Self::Style,
            // What is saved as a file is not a page with other links.
            ("a" | "area", "href" | "xlink:href") => match tag.value("download") {
                Some(_) => Self::Keep,
                None => Self::Follow,
            },
            ("link", "href") if follows(tag) => Self::Follow,
            ("link", "href") => Self::Keep,
            ("link", "imagesrcset") | ("img" | "source", "srcset") => Self::Srcset,
            (
                "img" | "source" | "script" | "video" | "audio" | "track" | "embed" | "iframe"
                | "frame" | "input",
                "src",
            )
            | ("video", "poster")
            | ("object", "data")
            | ("body" | "table" | "td" | "th", "background")
            | (
                "use" | "image" | "feimage" | "pattern" | "lineargradient" | "radialgradient",
                "href" | "xlink:href",
            ) => Self::Follow,
            ("form", "action") | ("button" | "input", "formaction") => Self::Keep,
            ("iframe", "srcdoc") => Self::Document,
            ("base", "href") => Self::Base,
            ("meta", "charset") => Self::Charset,
            ("meta", "content") if refers("refresh") => Self::Refresh,
            ("meta", "content") if refers("content-type") => Self::ContentType,
            _ => return None,
        })
    }
}

fn follows(tag: &Tag) -> bool {
    let relations = tag.value("rel").unwrap_or_default();
    relations.split_ascii_whitespace().any(|it| FOLLOWED.iter().any(|followed| is(it, followed)))
}

fn is(value: &str, word: &str) -> bool {
    value.trim().eq_ignore_ascii_case(word)
}
