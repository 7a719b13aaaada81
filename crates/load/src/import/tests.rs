use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const SHOP: &str = "https://shop.test";

/// An entry that begins so many ms after the recording and takes 100 ms.
fn entry(ms: u64, method: &str, url: &str, kind: &str, more: Value) -> Value {
    let url = if url.starts_with('/') { format!("{SHOP}{url}") } else { url.to_owned() };
    let mime = match kind {
        "document" => "text/html; charset=utf-8",
        "image" => "image/png",
        "xhr" => "application/json",
        _ => "text/css",
    };
    let mut entry = json!({
        "startedDateTime": format!("2024-05-01T12:00:{:02}.{:03}Z", ms / 1000, ms % 1000),
        "time": 100, "pageref": "page_1", "_resourceType": kind,
        "request": { "method": method, "url": url, "httpVersion": "HTTP/2", "headers": [] },
        "response": { "status": 200, "content": { "mimeType": mime }, "redirectURL": "" },
    });
    merge(&mut entry, more);
    entry
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

fn html(text: &str) -> Value {
    json!({ "response": { "content": { "text": text } } })
}

fn form(text: &str) -> Value {
    let mime = "application/x-www-form-urlencoded";
    json!({ "request": { "postData": { "mimeType": mime, "text": text } } })
}

fn import(entries: &[Value]) -> Result<Imported, String> {
    let har = json!({ "log": { "version": "1.2", "entries": entries } }).to_string();
    let import = Import { recording: "shop.har".to_owned(), ..Import::default() };
    import.from_bytes(har.as_bytes())
}

/// The scenario without its heading, and the notes.
fn body_of(entries: &[Value]) -> (String, Vec<String>) {
    let imported = import(entries).unwrap();
    let (_, body) = imported.scenario.split_once("[session]").unwrap();
    (body.to_owned(), imported.notes)
}

#[track_caller]
fn has(text: &str, lines: &[&str]) {
    for line in lines {
        assert!(text.contains(line), "{line}\nis not in\n{text}");
    }
}

#[test]
fn pages_come_in_order_with_their_think_times() {
    let (text, notes) = body_of(&[
        entry(0, "GET", "/", "document", json!({})),
        entry(3100, "GET", "/items/7?sort=price#top", "document", json!({})),
        entry(5200, "GET", "/", "document", json!({})),
        entry(5250, "DELETE", "/api/carts/1", "xhr", json!({})),
    ]);
    assert_eq!(notes, [""; 0]);
    let steps = r#"
steps = [
    "/",
    { page = "/items/7", think = "3.0s" },
    { page = "/", think = "2.0s" },
    { page = "DELETE /api/carts/1", think = "0ms" },
]
"#;
    has(&text, &[steps, "\nhttp = \"2\"", "\npath = \"/items/7?sort=price\"\n"]);
    assert_eq!(text.matches("[pages.").count(), 3, "a page that comes again is one page:\n{text}");
}

#[test]
fn a_hidden_field_that_the_server_issued_is_extracted() {
    let page = "<form action=/search><input type=hidden name=csrf value=other></form>\
                <form action='/buy'><input type=hidden name=csrf value='t0k'>\
                <input type=hidden name=user[id] value=9></form>";
    let (text, notes) = body_of(&[
        entry(0, "GET", "/item", "document", html(page)),
        entry(
            900,
            "POST",
            "/buy",
            "document",
            form("csrf=t0k&user%5Bid%5D=9&count=2&note=%7Bid%7D"),
        ),
    ]);
    assert_eq!(notes, [""; 0]);
    let lines = [
        "csrf = { css = 'form[action=\"/buy\"] input[name=\"csrf\"]', attribute = \"value\" }",
        "user_id = { css = 'input[name=\"user[id]\"]', attribute = \"value\" }",
        "csrf = \"{csrf}\", \"user[id]\" = \"{user_id}\", count = \"2\"",
        "note = { one_of = [\"{id}\"] }",
        "[pages.\"POST /buy\"]\nmethod = \"POST\"\npath = \"/buy\"\n",
    ];
    has(&text, &lines);
}

#[test]
fn values_of_meta_elements_and_json_are_extracted_where_they_are_sent_back() {
    let page = "<meta name=csrf-token content=abcdefgh12>";
    let token = json!({ "response": { "content": { "text": "{\"a/b\":[{\"token\":\"secret-token\"}]}" } } });
    let order = json!({ "request": {
        "headers": [{ "name": "X-CSRF-Token", "value": "abcdefgh12" },
                    { "name": "authorization", "value": "Bearer secret-token" },
                    { "name": "Referer", "value": "https://shop.test/cart" },
                    { "name": "Cookie", "value": "a=1" }, { "name": "Sec-Fetch-Mode", "value": "cors" }],
        "postData": { "mimeType": "application/json",
                      "text": "{\"of\":\"secret-token\",\"text\":\"a {id} b\"}" } } });
    let (text, notes) = body_of(&[
        entry(0, "GET", "/", "document", html(page)),
        entry(500, "GET", "/api/session", "xhr", token),
        entry(900, "POST", "/api/orders?t=secret-token", "xhr", order),
    ]);
    assert_eq!(notes, [""; 0]);
    let lines = [
        "{ css = 'meta[name=\"csrf-token\"]', attribute = \"content\" }",
        "= { json = \"/a~1b/0/token\" }",
        "path = \"/api/orders?t={token}\"",
        "X-CSRF-Token = \"{csrf_token}\"",
        "authorization = \"Bearer {token}\"",
        "Referer = \"https://shop.test/cart\"",
        "body = '{\"of\":\"{token}\",\"text\":\"a \\u007bid} b\"}'",
    ];
    has(&text, &lines);
    assert!(!text.contains("Cookie") && !text.contains("Sec-"), "{text}");
}

#[test]
fn a_field_that_was_recorded_twice_is_sent_once() {
    let fields = json!({ "request": { "headers": [
        { "name": "Origin", "value": "https://shop.test" },
        { "name": "X-Part", "value": "a" }, { "name": "X-Part", "value": "b" },
        { "name": "origin", "value": "https://shop.test" }, { "name": "x-part", "value": "a" } ] } });
    let (text, _) = body_of(&[entry(0, "POST", "/api/orders", "xhr", fields)]);
    has(&text, &["headers = { Origin = \"https://shop.test\", X-Part = \"a, b\" }"]);
}

#[test]
fn assets_belong_to_the_page_that_was_loading() {
    let second = json!({ "pageref": "page_2" });
    let by =
        |url: &str| json!({ "_initiator": { "type": "parser", "url": format!("{SHOP}{url}") } });
    let entries = [
        entry(0, "GET", "/", "document", json!({})),
        entry(50, "GET", "/a.css", "stylesheet", by("/")),
        entry(120, "GET", "/api", "xhr", json!({})),
        entry(150, "GET", "/font.png", "image", by("/a.css")),
        entry(200, "GET", "/a.css", "stylesheet", json!({})),
        // A page of scripts fetches it much later, because of what it requests then.
        entry(9000, "GET", "/api/more", "xhr", json!({})),
        entry(9200, "GET", "/late.png", "image", json!({})),
        entry(20_000, "GET", "/two", "document", second.clone()),
        entry(20_100, "GET", "/b.png", "image", second),
        entry(20_200, "GET", "/gone.png", "image", json!({ "response": { "status": 404 } })),
    ];
    let all = entries.map(|value| serde_json::from_value(value).unwrap());
    let mut left_out = LeftOut::default();
    let all = recorded::read(all.into(), &mut left_out);
    let visits = visits::group(all, SHOP, &mut left_out);
    let found: Vec<(String, Vec<String>)> = visits
        .into_iter()
        .map(|visit| (recorded::path_of(&visit.request.url), visit.assets))
        .collect();
    let expected = [
        ("/", &["/a.css", "/font.png"][..]),
        ("/api", &[]),
        ("/api/more", &["/late.png"]),
        ("/two", &["/b.png"]),
    ];
    let expected = expected.map(|(path, assets)| {
        (path.to_owned(), assets.iter().map(|path| (*path).to_owned()).collect())
    });
    assert_eq!(found, expected);
    assert_eq!(
        left_out.notes(),
        ["left out: 1 request for assets that failed (status 400 or more)"]
    );
}

#[test]
fn assets_are_written_with_their_page() {
    let (text, notes) = body_of(&[
        entry(0, "GET", "/", "document", json!({})),
        entry(10, "GET", "/a.css?v={1}", "stylesheet", json!({})),
        entry(20, "GET", "/b.png", "image", json!({})),
    ]);
    assert_eq!(notes, [""; 0]);
    let page =
        "[pages.\"/\"]\npath = \"/\"\nassets = [\n    \"/a.css?v=%7B1%7D\",\n    \"/b.png\",\n]\n";
    has(&text, &[page]);
}

#[test]
fn what_a_redirect_leads_to_is_part_of_its_step() {
    let redirect = |to: &str| json!({ "response": { "status": 303, "redirectURL": to } });
    let welcome = "<input type=hidden name=csrf value=fresh>";
    let (text, _) = body_of(&[
        entry(0, "POST", "/login", "document", redirect("/home#top")),
        entry(100, "GET", "/home", "document", html(welcome)),
        entry(2000, "POST", "/pay", "document", form("csrf=fresh")),
        entry(4000, "GET", "/out", "document", redirect("https://pay.test/x")),
    ]);
    has(
        &text,
        &[
            "check = { status = [303] }",
            "csrf = \"{csrf}\"",
            "{ page = \"POST /pay\", think = \"1.8s\" }",
        ],
    );
    assert_eq!(text.matches("[pages.").count(), 3, "{text}");
}

#[test]
fn what_customers_cannot_send_is_left_out_and_told() {
    let status = |status: u16| json!({ "response": { "status": status } });
    let notes = import(&[
        json!(7),
        entry(0, "GET", "/", "document", json!({})),
        entry(10, "GET", "https://cdn.test/a.css", "stylesheet", json!({})),
        entry(10, "GET", "https://cdn.test/b.css", "stylesheet", json!({})),
        entry(10, "GET", "http://shop.test/a.css", "stylesheet", json!({})),
        entry(10, "GET", "data:image/png;base64,AA", "image", json!({})),
        entry(10, "GET", "wss://shop.test/live", "websocket", status(101)),
        entry(10, "POST", "/rpc", "fetch", json!({ "response": { "content": { "mimeType": "application/grpc-web+proto" } } })),
        entry(10, "GET", "/feed", "xhr", json!({ "response": { "content": { "mimeType": "text/event-stream" } } })),
        entry(10, "GET", "/sw", "xhr", json!({ "response": { "_fetchedViaServiceWorker": true } })),
        entry(10, "GET", "/stopped", "xhr", status(0)),
        entry(10, "GET", "/kept", "image", json!({ "_fromCache": "disk" })),
        entry(10, "OPTIONS", "/api", "preflight", json!({})),
        entry(10, "POST", "/upload", "document", json!({ "request": { "postData": {
            "mimeType": "multipart/form-data", "params": [{ "name": "file", "fileName": "a" }] } } })),
        entry(10, "POST", "/text", "xhr", json!({ "request": { "postData": {
            "mimeType": "text/plain", "text": "a {id}" } } })),
        json!({ "startedDateTime": "soon" }),
    ])
    .unwrap()
    .notes;
    let told = notes.join("\n");
    let lines = [
        "left out: entry 0 is malformed: invalid type",
        "left out: entry 15 is malformed:",
        "left out: 3 requests to other origins (https://cdn.test 2, http://shop.test 1)",
        "left out: 1 request with data: and other addresses",
        "left out: 1 request of WebSockets",
        "left out: 1 request of gRPC",
        "left out: 1 request of event streams",
        "left out: 1 request answered by a service worker",
        "left out: 1 request without an answer",
        "left out: 1 request answered from the browser's cache",
        "left out: 1 request with a method other",
        "left out: 1 request whose body was not recorded",
        "left out: 1 request with a name in braces",
    ];
    has(&told, &lines);
    assert_eq!(notes.len(), lines.len(), "{told}");
}

#[test]
fn a_body_in_base64_is_decoded_or_left_out_and_told() {
    let sent = |path: &str, kind: &str, text: &str| {
        let data = json!({ "mimeType": kind, "text": text, "encoding": "base64" });
        entry(0, "POST", path, "xhr", json!({ "request": { "postData": data } }))
    };
    let (body, notes) = body_of(&[
        sent("/bytes", "application/x-protobuf", "CP8A\nBw=="),
        sent("/text", "application/json", "eyJhIjogMX0="),
        sent("/form", "application/x-www-form-urlencoded", "YT0xJmI9Mg=="),
        sent("/bad", "application/x-protobuf", "%%%"),
    ]);
    has(&body, &["body_base64 = \"CP8ABw==\"", "content_type = \"application/x-protobuf\""]);
    has(&body, &["body = '{\"a\": 1}'", "fields = { a = \"1\", b = \"2\" }"]);
    assert!(!body.contains("/bad"), "{body}");
    let told = "left out: 1 request whose body is not the base64 that its `encoding` states";
    assert_eq!(notes, [told]);
}

#[test]
fn a_whole_recording_is_imported_without_a_note() {
    let import = Import { target: Some("http://127.0.0.1:8080".to_owned()), ..Import::default() };
    let imported = import.from_bytes(include_bytes!("../../tests/visit.har")).unwrap();
    assert_eq!(imported.notes, [""; 0]);
    assert_eq!((imported.steps, imported.assets), (2, 1));
    let lines = [
        "{ page = \"POST /login\", think = \"4.5s\" }",
        "accept_encoding = true\n",
        "assets = [\n    \"/a.css\",\n]\n",
        "extract = { csrf = { css = 'input[name=\"csrf\"]', attribute = \"value\" } }\n",
        "fields = { csrf = \"{csrf}\", name = \"ann\" }\n",
        "headers = { origin = \"http://127.0.0.1:8080\" }\n",
    ];
    has(&imported.scenario, &lines);
    assert!(!imported.scenario.contains("http = \"2\""), "plain HTTP has no ALPN");
}

#[test]
fn what_is_no_recording_is_told() {
    let import = |text: &str| {
        let import = Import { recording: "x.har".to_owned(), ..Import::default() };
        import.from_bytes(text.as_bytes()).unwrap_err()
    };
    has(&import("{"), &["x.har: is no HAR: EOF", "export it from a browser's network view"]);
    has(&import("{\"log\":{}}"), &["missing field `entries`"]);
    has(&import("{\"log\":{\"entries\":[]}}"), &["x.har: has no request that customers can send"]);
    let har = json!({ "log": { "entries": [entry(0, "GET", "/", "document", json!({}))] } });
    let origin = |origin: &str| {
        let origin = Some(origin.to_owned());
        let import = Import { recording: "x.har".to_owned(), origin, target: None };
        import.from_bytes(har.to_string().as_bytes()).unwrap_err()
    };
    has(
        &origin("https://other.test"),
        &["no request to https://other.test; name one of https://shop.test"],
    );
    has(&origin("shop"), &["target shop"]);
}

#[test]
fn without_what_chromium_adds_pages_and_assets_are_told_apart() {
    let plain = |url: &str, mime: &str, headers: Value| {
        json!({ "startedDateTime": "2024-05-01T12:00:00Z", "request": {
            "method": "GET", "url": url, "headers": headers },
            "response": { "status": 200, "content": { "mimeType": mime } } })
    };
    let dest = |dest: &str| json!([{ "name": "Sec-Fetch-Dest", "value": dest }]);
    let imported = import(&[
        plain("http://shop.test/", "text/html", json!([])),
        plain("http://shop.test/a.js", "application/javascript", json!([])),
        plain("http://shop.test/frame", "text/html", dest("iframe")),
        plain(
            "http://shop.test/part",
            "text/html",
            json!([{ "name": "X-Requested-With", "value": "x" }]),
        ),
        plain("http://shop.test/data", "image/png", dest("empty")),
    ])
    .unwrap();
    assert_eq!((imported.steps, imported.assets), (3, 2), "{}", imported.scenario);
    assert_eq!(imported.target, "http://shop.test");
    assert!(!imported.scenario.contains("http = \"2\""));
}

/// Values that could be read as something else.
fn strange() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,12}",
        Just("{id}".to_owned()),
        Just("\"'\\\n\u{7f}\u{0}".to_owned()),
        Just("token-é-1234".to_owned()),
        Just("<input type=hidden name=a value=token-1234>".to_owned()),
        Just("{\"a\":\"token-1234\"}".to_owned()),
        Just("token-1234".to_owned()),
    ]
}

