//! Gates that listen at several addresses.

use crate::common::{Connection, a_core, any_client, connect_to, gate, get, hello, kind};
use rustls::HandshakeKind;
use tidegate_gate::Gate;
use tidegate_gate::config::Config;

/// A gate at these addresses.
fn gate_at(addresses: &[&str]) -> Gate {
    let core = a_core();
    gate(hello(), &format!("[listen]\naddress = {addresses:?}\ncores = \"{core}\"\n"))
}

#[test]
fn a_customer_of_one_address_is_known_at_the_others() {
    let gate = gate_at(&["127.0.0.1:0", "127.0.84.72:0", "[::1]:0"]);
    let customer = any_client();
    let mut kinds = Vec::new();
    for address in gate.addresses() {
        let mut connection: Connection = connect_to(*address, &customer, "localhost");
        assert_eq!(get(&mut connection, "/").unwrap().text(), "hello");
        kinds.push(kind(&connection));
    }
    let returned = HandshakeKind::Resumed;
    assert!(matches!(kinds[..], [HandshakeKind::Full, second, third]
        if second == returned && third == returned));
    let snapshot = gate.snapshot();
    let bound: Vec<_> = gate.addresses().iter().map(ToString::to_string).collect();
    assert_eq!((snapshot.addresses, snapshot.address), (bound.clone(), bound[0].clone()));
    assert!(gate.addresses()[2].is_ipv6() && gate.totals().accepted == 3);
}

#[test]
fn an_address_in_use_is_named_among_several() {
    let first = gate_at(&["127.0.0.1:0"]);
    let text = format!(
        "[listen]\naddress = [\"127.0.0.1:0\", \"{}\"]\n[admin]\naddress = \"off\"\n\
         [upstream]\nurl = \"http://127.0.0.1:1\"\n",
        first.address()
    );
    let error = Gate::start(Config::from_toml(&text, "t").unwrap()).unwrap_err().to_string();
    assert!(error.contains(&format!("cannot listen on {}", first.address())), "{error}");
}
