//! What requests carry: bodies of any bytes, forms with files, and cookies that are given.

use std::time::Duration;

use crate::common::{Manner, Seen, Server, plan};
use tidegate_load::{HeaderField, PageRequest, Scenario, Summary, run};

const BYTES: &[u8] = b"\x1f\x8b\0\r\n\xff{name}\xfe\0";

const UPLOAD: &str = "<form method=post action=/photos enctype=multipart/form-data>\
    <input type=hidden name=csrf value=t7><input name=title><input type=file name=photo>\
    <input type=file name=none></form>";

fn site(seen: &Seen) -> (&'static str, String, String) {
    let cookies = match seen.path.as_str() {
        "/sign-in" => "Set-Cookie: sid=new; Path=/\r\nSet-Cookie: lang=; Max-Age=0; Path=/\r\n",
        _ => "",
    };
    ("200 OK", cookies.to_owned(), UPLOAD.to_owned())
}

/// One session of a scenario whose folder has files.
fn visit(text: &str) -> (Summary, Vec<Seen>) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("order.pb"), BYTES).unwrap();
    std::fs::write(folder.path().join("users.csv"), "sid,lang\nabc,en\n").unwrap();
    let file = folder.path().join("shop.toml");
    let scenario = Scenario::from_toml(text, &file.to_string_lossy()).unwrap();
    one(scenario)
}

fn one(scenario: Scenario) -> (Summary, Vec<Seen>) {
    let server = Server::with_site(Manner::Answer { after: Duration::ZERO }, site);
    let summary = run(plan(scenario, &server, 200.0, 1), &mut |_| ()).unwrap();
    assert_eq!(summary.totals.completed, 1, "{:?} {:?}", summary.totals, summary.failed_checks);
    (summary, server.seen())
}

#[test]
fn a_body_is_sent_byte_by_byte_from_a_file_or_base64() {
    use base64::Engine as _;
    let base64 = base64::engine::general_purpose::STANDARD.encode(BYTES);
    let (_, seen) = visit(&format!(
        "[session]\nsteps = [\"File\", \"Decoded\"]\nthink = \"0s\"\n[pages.File]\npath = \"/a\"\n\
         body_file = \"order.pb\"\ncontent_type = \"application/x-protobuf\"\n[pages.Decoded]\n\
         path = \"/b\"\nmethod = \"PUT\"\nbody_base64 = \"{base64}\"\n"
    ));
    let sent: Vec<_> = seen.iter().map(|it| (it.method.as_str(), it.kind.as_str())).collect();
    assert_eq!(sent, [("POST", "application/x-protobuf"), ("PUT", "application/octet-stream")]);
    assert!(seen.iter().all(|it| it.bytes == BYTES), "{seen:?}");
}

#[test]
fn the_body_of_a_url_alone_is_any_bytes() {
    for (body, kind) in
        [(BYTES, "application/octet-stream"), (&b"a={b}"[..], "application/x-www-form-urlencoded")]
    {
        let request = PageRequest { method: None, body: Some(body.to_vec()) };
        let (scenario, _) = Scenario::one_page("https://127.0.0.1/", &request);
        let (_, seen) = one(scenario);
        assert_eq!((seen[0].method.as_str(), seen[0].kind.as_str()), ("POST", kind));
        assert_eq!(seen[0].bytes, body);
    }
}

#[test]
fn fields_of_a_path_are_posted_or_in_the_query_with_get() {
    let (_, seen) = visit(
        "[session]\nsteps = [\"A\", \"B\", \"C\"]\nthink = \"0s\"\n[pages.A]\npath = \"/a\"\n\
         fields = { q = \"a b\" }\n[pages.B]\npath = \"/b?x=1\"\nmethod = \"GET\"\n\
         fields = { q = \"a b\" }\n[pages.C]\npath = \"/c\"\nfields = {}\n",
    );
    let sent: Vec<_> =
        seen.iter().map(|it| (it.method.as_str(), it.path.as_str(), it.body.as_str())).collect();
    let expected = [("POST", "/a", "q=a+b"), ("GET", "/b?x=1&q=a+b", ""), ("GET", "/c", "")];
    assert_eq!(sent, expected);
}

