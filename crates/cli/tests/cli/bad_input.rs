//! Bad input of every kind ends with a clear line and the right exit code.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use crate::common::{Text, has_two_processors, tidegate};

fn refused(args: &[&str], code: i32, says: &[&str]) {
    let output = tidegate(args);
    let text = output.stderr_text();
    assert_eq!(output.status.code(), Some(code), "{args:?}: {text}");
    for word in says {
        assert!(text.contains(word), "{args:?} does not say `{word}`:\n{text}");
    }
    assert!(!text.contains("panicked"), "{text}");
}

fn file(folder: &tempfile::TempDir, name: &str, text: &str) -> String {
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn a_gate_without_an_upstream_is_bad_input() {
    refused(&["gate"], 2, &["--upstream http://127.0.0.1:8080", "--config"]);
    refused(&["gate", "--upstream", "ftp://x"], 2, &["--upstream", "http"]);
}

#[test]
fn two_results_of_a_run_do_not_go_to_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "out", "");
    let run = ["load", "auction-bots", "--target", "http://127.0.0.1:1"];
    let both = ["--raw", &path, "--json", &path];
    refused(&[run, both].concat(), 2, &["--json and --raw both name", "a file of its own"]);
}

#[test]
fn flags_of_tls_against_a_target_in_clear_are_bad_input() {
    let run = ["load", "auction-bots", "--target", "HTTP://127.0.0.1:1"];
    let one = [&run[..], &["--tls", "1.3"]].concat();
    refused(&one, 2, &["--tls: HTTP://127.0.0.1:1 is plain HTTP", "https://", "leave it out"]);
    let more = ["--suites", "TLS_AES_128_GCM_SHA256", "--groups", "x25519", "--tickets", "all"];
    refused(
        &[&run[..], &more].concat(),
        2,
        &["--suites, --groups, --tickets: ", "leave these out"],
    );
}

#[test]
fn a_certificate_without_its_key_is_bad_input() {
    let folder = tempfile::tempdir().unwrap();
    let pair = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let cert = file(&folder, "cert.pem", &pair.cert.pem());
    refused(
        &["gate", "--upstream", "http://127.0.0.1:1", "--cert", &cert],
        2,
        &["--cert", "is a certificate without its key", "give --key"],
    );
    let other = rcgen::KeyPair::generate().unwrap();
    let key = file(&folder, "key.pem", &other.serialize_pem());
    refused(
        &["gate", "--upstream", "http://127.0.0.1:1", "--cert", &cert, "--key", &key],
        2,
        &["--key", "is not the key of tls.certificate"],
    );
}

#[test]
fn a_file_of_ticket_keys_that_cannot_be_used_is_bad_input() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[upstream]\nurl = \"http://127.0.0.1:1\"\n[tls]\nticket_keys = \"keys\"\n";
    let config = file(&folder, "gate.toml", text);
    let keys = file(&folder, "keys", "no keys");
    std::fs::set_permissions(keys, std::fs::Permissions::from_mode(0o644)).unwrap();
    for args in [&["check", config.as_str()][..], &["gate", "--config", &config]] {
        refused(args, 2, &["gate.toml:4: tls.ticket_keys = \"keys\": may be used by", "chmod 600"]);
    }
}

#[test]
fn a_port_in_use_is_bad_input() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    refused(
        &["gate", "--upstream", "http://127.0.0.1:1", "--listen", &address, "--admin", "off"],
        2,
        &[&address],
    );
    let free = ["gate", "--upstream", "http://127.0.0.1:1", "--listen", "127.0.0.1:0"];
    let taken = ["--clear", &address, "--admin", "off"];
    refused(&[&free[..], &taken[..]].concat(), 2, &[&address]);
}

#[test]
fn every_mistake_of_a_configuration_is_reported_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[upstream]\nurl = \"http://127.0.0.1:8080\"\nretry = 3\n\n[admission]\npolcy = \"tide\"\nhold_time = \"9h\"\n";
    let config = file(&folder, "gate.toml", text);
    for args in [["check", config.as_str(), ""], ["gate", "--config", &config]] {
        let args: Vec<_> = args.into_iter().filter(|arg| !arg.is_empty()).collect();
        refused(
            &args,
            2,
            &["gate.toml:3", "retry", "gate.toml:6", "polcy", "policy", "gate.toml:7", "hold_time"],
        );
    }
}

