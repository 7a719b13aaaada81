//! nginx with one worker.

use super::Work;
use super::{Server, Setup};
use crate::address::free_address;
use crate::error::Result;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

/// Where Debian and Ubuntu install the stream module (libnginx-mod-stream).
const STREAM_MODULE: &str = "/usr/lib/nginx/modules/ngx_stream_module.so";

/// Starts nginx for one kind of work; `None` for refusals without its stream module: what
/// else could refuse a hello sends the alert for an unknown server name, which is a mistake
/// of the configuration and no refusal to a client.
///
/// # Errors
/// It does not start.
pub fn start(work: Work, setup: &Setup) -> Result<Option<Server>> {
    if work == Work::Refused && !Path::new(STREAM_MODULE).exists() {
        return Ok(None);
    }
    let target = free_address()?;
    let file = setup.write("nginx.conf", &configuration(work, setup, target)?)?;
    let mut command = Command::new(&setup.program);
    command.arg("-e").arg("stderr").arg("-p").arg(&setup.folder).arg("-c").arg(&file);
    let process = setup.launch("nginx", command)?.start_listening(&[target])?;
    Ok(Some(Server { process, target, metrics: None }))
}

fn configuration(work: Work, setup: &Setup, target: SocketAddr) -> Result<String> {
    let serve = match work {
        Work::StaticTls => files(&setup.files()?),
        Work::WebSocket => proxy("$http_upgrade", "upgrade"),
        _ => proxy("\"\"", "\"\""),
    };
    let user = user();
    let folder = setup.folder.display();
    let (load, block) = match work {
        Work::Refused => (format!("load_module {STREAM_MODULE};"), refusing_stream(target)),
        _ => (String::new(), http(work, setup, target, &serve)),
    };
    Ok(format!(
        "{load}
daemon off;
{user}
worker_processes 1;
pid {folder}/pid;
error_log stderr crit;
events {{ worker_connections 65536; }}
{block}"
    ))
}

/// Passes requests on, with these values of `Upgrade` and `Connection`.
fn proxy(upgrade: &str, connection: &str) -> String {
    format!(
        "proxy_pass http://pool;
            proxy_http_version 1.1;
            proxy_set_header Upgrade {upgrade};
            proxy_set_header Connection {connection};
            proxy_set_header Host $host;
            proxy_set_header X-Forwarded-For $remote_addr;
            proxy_set_header X-Forwarded-Proto $scheme;
            proxy_set_header X-Forwarded-Host $host;"
    )
}

/// Serves files, which it keeps open and checks after a second, as the gate does.
fn files(directory: &Path) -> String {
    format!(
        "root {};
            sendfile on;
            open_file_cache max=1000 inactive=60s;
            open_file_cache_valid 1s;
            add_header Cache-Control no-cache;",
        directory.display()
    )
}

/// Started by root, nginx runs its workers as a user who may not read the folder.
pub fn user() -> &'static str {
    // SAFETY: the call has no arguments and cannot fail.
    if unsafe { libc::geteuid() } == 0 { "user root;" } else { "" }
}

/// Directives that keep nginx's temporary files in a folder, whatever paths it was
/// built with.
pub fn temporary_paths(folder: &Path) -> String {
    let folder = folder.display();
    format!(
        "client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;"
    )
}

/// Reads the ClientHello and closes: nginx's refusal with the least work after the hello.
/// An empty `return` ends the session without a byte.
fn refusing_stream(target: SocketAddr) -> String {
    format!(
        "stream {{
    server {{
        listen {target};
        ssl_preread on;
        return \"\";
    }}
}}
"
    )
}

fn http(work: Work, setup: &Setup, target: SocketAddr, serve: &str) -> String {
    let (paths, upstream) = (temporary_paths(&setup.folder), setup.upstream);
    let (ssl, certificate) = match work {
        Work::KeepAliveClear => ("", String::new()),
        _ => (
            if work == Work::KeepAliveHttp2 { " ssl http2" } else { " ssl" },
            format!(
                "ssl_certificate {}; ssl_certificate_key {};",
                setup.certificate.chain.display(),
                setup.certificate.key.display()
            ),
        ),
    };
    format!(
        "http {{
    access_log off;
    {paths}
    keepalive_timeout 60s;
    keepalive_requests 1000000000;
    upstream pool {{
        server {upstream};
        keepalive 512;
        keepalive_requests 1000000000;
    }}
    server {{
        listen {target}{ssl};
        {certificate}
        ssl_protocols TLSv1.2 TLSv1.3;
        ssl_session_tickets on;
        location / {{
            {serve}
        }}
    }}
}}
"
    )
}
