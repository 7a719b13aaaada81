//! The answers of the waiting room: a page for people, JSON for programs that ask for it, a line of
//! text for all else. The status is 503 for all: a page that is not the site must not be indexed,
//! cached or taken for a success, and browsers show it as they show any other.

mod words;

use self::words::Words;
use crate::http::accept::{Form, Language};
use crate::page_template::Template;
use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_LANGUAGE, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName,
    HeaderValue, REFRESH, RETRY_AFTER,
};
use http::{HeaderMap, Response, StatusCode};
use tidegate_control::waiting_room::{Doors, Estimate, Standing};

/// Tells programs that a response is of the waiting room, and where the customer stands.
pub const WAITING_ROOM: HeaderName = HeaderName::from_static("tidegate-waiting-room");

/// The gate's own page.
///
/// # Panics
/// Its placeholders are not known: a test reads it.
pub fn own() -> Template {
    Template::read(include_str!("page.html")).expect("a test reads it")
}

/// The answer, as JSON, to a program while the room itself can take nobody. It is to ask again after so
/// many seconds.
pub fn full_as_json(again_s: u64) -> Bytes {
    let object =
        serde_json::json!({ "status": "waiting", "reason": "full", "retry_after_s": again_s });
    format!("{object}\n").into()
}

/// What somebody gets who is not let in.
pub struct Answer<'s>(pub &'s Standing);

