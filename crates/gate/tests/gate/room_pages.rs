//! The pages of the waiting room beside the line: before an opening, when the service has closed the
//! line and during maintenance; the operator's own page, and places that are good no more.

use crate::common::*;
use crate::waiting_room::{Customer, a_moment_later, full, room};
use rustls::HandshakeKind;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tidegate_control::waiting_room::Doors;
use tidegate_gate::Gate;
use tidegate_gate::config::Config;

#[test]
fn during_maintenance_active_sessions_go_on_and_nobody_else_comes_in() {
    let maintained = |on: bool| room(1000.0, &format!("maintenance = {on}"));
    let upstream = hello();
    let gate = gate(upstream, &maintained(false));
    let mut inside = Customer::new();
    assert_eq!(inside.visit(&gate).response.code, 200);
    let url = format!("url = \"http://{upstream}\"");
    assert!(gate.reload(|| Ok(config_of(&url, &maintained(true)))));
    let mut other = Customer::new();
    until("the page of the maintenance", || {
        let seen = other.visit(&gate);
        other = Customer::new();
        let maintained = seen.response.code == 503 && seen.response.text().contains("maintained");
        assert!(!maintained || seen.refresh() >= 30, "{}", seen.refresh());
        maintained
    });
    assert_eq!(inside.visit(&gate).response.code, 200);
    assert!(gate.reload(|| Ok(config_of(&url, &maintained(false)))));
    until("they come in", || other.visit(&gate).response.code == 200);
}

#[test]
fn who_comes_before_the_opening_is_told_when_and_comes_in_after_it() {
    let opens = SystemTime::now() + Duration::from_secs(3);
    let opens_s = opens.duration_since(UNIX_EPOCH).unwrap().as_secs() + 1;
    let opening = format!("opens = \"{}\"", jiff::Timestamp::from_second(opens_s as i64).unwrap());
    let gate = gate(hello(), &room(1000.0, &opening));
    let mut customers: Vec<_> = (0..5).map(|_| Customer::new()).collect();
    for customer in &mut customers {
        let seen = customer.visit(&gate);
        assert!(seen.response.text().contains("The site opens soon"));
        let field = seen.field("tidegate-waiting-room").unwrap();
        assert_eq!(field, format!("before, refresh={}", seen.refresh()));
        assert!((1..=5).contains(&seen.refresh()), "at the opening: {field}");
    }
    let mut early = Customer::new();
    until("the opening", || !early.visit(&gate).waits());
    assert!(SystemTime::now() >= UNIX_EPOCH + Duration::from_secs(opens_s));
    for mut customer in customers {
        until("they come in", || !customer.visit(&gate).waits());
    }
}

#[test]
fn a_line_that_the_service_has_closed_is_seen_stays_so_at_the_next_gate_and_a_reload_opens_it() {
    let upstream = answering(|got| {
        let closes = got.line.contains("/sold-out");
        let field = if closes { "Tidegate-Queue: closed\r\n" } else { "" };
        format!("HTTP/1.1 200 OK\r\n{field}Content-Length: 2\r\n\r\nok")
    });
    let config = || config_of(&format!("url = \"http://{upstream}\""), &room(1000.0, ""));
    let before = Gate::start(config()).unwrap();
    let room = |gate: &Gate| gate.snapshot().waiting_room;
    assert_eq!((room(&before).doors, room(&before).until_unix_s), (Doors::Open, None));
    assert_eq!(Customer::new().get(&before, "/sold-out", "*/*").unwrap().response.code, 200);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let until_s = room(&before).until_unix_s.unwrap();
    assert!((now + 3_500..=now + 3_600).contains(&until_s), "for an hour");
    let exposition = before.snapshot().prometheus();
    for (state, value) in [("open", 0), ("closed", 1)] {
        let line = format!("tidegate_waiting_room_doors{{state=\"{state}\"}} {value}\n");
        assert!(exposition.contains(&line), "{line}");
    }
    let after = crate::handover::replace(&before, config());
    assert_eq!((room(&after).doors, room(&after).until_unix_s), (Doors::Closed, Some(until_s)));
    let mut other = Customer::new();
    assert!(other.visit(&after).response.text().contains("The line is closed"));
    assert!(after.reload(|| Ok(config())));
    assert_eq!(room(&after).doors, Doors::Open);
    until("they come in", || !other.visit(&after).waits());
}

#[test]
fn the_operators_own_page_is_filled_in_and_read_again_when_it_changes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("waiting.html");
    std::fs::write(&file, "<h1 lang={{lang}}>Shop: {{title}}</h1>{{place}}/{{figures}}").unwrap();
    let upstream = hello();
    let config = || {
        let more = room(0.01, &format!("room_template = {:?}", file.display().to_string()));
        config_of(&format!("url = \"http://{upstream}\""), &more)
    };
    let gate = Gate::start(config()).unwrap();
    assert_eq!(Customer::new().visit(&gate).response.code, 200);
    let mut customer = Customer::new();
    // Their first page: on a later one it may be their turn.
    let shown = customer.visit(&gate).response.text().to_owned();
    let begin = "<h1 lang=en>Shop: You are in line</h1>1/<dl>";
    assert!(shown.starts_with(begin) && !shown.contains("{{"), "{shown}");
    std::fs::write(&file, "<h1>Patience, please: {{text}}</h1>").unwrap();
    assert!(gate.reload(|| Ok(config())));
    until("the new page", || customer.visit(&gate).response.text().contains("Patience, please"));
}

#[test]
fn a_place_under_a_key_that_is_gone_is_none_and_its_holder_goes_to_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let keys = folder.path().join("keys");
    let (gate, mut inside) =
        full(&format!("[tls]\nticket_keys = {:?}\n", keys.display().to_string()));
    let (mut first, mut second) = (Customer::new(), Customer::new());
    assert_eq!((first.visit(&gate).place(), second.visit(&gate).place()), (1, 2));
    std::fs::remove_file(&keys).unwrap();
    let config = Config::clone(&gate.config());
    assert!(gate.reload(|| Ok(config)));
    a_moment_later();
    let seen = first.visit(&gate);
    assert_eq!((seen.kind, seen.place()), (HandshakeKind::Full, 3), "nobody else knows of them");
    assert_eq!(first.visit(&gate).place(), 3, "and this place is kept");
    assert!(inside.visit(&gate).waits(), "a session under it is none either");
}
