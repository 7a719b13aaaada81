//! Where a measurement is refused, and with what remedy.

use std::time::Duration;

use super::{SHOP, tca};
use crate::common::{Text, tidegate};
use crate::study::known_site::{Kind, KnownSite};

/// A site whose pages take 2 ms.
fn site(status: &'static str) -> String {
    let time = Duration::from_millis(2);
    KnownSite { kind: Kind::Pool, workers: 4, time, pages: &[], status }.start()
}

#[test]
fn a_site_that_cannot_be_measured_is_told_what_to_do() {
    let out = tempfile::tempdir().unwrap();
    let (good, failing) = (site("200 OK"), site("503 Service Unavailable"));
    let profile = out.path().join("profile.toml");
    let text = "[profile]\nsession = \"60s\"\n[[operations]]\nname = \"Itm\"\nper_session = 2\n";
    std::fs::write(&profile, text).unwrap();
    let profile = profile.to_str().unwrap().to_owned();
    let endless = "[session]\nstart = \"Home\"\nmax_requests = 100000\n[pages]\n\
                   Home = { path = \"/\" }\n[transitions]\nHome = { Home = 1 }\n";
    for (scenario, target, more, code, expected) in [
        (SHOP, "https://192.0.2.1", &[][..], 2, "--yes-this-is-mine"),
        (SHOP, "127.0.0.1:80", &[], 2, "write https://127.0.0.1:80"),
        (SHOP, "http://127.0.0.1:1", &[], 3, "is the service running and is the port right?"),
        (SHOP, &failing, &[], 3, "answers no request as expected"),
        (SHOP, &good, &["--profile", &profile], 2, "no pages of shop: Itm; did you mean Item?"),
        (
            SHOP,
            &good,
            &["--order", "Oder"],
            2,
            "--order Oder: is no page of the scenario; did you mean Order?",
        ),
        (SHOP, &good, &["--resource", "database"], 2, "must be NAME=PROCESS"),
        (SHOP, &good, &["--resource", "database=none such"], 2, "there is no such process"),
        (SHOP, &good, &["--use", "2"], 2, "must be 0.01 to 1"),
        (
            endless,
            &good,
            &[],
            2,
            "let sessions end in its transitions, or set session.max_requests",
        ),
    ] {
        let output = tca(scenario, target, out.path(), &[&["--step", "200ms"], more].concat());
        let text = output.stderr_text();
        assert_eq!(output.status.code(), Some(code), "{target} {more:?}: {text}");
        assert!(text.contains(expected), "{target} {more:?}: {text}");
        assert!(!out.path().join("summary.json").exists());
    }
}

#[test]
fn pages_that_answer_errors_are_named_together() {
    let out = tempfile::tempdir().unwrap();
    let good = site("200 OK");
    // The links that these pages follow are offered by none.
    let scenario = "[session]\nstart = \"Home\"\n[pages]\nHome = { path = \"/\" }\n\
                    Item = { link = \"/items/{item}\" }\nBasket = { link = \"/baskets/{basket}\" }\n\
                    [transitions]\nHome = { Item = 0.3, Basket = 0.3, End = 0.4 }\n\
                    Item = { End = 1 }\nBasket = { End = 1 }\n";
    let output = tca(scenario, &good, out.path(), &["--step", "200ms"]);
    let text = output.stderr_text();
    assert_eq!(output.status.code(), Some(3), "{text}");
    for part in ["Item: no session came to it", "Basket: no session came to it", "http-debug"] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    assert!(!out.path().join("summary.json").exists());
}

#[test]
fn a_scenario_without_a_site_is_asked_for_one() {
    let output = tidegate(&["tca", "auction-bidding"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stderr_text().contains("--target"), "{}", output.stderr_text());
}
