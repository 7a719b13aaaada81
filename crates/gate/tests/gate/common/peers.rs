//! nginx and HAProxy before a gate: `scripts/bootstrap test` installs them.

use super::{PATIENCE, until};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// A proxy, which ends when dropped.
pub struct Proxy {
    child: Child,
    pub address: SocketAddr,
    _folder: TempDir,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// HAProxy that passes TCP on, with these options of the server. None without the program.
pub fn haproxy(to: SocketAddr, options: &str) -> Option<Proxy> {
    let text = |address| {
        format!(
            "global\n nbthread 1\ndefaults\n mode tcp\n timeout connect 60s\n timeout client 60s\n \
             timeout server 60s\nlisten customers\n bind {address}\n server gate {to} {options}\n"
        )
    };
    start(&text, |file| {
        let mut command = Command::new("haproxy");
        command.arg("-db").arg("-f").arg(file);
        command
    })
}

/// nginx with this block beside `events`, in which `LISTEN` stands for its address. None without
/// the program.
pub fn nginx(block: &str) -> Option<Proxy> {
    const STREAM: &str = "/usr/lib/nginx/modules/ngx_stream_module.so";
    if block.contains("stream {") && !Path::new(STREAM).exists() {
        eprintln!("SKIPPED: no {STREAM}; `scripts/bootstrap bench` installs it");
        return None;
    }
    let module = match block.contains("stream {") {
        true => format!("load_module {STREAM};\n"),
        false => String::new(),
    };
    let text = |address: SocketAddr| {
        let block = block.replace("LISTEN", &address.to_string());
        format!(
            "{module}daemon off; master_process off; pid pid; error_log stderr warn;\n\
             events {{ worker_connections 512; }}\n{block}\n"
        )
    };
    start(&text, |file| {
        let mut command = Command::new("nginx");
        command.arg("-p").arg(file.parent().unwrap()).arg("-c").arg(file).args(["-e", "stderr"]);
        command
    })
}

/// What nginx writes to in `http { }`, below its own folder.
pub const NGINX_FILES: &str = "access_log off; client_body_temp_path a; proxy_temp_path b; \
     fastcgi_temp_path c; uwsgi_temp_path d; scgi_temp_path e;";

fn start(
    text: &dyn Fn(SocketAddr) -> String,
    command: impl FnOnce(&Path) -> Command,
) -> Option<Proxy> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("proxy.conf");
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    std::fs::write(&file, text(address)).unwrap();
    let mut command = command(&file);
    drop(free);
    let child = match command.stdin(Stdio::null()).stdout(Stdio::null()).spawn() {
        Ok(child) => child,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let program = command.get_program().display();
            eprintln!("SKIPPED: no {program}; `scripts/bootstrap test` installs it");
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    let proxy = Proxy { child, address, _folder: folder };
    until("the proxy listens", || TcpStream::connect(address).is_ok());
    Some(proxy)
}

/// A connection from an address of this machine.
pub fn connect_from(source: [u8; 4], to: SocketAddr) -> TcpStream {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from((source, 0)).into()).unwrap();
    socket.connect(&to.into()).unwrap();
    let socket = TcpStream::from(socket);
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.set_write_timeout(Some(PATIENCE)).unwrap();
    socket
}
