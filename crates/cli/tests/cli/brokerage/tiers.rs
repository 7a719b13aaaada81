//! `tidegate site brokerage`: its tiers together and alone, its files, its mistakes.

use std::path::Path;
use std::process::Command;

use crate::common::tiers::{Customer, Tier};
use crate::common::{Text, curl, gate, tidegate, wait_until};
use crate::postgres;

fn all(folder: &Path, more: &[&str]) -> Tier {
    let data = folder.join("data").display().to_string();
    let fixed = [
        "--listen",
        "127.0.0.1:0",
        "--data",
        &data,
        "--customers",
        "10",
        "--password-cost",
        "light",
    ];
    Tier::start(folder, "all", &[&fixed, more].concat())
}

/// The processes that a process has started.
fn children(id: u32) -> Vec<u32> {
    let path = format!("/proc/{id}/task/{id}/children");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().filter_map(|id| id.parse().ok()).collect()
}

fn runs(id: u32) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    !state.is_empty() && !state.contains(") Z ")
}

#[test]
fn three_processes_serve_every_preset_and_end_together() {
    for security in ["none", "tls", "tls+backend", "modern"] {
        let folder = tempfile::tempdir().unwrap();
        let tiers = all(folder.path(), &["--security", security]);
        let scheme = if security == "none" { "http://" } else { "https://" };
        assert!(tiers.address.starts_with(scheme), "{security}: {}", tiers.address);
        let customer = Customer::sign_in(&tiers.address, folder.path(), 1);
        for path in ["/main", "/portfolio", "/orders", "/history", "/orders/new", "/healthz"] {
            let page = customer.get(path);
            assert_eq!(page.status, 200, "{security} {path}: {}", page.text);
        }
        let form = customer.form().unwrap();
        assert_eq!(customer.order(&form, "order-0001", "buy", 1, "1.00").status, 200);
        let processes = children(tiers.id());
        assert_eq!(processes.len(), 3, "{security}");
        assert_eq!(tiers.end(), Some(0), "{security}");
        wait_until("all tiers have ended", || !processes.iter().any(|id| runs(*id)));
    }
}

#[test]
fn pages_by_cgi_are_those_of_the_process_and_each_has_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let links = ["none,per-request", "tls", "sealed"];
    for link in links {
        let tiers =
            all(folder.path(), &["--stub", "cgi", "--web-app", link, "--feed-interval", "3600000"]);
        let customer = Customer::sign_in(&tiers.address, folder.path(), 1);
        for path in ["/main", "/portfolio", "/orders", "/history", "/orders/new"] {
            let page = customer.get(path);
            assert_eq!(page.status, 200, "{link} {path}: {}\n{}", page.text, tiers.log());
            assert!(page.text.contains("</html>"), "{path}");
        }
        let form = customer.form().unwrap();
        let order = customer.order(&form, &format!("order-{:04}", link.len()), "buy", 1, "1.00");
        assert_eq!(order.status, 200, "{}", order.text);
        assert_eq!(customer.order(&form, "order-bad", "buy", 0, "1.00").status, 422);
        assert_eq!(customer.order("x", "order-bad", "buy", 1, "1.00").status, 403);
        assert_eq!(customer.get("/nowhere").status, 404);
        assert_eq!(Customer::sign_in(&tiers.address, folder.path(), 99).get("/main").status, 401);
        let in_process = tiers.end();
        assert_eq!(in_process, Some(0));
    }
}

#[test]
fn guesses_are_limited_by_the_customers_address_through_cgi_too() {
    let folder = tempfile::tempdir().unwrap();
    let tiers = all(folder.path(), &["--stub", "cgi"]);
    let url = format!("{}/login", tiers.address);
    let guess = |from: &str, password: &str| {
        let fields = format!("user=customer1&password={password}");
        let header = format!("X-Forwarded-For: {from}");
        let code = ["--output", "/dev/null", "--write-out", "%{http_code}", "--data", &fields];
        curl(&[&code[..], &["--header", &header, &url]].concat()).stdout_text()
    };
    for _ in 0..5 {
        assert_eq!(guess("192.0.2.1", "wrong"), "401");
    }
    assert_eq!(guess("192.0.2.1", "password1"), "429");
    assert_eq!(guess("192.0.2.2", "password1"), "200");
}

