//! What crawlers get wrong: for each page of `golden` the page that is rendered from it. In both
//! `HOST` stands for the host of the site.
//!
//! `UPDATE_GOLDEN=1 cargo test -p tidegate-render --test render golden` writes the rendered pages anew, to
//! be read before they are committed.

use std::fs;
use std::path::Path;

use crate::common::{Answer, Site, file, page, render, status, with};

/// Pages below /k are rendered, those below /d are not there, and /in has the cases.
fn answer(path: &str, cases: &[(String, Vec<u8>)], host: &str) -> Answer {
    let bare = path.split('?').next().unwrap();
    if let Some(name) = bare.strip_prefix("/in/") {
        let Some((_, bytes)) = cases.iter().find(|it| it.0 == name) else { return status(404) };
        if path != bare {
            return status(404);
        }
        return file(content_type(name), &replaced(bytes, "HOST", host));
    }
    match bare {
        "/" => page(
            &cases.iter().map(|it| format!("<a href=/in/{0}>{0}</a>\n", it.0)).collect::<String>(),
        ),
        "/k/moved" => with(status(301), "location", "/k/target#there"),
        "/k/twice" => with(status(308), "location", "moved"),
        "/k/temporary" => with(status(302), "location", "/k/target"),
        "/k/loop" => with(status(301), "location", "/k/loop"),
        "/k/leaves" => with(status(301), "location", "https://other.example/"),
        "/k/moved-to-nothing" => with(status(301), "location", "/d/nothing"),
        "/k/named" => with(page("named"), "render-as", "named/1.htm"),
        _ if bare.ends_with(".png") => file("image/png", b"png"),
        _ if bare.ends_with(".css") => file("text/css", b"a { b: c }"),
        _ if bare.ends_with(".mp4") => file("video/mp4", b"mp4"),
        _ if bare.ends_with(".svg") => file("image/svg+xml", b"<svg/>"),
        _ if bare.ends_with(".gz") => file("application/gzip", b"gz"),
        _ if bare.starts_with("/k/") || bare == "/up" => page("a page"),
        _ => status(404),
    }
}

fn content_type(case: &str) -> &'static str {
    match case {
        "latin1" => "text/html",
        "latin1_header" => "text/html; charset=ISO-8859-1",
        _ => "text/html; charset=utf-8",
    }
}

fn replaced(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    let mut rest = bytes;
    let mut all = Vec::new();
    while let Some(at) = rest.windows(from.len()).position(|it| it == from.as_bytes()) {
        all.extend_from_slice(&rest[..at]);
        all.extend_from_slice(to.as_bytes());
        rest = &rest[at + from.len()..];
    }
    all.extend_from_slice(rest);
    all
}

#[test]
fn each_case_is_rendered_as_its_file_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut cases: Vec<(String, Vec<u8>)> = fs::read_dir(&folder)
        .unwrap()
        .flatten()
        .filter_map(|it| {
            let name = it.file_name().into_string().unwrap();
            Some((name.strip_suffix(".in.html")?.to_owned(), fs::read(it.path()).unwrap()))
        })
        .collect();
    cases.sort();
    assert!(cases.len() > 20);
    let all = cases.clone();
    let site = Site::start(move |request| answer(&request.path, &all, &request.fields["host"]));
    let host = site.url.as_str().trim_start_matches("http://").trim_end_matches('/').to_owned();
    let out = tempfile::tempdir().unwrap();
    let out = out.path().join("pages");
    render(&site.options(&out)).unwrap();
    let mut wrong = Vec::new();
    for (name, _) in &cases {
        let written = fs::read(out.join(format!("in/{name}.html"))).unwrap();
        let written = replaced(&written, &host, "HOST");
        let place = folder.join(format!("{name}.out.html"));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&place, &written).unwrap();
        }
        let expected = fs::read(&place).unwrap_or_default();
        if expected != written {
            wrong.push(format!(
                "{name}: expected\n{}\nbut it is\n{}",
                String::from_utf8_lossy(&expected),
                String::from_utf8_lossy(&written)
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    // Served as they are and rendered again, they are the same.
    let again = out.with_file_name("again");
    let served = crate::common::serve(&out);
    render(&served.options(&again)).unwrap();
    let (before, after) = (crate::common::files(&out), crate::common::files(&again));
    for (name, text) in &after {
        assert_eq!(text, &before[name], "{name}");
    }
    for (name, _) in &cases {
        assert!(after.contains_key(&format!("in/{name}.html")), "{name} is rendered again");
    }
}
