//! A gate that starts again, or is replaced by another version, while customers come.

use crate::common::{PATIENCE, Text, curl, wait_until};
use std::cell::Cell;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread::JoinHandle;

/// Responses that customers get before a restart, and after it.
const ENOUGH: usize = 30;

/// A gate, the processes that took its place, and its files.
struct Service {
    /// The process that was started here, until it was waited for.
    first: Child,
    clear: SocketAddr,
    tls: String,
    admin: String,
    folder: tempfile::TempDir,
}

impl Service {
    /// Starts a gate with these lines of configuration.
    fn start(more: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // Another version may be put in its place.
        let program = folder.path().join("tidegate");
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_tidegate"), &program).unwrap();
        Self::start_by(&mut Command::new(program), folder, more)
    }

    fn start_by(command: &mut Command, folder: tempfile::TempDir, more: &str) -> Self {
        configure(folder.path(), more);
        let mut first = command
            .args(arguments(folder.path()))
            .stdout(Stdio::piped())
            .stderr(File::create(folder.path().join("log")).unwrap())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(first.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut address_of = |word: &str| {
            let line = lines.find_map(|line| Some(line.strip_prefix(word)?.trim().to_owned()));
            line.unwrap_or_else(|| panic!("the gate announces `{word}`"))
        };
        let tls = address_of("gate: ");
        let clear = address_of("clear: http://").parse().unwrap();
        let admin = address_of("admin: ");
        address_of("ready");
        // Those that take its place write there too.
        std::thread::spawn(move || lines.for_each(drop));
        let service = Self { first, clear, tls, admin, folder };
        // It is written once the gate is ready, and may name one before.
        wait_until("the file names the process", || service.pid() == service.first.id());
        service
    }

    /// The process in service, by the file that it writes.
    fn pid(&self) -> u32 {
        let text = std::fs::read_to_string(self.folder.path().join("pid")).unwrap_or_default();
        text.trim().parse().unwrap_or_default()
    }

    /// Signals the process in service, once its file names it.
    fn signal(&self, signal: i32) {
        // To process 0 it would go to all processes of the test's group, and those above it.
        let named = Cell::new(0);
        wait_until("the file names the process in service", || {
            named.set(self.pid());
            named.get() != 0
        });
        let pid = named.get();
        // SAFETY: the process in service is a child, or the child of one that handed over.
        unsafe { libc::kill(pid as libc::pid_t, signal) };
    }

    /// Has another process take the place of the one in service, and waits until it has.
    fn restart(&self) {
        let before = self.pid();
        self.signal(libc::SIGUSR2);
        wait_until("another process is in service", || ![0, before].contains(&self.pid()));
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    fn status(&self) -> serde_json::Value {
        let status = curl(&["--fail", &format!("{}/status", self.admin)]).stdout_text();
        serde_json::from_str(&status).unwrap()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let pid = self.pid();
        if pid != 0 {
            // SAFETY: as in `signal`.
            unsafe { libc::kill(pid as libc::pid_t, libc::SIGKILL) };
        }
        let _ = self.first.kill();
        let _ = self.first.wait();
        if std::thread::panicking() {
            // A panic here would end all tests without a word.
            let log = std::fs::read_to_string(self.folder.path().join("log"));
            eprintln!("{}", log.unwrap_or_default());
        }
    }
}

fn file(folder: &Path) -> PathBuf {
    folder.join("gate.toml")
}

fn configure(folder: &Path, more: &str) {
    std::fs::write(file(folder), more).unwrap();
}

fn arguments(folder: &Path) -> Vec<String> {
    let (file, pid) = (file(folder).display().to_string(), folder.join("pid"));
    let addresses = ["--listen", "127.0.0.1:0", "--clear", "127.0.0.1:0", "--admin", "127.0.0.1:0"];
    let mut arguments = ["gate", "--config", &file].map(String::from).to_vec();
    arguments.extend(addresses.map(String::from));
    arguments.extend(["--pid-file".into(), pid.display().to_string()]);
    arguments
}

/// Configuration for an upstream that answers every request.
fn before_an_upstream() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            std::thread::spawn(move || answer(socket.unwrap()));
        }
    });
    format!(
        "[upstream]\nprocesses = \"none\"\ncheck_interval = \"0s\"\nurl = \"http://{address}\"\n\
         [admission]\npolicy = \"off\"\n"
    )
}

fn answer(socket: TcpStream) {
    let mut reader = BufReader::new(socket);
    let mut line = String::new();
    while reader.read_line(&mut line).unwrap_or(0) > 0 {
        if line == "\r\n" {
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
            if reader.get_mut().write_all(answer).is_err() {
                return;
            }
        }
        line.clear();
    }
}

