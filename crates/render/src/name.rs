//! The file that a page is written to.

use std::collections::HashSet;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::hash;
use crate::key::Key;
use crate::media;

/// Longest name of a file or folder, in bytes, with room for what is added to it: file systems
/// allow 255.
const LONGEST: usize = 200;
/// As far as a longer one is kept, in bytes.
const KEPT: usize = 120;
/// Longest path, in bytes: systems allow 4096, of which others need a part.
const LONGEST_PATH: usize = 1000;
/// Letters beside those of Unicode that names keep: what no shell, URL or system reads otherwise.
const KEEPS: &str = "-_.~=,+@!$() ";
/// What is percent-encoded in addresses.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b'=')
    .remove(b',')
    .remove(b'+')
    .remove(b'@')
    .remove(b'!')
    .remove(b'$')
    .remove(b'(')
    .remove(b')');
/// Names that Windows keeps for devices.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// Where a page is written, and by which address it is requested from then on.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Name {
    /// Path of the file below the folder of all.
    pub file: String,
    /// The path of its URL.
    pub address: String,
}

impl Name {
    fn of(file: String) -> Self {
        let path = match file.strip_suffix("index.html") {
            Some(folder) if folder.is_empty() || folder.ends_with('/') => folder,
            _ => &file,
        };
        let parts = path.split('/').map(|it| utf8_percent_encode(it, ENCODED).to_string());
        let address = format!("/{}", parts.collect::<Vec<_>>().join("/"));
        Self { file, address }
    }
}

/// Names that are given, so that no two pages get one file. Names that differ in case alone count
/// as one: file systems differ.
#[derive(Debug, Default)]
pub struct Names {
    files: HashSet<String>,
    folders: HashSet<String>,
    reserved: HashSet<String>,
}

/// The files that a server looks for when a path is requested, the first of them first.
pub fn looked_for(key: &Key) -> Vec<String> {
    let path = key.path();
    let path = decoded(path.strip_prefix('/').unwrap_or(path));
    match path.is_empty() || path.ends_with('/') {
        true => vec![format!("{path}index.html")],
        false => vec![path.clone(), format!("{path}.html"), format!("{path}/index.html")],
    }
}

impl Names {
    /// The name of a page: the one that its server asks for, else by its URL. The order in which
    /// pages are named decides which of two keeps a name that both would have.
    pub fn give(&mut self, key: &Key, content_type: &str, asked: Option<&str>) -> Name {
        let wanted = asked.and_then(|it| by_wish(it, content_type));
        let file = wanted.unwrap_or_else(|| by_key(key, content_type));
        let (stem, extension) = media::split(&file);
        let mut number = 0_u32;
        let mut candidate = file.clone();
        while let Err(taken) = self.take(&candidate) {
            let mark = hash::short(&format!("{key} {number}"));
            candidate = match (taken, extension) {
                (Taken::Folder(end), _) => {
                    let (folder, rest) = candidate.split_at(end);
                    format!("{folder}~{}{rest}", hash::short(folder))
                }
                (Taken::Whole, "") => format!("{stem}~{mark}"),
                (Taken::Whole, extension) => format!("{stem}~{mark}.{extension}"),
            };
            number += 1;
        }
        Name::of(candidate)
    }

    /// Keeps names free that a server would take for this page, which has no file.
    pub fn reserve(&mut self, key: &Key) {
        if key.query().is_none() {
            self.reserved.extend(looked_for(key));
        }
    }

    /// Takes a name, if it is free.
    fn take(&mut self, file: &str) -> Result<(), Taken> {
        let lower = file.to_lowercase();
        let folders = || lower.match_indices('/').map(|(at, _)| &lower[..at]);
        if let Some(depth) = folders().position(|it| self.files.contains(it)) {
            let end = file.match_indices('/').nth(depth).map_or(file.len(), |(at, _)| at);
            return Err(Taken::Folder(end));
        }
        let is_taken = self.folders.contains(&lower) || self.files.contains(&lower);
        if is_taken || self.reserved.contains(file) {
            return Err(Taken::Whole);
        }
        self.folders.extend(folders().map(str::to_owned));
        self.files.insert(lower);
        Ok(())
    }
}

/// What of a name another page has.
enum Taken {
    Whole,
    /// The folder that ends here is another page's file.
    Folder(usize),
}

/// The file that a server asks for, with an extension that says its type. None if it is not a
/// path downwards.
fn by_wish(asked: &str, content_type: &str) -> Option<String> {
    let asked = percent_decode_str(asked.trim()).decode_utf8().ok()?;
    let path = asked.trim_start_matches('/');
    if path.split('/').any(|it| matches!(it, "" | "." | "..")) {
        return None;
    }
    let (folder, last) = path.rsplit_once('/').map_or(("", path), |(folder, last)| (folder, last));
    Some(assembled(folder.split('/').filter(|it| !it.is_empty()), last, None, content_type))
}

