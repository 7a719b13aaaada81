//! `tidegate tca profile`: from access logs and scenarios to the profile of customers.

use std::io::Write;
use std::path::Path;

use serde_json::Value;

use crate::common::upstream::Upstream;
use crate::common::{curl, gate, tidegate};

fn run(args: &[&str]) -> (Option<i32>, String, String) {
    let output = tidegate(&[&["tca", "profile"], args].concat());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// A line of the combined format at a second of a day, with the session's cookie behind it.
fn line(second: u32, client: &str, request: &str, session: &str) -> String {
    let (h, m, s) = (second / 3600, second / 60 % 60, second % 60);
    format!(
        "{client} - - [10/Oct/2000:{h:02}:{m:02}:{s:02} +0000] \"{request} HTTP/1.1\" 200 1 \"-\" \"Mozilla/5.0\" \"x=1; sid={session}\"\n"
    )
}

/// Two customers behind one address each hour of a day: one looks at two items, the other buys one.
fn logs(folder: &Path) -> [String; 2] {
    let of_hours = |hours: std::ops::Range<u32>| -> String {
        let of_hour = |hour: u32| {
            let at = |second| 3600 * hour + second;
            let (a, b) = (format!("a{hour}"), format!("b{hour}"));
            line(at(0), "10.0.0.1", "GET /", &a)
                + &line(at(5), "10.0.0.1", "GET /items/12", &b)
                + &line(at(10), "10.0.0.1", "GET /items/7", &a)
                + &line(at(20), "10.0.0.1", "GET /items/8?page=2", &a)
                + &line(at(25), "10.0.0.1", "POST /items/12/buy", &b)
        };
        hours.map(of_hour).collect()
    };
    let [new, old] = ["access.log", "access.log.1.gz"].map(|name| folder.join(name));
    std::fs::write(&new, of_hours(12..24) + "no line of a log\n").unwrap();
    let packed = std::fs::File::create(&old).unwrap();
    // gzip's format without compression: one stored block of at most 65,535 bytes.
    write_gzip(packed, of_hours(0..12).as_bytes());
    [new, old].map(|path| path.to_str().unwrap().to_owned())
}

/// A gzip file of one stored block.
///
/// Source: RFC 1951, section 3.2.4; RFC 1952, section 2.3.
fn write_gzip(mut file: std::fs::File, bytes: &[u8]) {
    let length = u16::try_from(bytes.len()).unwrap();
    file.write_all(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1]).unwrap();
    file.write_all(&length.to_le_bytes()).unwrap();
    file.write_all(&(!length).to_le_bytes()).unwrap();
    file.write_all(bytes).unwrap();
    let mut check = !0_u32;
    for byte in bytes {
        check ^= u32::from(*byte);
        for _ in 0..8 {
            check = if check & 1 == 1 { check >> 1 ^ 0xedb8_8320 } else { check >> 1 };
        }
    }
    file.write_all(&(!check).to_le_bytes()).unwrap();
    file.write_all(&u32::from(length).to_le_bytes()).unwrap();
}

#[test]
fn logs_of_a_site_give_its_profile_as_text_toml_and_json() {
    let folder = tempfile::tempdir().unwrap();
    let [new, old] = logs(folder.path());
    let [toml, json] = ["profile.toml", "profile.json"].map(|name| folder.path().join(name));
    let (code, text, errors) = run(&[
        "--log",
        &new,
        &old,
        "--session",
        "10:sid",
        "--operation",
        "Buy=POST /items/{item}/buy",
        "--order",
        "Buy",
        "--toml",
        toml.to_str().unwrap(),
        "--json",
        json.to_str().unwrap(),
    ]);
    assert_eq!((code, errors.as_str()), (Some(0), ""), "{text}");
    // Of 48 sessions the log may cut two at either end. They last 20 s, with 2.5 operations.
    for expected in [
        "44 sessions in a log of",
        ": 20.0 s long on average, with 2.50 operations",
        "other operations for each order: 4.00",
        "left out: 1 of 121 lines that cannot be read",
        "access.log:61: has no time in brackets",
        "the log may cut 2 sessions at its begin and 2 at its end: these are left out",
    ] {
        assert!(text.replace('\u{a0}', " ").contains(expected), "{expected} is missing in\n{text}");
    }
    let profile = std::fs::read_to_string(&toml).unwrap();
    assert!(profile.contains("session = \"20s\"\nsessions = 44\ncheckout = \"Buy\""), "{profile}");
    let found: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    let of = |name: &str| {
        let all = found["profile"]["operations"].as_array().unwrap();
        let one = all.iter().find(|it| it["operation"] == name).unwrap();
        one["per_session"]["value"].as_f64().unwrap()
    };
    assert_eq!((of("/"), of("/items/{id}"), of("Buy")), (0.5, 1.5, 0.5));
    assert_eq!((&found["log"]["lines"], &found["log"]["broken"]), (&121.into(), &1.into()));
}

