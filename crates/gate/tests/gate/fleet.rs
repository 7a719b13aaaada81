//! Gates as a fleet, with real servers of NATS.

use crate::common::*;
use crate::nats::Nats;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use nkeys::KeyPair;
use rustls::HandshakeKind::{Full, Resumed};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tidegate_control::waiting_room::Doors;
use tidegate_fleet::{
    Access, Bucket, Connection, FleetAccess, Sealer, Secret, Tenure, read_server, unix_now,
};
use tidegate_gate::Gate;
use tidegate_gate::fleet::{Subjects, look};
use tidegate_gate::telemetry::snapshot::FleetStatus;

/// Gates before one upstream, and the file of their secret.
struct Fleet {
    folder: tempfile::TempDir,
    urls: Vec<String>,
    more: String,
    replicas: usize,
}

impl Fleet {
    fn new(servers: &[&Nats]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let urls = servers.iter().map(|server| server.url()).collect();
        let fleet = Self { folder, urls, more: String::new(), replicas: servers.len().max(1) };
        fleet.file("secret", &"s".repeat(44));
        fleet
    }

    /// A file that its owner alone may read.
    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        path
    }

    fn gate(&self, name: &str) -> Gate {
        self.gate_before(hello(), name)
    }

    fn gate_before(&self, upstream: SocketAddr, name: &str) -> Gate {
        let (secret, urls) = (self.folder.path().join("secret"), &self.urls);
        let (replicas, more) = (self.replicas, &self.more);
        let table = format!(
            "[fleet]\nnats = {urls:?}\nsecret_file = {secret:?}\ngate = \"{name}\"\nreplicas = {replicas}\n{more}"
        );
        gate(upstream, &table)
    }

    fn secret(&self) -> Secret {
        Secret::read(&self.folder.path().join("secret"), "tidegate").unwrap()
    }

    fn access(&self) -> Access {
        Access::new(self.urls.iter().map(|url| read_server(url).unwrap()).collect())
    }
}

fn status(gate: &Gate) -> FleetStatus {
    gate.snapshot().fleet.expect("it is part of a fleet")
}

/// Waits until a condition holds, and leaves the processors to the gates meanwhile.
fn eventually(what: &str, mut so: impl FnMut() -> bool) {
    until(what, || {
        std::thread::sleep(Duration::from_millis(10));
        so()
    });
}

/// Whether these gates, and no others, have shares of one table that add up to the whole.
fn divided(gates: &[&Gate]) -> bool {
    let all: Vec<_> = gates.iter().map(|gate| status(gate)).collect();
    all.iter().all(|status| {
        let sum: f64 = status.gates.iter().map(|line| line.share).sum();
        !status.cut_off
            && status.keys_shared
            && status.gates.len() == gates.len()
            && (sum - 1.0).abs() < 1e-6
            && gates.iter().all(|gate| {
                let name = status_name(gate);
                status.gates.iter().any(|line| line.gate == name)
            })
    })
}

fn status_name(gate: &Gate) -> String {
    status(gate).gate
}

fn visit(gate: &Gate, customer: &Arc<rustls::ClientConfig>) -> Option<rustls::HandshakeKind> {
    let mut connection = connect(gate, customer);
    get(&mut connection, "/").ok().map(|_| kind(&connection))
}

fn refused(gate: &Gate, reason: &str) -> u64 {
    status(gate).messages_refused.iter().find(|(label, _)| *label == reason).unwrap().1
}

#[test]
fn what_the_service_says_of_the_line_to_one_gate_holds_at_every_other() {
    let Some(nats) = Nats::start() else { return };
    let mut fleet = Fleet::new(&[&nats]);
    fleet.more = "[admission]\npolicy = \"off\"\nrefuse = \"page\"\n".into();
    let upstream = answering(|got| {
        let word = if got.line.contains("/sold-out") { "closed" } else { "open" };
        format!("HTTP/1.1 200 OK\r\nTidegate-Queue: {word}\r\nContent-Length: 2\r\n\r\nok")
    });
    let gates = ["a", "b"].map(|name| fleet.gate_before(upstream, name));
    eventually("the service is divided among two", || divided(&gates.each_ref()));
    let at_all = |doors| gates.iter().all(|gate| gate.snapshot().waiting_room.doors == doors);
    let mut inside = gates.each_ref().map(|gate| connect(gate, &any_client()));
    for connection in &mut inside {
        assert_eq!(get(connection, "/").unwrap().code, 200);
    }
    // The clocks of two gates may differ by a millisecond, and the later word holds.
    std::thread::sleep(Duration::from_millis(50));
    get(&mut inside[0], "/sold-out").unwrap();
    eventually("it is closed at both", || at_all(Doors::Closed));
    get(&mut inside[1], "/").unwrap();
    eventually("it is open at both", || at_all(Doors::Open));
}