#[test]
fn a_form_of_a_page_is_sent_as_multipart_with_its_files() {
    let (_, seen) = visit(
        "[session]\nsteps = [\"Home\", \"Upload\", \"Api\"]\nthink = \"0s\"\n[pages]\n\
         Home = { path = \"/\" }\nUpload = { form = \"/photos\", fields = { title = \"cat\", \
         photo = { file = \"order.pb\", name = \"cat.png\", content_type = \"image/png\" } } }\n\
         Api = { path = \"/api\", fields = { n = \"{session}\", f = { file = \"order.pb\" } } }\n",
    );
    let [_, upload, api] = &seen[..] else { panic!("{seen:?}") };
    let parts = |seen: &Seen| {
        let (_, boundary) = seen.kind.split_once("multipart/form-data; boundary=").unwrap();
        let text = seen.bytes.escape_ascii().to_string();
        assert!(text.ends_with(&format!("--{boundary}--\\r\\n")), "{text}");
        text.split(&format!("--{boundary}"))
            .filter(|part| !part.is_empty() && !part.starts_with("--"))
            .map(|part| part.replace("\\r\\n", "|"))
            .collect::<Vec<_>>()
    };
    let content = BYTES.escape_ascii().to_string().replace("\\r\\n", "|");
    let named = |name: &str| format!("|Content-Disposition: form-data; name=\\\"{name}\\\"");
    let bytes = "Content-Type: application/octet-stream";
    assert_eq!(
        parts(upload),
        [
            format!("{}||t7|", named("csrf")),
            format!("{}||cat|", named("title")),
            format!(
                "{}; filename=\\\"cat.png\\\"|Content-Type: image/png||{content}|",
                named("photo")
            ),
            format!("{}; filename=\\\"\\\"|{bytes}|||", named("none")),
        ]
    );
    assert_eq!((upload.method.as_str(), api.method.as_str()), ("POST", "POST"));
    let file = format!("{}; filename=\\\"order.pb\\\"|{bytes}||{content}|", named("f"));
    assert_eq!(parts(api), [format!("{}||0|", named("n")), file]);
}

#[test]
fn cookies_that_are_given_are_sent_until_a_response_replaces_them() {
    let steps = "[session]\nsteps = [\"Home\", \"In\", \"Home\"]\nthink = \"0s\"\n";
    let pages = "[pages]\nHome = { path = \"/\", assets = [\"/a.css\"] }\n\
                 In = { path = \"/sign-in\" }\n[connections]\nparallel = 1\n";
    let cookies = |seen: Vec<Seen>| -> Vec<String> {
        seen.into_iter().map(|it| format!("{} {}", it.path, it.cookie)).collect()
    };
    let expected = [
        "/ sid=abc; lang=en",
        "/a.css sid=abc; lang=en",
        "/sign-in sid=abc; lang=en",
        "/ sid=new",
        "/a.css sid=new",
    ];
    // From the columns of a feeder.
    let feeder = "[feeders.users]\nfile = \"users.csv\"\n";
    let of_all = "headers = { Cookie = \"sid={sid}; lang={lang}\" }\n";
    let (_, seen) = visit(&format!("{of_all}{steps}{feeder}{pages}"));
    assert_eq!(cookies(seen), expected);
    // From flags.
    let mut scenario = Scenario::from_toml(&format!("{steps}{pages}"), "shop.toml").unwrap();
    let given = ["Cookie: sid=abc", "cookie: lang=en"].map(|it| HeaderField::parse(it).unwrap());
    scenario.add_headers(&given);
    assert_eq!(cookies(one(scenario).1), expected);
}
