//! Whole runs against sites that are busy, ill, endless or hostile.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::{Site, file, files, page, render, status, with};
use tidegate_render::{Pattern, Summary};

/// Reasons with their counts.
fn skipped(summary: &Summary) -> Vec<(&str, u64)> {
    let mut all: Vec<(&str, u64)> =
        summary.skipped.iter().map(|it| (it.why.as_str(), it.count)).collect();
    all.sort();
    all
}

fn patterns(texts: &[&str]) -> Vec<Pattern> {
    texts.iter().map(|it| Pattern::parse(it).unwrap()).collect()
}

#[test]
fn pages_that_the_operator_calls_public_are_rendered_whatever_they_say() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("pages");
    let site = Site::start(|request| match request.path.as_str() {
        "/" => with(page("<a href=/a?b></a><a href=/c></a>"), "cache-control", "private"),
        "/a?b" => with(with(page("a"), "set-cookie", "session=1"), "vary", "Cookie"),
        "/c" => with(page("c"), "cache-control", "no-store"),
        _ => status(404),
    });
    let mut options = site.options(&out);
    assert!(render(&options).unwrap_err().to_string().contains("Cache-Control: private"));
    options.public = patterns(&["/", "/a"]);
    let summary = render(&options).unwrap();
    assert_eq!(files(&out).into_keys().collect::<Vec<_>>(), ["a~b.html", "index.html"]);
    assert_eq!(skipped(&summary), [("Cache-Control: no-store", 1)]);
}

#[test]
fn what_a_site_asks_of_robots_and_of_hurried_clients_is_kept_to() {
    let folder = tempfile::tempdir().unwrap();
    let busy = Arc::new(AtomicUsize::new(0));
    let times = busy.clone();
    let site = Site::start(move |request| match request.path.as_str() {
        "/robots.txt" => file("text/plain", b"User-agent: *\nDisallow: /cart\n"),
        "/" => page("<a href=/cart></a><a href=/busy></a><a href=/long></a>"),
        "/busy" if times.fetch_add(1, Ordering::Relaxed) < 2 => {
            with(status(429), "retry-after", "0")
        }
        "/busy" => page("at last"),
        "/long" => with(status(503), "retry-after", "86400"),
        other => panic!("{other} was requested"),
    });
    let summary = render(&site.options(&folder.path().join("pages"))).unwrap();
    assert_eq!(summary.pages, 2);
    assert_eq!(
        skipped(&summary),
        [("disallowed by robots.txt", 1), ("the site is busy (status 503)", 1)]
    );
    assert_eq!(busy.load(Ordering::Relaxed), 3);
}

#[test]
fn a_site_without_end_is_rendered_within_its_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let site = Site::start(|request| {
        let day: u64 = request.path.trim_start_matches("/day/").parse().unwrap_or(0);
        page(&format!("<a href=/day/{}></a><a href=/other/{day}/x></a>", day + 1))
    });
    let mut options = site.options(&folder.path().join("pages"));
    options.ignore_robots = true;
    options.scope.exclude = patterns(&["/other/*"]);
    options.max_pages = 20;
    let summary = render(&options).unwrap();
    assert_eq!((summary.pages, summary.answers), (20, 20));
    assert_eq!(skipped(&summary), [("beyond --max-pages", 1), ("out of scope", 20)]);
    options.max_depth = 5;
    let summary = render(&options).unwrap();
    assert_eq!((summary.pages, summary.removed), (6, 14));
}

