//! Values are taken from answers and checks are held against them.

use std::time::Duration;

use crate::common::{Manner, Seen, Server, plan};
use tidegate_load::{Scenario, Summary, report, run};

const API: &str = r#"
[session]
start = "Home"
think = "1ms"
[pages.Home]
path = "/"
extract = { csrf = { css = "input[name=csrf]", attribute = "value" } }
check = { status = [200], contains = "Welcome", lacks = "error" }
[pages.Login]
path = "/login"
method = "POST"
fields = { user = "user{customer}", csrf = "{csrf}" }
extract = { token = { header = "X-Session" }, item = { regex = "first=([0-9]+)" } }
[pages.Item]
path = "/api/items/{item}"
headers = { X-Token = "{token}" }
extract = { note = { json = "/notes/0" } }
check = { json = { pointer = "/ok", equals = true } }
[pages.Put]
path = "/api/items/{item}/notes/{note}"
method = "PUT"
headers = { X-Token = "{token}" }
body = '{"note": "{note}"}'
[pages.Remove]
path = "/api/items/{item}"
method = "DELETE"
headers = { X-Token = "{token}" }
check = { status = [204] }
[transitions]
Home = { Login = 1 }
Login = { Item = 1 }
Item = { Put = 1 }
Put = { Remove = 1 }
Remove = { End = 1 }
"#;

