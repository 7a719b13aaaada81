//! A gate of which a part fails ends, and says which.

use crate::common::*;
use std::sync::mpsc;
use tidegate_gate::config::Config;
use tidegate_gate::handover::Inherited;
use tidegate_gate::{Component, Gate, InjectedFault};

fn gate_that_fails(part: Component) -> (Gate, tokio::sync::watch::Sender<bool>) {
    let text = format!(
        "[listen]\naddress = \"127.0.0.1:0\"\ncores = \"{}\"\n[admin]\naddress = \"127.0.0.1:0\"\n\
         [upstream]\nprocesses = \"none\"\nurl = \"http://{}\"\n",
        a_core(),
        hello()
    );
    let (fault, switch) = InjectedFault::of(part);
    let config = Config::from_toml(&text, "test.toml").unwrap();
    (Gate::start_with(config, Inherited::default(), Some(fault)).unwrap(), switch)
}

#[test]
fn a_part_that_panics_ends_the_gate_with_its_name() {
    for part in Component::ALL {
        let (gate, switch) = gate_that_fails(part);
        let mut connection = connect(&gate, &any_client());
        assert_eq!(get(&mut connection, "/").unwrap().text(), "hello", "{part:?} works so far");
        switch.send(true).unwrap();
        let (sender, ended) = mpsc::channel();
        std::thread::spawn(move || sender.send(gate.join()));
        let ended = ended.recv_timeout(PATIENCE);
        let error = ended.unwrap_or_else(|_| panic!("{part:?}: the gate goes on")).unwrap_err();
        let expected = format!("{} panicked: injected fault", part.name());
        assert!(error.to_string().contains(&expected), "{error}");
    }
}

#[test]
fn a_gate_whose_parts_work_ends_only_after_it_drained() {
    let (gate, _switch) = gate_that_fails(Component::Dispatcher);
    gate.drain();
    gate.join().unwrap();
}
