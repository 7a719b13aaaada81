//! `openssl s_server`: a peer that nobody here wrote, which says what was
//! offered to it and what was agreed.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A server with a certificate of its own, ended when dropped.
pub struct SServer {
    pub url: String,
    /// What it says on standard error, line by line.
    said: Arc<Mutex<Vec<String>>>,
    child: Child,
    _folder: tempfile::TempDir,
}

impl SServer {
    /// Answers GET with a page about the connection.
    pub fn with_page(options: &[&str]) -> Self {
        Self::start(&[&["-www"], options].concat())
    }

    /// Prints the parameters of each handshake and answers no request.
    pub fn that_tells(options: &[&str]) -> Self {
        Self::start(&[&["-rev"], options].concat())
    }

    fn start(options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (certificate, key) = certificate(folder.path(), "server");
        let mut child = Command::new("openssl")
            .args(["s_server", "-accept", "127.0.0.1:0", "-cert"])
            .arg(certificate)
            .arg("-key")
            .arg(key)
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("openssl is installed; scripts/bootstrap test installs it");
        let mut out = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let address = out.find_map(|line| line.strip_prefix("ACCEPT ").map(str::to_owned));
        std::thread::spawn(move || out.for_each(drop));
        let said = Arc::<Mutex<Vec<String>>>::default();
        let (lines, err) = (said.clone(), BufReader::new(child.stderr.take().unwrap()));
        std::thread::spawn(move || {
            err.lines().map_while(Result::ok).for_each(|line| lines.lock().unwrap().push(line));
        });
        let url = format!("https://{}", address.expect("it says where it listens"));
        Self { url, said, child, _folder: folder }
    }

    /// The rest of each line that begins so; waits for the first.
    pub fn said(&self, start: &str) -> Vec<String> {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let said = self.said.lock().unwrap().clone();
            let found = said.iter().filter_map(|line| line.strip_prefix(start));
            let found: Vec<String> = found.map(|rest| rest.trim().to_owned()).collect();
            if !found.is_empty() {
                return found;
            }
            assert!(Instant::now() < deadline, "no line begins with {start}: {said:#?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for SServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A certificate that signs itself, and its key, as PEM files in the folder.
pub fn certificate(folder: &Path, name: &str) -> (PathBuf, PathBuf) {
    let own = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    let (certificate, key) =
        (folder.join(format!("{name}.pem")), folder.join(format!("{name}.key")));
    std::fs::write(&certificate, own.cert.pem()).unwrap();
    std::fs::write(&key, own.signing_key.serialize_pem()).unwrap();
    (certificate, key)
}