fn api(seen: &Seen) -> (&'static str, String, String) {
    let ok = |body: &str| ("200 OK", String::new(), body.to_owned());
    let with_token = |answer| {
        assert_eq!(seen.token, "s-1");
        answer
    };
    match (seen.method.as_str(), seen.path.as_str()) {
        ("GET", "/") => ok("Welcome <form><input type=hidden name=csrf value='a&amp;\"b'></form>"),
        ("POST", "/login") => {
            assert!(seen.body.ends_with("&csrf=a%26%22b"), "{}", seen.body);
            ("303 See Other", "Location: /shop\r\nX-Session: s-1\r\n".to_owned(), String::new())
        }
        ("GET", "/shop") => ok("first=17"),
        ("GET", "/api/items/17") => with_token(ok(r#"{"ok": true, "notes": ["a \"b\"/?\n"]}"#)),
        ("PUT", "/api/items/17/notes/a%20%22b%22%2F%3F%0A") => {
            assert_eq!(seen.kind, "application/json");
            let json: serde_json::Value = serde_json::from_str(&seen.body).unwrap();
            assert_eq!(json["note"], "a \"b\"/?\n");
            with_token(ok("{}"))
        }
        ("DELETE", "/api/items/17") => with_token(("204 No Content", String::new(), String::new())),
        other => panic!("nobody was offered {other:?}"),
    }
}

fn visit(text: &str, site: crate::common::Site) -> (Summary, Server) {
    let server = Server::with_site(Manner::Answer { after: Duration::ZERO }, site);
    let scenario = Scenario::from_toml(text, "api.toml").unwrap();
    let summary = run(plan(scenario, &server, 200.0, 5), &mut |_| ()).unwrap();
    (summary, server)
}

#[test]
fn a_scripted_api_is_driven_with_what_its_answers_gave() {
    let (summary, server) = visit(API, api);
    assert_eq!(summary.totals.completed, 5, "{:?}", summary.failed_checks);
    assert_eq!((summary.totals.requests_ok, summary.totals.redirects), (25, 5));
    assert_eq!(summary.failed_checks, []);
    let methods: Vec<_> = server.seen().iter().map(|seen| seen.method.clone()).collect();
    assert_eq!(methods.iter().filter(|method| *method == "DELETE").count(), 5);
}

#[test]
fn an_extraction_that_finds_nothing_fails_the_session_and_is_told() {
    let (summary, server) = visit(&API.replace("name=csrf]", "name=other]"), api);
    assert_eq!(summary.totals.failed_by_kind.get("extraction"), Some(&5));
    assert_eq!((summary.totals.requests_ok, summary.totals.requests_failed), (0, 5));
    let [unmet] = &summary.failed_checks[..] else { panic!("{:?}", summary.failed_checks) };
    assert_eq!((unmet.page.as_str(), &*unmet.kind, unmet.count), ("Home", "extraction", 5));
    assert_eq!(unmet.expected, "csrf = css \"input[name=other]\", attribute \"value\"");
    assert!(unmet.example.starts_with("Welcome <form>"), "{}", unmet.example);
    let expected = "extraction      Home (5): expected csrf = css";
    assert!(report(&summary).contains(expected), "{}", report(&summary));
    let json = serde_json::to_value(&summary).unwrap();
    assert_eq!(json["unmet"][0]["kind"], "extraction");
    assert!(server.paths().iter().all(|path| path == "/"));
}

#[test]
fn a_check_that_fails_fails_the_session_and_shows_what_came() {
    let (summary, _) = visit(&API.replace("equals = true", "equals = \"yes\""), api);
    assert_eq!(summary.totals.failed_by_kind.get("check"), Some(&5));
    let [unmet] = &summary.failed_checks[..] else { panic!("{:?}", summary.failed_checks) };
    assert_eq!((&*unmet.kind, unmet.expected.as_str()), ("check", "json \"/ok\" = \"yes\""));
    assert_eq!(unmet.example, "/ok = true");
    // A check of the status also says what is no failure.
    let missing = |_: &Seen| ("404 Not Found", String::new(), String::new());
    let text = "[session]\nstart = \"Home\"\n[pages.Home]\npath = \"/\"\n\
                check = { status = [404] }\n[transitions]\nHome = { End = 1 }\n";
    assert_eq!(visit(text, missing).0.totals.completed, 5);
}

#[test]
fn a_value_that_would_break_a_header_is_not_sent() {
    let hostile = |seen: &Seen| match seen.path.as_str() {
        "/" => ("200 OK", String::new(), "{\"t\": \"a\\r\\nX-Evil: 1\"}".to_owned()),
        other => panic!("unexpected request for {other}"),
    };
    let text = r#"
[session]
start = "Home"
[pages]
Home = { path = "/", extract = { t = { json = "/t" } } }
Next = { path = "/next", headers = { X-Token = "{t}" } }
[transitions]
Home = { Next = 1 }
Next = { End = 1 }
"#;
    let (summary, _) = visit(&text.replace("start =", "think = \"1ms\"\nstart ="), hostile);
    assert_eq!(summary.totals.failed_by_kind.get("unsendable"), Some(&5));
    assert_eq!(
        (summary.failed_checks[0].page.as_str(), &*summary.failed_checks[0].kind),
        ("Next", "unsendable")
    );
}

#[test]
fn a_soft_check_that_fails_is_counted_and_shown_and_the_session_goes_on() {
    let text = r#"
[session]
steps = ["Home", "Item"]
think = "1ms"
[pages.Home]
path = "/"
soft_check = { status = [204], contains = ["Welcome", "Cart (0)"], lacks = "form" }
[pages.Item]
path = "/shop"
soft_check = { contains = "first" }
"#;
    let (summary, _) = visit(text, api);
    let totals = &summary.totals;
    assert_eq!((totals.completed, totals.failed, totals.requests_ok), (5, 0, 10), "{totals:?}");
    assert_eq!(totals.soft_checks_failed, 15);
    let kinds: Vec<_> = summary.failed_checks.iter().map(|it| (&*it.kind, it.count)).collect();
    assert_eq!(kinds, [("soft_check", 5); 3], "{:?}", summary.failed_checks);
    let shown = report(&summary).replace("\n                ", " ");
    let line = "soft check      Home (5): expected contains \"Cart (0)\"; found Welcome <form>";
    assert!(shown.contains(line), "{shown}");
    assert!(shown.contains("Home (5): expected status [204]; found status 200\n"), "{shown}");
}

#[test]
fn a_soft_status_allows_no_failure() {
    let text = "[session]\nsteps = [\"Gone\"]\n[pages.Gone]\npath = \"/gone\"\n\
                soft_check = { status = [404] }\n";
    let (summary, _) = visit(text, |_| ("404 Not Found", String::new(), String::new()));
    assert_eq!(summary.totals.failed_by_kind.get("status_4xx"), Some(&5));
    assert_eq!(summary.totals.soft_checks_failed, 0);
}
