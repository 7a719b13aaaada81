//! The scenario for a run without one: a single page given by its URL.

use url::Url;

use super::Scenario;

impl Scenario {
    /// A scenario that requests the path and query of a URL, and the URL of its site. A
    /// session is one request without think time; the default arrivals are ten customers of
    /// the closed model.
    ///
    /// An invalid URL is returned unchanged; it is rejected as a target.
    pub fn one_page(address: &str) -> (Self, String) {
        let (path, site) = match Url::parse(address) {
            Ok(mut url) if url.has_host() => {
                let path = match url.query() {
                    Some(query) => format!("{}?{query}", url.path()),
                    None => url.path().to_owned(),
                };
                url.set_path("/");
                url.set_query(None);
                url.set_fragment(None);
                (path, url.to_string())
            }
            _ => ("/".to_owned(), address.to_owned()),
        };
        // Braces would be parameters, and a quote would end the string.
        let path = path.replace('{', "%7B").replace('}', "%7D").replace('\'', "%27");
        let text = TEXT.replace("PATH", &path);
        let scenario = Self::from_toml(&text, "page").expect("any path makes a scenario");
        (scenario, site)
    }
}

const TEXT: &str = r#"
name = "page"
description = "One page, as often as it is asked for."

[session]
start = "Page"
think = "0s"
max_requests = 1

[pages]
Page = { path = 'PATH' }

[transitions]
Page = { End = 1 }

[arrivals]
model = "closed"
customers = 10
"#;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::page::Source;

    fn page(address: &str) -> (String, String) {
        let (scenario, site) = Scenario::one_page(address);
        let Source::Path(path) = &scenario.pages()[0].source else { panic!("no path") };
        assert_eq!(path.parameters().count(), 0);
        (path.text().to_owned(), site)
    }

    #[test]
    fn an_address_gives_page_and_site() {
        let (path, site) = page("https://shop.example:8443/items/7?sort=price#reviews");
        assert_eq!(path, "/items/7?sort=price");
        assert_eq!(site, "https://shop.example:8443/");
        assert_eq!(page("http://127.0.0.1").0, "/");
    }

    #[test]
    fn no_path_is_more_than_a_path() {
        for (given, path) in [
            ("/\"\\\n[pages]", "/%22/[pages]"),
            ("/{customer}?{random}&q={", "/%7Bcustomer%7D?%7Brandom%7D&q=%7B"),
            ("/it's'''?'\\", "/it%27s%27%27%27?%27\\"),
            ("/?\u{0}\u{7f}é", "/?%00%7F%C3%A9"),
        ] {
            assert_eq!(page(&format!("http://127.0.0.1{given}")).0, path, "{given:?}");
        }
        for none in ["no address", "mailto:a@shop"] {
            assert_eq!(page(none), ("/".to_owned(), none.to_owned()));
        }
    }
}
