//! What signals do to a running gate.

use crate::common::{PATIENCE, Text, curl, wait_until};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

/// A gate with a configuration file, whose log is in a file.
struct Gate {
    child: Child,
    tls: String,
    address: String,
    admin: String,
    folder: tempfile::TempDir,
}

impl Gate {
    /// Starts a gate for plain HTTP on loopback with these lines of configuration.
    fn start(more: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), more);
        let mut child = Command::new(env!("CARGO_BIN_EXE_tidegate"))
            .args(["gate", "--config", &path(folder.path()).display().to_string()])
            .args(["--listen", "127.0.0.1:0", "--clear", "127.0.0.1:0", "--admin", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(folder.path().join("log")).unwrap())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut address_of = |word: &str| {
            let line = lines.find_map(|line| Some(line.strip_prefix(word)?.trim().to_owned()));
            line.unwrap_or_else(|| panic!("the gate announces `{word}`"))
        };
        let (tls, address) = (address_of("gate: https://"), address_of("clear: "));
        let admin = address_of("admin: ");
        address_of("ready");
        Self { child, tls, address, admin, folder }
    }

    fn configure(&self, more: &str) {
        write(self.folder.path(), more);
    }

    fn signal(&self, signal: i32) {
        // SAFETY: the child was not waited for yet, so the id is its own.
        unsafe { libc::kill(self.child.id() as libc::pid_t, signal) };
    }

    /// Reloads the configuration, and waits until that is over.
    fn reload(&self) {
        let before = self.reloads();
        self.signal(libc::SIGHUP);
        wait_until("the gate has reloaded", || self.reloads() > before);
    }

    fn reloads(&self) -> u64 {
        let status = curl(&["--fail", &format!("{}/status", self.admin)]).stdout_text();
        let status: serde_json::Value = serde_json::from_str(&status).unwrap();
        let count = |result: &str| status["config_reloads"][result].as_u64().unwrap();
        count("ok") + count("failed")
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    fn get(&self) -> String {
        curl(&["--fail", &self.address]).stdout_text()
    }

    fn connect(&self) -> TcpStream {
        let address = self.address.strip_prefix("http://").unwrap();
        let socket = TcpStream::connect(address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket
    }

    /// Waits for its end; returns the exit code.
    fn wait(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn path(folder: &Path) -> PathBuf {
    folder.join("gate.toml")
}

fn write(folder: &Path, more: &str) {
    let text = format!("[admission]\npolicy = \"off\"\n{more}");
    std::fs::write(path(folder), text).unwrap();
}

fn to(upstream: &str) -> String {
    format!("[upstream]\nprocesses = \"none\"\ncheck_interval = \"0s\"\nurl = \"{upstream}\"\n")
}

/// An upstream that answers every connection's requests with its name.
fn upstream(name: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            std::thread::spawn(move || answer(socket.unwrap(), name, None));
        }
    });
    format!("http://{address}")
}

/// An upstream that reports its first request and answers it when told to.
fn slow_upstream() -> (String, mpsc::Receiver<()>, mpsc::Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (report, requested) = mpsc::channel();
    let (go, wait) = mpsc::channel();
    std::thread::spawn(move || {
        let (socket, _) = listener.accept().unwrap();
        answer(socket, "late", Some((report, wait)));
    });
    (format!("http://{address}"), requested, go)
}

fn answer(socket: TcpStream, body: &str, wait: Option<(mpsc::Sender<()>, mpsc::Receiver<()>)>) {
    let mut reader = BufReader::new(socket);
    let mut line = String::new();
    while reader.read_line(&mut line).unwrap_or(0) > 0 {
        if line == "\r\n" {
            if let Some((report, wait)) = &wait {
                let _ = report.send(());
                let _ = wait.recv();
            }
            let length = body.len();
            let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}");
            if reader.get_mut().write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
        line.clear();
    }
}

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

