//! Passes bytes to the reader of the packets of load fleets, to an agent and to a coordinator, as
//! they are and as pieces of an order. They must not panic, and what is read is the same when it is
//! written and read again.
//!
//! Run from the repository's root: `cargo +nightly fuzz run --features load load_fleet`

#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use tidegate_load::fleet::agent::Agent;
use tidegate_load::fleet::clock::Now;
use tidegate_load::fleet::coordinator::Coordinator;
use tidegate_load::fleet::packet::{Content, Packet, Piece};

const SILENCE: Duration = Duration::from_secs(3);

fuzz_target!(|bytes: &[u8]| {
    if let Ok(packet) = Packet::parse(bytes) {
        assert_eq!(Packet::parse(&packet.to_bytes()), Ok(packet));
    }
    let now = Now::default();
    let (mut agent, mut coordinator) =
        (Agent::new("1", SILENCE), Coordinator::new("1", 1, SILENCE));
    let here = Packet::new("1", 1, 0, Content::Here { busy: None }).to_bytes();
    coordinator.receive("a", &here, now);
    coordinator.receive("b", bytes, now);
    let _ = coordinator.choose(Some(1), now);
    let piece = Some(Piece { number: 0, last: true });
    let packet = Packet::new("1", 1, 0, Content::Link { ack: 0, piece });
    let order = Packet { bytes: bytes.to_vec(), ..packet }.to_bytes();
    for packet in [bytes, &order] {
        let _ = agent.receive("coordinator", packet, now);
        coordinator.receive("a", packet, now);
    }
    let _ = (agent.due(now), coordinator.due(now), coordinator.event());
});
