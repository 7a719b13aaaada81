//! Mistakes that a new user of `tidegate load` makes, and what they are told.

use crate::common::{Text, tidegate};

/// What these arguments are answered with; nothing is started.
fn told(args: &[&str]) -> String {
    let output = tidegate(args);
    let text = output.stderr_text();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {text}");
    assert_eq!(output.stdout_text(), "", "{args:?}");
    assert!(!text.contains("panicked"), "{text}");
    text
}

fn tells(args: &[&str], expected: &str) {
    let text = told(args);
    assert!(text.contains(expected), "{args:?} is not told `{expected}`:\n{text}");
}

const AT: [&str; 2] = ["--target", "http://127.0.0.1:1"];

#[test]
fn a_misspelt_url_is_answered_with_the_url() {
    tells(&["load", "http:/127.0.0.1:1/a"], "is no URL; did you mean http://127.0.0.1:1/a?");
    tells(&["load", "https//shop"], "did you mean https://shop?");
    tells(
        &["load", "auction-bots", "--target", "http:127.0.0.1"],
        "did you mean http://127.0.0.1?",
    );
    tells(
        &["load", "htp://127.0.0.1:1/"],
        "\"htp\" is neither https nor http; write it as https://",
    );
    tells(
        &["load", "http://127.0.0.1:99999/"],
        "invalid port number; write it as https://host[:port]",
    );
    tells(&["load", "http://a", "http://b"], "http://b: a second URL or scenario; give one");
    let path = ["load", "auction-bots", "--target", "http://127.0.0.1:1/shop?a"];
    tells(&path, "has the path /shop?a, and the paths of requests are those of the scenario");
}

#[test]
fn a_host_that_does_not_resolve_is_not_called_a_service_that_is_down() {
    // A label of more than 63 letters is in no name, so that no resolver is asked.
    let url = format!("http://{}.invalid/", "a".repeat(64));
    let output = tidegate(&["load", &url, "-n", "1"]);
    let text = output.stderr_text();
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(text.contains("its name does not resolve"), "{text}");
    assert!(text.contains("check the host, or give its address with --resolve"), "{text}");
}

#[test]
fn an_unknown_scenario_is_answered_with_the_nearest_ones() {
    for target in [&[][..], &AT] {
        let load = |name| [&["load", name], target].concat();
        tells(&load("auction-biding"), "did you mean auction-bidding?");
        tells(&load("bots"), "describes them: auction-bots\n");
        tells(&load("nonsense"), "auction-crowd, auction-bots, handshake-flood");
    }
    tells(&[&["load", "shops/none.toml"], &AT[..]].concat(), "there is no such scenario file");
    tells(&["load", "--show", "auction-buyer"], "did you mean auction-buyers?");
}

#[test]
fn what_is_no_scenario_file_says_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.display().to_string()
    };
    let folder_name = folder.path().display().to_string();
    let (empty, binary) = (file("empty.toml", b"\n"), file("a.out", b"\x7FELF\0\xFF\xFE"));
    for (path, expected) in [
        (&folder_name, ": is a folder; name a file in it"),
        (&empty, "empty.toml: is empty; write its content, or name another file"),
        (
            &binary,
            "a.out: is not text in UTF-8, from line 1 on; save it as UTF-8, or name a text file",
        ),
    ] {
        tells(&[&["load", path], &AT[..]].concat(), expected);
        tells(&["check", path], expected);
    }
}

