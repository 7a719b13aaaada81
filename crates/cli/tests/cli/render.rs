//! Pages rendered ahead of time: the auction through the binary, exit codes, a full disk, and wget
//! on the same site.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{auction, tidegate, with_small_files};

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

fn json(path: &Path) -> serde_json::Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn the_auction_is_rendered_checked_and_rendered_again_without_change() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let site = auction(&data);
    let root = format!("{}/", site.address("site"));
    let out = folder.path().join("pages");
    let result = folder.path().join("result.json");
    let (out_text, result_text) = (out.display().to_string(), result.display().to_string());
    let args = |more: &'static str| {
        let mut args = vec!["render", &root, "--out", &out_text, "-k", "--rate", "5000"];
        // Its pages say that they are private, because a login changes their head.
        args.extend(["--json", &result_text, "--max-pages", "300", "--public", "*"]);
        args.extend(more.split_whitespace());
        args
    };
    let run = tidegate(&args(""));
    let said = String::from_utf8_lossy(&run.stdout).into_owned();
    assert_eq!(run.status.code(), Some(0), "{said}{}", String::from_utf8_lossy(&run.stderr));
    for word in ["found", "rendered", "unchanged", "dynamic"] {
        assert!(said.contains(word), "{word}: {said}");
    }
    let first = json(&result);
    let count = |result: &serde_json::Value, name: &str| result[name].as_u64().unwrap();
    assert!(count(&first, "pages") > 20, "{said}");
    let all = pages(&out);
    assert!(all.iter().any(|it| it.0 == "index.html"), "{all:?}");
    let mut rendered = 0;
    for (name, page) in &all {
        for link in values(page, "href").into_iter().filter(|it| it.starts_with('/')) {
            let path = link.split('#').next().unwrap().trim_start_matches('/');
            // What leads to a page with an ending is there.
            if path.ends_with(".html") || path.ends_with(".css") {
                let path = path.replace("%20", " ");
                assert!(out.join(&path).is_file(), "{name} leads to {link}");
                rendered += 1;
            }
        }
        for form in values(page, "action") {
            assert!(!form.ends_with(".html"), "{name} sends a form to {form}");
        }
    }
    assert!(rendered > 100, "{rendered} links");
    let checked = tidegate(&args("--check"));
    assert_eq!(checked.status.code(), Some(0), "{}", String::from_utf8_lossy(&checked.stdout));
    let again = tidegate(&args(""));
    assert_eq!(again.status.code(), Some(0));
    let second = json(&result);
    assert_eq!((count(&second, "new"), count(&second, "changed")), (0, 0), "{second}");
    assert_eq!(count(&second, "unchanged"), count(&first, "new"));
    assert_eq!(pages(&out), all);
    // Somebody edits a page.
    fs::write(out.join("index.html"), "<p>edited").unwrap();
    let checked = tidegate(&args("--check"));
    assert_eq!(checked.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&checked.stdout).contains("1 of"), "{checked:?}");
    assert_eq!(json(&result)["differences"][0]["page"], "/");
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
    let folder = tempfile::tempdir().unwrap();
    let site = auction(&folder.path().join("data"));
    let root = format!("{}/", site.address("site"));
    let out = folder.path().join("pages");
    let out_text = out.display().to_string();
    let args = [
        "render",
        &root,
        "--out",
        &out_text,
        "--rate",
        "5000",
        "--max-pages",
        "20",
        "--public",
        "*",
    ];
    assert_eq!(tidegate(&args).status.code(), Some(0));
    let before = pages(&out);
    fs::remove_dir_all(folder.path().join("pages.render/bodies")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    let run = with_small_files(command.args(args), 600).output().unwrap();
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    assert_eq!(run.status.code(), Some(3), "{said}");
    assert!(said.contains("cannot write") && said.contains("were not touched"), "{said}");
    assert_eq!(pages(&out), before);
    assert_eq!(tidegate(&args).status.code(), Some(0), "with room again");
}
