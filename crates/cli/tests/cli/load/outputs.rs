//! Where results go and what they say of failures: standard output, JUnit, printed requests.

use std::io::{BufReader, Write};
use std::net::TcpListener;
use std::process::Output;

use serde_json::Value;

use crate::common::upstream::{Upstream, read_request};
use crate::common::{Text, tidegate};

const SHOP: &str = r#"
name = "shop <1>"
[session]
steps = ["Home", "Login"]
think = "1ms"
[pages.Home]
path = "/"
check = { contains = "hello", lacks = "error" }
soft_check = { contains = "Welcome" }
[pages.Login]
path = "/login"
method = "POST"
fields = { user = "ann", password = "s3cret" }
[pages.Never]
path = "/never"
check = { status = [200] }
[arrivals]
times = ["0s", "10ms", "20ms"]
[run]
duration = "5s"
"#;

/// A site that answers 405 to a POST.
fn site() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                let (head, _) = read_request(&mut BufReader::new(&stream));
                let status = if head.starts_with("POST") { "405 No" } else { "200 OK" };
                let answer = format!(
                    "HTTP/1.1 {status}\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhello\n"
                );
                let _ = (&mut &stream).write_all(answer.as_bytes());
            });
        }
    });
    url
}

struct Shop {
    folder: tempfile::TempDir,
    url: String,
}

impl Shop {
    fn new(more: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("shop.toml"), format!("{SHOP}{more}")).unwrap();
        Self { folder, url: site() }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    fn load(&self, flags: &[&str]) -> Output {
        let file = self.path("shop.toml");
        let args = ["load", &file, "--target", &self.url];
        tidegate(&[&args[..], flags].concat())
    }
}

#[test]
fn a_result_on_standard_output_stands_there_alone() {
    let shop = Shop::new("");
    let output = shop.load(&["--json", "-"]);
    let (out, err) = (output.stdout_text(), output.stderr_text());
    assert_eq!(output.status.code(), Some(0), "{err}");
    let json: Value = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"));
    assert_eq!(json["responses_by_status"]["405"], 3);
    assert_eq!(json["failures"][0]["cause"], "status_405");
    for line in [
        "run: 5s, measured from the start",
        "4xx 3 (405 3)",
        "failed          Login: status 405, 3 times",
    ] {
        assert!(err.contains(line), "{line}: {err}");
    }
    for flag in ["--report", "--csv", "--raw", "--junit"] {
        let output = shop.load(&[flag, "-"]);
        assert_eq!(output.status.code(), Some(2));
        assert!(output.stderr_text().contains("only --json writes to standard output"));
    }
}

#[test]
fn a_comparison_on_standard_output_stands_there_alone() {
    let shop = Shop::new("");
    let (a, b) = (shop.path("a.json"), shop.path("b.json"));
    shop.load(&["--json", &a]);
    shop.load(&["--json", &b, "--seed", "2"]);
    let output = tidegate(&["load", "compare", &a, &b, "--json", "-"]);
    let json: Value = serde_json::from_str(&output.stdout_text()).unwrap();
    assert!(json["rows"].as_array().is_some_and(|rows| !rows.is_empty()));
    assert!(output.stderr_text().contains("found "), "{}", output.stderr_text());
}

#[test]
fn junit_has_a_case_for_each_threshold_check_and_page() {
    let shop = Shop::new(
        "[thresholds]\nrequests_per_s = { min = 1000000 }\nresponse_p50_ms = { max = 60000 }\n",
    );
    let file = shop.path("junit.xml");
    let output = shop.load(&["--junit", &file]);
    assert_eq!(output.status.code(), Some(1), "{}", output.stderr_text());
    let xml = shop.text("junit.xml");
    for expected in [
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites><testsuite id=\"0\" package=\"tidegate\" name=\"shop &lt;1&gt; at http://",
        // The run, two thresholds, four checks and two pages, of which one check is not reached.
        "tests=\"9\" failures=\"2\" errors=\"0\" skipped=\"1\"",
        "name=\"requests_per_s at least 1000000\" time=\"0\"><failure type=\"thresholds\" message=\"requests_per_s was ",
        "name=\"response_p50_ms at most 60000\" time=\"0\"></testcase>",
        "name=\"Home: contains &quot;hello&quot;\" time=\"0\"></testcase>",
        "name=\"Never: status [200]\" time=\"0\"><skipped></skipped></testcase>",
        "classname=\"shop &lt;1&gt;.steps\" name=\"Login\" time=\"0\"><failure type=\"steps\" message=\"3 of 3 requests failed\">status 405: 3 times",
        "POST /login HTTP/1.1\n",
        "HTTP/1.1 405 No\n",
        // A soft check fails no case.
        "name=\"Home: contains &quot;Welcome&quot;\" time=\"0\"></testcase>",
        "<system-out>Home: contains &quot;Welcome&quot;: failed 3 times\nfound hello",
    ] {
        assert!(xml.contains(expected), "{expected}\n{xml}");
    }
    assert!(!xml.contains("s3cret"), "{xml}");
}

