//! Properties of the rewriter, over pages made of what pages are made of.

use encoding_rs::UTF_8;
use proptest::prelude::*;
use tidegate_render::html::{Source, rewrite, rewrite_css};
use url::Url;

/// Parts of pages, of which some end early.
const PARTS: &[&str] = &[
    "<a href=",
    "<a HREF='",
    "<img src=\"",
    "/k/a",
    "../k/a?b=1&amp;c=2",
    "x#y",
    "//shop.test/k",
    "\"",
    "'",
    ">",
    "<base href='/k/'>",
    "<base href=https://cdn.example/>",
    "<style>",
    "</style>",
    "a { b: url(",
    "url('../x')",
    ")",
    "@import 'k.css';",
    "/*",
    "*/",
    "<noscript>",
    "</noscript>",
    "<script>",
    "</script>",
    "<!--",
    "-->",
    "<form>",
    "<form action=''>",
    "<img srcset='a 1x, b 2x'>",
    "<meta http-equiv=refresh content='0;url=k'>",
    "<meta charset=latin1>",
    "<iframe srcdoc='",
    "&lt;a href=k>",
    "<svg><use href='#a'/>",
    " ",
    "\n",
    "ä",
    "\\",
    "&quot;",
    "<head>",
    "<!doctype html>",
    "javascript:x",
    "=",
    "<p style='background:url(k)'",
    "\0",
    "<title>",
    "</title>",
    "<a href=//x//y>",
    "<a download href=k>",
];

fn pages() -> impl Strategy<Value = String> {
    let part =
        prop_oneof![8 => proptest::sample::select(PARTS).prop_map(str::to_owned), 1 => ".{0,4}"];
    proptest::collection::vec(part, 0..25).prop_map(|parts| parts.concat())
}

/// Pages below /k are rendered.
fn target(url: &Url) -> Option<String> {
    let path = url.path();
    path.starts_with("/k").then(|| match path.ends_with(".html") {
        true => path.to_owned(),
        false => format!("{path}.html"),
    })
}

fn written(text: &str) -> (String, Vec<String>) {
    let url = Url::parse("https://shop.test/in/page.html").unwrap();
    let source = Source { url: &url, address: Some("/in/page.html"), encoding: UTF_8 };
    let mut links = Vec::new();
    let written = rewrite(source, text, &mut |url| {
        let target = target(url);
        links.push(target.clone().unwrap_or_else(|| url.path().to_owned()));
        target
    });
    (written, links)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_page_that_was_rewritten_stays_as_it_is_and_has_the_same_links(page in pages()) {
        let (once, links) = written(&page);
        let (twice, same) = written(&once);
        prop_assert_eq!(&once, &twice, "{}", page);
        prop_assert_eq!(links, same, "{}", page);
    }

    #[test]
    fn a_style_sheet_that_was_rewritten_stays_as_it_is(css in pages()) {
        let url = Url::parse("https://shop.test/in/a.css").unwrap();
        let source = Source { url: &url, address: None, encoding: UTF_8 };
        let once = rewrite_css(source, &css, &mut target);
        prop_assert_eq!(&rewrite_css(source, &once, &mut target), &once);
    }

    #[test]
    fn a_page_without_links_of_the_site_stays_byte_for_byte(text in "[a-z<>/=\"'&; !-]{0,60}") {
        let (written, links) = written(&text);
        prop_assume!(links.is_empty() && !text.contains("action"));
        prop_assert_eq!(written, text);
    }
}
