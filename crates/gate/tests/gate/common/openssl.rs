//! OpenSSL's client.

use std::io::Write;
use std::process::{Command, Stdio};
use tidegate_gate::Gate;

/// What the client prints of one request with these arguments, to both of its outputs.
pub fn openssl(gate: &Gate, arguments: &[&str]) -> String {
    let mut client = Command::new("openssl")
        .args(["s_client", "-ign_eof", "-connect", &gate.address().to_string()])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("openssl is installed");
    let request = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    // The gate may have refused it already.
    let _ = client.stdin.take().unwrap().write_all(request);
    let output = client.wait_with_output().unwrap();
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}
