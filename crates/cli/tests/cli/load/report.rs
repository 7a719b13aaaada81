//! The page of a result: written by a run, by `merge`, and from a result that exists.

use std::io::{BufReader, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Output;

use crate::common::upstream::{Upstream, read_request};
use crate::common::{Text, at_a_start, tidegate};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn text(&self, name: &str) -> String {
        let file = PathBuf::from(self.path(name));
        std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

fn load(args: &[&str]) -> Output {
    tidegate(&[&["load", "--plain"], args].concat())
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

#[test]
fn a_run_writes_its_page_and_its_result_makes_the_same_page() {
    let (folder, upstream) = (Folder::new(), Upstream::start());
    let (json, page, again) = (folder.path("a.json"), folder.path("a.html"), folder.path("b.html"));
    let flags =
        ["-n", "25", "-c", "2", "-H", "X-Token: s3cret", "--json", &json, "--report", &page];
    let output = load(&[&[upstream.url.as_str()], &flags[..]].concat());
    let text = output.stdout_text();
    assert_eq!(code(&output), Some(0), "{text}{}", output.stderr_text());
    assert!(text.contains(&format!("page            {page}\n")), "{text}");
    let written = folder.text("a.html");
    assert!(written.contains("Measured, without thresholds"), "{written}");
    assert!(written.contains("tidegate load --plain http://127.0.0.1:"), "{written}");
    assert!(written.contains("X-Token:…") && !written.contains("s3cret"), "{written}");
    assert!(!folder.text("a.json").contains("s3cret"));

    let output = tidegate(&["load", "report", &json, "--out", &again]);
    assert_eq!(code(&output), Some(0), "{}", output.stderr_text());
    assert_eq!(folder.text("b.html"), written);
    let output = tidegate(&["load", "report", &folder.path("a.json")]);
    assert_eq!(code(&output), Some(0), "beside the result: {}", output.stderr_text());
}

#[test]
fn the_page_of_a_missed_threshold_says_so() {
    let (folder, upstream) = (Folder::new(), Upstream::start());
    let (file, page) = (folder.path("shop.toml"), folder.path("shop.html"));
    let scenario = "[session]\nsteps = [\"Home\"]\n[pages]\nHome = { path = \"/\" }\n[arrivals]\n\
                    times = [\"0s\"]\n[run]\nduration = \"500ms\"\n[thresholds]\nrequests_per_s = { min = 1000000 }\n";
    std::fs::write(&file, scenario).unwrap();
    let output = load(&[&file, "--target", &upstream.url, "--report", &page]);
    assert_eq!(code(&output), Some(1), "{}", output.stderr_text());
    assert!(folder.text("shop.html").contains("1 of 1 threshold missed"));
}

#[test]
fn several_drivers_have_a_row_each_and_several_runs_a_section_each() {
    let (folder, upstream) = (Folder::new(), Upstream::start());
    let page = folder.path("a.html");
    let flags = ["-r", "15", "-d", "500ms", "--warm-up", "0", "--report", &page];
    let run = |more: &[&str]| {
        let output = load(&[&[upstream.url.as_str()], &flags[..], more].concat());
        assert_eq!(code(&output), Some(0), "{}{}", output.stdout_text(), output.stderr_text());
        folder.text("a.html")
    };
    let drivers = run(&["--drivers", "2"]);
    assert!(drivers.contains("1/2 on ") && drivers.contains("2/2 on "));
    let runs = run(&["--repeat", "2"]);
    assert!(runs.contains("2 runs with seeds 1 to 2"), "{runs}");
    assert!(runs.contains("Run 2, seed 2") && runs.contains("response_p95_ms"));
}

#[test]
fn merged_shards_have_a_page() {
    let (folder, upstream) = (Folder::new(), Upstream::start());
    let (shard, page) = (folder.path("one.json"), folder.path("all.html"));
    let output = at_a_start(|start| {
        let flags = ["--shard", "1/1", "--start-at", start, "--json", &shard];
        let run = [upstream.url.as_str(), "--warm-up", "0", "-r", "15", "-d", "500ms"];
        load(&[&run[..], &flags[..]].concat())
    });
    assert_eq!(code(&output), Some(0), "{}", output.stderr_text());
    let output = tidegate(&["load", "merge", &shard, "--report", &page]);
    assert_eq!(code(&output), Some(0), "{}", output.stderr_text());
    assert!(folder.text("all.html").contains("tidegate load merge"));
    let output = tidegate(&["load", "report", &shard, "--out", &page]);
    assert_eq!(code(&output), Some(0), "{}", output.stderr_text());
    assert!(folder.text("all.html").contains("Only shard 1/1 of the load"));
}

#[test]
fn a_page_that_cannot_be_written_is_found_before_the_run() {
    let (folder, upstream) = (Folder::new(), Upstream::start());
    let (json, nowhere) = (folder.path("a.json"), folder.path("no/such/folder.html"));
    for (args, words) in [
        (vec![upstream.url.as_str(), "--report", &nowhere], "cannot be written: No such file"),
        (vec![upstream.url.as_str(), "--report", &json, "--json", &json], "both name"),
        (vec!["merge", &json, "--report", &nowhere], "cannot be written: No such file"),
        (vec!["report", &json, "--out", &json], "would overwrite the result"),
        (vec!["report", &json], "a.json: No such file"),
    ] {
        let output = tidegate(&[&["load"], &args[..]].concat());
        let text = output.stderr_text();
        assert_eq!(code(&output), Some(2), "{args:?}: {text}");
        assert!(text.contains(words), "{args:?}: {text}");
    }
    assert!(upstream.requests().is_empty());
}

#[test]
fn a_file_of_another_kind_or_format_is_refused_with_the_remedy() {
    let folder = Folder::new();
    for (content, words) in [
        ("{\"format\": 2}", "has format 2, and this tidegate reads format 1"),
        ("{}", "says no format"),
        ("<html>", "give a file that `tidegate load --json` wrote"),
        ("{\"format\": 1}", "missing field"),
    ] {
        std::fs::write(folder.path("a.json"), content).unwrap();
        let output = tidegate(&["load", "report", &folder.path("a.json")]);
        let text = output.stderr_text();
        assert_eq!(code(&output), Some(2), "{content}: {text}");
        assert!(text.contains(words) && text.contains("a.json: "), "{content}: {text}");
    }
}

/// A site that redirects elsewhere, to an address that is markup.
fn hostile_site() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            read_request(&mut BufReader::new(&stream));
            let answer = "HTTP/1.1 302 Found\r\nLocation: http://other.example/\"><script>alert(1)</script>\r\n\
                          Content-Length: 0\r\nConnection: close\r\n\r\n";
            let _ = (&mut &stream).write_all(answer.as_bytes());
        }
    });
    url
}

#[test]
fn no_scenario_and_no_server_writes_markup_into_the_page() {
    let folder = Folder::new();
    let (file, page) = (folder.path("shop.toml"), folder.path("shop.html"));
    let scenario = "name = '<script>alert(2)</script>'\n[session]\nsteps = ['<img src=x>']\n\
                    [pages]\n'<img src=x>' = { path = '/' }\n[arrivals]\ntimes = ['0s', '10ms']\n\
                    [run]\nwarm_up = '0s'\nduration = '500ms'\n";
    std::fs::write(&file, scenario).unwrap();
    let output = load(&[&file, "--target", &hostile_site(), "--report", &page]);
    let text = folder.text("shop.html");
    assert_eq!(code(&output), Some(3), "nothing succeeds: {}", output.stderr_text());
    assert!(text.contains("&lt;script&gt;alert(2)"), "{text}");
    assert!(text.contains("other.example"), "the redirect is shown: {text}");
    for markup in ["<script", "<img"] {
        assert!(!text.contains(markup), "{markup}: {text}");
    }
}
