//! Whole runs against sites that do what crawlers stumble over.

use std::fs;
use std::io::Read as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::{Site, file, files, page, render, serve, status, with};
use tidegate_render::{Error, Options, Summary, Vary};

/// Reasons with their counts.
fn skipped(summary: &Summary) -> Vec<(&str, u64)> {
    let mut all: Vec<(&str, u64)> =
        summary.skipped.iter().map(|it| (it.why.as_str(), it.count)).collect();
    all.sort();
    all
}

/// A small shop: pages, a list of pages, a style sheet, an image, a cart.
fn shop() -> Site {
    Site::start(|request| match request.path.as_str() {
        "/" => page(
            "<!doctype html><link rel=stylesheet href=style.css?v=1><a href=list?page=1>list</a>\
             <a href='cart'>cart</a><form><input></form><a href=/old>old</a>",
        ),
        "/list?page=1" => page("<a href='?page=2'>next</a><a href='product/1#top'>one</a>"),
        "/list?page=2" => page("<a href='?page=1'>back</a><a href='product/2'>two</a>"),
        "/product/1" => page(&("<img src='/img/1.png'>".to_owned() + &"long text ".repeat(200))),
        "/product/2" => page("<a href='/list?page=1'>ä</a>"),
        "/style.css?v=1" => file("text/css", b"a { background: url(img/1.png) }"),
        "/img/1.png" => file("image/png", b"\x89PNG"),
        "/old" => with(status(301), "location", "/product/2#new"),
        "/cart" => with(page("<a href=/checkout>pay</a>"), "set-cookie", "basket=1"),
        "/robots.txt" => status(404),
        other => panic!("{other} was requested"),
    })
}

#[test]
fn pages_lead_to_each_other_and_what_is_personal_stays_dynamic() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("pages");
    let site = shop();
    let summary = render(&site.options(&out)).unwrap();
    let files = files(&out);
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "img/1.png",
            "index.html",
            "list~page=1.html",
            "list~page=2.html",
            "product/1.html",
            "product/2.html",
            "style~v=1.css"
        ]
    );
    assert_eq!(
        files["index.html"],
        "<!doctype html><link rel=stylesheet href=\"/style~v=1.css\"><a href=\"/list~page=1.html\">list</a>\
         <a href='/cart'>cart</a><form><input></form><a href=\"/product/2.html#new\">old</a>"
    );
    assert_eq!(
        files["list~page=1.html"],
        "<a href='/list~page=2.html'>next</a><a href='/product/1.html#top'>one</a>"
    );
    assert_eq!(files["style~v=1.css"], "a { background: url(\"/img/1.png\") }");
    assert_eq!(
        files["product/2.html"],
        "<meta charset=\"utf-8\"><a href='/list~page=1.html'>ä</a>"
    );
    assert_eq!((summary.pages, summary.files, summary.redirects, summary.new), (5, 2, 1, 7));
    assert_eq!(skipped(&summary), [("sets a cookie", 1)]);
    assert_eq!(summary.found, 9);
}

#[test]
fn compressed_variants_hold_the_same_page() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("pages");
    render(&shop().options(&out)).unwrap();
    let plain = fs::read(out.join("product/1.html")).unwrap();
    let mut text = Vec::new();
    let packed = fs::read(out.join("product/1.html.gz")).unwrap();
    flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut text).unwrap();
    assert_eq!(text, plain);
    text.clear();
    let packed = fs::read(out.join("product/1.html.br")).unwrap();
    assert!(packed.len() < plain.len() / 10);
    brotli_decompressor::Decompressor::new(&packed[..], 4096).read_to_end(&mut text).unwrap();
    assert_eq!(text, plain);
    assert!(!out.join("index.html.br").exists(), "short files are not compressed");
}

#[test]
fn a_rendered_site_rendered_again_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (out, again) = (folder.path().join("pages"), folder.path().join("again"));
    render(&shop().options(&out)).unwrap();
    let summary = render(&serve(&out).options(&again)).unwrap();
    assert_eq!(files(&again), files(&out));
    assert_eq!(summary.pages, 5);
}

#[test]
fn links_keep_their_urls_where_a_server_finds_the_file_by_them() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("pages");
    let site = shop();
    let options = Options { keep_urls: true, ..site.options(&out) };
    render(&options).unwrap();
    let files = files(&out);
    assert!(files["index.html"].contains("<a href=\"/product/2#new\">old</a>"));
    assert_eq!(
        files["list~page=1.html"],
        "<a href='/list~page=2.html'>next</a><a href='/product/1#top'>one</a>"
    );
    assert!(out.join("product/1.html").is_file());
}

