//! A PostgreSQL server of an experiment's own: its data in a folder, reached by a Unix socket only.

use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tidegate_host::Cores;

use crate::error::{Error, Fault, Result};
use crate::process::{Launch, Process};

/// Longest time until it answers.
const START: Duration = Duration::from_secs(60);
/// Time between two looks whether it does.
const POLL: Duration = Duration::from_millis(50);
/// Time from SIGTERM to SIGKILL: it waits for its clients to leave, and writes a checkpoint.
const GRACE: Duration = Duration::from_secs(20);
/// Where Debian and Ubuntu install its versions.
const VERSIONS: &str = "/usr/lib/postgresql";
/// User that it runs as where this process runs as root, which it refuses.
const USER: &str = "postgres";

/// A running server. It ends when this is dropped; its data stay.
#[derive(Debug)]
pub struct Postgresql {
    process: Process,
    programs: PathBuf,
    /// Folder of the socket: the path of a socket has at most 107 bytes.
    socket: TempDir,
}

impl Postgresql {
    /// Starts a server on these processors and waits until it answers, for a minute at most. The
    /// database cluster is made in `data` if it is not there; `log` keeps what the server reports.
    /// Its settings are PostgreSQL's own: what is committed is on the disk.
    ///
    /// # Errors
    /// [`Error::Operator`] if PostgreSQL is not installed; [`Error::Machine`] if a folder cannot be
    /// made; [`Error::Process`] if it does not start, with the last lines of its log.
    pub fn start(data: &Path, cores: &Cores, log: &Path) -> Result<Self> {
        let programs = programs(Path::new(VERSIONS))?;
        let socket = tempfile::Builder::new().prefix("tidegate-postgresql-").tempdir();
        let socket = socket.of_machine("cannot make a folder for the socket of PostgreSQL")?;
        hand_over(socket.path())?;
        if !data.join("PG_VERSION").exists() {
            initialise(&programs, data)?;
        }
        let mut server = as_user(&programs.join("postgres"))?;
        server.arg("-D").arg(data).arg("-k").arg(socket.path());
        server.args(["-c", "listen_addresses=", "-c", "max_connections=200"]);
        let launch = Launch::new("PostgreSQL", server).on(cores).grace(GRACE).log(log)?;
        let mut started = Self { process: launch.start()?, programs, socket };
        started.wait_until_ready()?;
        Ok(started)
    }

    /// The process.
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// URL of the database of this name, which is made if it is not there.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn database(&self, name: &str) -> Result<String> {
        let socket = self.socket.path().display();
        let list = self.client("psql", &["-tA", "-c", "SELECT datname FROM pg_database", USER])?;
        if !list.lines().any(|line| line == name) {
            self.client("createdb", &[name])?;
        }
        Ok(format!("postgres://{USER}@localhost/{name}?host={socket}"))
    }

    /// What a client of the server prints.
    fn client(&self, program: &str, args: &[&str]) -> Result<String> {
        let mut client = Command::new(self.programs.join(program));
        client.arg("-h").arg(self.socket.path()).args(["-U", USER]).args(args);
        printed(program, client)
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let deadline = Instant::now() + START;
        while self.client("pg_isready", &["-q"]).is_err() {
            if let Some(exit) = self.process.exit()? {
                let (status, lines) = (exit.status, self.process.last_lines());
                return Err(Error::Process(format!(
                    "PostgreSQL ended at once ({status}): {lines}"
                )));
            }
            if Instant::now() > deadline {
                let lines = self.process.last_lines();
                return Err(Error::Process(format!("PostgreSQL does not answer: {lines}")));
            }
            std::thread::sleep(POLL);
        }
        Ok(())
    }
}

