//! Why requests failed: the status or another cause, by page, with a sample of each.

use std::time::Duration;

use crate::common::{Manner, Seen, Server, plan};
use tidegate_load::result::failure::RequestFailure;
use tidegate_load::{Scenario, Summary, report, run};

const SHOP: &str = r#"
[session]
steps = ["Home", "Login"]
think = "1ms"
[pages.Home]
path = "/"
assets = ["/gone.css"]
[pages.Login]
path = "/login?token=t0pt0pt0p"
method = "POST"
fields = { user = "ann", password = "s3cret" }
"#;

fn shop(seen: &Seen) -> (&'static str, String, String) {
    match seen.path.as_str() {
        "/" => ("200 OK", "Set-Cookie: sid=abcdef\r\n".to_owned(), "hello".to_owned()),
        "/gone.css" => ("410 Gone", String::new(), String::new()),
        _ => {
            let body = format!("<h1>POST is not \x1b[31mallowed</h1>{}", "x".repeat(5000));
            ("405 Method Not Allowed", "Allow: GET\r\n".to_owned(), body)
        }
    }
}

fn visits(text: &str, manner: Manner, site: crate::common::Site) -> Summary {
    let server = Server::with_site(manner, site);
    let scenario = Scenario::from_toml(text, "shop.toml").unwrap();
    run(plan(scenario, &server, 200.0, 4), &mut |_| ()).unwrap()
}

const AT_ONCE: Manner = Manner::Answer { after: Duration::ZERO };

fn of<'a>(summary: &'a Summary, cause: &str) -> &'a RequestFailure {
    let found = summary.failures.iter().find(|it| it.cause == cause);
    found.unwrap_or_else(|| panic!("{cause}: {:#?}", summary.failures))
}

#[test]
fn a_failed_request_is_told_by_its_status_and_page_with_a_sample() {
    let summary = visits(SHOP, AT_ONCE, shop);
    let failure = of(&summary, "status_405");
    assert_eq!(
        (failure.page.as_str(), failure.asset.as_deref(), failure.count),
        ("Login", None, 4)
    );
    let sample = failure.sample.as_ref().unwrap();
    assert!(sample.request.starts_with("POST /login?token=… HTTP/1.1\nHost: "), "{sample:?}");
    assert!(sample.request.contains("\nCookie: sid=…\n"), "{sample:?}");
    assert!(sample.request.ends_with("\n\nuser=ann&password=…"), "{sample:?}");
    assert!(sample.response.starts_with("HTTP/1.1 405 Method Not Allowed\n"), "{sample:?}");
    assert!(sample.response.contains("\nAllow: GET"), "{sample:?}");
    assert!(sample.body.starts_with("<h1>POST is not ·[31mallowed</h1>xxx"), "{sample:?}");
    assert!((1000..=1026).contains(&sample.body.len()), "{}", sample.body.len());

    let asset = of(&summary, "status_410");
    assert_eq!((asset.page.as_str(), asset.asset.as_deref()), ("Home", Some("/gone.css")));
    assert!(asset.sample.as_ref().unwrap().request.starts_with("GET /gone.css "), "{asset:?}");

    let text = report(&summary);
    for expected in [
        "4xx 8 (405 4, 410 4)",
        "failed          Login: status 405, 4 times\n                > POST /login?token=… HTTP/1.1\n",
        "                < HTTP/1.1 405 Method Not Allowed\n",
        "failed          Home, asset /gone.css: status 410, 4 times\n",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    let json = serde_json::to_value(&summary).unwrap();
    assert_eq!(json["responses_by_status"]["405"], 4);
    let secrets = ["abcdef", "s3cret", "t0pt0pt0p"];
    assert!(secrets.iter().all(|secret| !json.to_string().contains(secret)), "{json:#}");
}

#[test]
fn a_failed_check_and_a_request_without_an_answer_have_samples_too() {
    let text = SHOP.replace("assets = [\"/gone.css\"]", "check = { contains = \"Welcome\" }");
    let summary = visits(&text, AT_ONCE, shop);
    let sample = of(&summary, "check").sample.as_ref().unwrap();
    assert!(sample.response.starts_with("HTTP/1.1 200 OK\n"), "{sample:?}");
    assert_eq!(sample.body, "hello");

    let summary = visits(SHOP, Manner::Half, shop);
    let closed = of(&summary, "closed");
    assert_eq!((closed.page.as_str(), closed.count), ("Home", 4));
    assert!(closed.sample.as_ref().unwrap().request.starts_with("GET / HTTP/1.1\n"), "{closed:?}");

    let summary = visits(SHOP, Manner::OneThenReset { keep: 0 }, shop);
    assert_eq!(of(&summary, "refused_reset").count, 4);

    let text = SHOP.replace("think =", "patience = \"50ms\"\nthink =");
    let summary = visits(&text, Manner::Silent, shop);
    let lost = of(&summary, "abandoned_first_byte");
    assert!(lost.sample.as_ref().unwrap().request.starts_with("GET / HTTP/1.1\n"), "{lost:?}");
}
