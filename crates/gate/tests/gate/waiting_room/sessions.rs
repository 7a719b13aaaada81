//! Who is in the waiting room and who is in a session: tickets, cookies, what each request costs.

use super::*;
use tidegate_gate::telemetry::labels::TicketResult;

#[test]
fn where_there_is_no_room_any_more_the_ticket_of_somebody_who_waits_admits_nobody() {
    let upstream = hello();
    let config = |refuse| {
        let admission = room(0.01, "").replace("\"page\"", refuse);
        config_of(&format!("url = \"http://{upstream}\""), &admission)
    };
    let gate = Gate::start(config("\"page\"")).unwrap();
    let mut inside = Customer::new();
    assert_eq!(inside.visit(&gate).response.code, 200);
    until("the gate is full", || gate.snapshot().sessions_active == 0);
    let mut customer = Customer::new();
    assert!(customer.visit(&gate).waits());
    assert!(gate.reload(|| Ok(config("\"reset\""))));
    until("new connections are reset", || Customer::new().get(&gate, "/", "*/*").is_err());
    let started = gate.snapshot().sessions_started;
    assert!(customer.get(&gate, "/", "*/*").is_err(), "without a decision nobody comes in");
    assert_eq!(gate.snapshot().sessions_started, started);
    assert_eq!(gate.totals().tickets[TicketResult::Unfit], 1);
    assert_eq!(inside.visit(&gate).response.code, 200);
}