proptest! {
    #[test]
    fn no_bytes_make_the_importer_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = Import::default().from_bytes(&bytes);
    }

    #[test]
    fn every_recording_makes_a_valid_scenario(
        entries in proptest::collection::vec(
            (0u64..60_000, 0usize..6, 0usize..5, strange(), strange(), strange(), 0u16..600),
            1..8,
        )
    ) {
        let mut all = vec![entry(0, "GET", "/", "document", json!({}))];
        for (ms, method, kind, path, name, value, status) in entries {
            let method = ["GET", "POST", "PUT", "HEAD", "OPTIONS", "DELETE"][method];
            let kind = ["document", "xhr", "image", "other", "script"][kind];
            let mime = ["application/x-www-form-urlencoded", "application/json", "text/plain"]
                [usize::from(status % 3)];
            let more = json!({
                "request": {
                    "headers": [{ "name": name, "value": value }, { "name": "X-A", "value": value }],
                    "postData": { "mimeType": mime, "text": value,
                                  "params": [{ "name": name, "value": value }] },
                },
                "response": { "status": status, "content": { "text": name }, "redirectURL": path },
            });
            all.push(entry(ms, method, &format!("/{path}?{name}={value}"), kind, more));
        }
        let imported = import(&all);
        prop_assert!(imported.is_ok(), "{}", imported.unwrap_err());
    }
}
