//! Redirects that lead out of the target are failures of their own kind.

use std::time::Duration;

use crate::common::{Manner, Seen, Server, plan};
use tidegate_load::{Scenario, Summary, report, run};

fn moved(seen: &Seen) -> (&'static str, String, String) {
    let to = |status, location: &str| (status, format!("Location: {location}\r\n"), String::new());
    match seen.path.as_str() {
        "/" => to("301 Moved Permanently", "https://www.shop.test/?from=/"),
        "/plain" => to("302 Found", "http://127.0.0.1/plain"),
        "/first" => to("302 Found", "/second"),
        "/second" => to("303 See Other", "https://www.shop.test/"),
        "/latin" => to("302 Found", "/k\u{f6}ln?caf\u{e9}"),
        "/k%F6ln?caf%E9" => ("200 OK", String::new(), String::new()),
        "/nowhere" => to("302 Found", "http://["),
        "/loop" => to("302 Found", "/loop"),
        other => panic!("nobody was led to {other}"),
    }
}

fn visit(page: &str, session: &str) -> (Summary, Server) {
    let server = Server::with_site(Manner::Answer { after: Duration::ZERO }, moved);
    let text = format!("[session]\nsteps = [\"Home\"]\n{session}\n[pages]\nHome = {{ {page} }}\n");
    let scenario = Scenario::from_toml(&text, "shop.toml").unwrap();
    let summary = run(plan(scenario, &server, 200.0, 4), &mut |_| ()).unwrap();
    (summary, server)
}

#[test]
fn a_redirect_to_another_origin_is_no_success_and_its_location_is_told_once() {
    let (summary, server) = visit("path = \"/\"", "");
    let totals = &summary.totals;
    assert_eq!((totals.completed, totals.requests_ok, totals.requests_failed), (0, 0, 4));
    assert_eq!(totals.failed_by_kind.get("redirect_elsewhere"), Some(&4), "{totals:?}");
    assert_eq!((totals.failed_by_kind.len(), totals.redirects), (1, 0));
    assert_eq!(totals.responses_by_class.get("3xx"), Some(&4));
    let [check] = &summary.failed_checks[..] else { panic!("{:?}", summary.failed_checks) };
    assert_eq!((&*check.kind, check.count), ("redirect_elsewhere", 4));
    assert_eq!(check.example, "status 301 to https://www.shop.test/");
    let text = report(&summary);
    let told = "redirects       4 answers of Home lead to another origin and are not followed: \
                status 301 to https://www.shop.test/. If that is your service, measure it with \
                --target https://www.shop.test\n";
    assert!(text.replace("\n                ", " ").contains(told), "{text}");
    assert_eq!(text.matches("https://www.shop.test/").count(), 1, "{text}");
    assert_eq!(server.paths(), ["/"; 4]);
}

#[test]
fn a_redirect_to_another_scheme_of_the_same_host_names_the_target_to_use() {
    let (summary, _) = visit("path = \"/plain\"", "");
    assert_eq!(summary.totals.failed_by_kind.get("redirect_elsewhere"), Some(&4));
    let text = report(&summary).replace("\n                ", " ");
    let told = "status 302 to http://127.0.0.1/plain. The site moves its customers there: measure \
                it with --target http://127.0.0.1\n";
    assert!(text.contains(told), "{text}");
}

#[test]
fn a_redirect_within_the_site_is_followed_until_it_leads_out() {
    let (summary, server) = visit("path = \"/first\"", "");
    assert_eq!(summary.totals.failed_by_kind.get("redirect_elsewhere"), Some(&4));
    assert_eq!(summary.totals.redirects, 4);
    assert_eq!(server.paths().iter().filter(|path| *path == "/second").count(), 4);
}

#[test]
fn redirects_without_end_are_a_failure_of_their_own() {
    let (summary, server) = visit("path = \"/loop\"", "");
    assert_eq!(summary.totals.failed_by_kind.get("redirect_loop"), Some(&4));
    // Each customer's request, and five redirects.
    assert_eq!((summary.totals.requests_ok, server.seen().len()), (0, 24));
}

#[test]
fn a_page_that_expects_a_redirect_elsewhere_succeeds() {
    for (page, session) in [
        ("path = \"/\", check = { status = [301] }", ""),
        ("path = \"/\"", "follow_redirects = false"),
    ] {
        let (summary, _) = visit(page, session);
        assert_eq!((summary.totals.completed, summary.totals.failed), (4, 0), "{page} {session}");
        assert!(summary.failed_checks.is_empty());
    }
}

#[test]
fn a_location_beyond_ascii_is_followed_as_browsers_do() {
    let (summary, server) = visit("path = \"/latin\"", "");
    let totals = &summary.totals;
    assert_eq!((totals.completed, totals.redirects), (4, 4), "{totals:?}");
    assert_eq!(server.paths().iter().filter(|path| *path == "/k%F6ln?caf%E9").count(), 4);
    let text = report(&summary);
    assert!(text.contains("redirects       4 followed, each a further request"), "{text}");
}

#[test]
fn a_location_that_is_no_address_is_a_failure() {
    let (summary, _) = visit("path = \"/nowhere\"", "");
    assert_eq!(summary.totals.failed_by_kind.get("redirect_elsewhere"), Some(&4));
    let text = report(&summary).replace("\n                ", " ");
    assert!(text.contains("status 302 to http://[. A customer cannot request that."), "{text}");
}
