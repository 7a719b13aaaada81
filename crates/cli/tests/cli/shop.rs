//! The shop as a process: what it starts, the scenarios that ship for it, killed at any time.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tidegate_sitekit::database::{Database, Location};

use crate::common::{Running, Text, curl, long_enough, shop, tidegate, wait_until};

/// Numbers that queries give.
fn numbers<const N: usize>(folder: &Path, queries: [&'static str; N]) -> [i64; N] {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let database = Database::for_cores(&Location::Sqlite(folder.join("shop.db")), 1).remove(0);
    queries.map(|sql| runtime.block_on(database.first(sql, &[])).unwrap().unwrap())
}

#[test]
fn one_command_starts_a_shop_that_takes_orders_with_its_processor() {
    let folder = tempfile::tempdir().unwrap();
    let site = shop(folder.path(), &["--build", "rendered"]);
    let url = site.address("site");
    let jar = folder.path().join("cookies").display().to_string();
    let browse = |args: &[&str]| {
        let fixed = ["-s", "-i", "-L", "-b", &jar, "-c", &jar];
        curl(&[&fixed[..], args].concat()).stdout_text()
    };
    assert!(browse(&[&format!("{url}/products/3")]).contains("render-as: products/3.html"));
    browse(&["-d", "product=3&quantity=1", &format!("{url}/basket")]);
    let address = "email=a@example.com&name=Ann&street=1+Oak&city=Troy&postcode=10001";
    let review = browse(&["-d", address, &format!("{url}/checkout")]);
    let auth =
        review.split("name=\"auth\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
    let auth = auth.unwrap_or_else(|| panic!("{review}"));
    let order = browse(&["-d", address, "-d", &format!("auth={auth}"), &format!("{url}/orders")]);
    let form = order.split("href=\"http").nth(1).and_then(|rest| rest.split('"').next());
    let form = format!("http{}", form.unwrap_or_else(|| panic!("{order}")));
    assert!(form.starts_with(site.address("card")), "{form}");
    let paid = browse(&["-d", "number=4242424242424242&expiry=12/99&cvc=123", &form]);
    assert!(paid.contains("Thank you, your order is paid"), "{paid}");
    assert_eq!(site.end(), Some(0));
}

#[test]
fn flags_that_are_wrong_say_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().display().to_string();
    let light = ["--password-cost", "light", "--log", "warn"];
    let refused = |args: &[&str], says: &str| {
        let fixed = ["site", "shop", "--data", &data, "--listen", "127.0.0.1:0"];
        let output = tidegate(&[&fixed[..], &light, args].concat());
        let text = output.stderr_text();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {text}");
        assert!(text.contains(says), "{args:?} does not say {says}:\n{text}");
    };
    refused(&["--size", "huge"], "must be one of small, medium, large");
    refused(&["--build", "static"], "baseline, cached, rendered");
    refused(&["--keep-seconds", "0"], "must be 1 to 3600 s");
    refused(&["--card-listen", "0.0.0.0:8090"], "by --card-processor");
    refused(&["--card-processor", "https://x"], "--card-key-file");
    refused(&["--set-price", "17"], "such as 17=12.50");
    refused(&["--set-price", "17=0"], "must be $0.01");
    refused(&["--set-price", "9999=1"], "numbered 1 to 500");
    let key = ["--card-key-file", "/does/not/exist"];
    refused(&[&["--card-processor", "https://card.example"], &key[..]].concat(), "--make-key shop");
    let everywhere = ["site", "shop", "--data", &data, "--listen", "0.0.0.0:0"];
    let output = tidegate(&[&everywhere[..], &light].concat());
    assert!(output.stderr_text().contains("say by --public-url"), "{}", output.stderr_text());
    let done = tidegate(&["site", "shop", "--data", &data, "--set-price", "17=12.50"]);
    assert_eq!(done.status.code(), Some(0), "{}", done.stderr_text());
    assert_eq!(numbers(folder.path(), ["SELECT price FROM products WHERE id = 17"]), [1250]);
}

/// Runs a scenario; its totals.
fn load(site: &Running, name: &str, folder: &Path, more: &[&str]) -> Value {
    let json = folder.join(name).display().to_string();
    let fixed = ["load", name, "--target", site.address("site"), "--plain", "--json", &json];
    let times = ["--warm-up", "0", "--patience-scale", "100"];
    let output = tidegate(&[&fixed[..], &times, more].concat());
    let text = std::fs::read_to_string(&json).unwrap_or_default();
    let summary: Value =
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("{name}: {}", output.stderr_text()));
    summary["totals"].clone()
}

