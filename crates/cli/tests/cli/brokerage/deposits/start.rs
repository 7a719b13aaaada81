//! How a brokerage and its card processor are started.

use std::path::Path;

use tidegate_sitekit::database::Location;

use super::site::{GOOD, PAID, form};

use crate::common::tiers::{Customer, Tier, counts};
use crate::common::{Running, Text, private, tidegate, wait_until};

/// Starts all tiers with `--card`.
fn all(folder: &Path, more: &[&str]) -> Tier {
    let data = folder.join("data").display().to_string();
    let fixed = ["--listen", "127.0.0.1:0", "--data", &data, "--customers", "10"];
    let card = ["--password-cost", "light", "--card", "--card-listen", "127.0.0.1:0"];
    Tier::start(folder, "all", &[&fixed[..], &card, more].concat())
}

#[test]
fn one_command_starts_a_brokerage_with_its_processor() {
    let folder = tempfile::tempdir().unwrap();
    for (at, security) in ["none", "modern"].into_iter().enumerate() {
        for stub in ["in-process", "cgi"] {
            let site = all(folder.path(), &["--security", security, "--stub", stub]);
            let customer = Customer::sign_in(&site.address, folder.path(), 1);
            let name = format!("deposit-{security}-{stub}");
            let page = customer.deposit(&form(&customer), &name, "12.34");
            let card_form =
                page.card_form().unwrap_or_else(|| panic!("{}\n{}", page.text, site.log()));
            assert_eq!(card_form.starts_with("https:"), security == "modern", "{card_form}");
            let paid = customer.type_card(&card_form, GOOD);
            assert!(paid.text.contains(PAID), "{security} {stub}: {}\n{}", paid.text, site.log());
            // Webhooks have come too.
            let location = Location::Sqlite(folder.path().join("data/brokerage.db"));
            let events = i64::try_from(2 * (2 * at + usize::from(stub == "cgi") + 1)).unwrap();
            wait_until("webhooks have come", || {
                counts(&location, ["SELECT COUNT(*) FROM card_events"]) == [events]
            });
            assert_eq!(site.end(), Some(0));
        }
    }
}

#[test]
fn flags_of_the_processor_that_are_wrong_say_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data").display().to_string();
    let key = folder.path().join("key").display().to_string();
    private(Path::new(&key), "sk_1\n");
    let refused = |args: &[&str], says: &str| {
        let fixed = ["site", "brokerage", "--data", &data, "--customers", "10"];
        let light = ["--password-cost", "light"];
        let output = tidegate(&[&fixed[..], &light, args].concat());
        let text = output.stderr_text();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {text}");
        assert!(text.contains(says), "{args:?} does not say {says}:\n{text}");
    };
    refused(&["--card", "--tier", "web"], "--card-processor");
    refused(&["--card", "--listen", "0.0.0.0:0"], "--public-url");
    refused(&["--card", "--card-listen", "0.0.0.0:8090"], "tidegate site card");
    refused(&["--card", "--public-url", "http://broker.example"], "https");
    refused(&["--card", "--card-processor", "https://x"], "cannot be used with");
    refused(&["--card-processor", "https://x"], "--card-key-file");
    let app = ["--tier", "app", "--listen", "127.0.0.1:0", "--next", "127.0.0.1:9"];
    let app = |url: &str, file: &str, public: &str, says: &str| {
        let card = ["--card-processor", url, "--card-key-file", file, "--public-url", public];
        refused(&[&app[..], &card].concat(), says);
    };
    let (good, public) = ("https://card.example", "https://broker.example");
    app("http://card.example", &key, public, "must be an https URL");
    app(good, "/does/not/exist", public, "--make-key");
    app(good, &key, "http://broker.example", "--public-url");
    let web = ["--tier", "web", "--listen", "127.0.0.1:0", "--next", "127.0.0.1:9"];
    let missing = ["--webhook-secret-file", "/does/not/exist"];
    refused(&[&web[..], &missing].concat(), "--make-webhook-secret");
}

#[test]
fn the_example_of_the_documentation_works() {
    let text = include_str!("../../../../../../docs/brokerage.md");
    let example = text
        .split("<!-- begin of the example that is tested -->\n```sh\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .expect("the example is there");
    let folder = tempfile::tempdir().unwrap();
    let [site, card] = [(); 2].map(|()| tidegate_lab::free_address().unwrap().to_string());
    let example = example
        .replace("\\\n", " ")
        .replace("127.0.0.1:8080", &site)
        .replace("127.0.0.1:8090", &card)
        .replace("tidegate site", &format!("{} site", env!("CARGO_BIN_EXE_tidegate")))
        .replace(" site brokerage", " site brokerage --customers 10 --password-cost light")
        .replace(" site brokerage", &format!(" site brokerage --listen {site}"))
        .replace(" site card --return", &format!(" site card --listen {card} --return"));
    let mut running = Vec::new();
    for line in example.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let mut bash = std::process::Command::new("bash");
        bash.current_dir(folder.path());
        match line.strip_suffix(" &") {
            Some(service) => {
                bash.args(["-euc", &format!("exec {service}")]);
                running
                    .push(Running::announced(&mut bash, std::process::Stdio::inherit()).unwrap());
            }
            None => {
                let output = bash.args(["-euc", line]).output().unwrap();
                assert!(output.status.success(), "{line}: {}", output.stderr_text());
            }
        }
    }
    assert_eq!(running.len(), 2);
    let customer = Customer::sign_in(&format!("http://{site}"), folder.path(), 1);
    let page = customer.deposit(&form(&customer), "deposit-0001", "50");
    let paid = customer.type_card(&page.card_form().unwrap(), GOOD);
    assert!(paid.text.contains(PAID), "{}", paid.text);
}