#[test]
fn the_access_log_of_the_gate_gives_the_profile_by_its_sessions_without_options() {
    let versions = ["--http1.1", "--http2"];
    for (format, version) in
        [("json", versions[0]), ("combined", versions[0]), ("json", versions[1])]
    {
        let folder = tempfile::tempdir().unwrap();
        let [config, log, json] =
            ["gate.toml", "access.log", "profile.json"].map(|name| folder.path().join(name));
        let table = format!("[access_log]\nfile = \"access.log\"\nformat = \"{format}\"\n");
        std::fs::write(&config, table + "[admission]\npolicy = \"off\"\n").unwrap();
        let upstream = Upstream::start();
        let running = gate(&upstream.url, &["--config", config.to_str().unwrap()]);
        let page = |path: &str| format!("{}{path}", running.address("gate"));
        // One address and one user agent, but three customers.
        for pages in [&["/", "/items/7", "/items/8?token=x"][..], &["/"], &["/", "/items/9"]] {
            let pages: Vec<String> = pages.iter().map(|path| page(path)).collect();
            let pages = pages.iter().map(String::as_str);
            let args: Vec<&str> =
                [version, "--user-agent", "Mozilla/5.0"].into_iter().chain(pages).collect();
            assert!(curl(&args).status.success());
        }
        assert_eq!(running.end(), Some(0));
        let (log, file) = (log.to_str().unwrap(), json.to_str().unwrap());
        let (code, text, errors) = run(&["--log", log, "--json", file]);
        assert_eq!((code, errors.as_str()), (Some(0), ""), "{text}");
        let found: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
        let counts = &found["log"];
        assert_eq!((&counts["lines"], &counts["broken"]), (&6.into(), &0.into()), "{format}");
        assert_eq!(found["profile"]["sessions"], 3, "{format}: {text}");
        let operations = found["profile"]["operations"].as_array().unwrap();
        let each = |name: &str| {
            let one = operations.iter().find(|it| it["operation"] == name).unwrap();
            one["per_session"]["value"].as_f64().unwrap()
        };
        assert_eq!((each("/"), each("/items/{id}")), (1.0, 1.0), "{format}");
    }
}

#[test]
fn a_scenario_has_a_profile_by_simulation() {
    let (code, text, errors) = run(&["--scenario", "auction-bidding", "--order", "StoreBid"]);
    assert_eq!((code, errors.as_str()), (Some(0), ""), "{text}");
    for expected in ["4000 sessions simulated", "Orders of a session", "ViewItem"] {
        assert!(text.contains(expected), "{expected} is missing in\n{text}");
    }
    // Scrapers request twenty categories each.
    let (_, text, _) = run(&["--scenario", "auction-bots"]);
    let row = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    assert!(row("operation").contains("people  scrapers"), "{text}");
    assert!(row("Category ").split_whitespace().any(|cell| cell == "20.0"), "{text}");
}

#[test]
fn bad_input_of_a_profile_ends_with_2_and_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let [new, _] = logs(folder.path());
    let other = folder.path().join("other.txt");
    std::fs::write(&other, "root:x:0:0\ndaemon:x:1:1\n").unwrap();
    let foreign = folder.path().join("foreign.log");
    std::fs::write(&foreign, line(0, "10.0.0.1", "GET /nowhere", "a")).unwrap();
    let foreign = foreign.to_str().unwrap();
    let none = folder.path().join("none.log");
    for (args, expected) in [
        (
            &["--log", other.to_str().unwrap()][..],
            "2 of 2 lines cannot be read. They look like: root:x:0:0",
        ),
        (&["--log", none.to_str().unwrap()], "name a log that can be read"),
        (&["--log", &new, "--order", "By"], "is none of the operations"),
        (&["--log", foreign, "--scenario", "auction-bidding"], "name the scenario of this site"),
        (&["--log", &new, "--operation", "Buy=buy"], "must begin with /"),
        (&["--log", &new, "--keys", "when=ts"], "when is no field"),
        (&["--log", &new, "--format", "json"], "Expected is JSON"),
        (&["--log", &new, "--pause", "0s"], "must be a time above 0"),
        (&[], "--log"),
    ] {
        let (code, text, errors) = run(args);
        assert_eq!((code, text.as_str()), (Some(2), ""), "{args:?}: {errors}");
        assert!(errors.contains(expected), "{args:?}: {errors}");
    }
}
