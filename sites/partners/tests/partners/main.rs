//! The partners over real connections: requests that are repeated, partners that fail, hang and
//! lose answers, certificates that are refused, and junk.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use tidegate_partners::client::{Client, Error, PartnerOptions, Partners};
use tidegate_partners::protocol::{PurchaseOrder, Replenishment, Role, Shipment};
use tidegate_partners::{Behaviour, Options, PARTNERS, Site, start};
use tidegate_sitekit::attempts::Patience;
use tidegate_sitekit::backoff::Backoff;
use tidegate_sitekit::breaker::Limits;
use tidegate_sitekit::database::{Database, Location};
use tidegate_sitekit::link::{self, ClientSide, Deadlines, Files, Protection, Spec, authority};
use tidegate_sitekit::when;

const MS: Duration = Duration::from_millis(1);
const FAST: Backoff = Backoff { first: MS, longest: MS };
/// A call that is repeated for as long as a loaded machine needs.
const LONG: Patience =
    Patience { attempt: Duration::from_secs(20), call: Duration::from_secs(60), backoff: FAST };
/// A breaker that never opens.
const CLOSED: Limits = Limits { failures: u32::MAX, pauses: FAST };

fn partners(folder: &Path, behaviour: &str) -> Site {
    partners_at("127.0.0.1:0".parse().unwrap(), folder, behaviour)
}

/// Partners whose roles all behave like this, on one thread.
fn partners_at(listen: SocketAddr, folder: &Path, behaviour: &str) -> Site {
    let behaviour: Behaviour = behaviour.parse().unwrap();
    start(Options {
        listen,
        data: folder.to_owned(),
        validation: behaviour,
        inventory: behaviour,
        shipment: behaviour,
        cores: Some(vec![tidegate_sitekit::server::available_cores()[0]]),
        ..Options::default()
    })
    .unwrap()
}

fn shared(site: &Site, breaker: Limits) -> Partners {
    let addresses = vec![site.address().to_string()];
    let certificates = site.certificates().to_owned();
    Partners::new(&PartnerOptions { addresses, certificates, breaker }).unwrap()
}

fn order(key: &str) -> PurchaseOrder {
    PurchaseOrder { key: key.into(), customer: 1, amount: 4_200 }
}

fn number(folder: &Path, sql: &'static str) -> i64 {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let database = Database::for_cores(&Location::Sqlite(folder.join("partners.db")), 1).remove(0);
    runtime.block_on(database.first(sql, &[])).unwrap().unwrap()
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.unwrap().block_on(work)
}

#[test]
fn every_role_answers_and_a_key_has_one_answer_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let mut site = partners(folder.path(), "latency=0s,decline=0.5");
    for _ in 0..2 {
        let client = shared(&site, CLOSED).client(LONG).unwrap();
        block_on(async {
            let mut decisions = HashSet::new();
            for number in 0..20 {
                let order = order(&format!("order-{number}"));
                let decision = client.call(&order).await.unwrap();
                assert_eq!(client.call(&order).await.unwrap(), decision);
                decisions.insert(decision.accepted);
            }
            assert_eq!(decisions.len(), 2, "some are accepted and some declined");
            let goods = Replenishment { key: "r-1".into(), item: 7, quantity: 90 };
            let delivery = client.call(&goods).await.unwrap();
            assert_eq!(delivery.quantity, 90);
            assert_eq!(client.call(&goods).await.unwrap(), delivery);
            let other = Replenishment { quantity: 91, ..goods };
            let Err(Error::Refused(error)) = client.call(&other).await else { panic!("refused") };
            assert_eq!(error.code, "key_reused");
            let parcel = Shipment { key: "s-1".into(), order: 1, pieces: 3 };
            assert_eq!(client.call(&parcel).await.unwrap().pieces, 3);
        });
        // It knows what it has answered when it is started again.
        site.shutdown();
        site = partners(folder.path(), "latency=0s");
    }
    assert_eq!(number(folder.path(), "SELECT COUNT(*) FROM idempotency"), 22);
}

#[test]
fn lost_answers_are_asked_for_again_and_nothing_is_done_twice() {
    let folder = tempfile::tempdir().unwrap();
    let site = partners(folder.path(), "latency=0s,fail=0.3,lose=0.3");
    let client = shared(&site, CLOSED).client(LONG).unwrap();
    let delivered = block_on(async {
        let mut delivered = 0;
        for number in 0..40 {
            let goods = Replenishment { key: format!("r-{number}"), item: number, quantity: 10 };
            delivered += client.call(&goods).await.unwrap().quantity;
        }
        delivered
    });
    let sum = "SELECT SUM(json_extract(body, '$.quantity')) FROM idempotency";
    assert_eq!((number(folder.path(), sum), delivered), (400, 400));
}