#[test]
fn a_customer_admitted_at_one_gate_is_known_at_every_other() {
    let Some(nats) = Nats::start() else { return };
    let fleet = Fleet::new(&[&nats]);
    let gates = ["a", "b", "c"].map(|name| fleet.gate(name));
    eventually("the service is divided among three", || divided(&gates.each_ref()));
    let customer = any_client();
    assert_eq!(visit(&gates[0], &customer), Some(Full));
    for gate in gates.iter().chain(&gates) {
        assert_eq!(visit(gate, &customer), Some(Resumed));
    }
    let holders = gates.iter().filter(|gate| status(gate).lease_held).count();
    assert_eq!(holders, 1, "one divides");
}

#[test]
fn the_share_of_a_killed_gate_is_given_back_also_if_it_was_the_one_that_divides() {
    let Some(nats) = Nats::start() else { return };
    let fleet = Fleet::new(&[&nats]);
    let mut gates = Vec::from(["a", "b", "c"].map(|name| fleet.gate(name)));
    eventually("the service is divided among three", || divided(&gates.iter().collect::<Vec<_>>()));
    let customer = any_client();
    assert_eq!(visit(&gates[0], &customer), Some(Full));
    let epoch = status(&gates[0]).epoch;
    let holder = gates.iter().position(|gate| status(gate).lease_held).unwrap();
    drop(gates.remove(holder));
    eventually("another divides among two", || divided(&gates.iter().collect::<Vec<_>>()));
    assert!(gates.iter().all(|gate| status(gate).epoch > epoch), "the fencing token has grown");
    let other = gates.iter().position(|gate| !status(gate).lease_held).unwrap();
    drop(gates.remove(other));
    eventually("the last one has the whole", || {
        divided(&gates.iter().collect::<Vec<_>>()) && status(&gates[0]).share > 0.99
    });
    assert_eq!(visit(&gates[0], &customer), Some(Resumed));
    let newcomer = fleet.gate("d");
    assert_eq!(visit(&newcomer, &customer), Some(Resumed), "with its first connection");
    eventually("a new gate has a share", || divided(&[&gates[0], &newcomer]));
}

#[test]
fn without_nats_nobody_is_forgotten_and_shares_are_safe_until_it_is_back() {
    let Some(mut nats) = Nats::start() else { return };
    let fleet = Fleet::new(&[&nats]);
    let gates = ["a", "b"].map(|name| fleet.gate(name));
    eventually("the service is divided among two", || divided(&gates.each_ref()));
    let customer = any_client();
    assert_eq!(visit(&gates[0], &customer), Some(Full));
    nats.kill();
    eventually("both go on by themselves", || gates.iter().all(|gate| status(gate).cut_off));
    let together: f64 = gates.iter().map(|gate| status(gate).share).sum();
    assert!(together < 0.2, "{together} of the service is safe");
    eventually("the lease has ended", || gates.iter().all(|gate| !status(gate).lease_held));
    for gate in &gates {
        assert_eq!(visit(gate, &customer), Some(Resumed));
        let status = status(gate);
        assert!(!status.connected && status.lost_for_s.is_some());
    }
    // What it stored is still there, and so is the lease of the gate that divided.
    nats.run();
    eventually("the service is divided again", || divided(&gates.each_ref()));
    for gate in &gates {
        assert_eq!(refused(gate, "stale"), 0, "what is said again is new");
    }
    nats.kill();
    eventually("both go on by themselves", || gates.iter().all(|gate| status(gate).cut_off));
    // It has even lost what it stored.
    nats.forget();
    nats.run();
    eventually("the service is divided again", || divided(&gates.each_ref()));
    for gate in &gates {
        assert_eq!(visit(gate, &customer), Some(Resumed));
    }
}

