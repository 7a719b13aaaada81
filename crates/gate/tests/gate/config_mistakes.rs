//! What an operator reads when a configuration is wrong.

use std::path::Path;
use tempfile::TempDir;
use tidegate_control::CertificateKey;
use tidegate_gate::config::{Config, Flags, Mistakes, Policy};

pub fn mistakes(text: &str) -> String {
    match Config::from_toml(text, "gate.toml") {
        Ok(_) => String::new(),
        Err(mistakes) => mistakes.to_string(),
    }
}

pub const UPSTREAM: &str = "[upstream]\nurl = \"http://127.0.0.1:8080\"\n";

#[track_caller]
pub fn assert_only_mistake(text: &str, expected: &str) {
    assert_eq!(mistakes(&format!("{UPSTREAM}{text}")), expected);
}

#[test]
fn all_mistakes_of_all_sections_come_together_in_the_order_of_the_file() {
    let text = r#"
colour = "blue"
[listen]
address = "8443"
adress = "x"
cores = "0,0-"
[tls]
ticket_lifetime = 3600
[upstream]
url = "localhost:8080"
pool_size = -1
[admission]
policy = "tied"
hodl_time = "1s"
hold_time = "1 hour"
idle_deadline = "1s"
session_rate = "20"
[limits]
hello_deadline = "0ms"
hello_max_bytes = "1MiB"
handshake_deadline = true
[admn]
address = "x"
[log]
level = "inf"
"#;
    let expected = r#"
gate.toml:2: colour = "blue": is not a known key; every key stands under a [table]
gate.toml:4: listen.address = "8443": must be an IP address and a port; "0.0.0.0:8443" is that port on all addresses
gate.toml:5: listen.adress = "x": is not a known key; did you mean address?
gate.toml:6: listen.cores = "0,0-": must be "all" or numbers of processor cores; write "all", "0,2-3" or [0, 2, 3]
gate.toml:8: tls.ticket_lifetime = 3600: must be a duration of 1m to 7d; add the unit, as in "3600s"
gate.toml:10: upstream.url = "localhost:8080": must be a URL of http:// or https:// with a host and no path, or unix:/PATH; try "http://localhost:8080"
gate.toml:11: upstream.pool_size = -1: must be a whole number of 0 to 65535; try 0
gate.toml:13: admission.policy = "tied": must be one of off, static, eac, tide; did you mean "tide"?
gate.toml:14: admission.hodl_time = "1s": is not a known key; did you mean hold_time?
gate.toml:15: admission.hold_time = "1 hour": must be a duration of 0s to 30s; write a number and one of ms, s, m, h, d, as in "10s"
gate.toml:16: admission.idle_deadline = "1s": is not a known key; it belongs under [limits]
gate.toml:17: admission.session_rate = "20": must be a number of 0.1 to 100000; leave out the quotes: 20
gate.toml:19: limits.hello_deadline = "0ms": must be a duration of 100ms to 60s; try "100ms"
gate.toml:20: limits.hello_max_bytes = "1MiB": must be a size of 1KiB to 64KiB; try "64KiB"
gate.toml:21: limits.handshake_deadline = true: must be text in quotes; write it as "100ms"
gate.toml:22: admn: is not a known table; did you mean [admin]?
gate.toml:25: log.level = "inf": must be off, error, warn, info, debug, trace; or target=level, several with commas; did you mean info?
"#;
    assert_eq!(mistakes(text), expected.trim());
}

#[test]
fn broken_toml_is_reported_with_its_line_beside_the_other_mistakes() {
    let text = "[upstream]\nurl = \"http://127.0.0.1:1\"\n[limits]\nidle_deadline = \nx = 1\n";
    let text = mistakes(text);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines[0].starts_with("gate.toml:4: is not TOML: "), "{text}");
    assert!(lines[1].starts_with("gate.toml:5: limits.x = 1: is not a known key"), "{text}");
}

#[test]
fn a_key_set_twice_is_a_mistake() {
    let text = mistakes(&format!("{UPSTREAM}[log]\nlevel = \"info\"\nlevel = \"warn\"\n"));
    assert!(text.starts_with("gate.toml:5: is not TOML: duplicate key"), "{text}");
}

