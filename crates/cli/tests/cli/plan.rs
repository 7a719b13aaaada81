//! `tidegate plan`: from a file to servers and money, and the page with sliders.

use std::path::PathBuf;

use fantoccini::Locator;
use serde_json::{Value, json};

use crate::common::browser::{browser, chromedriver, look, no_browser_here, text};
use crate::common::{Running, tidegate};

/// A folder with the file that the program gives to begin with.
fn example() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let output = tidegate(&["plan", "--example"]);
    assert_eq!(output.status.code(), Some(0));
    let file = folder.path().join("shop.toml");
    std::fs::write(&file, output.stdout).unwrap();
    (folder, file)
}

fn run(file: &std::path::Path, more: &[&str]) -> (Option<i32>, String, String) {
    let output = tidegate(&[&["plan", file.to_str().unwrap()], more].concat());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn the_example_has_a_plan_as_text_json_and_page() {
    let (folder, file) = example();
    let [json, page] = ["plan.json", "plan.html"].map(|name| folder.path().join(name));
    let more = ["--json", json.to_str().unwrap(), "--report", page.to_str().unwrap()];
    let (code, text, errors) = run(&file, &more);
    assert_eq!((code, errors.as_str()), (Some(0), ""), "{text}");
    for section in
        ["Year by year", "Alternatives", "Why not “", "What matters most", "In an overload"]
    {
        assert!(text.contains(section), "{section} is missing in\n{text}");
    }
    let plan: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    let best = &plan["answer"]["alternatives"][0];
    assert_eq!(best["plan"]["years"].as_array().unwrap().len(), 3);
    let servers: u64 = best["plan"]["years"][2]["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|group| group["servers"].as_u64().unwrap())
        .sum();
    assert!(text.starts_with(&format!("{servers} servers for ")), "{text}");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("<svg") && !page.contains("src=\"http") && !page.contains("NaN"));
}

#[test]
fn mistakes_of_a_file_and_an_impossible_plan_end_with_2_and_a_remedy() {
    let (_folder, file) = example();
    let good = std::fs::read_to_string(&file).unwrap();
    let unserved = good.replace("name = \"8 cores\"", "name = \"8 cores\"\nonly = [\"Home\"]");
    let unserved =
        unserved.replace("name = \"32 fast cores\"", "name = \"32 fast cores\"\nonly = [\"Home\"]");
    for (text, expected) in [
        (good.replace("per_session = 4\n", "per_session = -4\n"), "try 0"),
        (good.replace("\"Checkout\"\nbrowse", "\"Pay\"\nbrowse"), "is none of the operations"),
        (unserved, "add a server without `only`"),
    ] {
        std::fs::write(&file, text).unwrap();
        let (code, out, errors) = run(&file, &[]);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{errors}");
        assert!(errors.contains(expected) && errors.contains("shop.toml"), "{errors}");
    }
    let (code, _, errors) = run(&file.with_file_name("none.toml"), &[]);
    assert!(code == Some(2) && errors.contains("there is no such file"), "{errors}");
    let (code, _, errors) = run(&file, &["--serve", "192.0.2.1:80"]);
    assert!(code == Some(2) && errors.contains("on this machine only"), "{errors}");
}

#[test]
fn costs_of_operations_come_from_a_table_with_its_own_names() {
    let folder = tempfile::tempdir().unwrap();
    let [table, json] = ["runs.csv", "costs.json"].map(|name| folder.path().join(name));
    let rows = "page,requests_s,cpu,cpus,mhz\nHome,10,12.5,2,400\nHome,20,22.5,2,400\n\
                Home,30,32.5,2,400\nHome,40,90,2,400\nPay,5,50,2,400\n";
    std::fs::write(&table, rows).unwrap();
    let columns = "operation=page,per_s=requests_s,utilisation_pct=cpu";
    let (table, json) = (table.to_str().unwrap(), json.to_str().unwrap());
    let args = ["tca", "--data", table, "--columns", columns, "--json", json];
    let output = tidegate(&args);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{text}");
    // 0.02 CPU seconds each beside 0.05 busy CPUs; 8 of 400 megacycles.
    for expected in
        ["20.0 ms", "costs rise", "megacycles of one", "Of 1 of 2 operations the cost is not known"]
    {
        assert!(text.contains(expected), "{expected} is missing in\n{text}");
    }
    let costs: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    assert!((costs["costs"][0]["cost"]["value"].as_f64().unwrap() - 0.02).abs() < 1e-9);
    let output = tidegate(&["tca", "--data", table]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code() == Some(2) && errors.contains("--columns operation=NAME"),
        "{errors}"
    );
}

#[test]
fn costs_of_operations_that_come_together_are_told_apart_where_the_runs_do() {
    let folder = tempfile::tempdir().unwrap();
    let [table, json] = ["runs.csv", "costs.json"].map(|name| folder.path().join(name));
    // 10 ms and 40 ms beside 0.1 busy CPUs; two Images with each Home cost 1 ms each.
    let rows = "per_s:Home,per_s:Pay,per_s:Image,busy_cpus,mhz\n10,1,20,0.26,400\n5,5,10,0.36,400\n\
                20,3,40,0.46,400\n1,9,2,0.472,400\n";
    std::fs::write(&table, rows).unwrap();
    let (table, json) = (table.to_str().unwrap(), json.to_str().unwrap());
    let output = tidegate(&["tca", "--data", table, "--json", json]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{text}");
    for expected in [
        "by least squares over 4 runs",
        "40.0",
        "Without any of them 0.10 CPUs are busy",
        "do not tell Home, Image apart",
        "Home + 2.00 Image, costs 12.0",
        "megacycles of one",
    ] {
        assert!(text.contains(expected), "{expected} is missing in\n{text}");
    }
    let costs: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    assert!((costs["operations"][1]["cost"]["value"].as_f64().unwrap() - 0.04).abs() < 1e-9);
    assert_eq!(costs["groups"][0]["members"][1]["count"], 2.0);
    std::fs::write(table, "per_s:Home,busy_cpus\n1,2\n").unwrap();
    let output = tidegate(&["tca", "--data", table]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && errors.contains("add 2 at other mixes"), "{errors}");
}

#[tokio::test]
async fn sliders_plan_anew_and_the_link_keeps_what_was_asked() {
    if no_browser_here() {
        return;
    }
    let (folder, file) = example();
    let served = Running::tidegate(&["plan", file.to_str().unwrap(), "--serve"]);
    let driver = chromedriver();
    let page = browser(&driver, &folder.path().join("profile")).await;
    page.goto(served.address("plan")).await.unwrap();
    look(&page, "plan").await;
    let before = headline(&page).await;
    let moved = "const it = document.querySelector('[name=shoppers]'); it.value = 390000; \
                 it.dispatchEvent(new Event('input', { bubbles: true }));";
    page.execute(moved, Vec::new()).await.unwrap();
    let mut after = before.clone();
    while after == before {
        after = headline(&page).await;
    }
    assert!(after.contains("customers at a time"), "{after}");
    let link = page.current_url().await.unwrap();
    assert!(link.query().unwrap().contains("shoppers=39"), "{link}");
    // The slider is still there, and the link gives the same plan in a page of its own.
    page.find(Locator::Css("[name=shoppers]")).await.unwrap();
    page.goto(link.as_str()).await.unwrap();
    assert_eq!(headline(&page).await, after);
    page.goto(&format!("{}?shoppers=many", served.address("plan"))).await.unwrap();
    assert!(text(&page).await.contains("must be a number of"));
    page.close().await.unwrap();
}

async fn headline(page: &fantoccini::Client) -> String {
    let read = "return document.querySelector('h1')?.innerText ?? ''";
    page.execute(read, vec![json!(null)]).await.unwrap().as_str().unwrap().to_owned()
}