#[test]
fn a_gate_that_starts_without_nats_serves_with_keys_of_its_own_and_joins_later() {
    let Some(mut nats) = Nats::start() else { return };
    let fleet = Fleet::new(&[&nats]);
    let first = fleet.gate("a");
    eventually("the first is alone", || divided(&[&first]));
    nats.kill();
    let late = fleet.gate("b");
    let customer = any_client();
    assert_eq!(visit(&late, &customer), Some(Full));
    assert_eq!(visit(&late, &customer), Some(Resumed));
    assert!(!status(&late).keys_shared);
    nats.run();
    eventually("both are divided among", || divided(&[&first, &late]));
    assert_eq!(visit(&late, &customer), Some(Resumed), "its key is still known there");
    assert_eq!(visit(&first, &customer), Some(Resumed), "and now the fleet's key sealed a ticket");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn forged_recorded_and_broken_messages_are_refused_counted_and_change_nothing() {
    let Some(nats) = Nats::start() else { return };
    let fleet = Fleet::new(&[&nats]);
    let gate = fleet.gate("a");
    eventually("the gate has the whole", || divided(&[&gate]));
    let attacker = Connection::connect(&fleet.access(), "tidegate", "attacker").await.unwrap();
    let subjects = Subjects::of("tidegate");
    let mut tables = attacker.subscribe(&subjects.table, 8).await.unwrap();
    let recorded = tables.next().await;
    let newer = tables.next().await;
    let other = Secret::new(&[b'x'; 44], "tidegate").unwrap();
    let forger = Sealer::new(&other, "a", unix_now()).unwrap();
    let forged = forger.seal(&subjects.table, &"give me everything", unix_now()).unwrap();
    // Under the right secret, but of no gate that holds the lease.
    let insider = Sealer::new(&fleet.secret(), "insider", unix_now()).unwrap();
    let table = r#"{"epoch":0,"sequence":1,"gates":1,"requests_per_s":0.0,"shares":[]}"#;
    let stale: serde_json::Value = serde_json::from_str(table).unwrap();
    let stale = insider.seal(&subjects.table, &stale, unix_now()).unwrap();
    let (before, epoch) = (status(&gate), status(&gate).epoch);
    for message in [forged, recorded.payload.to_vec(), vec![1; 9], vec![9; 70_000], stale] {
        assert!(attacker.publish(&subjects.table, message));
    }
    eventually("each is counted", || {
        ["forged", "replayed", "broken", "too_large", "stale"]
            .iter()
            .all(|reason| refused(&gate, reason) == 1)
    });
    drop(newer);
    assert!(divided(&[&gate]) && status(&gate).epoch == epoch, "{before:?}");
    // A lease that nobody sealed is written over by the gate that holds it.
    let bucket = Bucket::new(attacker, subjects.bucket, 1);
    let lease = async |value: &[u8]| {
        let revision = bucket.get("lease").await.unwrap().unwrap().revision;
        bucket.put("lease", value.to_vec(), revision).await.unwrap()
    };
    let mut written = None;
    for _ in 0..100 {
        written = lease(b"\x01mine").await;
        if written.is_some() {
            break;
        }
    }
    assert!(written.is_some(), "the attacker may write the key");
    eventually("the gate writes over it", || refused(&gate, "broken") > 1);
    assert!(divided(&[&gate]) && status(&gate).epoch == epoch, "as if nothing had been written");
}

#[test]
fn a_gate_with_another_secret_has_a_safe_share_and_changes_nothing_for_the_others() {
    let Some(nats) = Nats::start() else { return };
    let fleet = Fleet::new(&[&nats]);
    let gates = ["a", "b"].map(|name| fleet.gate(name));
    eventually("the service is divided among two", || divided(&gates.each_ref()));
    let epoch = status(&gates[0]).epoch;
    fleet.file("secret", &"w".repeat(44));
    let wrong = fleet.gate("wrong");
    eventually("it refuses what the others write", || refused(&wrong, "forged") >= 5);
    let why = status(&wrong).problem.unwrap();
    assert!(why.contains("seals under another secret"), "{why}");
    assert!(status(&wrong).cut_off && !status(&wrong).lease_held);
    for _ in 0..40 {
        std::thread::sleep(Duration::from_millis(50));
        assert!(divided(&gates.each_ref()), "{:?}", status(&gates[0]));
    }
    assert_eq!(status(&gates[0]).epoch, epoch, "the lease has not moved");
    drop(gates);
    eventually("it divides once the others have gone", || divided(&[&wrong]));
}

#[test]
fn a_gate_that_ends_gives_the_lease_back() {
    let Some(nats) = Nats::start() else { return };
    let fleet = Fleet::new(&[&nats]);
    let gate = fleet.gate("a");
    eventually("it has the whole", || divided(&[&gate]));
    drop(gate);
    let holder = tokio::runtime::Runtime::new().unwrap().block_on(async {
        let connection = Connection::connect(&fleet.access(), "tidegate", "test").await.unwrap();
        while !connection.connected() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let bucket = Bucket::new(connection, Subjects::of("tidegate").bucket, 1);
        let entry = bucket.get("lease").await.unwrap().unwrap();
        fleet.secret().open::<Tenure>("lease", &entry.value).unwrap().content.holder
    });
    assert_eq!(holder, "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_gate_takes_the_costs_that_the_fleet_has_learned_and_no_absurd_ones() {
    let Some(nats) = Nats::start() else { return };
    let fleet = Fleet::new(&[&nats]);
    let gate = fleet.gate("a");
    eventually("the gate has the whole", || divided(&[&gate]));
    let other = Connection::connect(&fleet.access(), "tidegate", "other").await.unwrap();
    let (secret, subjects) = (fleet.secret(), Subjects::of("tidegate"));
    let sealer = Sealer::new(&secret, "other", unix_now()).unwrap();
    let tell = |epoch: u64, value: f64| {
        let cost = serde_json::json!({ "value": value, "weight": 300.0 });
        let told = serde_json::json!({
            "epoch": epoch, "experience": { "full_handshake_cpu_s": cost },
        });
        let message = sealer.seal(&subjects.learned, &told, unix_now()).unwrap();
        assert!(other.publish(&subjects.learned, message));
    };
    eventually("the other is connected", || other.connected());
    let handshake_s = || gate.snapshot().control.unwrap().costs.new.handshake_cpu_s;
    let (before, epoch) = (handshake_s(), status(&gate).epoch);
    tell(epoch, -1.0);
    tell(0, 0.123);
    eventually("both are refused", || refused(&gate, "stale") == 2);
    assert_eq!(handshake_s(), before);
    tell(epoch, 0.123);
    eventually("it is taken", || (handshake_s() - 0.123).abs() < 1e-9);
}

#[test]
fn a_cluster_that_loses_a_server_serves_the_fleet() {
    let Some(mut servers) = Nats::cluster() else { return };
    let fleet = Fleet::new(&servers.each_ref());
    let gates = ["a", "b"].map(|name| fleet.gate(name));
    eventually("the service is divided among two", || divided(&gates.each_ref()));
    let customer = any_client();
    assert_eq!(visit(&gates[0], &customer), Some(Full));
    for server in &mut servers {
        server.kill();
        eventually("it is divided with two servers of three", || divided(&gates.each_ref()));
        server.run();
        assert_eq!(visit(&gates[1], &customer), Some(Resumed));
    }
}

#[test]
fn the_account_file_gives_gates_what_they_need_and_no_more() {
    let Some(_there) = Nats::start() else { return };
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/nats/server.conf");
    let mut text = std::fs::read_to_string(file).unwrap();
    let users = ["UGATE", "UDRIVER", "UWATCHER"].map(|place| {
        let user = nkeys::KeyPair::new_user();
        text = text.replace(&format!("\"{place}\""), &format!("\"{}\"", user.public_key()));
        user.seed().unwrap()
    });
    // The server of the tests has a folder of its own.
    text = text.replace("store_dir: \"/var/lib/nats\", ", "");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("server.conf");
    std::fs::write(&path, text).unwrap();
    let nats = Nats::start_with(&["-c", path.to_str().unwrap()]).unwrap();
    let mut fleet = Fleet::new(&[&nats]);
    let [gate_seed, _, watcher_seed] = users;
    let nkey = fleet.file("gate.nkey", &gate_seed);
    fleet.more = format!("nkey_file = {nkey:?}\n");
    let gates = ["a", "b"].map(|name| fleet.gate(name));
    eventually("the service is divided among two", || divided(&gates.each_ref()));
    assert_eq!(status(&gates[0]).problem, None, "nothing was refused");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let watcher = fleet.file("watcher.nkey", &watcher_seed);
    let access = fleet.access().with_nkey(&watcher).unwrap();
    let view = runtime.block_on(look(&FleetAccess { access, secret: fleet.secret() })).unwrap();
    assert_eq!(view.gates.len(), 2);
    assert!(view.holder.is_some_and(|holder| ["a", "b"].contains(&&*holder)));
    runtime.block_on(async {
        let access = fleet.access().with_nkey(&nkey).unwrap();
        let intruder = Connection::connect(&access, "tidegate", "intruder").await.unwrap();
        while !intruder.connected() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(intruder.publish("tidegate.other.table", b"x".to_vec()));
        while intruder.fault().is_none_or(|why| !why.to_lowercase().contains("permissions")) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let bucket = Bucket::new(intruder.clone(), "tidegate_other".into(), 1);
        assert!(bucket.put("lease", b"x".to_vec(), 0).await.is_err());
        let nobody = Connection::connect(&fleet.access(), "tidegate", "nobody").await.unwrap();
        while nobody.fault().is_none() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(!nobody.connected(), "without a user nobody is admitted");
    });
}

/// A JSON Web Token of NATS, by the nkey of its issuer.
fn token(issuer: &KeyPair, of: &KeyPair, claims: serde_json::Value) -> String {
    let head = serde_json::json!({ "typ": "JWT", "alg": "ed25519-nkey" });
    let body = serde_json::json!({
        "jti": "test", "iat": unix_now().as_secs(), "iss": issuer.public_key(), "name": "test",
        "sub": of.public_key(), "nats": claims,
    });
    let signed = [head, body].map(|part| BASE64_URL_SAFE_NO_PAD.encode(part.to_string())).join(".");
    let signature = BASE64_URL_SAFE_NO_PAD.encode(issuer.sign(signed.as_bytes()).unwrap());
    format!("{signed}.{signature}")
}

#[test]
fn gates_with_credentials_over_tls_are_a_fleet() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let (operator, system) = (KeyPair::new_operator(), KeyPair::new_account());
    let (account, user) = (KeyPair::new_account(), KeyPair::new_user());
    let limits = serde_json::json!({
        "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true,
        "conn": -1, "leaf": -1, "mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1,
    });
    let of_account = serde_json::json!({ "type": "account", "version": 2, "limits": limits });
    let of_system = serde_json::json!({ "type": "account", "version": 2, "limits": {
        "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true,
        "conn": -1, "leaf": -1,
    } });
    let of_operator = serde_json::json!({ "type": "operator", "version": 2 });
    let certified = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let certificate = file("cert.pem", &certified.cert.pem());
    let key = file("key.pem", &certified.signing_key.serialize_pem());
    let config = format!(
        "operator: {}\nsystem_account: {}\nresolver: MEMORY\nresolver_preload: {{\n{}: {}\n{}: {}\n}}\n\
         tls {{ cert_file: {certificate:?}, key_file: {key:?} }}\n",
        token(&operator, &operator, of_operator),
        system.public_key(),
        account.public_key(),
        token(&operator, &account, of_account),
        system.public_key(),
        token(&operator, &system, of_system),
    );
    let config = file("server.conf", &config);
    let Some(nats) = Nats::start_with(&["-c", config.to_str().unwrap()]) else { return };
    let mut fleet = Fleet::new(&[&nats]);
    fleet.urls = vec![nats.url().replace("nats://", "tls://")];
    let claims = serde_json::json!({
        "type": "user", "version": 2, "subs": -1, "data": -1, "payload": -1,
    });
    let credentials = format!(
        "-----BEGIN NATS USER JWT-----\n{}\n------END NATS USER JWT------\n\n\
         -----BEGIN USER NKEY SEED-----\n{}\n------END USER NKEY SEED------\n",
        token(&account, &user, claims),
        user.seed().unwrap(),
    );
    let credentials = fleet.file("gate.creds", &credentials);
    fleet.more = format!("credentials_file = {credentials:?}\nca_file = {certificate:?}\n");
    let gates = ["a", "b"].map(|name| fleet.gate(name));
    eventually("the service is divided among two", || divided(&gates.each_ref()));
    // Another authority, and another user.
    let other = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let other = file("other.pem", &other.cert.pem());
    fleet.more = format!("credentials_file = {credentials:?}\nca_file = {other:?}\n");
    let wrong = fleet.gate("wrong");
    eventually("the server's certificate is refused", || {
        status(&wrong).problem.is_some_and(|why| why.to_lowercase().contains("certificate"))
    });
    assert!(!status(&wrong).connected);
}
