//! Pages rendered ahead of time: the auction through the binary, exit codes, a full disk, and wget
//! on the same site.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::{Running, auction, tidegate, with_small_files};

/// Files of a folder without their compressed variants, with their texts.
fn pages(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for path in fs::read_dir(&at).unwrap().flatten().map(|it| it.path()) {
            match path.is_dir() {
                true => folders.push(path),
                false if path.extension().is_some_and(|it| it == "html") => {
                    let name = path.strip_prefix(folder).unwrap().display().to_string();
                    found.push((name, fs::read_to_string(&path).unwrap()));
                }
                false => {}
            }
        }
    }
    found.sort();
    found
}

/// The values of an attribute in a page.
fn values<'p>(page: &'p str, attribute: &str) -> Vec<&'p str> {
    let begins = format!(" {attribute}=\"");
    page.split(&begins).skip(1).filter_map(|it| it.split('"').next()).collect()
}

/// The auction, with its root and a folder for pages.
struct Auction {
    _site: Running,
    root: String,
    folder: tempfile::TempDir,
}

impl Auction {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let site = auction(&folder.path().join("data"));
        let root = format!("{}/", site.address("site"));
        Self { _site: site, root, folder }
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("pages")
    }

    /// Renders with more arguments: the run, and its result.
    fn render(&self, more: &[&str]) -> (Output, serde_json::Value) {
        let (out, json) = (self.out(), self.folder.path().join("result.json"));
        let (out, json) = (out.display().to_string(), json.display().to_string());
        // Its pages say that they are private, because a login changes their head.
        let fixed = ["render", "--out", &out, "--json", &json, "--rate", "5000", "--public", "*"];
        let run = tidegate(&[&fixed, more].concat());
        let result = fs::read_to_string(&json).unwrap_or_else(|_| "null".to_owned());
        (run, serde_json::from_str(&result).unwrap())
    }
}

#[test]
fn the_auction_is_rendered_with_links_that_lead_to_files() {
    let site = Auction::start();
    let (run, result) = site.render(&[&site.root, "--max-pages", "120"]);
    let said = String::from_utf8_lossy(&run.stdout).into_owned();
    assert_eq!(run.status.code(), Some(0), "{said}{}", String::from_utf8_lossy(&run.stderr));
    for word in ["found", "rendered", "unchanged", "beyond --max-pages"] {
        assert!(said.contains(word), "{word}: {said}");
    }
    assert!(result["pages"].as_u64().unwrap() > 20, "{said}");
    let all = pages(&site.out());
    assert!(all.iter().any(|it| it.0 == "index.html"));
    let mut links = 0;
    for (name, page) in &all {
        for link in values(page, "href").into_iter().filter(|it| it.starts_with('/')) {
            // What leads to a name with an ending is there.
            let path = link.split('#').next().unwrap().trim_start_matches('/');
            if path.ends_with(".html") || path.ends_with(".css") {
                assert!(site.out().join(path).is_file(), "{name} leads to {link}");
                links += 1;
            }
        }
        for form in values(page, "action") {
            assert!(!form.ends_with(".html"), "{name} sends a form to {form}");
        }
    }
    assert!(links > 100, "{links} links");
}

#[test]
fn pages_of_the_auction_that_do_not_change_are_those_of_the_site() {
    let site = Auction::start();
    let categories = format!("{}categories", site.root);
    // Others show how long an auction still lasts.
    let scope = ["--include", "/categories", "--include", "/regions", "--include", "/static/*"];
    let args = [&[categories.as_str()], &scope[..]].concat();
    let (run, first) = site.render(&args);
    assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stderr));
    assert_eq!(first["pages"], 2, "{first}");
    let before = pages(&site.out());
    let check = [&args[..], &["--check"]].concat();
    let (run, checked) = site.render(&check);
    assert_eq!(run.status.code(), Some(0), "{checked}");
    assert_eq!(checked["compared"], first["new"]);
    let (run, second) = site.render(&args);
    assert_eq!(run.status.code(), Some(0));
    assert_eq!((&second["unchanged"], &second["new"]), (&first["new"], &0.into()), "{second}");
    assert_eq!(pages(&site.out()), before);
    // Somebody edits a page.
    fs::write(site.out().join("categories.html"), "<p>edited").unwrap();
    let (run, checked) = site.render(&check);
    assert_eq!(run.status.code(), Some(1), "{checked}");
    assert_eq!(checked["differences"][0]["page"], "/categories");
    assert!(String::from_utf8_lossy(&run.stdout).contains("differ from the live site"));
}

#[test]
fn bad_flags_and_sites_are_told_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("pages").display().to_string();
    let ca = folder.path().join("none.pem").display().to_string();
    for (args, code, words) in [
        (vec!["http://192.0.2.1/"], 2, "--yes-this-is-mine"),
        (vec!["ftp://127.0.0.1/"], 2, "http:// or https://"),
        (vec!["127.0.0.1"], 2, "http://127.0.0.1:8080/"),
        (vec!["http://127.0.0.1:1/", "http://127.0.0.1:2/"], 2, "a run renders one site"),
        (vec!["http://127.0.0.1:1/", "--vary", "zone"], 2, "NAME=VALUE"),
        (vec!["http://127.0.0.1:1/", "--include", "cart"], 2, "must begin with / or *"),
        (vec!["https://127.0.0.1:1/", "--ca", &ca], 2, "none.pem"),
        (vec!["http://127.0.0.1:1/", "--check"], 2, "render it first"),
        (vec!["http://127.0.0.1:1/"], 3, "robots.txt"),
        (vec![], 2, "<URL|--sitemap"),
    ] {
        let run = tidegate(&[&["render", "--out", &out], &args[..]].concat());
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        let expected = said.contains(words) || words == "<URL|--sitemap" && said.contains("URL");
        assert!(expected, "{args:?}: {said}");
        assert_eq!(run.status.code(), Some(code), "{args:?}: {said}");
    }
}

#[test]
fn a_full_disk_is_told_and_the_pages_stay() {
    let site = Auction::start();
    let args = [site.root.as_str(), "--max-pages", "20"];
    assert_eq!(site.render(&args).0.status.code(), Some(0));
    let before = pages(&site.out());
    fs::remove_dir_all(site.folder.path().join("pages.render/bodies")).unwrap();
    let out = site.out().display().to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    command.args(["render", "--out", &out, "--public", "*"]).args(args);
    let run = with_small_files(&mut command, 600).output().unwrap();
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    assert_eq!(run.status.code(), Some(3), "{said}");
    assert!(said.contains("cannot write") && said.contains("were not touched"), "{said}");
    assert_eq!(pages(&site.out()), before);
    assert_eq!(site.render(&args).0.status.code(), Some(0), "with room again");
}