/// Customers who come one after the other, each on a new connection, on several threads. Any
/// failure ends in a panic.
struct Customers {
    served: Arc<AtomicUsize>,
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Customers {
    fn come_to(address: SocketAddr) -> Self {
        let (served, over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let thread = |keep: bool| {
            let (served, over) = (served.clone(), over.clone());
            std::thread::spawn(move || {
                while !over.load(SeqCst) {
                    visit(address, if keep { 3 } else { 1 });
                    served.fetch_add(1, SeqCst);
                }
            })
        };
        let threads = [false, false, true, true].into_iter().map(thread).collect();
        Self { served, over, threads }
    }

    /// Waits until `more` further requests were served.
    fn served(&self, more: usize) {
        let wanted = self.served.load(SeqCst) + more;
        wait_until("customers are served", || {
            let failed = self.threads.iter().any(JoinHandle::is_finished);
            assert!(!failed, "a customer was not served");
            self.served.load(SeqCst) >= wanted
        });
    }

    fn go(self) {
        self.over.store(true, SeqCst);
        self.threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}

/// A customer with `requests` requests, or fewer if the gate closes the connection.
fn visit(address: SocketAddr, requests: usize) {
    let socket = TcpStream::connect(address).expect("the connection is accepted");
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut reader = BufReader::new(socket);
    for request in 1..=requests {
        let close = if request == requests { "Connection: close\r\n" } else { "" };
        let head = format!("GET / HTTP/1.1\r\nHost: a\r\n{close}\r\n");
        reader.get_mut().write_all(head.as_bytes()).expect("the request is taken");
        let (mut closes, mut line) = (false, String::new());
        reader.read_line(&mut line).expect("the response comes");
        assert!(line.starts_with("HTTP/1.1 200"), "not served: {line:?}");
        while line != "\r\n" {
            closes |= line.eq_ignore_ascii_case("connection: close\r\n");
            line.clear();
            assert!(reader.read_line(&mut line).expect("the head comes") > 0);
        }
        let mut body = [0; 5];
        reader.read_exact(&mut body).expect("the body comes");
        if closes {
            return;
        }
    }
}

#[test]
fn customers_notice_nothing_of_restarts_and_of_another_version() {
    let mut service = Service::start(&before_an_upstream());
    let customers = Customers::come_to(service.clear);
    customers.served(ENOUGH);
    service.restart();
    customers.served(ENOUGH);
    assert_eq!(service.first.wait().unwrap().code(), Some(0), "the first has drained");
    // Another version is installed: a copy, by another path.
    let other = service.folder.path().join("other");
    std::fs::copy(env!("CARGO_BIN_EXE_tidegate"), &other).unwrap();
    let link = service.folder.path().join("link");
    std::os::unix::fs::symlink(&other, &link).unwrap();
    std::fs::rename(&link, service.folder.path().join("tidegate")).unwrap();
    service.restart();
    customers.served(ENOUGH);
    let program = std::fs::read_link(format!("/proc/{}/exe", service.pid())).unwrap();
    assert_eq!(program, other.canonicalize().unwrap());
    customers.go();
    let status = service.status();
    assert!(status["new"]["admitted"].as_u64().unwrap() > 0, "{status}");
}

#[test]
fn a_customer_over_tls_is_known_after_a_restart() {
    let service = Service::start(&before_an_upstream());
    let address = service.tls.strip_prefix("https://").unwrap().to_owned();
    let session = service.folder.path().join("session").display().to_string();
    let visit = |option: &str| {
        let mut child = Command::new("openssl")
            .args(["s_client", "-connect", &address, "-servername", "localhost", "-ign_eof"])
            .args([option, &session])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let request = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        child.stdin.as_mut().unwrap().write_all(request).unwrap();
        child.wait_with_output().unwrap().stdout_text()
    };
    let first = visit("-sess_out");
    assert!(first.contains("New, TLS") && first.contains("hello"), "{first}");
    service.restart();
    let second = visit("-sess_in");
    assert!(second.contains("Reused, TLS") && second.contains("hello"), "{second}");
}

#[test]
fn a_process_that_does_not_start_leaves_the_one_in_service() {
    let service = Service::start(&before_an_upstream());
    let sound = std::fs::read_to_string(file(service.folder.path())).unwrap();
    let customers = Customers::come_to(service.clear);
    customers.served(ENOUGH);
    let before = service.pid();
    configure(service.folder.path(), &format!("{sound}[limits]\nidle_deadline = \"9h\"\n"));
    service.signal(libc::SIGUSR2);
    wait_until("the log says so", || service.log().contains("the gate stays in service"));
    for says in [
        "idle_deadline = \"9h\"",
        "the process that was to take its place ended before it was ready (exit status: 2)",
    ] {
        assert!(service.log().contains(says), "the log does not say `{says}`");
    }
    customers.served(ENOUGH);
    assert_eq!(service.pid(), before);
    configure(service.folder.path(), &sound);
    service.restart();
    customers.served(ENOUGH);
    customers.go();
}

#[test]
fn a_process_that_somebody_else_starts_takes_the_place_with_the_flag() {
    let more = "[listen]\nhandover = \"handover\"\n";
    let mut service = Service::start(&format!("{}{more}", before_an_upstream()));
    let customers = Customers::come_to(service.clear);
    customers.served(ENOUGH);
    let before = service.pid();
    let next = Command::new(env!("CARGO_BIN_EXE_tidegate"))
        .args(arguments(service.folder.path()))
        .arg("--replace")
        .stdout(Stdio::null())
        .stderr(File::options().append(true).open(service.folder.path().join("log")).unwrap())
        .spawn()
        .unwrap();
    wait_until("it is in service", || service.pid() == next.id());
    customers.served(ENOUGH);
    assert_eq!(service.first.wait().unwrap().code(), Some(0));
    assert_ne!(before, next.id());
    customers.go();
    // The destructor ends it.
    service.first = next;
}

#[test]
fn replacing_needs_a_place_where_the_gate_waits() {
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), &before_an_upstream());
    let mut arguments = arguments(folder.path());
    arguments.push("--replace".into());
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let output = crate::common::tidegate(&arguments);
    assert_eq!(output.status.code(), Some(2));
    let error = output.stderr_text();
    assert!(error.contains("listen.handover is not set"), "{error}");
}

/// A service manager: it has a listening socket and hears what the service says.
struct Manager {
    notices: UnixDatagram,
    path: PathBuf,
}

impl Manager {
    fn new(folder: &Path) -> Self {
        let path = folder.join("notify");
        let notices = UnixDatagram::bind(&path).unwrap();
        notices.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { notices, path }
    }