#[test]
fn a_step_to_a_page_that_does_not_exist_names_the_place_and_the_pages() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.toml").display().to_string();
    let scenario = |steps: &str| {
        format!(
            "[session]\nsteps = [\"Home\"]\n[pages]\nHome = {{ path = \"/\" }}\n\
             Item = {{ path = \"/i\" }}\n[arrivals]\nrate = 1\n\
             [[classes]]\nname = \"people\"\nshare = 1\nsteps = [{steps}]\n"
        )
    };
    for (steps, expected) in [
        (
            "\"Hmoe\"",
            "shop.toml:11: classes[0].steps[0] = \"Hmoe\": is not a page; did you mean Home?",
        ),
        (
            "\"Home\", { page = \"Basket\" }",
            "steps[1].page = \"Basket\": is not a page; pages are Home, Item",
        ),
    ] {
        std::fs::write(&path, scenario(steps)).unwrap();
        tells(&[&["load", path.as_str()], &AT[..]].concat(), expected);
    }
    std::fs::write(&path, scenario("\"Home\"").replace("\"/i\"", "\"i\"")).unwrap();
    let expected =
        "shop.toml:5: pages.Item.path = \"i\": \"i\" must begin with /; write a path such";
    tells(&[&["load", path.as_str()], &AT[..]].concat(), expected);
}

#[test]
fn numbers_and_times_of_flags_say_what_they_must_be() {
    for (flag, value, expected) in [
        ("-d", "0", "must be a time above 0, such as 30s"),
        ("-d", "-5", "must be a time above 0, such as 30s"),
        ("--warm-up", "-1", "must be a time of 0 or more, such as 30s"),
        ("-n", "0", "must be a whole number of 1 or more, such as 1000"),
        ("-n", "many", "must be a whole number of 1 or more, such as 1000"),
        ("-r", "-5", "must be above 0"),
        ("-c", "0", "must be 1 to 1000000"),
    ] {
        tells(&["load", "http://127.0.0.1:1", flag, value], expected);
    }
    tells(
        &["load", "http://127.0.0.1:1", "--durtion", "5"],
        "similar argument exists: '--duration'",
    );
}

#[test]
fn a_file_without_end_is_read_up_to_a_bound_that_is_named() {
    let zero = "/dev/zero";
    for (args, expected) in [
        (&["check", zero][..], "/dev/zero: has more than 64 MiB; name a file of configuration"),
        (&["load", zero, AT[0], AT[1]], "/dev/zero: has more than 64 MiB"),
        (&["load", "compare", zero, zero], "/dev/zero: has more than 256 MiB"),
        (&["load", "merge", zero, zero], "/dev/zero: has more than 256 MiB"),
        (&["load", "report", zero, "--out", "none.html"], "/dev/zero: has more than 256 MiB"),
        (&["load", "import", zero], "/dev/zero: cannot be read: has more than 256 MiB;"),
        (
            &["load", "http://127.0.0.1:1", "--data", "@/dev/zero"],
            "--data @/dev/zero: has more than 16 MiB;",
        ),
        (&["load", "https://127.0.0.1:1", "--cert", zero], "/dev/zero: has more than 16 MiB"),
    ] {
        tells(args, expected);
    }
    // The times of the run are told before its certificates are read.
    let output = tidegate(&["load", "https://127.0.0.1:1", "--ca", zero]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stderr_text().contains("/dev/zero: has more than 16 MiB"));
    let folder = tempfile::tempdir().unwrap();
    // A tier that cannot start ends the site.
    let data = folder.path().join("data").display().to_string();
    let output = tidegate(&["site", "brokerage", "--data", &data, "--feed", zero]);
    let text = output.stderr_text();
    assert!(text.contains("--feed /dev/zero: has more than 64 MiB"), "{text}");
    let file = folder.path().join("shop.toml");
    let start = "[session]\nstart = \"A\"\n[pages]\nA = { path = \"/\" }\n";
    for (rest, expected) in [
        ("[transitions]\nfile = \"/dev/zero\"\n", "has more than 8 MiB"),
        ("[feeders.a]\nfile = \"/dev/zero\"\n", "has more than 256 MiB"),
        ("[tls]\ncertificate = \"/dev/zero\"\n", "has more than 16 MiB"),
    ] {
        std::fs::write(&file, format!("{start}{rest}")).unwrap();
        tells(&["check", &file.display().to_string()], expected);
    }
}
