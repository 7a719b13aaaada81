//! Passes a page to the rewriter of links. It must not panic, a page that was rewritten must stay
//! as it is, and so must a style sheet.
//!
//! To run it alone, from the repository's root:
//! `cargo +nightly fuzz run --features render page_rewriter`

#![no_main]

use encoding_rs::UTF_8;
use libfuzzer_sys::fuzz_target;
use tidegate_render::html::{Source, rewrite, rewrite_css};
use url::Url;

/// Pages below /k are rendered.
fn target(url: &Url) -> Option<String> {
    let path = url.path();
    path.starts_with("/k").then(|| match path.ends_with(".html") {
        true => path.to_owned(),
        false => format!("{path}.html"),
    })
}

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let url = Url::parse("https://shop.test/in/page.html").expect("it is a URL");
    let source = Source { url: &url, address: Some("/in/page.html"), encoding: UTF_8 };
    let once = rewrite(source, &text, &mut target);
    assert_eq!(rewrite(source, &once, &mut target), once);
    let once = rewrite_css(source, &text, &mut target);
    assert_eq!(rewrite_css(source, &once, &mut target), once);
});