/// Makes a database cluster.
fn initialise(programs: &Path, data: &Path) -> Result<()> {
    std::fs::create_dir_all(data).of_writing(data)?;
    hand_over(data)?;
    let mut initdb = as_user(&programs.join("initdb"))?;
    initdb.args(["--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8"]);
    initdb.arg(format!("--username={USER}")).arg("-D").arg(data);
    printed("initdb", initdb).map(|_| ())
}

/// What a program prints.
fn printed(name: &str, mut command: Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output();
    let output = output.of_process(format_args!("cannot run {name}"))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(Error::Process(format!("{name} failed: {}", errors.trim())));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The folder of the newest version's programs.
fn programs(versions: &Path) -> Result<PathBuf> {
    let entries = std::fs::read_dir(versions).into_iter().flatten().flatten();
    let found = entries.filter_map(|entry| {
        let version: u32 = entry.file_name().to_str()?.parse().ok()?;
        let folder = entry.path().join("bin");
        folder.join("postgres").exists().then_some((version, folder))
    });
    found.max().map(|(_, folder)| folder).ok_or_else(|| {
        Error::Operator(format!("PostgreSQL is not in {}: {}", versions.display(), super::REMEDY))
    })
}

/// A program that root starts as another user.
fn as_user(program: &Path) -> Result<Command> {
    let mut command = Command::new(program);
    command.current_dir("/");
    if let Some((user, group)) = other_user()? {
        command.uid(user).gid(group);
    }
    Ok(command)
}

/// Gives a folder to the user that the server runs as.
fn hand_over(folder: &Path) -> Result<()> {
    match other_user()? {
        Some((user, group)) => chown(folder, Some(user), Some(group)).of_writing(folder),
        None => Ok(()),
    }
}

/// Numbers of user and group that the server runs as, where it is not those of this process.
fn other_user() -> Result<Option<(u32, u32)>> {
    // SAFETY: always succeeds and touches nothing.
    if unsafe { libc::geteuid() } != 0 {
        return Ok(None);
    }
    let users = std::fs::read_to_string("/etc/passwd").of_machine("cannot read /etc/passwd")?;
    // `name:password:user:group:…`, passwd(5).
    let number = |fields: &[&str], index: usize| fields.get(index)?.parse().ok();
    let found = users.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        (fields[0] == USER).then_some((number(&fields, 2)?, number(&fields, 3)?))
    });
    found.map(Some).ok_or_else(|| {
        Error::Operator(format!(
            "there is no user {USER}, as whom PostgreSQL runs: {}",
            super::REMEDY
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_is_taken_and_a_missing_one_told_with_a_remedy() {
        let versions = tempfile::tempdir().unwrap();
        let error = programs(versions.path()).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("scripts/bootstrap study"), "{error}");
        for name in ["9", "15", "junk"] {
            let folder = versions.path().join(name).join("bin");
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("postgres"), "").unwrap();
        }
        assert!(programs(versions.path()).unwrap().ends_with("15/bin"));
    }

    #[test]
    fn a_server_keeps_its_databases_over_a_restart() {
        let folder = tempfile::Builder::new().permissions(traversable()).tempdir().unwrap();
        let (data, log) = (folder.path().join("data"), folder.path().join("log"));
        let cores = Cores::of_this_thread().unwrap();
        let mut urls = Vec::new();
        for _ in 0..2 {
            let server = Postgresql::start(&data, &cores, &log).unwrap();
            assert!(server.process().cpu_time().unwrap() > Duration::ZERO);
            assert_eq!(server.database("shop").unwrap(), server.database("shop").unwrap());
            let list = server.client("psql", &["-tA", "-c", "SELECT 41 + 1", "shop"]).unwrap();
            assert_eq!(list.trim(), "42");
            urls.push(server.database("shop").unwrap());
        }
        assert!(urls[0].starts_with("postgres://postgres@localhost/shop?host=/"), "{urls:?}");
    }

    /// Others may go through it, as the server's user has to.
    fn traversable() -> std::fs::Permissions {
        std::os::unix::fs::PermissionsExt::from_mode(0o755)
    }
}
