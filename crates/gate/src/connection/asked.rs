//! The request under way, as the log names it.

use http::{Method, Request, Uri};
use std::cell::RefCell;

/// Most bytes of a path that are shown.
const SHOWN: usize = 200;

/// What is asked for. It shares the buffer of the request's head, so it is forgotten when the
/// response is over: an idle connection would keep the buffer.
#[derive(Debug, Default)]
pub struct Asked(RefCell<Option<(Method, Uri)>>);

impl Asked {
    /// A request begins.
    pub fn note<B>(&self, request: &Request<B>) {
        self.0.replace(Some((request.method().clone(), request.uri().clone())));
    }

    /// The request is over.
    pub fn forget(&self) {
        self.0.take();
    }

    /// Method and path, as one line of ASCII. Queries are left out, since they may have what is
    /// not for a log.
    pub fn text(&self) -> String {
        let asked = self.0.borrow();
        let Some((method, uri)) = &*asked else { return "a request".into() };
        let mut text = format!("{method} ");
        for byte in uri.path().bytes().take(SHOWN) {
            match byte.is_ascii_graphic() {
                true => text.push(byte.into()),
                false => text += &format!("%{byte:02X}"),
            }
        }
        if uri.path().len() > SHOWN {
            text.push('…');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_named_without_its_query() {
        let asked = Asked::default();
        assert_eq!(asked.text(), "a request");
        for (uri, text) in [
            ("/cart?password=x", "GET /cart"),
            ("https://shop/\u{e4}?x", "GET /%C3%A4"),
            ("/", "GET /"),
        ] {
            asked.note(&Request::get(uri).body(()).unwrap());
            assert_eq!(asked.text(), text);
        }
        asked.note(&Request::get(format!("/{}", "a".repeat(500))).body(()).unwrap());
        assert_eq!(asked.text().len(), 4 + SHOWN + '…'.len_utf8());
    }
}
