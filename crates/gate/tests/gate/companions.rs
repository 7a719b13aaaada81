//! Connections that a browser opens before it has a ticket.

use crate::common::peers::connect_from;
use crate::common::*;
use rustls::HandshakeKind;
use tidegate_gate::Gate;
use tidegate_gate::telemetry::labels::Class;

/// One customer is admitted; from then on the gate is full.
const FULL: &str = "[admission]\npolicy = \"static\"\nrate = 0.01\nhold_time = \"0s\"\n\
     browser_connections = 5\n";

/// A connection without a ticket, once its first request is answered; none if it is refused.
fn answered(mut connection: Connection) -> Option<Connection> {
    let response = get(&mut connection, "/").ok()?;
    (response.code == 200).then_some(connection)
}

fn newcomer(gate: &Gate) -> Option<Connection> {
    answered(connect(gate, &any_client()))
}

#[test]
fn what_a_browser_opens_before_it_has_a_ticket_is_of_one_customer_up_to_five_more() {
    let gate = gate(hello(), FULL);
    let first = newcomer(&gate).unwrap();
    let browser = any_client();
    let mut others: Vec<_> = (0..4).map(|_| newcomer(&gate).unwrap()).collect();
    others.push(answered(connect(&gate, &browser)).unwrap());
    assert!(others.iter().all(|other| kind(other) == HandshakeKind::Full));
    assert!(newcomer(&gate).is_none(), "a sixth one asks for admission");
    let (totals, snapshot) = (gate.totals(), gate.snapshot());
    let admitted = (totals.admitted[Class::New], totals.admitted[Class::Returning]);
    assert_eq!((admitted, totals.refused[Class::New]), ((1, 5), 1));
    assert_eq!((snapshot.sessions_started, snapshot.sessions_active), (1, 1));
    let again = answered(connect(&gate, &browser)).unwrap();
    assert_eq!(kind(&again), HandshakeKind::Resumed, "its ticket is one of the session");
    assert_eq!(gate.snapshot().sessions_started, 1);
    drop((first, others, again));
}

#[test]
fn nobody_comes_in_from_another_address_by_http2_or_after_the_browser_has_closed() {
    let gate = gate(hello(), FULL);
    let first = newcomer(&gate).unwrap();
    let socket = connect_from([127, 0, 9, 2], gate.address());
    assert!(answered(connect_over(socket, &any_client(), "localhost")).is_none());
    let mut by_http2 = client(rustls::ALL_VERSIONS);
    by_http2.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    assert!(answered(connect(&gate, &by_http2.into())).is_none(), "it needs one connection");
    drop(first);
    until("the session has no connection", || gate.snapshot().sessions_active == 0);
    assert!(newcomer(&gate).is_none());
    assert_eq!(gate.totals().admitted[Class::Returning], 0);
}

#[test]
fn a_network_behind_one_address_is_admitted_one_by_one() {
    let upstream = hello();
    let open_to_all = "[admission]\npolicy = \"off\"\nbrowser_connections = 5\n";
    let gate = gate(upstream, open_to_all);
    let mut open: Vec<_> = (0..3).map(|_| newcomer(&gate).unwrap()).collect();
    assert!(gate.reload(|| Ok(config_of(&format!("url = \"http://{upstream}\""), FULL))));
    until("the gate is full", || match newcomer(&gate) {
        Some(one_more) => {
            open.push(one_more);
            false
        }
        None => true,
    });
    assert!((0..10).all(|_| newcomer(&gate).is_none()));
    assert_eq!(gate.totals().admitted[Class::Returning], 0);
}
