//! The same site with wget: what a general crawler makes of it. Skipped where wget is missing.

use std::process::Command;

use crate::common::{Site, files, page, render, status, with};

#[test]
fn wget_saves_personal_pages_ties_forms_to_the_host_and_requests_one_page_twice() {
    if Command::new("wget").arg("--version").output().is_err() {
        eprintln!("skipped: wget is missing");
        return;
    }
    let site = Site::start(|request| match request.path.as_str() {
        "/" => page(
            "<!doctype html><title>x</title><a href='/list?b=2&amp;a=1'>1</a> <a href='/list?a=1&amp;b=2'>2</a>\
             <a href=/cart>cart</a><noscript><a href=/only>n</a></noscript>\
             <style>p { background: image-set('/set.png' 1x) }</style>\
             <form action=/list><input name=a></form>",
        ),
        "/cart" => with(page("yours"), "set-cookie", "basket=1"),
        "/set.png" => crate::common::file("image/png", b"png"),
        "/robots.txt" => status(404),
        path if path.starts_with("/list") || path == "/only" => page("list"),
        _ => status(404),
    });
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("wget");
    Command::new("wget")
        .args(["--mirror", "--convert-links", "--adjust-extension", "--page-requisites"])
        .args(["--no-host-directories", "--quiet", "--tries=1", "--directory-prefix"])
        .arg(&out)
        .arg(site.url.as_str())
        .output()
        .unwrap();
    let lists = |requested: &[String]| requested.iter().filter(|it| it.contains("/list")).count();
    let (theirs, saved) = (site.requested(), files(&out));
    assert_eq!(lists(&theirs), 2, "two orders of the same parameters");
    assert!(saved.contains_key("cart.html"), "a page of one visitor");
    assert!(!theirs.contains(&"/set.png".to_owned()), "an image in image-set()");
    let form = format!("action=\"{}list\"", site.url);
    assert!(saved["index.html"].contains(&form), "a form is sent to the host of the crawl");
    let out = folder.path().join("pages");
    render(&site.options(&out)).unwrap();
    let (ours, saved) = (site.requested(), files(&out));
    assert_eq!(lists(&ours), 1);
    assert!(!saved.contains_key("cart.html"));
    assert!(ours.contains(&"/set.png".to_owned()));
    assert!(saved["index.html"].contains("action=/list"));
}
