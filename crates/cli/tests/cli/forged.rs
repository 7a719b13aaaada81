//! Tickets that somebody altered, offered by a program that no one here wrote.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::common::upstream::Upstream;
use crate::common::{Running, Text, gate};

/// Runs openssl to its end.
fn openssl(args: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new("openssl")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("openssl: {error}; scripts/bootstrap test installs it"));
    let _ = child.stdin.as_mut().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

/// One request by openssl, with its own options.
fn visit(gate: &Running, options: &[&str]) -> Output {
    let address = gate.address("gate").trim_start_matches("https://");
    let fixed = ["s_client", "-connect", address, "-servername", "localhost", "-ign_eof"];
    let request = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    openssl(&[&fixed[..], options].concat(), request)
}

/// Writes the session of `from` to `to`, its ticket changed by `forge`.
fn forge(from: &Path, to: &Path, forge: impl FnOnce(&mut [u8])) {
    let (from, to) = (from.display().to_string(), to.display().to_string());
    let mut session = openssl(&["sess_id", "-in", &from, "-outform", "DER"], b"").stdout;
    forge(ticket(&mut session));
    let written = openssl(&["sess_id", "-inform", "DER", "-out", &to], &session);
    assert!(written.status.success(), "{}", written.stderr_text());
}

/// The ticket in a session as openssl writes it: DER, a sequence in which the
/// ticket is an octet string under the tag 10.
fn ticket(session: &mut [u8]) -> &mut [u8] {
    const TICKET: u8 = 0xaa;
    let (_, mut rest) = element(session);
    loop {
        let (tag, content, after) = split(rest);
        if tag == TICKET {
            return element(content).1;
        }
        rest = after;
    }
}

/// Tag and content of the first element.
fn element(der: &mut [u8]) -> (u8, &mut [u8]) {
    let (tag, content, _) = split(der);
    (tag, content)
}

/// Tag and content of the first element, and what follows it.
fn split(der: &mut [u8]) -> (u8, &mut [u8], &mut [u8]) {
    let (tag, first) = (der[0], usize::from(der[1]));
    // From 0x80 on it says how many bytes the length takes.
    let (head, length) = match first {
        0..0x80 => (2, first),
        _ => {
            let bytes = &der[2..2 + first - 0x80];
            (2 + bytes.len(), bytes.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)))
        }
    };
    let (content, after) = der[head..].split_at_mut(length);
    (tag, content, after)
}

#[test]
fn a_forged_ticket_is_new_and_meets_no_error() {
    let upstream = Upstream::start();
    for version in ["-tls1_3", "-tls1_2"] {
        let gate = gate(&upstream.url, &[]);
        let folder = tempfile::tempdir().unwrap();
        let (honest, forged) = (folder.path().join("honest"), folder.path().join("forged"));
        let first = visit(&gate, &[version, "-sess_out", &honest.display().to_string()]);
        assert!(first.stdout_text().contains("New, TLS"), "{version}: {}", first.stderr_text());
        let connections = |class: &str| {
            gate.metric(&format!(
                "tidegate_connections_total{{class=\"{class}\",verdict=\"admitted\"}}"
            ))
        };
        // The name of the key, the sealed part, the seal.
        let places: [fn(&mut [u8]); 3] = [
            |ticket| ticket[0] ^= 1,
            |ticket| ticket[ticket.len() / 2] ^= 1,
            |ticket| *ticket.last_mut().unwrap() ^= 1,
        ];
        let offer = [version, "-sess_in", &forged.display().to_string()];
        for (number, change) in places.into_iter().enumerate() {
            forge(&honest, &forged, change);
            let seen = visit(&gate, &offer);
            let text = seen.stdout_text();
            assert!(text.contains("New, TLS"), "{version} {number}: {text}{}", seen.stderr_text());
            assert!(text.contains("\nhello\n"), "{version} {number}: {text}");
            assert_eq!(connections("new"), 2.0 + number as f64, "{version}");
        }
        assert_eq!(connections("returning"), 0.0, "{version}");
        // What was written anew without a change resumes: it was the change
        // that made the others new.
        forge(&honest, &forged, |_| {});
        let seen = visit(&gate, &offer);
        assert!(seen.stdout_text().contains("Reused, TLS"), "{version}: {}", seen.stderr_text());
        assert_eq!((connections("new"), connections("returning")), (4.0, 1.0), "{version}");
        for kind in ["full", "resumed"] {
            let name = format!("tidegate_handshakes_total{{kind=\"{kind}\",result=\"failed\"}}");
            assert_eq!(gate.metric(&name), 0.0, "{version}");
        }
    }
}
