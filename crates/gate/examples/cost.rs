//! What the gate's own accounts say an operation costs, in processor time of
//! one core: run it in release, on a machine with at least two cores.
//!
//! `cargo run --release -p tidegate-gate --example cost`
//!
//! It is no benchmark against others (kernel work that the kernel charges to
//! nobody is missing, and customers and upstream share the other core), but it
//! shows at once what a change to the gate costs.

#[path = "../tests/common/mod.rs"]
mod common;

use common::*;
use rustls::ClientConfig;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;
use tidegate_gate::Gate;
use tidegate_gate::account::Bucket;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let page = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\nServer: origin\r\nContent-Length: 1024\r\n\r\n{}",
        "x".repeat(1024)
    );
    let upstream = upstream(move |mut reader| {
        pin_to(1);
        use std::io::{BufRead, Write};
        let mut line = Vec::new();
        loop {
            line.clear();
            match reader.read_until(b'\n', &mut line) {
                Ok(2) => reader.get_mut().write_all(page.as_bytes()).unwrap(),
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
        }
    });
    let inside = gate(upstream, "");
    let full =
        gate(upstream, "[admission]\npolicy = \"static\"\nrate = 0.01\nhold_time = \"0s\"\n");
    // The gates' threads are on core 0 by now.
    pin_to(1);
    let tls13 = || Arc::new(client(&[&rustls::version::TLS13]));
    let tls12 = || Arc::new(client(&[&rustls::version::TLS12]));
    for _ in 0..5 {
        let mut connection = connect(&inside, &tls13());
        measure(&inside, "keep-alive GET of 1 KiB, TLS 1.3", 20_000, || {
            get(&mut connection, "/").unwrap();
        });
        let visit = |config: &Arc<ClientConfig>| {
            get(&mut connect(&inside, config), "/").unwrap();
        };
        measure(&inside, "TLS 1.3 full, one GET", 2_000, || visit(&tls13()));
        let (thirteen, twelve) = (tls13(), tls12());
        measure(&inside, "TLS 1.3 resumed, one GET", 2_000, || visit(&thirteen));
        measure(&inside, "TLS 1.2 full, one GET", 2_000, || visit(&tls12()));
        measure(&inside, "TLS 1.2 resumed, one GET", 2_000, || visit(&twelve));
        let hello = {
            let name = "localhost".try_into().unwrap();
            let mut session = rustls::ClientConnection::new(tls13(), name).unwrap();
            let mut bytes = Vec::new();
            session.write_tls(&mut bytes).unwrap();
            bytes
        };
        measure(&full, "refused by reset", 5_000, || {
            use std::io::{Read, Write};
            let mut socket = TcpStream::connect(full.address()).unwrap();
            socket.write_all(&hello).unwrap();
            let _ = socket.read(&mut [0; 1]);
        });
        println!();
    }
}

fn measure(gate: &Gate, what: &str, times: u32, mut operation: impl FnMut()) {
    (0..times / 20).for_each(|_| operation());
    std::thread::sleep(Duration::from_millis(120));
    let before = gate.totals();
    (0..times).for_each(|_| operation());
    std::thread::sleep(Duration::from_millis(120));
    let after = gate.totals();
    let mut sum = 0.0;
    print!("{what:<34}");
    for bucket in Bucket::ALL {
        let at = bucket as usize;
        let us = (after.cpu_ns[at] - before.cpu_ns[at]) as f64 / 1e3 / f64::from(times);
        sum += us;
        if us >= 0.05 {
            print!(" {} {us:.1}", bucket.name());
        }
    }
    println!("  = {sum:.1} µs");
}

/// Keeps this thread, and those it starts, on a core.
fn pin_to(core: usize) {
    // SAFETY: a set of cores is plain bits, and the core is within it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &raw const set);
    }
}
