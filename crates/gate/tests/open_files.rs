//! The limit on open files. It is one for the whole process, so there is one test only.

#[path = "gate/common/mod.rs"]
mod common;

use common::*;
use socket2::{Domain, Socket, Type};
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use tidegate_gate::config::Config;
use tidegate_gate::telemetry::labels::{Class, End};

/// Sets the limits of this process.
fn limit(soft: u64, hard: u64) {
    let limits = libc::rlimit { rlim_cur: soft, rlim_max: hard };
    // SAFETY: the structure is complete and lives during the call.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limits) }, 0);
}

const HARD: u64 = 260;
/// (260 - 128 - 16) / 2: two files for each connection on one core.
const PLACES: u64 = 58;

#[test]
fn a_gate_takes_as_many_connections_as_it_may_open_files_and_refuses_beyond() {
    limit(64, HARD);
    let gate = gate(hello(), "[limits]\nhello_deadline = \"300ms\"\n");
    let text = "[upstream]\nurl = \"http://127.0.0.1:1\"\n[listen]\ncores = \"0\"\n";
    let warnings = Config::from_toml(text, "t").unwrap().warnings().join("\n");
    assert!(warnings.contains("open 260, which suffice for 58"), "{warnings}");
    assert!(warnings.contains("set max_connections = 58"), "{warnings}");

    // The last eighth is for returning customers.
    let new = PLACES - PLACES / 8;
    // One after the other: a hello has its deadline.
    let served = |_| {
        let mut customer = connect(&gate, &any_client());
        assert_eq!(get(&mut customer, "/").unwrap().text(), "hello");
        customer
    };
    let customers: Vec<_> = (0..new).map(served).collect();
    assert!(get(&mut connect(&gate, &any_client()), "/").is_err());
    let totals = gate.totals();
    assert_eq!((totals.admitted[Class::New], totals.refused[Class::New]), (new, 1));
    assert_eq!((totals.ends[End::NoFiles], totals.accept_errors), (0, 0));
    drop(customers);
    counted(&gate, "they left", |totals| totals.open == 0);

    // Now others use up the files. Connections that find one all the same are closed by the
    // deadline for their hello.
    let mut waiting: Vec<_> =
        (0..40).map(|_| Socket::new(Domain::IPV4, Type::STREAM, None).unwrap()).collect();
    let (mut files, mut kept, mut refused) = (Vec::new(), Vec::new(), 0);
    while refused < 5 {
        files.extend(std::iter::from_fn(|| File::open("/dev/null").ok()));
        let socket = waiting.pop().expect("one in eight is refused");
        socket.connect(&gate.address().into()).unwrap();
        let mut socket = TcpStream::from(socket);
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.write_all(b"\x16\x03\x01").unwrap();
        match socket.read(&mut [0; 1]) {
            Ok(read) => assert_eq!(read, 0),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::ConnectionReset, "refused at once");
                refused += 1;
            }
        }
        kept.push(socket);
    }
    counted(&gate, "refused", |totals| totals.ends[End::NoFiles] == refused);
    assert!(gate.totals().accept_errors >= refused);
    drop((files, kept, waiting));
    assert_eq!(get(&mut connect(&gate, &any_client()), "/").unwrap().text(), "hello");
}
