//! A PostgreSQL server of the tests' own: in a folder of its own, reached by a
//! Unix socket only, stopped and removed when the tests end, whatever ends them.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The server of this test process.
struct Cluster {
    folder: PathBuf,
    // Its standard input is open as long as this process runs.
    _watcher: Child,
}

/// The URL of a new, empty database.
///
/// # Panics
/// PostgreSQL is not installed, or cannot be started.
pub fn new_database() -> String {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    static NUMBER: AtomicUsize = AtomicUsize::new(1);
    let cluster = CLUSTER.get_or_init(start);
    let name = format!("auction{}", NUMBER.fetch_add(1, Ordering::Relaxed));
    let socket = cluster.folder.display().to_string();
    check(
        "createdb",
        &as_postgres(&tool("createdb")).args(["-h", &socket, "-U", "postgres", &name]).output(),
    );
    format!("postgres://postgres@localhost/{name}?host={socket}")
}

/// The same server's URL of a database that is not there.
pub fn absent_database() -> String {
    let url = new_database();
    url.replace("/auction", "/absent")
}

fn start() -> Cluster {
    let folder = tempfile::Builder::new().prefix("site-postgres-").tempdir().expect("a folder");
    let folder = folder.keep();
    if running_as_root() {
        let id = |flag| {
            let output = Command::new("id").args([flag, "postgres"]).output();
            let text = String::from_utf8(check("id", &output)).expect("digits");
            text.trim().parse().expect("a number")
        };
        chown(&folder, Some(id("-u")), Some(id("-g"))).expect("the folder can be handed over");
    }
    let data = folder.join("data");
    check(
        "initdb",
        &as_postgres(&tool("initdb"))
            .args(["--auth=trust", "--username=postgres", "--no-sync", "-E", "UTF8", "-D"])
            .arg(&data)
            .output(),
    );
    let settings = format!(
        "\nlisten_addresses = ''\nunix_socket_directories = '{}'\nfsync = off\n\
         synchronous_commit = off\nfull_page_writes = off\nmax_connections = 400\n\
         shared_buffers = 64MB\n",
        folder.display()
    );
    let mut file = fs::OpenOptions::new().append(true).open(data.join("postgresql.conf"));
    file.as_mut().expect("made by initdb").write_all(settings.as_bytes()).expect("written");

    let watcher = watch(&folder, &data);
    let log = folder.join("log");
    let started = as_postgres(&tool("pg_ctl"))
        .args(["start", "--wait", "--silent", "-D"])
        .arg(&data)
        .arg("-l")
        .arg(&log)
        // The server would keep a pipe open, and with it this call.
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(
        started.is_ok_and(|status| status.success()),
        "PostgreSQL does not start: {}",
        fs::read_to_string(log).unwrap_or_default()
    );
    Cluster { folder, _watcher: watcher }
}

/// Waits for the end of this process, whatever its cause, then stops the server.
fn watch(folder: &Path, data: &Path) -> Child {
    let stop = as_postgres(&tool("pg_ctl"));
    let mut script = Command::new("sh");
    script
        .args(["-c", "cat; folder=$1; shift; \"$@\"; rm -rf \"$folder\"", "sh"])
        .arg(folder)
        .arg(stop.get_program())
        .args(stop.get_args())
        .args(["stop", "--silent", "-m", "immediate", "-D"])
        .arg(data)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // A signal from the terminal ends the tests, not what cleans up after them.
        .process_group(0);
    script.spawn().expect("a shell")
}

/// PostgreSQL refuses to run as root.
fn as_postgres(program: &Path) -> Command {
    if !running_as_root() {
        return Command::new(program);
    }
    let mut command = Command::new("runuser");
    command.args(["-u", "postgres", "--"]).arg(program).current_dir("/");
    command
}

fn running_as_root() -> bool {
    // SAFETY: always succeeds and touches nothing.
    unsafe { libc::geteuid() == 0 }
}

/// The newest installed tool of this name.
fn tool(name: &str) -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut found: Vec<(u32, PathBuf)> = versions
        .filter_map(|version| {
            let number = version.file_name().to_str()?.parse().ok()?;
            Some((number, version.path().join("bin").join(name)))
        })
        .filter(|(_, path)| path.exists())
        .collect();
    found.sort();
    found.pop().map(|(_, path)| path).unwrap_or_else(|| {
        panic!(
            "PostgreSQL is not installed ({name} is not in /usr/lib/postgresql/*/bin): \
             these tests need it; install it with apt-get install postgresql"
        )
    })
}

fn check(what: &str, output: &std::io::Result<Output>) -> Vec<u8> {
    let output = output.as_ref().unwrap_or_else(|error| panic!("{what}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what} failed: {errors}");
    output.stdout.clone()
}