#[test]
fn behind_the_gate_sessions_are_for_tls_and_forms_for_the_gates_name() {
    let folder = tempfile::tempdir().unwrap();
    let tiers = all(folder.path(), &[]);
    let gate = gate(&tiers.address, &["--policy", "off"]);
    let customer = Customer::sign_in(gate.address("gate"), folder.path(), 1);
    assert_eq!(customer.get("/main").status, 200);
    let form = customer.form().unwrap();
    assert_eq!(customer.order(&form, "order-0001", "buy", 1, "1.00").status, 200);
    let url = format!("{}/login", gate.address("gate"));
    let login = |origin: &str| {
        let header = format!("Origin: {origin}");
        let fields = ["--data", "user=customer2&password=password2", "--header", &header];
        curl(&[&["--include", &url][..], &fields].concat()).stdout_text()
    };
    let own = login(gate.address("gate"));
    assert!(own.starts_with("HTTP/2 200"), "{own}");
    assert!(own.contains("__Host-session=") && own.contains("; Secure"), "{own}");
    assert!(login("https://elsewhere.example").starts_with("HTTP/2 403"));
}

#[test]
fn a_tier_that_ends_ends_the_others_and_the_exit_code_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let mut tiers = all(folder.path(), &["--app-servers", "2"]);
    let processes = children(tiers.id());
    assert_eq!(processes.len(), 4);
    // SAFETY: a descendant of a child of this test, which runs.
    unsafe { libc::kill(processes[1].cast_signed(), libc::SIGKILL) };
    assert_eq!(tiers.wait(), Some(3));
    assert!(tiers.log().contains("the app tier ended"), "{}", tiers.log());
    wait_until("all tiers have ended", || !processes.iter().any(|id| runs(*id)));
}

#[test]
fn a_databases_password_is_on_the_command_line_of_no_process_and_in_the_data_tier_alone() {
    const PASSWORD: &str = "a-password-0123";
    for by_flag in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data").display().to_string();
        // The tests' server asks for none.
        let url =
            postgres::new_database().replace("//postgres@", &format!("//postgres:{PASSWORD}@"));
        let mut args = vec!["--listen", "127.0.0.1:0", "--data", &data, "--customers", "10"];
        args.extend(["--password-cost", "light"]);
        if by_flag {
            args.extend(["--database", &url]);
        }
        let tiers = Tier::start_as(folder.path(), "all", &args, |command| {
            if !by_flag {
                command.env("TIDEGATE_DATABASE", &url);
            }
        });
        assert!(!Path::new(&data).join("brokerage.db").exists(), "it is on PostgreSQL");
        let customer = Customer::sign_in(&tiers.address, folder.path(), 1);
        assert_eq!(customer.get("/main").status, 200, "{}", tiers.log());
        let processes = children(tiers.id());
        assert_eq!(processes.len(), 3);
        let mut holders = 0;
        for id in processes {
            let [arguments, environment] = ["cmdline", "environ"].map(|file| {
                let bytes = std::fs::read(format!("/proc/{id}/{file}")).unwrap();
                String::from_utf8_lossy(&bytes).into_owned()
            });
            assert!(!arguments.contains(PASSWORD), "{arguments}");
            let holds = environment.contains(PASSWORD);
            assert_eq!(holds, arguments.contains("--tier\0data"), "{arguments}");
            holders += usize::from(holds);
        }
        assert_eq!(holders, 1);
    }
}

