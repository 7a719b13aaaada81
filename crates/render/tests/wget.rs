//! The same site with wget: what a general crawler makes of it. Skipped where wget is missing.

mod common;

use std::process::Command;

use common::{Site, files, page, render, status, with};

#[test]
fn wget_saves_personal_pages_and_requests_one_page_twice() {
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
        "/set.png" => common::file("image/png", b"png"),
        "/robots.txt" => status(404),
        path if path.starts_with("/list") || path == "/only" => page("list"),
        _ => status(404),
    });
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("wget");
    let run = Command::new("wget")
        .args(["--mirror", "--convert-links", "--adjust-extension", "--page-requisites"])
        .args(["--no-host-directories", "--quiet", "--tries=1", "--directory-prefix"])
        .arg(&out)
        .arg(site.url.as_str())
        .output()
        .unwrap();
    drop(run);
    let requested = site.requested();
    let saved = files(&out);
    eprintln!("{requested:#?}\n{saved:#?}");
    render(&site.options(&folder.path().join("pages"))).unwrap();
    let ours = files(&folder.path().join("pages"));
    eprintln!("{:#?} {ours:#?}", site.requested());
    assert!(saved.contains_key("cart.html") && !ours.contains_key("cart.html"));
}