#[test]
fn an_empty_file_is_reported_with_what_must_be_set() {
    let expected = "gate.toml: upstream.url: must be set; add url = \
                    \"http://127.0.0.1:8080\" under [upstream], or give --upstream";
    assert_eq!(mistakes(""), expected);
}

#[test]
fn keys_that_contradict_each_other_are_found() {
    assert_only_mistake(
        "[admission]\npolicy = \"static\"",
        "gate.toml: admission.rate: must be set for the policy static; add rate = 50 under \
         [admission], or give --rate, in new sessions per second",
    );
    assert_only_mistake(
        "[tls]\nticket_lifetime = \"10m\"",
        "gate.toml: tls.ticket_rotation: must be at most tls.ticket_lifetime, 10m; try \"10m\"",
    );
    assert_only_mistake(
        "[tls]\nticket_lifetime = \"7d\"\nticket_rotation = \"10s\"",
        "gate.toml:5: tls.ticket_rotation = \"10s\": must be at least 1/64 of \
         tls.ticket_lifetime, 7d; rotate less often, or shorten the lifetime",
    );
    assert_only_mistake(
        "[admin]\naddress = \"127.0.0.1:8443\"",
        "gate.toml:4: admin.address = \"127.0.0.1:8443\": must differ from listen.address, \
         0.0.0.0:8443; choose another port",
    );
    assert_only_mistake(
        "[listen]\naddress = \"127.0.0.1:8080\"",
        "gate.toml:2: upstream.url = \"http://127.0.0.1:8080\": is the gate's own address, \
         127.0.0.1:8080; name the service's port, or set another for the gate",
    );
}

#[test]
fn keys_of_the_waiting_room_are_mistakes_where_there_is_none() {
    for refuse in ["reset", "alert"] {
        for (key, value) in [
            ("maintenance", "true"),
            ("opens", "\"2026-12-01T18:00:00Z\""),
            ("never_wait_paths", "\"/health\""),
        ] {
            assert_only_mistake(
                &format!("[admission]\nrefuse = \"{refuse}\"\n{key} = {value}"),
                &format!(
                    "gate.toml:5: admission.{key} = {value}: has no effect without the waiting \
                     room; set refuse = \"page\" under [admission], or leave it out"
                ),
            );
        }
    }
    let text = format!("{UPSTREAM}[admission]\nmaintenance = true");
    assert_eq!(mistakes(&text), "", "a page is the default");
    let text = format!("{UPSTREAM}[admission]\nrefuse = \"reset\"\nmaintenance = false");
    assert_eq!(mistakes(&text), "");
}

#[test]
fn of_several_addresses_each_wrong_one_is_a_mistake() {
    assert_only_mistake(
        "[listen]\naddress = [\"0.0.0.0:443\", \"443\"]",
        "gate.toml:4: listen.address[1] = \"443\": must be an IP address and a port; \
         \"0.0.0.0:443\" is that port on all addresses",
    );
    assert_only_mistake(
        "[listen]\naddress = []",
        "gate.toml:4: listen.address = []: must not be an empty list; name one at least, or \
         leave the key out",
    );
    assert_only_mistake(
        "[listen]\naddress = [\"0.0.0.0:443\", \"127.0.0.1:443\"]",
        "gate.toml:4: listen.address = [\"0.0.0.0:443\", \"127.0.0.1:443\"]: has 0.0.0.0:443 and \
         127.0.0.1:443, of which one takes all; leave one of them out",
    );
    assert_only_mistake(
        "[listen]\naddress = [\"127.0.0.1:8443\", \"[::1]:9443\"]\nclear = \"[::]:9443\"\n\
         [admin]\naddress = \"off\"",
        "gate.toml:5: listen.clear = \"[::]:9443\": must differ from listen.address, \
         [::1]:9443; choose another port",
    );
    let both = "[listen]\naddress = [\"0.0.0.0:443\", \"[::]:443\"]";
    let config = Config::from_toml(&format!("{UPSTREAM}{both}"), "gate.toml").unwrap();
    assert_eq!(config.listen.address.len(), 2);
}

