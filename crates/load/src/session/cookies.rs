//! Cookies of one session: domain, path, Secure and expiry as in browsers.
//!
//! Source: RFC 6265, sections 5.3 and 5.4. Deviation: without a list of public suffixes, since
//! all requests go to the hosts that the operator names.

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
    place: RefCell<Place>,
    /// Origin and name of what responses have set or removed, where the scenario gives cookies.
    replaced: Vec<(String, String)>,
}

/// An address that cookies are for.
#[derive(Debug)]
struct Place {
    origin: String,
    url: Url,
}

impl Place {
    fn new(origin: &str) -> Option<Self> {
        Some(Self { origin: origin.to_owned(), url: Url::parse(origin).ok()? })
    }

    /// Goes to a path; without the query, on which cookies do not depend.
    fn go(&mut self, origin: &str, path: &str) {
        if self.origin != origin
            && let Some(other) = Self::new(origin)
        {
            *self = other;
        }
        let path = path.split('?').next().unwrap_or_default();
        if self.url.path() != path {
            self.url.set_path(path);
        }
    }
}

impl Cookies {
    /// Takes in values of Set-Cookie of the response to a request for `path`; `origin` is
    /// `https://host[:port]`. What is malformed or of another site is left out, and so is a new
    /// cookie when there are too many. `replaces` if the scenario gives cookies, which those of
    /// responses replace.
    pub(crate) fn add(&mut self, values: &[String], origin: &str, path: &str, replaces: bool) {
        if values.is_empty() {
            return;
        }
        if self.0.is_none() {
            let Some(place) = Place::new(origin) else { return };
            let (store, replaced) = (CookieStore::new(), Vec::new());
            self.0 = Some(Box::new(Jar { store, place: place.into(), replaced }));
        }
        if let Some(jar) = &mut self.0 {
            jar.place.get_mut().go(origin, path);
            for line in values {
                jar.take(line);
                if replaces {
                    jar.replace(origin, line);
                }
            }
            if jar.replaced.is_empty() && jar.store.iter_any().next().is_none() {
                self.0 = None;
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Writes the header line of a request for `path`, if there are cookies for it: those of
    /// responses, and of the `given` ones those that no response has replaced.
    pub(crate) fn write(&self, origin: &str, path: &str, given: &str, head: &mut String) {
        let mut any = false;
        let mut put = |cookie: &str| {
            head.push_str(if any { "; " } else { "Cookie: " });
            head.push_str(cookie);
            any = true;
        };
        let Some(jar) = &self.0 else {
            if !given.is_empty() {
                put(given);
                head.push_str("\r\n");
            }
            return;
        };
        let mut place = jar.place.borrow_mut();
        place.go(origin, path);
        let mut fitting = jar.store.matches(&place.url);
        // Those of longer paths go first; the sort keeps the order of the others.
        fitting.sort_by_key(|cookie| Reverse(cookie.path.as_ref().len()));
        for cookie in &fitting {
            put(&format!("{}={}", cookie.name(), cookie.value()));
        }
        for cookie in given.split(';').map(str::trim).filter(|cookie| !cookie.is_empty()) {
            let name = cookie.split('=').next().unwrap_or_default();
            let is_replaced = fitting.iter().any(|known| known.name() == name)
                || jar.replaced.iter().any(|(at, known)| at == origin && known == name);
            if !is_replaced {
                put(cookie);
            }
        }
        if any {
            head.push_str("\r\n");
        }
    }
}

impl Jar {
    fn take(&mut self, line: &str) {
        let url = &self.place.get_mut().url;
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
        let _ = self.store.insert(cookie, &self.place.get_mut().url);
    }

    /// Notes that a response has set or removed a cookie: its path is not known of one that was
    /// given, so that the name decides.
    fn replace(&mut self, origin: &str, line: &str) {
        let name = line.split(['=', ';']).next().unwrap_or_default().trim();
        let is_known = |(at, known): &(String, String)| at == origin && known == name;
        let fits = name.len() <= LONGEST && self.replaced.len() < MOST;
        if fits && !name.is_empty() && !self.replaced.iter().any(is_known) {
            self.replaced.push((origin.to_owned(), name.to_owned()));
        }
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
        cookies.add(&lines, origin, "/a/b?c=/d", false);
    }

    fn line(cookies: &Cookies, path: &str) -> String {
        sent(cookies, SHOP, path, "")
    }

    fn sent(cookies: &Cookies, origin: &str, path: &str, given: &str) -> String {
        let mut head = String::new();
        cookies.write(origin, path, given, &mut head);
        head
    }

    /// The line for a path after these cookies.
    fn after(origin: &str, lines: &[&str], path: &str) -> String {
        let mut cookies = Cookies::default();
        take(&mut cookies, origin, lines);
        sent(&cookies, origin, path, "")
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

    #[test]
    fn given_cookies_are_sent_until_a_response_sets_or_removes_them() {
        let mut cookies = Cookies::default();
        let given = "sid=1; lang=en;mode=x";
        assert_eq!(sent(&cookies, SHOP, "/", given), format!("Cookie: {given}\r\n"));
        let mut add = |lines: &[&str]| {
            let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
            cookies.add(&lines, SHOP, "/a/b", true);
            (sent(&cookies, SHOP, "/a/c", given), sent(&cookies, SHOP, "/", given))
        };
        let both = |line: &str| (line.to_owned(), line.to_owned());
        assert_eq!(add(&["cart=7; Path=/"]), both("Cookie: cart=7; sid=1; lang=en; mode=x\r\n"));
        // Its path is that of the response: elsewhere neither is sent.
        let (within, elsewhere) = add(&["sid=2; Path=/a"]);
        assert_eq!(within, "Cookie: sid=2; cart=7; lang=en; mode=x\r\n");
        assert_eq!(elsewhere, "Cookie: cart=7; lang=en; mode=x\r\n");
        let removed = add(&["lang=; Path=/; Max-Age=0", "cart=; Path=/; Max-Age=0"]);
        assert_eq!(removed.1, "Cookie: mode=x\r\n");
        assert_eq!(sent(&cookies, "https://api.example", "/", "sid=3"), "Cookie: sid=3\r\n");
    }

    #[test]
    fn each_host_gets_its_own_cookies_and_a_domain_those_of_its_hosts() {
        let mut cookies = Cookies::default();
        take(&mut cookies, SHOP, &["own=1; Path=/", "all=2; Path=/; Domain=shop.example"]);
        take(&mut cookies, "https://login.shop.example", &["sso=3; Path=/"]);
        assert_eq!(sent(&cookies, SHOP, "/", ""), "Cookie: own=1; all=2\r\n");
        let login = sent(&cookies, "https://login.shop.example", "/", "");
        assert_eq!(login, "Cookie: all=2; sso=3\r\n");
        assert_eq!(sent(&cookies, "https://other.example", "/", ""), "");
    }

    proptest! {
        #[test]
        fn no_line_is_too_strange(lines in proptest::collection::vec(".{0,60}", 0..5), path in "/[ -~]{0,20}") {
            let mut cookies = Cookies::default();
            cookies.add(&lines, SHOP, &path, true);
            let named: Vec<String> = lines.iter().map(|line| format!("a=1;{line}")).collect();
            cookies.add(&named, SHOP, &path, true);
            let head = line(&cookies, &path);
            prop_assert!(head.is_empty() || head.ends_with("\r\n"), "{head:?}");
            prop_assert!(head.trim_end_matches("\r\n").bytes().all(|b| (b' '..=b'~').contains(&b)));
        }
    }
}
