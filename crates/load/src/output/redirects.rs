//! Redirects to other origins, which are not followed: where they lead and what to do.

use std::collections::BTreeMap;

use url::Url;

use super::paragraph::paragraph;
use crate::outcome::Failure;
use crate::result::summary::Summary;

/// A paragraph for each origin that redirects lead to.
pub(super) fn redirects(summary: &Summary) -> Vec<String> {
    let mut origins: BTreeMap<String, Led> = BTreeMap::new();
    let elsewhere = Failure::RedirectElsewhere.name();
    for check in summary.failed_checks.iter().filter(|check| check.kind == elsewhere) {
        let location = check.example.rsplit(' ').next().unwrap_or_default();
        let led = origins.entry(origin(location)).or_default();
        led.count += check.count;
        led.pages.push(&check.page);
        // They come in the order of their counts: the first stands for all.
        led.example.get_or_insert(&check.example);
    }
    origins.into_iter().map(|(origin, led)| led.paragraph(&origin, &summary.target)).collect()
}

#[derive(Default)]
struct Led<'a> {
    count: u64,
    pages: Vec<&'a str>,
    example: Option<&'a str>,
}

impl Led<'_> {
    fn paragraph(&self, origin: &str, target: &str) -> String {
        let (count, example) = (self.count, self.example.unwrap_or_default());
        let pages = match &self.pages[..] {
            [first, _, more @ ..] if !more.is_empty() => {
                format!("{first} and {} more pages", more.len() + 1)
            }
            pages => pages.join(" and "),
        };
        let advice = if Url::parse(origin).is_err() {
            "A customer cannot request that.".to_owned()
        } else if is_same_host(origin, target) {
            format!("The site moves its customers there: measure it with --target {origin}")
        } else {
            format!("If that is your service, measure it with --target {origin}")
        };
        let text = format!(
            "{count} answers of {pages} lead to another origin and are not followed: {example}. \
             {advice}"
        );
        paragraph("redirects       ", &text)
    }
}

/// Scheme, host and port of an address; the address itself if it has none.
fn origin(location: &str) -> String {
    let origin = Url::parse(location).map(|url| url.origin());
    match origin {
        Ok(origin @ url::Origin::Tuple(..)) => origin.ascii_serialization(),
        _ => location.to_owned(),
    }
}

/// Whether only scheme or port differ.
fn is_same_host(a: &str, b: &str) -> bool {
    match (Url::parse(a), Url::parse(b)) {
        (Ok(a), Ok(b)) => a.host_str() == b.host_str(),
        _ => false,
    }
}