#[test]
fn the_next_run_writes_what_changed_and_removes_what_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("pages");
    let run = Arc::new(AtomicUsize::new(0));
    let at = run.clone();
    let site = Site::start(move |request| {
        let later = at.load(Ordering::Relaxed) > 0;
        if request.fields.contains_key("if-none-match") {
            assert_eq!(request.path, "/tagged");
            return with(status(304), "etag", "\"1\"");
        }
        match request.path.as_str() {
            "/" if later => page("<a href=tagged></a><a href=same></a><a href=new></a>"),
            "/" => page("<a href=tagged></a><a href=same></a><a href=gone></a>"),
            "/tagged" => with(page("<a href=same></a>"), "etag", "\"1\""),
            "/same" | "/gone" | "/new" => page("text"),
            _ => status(404),
        }
    });
    let first = render(&site.options(&out)).unwrap();
    assert_eq!((first.new, first.unchanged), (4, 0));
    let inode = |file: &str| {
        use std::os::unix::fs::MetadataExt as _;
        fs::metadata(out.join(file)).unwrap().ino()
    };
    let before = inode("tagged.html");
    run.store(1, Ordering::Relaxed);
    let second = render(&site.options(&out)).unwrap();
    assert_eq!((second.new, second.changed, second.unchanged, second.removed), (1, 1, 2, 1));
    assert_eq!(inode("tagged.html"), before, "an unchanged page is the same file");
    let names: Vec<String> = files(&out).into_keys().collect();
    assert_eq!(names, ["index.html", "new.html", "same.html", "tagged.html"]);
    assert_eq!(files(&out)["tagged.html"], "<a href=\"/same.html\"></a>");
}

struct StopAfter(usize, usize);

impl tidegate_render::Watch for StopAfter {
    fn is_stopped(&self) -> bool {
        self.1 >= self.0
    }

    fn progress(&mut self, answers: usize, _: usize) {
        self.1 = answers;
    }
}

#[test]
fn a_run_that_was_stopped_is_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("pages");
    let site = Site::start(|request| match request.path.trim_start_matches('/').parse::<u32>() {
        Ok(at) if at < 20 => page(&format!("<a href=/{}>next</a>", at + 1)),
        Ok(_) => page("the end"),
        Err(_) if request.path == "/" => page("<a href=/1>first</a>"),
        Err(_) => status(404),
    });
    let options = site.options(&out);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let stopped = runtime.block_on(tidegate_render::render(&options, &mut StopAfter(10, 0)));
    let error = stopped.unwrap_err();
    assert!(matches!(error, Error::Stopped(10)), "{error}");
    assert!(!out.exists(), "nothing is shown before all is there");
    assert_eq!(site.requested().len(), 11, "with robots.txt");
    // A line that was cut off in its middle.
    let journal = folder.path().join("pages.render/journal");
    let text = fs::read(&journal).unwrap();
    fs::write(&journal, &text[..text.len() - 9]).unwrap();
    let summary = render(&options).unwrap();
    assert_eq!((summary.resumed, summary.answers, summary.pages), (9, 12, 21));
    assert!(!site.requested().contains(&"/3".to_owned()));
    assert!(!journal.exists());
}

#[test]
fn each_value_of_the_cookie_has_the_pages_that_differ() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("pages");
    let site = Site::start(|request| {
        let zone = request.fields.get("cookie").map_or("0", |it| it.strip_prefix("zone=").unwrap());
        let by_zone = |answer| with(answer, "vary", "Cookie");
        match request.path.as_str() {
            "/" => page("<a href=price></a><a href=same></a><a href=only></a><img src=a.png>"),
            "/price" => by_zone(page(&format!("zone {zone}<a href=/two></a>"))),
            "/same" => by_zone(page("same")),
            "/only" if zone == "2" => status(404),
            "/only" => page("not in zone 2"),
            "/two" if zone == "2" => page("only in zone 2"),
            "/a.png" => file("image/png", b"png"),
            _ => status(404),
        }
    });
    let mut options = site.options(&out);
    options.vary = Some(Vary::parse("zone=1,2").unwrap());
    let summary = render(&options).unwrap();
    let files = files(&out);
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "@zone=1/index.html",
            "@zone=1/only.html",
            "@zone=1/price.html",
            "@zone=2/price.html",
            "@zone=2/two.html",
            "a.png",
            "index.html",
            "price.html",
            "same.html"
        ]
    );
    assert_eq!(files["price.html"], "zone 0<a href=/two></a>");
    assert_eq!(files["@zone=2/price.html"], "zone 2<a href=\"/two.html\"></a>");
    assert!(files["index.html"].contains("\"/only\""), "{}", files["index.html"]);
    assert!(files["@zone=1/index.html"].contains("\"/only.html\""));
    // A visitor of zone 2 would get it.
    assert!(skipped(&summary).contains(&("not a page with zone=2", 1)));
    let own: Vec<u64> = summary.variants.iter().map(|it| it.files).collect();
    assert_eq!(own, [3, 2]);
    assert_eq!(site.requested().iter().filter(|it| *it == "/a.png").count(), 1);
}

