//! HAProxy with one thread.

use super::Work;
use super::{Server, Setup};
use crate::address::free_address;
use crate::error::Result;
use std::net::SocketAddr;
use std::process::Command;

/// Starts HAProxy for one kind of work.
///
/// # Errors
/// It does not start.
pub fn start(work: Work, setup: &Setup) -> Result<Server> {
    let target = free_address()?;
    let file = setup.write("haproxy.cfg", &configuration(work, setup, target))?;
    let mut command = Command::new(&setup.program);
    command.arg("-db").arg("-f").arg(&file);
    let process = setup.launch("HAProxy", command)?.start_listening(&[target])?;
    Ok(Server { process, target, metrics: None })
}

/// HAProxy wants two open files for each connection that it allows, and some of its own.
pub fn most_connections() -> u64 {
    (tidegate_host::open_files::raise_limit() / 2).saturating_sub(200).clamp(1, 32_768)
}

fn configuration(work: Work, setup: &Setup, target: SocketAddr) -> String {
    let most = most_connections();
    format!(
        "global
    nbthread 1
    maxconn {most}
    ssl-default-bind-options ssl-min-ver TLSv1.2
defaults
    timeout connect 5s
    timeout client 60s
    timeout server 60s
    timeout http-keep-alive 60s
{}",
        if work == Work::Refused { refusing(setup, target) } else { proxying(work, setup, target) }
    )
}

/// Reads the ClientHello, decides on it and closes.
fn refusing(setup: &Setup, target: SocketAddr) -> String {
    format!(
        "listen refusing
    mode tcp
    bind {target}
    tcp-request inspect-delay 5s
    tcp-request content reject if {{ req_ssl_hello_type 1 }}
    server upstream {}
",
        setup.upstream
    )
}

fn proxying(work: Work, setup: &Setup, target: SocketAddr) -> String {
    let (bind, scheme) = match work {
        Work::KeepAliveClear => (String::new(), "http"),
        _ => {
            let alpn = if work == Work::KeepAliveHttp2 { " alpn h2" } else { "" };
            (format!(" ssl crt {}{alpn}", setup.certificate.both.display()), "https")
        }
    };
    format!(
        "listen proxying
    mode http
    bind {target}{bind}
    http-reuse always
    option forwardfor
    http-request set-header X-Forwarded-Proto {scheme}
    http-request set-header X-Forwarded-Host %[req.hdr(host)]
    server upstream {}
",
        setup.upstream
    )
}