#[test]
fn a_hangup_reloads_the_file_and_flags_stay_above_it() {
    let gate = Gate::start(&to(&upstream("one")));
    assert_eq!(gate.get(), "one");
    let restart = "[listen]\naddress = \"127.0.0.1:1\"\nbacklog = 7\n";
    gate.configure(&format!("{}{restart}[log]\nlevel = \"debug\"\n", to(&upstream("two"))));
    gate.reload();
    wait_until("the new upstream answers", || gate.get() == "two");
    let log = gate.log();
    for says in [
        "listen.backlog needs a restart: it stays as it was",
        "gate.toml reloaded; changed: upstream.url, log.level",
    ] {
        assert!(log.contains(says), "the log does not say `{says}`:\n{log}");
    }
    assert!(!log.contains("listen.address"), "a flag gives it:\n{log}");
    // A hello that is none is worth a line at this level only.
    wait_until("the log has the new level", || {
        let _ = TcpStream::connect(&gate.tls).unwrap().write_all(b"\x16\x03\x01\x00\x05hello");
        gate.log().contains("the hello is malformed")
    });
}

#[test]
fn a_broken_file_stays_out_of_force_and_the_log_says_what_a_check_says() {
    let gate = Gate::start(&to(&upstream("one")));
    gate.configure("[upstream]\nurl = \"ftp://x\"\n\n[limits]\nidle_deadline = \"9h\"\nmost = 1\n");
    let file = path(gate.folder.path()).display().to_string();
    let check = crate::common::tidegate(&["check", &file]).stderr_text();
    gate.reload();
    wait_until("the log says why", || gate.log().contains("former configuration stays in force"));
    let log = gate.log();
    let mistakes = check.trim().strip_prefix("tidegate: ").unwrap();
    assert_eq!(mistakes.lines().count(), 3, "{mistakes}");
    for mistake in mistakes.lines() {
        assert!(log.contains(mistake), "the log does not say `{mistake}`:\n{log}");
    }
    assert_eq!(gate.get(), "one");
}

#[test]
fn a_missing_file_stays_out_of_force_too() {
    let gate = Gate::start(&to(&upstream("one")));
    std::fs::remove_file(path(gate.folder.path())).unwrap();
    gate.reload();
    assert_eq!(gate.get(), "one");
    assert!(gate.log().contains("gate.toml: cannot be read"), "{}", gate.log());
}

#[test]
fn a_termination_lets_a_request_finish_and_a_hangup_meanwhile_changes_nothing() {
    let (upstream, requested, go) = slow_upstream();
    let mut gate = Gate::start(&to(&upstream));
    let mut socket = gate.connect();
    socket.write_all(GET).unwrap();
    requested.recv_timeout(PATIENCE).unwrap();
    gate.signal(libc::SIGTERM);
    wait_until("the gate drains", || gate.log().contains("draining"));
    gate.signal(libc::SIGHUP);
    wait_until("the log says so", || gate.log().contains("not reloaded: the gate is draining"));
    go.send(()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    assert!(answer.ends_with("late"), "{answer}");
    assert_eq!(gate.wait(), Some(0));
}

#[test]
fn a_second_signal_ends_the_drain_at_once() {
    for (first, second) in [(libc::SIGTERM, libc::SIGTERM), (libc::SIGINT, libc::SIGTERM)] {
        // Nobody answers, so the drain would last an hour.
        let (upstream, requested, _go) = slow_upstream();
        let more = "[listen]\ndrain_deadline = \"1h\"\n";
        let mut gate = Gate::start(&format!("{}{more}", to(&upstream)));
        let mut socket = gate.connect();
        socket.write_all(GET).unwrap();
        requested.recv_timeout(PATIENCE).unwrap();
        gate.signal(first);
        wait_until("the gate drains", || gate.log().contains("draining"));
        gate.signal(second);
        assert_eq!(gate.wait(), Some(0));
        assert!(gate.log().contains("1 open connections are closed"), "{}", gate.log());
    }
}
