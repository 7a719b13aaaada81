//! The partners as a process: their flags and files, and killed while they are called.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use tidegate_partners::client::{PartnerOptions, Partners};
use tidegate_partners::protocol::Replenishment;
use tidegate_sitekit::attempts::Patience;
use tidegate_sitekit::backoff::Backoff;
use tidegate_sitekit::breaker::Limits;
use tidegate_sitekit::database::{Database, Location};

use crate::common::{Over, PATIENCE, Running, Text, tidegate, wait_until};

fn partners(folder: &Path, listen: &str, more: &[&str]) -> Running {
    let data = folder.display().to_string();
    let fixed = ["site", "partners", "--data", &data, "--listen", listen, "--log", "warn"];
    Running::tidegate(&[&fixed[..], more].concat())
}

#[test]
fn flags_that_are_wrong_say_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().display().to_string();
    let refused = |args: &[&str], says: &str| {
        let output = tidegate(&[&["site", "partners", "--data", &data], args].concat());
        let text = output.stderr_text();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {text}");
        assert!(text.contains(says), "{args:?} does not say {says}:\n{text}");
    };
    refused(&["--validation", "fail=2"], "a share of 0 to 1");
    refused(&["--inventory", "speed=1"], "latency, fail, lose, hang or decline");
    refused(&["--shipment", "latency=1h"], "at most 1m");
    refused(&["--certificates", "/does/not/exist"], "--make-ca");
    let made = folder.path().join("made").display().to_string();
    let output = tidegate(&["site", "partners", "--make-ca", &made]);
    assert!(output.stdout_text().contains("b2b-key.pem"), "{}", output.stdout_text());
    let site = partners(folder.path(), "127.0.0.1:0", &["--certificates", &made]);
    assert_eq!(site.address("certificates"), made);
    assert_eq!(site.end(), Some(0));
}

#[test]
fn partners_that_are_killed_while_they_are_called_do_everything_once() {
    let folder = tempfile::tempdir().unwrap();
    let listen = tidegate_lab::free_address().unwrap().to_string();
    let lossy = ["--inventory", "latency=0s..5ms,fail=0.1,lose=0.2"];
    let start = || partners(folder.path(), &listen, &lossy);
    let mut site = Some(start());
    let pause = Duration::from_millis(20);
    let backoff = Backoff { first: pause, longest: pause };
    let shared = Partners::new(&PartnerOptions {
        addresses: vec![listen.clone()],
        certificates: folder.path().join("certificates"),
        breaker: Limits { failures: u32::MAX, pauses: backoff },
    })
    .unwrap();
    let (over, ordered) = (AtomicBool::new(false), AtomicI64::new(0));
    let patience = Patience { attempt: PATIENCE, call: 2 * PATIENCE, backoff };
    let order = |customer: i64| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let client = shared.client(patience).unwrap();
        for number in 0.. {
            if over.load(Ordering::Relaxed) {
                break;
            }
            let key = format!("r-{customer}-{number}");
            let goods = Replenishment { key, item: customer, quantity: 10 };
            let delivery = runtime.block_on(client.call(&goods)).unwrap();
            ordered.fetch_add(delivery.quantity, Ordering::Relaxed);
        }
    };
    let seed = rand::random::<u32>().into();
    println!("seed {seed}");
    let mut random = StdRng::seed_from_u64(seed);
    std::thread::scope(|scope| {
        let order = &order;
        (0..3).for_each(|customer| drop(scope.spawn(move || order(customer))));
        let end = Over(&over);
        for _ in 0..4 {
            let before = ordered.load(Ordering::Relaxed);
            wait_until("goods are ordered", || ordered.load(Ordering::Relaxed) > before);
            std::thread::sleep(Duration::from_millis(random.random_range(0..50)));
            site.take().expect("it runs").kill();
            site = Some(start());
        }
        drop(end);
    });
    assert_eq!(site.map(Running::end), Some(Some(0)));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let location = Location::Sqlite(folder.path().join("partners.db"));
    let database = Database::for_cores(&location, 1).remove(0);
    let sum = "SELECT SUM(json_extract(body, '$.quantity')) FROM idempotency";
    let delivered: Option<i64> = runtime.block_on(database.first(sum, &[])).unwrap();
    assert_eq!(delivered, Some(ordered.load(Ordering::Relaxed)));
}