#[test]
fn a_folder_with_files_of_others_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("pages");
    fs::create_dir(&out).unwrap();
    fs::write(out.join("thesis.txt"), "years of work").unwrap();
    let site = shop();
    let error = render(&site.options(&out)).unwrap_err();
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("thesis.txt"), "{error}");
    fs::remove_file(out.join("thesis.txt")).unwrap();
    render(&site.options(&out)).unwrap();
    fs::write(out.join("index.html.br"), "a variant").unwrap();
    render(&site.options(&out)).unwrap();
}

#[test]
fn a_file_that_cannot_be_written_is_named_and_the_pages_stay() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("pages");
    let site = shop();
    render(&site.options(&out)).unwrap();
    let before = files(&out);
    let bodies = folder.path().join("pages.render/bodies");
    fs::remove_dir_all(&bodies).unwrap();
    fs::write(&bodies, "in the way").unwrap();
    let error = render(&site.options(&out)).unwrap_err();
    assert_eq!(error.exit_code(), 3);
    let text = error.to_string();
    assert!(text.contains("pages.render/bodies") && text.contains("not touched"), "{text}");
    assert_eq!(files(&out), before);
}

#[test]
fn a_check_tells_which_pages_differ_from_the_live_ones() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("pages");
    let state = Arc::new(AtomicUsize::new(0));
    let at = state.clone();
    let site = Site::start(move |request| {
        let state = at.load(Ordering::Relaxed);
        let again = if state == 2 { at.fetch_add(0, Ordering::Relaxed) } else { 0 };
        match request.path.as_str() {
            "/" => page("<a href=/a></a><a href=/b></a><a href=/gone></a>"),
            "/a" if state > 0 => page("new"),
            "/a" | "/b" => page(&format!("old {again}")),
            "/gone" if state > 0 => status(404),
            "/gone" => page("x"),
            _ => status(404),
        }
    });
    let options = site.options(&out);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let check = |options: &Options| runtime.block_on(tidegate_render::check(options, &mut ()));
    assert_eq!(check(&options).unwrap_err().exit_code(), 2);
    render(&options).unwrap();
    let checked = check(&options).unwrap();
    assert_eq!((checked.compared, checked.differences.len()), (4, 0));
    state.store(1, Ordering::Relaxed);
    let checked = check(&options).unwrap();
    let differences: Vec<(&str, &str)> =
        checked.differences.iter().map(|it| (it.page.as_str(), it.why.as_str())).collect();
    assert_eq!(differences, [("/a", "changed since it was rendered"), ("/gone", "status 404")]);
}

#[test]
fn a_sitemap_names_pages_that_no_link_leads_to() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("pages");
    let site = Site::start(|request| {
        let host = &request.fields["host"];
        match request.path.as_str() {
            "/sitemap.xml" => file(
                "application/xml",
                format!(
                    "<sitemapindex><sitemap><loc>http://{host}/pages.xml</loc></sitemap></sitemapindex>"
                )
                .as_bytes(),
            ),
            "/pages.xml" => file(
                "application/xml",
                format!("<urlset><url><loc>http://{host}/hidden?a=1&amp;b=2</loc></url></urlset>")
                    .as_bytes(),
            ),
            "/hidden?a=1&b=2" => page("found"),
            _ => status(404),
        }
    });
    let mut options = site.options(&out);
    options.roots.clear();
    options.sitemaps = vec![site.url.join("/sitemap.xml").unwrap()];
    assert_eq!(render(&options).unwrap().pages, 1);
    assert_eq!(files(&out)["hidden~a=1,b=2.html"], "found");
}

#[test]
fn two_runs_at_a_time_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("pages");
    let site = shop();
    let lock = folder.path().join("pages.render/lock");
    fs::create_dir(lock.parent().unwrap()).unwrap();
    let held = fs::File::create(&lock).unwrap();
    held.lock().unwrap();
    let error = render(&site.options(&out)).unwrap_err();
    assert!(error.to_string().contains("another run"), "{error}");
}
