//! Which pages have which files, and where links lead.

use std::collections::HashMap;

use encoding_rs::UTF_8;
use url::Url;

use crate::charset;
use crate::crawl::Seen;
use crate::html::{self, Source};
use crate::key::Key;
use crate::media::Kind;
use crate::name::{Name, Names, looked_for};
use crate::options::Options;
use crate::outcome::{Body, Outcome, Why};
use crate::summary::Summary;

/// Most redirects from a link to a page, as in browsers.
const REDIRECTS: usize = 20;

/// The files of all pages. The first variant is that without a cookie.
#[derive(Debug)]
pub struct Layout<'s> {
    site: Url,
    seen: &'s [Seen],
    names: HashMap<Key, Name>,
}

impl<'s> Layout<'s> {
    /// Gives each page its file. Pages that are not rendered for every value of the cookie are
    /// skipped without one: a visitor with that value would get them.
    pub fn of(site: &Url, seen: &'s mut [Seen], options: &Options) -> Self {
        let cookie = options.vary.as_ref().map(|it| it.cookie.as_str());
        let keep_urls = options.keep_urls;
        if let [plain, variants @ ..] = seen {
            for (key, outcome) in &mut plain.outcomes {
                let is_page = matches!(outcome, Outcome::Body(body) if body.kind == Kind::Page);
                let missing = variants
                    .iter()
                    .find(|it| !matches!(it.outcomes.get(key), Some(Outcome::Body(_))));
                if let (true, Some(missing)) = (is_page, missing) {
                    let value = missing.variant.as_deref().unwrap_or_default();
                    let name = format!("{}={value}", cookie.unwrap_or_default());
                    *outcome = Outcome::Skipped(Why::Variant(name));
                }
            }
        }
        let mut bodies: Vec<(&Key, &Body)> = Vec::new();
        for (key, outcome) in seen.iter().flat_map(|it| &it.outcomes) {
            if let Outcome::Body(body) = outcome {
                bodies.push((key, body));
            }
        }
        // Stable: the first variant that has a page names it.
        bodies.sort_by(|one, other| one.0.cmp(other.0));
        bodies.dedup_by(|later, first| later.0 == first.0);
        let mut given = Names::default();
        for (key, outcome) in seen.iter().flat_map(|it| &it.outcomes) {
            let is_rendered = || bodies.binary_search_by(|it| it.0.cmp(key)).is_ok();
            if matches!(outcome, Outcome::Skipped(_)) && !is_rendered() {
                given.reserve(key);
            }
        }
        let mut names = HashMap::new();
        for (key, body) in bodies {
            let mut name = given.give(key, &body.content_type, body.name.as_deref());
            if keep_urls && key.query().is_none() && looked_for(key).contains(&name.file) {
                key.path().clone_into(&mut name.address);
            }
            names.insert(key.clone(), name);
        }
        Self { site: site.clone(), seen, names }
    }

    /// The pages of a variant with their files, in the order of their keys.
    pub fn pages(&self, variant: usize) -> impl Iterator<Item = (&Key, &Body, &Name)> {
        self.seen[variant].outcomes.iter().filter_map(|(key, outcome)| match outcome {
            Outcome::Body(body) => Some((key, body, self.names.get(key)?)),
            _ => None,
        })
    }

    /// What was found and what becomes of it.
    pub fn summary(&self) -> Summary {
        Summary::of(self.seen, &|variant| self.loops(variant))
    }

    /// What is written for a page of a variant.
    pub fn written(&self, variant: usize, key: &Key, body: &Body, bytes: Vec<u8>) -> Vec<u8> {
        if body.kind == Kind::File {
            return bytes;
        }
        let (text, encoding) = charset::decode(&bytes, &body.content_type);
        let url = key.on(&self.site);
        let address = self.names.get(key).map(|it| it.address.as_str());
        let source = Source { url: &url, address, encoding };
        let mut links = |link: &Url| self.address(variant, link);
        match body.kind {
            Kind::Page => html::rewrite(source, &text, &mut links).into_bytes(),
            // The text of another charset would need another name of it.
            Kind::Style if encoding != UTF_8 => bytes,
            _ => html::rewrite_css(source, &text, &mut links).into_bytes(),
        }
    }

    /// The address that a link of a variant leads to; none if it stays dynamic.
    fn address(&self, variant: usize, link: &Url) -> Option<String> {
        let mut key = Key::of(link);
        let mut fragment: Option<String> = None;
        for _ in 0..=REDIRECTS {
            match self.outcome(variant, &key)? {
                Outcome::Body(_) => {
                    let address = &self.names.get(&key)?.address;
                    return Some(match fragment {
                        Some(fragment) => format!("{address}#{fragment}"),
                        None => address.clone(),
                    });
                }
                Outcome::Moved { to } => {
                    let to = Url::parse(to).ok()?;
                    fragment = to.fragment().map(str::to_owned).or(fragment);
                    key = Key::of(&to);
                }
                Outcome::Skipped(_) => return None,
            }
        }
        None
    }

    /// What became of a page for a visitor with this value of the cookie.
    fn outcome(&self, variant: usize, key: &Key) -> Option<&Outcome> {
        let own = self.seen[variant].outcomes.get(key);
        let plain = self.seen[0].outcomes.get(key);
        own.filter(|it| !matches!(it, Outcome::Skipped(_))).or(plain)
    }

    /// Redirects of a variant that lead to no page because they go round.
    fn loops(&self, variant: usize) -> Vec<&Key> {
        let goes_round = move |key: &Key| {
            let mut at = key.clone();
            for _ in 0..=REDIRECTS {
                match self.outcome(variant, &at) {
                    Some(Outcome::Moved { to }) => match Url::parse(to) {
                        Ok(to) => at = Key::of(&to),
                        Err(_) => return false,
                    },
                    _ => return false,
                }
            }
            true
        };
        let redirects = self.seen[variant].outcomes.iter().filter_map(|(key, outcome)| {
            (matches!(outcome, Outcome::Moved { .. }) && goes_round(key)).then_some(key)
        });
        redirects.collect()
    }
}
