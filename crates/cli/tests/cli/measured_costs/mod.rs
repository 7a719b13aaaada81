//! `tidegate tca SCENARIO --target URL`: against sites whose costs are known, against a shop that
//! nobody here wrote, and where it refuses.

mod flask;
mod known_costs;
mod live;
mod refusals;

use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::common::tidegate;

/// The shop of sites of known costs: each session looks at three items and orders.
const SHOP: &str = r#"
[session]
steps = ["Home", "Item", "Item", "Item", "Order"]
think = "500ms"
[pages]
Home = { path = "/" }
Item = { path = "/item" }
Order = { path = "/order", method = "POST" }
"#;

/// Measures a site with a scenario of this text.
fn tca(scenario: &str, target: &str, out: &Path, more: &[&str]) -> Output {
    let file = out.join("shop.toml");
    std::fs::write(&file, scenario).unwrap();
    let args = ["tca", file.to_str().unwrap(), "--target", target, "--quick", "--out"];
    tidegate(&[&args[..], &[out.to_str().unwrap()], more].concat())
}

fn tables(out: &Path) -> Value {
    let read = std::fs::read(out.join("summary.json")).unwrap();
    serde_json::from_slice::<Value>(&read).unwrap()["tables"].clone()
}

/// The row of an operation.
fn operation<'v>(tables: &'v Value, name: &str) -> &'v Value {
    let rows = tables["operations"].as_array().unwrap();
    rows.iter().find(|row| row["operation"] == name).unwrap()
}