#[test]
fn an_address_for_plain_http_that_is_in_use_is_found() {
    assert_only_mistake(
        "[listen]\nclear = \"127.0.0.1:8443\"",
        "gate.toml:4: listen.clear = \"127.0.0.1:8443\": must differ from listen.address, \
         0.0.0.0:8443; choose another port",
    );
    assert_only_mistake(
        "[listen]\nclear = \"0.0.0.0:9443\"",
        "gate.toml:4: listen.clear = \"0.0.0.0:9443\": must differ from admin.address, \
         127.0.0.1:9443; choose another port",
    );
    assert_only_mistake(
        "[listen]\nclear = \"0.0.0.0:8080\"",
        "gate.toml:2: upstream.url = \"http://127.0.0.1:8080\": is the gate's own address \
         for plain HTTP, 0.0.0.0:8080; name the service's port, or set another for the gate",
    );
    for sound in ["off", "127.0.0.1:0", "127.0.0.1:8000", "[::1]:8081"] {
        assert_only_mistake(&format!("[listen]\nclear = \"{sound}\""), "");
    }
}

#[test]
fn a_core_outside_the_affinity_is_found() {
    let text = mistakes(&format!("{UPSTREAM}[listen]\ncores = [8000]"));
    let start = "gate.toml:4: listen.cores = [8000]: core 8000 is not among those";
    assert!(text.starts_with(start), "{text}");
}

/// A folder with PEM files: two pairs, and what is no pair.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    for name in ["a", "b"] {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        write(&format!("{name}.crt"), &made.cert.pem());
        write(&format!("{name}.key"), &made.signing_key.serialize_pem());
    }
    write("empty.pem", "");
    write("broken.pem", "-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n");
    let locked = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----";
    write("locked.key", locked);
    write("junk.key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n");
    write("junk.crt", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    folder
}

fn pair(folder: &Path, certificate: &str, key: &str) -> Result<Config, Mistakes> {
    let text = format!("{UPSTREAM}[tls]\ncertificate = \"{certificate}\"\nkey = \"{key}\"\n");
    Config::from_toml(&text, folder.join("gate.toml").to_str().unwrap())
}

#[test]
fn paths_of_a_certificate_and_its_key_start_in_the_folder_of_the_file() {
    let folder = folder();
    let config = pair(folder.path(), "a.crt", "a.key").unwrap();
    let identity = &config.identities().unwrap()[0];
    assert_eq!((identity.chain.len(), identity.self_signed), (1, false));
}

