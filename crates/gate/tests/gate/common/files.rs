//! Directories of files, gates that serve them, and requests with fields.

use super::plain::{clear_gate, connect_plain};
use super::*;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Files in a directory; each has its name as its content, in brackets.
pub fn directory(names: &[&str]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for name in names {
        write(root.path(), name, &format!("<{name}>"));
    }
    root
}

pub fn write(root: &Path, name: &str, content: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// A gate that serves `/` from a directory, before an upstream that answers with the request's
/// line; `keys` are of the route.
pub fn tier(root: &TempDir, keys: &str) -> Gate {
    tier_with(root, keys, "")
}

pub fn tier_with(root: &TempDir, keys: &str, more: &str) -> Gate {
    let upstream = answering(|got| ok(&format!("upstream {}", got.line)));
    let directory = root.path().display();
    let route = format!("[[routes]]\npath = \"/\"\ndirectory = \"{directory}\"\n{keys}\n");
    clear_gate(upstream, &format!("{route}\n{more}"))
}

/// A request with these fields, and its response.
pub fn ask(gate: &Gate, method: &str, path: &str, fields: &[&str]) -> Response {
    let mut connection = connect_plain(gate);
    ask_on(&mut connection, method, path, fields)
}

pub fn ask_on(
    connection: &mut BufReader<TcpStream>,
    method: &str,
    path: &str,
    fields: &[&str],
) -> Response {
    let fields: String = fields.iter().map(|field| format!("{field}\r\n")).collect();
    let request = format!("{method} {path} HTTP/1.1\r\nHost: shop\r\n{fields}\r\n");
    send(connection, request.as_bytes());
    receive(connection, method).unwrap()
}

pub fn field<'r>(response: &'r Response, name: &str) -> Option<&'r str> {
    let named = |line: &'r str| {
        let (key, value) = line.split_once(": ")?;
        key.eq_ignore_ascii_case(name).then_some(value)
    };
    response.head.lines().find_map(named)
}
