//! Submitted forms: read within limits of size and time, then checked field by
//! field, so that the answer names all mistakes at once.

use std::net::IpAddr;
use std::ops::RangeInclusive;

use aws_lc_rs::digest::{Context, SHA256};
use axum::body::Body;
use axum::extract::Request;
use axum::http::header;
use url::form_urlencoded;

use super::body::{self, Unread};
use super::client;
use crate::money::Cents;
use crate::{Mistake, Problem};

/// Most bytes of a form: a description of 7168 characters, each escaped, fits.
const LARGEST: usize = 64 * 1024;
/// Most fields of a form.
const FIELDS: usize = 40;

/// A submitted form.
#[derive(Debug)]
pub struct Posted {
    fields: Vec<(String, String)>,
    client: IpAddr,
}

/// The bytes of a form that arrives.
///
/// # Errors
/// It is too long (413), takes too long (408), or breaks off (400).
pub async fn collect(body: Body) -> Result<Vec<u8>, Problem> {
    body::collect(body, LARGEST).await.map(Into::into).map_err(|why| match why {
        Unread::TooLong => unreadable(413, "It is longer than 64 KiB."),
        Unread::BrokenOff => unreadable(400, "It broke off before its end."),
        Unread::TooSlow => unreadable(408, "It took longer than 10 seconds to arrive."),
    })
}

fn unreadable(status: u16, why: &str) -> Problem {
    Problem::new(status, "The form could not be read", why, "Go back and send it again.")
}

impl Posted {
    /// Reads the form that a request submits. `proxies` are believed about who sent it.
    ///
    /// # Errors
    /// It is no form, too long, or does not arrive in time.
    pub async fn receive(request: Request, proxies: &[IpAddr]) -> Result<Self, Problem> {
        let kind = request.headers().get(header::CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if !kind.starts_with("application/x-www-form-urlencoded") {
            let why = "It must be of the type application/x-www-form-urlencoded.";
            return Err(unreadable(415, why));
        }
        let client = client::address(&request, proxies);
        Ok(Self::parse(&collect(request.into_body()).await?, client))
    }

    fn parse(bytes: &[u8], client: IpAddr) -> Self {
        let fields = form_urlencoded::parse(bytes).take(FIELDS);
        Self { fields: fields.map(|(k, v)| (k.into(), v.into())).collect(), client }
    }

    /// The address of who sent it.
    pub fn client(&self) -> IpAddr {
        self.client
    }

    /// A field as submitted.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str())
    }

    /// A fingerprint of what the user filled in. Passwords are left out: the
    /// fingerprint is stored, and a short one can be searched for.
    pub fn content(&self) -> i64 {
        let mut digest = Context::new(&SHA256);
        for (name, value) in self.fields.iter().filter(|(name, _)| name != "password") {
            for text in [name, value] {
                digest.update(&text.len().to_le_bytes());
                digest.update(text.as_bytes());
            }
        }
        let digest = digest.finish();
        let first = digest.as_ref().first_chunk().expect("a digest has 32 bytes");
        i64::from_le_bytes(*first)
    }

    /// Begins checking the fields.
    pub fn check(&self) -> Check<'_> {
        Check { posted: self, mistakes: Vec::new() }
    }
}

/// Checks fields and collects the mistakes. A field with a mistake reads as an
/// empty value, which [`done`](Self::done) keeps from being used.
#[derive(Debug)]
pub struct Check<'a> {
    posted: &'a Posted,
    mistakes: Vec<Mistake>,
}

impl<'a> Check<'a> {
    /// Ends the check.
    ///
    /// # Errors
    /// All mistakes that were found, for a page without the form.
    pub fn done(self) -> Result<(), Problem> {
        let mistakes = self.marked();
        if mistakes.is_empty() {
            return Ok(());
        }
        let remedy = "Go back, correct this, and send the form again.";
        let problem = Problem::new(422, "Please correct the form", "", remedy);
        Err(Problem { why: Vec::new(), mistakes, ..problem })
    }

    /// Ends the check with the mistakes that were found, for the form to mark.
    pub fn marked(self) -> Vec<Mistake> {
        self.mistakes
    }

    /// Adds a mistake in a field unless `holds`.
    pub fn require(&mut self, name: &str, holds: bool, mistake: impl FnOnce() -> String) {
        if !holds {
            self.mistakes.push(Mistake::new(name, mistake()));
        }
    }

