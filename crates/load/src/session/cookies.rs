//! Cookies of one session: domain, path, Secure and expiry as in browsers.
//!
//! Source: RFC 6265, sections 5.3 and 5.4. Deviation: without a list of public suffixes, since
//! all requests go to one host.

use std::cell::RefCell;
use std::cmp::Reverse;

use cookie_store::{Cookie, CookieStore};
use url::Url;

/// Most cookies kept, and the longest line.
///
/// Source: RFC 6265, section 6.1.
const MOST: usize = 50;
const LONGEST: usize = 4096;

/// The cookies of a customer. Without any they need no memory of their own.
#[derive(Debug, Default)]
pub(crate) struct Cookies(Option<Box<Jar>>);

#[derive(Debug)]
struct Jar {
    store: CookieStore,
    /// The address of the last request.
    url: RefCell<Url>,
}

impl Cookies {
    /// Takes in values of Set-Cookie of the response to a request for `path`; `origin` is
    /// `https://host[:port]`. What is malformed or of another site is left out, and so is a new
    /// cookie when there are too many.
    pub(crate) fn add(&mut self, values: &[String], origin: &str, path: &str) {
        if values.is_empty() {
            return;
        }
        if self.0.is_none() {
            let Ok(url) = Url::parse(origin) else { return };
            self.0 = Some(Box::new(Jar { store: CookieStore::new(), url: url.into() }));
        }
        if let Some(jar) = &mut self.0 {
            set_path(jar.url.get_mut(), path);
            values.iter().for_each(|line| jar.take(line));
            if jar.store.iter_any().next().is_none() {
                self.0 = None;
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Writes the header line of a request for `path`, if there are cookies for it.
    pub(crate) fn write(&self, path: &str, head: &mut String) {
        let Some(jar) = &self.0 else { return };
        let mut url = jar.url.borrow_mut();
        set_path(&mut url, path);
        let mut fitting = jar.store.matches(&url);
        // Those of longer paths go first; the sort keeps the order of the others.
        fitting.sort_by_key(|cookie| Reverse(cookie.path.as_ref().len()));
        for (index, cookie) in fitting.iter().enumerate() {
            head.push_str(if index == 0 { "Cookie: " } else { "; " });
            for part in [cookie.name(), "=", cookie.value()] {
                head.push_str(part);
            }
        }
        if !fitting.is_empty() {
            head.push_str("\r\n");
        }
    }
}

/// Without the query: cookies do not depend on it.
fn set_path(url: &mut Url, path: &str) {
    let path = path.split('?').next().unwrap_or_default();
    if url.path() != path {
        url.set_path(path);
    }
}

impl Jar {
    fn take(&mut self, line: &str) {
        let url = self.url.get_mut();
        let clean = |text: &str| text.bytes().all(|b| b.is_ascii_graphic() || b == b' ');
        if line.len() > LONGEST {
            return;
        }
        let Ok(cookie) = Cookie::parse(line, url) else { return };
        let cookie = cookie.into_owned();
        if cookie.name().is_empty() || !clean(cookie.name()) || !clean(cookie.value()) {
            return;
        }
        if self.store.iter_any().count() >= MOST {
            self.remove_expired();
            let domain = String::from(&cookie.domain);
            let known = self.store.contains_any(&domain, cookie.path.as_ref(), cookie.name());
            if !known && self.store.iter_any().count() >= MOST {
                return;
            }
        }
        // A cookie of another site is left out, and one that has expired removes its like.
        let _ = self.store.insert(cookie, self.url.get_mut());
    }

    fn remove_expired(&mut self) {
        let key = |cookie: &Cookie<'_>| {
            let domain = String::from(&cookie.domain);
            (domain, cookie.path.as_ref().to_owned(), cookie.name().to_owned())
        };
        let expired = self.store.iter_any().filter(|cookie| cookie.is_expired());
        for (domain, path, name) in expired.map(key).collect::<Vec<_>>() {
            self.store.remove(&domain, &path, &name);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SHOP: &str = "https://www.shop.example:8443";

    /// Takes cookies in response to `/a/b?c=/d`.
    fn take(cookies: &mut Cookies, origin: &str, lines: &[&str]) {
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        cookies.add(&lines, origin, "/a/b?c=/d");
    }

    fn line(cookies: &Cookies, path: &str) -> String {
        let mut head = String::new();
        cookies.write(path, &mut head);
        head
    }

    /// The line for a path after these cookies.
    fn after(origin: &str, lines: &[&str], path: &str) -> String {
        let mut cookies = Cookies::default();
        take(&mut cookies, origin, lines);
        line(&cookies, path)
    }

    #[test]
    fn cookies_are_replaced_removed_and_bounded() {
        let mut cookies = Cookies::default();
        let lines = ["a=1; Path=/; HttpOnly", "b=2; Path=/", "a=3; Path=/", "bad", "c=\u{1}"];
        take(&mut cookies, SHOP, &lines);
        take(&mut cookies, SHOP, &["b=; Path=/; Max-Age=0", &format!("d={}", "x".repeat(5000))]);
        for number in 0..100 {
            take(&mut cookies, SHOP, &[&format!("n{number}=x; Path=/")]);
        }
        // One that is there can change when there are too many, and one that has expired makes
        // room.
        take(&mut cookies, SHOP, &["n0=y; Path=/", "n1=; Path=/; Max-Age=-1", "new=1; Path=/"]);
        let head = line(&cookies, "/");
        assert!(head.starts_with("Cookie: a=3; n0=y; "), "{head}");
        assert_eq!(head.matches('=').count(), MOST, "{head}");
        assert!(head.contains("; new=1"), "{head}");
        assert!(!head.contains("n1=") && !head.contains("n49="), "{head}");
    }

    #[test]
    fn paths_domains_and_secure_decide_where_a_cookie_is_sent() {
        let lines = ["root=1; Path=/", "own=2", "deep=3; Path=/a/b/c", "x=4; Path=/x"];
        assert_eq!(after(SHOP, &lines, "/a/z?q"), "Cookie: own=2; root=1\r\n");
        assert_eq!(after(SHOP, &lines, "/a/b/c/d"), "Cookie: deep=3; own=2; root=1\r\n");
        assert_eq!(after(SHOP, &lines, "/ab"), "Cookie: root=1\r\n", "/a is no folder of /ab");
        assert_eq!(after(SHOP, &["x=4; Path=/x"], "/y"), "");
        let domains = [
            "up=1; Domain=shop.example; Path=/",
            "dot=2; Domain=.WWW.shop.example; Path=/",
            "down=3; Domain=a.www.shop.example; Path=/",
            "other=4; Domain=other.example; Path=/",
        ];
        let sent = after(SHOP, &domains, "/");
        assert!(sent.contains("up=1") && sent.contains("dot=2"), "{sent}");
        assert!(!sent.contains("down") && !sent.contains("other"), "{sent}");
        let secure = ["s=1; Secure; Path=/", "p=2; Path=/"];
        assert_eq!(after("http://192.0.2.7", &secure, "/"), "Cookie: p=2\r\n");
        assert_eq!(after("https://[::1]:8443", &secure, "/"), "Cookie: s=1; p=2\r\n");
        let address = ["d=1; Domain=127.0.0.1; Path=/", "e=2; Domain=0.0.1; Path=/"];
        assert_eq!(after("http://127.0.0.1:80", &address, "/"), "Cookie: d=1\r\n");
    }

    #[test]
    fn expiry_is_max_age_or_else_expires() {
        let past = "Expires=Thu, 01 Jan 1970 00:00:00 GMT";
        let future = "Expires=Fri, 31 Dec 9999 23:59:59 GMT";
        for (attributes, kept) in [
            (past.to_owned(), false),
            (future.to_owned(), true),
            ("Expires=Wed, 09-Nov-1994 23:12:40 GMT".to_owned(), false),
            ("Expires=soon".to_owned(), true),
            ("Max-Age=3600".to_owned(), true),
            (format!("Max-Age=3600; {past}"), true),
            (format!("Max-Age=0; {future}"), false),
        ] {
            let mut cookies = Cookies::default();
            take(&mut cookies, SHOP, &["a=1; Path=/"]);
            take(&mut cookies, SHOP, &[&format!("a=2; Path=/; {attributes}")]);
            let expected = if kept { "Cookie: a=2\r\n" } else { "" };
            assert_eq!(line(&cookies, "/"), expected, "{attributes}");
        }
    }

    #[test]
    fn a_customer_without_cookies_holds_no_store() {
        let mut cookies = Cookies::default();
        take(&mut cookies, SHOP, &[]);
        take(&mut cookies, SHOP, &["bad", "a=1; Domain=other.example", "b=2; Max-Age=0"]);
        assert!(cookies.is_empty());
        assert_eq!(size_of::<Cookies>(), size_of::<usize>());
    }

    proptest! {
        #[test]
        fn no_line_is_too_strange(lines in proptest::collection::vec(".{0,60}", 0..5), path in "/[ -~]{0,20}") {
            let mut cookies = Cookies::default();
            cookies.add(&lines, SHOP, &path);
            let named: Vec<String> = lines.iter().map(|line| format!("a=1;{line}")).collect();
            cookies.add(&named, SHOP, &path);
            let head = line(&cookies, &path);
            prop_assert!(head.is_empty() || head.ends_with("\r\n"), "{head:?}");
            prop_assert!(head.trim_end_matches("\r\n").bytes().all(|b| (b' '..=b'~').contains(&b)));
        }
    }
}
