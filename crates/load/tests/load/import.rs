//! A recording of a browser becomes a scenario that runs against a live server.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::common::{Manner, Seen, Server, plan};
use serde_json::{Value, json};
use tidegate_load::import::Import;
use tidegate_load::{Scenario, run};

/// Issues another token for each sign-in page, and accepts only those.
fn shop(seen: &Seen) -> (&'static str, String, String) {
    static TOKENS: AtomicU32 = AtomicU32::new(100);
    let ok = |body: String| ("200 OK", String::new(), body);
    match (seen.method.as_str(), seen.path.as_str()) {
        ("GET", "/login") => {
            let token = TOKENS.fetch_add(1, Ordering::Relaxed);
            ok(format!("<form action=/login><input type=hidden name=csrf value=t{token}></form>"))
        }
        ("POST", "/login") => {
            let (_, token) = seen.body.split_once("csrf=t").expect("the token is sent back");
            let issued = 100..TOKENS.load(Ordering::Relaxed);
            assert!(issued.contains(&token.parse().unwrap()), "{}", seen.body);
            let welcome = "Location: /home\r\nSet-Cookie: session=1\r\n".to_owned();
            ("303 See Other", welcome, String::new())
        }
        ("GET", "/home") => {
            assert_eq!(seen.cookie, "session=1");
            ok("<p>welcome".to_owned())
        }
        ("PUT", "/api/cart") => {
            let sent = (seen.kind.as_str(), seen.body.as_str(), seen.token.as_str());
            assert_eq!(sent, ("application/json", "{\"item\":7}", "abc"));
            ok("{}".to_owned())
        }
        other => panic!("{other:?} was not recorded"),
    }
}

fn entry(url: &str, method: &str, path: &str, ms: u32, more: [Value; 2]) -> Value {
    let [mut request, response] = more;
    request["method"] = method.into();
    request["url"] = format!("{url}{path}").into();
    json!({
        "startedDateTime": format!("2024-05-01T12:00:00.{ms:03}Z"), "time": 1,
        "_resourceType": if path.starts_with("/api") { "xhr" } else { "document" },
        "request": request, "response": response,
    })
}

#[test]
fn what_a_browser_recorded_is_played_with_values_of_the_customers_own() {
    let server = Server::with_site(Manner::Answer { after: Duration::ZERO }, shop);
    let page = "<form action=/login><input type=hidden name=csrf value=t42></form>";
    let html = |text: &str| json!({ "mimeType": "text/html", "text": text });
    let form = "application/x-www-form-urlencoded";
    let entries = [
        entry(
            &server.url,
            "GET",
            "/login",
            0,
            [json!({}), json!({ "status": 200, "content": html(page) })],
        ),
        entry(
            &server.url,
            "POST",
            "/login",
            10,
            [
                json!({ "postData": { "mimeType": form, "text": "name=ann&csrf=t42" } }),
                json!({ "status": 303, "redirectURL": "/home" }),
            ],
        ),
        entry(
            &server.url,
            "GET",
            "/home",
            12,
            [json!({}), json!({ "status": 200, "content": html("") })],
        ),
        entry(
            &server.url,
            "PUT",
            "/api/cart",
            20,
            [
                json!({ "headers": [{ "name": "x-token", "value": "abc" }],
                    "postData": { "mimeType": "application/json", "text": "{\"item\":7}" } }),
                json!({ "status": 200, "content": { "mimeType": "application/json" } }),
            ],
        ),
    ];
    let har = json!({ "log": { "entries": entries } }).to_string();
    let imported = Import::default().from_bytes(har.as_bytes()).unwrap();
    assert_eq!((imported.notes.as_slice(), imported.steps), (&[][..], 3));
    let scenario = Scenario::from_toml(&imported.scenario, "shop.toml").unwrap();
    let summary = run(plan(scenario, &server, 100.0, 5), &mut |_| ()).unwrap();
    assert_eq!(summary.totals.completed, 5, "{:?}", summary.failed_checks);
    let paths = server.paths();
    let one = ["/login", "/login", "/home", "/api/cart"];
    assert!(one.iter().all(|path| paths.contains(&(*path).to_owned())), "{paths:?}");
    assert_eq!(paths.len(), 4 * 5);
}