#[test]
fn every_fault_of_certificate_and_key_files_has_its_own_message() {
    let folder = folder();
    let cases = [
        ("none.crt", "a.key", "tls.certificate = \"none.crt\": does not exist"),
        ("a.crt", "none.key", "tls.key = \"none.key\": does not exist"),
        ("a.crt", "b.key", "tls.key = \"b.key\": is not the key of tls.certificate"),
        ("a.key", "a.key", "tls.certificate = \"a.key\": holds a private key but no certificate"),
        ("a.crt", "a.crt", "tls.key = \"a.crt\": holds a certificate but no private key"),
        ("empty.pem", "a.key", "tls.certificate = \"empty.pem\": holds no certificate"),
        ("broken.pem", "a.key", "tls.certificate = \"broken.pem\": is PEM that cannot be read"),
        ("junk.crt", "a.key", "tls.certificate = \"junk.crt\": its first certificate cannot be"),
        ("a.crt", "locked.key", "tls.key = \"locked.key\": is encrypted with a passphrase"),
        ("a.crt", "junk.key", "tls.key = \"junk.key\": is a key that cannot be used"),
        (".", "a.key", "tls.certificate = \".\": is not a file"),
    ];
    for (certificate, key, expected) in cases {
        let text = pair(folder.path(), certificate, key).unwrap_err().to_string();
        assert!(text.contains(expected), "{certificate} {key}: {text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
}

#[test]
fn a_certificate_without_its_key_is_reported_and_so_is_the_reverse() {
    let folder = folder();
    let place = folder.path().join("gate.toml");
    let read = |line: &str| {
        let text = format!("{UPSTREAM}[tls]\n{line}\n");
        Config::from_toml(&text, place.to_str().unwrap()).unwrap_err().to_string()
    };
    let text = read("certificate = \"a.crt\"");
    assert!(text.contains(":4: tls.certificate = \"a.crt\": is a certificate without its key"));
    let text = read("key = \"a.key\"");
    assert!(text.contains(":4: tls.key = \"a.key\": is a key without its certificate"));
}

#[test]
fn flags_override_the_file_and_suffice_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gate.toml");
    let more = "[tls]\nself_signed = \"rsa-2048\"\n[admission]\npolicy = \"eac\"\n";
    std::fs::write(&path, format!("{UPSTREAM}{more}")).unwrap();
    let flags = Flags {
        policy: Some("static".into()),
        rate: Some("12.5".into()),
        listen: Some("127.0.0.1:0".into()),
        clear: Some("127.0.0.1:80".into()),
        ..Flags::default()
    };
    let config = Config::from_file_and_flags(&path, &flags).unwrap();
    assert_eq!(config.admission.policy, Policy::Static);
    assert_eq!(config.admission.rate, Some(12.5));
    assert_eq!(config.listen.address, ["127.0.0.1:0".parse().unwrap()]);
    assert_eq!(config.listen.clear, Some(([127, 0, 0, 1], 80).into()));
    assert_eq!(config.upstream.url.first().port, 8080);
    assert_eq!(config.tls.self_signed, [CertificateKey::Rsa2048]);

    let flags = Flags {
        upstream: Some("https://shop.example".into()),
        cores: Some("all".into()),
        admin: Some("off".into()),
        ..Flags::default()
    };
    let config = Config::from_flags(&flags).unwrap();
    assert_eq!(config.upstream.url.to_string(), "https://shop.example:443");
    assert_eq!(config.admin.address, None);
}

#[test]
fn mistakes_in_flags_name_the_flag() {
    let flags =
        Flags { policy: Some("tied".into()), listen: Some(":1".into()), ..Flags::default() };
    let text = Config::from_flags(&flags).unwrap_err().to_string();
    let expected = "\
--listen: listen.address = :1: must be an IP address and a port; \"0.0.0.0:1\" is that port on all addresses
command line: upstream.url: must be set; give --upstream http://127.0.0.1:8080
--policy: admission.policy = tied: must be one of off, static, eac, tide; did you mean \"tide\"?";
    assert_eq!(text, expected);
}

#[test]
fn a_file_that_cannot_be_read_is_one_clear_line() {
    let folder = tempfile::tempdir().unwrap();
    let read = |path: &Path| Config::from_file(path).unwrap_err().to_string();
    let text = read(&folder.path().join("none.toml"));
    assert!(text.contains("none.toml: cannot be read (No such file"), "{text}");
    assert!(read(folder.path()).contains("cannot be read (Is a directory"));
    let path = folder.path().join("latin.toml");
    std::fs::write(&path, b"[log]\n# caf\xe9\n").unwrap();
    assert!(read(&path).contains("line 2 is not UTF-8"));
    std::fs::write(&path, vec![b'#'; (1 << 20) + 1]).unwrap();
    assert!(read(&path).contains("is larger than 1 MiB"));
}

proptest::proptest! {
    #[test]
    fn no_text_panics_and_every_mistake_is_one_line(
        section in "(listen|tls|upstream|admission|limits|admin|log|x)",
        key in "[a-z_]{1,12}",
        value in "[ -~]{0,30}",
        noise in "\\PC{0,40}",
    ) {
        let text = format!("[{section}]\n{key} = {value}\n{noise}\n");
        if let Err(Mistakes(list)) = Config::from_toml(&text, "t") {
            proptest::prop_assert!(!list.is_empty());
            for mistake in list {
                proptest::prop_assert_eq!(mistake.to_string().lines().count(), 1);
            }
        }
    }
}

#[test]
fn a_value_of_a_wrong_type_is_reported_for_every_key() {
    let tables = tidegate_gate::config::tables();
    let keys = tables.iter().flat_map(|table| table.rows.iter().map(|row| (table.name, row.name)));
    for (table, key) in keys {
        let mut text = format!("{table}.{key} = 1979-05-27\n");
        if key != "url" {
            text.push_str("upstream.url = \"http://127.0.0.1:8080\"\n");
        }
        let found = mistakes(&text);
        let start = format!("{table}.{key} = 1979-05-27: ");
        assert!(found.contains(&start) && found.lines().count() == 1, "{text}\n{found}");
    }
}

#[test]
fn risky_values_give_warnings() {
    let text = "[upstream]\nurl = \"https://h\"\ninsecure = true\nforwarded = \"pass\"\n[admission]\nrate = 5\n\
                [admin]\naddress = \"0.0.0.0:9443\"\n[listen]\nclear = \"0.0.0.0:80\"\n[limits]\nmax_connections = 10000000";
    let warnings = Config::from_toml(text, "t").unwrap().warnings();
    for part in [
        "listen.clear",
        "admin.address",
        "upstream.insecure",
        "admission.rate",
        "upstream.forwarded",
    ] {
        assert!(warnings.iter().any(|warning| warning.contains(part)), "{part}: {warnings:?}");
    }
    let quiet = Config::from_toml(UPSTREAM, "t").unwrap().warnings();
    let said = |part| quiet.iter().any(|warning| warning.contains(part));
    assert!(!said("admin") && !said("clear"), "{quiet:?}");
}

#[test]
fn a_repeated_value_is_short_and_printable() {
    let long = "x".repeat(100_000);
    let cases = [
        ("[tls]\ncertificate = ", "\\u001b[2J\\nforged.toml:1: all is well"),
        ("[tls]\nself_signed_names = ", "a\\u001b[2J"),
        ("[log]\nlevel = ", &long),
        ("[listen]\naddress = ", &long),
        ("[upstream]\nca = ", &long),
        ("[admission]\npolicy = ", "\\u0007"),
    ];
    for (start, value) in cases {
        let found = mistakes(&format!("{start}\"{value}\"\n"));
        assert!(!found.is_empty() && found.lines().all(|line| line.len() < 1_000), "{start}");
        assert!(!found.contains(|c: char| c.is_control() && c != '\n'), "{found:?}");
        assert!(!found.lines().any(|line| line.starts_with("forged")), "{found}");
    }
}

#[test]
fn stream_types_are_content_types_without_parameters() {
    for fine in ["[]", "[\"text/event-stream\", \"application/x-ndjson\"]"] {
        assert_only_mistake(&format!("[limits]\nstream_types = {fine}\n"), "");
    }
    for (wrong, remedy) in [
        ("\"text/event-stream\"", "write [\"text/event-stream\"]"),
        ("[\"text/event-stream; q=1\"]", "write \"text/event-stream\""),
        ("[\"events\"]", "\"events\" is none; write [\"text/event-stream\"]"),
    ] {
        let rule = "must be at most 20 content types without parameters";
        let expected = format!("gate.toml:4: limits.stream_types = {wrong}: {rule}; {remedy}");
        assert_only_mistake(&format!("[limits]\nstream_types = {wrong}\n"), &expected);
    }
}

#[test]
fn listeners_beside_others_are_checked_against_them() {
    for (keys, expected) in [
        (
            "proxy_protocol = [\"10.0.0.0/33\"]",
            "must be 1 to 100 networks or addresses; \"10.0.0.0/33\" is neither; write \
             [\"10.0.0.0/8\", \"2001:db8::1\"]",
        ),
        ("proxy_protocol = \"10.0.0.0/8\"", "write [\"10.0.0.0/8\", \"2001:db8::1\"]"),
        ("redirect = \"0.0.0.0:8443\"", "must differ from listen.address, 0.0.0.0:8443"),
        ("acme_webroot = \"/w\"", "has no effect while listen.redirect is off; add redirect ="),
        (
            "redirect = \"0.0.0.0:80\"\nacme_webroot = \"/w\"\nacme_upstream = \"http://a\"",
            "gate.toml:6: listen.acme_upstream = \"http://a\": has no effect beside \
             listen.acme_webroot; leave one of them out",
        ),
        ("redirect = \"0.0.0.0:80\"\nacme_upstream = \"https://a\"", "must be http://"),
    ] {
        let found = mistakes(&format!("{UPSTREAM}[listen]\n{keys}\n"));
        assert!(found.contains(expected) && found.lines().count() == 1, "{keys}: {found}");
    }
}

#[test]
fn keys_of_an_access_log_that_is_off_are_told() {
    for key in ["format = \"combined\"", "queries = true"] {
        let expected = format!(
            "gate.toml:4: access_log.{key}: has no effect without access_log.file; \
             add file = \"access.log\" under [access_log], or leave it out"
        );
        assert_only_mistake(&format!("[access_log]\n{key}\n"), &expected);
    }
}
