//! What the last page offers decides the next request.

use std::time::Duration;

use crate::common::{Manner, Seen, Server, plan};
use tidegate_load::{Scenario, Summary, run};

const SHOP: &str = r#"
[session]
start = "Home"
think = "1ms"
max_requests = 60
customers = 9
[fields]
nickname = "user{customer}"
[parameters]
page = { uniform = [1, 5] }
[pages]
Home = { path = "/?page={page}" }
Item = { link = "/items/{item}" }
Login = { link = "/items/{item}/buy", ids = "/items/{item}" }
Buy = { form = "/items/{item}/buy" }
[transitions]
Home = { Item = 0.7, Login = 0.3 }
Item = { Login = 0.5, Back = 0.3, Home = 0.1, Item = 0.1 }
Login = { Buy = 1 }
Buy = { Home = 0.9, End = 0.1 }
"#;

/// A shop of items 10 to 19, each page of the home page showing two.
fn shop(seen: &Seen) -> (&'static str, String, String) {
    let (path, query) = seen.path.split_once('?').unwrap_or((&seen.path, ""));
    let ok = |body: String| ("200 OK", String::new(), body);
    if path == "/" {
        let page: u32 = query.strip_prefix("page=").unwrap().parse().unwrap();
        assert!((1..=5).contains(&page));
        let (first, second) = (8 + page * 2, 9 + page * 2);
        return (
            "200 OK",
            "Set-Cookie: visit=1; Path=/\r\n".to_owned(),
            format!(
                "<a href=\"/items/{first}\">a</a><a href=\"items/{second}\">b</a><a href=/about>c</a>"
            ),
        );
    }
    assert_eq!(seen.cookie, "visit=1");
    let words: Vec<&str> = path.trim_matches('/').split('/').collect();
    match (seen.method.as_str(), &words[..]) {
        ("GET", ["items", _]) => ok("an item without links".to_owned()),
        ("GET", ["items", item, "buy"]) => ok(format!(
            "<form method=post action=/items/{item}/buy><input type=hidden name=auth value=a{item}>\
             <input name=nickname><input type=number name=quantity min=2 max=2></form>"
        )),
        ("POST", ["items", item, "buy"]) => {
            let good = format!("auth=a{item}&nickname=user");
            assert!(seen.body.starts_with(&good), "{}", seen.body);
            assert!(seen.body.ends_with("&quantity=2"), "{}", seen.body);
            ("303 See Other", "Location: /items/10\r\n".to_owned(), String::new())
        }
        other => panic!("nobody was offered {other:?}"),
    }
}

fn visit(seed: u64, sessions: u64) -> (Summary, Vec<Seen>) {
    let server = Server::with_site(Manner::Answer { after: Duration::ZERO }, shop);
    let scenario = Scenario::from_toml(SHOP, "shop.toml").unwrap();
    let mut plan = plan(scenario, &server, 200.0, sessions);
    plan.seed = seed;
    let summary = run(plan, &mut |_| ()).unwrap();
    (summary, server.seen())
}

#[test]
fn customers_only_ask_for_what_was_offered_and_all_come_through() {
    let (summary, seen) = visit(1, 30);
    let totals = &summary.totals;
    assert_eq!(totals.completed, 30, "{totals:?}");
    assert_eq!((totals.requests_failed, totals.failed), (0, 0));
    let posts = seen.iter().filter(|seen| seen.method == "POST").count() as u64;
    assert!(posts >= 20, "{posts}");
    assert_eq!(totals.redirects, posts);
    // An item's page offers neither items nor a link to buy it, so the id
    // used last is used again.
    assert!(totals.fallback_last_id > 0);
    assert_eq!(totals.fallback_back, 0);
    assert_eq!(seen.len() as u64, totals.requests_ok + totals.redirects);
}

#[test]
fn the_same_seed_gives_the_same_session_and_another_seed_another() {
    let (_, first) = visit(5, 1);
    let (_, second) = visit(5, 1);
    assert_eq!(first, second);
    let (_, other) = visit(6, 1);
    assert_ne!(first, other);
}

#[test]
fn where_nothing_is_offered_customers_go_back() {
    let text = SHOP.replace("Home = { Item = 0.7, Login = 0.3 }", "Home = { Buy = 1 }");
    let server = Server::with_site(Manner::Answer { after: Duration::ZERO }, shop);
    let mut plan = plan(Scenario::from_toml(&text, "shop.toml").unwrap(), &server, 100.0, 2);
    plan.seed = 3;
    let summary = run(plan, &mut |_| ()).unwrap();
    // Home offers no form: back, that is to the start, until the session has
    // had its 60 requests.
    assert_eq!(summary.totals.completed, 2);
    assert_eq!(summary.totals.fallback_back, 2 * 59);
    assert!(server.paths().iter().all(|path| path.starts_with("/?page=")));
}

#[test]
fn with_via_they_go_to_the_page_that_leads_there() {
    let text = SHOP
        .replace("Home = { Item = 0.7, Login = 0.3 }", "Home = { Buy = 1 }")
        .replace("buy\" }\n[tr", "buy\", via = \"Login\" }\n[tr");
    let server = Server::with_site(Manner::Answer { after: Duration::ZERO }, shop);
    let plan = plan(Scenario::from_toml(&text, "shop.toml").unwrap(), &server, 100.0, 5);
    let summary = run(plan, &mut |_| ()).unwrap();
    assert_eq!((summary.totals.completed, summary.totals.fallback_back), (5, 0));
    assert!(summary.totals.fallback_via >= 5, "{:?}", summary.totals);
}
