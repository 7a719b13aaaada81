//! Servers of NATS with JetStream, on loopback ports of the system's choice that they keep when they
//! are started again.
//!
//! It uses no other file: the tests of crates that this one is built from include it as theirs.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longest wait for its start.
const START: Duration = Duration::from_secs(60);

/// A server; it is killed when this is dropped.
#[derive(Debug)]
pub struct Nats {
    program: PathBuf,
    more: Vec<String>,
    folder: tempfile::TempDir,
    port: u16,
    child: Option<Child>,
}

impl Nats {
    /// A server that runs; none, with a word on why the test is skipped, where there is no
    /// program.
    pub fn start() -> Option<Self> {
        Self::start_with(&[])
    }

    /// The same with more arguments, such as `-c` and a file of users.
    pub fn start_with(more: &[&str]) -> Option<Self> {
        let mut nats = Self::new(more.iter().map(|argument| (*argument).to_owned()).collect())?;
        nats.run();
        Some(nats)
    }

    /// Three servers that are a cluster; a bucket may have three replicas there.
    ///
    /// # Panics
    /// A server does not start.
    pub fn cluster() -> Option<[Self; 3]> {
        // All are free at once, so that they differ.
        let free = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port"));
        let ports = free.each_ref().map(|one| one.local_addr().expect("an address").port());
        drop(free);
        let routes = ports.map(|port| format!("nats://127.0.0.1:{port}")).join(",");
        let servers = ports.map(|port| {
            let (name, route) = (format!("server-{port}"), format!("nats://127.0.0.1:{port}"));
            let named = ["--name", &name, "--cluster_name", "test", "--cluster", &route];
            let more = named.into_iter().chain(["--routes", &routes]);
            Self::new(more.map(str::to_owned).collect())
        });
        let [Some(mut one), Some(mut two), Some(mut three)] = servers else { return None };
        [&mut one, &mut two, &mut three].into_iter().for_each(Self::run);
        Some([one, two, three])
    }

    fn new(more: Vec<String>) -> Option<Self> {
        let program = program()?;
        let folder = tempfile::tempdir().expect("a folder");
        Some(Self { program, more, folder, port: 0, child: None })
    }

    /// The program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Where clients connect.
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Kills it where it is. What it has stored is kept.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Loses what it has stored; it must be killed before.
    pub fn forget(&self) {
        let _ = std::fs::remove_dir_all(self.folder.path().join("store"));
    }

    /// Starts it, at the address that it had before.
    ///
    /// # Panics
    /// It does not listen within a minute.
    pub fn run(&mut self) {
        let ports = self.folder.path().join("ports");
        let _ = std::fs::remove_dir_all(&ports);
        std::fs::create_dir(&ports).expect("a folder");
        let port = if self.port == 0 { "-1".to_owned() } else { self.port.to_string() };
        let child = Command::new(&self.program)
            .args(["--jetstream", "--addr", "127.0.0.1", "--port", &port])
            .args(&self.more)
            .arg("--store_dir")
            .arg(self.folder.path().join("store"))
            .arg("--ports_file_dir")
            .arg(&ports)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("nats-server starts");
        self.child = Some(child);
        let deadline = Instant::now() + START;
        // The file is written when the server listens.
        while std::fs::read_dir(&ports).is_ok_and(|mut files| files.next().is_none())
            || listens_at(&ports).is_none()
        {
            assert!(Instant::now() < deadline, "nats-server does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        self.port = listens_at(&ports).expect("a port");
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The port in the file of ports: `{"nats":["nats://127.0.0.1:4222"],…}`, with TLS `tls://…`.
fn listens_at(ports: &Path) -> Option<u16> {
    let file = std::fs::read_dir(ports).ok()?.next()?.ok()?.path();
    let text = std::fs::read_to_string(file).ok()?;
    let clients = text.split("\"nats\"").nth(1)?;
    let address = clients.split("://127.0.0.1:").nth(1)?;
    address.split('"').next()?.parse().ok()
}

/// Where `scripts/bootstrap test` installs it, or in `PATH`.
fn program() -> Option<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("two above");
    let installed = workspace.join("target/nats/bin/nats-server");
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let in_path = std::env::split_paths(&paths).map(|folder| folder.join("nats-server"));
    let found = std::iter::once(installed).chain(in_path).find(|program| program.is_file());
    if found.is_none() {
        eprintln!("skipped: there is no nats-server; scripts/bootstrap test installs it");
    }
    found
}
