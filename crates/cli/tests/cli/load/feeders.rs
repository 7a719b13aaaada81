//! Values of scenarios from files: each session gets a row.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::common::upstream::Upstream;
use crate::common::{Text, tidegate};

/// Customers who sign in with the values of their row.
fn scenario(pick: &str, arrivals: &str) -> String {
    format!(
        "[session]\nsteps = [\"Login\", \"Home\"]\nthink = \"1ms\"\npatience = \"60s\"\n\
         [feeders.users]\nfile = \"users.csv\"\npick = \"{pick}\"\n\
         [pages.Login]\npath = \"/login/{{name}}\"\nbody = '{{\"password\": \"{{password}}\"}}'\n\
         [pages.Home]\npath = \"/\"\nheaders = {{ X-User = \"{{name}}\" }}\n\
         [arrivals]\n{arrivals}\nprocess = \"even\"\n"
    )
}

/// Rows of users: `user0,"a ""0"""` and so on.
fn users(count: usize) -> String {
    let row = |n| format!("user{n},\"a \"\"{n}\"\"\"\r\n");
    "\u{FEFF}name,password\r\n".to_owned() + &(0..count).map(row).collect::<String>()
}

/// Runs a scenario with a file of users.
fn load(scenario: &str, users: &str, target: &str, flags: &[&str]) -> (Output, Value) {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), scenario, users);
    let path = |name| folder.path().join(name).display().to_string();
    let (file, json) = (path("shop.toml"), path("summary.json"));
    let args = ["load", &file, "--target", target, "--json", &json, "--plain"];
    let output = tidegate(&[&args[..], flags].concat());
    let summary = std::fs::read_to_string(&json).unwrap_or_else(|_| "null".to_owned());
    (output, serde_json::from_str(&summary).unwrap())
}

fn write(folder: &Path, scenario: &str, users: &str) {
    std::fs::write(folder.join("shop.toml"), scenario).unwrap();
    std::fs::write(folder.join("users.csv"), users).unwrap();
}

/// The users who signed in, in any order.
fn signed_in(upstream: &Upstream) -> Vec<String> {
    let requests = upstream.requests();
    let mut users: Vec<String> = requests
        .iter()
        .filter_map(|line| line.strip_prefix("POST /login/")?.strip_suffix(" HTTP/1.1"))
        .map(str::to_owned)
        .collect();
    users.sort();
    users
}

#[test]
fn threads_and_drivers_together_give_each_row_once() {
    for flags in
        [&["--threads", "2"][..], &["--drivers", "2"], &["--drivers", "2", "--threads", "2"]]
    {
        let upstream = Upstream::start();
        let number = ["-n", "24", "-r", "100"];
        let flags = [&number[..], flags].concat();
        let (output, summary) =
            load(&scenario("in-turn", "rate = 100"), &users(40), &upstream.url, &flags);
        let text = output.stdout_text();
        assert_eq!(summary["totals"]["completed"], 24, "{text}{}", output.stderr_text());
        let mut expected: Vec<String> = (0..24).map(|n| format!("user{n}")).collect();
        expected.sort();
        assert_eq!(signed_in(&upstream), expected, "{flags:?}");
    }
}

#[test]
fn a_session_keeps_its_row_and_values_are_escaped_where_they_stand() {
    let upstream = Upstream::start();
    let (output, summary) =
        load(&scenario("in-turn", "rate = 100"), &users(3), &upstream.url, &["-n", "6"]);
    assert_eq!(summary["totals"]["completed"], 6, "{}", output.stderr_text());
    assert_eq!(signed_in(&upstream), ["user0", "user0", "user1", "user1", "user2", "user2"]);
    let requests = upstream.whole_requests();
    let login = requests.iter().find(|head| head.contains("/login/user2")).unwrap();
    assert!(login.ends_with("{\"password\": \"a \\\"2\\\"\"}"), "{login}");
    let home = requests.iter().filter(|head| head.starts_with("GET / "));
    let home = home.filter(|head| head.contains("\r\nX-User: user2\r\n"));
    assert_eq!(home.count(), 2);
}

#[test]
fn rows_at_random_are_those_of_the_seed() {
    let drawn = |seed: &str| {
        let upstream = Upstream::start();
        let flags = ["-n", "20", "--seed", seed];
        load(&scenario("random", "rate = 200"), &users(1000), &upstream.url, &flags);
        signed_in(&upstream)
    };
    let first = drawn("1");
    assert_eq!(first.len(), 20);
    assert!(first.iter().collect::<BTreeSet<_>>().len() > 10, "{first:?}");
    assert_eq!(drawn("1"), first);
    assert_ne!(drawn("2"), first);
}

#[test]
fn where_each_row_is_given_once_further_sessions_fail_and_the_report_says_why() {
    let upstream = Upstream::start();
    let (output, summary) =
        load(&scenario("once", "rate = 100"), &users(5), &upstream.url, &["-n", "12"]);
    let text = output.stdout_text();
    let totals = &summary["totals"];
    assert_eq!((&totals["completed"], &totals["failed"]), (&5.into(), &7.into()), "{text}");
    assert_eq!(totals["failed_by_kind"]["rows_used_up"], 7);
    assert_eq!(signed_in(&upstream).len(), 5);
    let words: Vec<&str> = text.split_whitespace().collect();
    let expected = "rows used up Login (7): expected a row of users.csv for every session; \
                    found its rows, 5 in all, are used up";
    assert!(words.join(" ").contains(expected), "{text}");
}

#[test]
fn in_the_closed_model_customers_leave_when_no_row_is_left_and_the_run_ends() {
    let upstream = Upstream::start();
    let scenario = scenario("once", "customers = 3").replace("process = \"even\"\n", "");
    let flags = ["--warm-up", "0", "--duration", "1h", "--threads", "2"];
    let (output, summary) = load(&scenario, &users(9), &upstream.url, &flags);
    let text = output.stdout_text();
    assert_eq!(summary["totals"]["completed"], 9, "{text}{}", output.stderr_text());
    assert_eq!(summary["totals"]["failed_by_kind"]["rows_used_up"], 3, "{text}");
    assert_eq!(signed_in(&upstream).len(), 9);
    assert!(summary["measured_s"].as_f64() < Some(3600.0), "it ends with its last customer");
}

#[test]
fn check_reports_the_mistakes_of_feeder_files_too() {
    let folder = tempfile::tempdir().unwrap();
    let check = |users: &str| {
        write(folder.path(), &scenario("in-turn", "rate = 1"), users);
        tidegate(&["check", &folder.path().join("shop.toml").display().to_string()])
    };
    assert_eq!(check(&users(2)).status.code(), Some(0));
    for (users, says) in [
        (
            "",
            "shop.toml:6: feeders.users.file = \"users.csv\": is empty; begin it with name,password",
        ),
        ("ann;1\n", "users.csv:1: feeders.users: has one column, \"ann;1\", separated by ';'"),
        ("name,password\nann\n", "users.csv:2: feeders.users: has 1 value for 2 columns;"),
        ("name,pass\nann,1\n", "{password} is neither"),
    ] {
        let output = check(users);
        let text = output.stderr_text();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(says), "{text}");
    }
}