    /// Text without surrounding space, of so many characters, without control
    /// characters.
    pub fn text(&mut self, name: &str, label: &str, length: RangeInclusive<usize>) -> &'a str {
        let text = self.words(name, label, length);
        self.require(name, !text.contains(['\n', '\t']), || format!("{label}: must be one line."));
        text
    }

    /// The same, of several lines.
    pub fn words(&mut self, name: &str, label: &str, length: RangeInclusive<usize>) -> &'a str {
        let text = self.posted.get(name).unwrap_or_default().trim();
        let control = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
        self.require(name, !text.contains(control), || {
            format!("{label}: must not hold control characters.")
        });
        self.length(name, text, label, &length);
        text
    }

    /// A password of so many characters, not trimmed.
    pub fn secret(&mut self, name: &str, label: &str, length: RangeInclusive<usize>) -> &'a str {
        let text = self.posted.get(name).unwrap_or_default();
        self.length(name, text, label, &length);
        text
    }

    fn length(&mut self, name: &str, text: &str, label: &str, length: &RangeInclusive<usize>) {
        let characters = text.chars().count();
        self.require(name, length.contains(&characters), || {
            let (least, most) = (length.start(), length.end());
            if characters == 0 {
                format!("{label}: is missing.")
            } else {
                format!(
                    "{label}: must be {least} to {most} characters long; these are {characters}."
                )
            }
        });
    }

    /// A whole number within a range.
    pub fn number(&mut self, name: &str, label: &str, range: RangeInclusive<i64>) -> i64 {
        let text = self.posted.get(name).unwrap_or_default().trim();
        let number = text.parse().ok().filter(|number| range.contains(number));
        self.require(name, number.is_some(), || {
            format!("{label}: must be a whole number from {} to {}.", range.start(), range.end())
        });
        number.unwrap_or(*range.start())
    }

    /// An amount of at least `least`.
    pub fn money(&mut self, name: &str, label: &str, least: Cents) -> Cents {
        let text = self.posted.get(name).unwrap_or_default().trim();
        let amount = Cents::parse(text).filter(|amount| *amount >= least);
        self.require(name, amount.is_some(), || {
            let most = Cents::MOST;
            format!("{label}: must be an amount such as 12.50, from {least} to {most}.")
        });
        amount.unwrap_or(least)
    }

    /// An amount that may be left out: then, and for 0, zero.
    pub fn money_or_none(&mut self, name: &str, label: &str) -> Cents {
        match self.posted.get(name).map(str::trim) {
            None | Some("") => Cents(0),
            Some(_) => self.money(name, label, Cents(0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn posted(bytes: &[u8]) -> Posted {
        Posted::parse(bytes, Ipv4Addr::LOCALHOST.into())
    }

    #[test]
    fn all_mistakes_are_reported_at_once() {
        let posted = posted(b"name=+&age=x&price=1.234&note=a%00b");
        let mut form = posted.check();
        form.text("name", "Name", 1..=20);
        form.number("age", "Age", 1..=9);
        form.money("price", "Price", Cents(100));
        form.words("note", "Note", 1..=9);
        let refusal = form.done().unwrap_err();
        assert_eq!((refusal.status, refusal.mistakes.len()), (422, 4), "{refusal}");
    }

    #[test]
    fn fields_are_trimmed_and_decoded() {
        let posted = posted("name=+J%C3%BCrgen+&price=12.5&reserve=".as_bytes());
        let mut form = posted.check();
        assert_eq!(form.text("name", "Name", 1..=6), "Jürgen");
        assert_eq!(form.money("price", "Price", Cents(100)), Cents(1250));
        assert_eq!(form.money_or_none("reserve", "Reserve"), Cents(0));
        form.done().unwrap();
    }

    #[test]
    fn a_fingerprint_tells_what_was_filled_in_apart_and_holds_no_password() {
        let of = |text: &str| posted(text.as_bytes()).content();
        assert_eq!(of("bid=1&password=secret"), of("bid=1&password=other"));
        for other in ["bid=2", "bid=11", "b=id1", "bid=1&bid=1", "bid1=", ""] {
            assert_ne!(of("bid=1"), of(other), "{other}");
        }
    }

    #[test]
    fn fields_beyond_the_limit_are_dropped() {
        let posted = posted("a=1&".repeat(1000).as_bytes());
        assert_eq!(posted.fields.len(), FIELDS);
    }

    #[tokio::test]
    async fn an_oversized_body_is_refused() {
        let refusal = collect(Body::from(vec![b'a'; LARGEST + 1])).await.unwrap_err();
        assert_eq!(refusal.status, 413);
    }
}
