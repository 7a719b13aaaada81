//! A small HTTP client for the tests.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

#[derive(Clone, Copy)]
pub struct Browser {
    address: SocketAddr,
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub text: String,
}

impl Browser {
    pub fn new(address: SocketAddr) -> Self {
        Self { address }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn get(&self, path: &str) -> Answer {
        self.get_with("", path)
    }

    /// The same with more header fields, each with its end of line.
    pub fn get_with(&self, more: &str, path: &str) -> Answer {
        self.send(&format!("GET {path} HTTP/1.1\r\nhost: site\r\nconnection: close\r\n{more}\r\n"))
    }

    /// Gets a page; any status but 200 is a failure.
    pub fn page(&self, path: &str) -> String {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        answer.text
    }

    pub fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        self.post_with("", path, fields)
    }

    /// The same with more header fields.
    pub fn post_with(&self, more: &str, path: &str, fields: &[(&str, &str)]) -> Answer {
        let body =
            url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        self.send(&format!(
            "POST {path} HTTP/1.1\r\nhost: site\r\nconnection: close\r\n{more}\
             content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ))
    }

    /// Sends a form; any status but 200 is a failure.
    pub fn done(&self, path: &str, fields: &[(&str, &str)]) -> String {
        let answer = self.post(path, fields);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        answer.text
    }

    /// Sends the form of a new account, as the site has just issued it.
    pub fn register(&self, fields: &[(&str, &str)]) -> Answer {
        let auth = hidden(&self.page("/register"), "auth");
        self.post("/register", &[fields, &[("auth", &auth)]].concat())
    }

    /// Signs in as this synthetic person at a form, and returns the token of the
    /// next form.
    pub fn token(&self, path: &str, user: i64, more: &[(&str, &str)]) -> String {
        hidden(&self.sign_in(path, user, more), "auth")
    }

    /// Signs in as this synthetic person at a form.
    pub fn sign_in(&self, path: &str, user: i64, more: &[(&str, &str)]) -> String {
        let (nickname, password) = (format!("user{user}"), format!("password{user}"));
        let mut fields = vec![("nickname", nickname.as_str()), ("password", &password)];
        fields.extend(more);
        self.done(path, &fields)
    }

    /// Sends bytes as they are and reads till the end.
    pub fn send(&self, request: &str) -> Answer {
        let mut stream = TcpStream::connect(self.address).expect("the site listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("settable");
        // A site that refuses early may close before all is written.
        let _ = stream.write_all(request.as_bytes());
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8(bytes).expect("pages are UTF-8");
        let (head, body) =
            text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).expect("a status line");
        let headers = lines.filter_map(|line| line.split_once(": "));
        Answer {
            status: status.parse().expect("a number"),
            headers: headers.map(|(name, value)| (name.to_lowercase(), value.into())).collect(),
            text: body.into(),
        }
    }
}

/// All values that stand in the text between these two.
pub fn between<'a>(text: &'a str, before: &str, after: &str) -> Vec<&'a str> {
    text.split(before).skip(1).filter_map(|rest| Some(rest.split_once(after)?.0)).collect()
}

/// The value of a hidden field.
pub fn hidden(text: &str, name: &str) -> String {
    let found = between(text, &format!("type=\"hidden\" name=\"{name}\" value=\""), "\"");
    found.first().unwrap_or_else(|| panic!("no hidden {name} in {text}")).to_string()
}

/// The ids of the items that a page links to, each once, in its order.
pub fn items(text: &str) -> Vec<i64> {
    let mut ids: Vec<i64> = between(text, "href=\"/items/", "\"")
        .into_iter()
        .filter_map(|id| id.parse().ok())
        .collect();
    ids.dedup();
    ids
}