    /// A command that gets this socket as the service manager's, under this name.
    fn command(&self, socket: TcpListener, name: &str) -> Command {
        let mut command = Command::new("sh");
        // The socket is the standard input of the shell, and descriptor 3 of the gate.
        command
            .args(["-c", "LISTEN_PID=$$ exec \"$0\" \"$@\" 3<&0 </dev/null"])
            .arg(env!("CARGO_BIN_EXE_tidegate"))
            .env("LISTEN_FDS", "1")
            .env("LISTEN_FDNAMES", name)
            .env("NOTIFY_SOCKET", &self.path)
            .stdin(Stdio::from(std::os::fd::OwnedFd::from(socket)));
        command
    }

    /// Waits for a notice with this line.
    fn hears(&self, line: &str) {
        let mut buffer = [0; 4096];
        loop {
            let read = self.notices.recv(&mut buffer).unwrap_or_else(|_| panic!("no {line}"));
            if String::from_utf8_lossy(&buffer[..read]).lines().any(|heard| heard == line) {
                return;
            }
        }
    }
}

#[test]
fn a_service_manager_has_the_socket_and_hears_what_the_service_does() {
    let folder = tempfile::tempdir().unwrap();
    let manager = Manager::new(folder.path());
    // A gate that is not up yet keeps nobody out: customers wait in the socket's queue.
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    let early = std::thread::spawn(move || visit(address, 1));
    let kept = socket.try_clone().unwrap();
    let mut command = manager.command(socket, "clear");
    let mut service = Service::start_by(&mut command, folder, &before_an_upstream());
    early.join().unwrap();
    assert_eq!(service.clear, address, "in the place of --clear");
    manager.hears("READY=1");
    service.signal(libc::SIGHUP);
    manager.hears("RELOADING=1");
    manager.hears("READY=1");
    service.signal(libc::SIGTERM);
    manager.hears("STOPPING=1");
    assert_eq!(service.first.wait().unwrap().code(), Some(0));
    let late = std::thread::spawn(move || visit(address, 1));
    let folder = std::mem::replace(&mut service.folder, tempfile::tempdir().unwrap());
    let mut command = manager.command(kept, "clear");
    let again = Service::start_by(&mut command, folder, &before_an_upstream());
    late.join().unwrap();
    again.restart();
    manager.hears(&format!("MAINPID={}", again.pid()));
    visit(address, 3);
}

#[test]
fn a_socket_of_the_service_manager_that_no_key_names_is_a_mistake() {
    let folder = tempfile::tempdir().unwrap();
    let manager = Manager::new(folder.path());
    configure(folder.path(), &before_an_upstream());
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    let output = manager
        .command(socket, "tidegate.socket")
        .args(["gate", "--config", &file(folder.path()).display().to_string()])
        .args(["--listen", "[::1]:0", "--admin", "off"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let error = output.stderr_text();
    assert!(error.contains(&format!("listens at {address}, which no key names")), "{error}");
}
