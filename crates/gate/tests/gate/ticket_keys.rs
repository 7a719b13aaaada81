//! Ticket keys in a file: customers across a restart, and of several gates.

use crate::common::*;
use rustls::HandshakeKind::{Full, Resumed};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use tidegate_gate::Gate;
use tidegate_gate::config::Config;
use tidegate_gate::telemetry::labels::{Class, TicketResult};

/// A gate with its ticket keys in a file, that admits no new sessions if `full`.
fn gate_with_keys(keys: &Path, full: bool) -> Gate {
    let admission = match full {
        true => "[admission]\npolicy = \"static\"\nrate = 0.01\nhold_time = \"0s\"\n",
        false => "",
    };
    let tls = format!("[tls]\nticket_keys = \"{}\"\n", keys.display());
    gate(hello(), &format!("{admission}{tls}"))
}

fn visit(gate: &Gate, config: &Arc<rustls::ClientConfig>) -> Option<rustls::HandshakeKind> {
    let mut connection = connect(gate, config);
    get(&mut connection, "/").ok().map(|_| kind(&connection))
}

#[test]
fn a_session_continues_after_a_restart_also_where_no_new_one_is_admitted() {
    let folder = tempfile::tempdir().unwrap();
    let keys = folder.path().join("keys");
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let customer = Arc::new(client(&[version]));
        let before = gate_with_keys(&keys, false);
        assert_eq!(visit(&before, &customer), Some(Full));
        drop(before);
        let after = gate_with_keys(&keys, true);
        // The one new session that the policy admits.
        until("no new session is admitted", || visit(&after, &any_client()).is_none());
        let was = after.totals().admitted[Class::New];
        for _ in 0..3 {
            assert_eq!(visit(&after, &customer), Some(Resumed), "{version:?}");
        }
        let totals = after.totals();
        assert_eq!(totals.admitted[Class::Returning], 3);
        assert_eq!(totals.admitted[Class::New], was);
        assert_eq!(totals.tickets[TicketResult::Good], 3);
        assert_eq!(after.snapshot().sessions_started, was, "it is no new session");
    }
}

#[test]
fn gates_with_one_file_recognise_each_others_customers() {
    let folder = tempfile::tempdir().unwrap();
    let keys = folder.path().join("keys");
    let (one, other) = (gate_with_keys(&keys, false), gate_with_keys(&keys, false));
    let customer = any_client();
    assert_eq!(visit(&one, &customer), Some(Full));
    assert_eq!(visit(&other, &customer), Some(Resumed));
    assert_eq!(visit(&one, &customer), Some(Resumed));
}

#[test]
fn keys_that_another_wrote_are_taken_over_while_the_gate_runs() {
    let folder = tempfile::tempdir().unwrap();
    let (keys, others) = (folder.path().join("keys"), folder.path().join("others"));
    let (one, other) = (gate_with_keys(&keys, false), gate_with_keys(&others, false));
    let customer = any_client();
    assert_eq!(visit(&other, &customer), Some(Full));
    std::fs::rename(&others, &keys).unwrap();
    let newest = any_client();
    until("the file was read again", || {
        visit(&other, &newest).unwrap();
        visit(&one, &newest) == Some(Resumed)
    });
    assert_eq!(visit(&one, &customer), Some(Resumed));
}

#[test]
fn after_a_reload_deleted_keys_are_replaced_and_their_tickets_are_void() {
    let folder = tempfile::tempdir().unwrap();
    let keys = folder.path().join("keys");
    let gate = gate_with_keys(&keys, false);
    let customer = any_client();
    assert_eq!(visit(&gate, &customer), Some(Full));
    std::fs::remove_file(&keys).unwrap();
    assert_eq!(visit(&gate, &customer), Some(Resumed));
    let config = Config::clone(&gate.config());
    assert!(gate.reload(|| Ok(config)));
    assert_eq!(visit(&gate, &customer), Some(Full));
    assert_eq!(visit(&gate, &customer), Some(Resumed));
}

#[test]
fn a_file_that_cannot_be_used_is_a_mistake_of_the_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let keys = folder.path().join("keys");
    let text = |path: &Path| {
        format!(
            "[upstream]\nurl = \"http://127.0.0.1:9\"\n[tls]\nticket_keys = \"{}\"\n",
            path.display()
        )
    };
    let mistake = |path: &Path| Config::from_toml(&text(path), "g.toml").unwrap_err().to_string();
    drop(gate_with_keys(&keys, false));
    std::fs::set_permissions(&keys, std::fs::Permissions::from_mode(0o644)).unwrap();
    let shown = mistake(&keys);
    assert!(shown.starts_with("g.toml:4: tls.ticket_keys = "), "{shown}");
    assert!(shown.contains("may be used by others (mode 0644)"), "{shown}");
    assert!(shown.contains("chmod 600"), "{shown}");
    std::fs::set_permissions(&keys, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::write(&keys, "hello\n").unwrap();
    assert!(mistake(&keys).contains("is no file of ticket keys"));
    assert!(mistake(folder.path()).contains("is not a file"));
    assert!(mistake(&folder.path().join("none/keys")).contains("there is no folder"));
    // Nothing was made by reading the configuration.
    let new = folder.path().join("new");
    Config::from_toml(&text(&new), "g.toml").unwrap();
    assert!(!new.exists());
}