#[test]
fn a_partner_that_hangs_is_not_waited_for_once_its_breaker_is_open() {
    let folder = tempfile::tempdir().unwrap();
    let site = partners(folder.path(), "hang=1");
    let address = site.address();
    let pauses = Backoff { first: 500 * MS, longest: 500 * MS };
    let shared = shared(&site, Limits { failures: 3, pauses });
    let patience = Patience { attempt: 200 * MS, call: 200 * MS, backoff: FAST };
    let client = shared.client(patience).unwrap();
    let call = |client: &Client, key: &str| match block_on(client.call(&order(key))) {
        Ok(decision) => Ok(decision.accepted),
        Err(Error::Unavailable(why)) => Err(why),
        Err(error) => panic!("{error}"),
    };
    for _ in 0..3 {
        let why = call(&client, "a").unwrap_err();
        assert!(why.contains("partner for validation"), "{why}");
    }
    assert!(!shared.is_called(Role::Validation) && shared.is_called(Role::Inventory));
    let why = call(&client, "a").unwrap_err();
    assert!(why.contains("several calls in a row have failed"), "{why}");
    site.shutdown();

    let site = partners_at(address, folder.path(), "latency=0s");
    let begun = Instant::now();
    let client = shared.client(LONG).unwrap();
    while call(&client, "a").is_err() {
        assert!(begun.elapsed() < LONG.call, "it is not called again");
        std::thread::sleep(20 * MS);
    }
    assert!(shared.is_called(Role::Validation));
    site.shutdown();
}

/// Partners whose authority is at hand; the certificate of the business is valid until then.
fn issued(folder: &Path, until: i64, revoked: bool) -> std::path::PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let (now, certificates) = (when::now(), folder.join("issued"));
    let _ = std::fs::create_dir(&certificates);
    let ca = authority::Authority::new(now).unwrap();
    std::fs::write(certificates.join("ca.pem"), ca.certificate()).unwrap();
    let issue = |tier: &str, until: i64| {
        let issued = ca.issue(tier, now - 2 * when::DAY, until).unwrap();
        std::fs::write(certificates.join(format!("{tier}.pem")), &issued.certificate).unwrap();
        let key = certificates.join(format!("{tier}-key.pem"));
        std::fs::write(&key, &issued.key).unwrap();
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
        issued
    };
    issue(PARTNERS, now + when::DAY);
    let business = issue("b2b", until);
    let list = if revoked { vec![&business] } else { Vec::new() };
    std::fs::write(certificates.join("crl.pem"), ca.revoke(&list, now).unwrap()).unwrap();
    certificates
}

#[test]
fn a_certificate_that_is_expired_or_revoked_is_refused_with_the_cause() {
    let day = when::DAY;
    for (valid_until, revoked) in [(day, false), (-day, false), (day, true)] {
        let folder = tempfile::tempdir().unwrap();
        let certificates = issued(folder.path(), when::now() + valid_until, revoked);
        let options = Options {
            listen: "127.0.0.1:0".parse().unwrap(),
            data: folder.path().to_owned(),
            certificates: Some(certificates.clone()),
            ..Options::default()
        };
        let site = start(options).unwrap();
        let client = shared(&site, CLOSED).client(LONG).unwrap();
        let answer = block_on(client.call(&order("a")));
        if valid_until > 0 && !revoked {
            assert!(answer.unwrap().accepted);
        } else {
            let Err(Error::Unavailable(why)) = answer else { panic!("{answer:?}") };
            assert!(why.contains("refuses this tier's certificate"), "{why}");
            assert_eq!(number(folder.path(), "SELECT COUNT(*) FROM idempotency"), 0);
        }
        site.shutdown();
    }
}

#[test]
fn junk_is_refused_with_the_field_and_what_it_must_be() {
    let folder = tempfile::tempdir().unwrap();
    let site = partners(folder.path(), "latency=0s");
    let files = Files { certificates: Some(site.certificates().to_owned()), keys: None };
    let spec = Spec::persistent(Protection::Tls);
    let side = ClientSide::new(spec, &files, "b2b", PARTNERS).unwrap();
    let deadlines = Deadlines { connect: LONG.attempt, whole: LONG.attempt };
    let client = link::Client::new(side, &[site.address().to_string()], deadlines).unwrap();
    let deep = "[".repeat(20_000);
    block_on(async {
        for (path, body, status, says) in [
            ("/validation", "", 400, "key"),
            ("/validation", "junk", 400, "JSON"),
            ("/validation", &deep, 400, "Must be an object"),
            ("/validation", r#"{"key":"a","customer":1,"amount":"9"}"#, 400, "amount"),
            ("/validation", r#"{"key":"a","customer":1,"amount":0}"#, 422, "at least 1 cent"),
            ("/validation", r#"{"key":"a b","customer":1,"amount":9}"#, 422, "1 to 64 letters"),
            ("/validation", r#"{"key":"a","customer":1,"amount":9,"x":1}"#, 400, "x"),
            ("/inventory", r#"{"key":"a","item":1,"quantity":-1}"#, 422, "1 to 1000000"),
            ("/shipment", r#"{"key":"a","order":1,"pieces":1e9}"#, 400, "pieces"),
            ("/returns", "{}", 404, "validation, inventory and shipment"),
        ] {
            let reply = client.call(path, body.into()).await.unwrap();
            let text = String::from_utf8_lossy(&reply.body).into_owned();
            assert_eq!(reply.status.as_u16(), status, "{path} {body:.60}: {text}");
            assert!(text.contains(says), "{path} {body:.60}: {text}");
        }
    });
    assert_eq!(number(folder.path(), "SELECT COUNT(*) FROM idempotency"), 0);
}