#[test]
fn tiers_alone_find_each_other_and_the_log_of_one_that_refuses_names_the_cause() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    for key in ["here.json", "there.json"] {
        assert_eq!(
            tidegate(&["site", "brokerage", "--make-key", &path(key)]).status.code(),
            Some(0)
        );
    }
    let made = tidegate(&["site", "brokerage", "--make-ca", &path("ca")]);
    assert_eq!(made.status.code(), Some(0), "{}", made.stderr_text());
    let (ca, data_folder) = (path("ca"), path("data"));
    let light = ["--password-cost", "light", "--listen", "127.0.0.1:0"];
    let data = Tier::start(
        folder.path(),
        "data",
        &[
            &["--tier", "data", "--app-data", "tls", "--certificates", &ca],
            &light[..],
            &["--data", &data_folder, "--customers", "10"],
        ]
        .concat(),
    );
    let here = path("here.json");
    let sealed = ["--web-app", "sealed", "--web-app-key"];
    let app = Tier::start(
        folder.path(),
        "app",
        &[
            &["--tier", "app", "--app-data", "tls", "--certificates", &ca, "--next", &data.address],
            &light[..],
            &sealed,
            &[here.as_str()],
        ]
        .concat(),
    );
    let web = |key: &str, name: &str| {
        let key = path(key);
        let next = ["--tier", "web", "--next", &app.address];
        Tier::start(folder.path(), name, &[&next[..], &light, &sealed, &[key.as_str()]].concat())
    };
    let good = web("here.json", "web");
    let customer = Customer::sign_in(&good.address, folder.path(), 1);
    assert_eq!(customer.get("/main").status, 200);

    let bad = web("there.json", "web-bad");
    let customer = Customer::sign_in(&bad.address, folder.path(), 2);
    assert_eq!(customer.get("/main").status, 401, "it could not sign in");
    wait_until("both logs name the cause", || {
        app.log().contains("a message to /sign-in is refused: its key is not in the key file")
            && bad.log().contains(&format!("app tier at {}: refuses the message", app.address))
    });

    // Junk on the ports of tiers is told in their logs, and does nothing else.
    for address in [&data.address, &app.address] {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        std::io::Write::write_all(&mut stream, b"junk\r\n\r\n").unwrap();
    }
    wait_until("both logs tell of the junk", || {
        data.log().contains("a TLS handshake failed") && app.log().contains("is not HTTP")
    });
    assert_eq!(Customer::sign_in(&good.address, folder.path(), 3).get("/main").status, 200);

    // A tier that shows the certificate of another.
    for end in [".pem", "-key.pem"] {
        let from = folder.path().join(format!("ca/web{end}"));
        std::fs::copy(from, folder.path().join(format!("ca/app{end}"))).unwrap();
    }
    let impostor = Tier::start(
        folder.path(),
        "app-bad",
        &[
            &["--tier", "app", "--app-data", "tls", "--certificates", &ca, "--next", &data.address],
            &light[..],
        ]
        .concat(),
    );
    wait_until("both logs name the cause", || {
        impostor.log().contains("refuses this tier's certificate")
            && data.log().contains("not valid for name")
    });
    drop(good);
    assert_eq!(data.end(), Some(0));
}