#[test]
fn a_sound_configuration_passes_the_check() {
    let folder = tempfile::tempdir().unwrap();
    let config = file(&folder, "gate.toml", "[upstream]\nurl = \"http://127.0.0.1:8080\"\n");
    let output = tidegate(&["check", &config]);
    assert_eq!(output.status.code(), Some(0), "{}", output.stderr_text());
}

#[test]
fn what_is_allowed_but_unwise_passes_the_check_with_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let text =
        "[upstream]\nurl = \"http://127.0.0.1:8080\"\n\n[admin]\naddress = \"0.0.0.0:9443\"\n";
    let output = tidegate(&["check", &file(&folder, "gate.toml", text)]);
    assert_eq!(output.status.code(), Some(0), "{}", output.stderr_text());
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("warning: admin.address = 0.0.0.0:9443"), "{shown}");
}

#[test]
fn an_upstream_that_cannot_be_reached_passes_the_check_with_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let dead = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let unknown = format!("{}.test:80", "a".repeat(64));
    for (host, why) in [(dead.to_string(), "Connection refused"), (unknown, "does not resolve")] {
        let text = format!("[upstream]\nurl = \"http://{host}\"\n");
        let output = tidegate(&["check", &file(&folder, "gate.toml", &text)]);
        assert_eq!(output.status.code(), Some(0), "{}", output.stderr_text());
        let shown = output.stdout_text();
        let warning = format!("warning: upstream.url = http://{host}: ");
        assert!(shown.contains(&warning) && shown.contains(why), "{shown}");
    }
}

#[test]
fn a_scenario_whose_rows_do_not_sum_to_one_is_bad_input() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[session]\nstart = \"Home\"\n\n[pages.Home]\npath = \"/\"\n\n[transitions]\nHome = { Home = 0.5, End = 0.4 }\n";
    let scenario = file(&folder, "shop.toml", text);
    refused(&["check", &scenario], 2, &["shop.toml:", "Home", "0.9"]);
    refused(&["load", &scenario, "--target", "https://127.0.0.1:1", "--rate", "1"], 2, &["Home"]);
}

#[test]
fn an_unreachable_target_says_so_and_is_a_run_that_failed() {
    let target = ["load", "auction-browsing", "--target", "https://127.0.0.1:1"];
    let times = ["--rate", "5", "--duration", "2", "--warm-up", "0", "--plain"];
    refused(&[&target[..], &times].concat(), 3, &["https://127.0.0.1:1 cannot be reached"]);
}

#[test]
fn unknown_names_list_the_known_ones() {
    refused(
        &["load", "nonsense", "--target", "https://127.0.0.1:1"],
        2,
        &["nonsense", "auction-browsing"],
    );
    refused(&["site", "nonsense"], 2, &["nonsense"]);
}

#[test]
fn a_database_that_is_not_there_or_not_ours_says_so() {
    let folder = tempfile::tempdir().unwrap();
    refused(
        &[
            "site",
            "auction",
            "--database",
            "postgres://127.0.0.1:1/shop",
            "--listen",
            "127.0.0.1:0",
        ],
        2,
        &["127.0.0.1:1"],
    );
    refused(
        &["site", "auction", "--database", "mysql://x/y", "--listen", "127.0.0.1:0"],
        2,
        &["mysql"],
    );
    let data = folder.path().join("data");
    std::fs::create_dir(&data).unwrap();
    std::fs::write(data.join("auction.db"), "this is no database, whatever its name says").unwrap();
    refused(
        &["site", "auction", "--data", &data.display().to_string(), "--listen", "127.0.0.1:0"],
        2,
        &["auction.db"],
    );
}

#[test]
fn the_demo_refuses_processors_that_it_cannot_have() {
    if !has_two_processors() {
        return;
    }
    // Whichever this process may use.
    let own = tidegate_host::Cores::of_this_thread().unwrap().list()[0].to_string();
    refused(&["demo", "--server-cores", &own, "--driver-cores", &own], 2, &["share"]);
    refused(&["demo", "--server-cores", "900"], 2, &["900"]);
}
