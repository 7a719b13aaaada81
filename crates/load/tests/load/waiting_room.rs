//! Customers of a gate with a waiting room: they refresh as its page says, and come in or leave.

use std::time::Duration;

use crate::common::{Manner, Seen, Server, Site, plan};
use tidegate_load::{Scenario, Summary, report, run};

/// A page of the room, and the cookie of a place.
fn waits(_: &Seen) -> (&'static str, String, String) {
    let fields =
        "Tidegate-Waiting-Room: line, place=1, estimate=1, refresh=1\r\nSet-Cookie: place=1\r\n";
    ("503 Service Unavailable", fields.to_owned(), "wait".to_owned())
}

/// Who has waited is let in.
fn lets_in(seen: &Seen) -> (&'static str, String, String) {
    match seen.cookie.as_str() {
        "place=1" => ("200 OK", String::new(), String::new()),
        _ => waits(seen),
    }
}

fn visit(site: Site, session: &str) -> Summary {
    let server = Server::with_site(Manner::Answer { after: Duration::ZERO }, site);
    let text =
        format!("[session]\nsteps = [\"Home\"]\n{session}\n[pages]\nHome = {{ path = \"/\" }}\n");
    let scenario = Scenario::from_toml(&text, "shop.toml").unwrap();
    run(plan(scenario, &server, 200.0, 4), &mut |_| ()).unwrap()
}

#[test]
fn customers_refresh_as_the_page_says_until_they_are_let_in() {
    let summary = visit(lets_in, "");
    let totals = &summary.totals;
    assert_eq!((totals.completed, totals.requests_ok, totals.requests_failed), (4, 4, 0));
    assert_eq!((totals.waiting_pages, totals.waited), (4, 4), "{totals:?}");
    assert!(totals.waited_ms >= 4_000, "a second each: {totals:?}");
    assert_eq!((totals.waited_as_estimated, totals.waited_with_estimate), (4, 4), "{totals:?}");
    assert_eq!((totals.waited_pairs, totals.waited_pairs_disordered), (6, 0), "{totals:?}");
    assert_eq!(totals.waiting_pages_inside, 0, "{totals:?}");
    let text = report(&summary);
    assert!(text.contains("waiting room    4 let in after"), "{text}");
    assert!(text.contains("0 left; 4 pages"), "{text}");
}

#[test]
fn customers_leave_the_room_when_they_have_waited_as_long_as_they_do() {
    let summary = visit(waits, "waits = \"1500ms\"");
    let totals = &summary.totals;
    assert_eq!((totals.completed, totals.abandoned, totals.waited), (0, 4, 0), "{totals:?}");
    assert_eq!(totals.abandoned_by_stage.get("waiting"), Some(&4));
    assert_eq!(totals.waiting_pages, 8, "one at once and one after a second");
}

#[test]
fn customers_who_are_late_ask_so_much_later() {
    let summary = visit(lets_in, "waits_late = 1\nwaits_late_by = \"1s\"");
    let totals = &summary.totals;
    assert_eq!((totals.completed, totals.waiting_pages, totals.waited), (4, 4, 4), "{totals:?}");
    assert!(totals.waited_ms >= 8_000, "two seconds each: {totals:?}");
}