#[test]
fn junit_leaves_failures_to_the_threshold_that_limits_them() {
    let shop = Shop::new("[thresholds]\nrequests_failed_ratio = { max = 0.6 }\n");
    let file = shop.path("junit.xml");
    let output = shop.load(&["--junit", &file, "--repeat", "2"]);
    assert_eq!(output.status.code(), Some(0), "{}", output.stderr_text());
    let xml = shop.text("junit.xml");
    assert_eq!(xml.matches("failures=\"0\" errors=\"0\"").count(), 2, "{xml}");
    assert!(xml.contains("Login: 3 of 3 requests failed\nstatus 405: 3 times"), "{xml}");
}

#[test]
fn requests_and_responses_of_the_first_sessions_are_printed() {
    let shop = Shop::new("");
    let printed = |flag: &str| shop.load(&[flag, "-H", "Authorization: Bearer abc"]).stderr_text();
    let text = printed("--http-debug=2");
    for expected in [
        "--- session 0, Home\n> GET / HTTP/1.1\n> Host: ",
        "> Authorization: …\n",
        "< HTTP/1.1 200 OK\n< Content-Length: 6\n< Connection: close\n<\n< hello\n",
        "--- session 1, Login\n> POST /login HTTP/1.1\n",
        "> user=ann&password=…\n< HTTP/1.1 405 No\n",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    assert!(!text.contains("session 2,") && !text.contains("abc"), "{text}");
    assert!(printed("--http-debug").contains("--- session 2, Login\n"));
}

#[test]
fn what_does_not_answer_is_printed_too() {
    let shop = Shop::new("");
    // Answers the probe and nothing else.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            read_request(&mut BufReader::new(&stream));
            let _ = stream.write_all(b"SSH-2.0-x\r\n");
        }
    });
    let file = shop.path("shop.toml");
    let output = tidegate(&["load", &file, "--target", &url, "--http-debug=1"]);
    let text = output.stderr_text();
    assert!(text.contains("< SSH-2.0-x\n! no response: http\n"), "{text}");
}

#[test]
fn a_threshold_that_chance_decides_is_not_called_met() {
    let (folder, upstream) = (tempfile::tempdir().unwrap(), Upstream::start());
    let file = folder.path().join("few.toml").display().to_string();
    let page = folder.path().join("few.html").display().to_string();
    let scenario = "[session]\nsteps = [\"Home\"]\n[pages]\nHome = { path = \"/\" }\n[arrivals]\n\
                    times = [\"0s\"]\n[run]\nduration = \"5s\"\n[thresholds]\n\
                    response_p99_ms = { max = 60000 }\nrequests_failed_ratio = { max = 0.5 }\n";
    std::fs::write(&file, scenario).unwrap();
    let output = tidegate(&["load", &file, "--target", &upstream.url, "--report", &page]);
    let text = output.stdout_text();
    assert_eq!(output.status.code(), Some(0), "{text}{}", output.stderr_text());
    assert!(text.contains("CHANCE response_p99_ms = "), "{text}");
    assert!(text.contains("(at most 60000), 1 of 1000 answers"), "{text}");
    assert!(text.contains("ok     requests_failed_ratio = "), "{text}");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("Too few answers for 1 of 2 thresholds: chance decides"), "{page}");
    assert!(!page.contains("thresholds are met") && page.contains("? chance "), "{page}");
}
