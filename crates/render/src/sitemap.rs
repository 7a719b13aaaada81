//! The pages that a sitemap names.
//!
//! Source: sitemaps.org, protocol 0.9.

use std::borrow::Cow;

/// The URLs of a sitemap; those of an index are sitemaps.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Sitemap {
    /// The URLs are sitemaps.
    pub is_index: bool,
    /// The URLs, at most as many as asked for.
    pub urls: Vec<String>,
}

impl Sitemap {
    /// Reads at most `most` URLs of a sitemap in XML, or of a list of lines.
    pub fn read(text: &str, most: usize) -> Self {
        let mut urls = Vec::new();
        if !text.contains('<') {
            let lines = text.lines().map(str::trim).filter(|it| !it.is_empty());
            urls.extend(lines.take(most).map(str::to_owned));
            return Self { is_index: false, urls };
        }
        let mut rest = text;
        while urls.len() < most
            && let Some((_, after)) = rest.split_once("<loc")
            && let Some((_, after)) = after.split_once('>')
        {
            let Some((value, after)) = after.split_once("</") else { break };
            urls.push(plain(value.trim()).into_owned());
            rest = after;
        }
        Self { is_index: text.contains("<sitemapindex"), urls }
    }
}

/// The text of an element.
fn plain(value: &str) -> Cow<'_, str> {
    if let Some(text) = value.strip_prefix("<![CDATA[").and_then(|it| it.strip_suffix("]]>")) {
        return text.trim().into();
    }
    if !value.contains('&') {
        return value.into();
    }
    [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")]
        .iter()
        .fold(value.to_owned(), |text, (reference, letter)| text.replace(reference, letter))
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_stand_in_elements_or_lines() {
        let read = |text| Sitemap::read(text, 10);
        assert_eq!(
            read(
                "<urlset><url><loc>\n http://a/x?b=1&amp;c=2 </loc><lastmod>2026</lastmod></url><url><loc><![CDATA[http://a/y]]></loc></url></urlset>"
            ),
            Sitemap {
                is_index: false,
                urls: vec!["http://a/x?b=1&c=2".into(), "http://a/y".into()]
            }
        );
        assert!(read("<sitemapindex><sitemap><loc>http://a/1.xml</loc></sitemap>").is_index);
        assert_eq!(read("http://a/\n\nhttp://a/b\n").urls, ["http://a/", "http://a/b"]);
        assert_eq!(read("<loc>http://a/ never ends").urls, [""; 0]);
        assert_eq!(Sitemap::read("a\nb\nc", 2).urls.len(), 2);
    }
}
