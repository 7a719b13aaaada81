//! Who is returning, over real sockets.

mod common;

use common::*;
use rustls::HandshakeKind::{Full, Resumed};
use std::sync::Arc;

const NEW: usize = 0;
const RETURNING: usize = 1;

#[test]
fn a_customer_who_comes_back_is_known_and_resumes_with_both_versions() {
    let gate = gate(hello(), "");
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let before = gate.totals();
        let config = Arc::new(client(&[version]));
        let mut first = connect(&gate, &config);
        assert_eq!(get(&mut first, "/").unwrap().text(), "hello");
        assert_eq!(kind(&first), Full);
        drop(first);
        for _ in 0..3 {
            let mut again = connect(&gate, &config);
            assert_eq!(get(&mut again, "/").unwrap().text(), "hello");
            assert_eq!(kind(&again), Resumed, "{version:?}");
        }
        let after = gate.totals();
        assert_eq!(after.admitted[NEW] - before.admitted[NEW], 1);
        assert_eq!(after.admitted[RETURNING] - before.admitted[RETURNING], 3);
        assert_eq!(after.handshakes_ok[1] - before.handshakes_ok[1], 3);
    }
}