#[test]
fn hostile_answers_are_skipped_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("pages");
    let links =
        ["endless", "bomb", "loop/a", "leaves", "now", "error", "private", "many", "../../up"];
    let start: String = links.iter().map(|it| format!("<a href=\"/{it}\"></a>")).collect();
    let site = Site::start(move |request| match request.path.as_str() {
        "/" => page(&start),
        "/endless" => with(file("text/html", &vec![b'a'; 3 << 20]), "content-length", "99999999"),
        "/bomb" => with(page("x"), "content-encoding", "gzip"),
        "/loop/a" => with(status(301), "location", "b"),
        "/loop/b" => with(status(301), "location", "a"),
        "/leaves" => with(status(301), "location", "https://example.com/"),
        "/now" => with(status(302), "location", "/login"),
        "/error" => status(500),
        "/private" => with(page("x"), "cache-control", "private, max-age=0"),
        "/many" => page(&(0..20_000).map(|it| format!("<a href=/n/{it}>")).collect::<String>()),
        "/up" => with(page("up"), "render-as", "../../up.html"),
        _ => status(404),
    });
    let mut options = site.options(&out);
    options.largest = 2 << 20;
    options.concurrency = 1;
    options.max_pages = 12;
    let summary = render(&options).unwrap();
    let names: Vec<String> = files(&out).into_keys().collect();
    assert_eq!(names, ["index.html", "many.html", "up.html"]);
    let reasons: Vec<&str> = skipped(&summary).into_iter().map(|it| it.0).collect();
    assert_eq!(
        reasons,
        [
            "Cache-Control: private",
            "beyond --max-pages",
            "encoded without being asked to",
            "larger than --largest",
            "redirect to another site",
            "redirects in a loop",
            "status 404",
            "status 500",
            "temporary redirect (302)"
        ]
    );
    assert!(summary.found > 19_990, "{}", summary.found);
    let above: Vec<_> = fs::read_dir(folder.path()).unwrap().flatten().collect();
    assert_eq!(above.len(), 2, "the pages and what is kept beside them: {above:?}");
}

#[test]
fn pages_of_the_last_run_stay_while_the_site_is_ill() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("pages");
    let ill = Arc::new(AtomicUsize::new(0));
    let state = ill.clone();
    let site = Site::start(move |request| match (state.load(Ordering::Relaxed), &*request.path) {
        (2, "/") => status(404),
        (_, "/") => page("<a href=/a></a>"),
        (0, "/a") => page("<a href=/b></a>"),
        (_, "/a") => status(500),
        (_, "/b") => page("b"),
        _ => status(404),
    });
    render(&site.options(&out)).unwrap();
    let before = files(&out);
    ill.store(1, Ordering::Relaxed);
    let summary = render(&site.options(&out)).unwrap();
    assert_eq!((summary.kept, summary.unchanged), (1, 3));
    assert_eq!(files(&out), before);
    // A site that has nothing left is more likely broken than empty.
    ill.store(2, Ordering::Relaxed);
    let error = render(&site.options(&out)).unwrap_err();
    assert_eq!(error.exit_code(), 3);
    assert!(error.to_string().contains("status 404"), "{error}");
    assert_eq!(files(&out), before);
}

#[test]
fn a_site_that_goes_down_ends_the_run_and_not_the_pages() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("pages");
    let down = Arc::new(AtomicUsize::new(0));
    let state = down.clone();
    let links: String = (0..40).map(|it| format!("<a href=/p{it}></a>")).collect();
    let site = Site::start(move |request| match request.path.as_str() {
        "/" => page(&links),
        "/robots.txt" => status(404),
        // Shorter than it says: no complete answer.
        _ if state.load(Ordering::Relaxed) > 0 => (0, vec![], vec![]),
        _ => page("text"),
    });
    render(&site.options(&out)).unwrap();
    let before = files(&out);
    down.store(1, Ordering::Relaxed);
    let mut options = site.options(&out);
    options.concurrency = 40;
    let error = render(&options).unwrap_err();
    assert_eq!(error.exit_code(), 3);
    assert!(error.to_string().contains("20 requests in a row"), "{error}");
    assert_eq!(files(&out), before);
    down.store(0, Ordering::Relaxed);
    let summary = render(&options).unwrap();
    assert_eq!((summary.resumed, summary.unchanged), (1, 41));
}