fn by_key(key: &Key, content_type: &str) -> String {
    let path = key.path().trim_start_matches('/');
    // Two slashes at the beginning are another path than one.
    let extra = key.path().len() - path.len() > 1;
    let (folder, last) = path.rsplit_once('/').unwrap_or(("", path));
    let last = if last.is_empty() { "index" } else { last };
    let folders = folder.split('/').filter(|_| !folder.is_empty()).map(decoded);
    let folders: Vec<String> = extra.then(String::new).into_iter().chain(folders).collect();
    let query = key.query().map(|it| decoded(&it.replace('&', ",")));
    let folders = folders.iter().map(String::as_str);
    assembled(folders, &decoded(last), query.as_deref(), content_type)
}

fn decoded(part: &str) -> String {
    percent_decode_str(part).decode_utf8_lossy().into_owned()
}

fn assembled<'f>(
    folders: impl Iterator<Item = &'f str>,
    last: &str,
    query: Option<&str>,
    content_type: &str,
) -> String {
    let mut parts: Vec<String> = folders.map(|it| safe(it, it)).collect();
    let added = media::extension_to_add(last, content_type);
    let (stem, extension) = match added {
        Some(extension) => (last, extension),
        None => media::split(last),
    };
    let name = match query {
        Some(query) => format!("{stem}~{query}"),
        None => stem.to_owned(),
    };
    let mut last = safe(&name, &name);
    if !extension.is_empty() {
        last = last + "." + &safe(extension, extension);
    }
    parts.push(last);
    for part in parts.iter_mut().filter(|it| it.starts_with('@')) {
        // Folders of variants begin so.
        *part = marked(&part[1..], part);
    }
    let path = parts.join("/");
    if path.len() <= LONGEST_PATH {
        return path;
    }
    let extension = media::split(&path).1;
    format!("long~{}{}.{extension}", hash::short(&path), hash::short(&format!("{path} ")))
}

/// A part of a path as every system can store it. What had to be changed is marked, so that two
/// that differ stay different.
fn safe(part: &str, whole: &str) -> String {
    let keep = |it: char| it.is_alphanumeric() || KEEPS.contains(it);
    let mut text: String = part.chars().map(|it| if keep(it) { it } else { '_' }).collect();
    let device = media::split(part).0.to_ascii_lowercase();
    let is_device = DEVICES.contains(&device.as_str())
        || ["com", "lpt"].iter().any(|it| {
            device
                .strip_prefix(it)
                .is_some_and(|it| it.len() == 1 && it.as_bytes()[0].is_ascii_digit())
        });
    let is_hidden = part.starts_with('.') && part != ".well-known";
    let ends_badly = part.ends_with(['.', ' ']) || part.starts_with(' ');
    if text.len() > LONGEST {
        let end = (0..=KEPT).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
    }
    if text == part && !is_device && !is_hidden && !ends_badly && !part.is_empty() {
        return text;
    }
    marked(text.trim_matches(['.', ' ']), whole)
}

fn marked(text: &str, whole: &str) -> String {
    let text = if text.is_empty() { "_" } else { text };
    format!("{text}~{}", hash::short(whole))
}

#[cfg(test)]
mod tests {
    use super::*;
    use url::Url;

    fn key(text: &str) -> Key {
        Key::of(&Url::parse("https://shop.test/").unwrap().join(text).unwrap())
    }

    fn file(text: &str, content_type: &str) -> String {
        Names::default().give(&key(text), content_type, None).file
    }

    #[test]
    fn a_file_is_where_the_gate_looks_for_the_path() {
        for (path, content_type, expected) in [
            ("/", "text/html", "index.html"),
            ("/a", "text/html", "a.html"),
            ("/a/", "text/html", "a/index.html"),
            ("/a/b.html", "text/html", "a/b.html"),
            ("/a.php", "text/html", "a.php.html"),
            ("/l?page=2&a=1", "text/html", "l~a=1,page=2.html"),
            ("/?page=2", "text/html", "index~page=2.html"),
            ("/s.css?v=3", "text/css", "s~v=3.css"),
            ("/logo", "image/svg+xml", "logo.svg"),
            ("/gr%C3%BCn", "text/html", "grün.html"),
            ("/.well-known/x.json", "application/json", ".well-known/x.json"),
        ] {
            assert_eq!(file(path, content_type), expected, "{path}");
        }
    }

