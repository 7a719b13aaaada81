//! WebSockets with the programs of others: `ws` and socket.io of Node, and `websockets` of Python.
//! `scripts/bootstrap test` installs them; a test is skipped where they are missing.

use crate::common::*;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use tidegate_gate::Gate;
use tidegate_gate::telemetry::labels::TunnelEnd;

fn target(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target").join(name)
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/websocket").join(name)
}

/// A program that ends with the test.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The server of `ws` and socket.io, its address and what it prints.
fn server() -> Option<(Program, SocketAddr, BufReader<ChildStdout>)> {
    let folder = target("websocket");
    if !folder.join("node_modules/socket.io").is_dir() {
        eprintln!("SKIPPED: no ws and socket.io; `scripts/bootstrap test` installs them");
        return None;
    }
    let mut node = Command::new("node");
    node.arg(script("server.mjs")).current_dir(folder).stdout(Stdio::piped());
    let mut child = node.spawn().unwrap();
    let mut printed = BufReader::new(child.stdout.take().unwrap());
    let mut port = String::new();
    printed.read_line(&mut port).unwrap();
    let address = format!("127.0.0.1:{}", port.trim()).parse().unwrap();
    Some((Program(child), address, printed))
}

fn python() -> Option<PathBuf> {
    let python = target("websockets/bin/python3");
    let found = python.exists();
    if !found {
        eprintln!("SKIPPED: no websockets of Python; `scripts/bootstrap test` installs it");
    }
    found.then_some(python)
}

fn passes(mut client: Command) {
    let output = client.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "passed", "{errors}");
}

fn port(gate: &Gate) -> u16 {
    gate.address().port()
}

#[test]
fn ws_and_socket_io_work_through_the_gate_over_tls() {
    let Some((_server, address, mut printed)) = server() else { return };
    let gate = gate(address, "");
    let mut client = Command::new("node");
    let url = format!("https://localhost:{}", port(&gate));
    client.arg(script("client.mjs")).arg(url).current_dir(target("websocket"));
    passes(client);
    let mut closed = String::new();
    printed.read_line(&mut closed).unwrap();
    assert_eq!(closed, "closed 4001\n", "the upstream got the customer's code");
    counted(&gate, "three tunnels ended", |totals| totals.tunnels == 0);
    assert_eq!(gate.totals().tunnels_ended.values().iter().sum::<u64>(), 3);
}

#[test]
fn pythons_websockets_work_through_the_gate_over_tls() {
    let (Some((_server, address, _printed)), Some(python)) = (server(), python()) else { return };
    let gate = gate(address, "");
    let mut client = Command::new(python);
    client.arg(script("client.py")).arg(format!("wss://localhost:{}/ws", port(&gate)));
    passes(client);
}

#[test]
fn a_client_is_told_that_the_gate_goes_away_and_the_server_as_well() {
    let (Some((_server, address, mut printed)), Some(python)) = (server(), python()) else {
        return;
    };
    let gate = gate(address, "");
    let mut client = Command::new(python);
    client.arg(script("client.py")).arg(format!("wss://localhost:{}/ws", port(&gate))).arg("wait");
    let mut client = Program(client.stdout(Stdio::piped()).spawn().unwrap());
    let mut said = BufReader::new(client.0.stdout.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert_eq!(line, "waits\n");
    gate.drain();
    let mut code = String::new();
    said.read_to_string(&mut code).unwrap();
    assert_eq!(code, "1001\n");
    let mut closed = String::new();
    printed.read_line(&mut closed).unwrap();
    assert_eq!(closed, "closed 1001\n");
    counted(&gate, "drained", |totals| totals.tunnels_ended[TunnelEnd::Drain] == 1);
}