#[test]
fn a_key_is_changed_step_by_step_while_customers_are_served() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (old, both) = (path("old.json"), path("both.json"));
    let make = |file: &str| tidegate(&["site", "brokerage", "--make-key", file]);
    assert!(make(&old).stdout_text().contains("was made"));
    std::fs::copy(&old, &both).unwrap();
    assert!(make(&both).stdout_text().contains("was added"));
    let (data_folder, swapped) = (path("data"), path("swapped.json"));
    let text = std::fs::read_to_string(&both).unwrap();
    let mut file: serde_json::Value = serde_json::from_str(&text).unwrap();
    file["keys"].as_array_mut().unwrap().swap(0, 1);
    std::fs::copy(&both, &swapped).unwrap();
    std::fs::write(&swapped, file.to_string()).unwrap();
    let light = ["--password-cost", "light", "--listen", "127.0.0.1:0", "--customers", "10"];
    let data = Tier::start(
        folder.path(),
        "data",
        &[&["--tier", "data", "--data", &data_folder], &light[..]].concat(),
    );
    for (of_app, of_web) in [(&old, &both), (&both, &both), (&both, &swapped), (&swapped, &both)] {
        let app = Tier::start(
            folder.path(),
            "app",
            &[
                &["--tier", "app", "--next", &data.address, "--web-app", "sealed"],
                &light[..],
                &["--web-app-key", of_app],
            ]
            .concat(),
        );
        let web = Tier::start(
            folder.path(),
            "web",
            &[
                &["--tier", "web", "--next", &app.address, "--web-app", "sealed"],
                &light[..],
                &["--web-app-key", of_web],
            ]
            .concat(),
        );
        let customer = Customer::sign_in(&web.address, folder.path(), 1);
        assert_eq!(customer.get("/main").status, 200, "{of_app} {of_web}: {}", web.log());
    }
}

#[test]
fn mistakes_are_told_in_one_line_with_exit_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("bad.csv"), "tick,symbol,price\n1,NONE,5\n").unwrap();
    std::fs::write(path("open.json"), "{}").unwrap();
    let listen = ["--listen", "127.0.0.1:0"];
    let (bad, open, data) = (path("bad.csv"), path("open.json"), path("data"));
    for (args, expected) in [
        (&["--tier", "web"][..], "--next: name the address of the app tier"),
        (&["--tier", "app"], "--next: name the address of the data tier"),
        (&["--tier", "data", "--next", "x:1"], "the data tier has no next tier"),
        (&["--next", "127.0.0.1:1"], "name the tier with --tier web or --tier app"),
        (&["--tier", "app", "--app-servers", "2"], "--app-servers"),
        (&["--tier", "app", "--next", "a:1", "--feed", &bad], "line 2: symbol \"NONE\""),
        (&["--tier", "app", "--next", "a:1", "--app-data", "tls"], "--make-ca DIR"),
        (&["--tier", "app", "--next", "a:1", "--web-app", "sealed"], "--make-key FILE"),
        (
            &[
                "--tier",
                "data",
                "--app-data",
                "sealed",
                "--app-data-key",
                &open,
                "--data",
                &data,
                "--customers",
                "10",
                "--password-cost",
                "light",
            ],
            "chmod 600",
        ),
        (&["--web-app", "ssl"], "must be none, tls or sealed"),
        (&["--security", "paper"], "tls+backend or modern"),
        (&["--customers", "5", "--data", &data], "must be 10 to 100000"),
    ] {
        let output = tidegate(&[&["site", "brokerage"], &listen[..], args].concat());
        let text = output.stderr_text();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {text}");
        assert!(text.contains(expected), "{args:?}: {text}");
    }
    let again = tidegate(&["site", "brokerage", "--stub-call"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(again.stderr_text().contains("TIDEGATE_STUB is not set"), "{}", again.stderr_text());
    let made = tidegate(&["site", "brokerage", "--make-ca", &path("ca")]);
    assert_eq!(made.stdout_text().lines().count(), 7);
    let again = tidegate(&["site", "brokerage", "--make-ca", &path("ca")]);
    assert_eq!(again.status.code(), Some(2));
    assert!(again.stderr_text().contains("is there already"), "{}", again.stderr_text());
}

#[test]
fn the_programs_help_lists_the_tiers_and_hides_the_stub() {
    let help = tidegate(&["site", "brokerage", "--help"]).stdout_text();
    assert!(help.contains("--tier <TIER>") && help.contains("--make-ca <DIR>"), "{help}");
    assert!(!help.contains("--stub-call"), "{help}");
    let listed = Command::new(env!("CARGO_BIN_EXE_tidegate")).args(["site", "--help"]).output();
    assert!(listed.unwrap().stdout_text().contains("brokerage"));
}