#[test]
fn every_ready_scenario_fits_the_shop() {
    let folder = tempfile::tempdir().unwrap();
    let site = shop(folder.path(), &["--build", "cached"]);
    for name in ["shop", "shop-buyers", "shop-teastore", "shop-boutique"] {
        let of = |duration: &str| {
            let more = ["--rate", "20", "--duration", duration, "--time-scale", "0.002"];
            load(&site, name, folder.path(), &more)
        };
        let totals = long_enough(of, |totals| totals["completed"].as_u64() >= Some(5));
        assert!(totals["completed"].as_u64() >= Some(5), "{name}: {totals:#}");
        assert_eq!(totals["failed"], 0, "{name}: {totals:#}");
    }
    let [orders] = numbers(folder.path(), ["SELECT COUNT(*) FROM orders"]);
    assert!(orders >= 5, "{orders} orders");
}

#[test]
fn a_shop_that_is_killed_at_any_time_sells_every_piece_once() {
    const GOODS: &str = "SELECT (SELECT SUM(stock) FROM products) +
         (SELECT COALESCE(SUM(l.quantity), 0) FROM order_lines l JOIN orders o ON o.id = l.order_id
          WHERE o.state <> 4)";
    let folder = tempfile::tempdir().unwrap();
    let listen = tidegate_lab::free_address().unwrap().to_string();
    let start = || shop(folder.path(), &["--listen", &listen]);
    let mut site = start();
    // Suppliers would change what there is.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let database =
        Database::for_cores(&Location::Sqlite(folder.path().join("shop.db")), 1).remove(0);
    runtime.block_on(database.run("UPDATE products SET restock = 0", &[])).unwrap();
    let [goods] = numbers(folder.path(), [GOODS]);
    for kill in 0..4 {
        // They come for as long as there is a shop.
        let target = format!("http://{listen}");
        let args = ["load", "shop-buyers", "--target", &target, "--plain", "--rate", "40"];
        let times = ["--warm-up", "0", "--duration", "600", "--time-scale", "0.001"];
        let patience = ["--patience-scale", "1000"];
        let mut buyers = Command::new(env!("CARGO_BIN_EXE_tidegate"));
        buyers.args(args).args(times).args(patience).stdout(Stdio::null()).stderr(Stdio::null());
        let mut buyers = buyers.spawn().unwrap();
        let orders = || numbers(folder.path(), ["SELECT COUNT(*) FROM orders"]);
        let before = orders();
        wait_until("there are orders", || orders() > before);
        std::thread::sleep(Duration::from_millis(13 * kill));
        site.kill();
        buyers.kill().unwrap();
        buyers.wait().unwrap();
        site = start();
    }
    let [now, forms, orders, lost, negative] = numbers(
        folder.path(),
        [
            GOODS,
            "SELECT COUNT(*) FROM used_forms",
            "SELECT COUNT(*) FROM orders",
            // An order without lines, or an open one without a step.
            "SELECT COUNT(*) FROM orders o WHERE
                 NOT EXISTS (SELECT 1 FROM order_lines l WHERE l.order_id = o.id)
                 OR (o.state < 3 AND NOT EXISTS (SELECT 1 FROM payment_queue q
                     WHERE q.order_id = o.id AND q.state = 0))",
            "SELECT COUNT(*) FROM products WHERE stock < 0",
        ],
    );
    assert_eq!((now, forms, lost, negative), (goods, orders, 0, 0));
    assert_eq!(site.end(), Some(0));
}