    #[test]
    fn no_name_leaves_the_folder_or_is_one_that_a_system_refuses() {
        for path in [
            "/%2e%2e/%2e%2e/etc/passwd",
            "/..%2f..%2fetc",
            "/a%2Fb",
            "/a%00b",
            "/a:b*c?d=<e>|\\",
            "/con",
            "/AUX.txt",
            "/lpt1/x",
            "/x.",
            "/x%20",
            "/.htaccess",
            "//a",
            "/@zone=1/x",
            "/@x",
            "/%FF",
            "/a%0Ab",
            "/a/%2e/b",
        ] {
            for content_type in ["text/html", "application/x-foo"] {
                let file = file(path, content_type);
                for part in file.split('/') {
                    assert!(!part.is_empty() && !part.starts_with('.'), "{path}: {file}");
                    assert!(!part.ends_with(['.', ' ']), "{path}: {file}");
                    assert!(!part.contains(['\\', ':', '*', '?', '<', '|', '\0', '\n']), "{file}");
                    let stem = media::split(part).0.to_lowercase();
                    assert!(!["con", "aux", "lpt1"].contains(&stem.as_str()), "{path}: {file}");
                }
                assert!(!file.starts_with('@'), "{path}: {file}");
            }
        }
    }

    #[test]
    fn pages_that_differ_have_files_that_differ() {
        let mut names = Names::default();
        let paths = [
            "/a",
            "/a/",
            "/A",
            "/a.html",
            "/a%3Ab",
            "/a%3Cb",
            "/a%2Fb",
            "/a/b",
            "/a.html/c",
            "/x",
            "/x/y",
            "/l?a=1,b=2",
            "/l?a=1&b=2",
        ];
        let mut files: Vec<String> = paths
            .iter()
            .map(|path| names.give(&key(path), "text/html", None).file.to_lowercase())
            .collect();
        files.extend(["/x", "/x/z"].map(|it| names.give(&key(it), "a/b", None).file));
        let distinct: HashSet<&String> = files.iter().collect();
        assert_eq!(distinct.len(), files.len(), "{files:?}");
        for file in &files {
            let below = files.iter().find(|it| it.starts_with(&format!("{file}/")));
            assert_eq!(below, None, "{file} is a file and a folder");
        }
    }

    #[test]
    fn a_page_without_a_file_is_not_answered_with_that_of_another() {
        let mut names = Names::default();
        names.reserve(&key("/cart"));
        names.reserve(&key("/list?page=2"));
        for (path, expected) in [
            ("/cart.html", "cart~"),
            ("/cart/", "cart/index~"),
            ("/Cart", "Cart.html"),
            ("/list", "list.html"),
        ] {
            let file = names.give(&key(path), "text/html", None).file;
            assert!(file.starts_with(expected), "{path}: {file}");
        }
    }

    #[test]
    fn long_names_are_cut_and_stay_different() {
        let long = |end: &str| file(&format!("/{}{end}", "ä".repeat(300)), "text/html");
        assert!(long("b").len() < 255 && long("b") != long("c"), "{}", long("b"));
        let deep = |end: &str| file(&format!("/{}{end}", "abcdefghi/".repeat(500)), "text/html");
        assert!(deep("b").len() < 100 && deep("b") != deep("c"), "{}", deep("b"));
        assert!(deep("b").ends_with(".html"));
    }

    #[test]
    fn a_server_names_its_files_but_only_below_the_folder() {
        let mut names = Names::default();
        let mut give =
            |path: &str, asked: &str| names.give(&key(path), "text/html", Some(asked)).file;
        assert_eq!(give("/p?id=7", "products/7.html"), "products/7.html");
        assert_eq!(give("/p?id=8", "/products/8"), "products/8.html");
        assert_eq!(give("/p?id=9", "../9.html"), "p~id=9.html");
        assert_eq!(give("/p?id=10", "a//b"), "p~id=10.html");
        assert_eq!(give("/p?id=11", "%2e%2e/b"), "p~id=11.html");
        assert!(give("/p?id=12", "products/7.html").starts_with("products/7~"));
    }

    #[test]
    fn an_address_leads_to_the_file_and_has_the_same_file_again() {
        for path in ["/", "/a", "/b/", "/gr%C3%BCn?x=1&y=%2F", "/a%20b", "/c'd\"e", "/@x/y", "/con"]
        {
            let name = Names::default().give(&key(path), "text/html", None);
            assert!(name.address.is_ascii() && !name.address.contains(['"', '\'', '&', '?', ' ']));
            assert_eq!(file(&name.address, "text/html"), name.file, "{path}");
        }
    }
}