impl Answer<'_> {
    /// Why they are not.
    fn reason(&self) -> &'static str {
        match self.0.doors {
            Doors::Open => "line",
            Doors::Before => "before",
            Doors::Closed => "closed",
            Doors::Maintenance => "maintenance",
        }
    }

    /// Place and estimate, for those who stand in a line that moves.
    fn place(&self) -> Option<(u64, Option<Estimate>)> {
        (self.0.doors == Doors::Open).then_some((self.0.place, self.0.estimate))
    }

    /// The value of [`WAITING_ROOM`]: `line, place=12, estimate=34, low=20, high=48, refresh=5`,
    /// times in seconds.
    fn field(&self) -> String {
        let mut text = self.reason().to_owned();
        if let Some((place, estimate)) = self.place() {
            text += &format!(", place={place}");
            if let Some(it) = estimate {
                let [wait, low, high] = [it.wait, it.low, it.high].map(|time| time.as_secs());
                text += &format!(", estimate={wait}, low={low}, high={high}");
            }
        }
        text + &format!(", refresh={}", self.0.refresh.as_secs())
    }

    fn json(&self) -> String {
        let mut object = serde_json::json!({
            "status": "waiting",
            "reason": self.reason(),
            "retry_after_s": self.0.refresh.as_secs(),
        });
        if let Some((place, estimate)) = self.place() {
            object["place"] = place.into();
            if let Some(it) = estimate {
                object["estimate_s"] = it.wait.as_secs().into();
                object["estimate_low_s"] = it.low.as_secs().into();
                object["estimate_high_s"] = it.high.as_secs().into();
            }
        }
        format!("{object}\n")
    }

    fn html(&self, template: &Template, language: Language) -> String {
        let words = Words::of(language);
        let (title, text) = match self.0.doors {
            Doors::Open if self.0.may_ask => words.turn,
            Doors::Open => (words.waiting, words.waiting_text),
            Doors::Before => words.before,
            Doors::Closed => words.closed,
            Doors::Maintenance => words.maintenance,
        };
        let (mut place, mut estimate, mut figures) = Default::default();
        if let Some((number, known)) = self.place().filter(|_| !self.0.may_ask) {
            place = number.to_string();
            let (wait, range) = words.estimate(known);
            let small = if range.is_empty() { range } else { format!("<small>{range}</small>") };
            figures = format!(
                "<dl><div><dt>{}</dt><dd>{place}</dd></div><div><dt>{}</dt><dd>{wait}{small}</dd>\
                 </div></dl>",
                words.place, words.wait
            );
            estimate = wait;
        }
        let stay = if self.0.doors == Doors::Closed { "" } else { words.stay };
        template.fill(|name| match name {
            "lang" => language.tag(),
            "title" => title,
            "text" => text,
            "figures" => &figures,
            "place" => &place,
            "estimate" => &estimate,
            _ => stay,
        })
    }

    fn text(&self) -> String {
        let why = match self.0.doors {
            Doors::Open => "The site is full.",
            Doors::Before => "The site has not opened yet.",
            Doors::Closed => "Nobody new is let in at the moment.",
            Doors::Maintenance => "The site is being maintained.",
        };
        format!("{why} Keep the cookie, and ask again later.\n")
    }

    /// The response to a request with these fields.
    pub fn response(&self, template: &Template, asked: &HeaderMap) -> Response<Bytes> {
        let language = Language::of(asked);
        let (kind, body) = match Form::of(asked) {
            Form::Html => ("text/html; charset=utf-8", self.html(template, language)),
            Form::Json => ("application/json", self.json()),
            Form::Text => ("text/plain; charset=utf-8", self.text()),
        };
        let mut response = Response::new(Bytes::from(body));
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        headers.insert(CONTENT_LANGUAGE, HeaderValue::from_static(language.tag()));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        let policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";
        headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
        let refresh = HeaderValue::from(self.0.refresh.as_secs());
        headers.insert(RETRY_AFTER, refresh.clone());
        headers.insert(REFRESH, refresh);
        if let Ok(field) = HeaderValue::try_from(self.field()) {
            headers.insert(WAITING_ROOM, field);
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::header::{ACCEPT, ACCEPT_LANGUAGE};
    use std::time::Duration;
    use tidegate_control::waiting_room::WaitingToken;

    fn standing() -> Standing {
        let [low, wait, high] = [180, 240, 360].map(Duration::from_secs);
        Standing {
            came: false,
            token: WaitingToken { id: [1; 16], arrived_ms: 0, seen_ms: 0 },
            place: 128,
            doors: Doors::Open,
            estimate: Some(Estimate { low, wait, high }),
            refresh: Duration::from_secs(7),
            may_ask: false,
        }
    }

    fn answer(standing: Standing, accept: &'static str, language: &'static str) -> Response<Bytes> {
        let mut asked = HeaderMap::new();
        asked.insert(ACCEPT, HeaderValue::from_static(accept));
        asked.insert(ACCEPT_LANGUAGE, HeaderValue::from_static(language));
        Answer(&standing).response(&own(), &asked)
    }

    #[test]
    fn the_page_shows_place_and_estimate_in_the_customers_language() {
        let response = answer(standing(), "text/html", "de");
        assert_eq!(response.status(), 503);
        let headers = response.headers();
        assert_eq!(headers[REFRESH], "7");
        assert_eq!(headers[RETRY_AFTER], "7");
        assert_eq!(headers[CACHE_CONTROL], "no-store");
        let field = "line, place=128, estimate=240, low=180, high=360, refresh=7";
        assert_eq!(headers[WAITING_ROOM], field);
        let page = std::str::from_utf8(response.body()).unwrap();
        for part in ["lang=\"de\"", "128", "etwa 4 min", "3 bis 6", "Warteschlange"] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(!page.contains("{{"), "{page}");
    }

    #[test]
    fn programs_get_json_with_the_same_numbers() {
        let response = answer(standing(), "application/json", "");
        let json: serde_json::Value = serde_json::from_slice(response.body()).unwrap();
        assert_eq!(json["place"], 128);
        assert_eq!(json["estimate_high_s"], 360);
        assert_eq!(json["retry_after_s"], 7);
        assert_eq!(
            answer(Standing { doors: Doors::Closed, ..standing() }, "*/*", "").headers()
                [CONTENT_TYPE]
                .as_bytes()[..10],
            *b"text/plain"
        );
    }

    #[test]
    fn each_reason_has_words_of_its_own() {
        let closed = [Doors::Before, Doors::Closed, Doors::Maintenance];
        let closed = closed.map(|doors| Standing { doors, ..standing() });
        let turn = Standing { may_ask: true, ..standing() };
        let pages = closed.into_iter().chain([turn]).map(|standing| {
            let response = answer(standing, "text/html", "fr");
            assert_eq!(response.headers()[REFRESH], "7", "as the room expects them");
            String::from_utf8(response.body().to_vec()).unwrap()
        });
        let pages: Vec<_> = pages.collect();
        let text = answer(closed[2], "*/*", "").into_body();
        assert!(text.starts_with(b"The site is being maintained. Keep the cookie"));
        for (at, page) in pages.iter().enumerate() {
            assert!(!page.contains("<dl>"), "no place is shown");
            assert!(!pages[..at].contains(page));
        }
    }
}
