//! The server of the generators: nginx with one worker that answers from memory and
//! counts requests and handshakes. What the generators report of themselves is not used.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use tidegate_lab::peers::nginx::{temporary_paths, user};
use tidegate_lab::{Certificate, CertificateKey, Launch, Process, free_address, http};

const NGINX: &str = "/usr/sbin/nginx";
const NO_COUNTS: &str = "nginx does not report its counts";

/// The running server.
#[derive(Debug)]
pub struct Site {
    /// Ended when this is dropped.
    pub process: Process,
    tls: SocketAddr,
    clear: SocketAddr,
    status: SocketAddr,
    /// A character per TLS connection with a request: `r` for a resumed
    /// handshake, `.` for a full one.
    handshakes: PathBuf,
}

/// Counts since the server began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Requests answered.
    pub requests: u64,
    /// Full handshakes of connections with a request.
    pub full: u64,
    /// Resumed handshakes of such connections.
    pub resumed: u64,
}

impl Site {
    /// Starts it on a core, for so many connections at once.
    ///
    /// # Errors
    /// nginx is missing or does not start.
    pub fn start(folder: &Path, core: usize, connections: u32) -> anyhow::Result<Self> {
        let certificate = Certificate::make(CertificateKey::EcdsaP256, folder)?;
        let (tls, clear, status) = (free_address()?, free_address()?, free_address()?);
        let handshakes = folder.join("handshakes");
        let file = folder.join("nginx.conf");
        let text = configuration(folder, &certificate, connections, [tls, clear, status]);
        std::fs::write(&file, text)?;
        let mut command = Command::new(NGINX);
        command.arg("-e").arg("stderr").arg("-p").arg(folder).arg("-c").arg(&file);
        let process = Launch::new("nginx", command)
            .on(&tidegate_host::Cores::one(core)?)
            .log(&folder.join("log"))?
            .start_listening(&[tls, clear, status])
            .context("nginx (scripts/bootstrap bench installs it)")?;
        Ok(Self { process, tls, clear, status, handshakes })
    }

    /// URL of its page.
    pub fn url(&self, tls: bool) -> String {
        if tls { format!("https://{}", self.tls) } else { format!("http://{}", self.clear) }
    }

    /// Connections that are open now, the one that asks among them.
    ///
    /// # Errors
    /// It does not answer.
    pub fn connections(&self) -> anyhow::Result<u64> {
        connections_in(&self.status()?).context(NO_COUNTS)
    }

    fn status(&self) -> anyhow::Result<String> {
        Ok(http::get(self.status, "/")?.ok()?)
    }

    /// The counts so far. Each call is a request itself.
    ///
    /// # Errors
    /// It does not answer.
    pub fn seen(&self) -> anyhow::Result<Seen> {
        let requests = requests_in(&self.status()?).context(NO_COUNTS)?;
        let log = std::fs::read(&self.handshakes).unwrap_or_default();
        let count = |kind: u8| log.iter().filter(|byte| **byte == kind).count() as u64;
        Ok(Seen { requests, full: count(b'.'), resumed: count(b'r') })
    }
}

/// The number after "Active connections:".
fn connections_in(status: &str) -> Option<u64> {
    status.lines().find_map(|line| line.strip_prefix("Active connections:"))?.trim().parse().ok()
}

/// The third number of the line below "server accepts handled requests".
fn requests_in(status: &str) -> Option<u64> {
    let mut lines = status.lines().skip_while(|line| !line.starts_with("server accepts"));
    lines.nth(1)?.split_whitespace().nth(2)?.parse().ok()
}

fn configuration(
    folder: &Path,
    certificate: &Certificate,
    connections: u32,
    [tls, clear, status]: [SocketAddr; 3],
) -> String {
    let (user, paths) = (user(), temporary_paths(folder));
    let (chain, key) = (certificate.chain.display(), certificate.key.display());
    // With a sixteenth or less of its connections free, nginx closes idle ones.
    let (folder, most) = (folder.display(), connections + connections / 8 + 1000);
    let body = "x".repeat(1024);
    format!(
        "daemon off;
{user}
worker_processes 1;
pid {folder}/pid;
error_log stderr crit;
events {{ worker_connections {most}; }}
http {{
    map $connection_requests $first {{ 1 1; default 0; }}
    log_format kind '$ssl_session_reused';
    access_log off;
    {paths}
    keepalive_timeout 600s;
    keepalive_requests 1000000000;
    default_type text/plain;
    server {{
        listen {tls} ssl backlog=4096;
        access_log {folder}/handshakes kind if=$first;
        ssl_certificate {chain}; ssl_certificate_key {key};
        ssl_protocols TLSv1.3;
        ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256;
        ssl_ecdh_curve X25519;
        ssl_session_tickets on;
        location / {{ return 200 '{body}'; }}
    }}
    server {{
        listen {clear} backlog=4096;
        location / {{ return 200 '{body}'; }}
    }}
    server {{
        listen {status};
        location / {{ stub_status; }}
    }}
}}
",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_connections_are_read_from_the_status_page() {
        let page = "HTTP/1.1 200 OK\r\n\r\nActive connections: 1 \nserver accepts handled requests\n \
                    16 16 31070 \nReading: 0 Writing: 1 Waiting: 0 \n";
        assert_eq!((requests_in(page), connections_in(page)), (Some(31_070), Some(1)));
        assert_eq!(requests_in("<html>"), None);
    }
}
