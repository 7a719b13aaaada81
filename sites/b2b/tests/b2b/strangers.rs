//! Clients that no one here wrote: zeep by the WSDL, curl by the OpenAPI description, whose schemas
//! the package `jsonschema` checks.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::world::World;

/// Python with zeep and jsonschema; `None` where they are not installed.
fn python() -> Option<PathBuf> {
    let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/zeep/bin/python3");
    let python = std::env::var_os("ZEEP_PYTHON").map_or(installed, PathBuf::from);
    let has = Command::new(&python).args(["-c", "import zeep, jsonschema"]).output();
    if has.is_ok_and(|it| it.status.success()) {
        return Some(python);
    }
    eprintln!(
        "SKIPPED: {} has no packages `zeep` and `jsonschema`; run scripts/bootstrap test, or set ZEEP_PYTHON",
        python.display()
    );
    None
}

fn run(python: &Path, script: &str, url: &str) {
    let output = Command::new(python).args(["-c", script, url]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "seven");
}

const ZEEP: &str = r#"
import sys, zeep, requests
session = requests.Session()
session.headers["Authorization"] = "Bearer token3"
client = zeep.Client(sys.argv[1] + "/soap?wsdl", transport=zeep.Transport(session=session, timeout=20))
call = client.service
new = call.NewCustomer(name="A & B <Ltd>", street="1 Quay", city="Port", postcode="1", country="Atlantis", payment_method="invoice", payment_reference="x")
assert new.customer > 10 and len(new.token) > 20
assert call.ChangePaymentMethod(payment_method="credit-card", payment_reference="y").payment_method == "credit-card"
order = call.CreateOrder(reference="zeep", lines=[{"item": 7, "quantity": 2}, {"item": 8, "quantity": 1}])
status = call.OrderStatus(order=order.order)
assert status.reference == "zeep" and [line.item for line in status.lines] == [7, 8] and status.total == order.total
new = call.NewProducts(subject="pens", most=5)
detail = call.ProductDetail(items=[3, 4])
assert [it.item for it in detail] == [3, 4] and b"<svg" in detail[0].picture
assert call.ChangeItem(item=3, price=500, picture=2).price == 500
assert call.ProductDetail(items=[3])[0].price == 500
try:
    call.OrderStatus(order=9999)
    raise SystemExit("no fault")
except zeep.exceptions.Fault as fault:
    assert "no such order" in fault.message, fault.message
print("seven")
"#;

#[test]
fn zeep_calls_all_seven_services_by_the_wsdl() {
    let Some(python) = python() else { return };
    let world = World::new();
    run(&python, ZEEP, &world.url(""));
}

const SCHEMAS: &str = r#"
import json, subprocess, sys, jsonschema
def curl(path, *more):
    text = subprocess.run(["curl", "--silent", "--fail-with-body", "--max-time", "20", *more, sys.argv[1] + path], stdout=subprocess.PIPE).stdout
    return json.loads(text)
api = curl("/openapi.json")
bodies = {
    "NewCustomer": {"name": "A", "street": "s", "city": "c", "postcode": "1", "country": "x", "payment_method": "invoice", "payment_reference": "r"},
    "ChangePaymentMethod": {"payment_method": "purchase-order", "payment_reference": "r"},
    "CreateOrder": {"reference": "curl", "lines": [{"item": 7, "quantity": 2}]},
    "OrderStatus": {"order": 0},
    "NewProducts": {"subject": "pens", "most": 5},
    "ProductDetail": {"items": [3, 4]},
    "ChangeItem": {"item": 3, "price": 500, "picture": 2},
}
count = 0
for path, item in api["paths"].items():
    operation = item["post"]
    body = bodies[operation["operationId"]]
    jsonschema.Draft202012Validator.check_schema(operation["requestBody"]["content"]["application/json"]["schema"])
    jsonschema.validate(body, operation["requestBody"]["content"]["application/json"]["schema"])
    answer = curl(path, "-H", "Authorization: Bearer token3", "-H", "Content-Type: application/json", "--data", json.dumps(body))
    jsonschema.validate(answer, operation["responses"]["200"]["content"]["application/json"]["schema"])
    count += 1
assert count == 7
print("seven")
"#;

#[test]
fn curl_calls_all_seven_services_and_their_answers_are_as_openapi_says() {
    let Some(python) = python() else { return };
    let world = World::new();
    run(&python, SCHEMAS, &world.url(""));
}
