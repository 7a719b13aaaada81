//! What frameworks behind the gate believe: scheme, host, port and address of the customer, with
//! the settings of docs/frameworks.md.

use crate::common::peers::connect_from;
use crate::common::*;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// An application, which ends when dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gate/frameworks").join(name)
}

/// Whether a command can be run and succeeds.
fn succeeds(command: &mut Command) -> bool {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Starts an application that prints its port.
fn start(command: &mut Command) -> (Running, u16) {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (Running(child), line.trim().parse().unwrap())
}

/// What the application at this port says to a customer at 127.0.0.77 who asks for
/// `https://shop.example:8443/where`, and claims other things.
fn where_behind_the_gate(port: u16) -> String {
    let gate = gate(([127, 0, 0, 1], port).into(), "");
    let name = "shop.example".try_into().unwrap();
    let session = rustls::ClientConnection::new(any_client(), name).unwrap();
    let socket = connect_from([127, 0, 0, 77], gate.address());
    let mut connection = BufReader::new(rustls::StreamOwned::new(session, socket));
    let request = "GET /where HTTP/1.1\r\nHost: shop.example:8443\r\nX-Forwarded-For: 6.6.6.6\r\n\
                   X-Forwarded-Proto: http\r\nX-Forwarded-Host: evil.example\r\n\
                   Forwarded: for=6.6.6.6\r\nConnection: close\r\n\r\n";
    send(&mut connection, request.as_bytes());
    receive(&mut connection, "GET").unwrap().text().to_owned()
}

const BELIEVED: &str = "https shop.example:8443 127.0.0.77 https://shop.example:8443/where";

#[test]
fn flask_believes_in_https() {
    let has_flask = |python: &&str| succeeds(Command::new(python).args(["-c", "import flask"]));
    let Some(python) = ["/usr/bin/python3", "python3"].into_iter().find(has_flask) else {
        return eprintln!("SKIPPED: Flask is not installed; `scripts/bootstrap test` installs it");
    };
    let (_flask, port) = start(Command::new(python).arg(file("flask_app.py")));
    assert_eq!(where_behind_the_gate(port), BELIEVED);
}

#[test]
fn express_believes_in_https() {
    let modules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/express/node_modules");
    if !modules.join("express").exists() {
        return eprintln!("SKIPPED: Express is not there; `scripts/bootstrap test` installs it");
    }
    let mut node = Command::new("node");
    let (_express, port) = start(node.env("NODE_PATH", modules).arg(file("express_app.cjs")));
    assert_eq!(where_behind_the_gate(port), BELIEVED);
}

/// The port that the kernel gave Tomcat, by its log, once the application is deployed:
/// `Starting ProtocolHandler ["http-nio-127.0.0.1-auto-1-40123"]`, then `Server startup in …`. A
/// port chosen beforehand could be another test's by the time that Tomcat asks for it.
fn tomcat_port(log: &str) -> Option<u16> {
    let (before, _) = log.split_once("Server startup")?;
    let (_, name) = before.rsplit_once("-auto-")?;
    let (_, port) = name.split('"').next()?.split_once('-')?;
    port.parse().ok()
}

#[test]
fn tomcat_believes_in_https() {
    let home = std::env::var("CATALINA_HOME").unwrap_or("/usr/share/tomcat10".into());
    let api = format!("{home}/lib/servlet-api.jar");
    if !Path::new(&api).exists() {
        return eprintln!("SKIPPED: Tomcat is not there; `scripts/bootstrap study` installs it");
    }
    let base = tempfile::tempdir().unwrap();
    let classes = base.path().join("webapps/ROOT/WEB-INF/classes");
    for folder in [&classes, &base.path().join("conf"), &base.path().join("temp")] {
        std::fs::create_dir_all(folder).unwrap();
    }
    let mut javac = Command::new("javac");
    if !succeeds(javac.args(["-cp", &api, "-d"]).arg(&classes).arg(file("Where.java"))) {
        return eprintln!("SKIPPED: there is no javac; `scripts/bootstrap study` installs it");
    }
    let server = "<Server port=\"-1\"><Service name=\"Catalina\">\
         <Connector port=\"0\" address=\"127.0.0.1\"/>\
         <Engine name=\"Catalina\" defaultHost=\"localhost\">\
         <Host name=\"localhost\" appBase=\"webapps\">\
         <Valve className=\"org.apache.catalina.valves.RemoteIpValve\" httpsServerPort=\"8443\"/>\
         </Host></Engine></Service></Server>";
    std::fs::write(base.path().join("conf/server.xml"), server).unwrap();
    std::fs::write(base.path().join("conf/web.xml"), "<web-app version=\"6.0\"/>").unwrap();
    let mut catalina = Command::new("sh");
    catalina.arg(format!("{home}/bin/catalina.sh")).arg("run");
    catalina.env("CATALINA_HOME", &home).env("CATALINA_BASE", base.path());
    let log = base.path().join("catalina.log");
    catalina.stdin(Stdio::null()).stdout(Stdio::null());
    let child = catalina.stderr(std::fs::File::create(&log).unwrap()).spawn();
    let _tomcat = Running(child.unwrap());
    let mut port = None;
    until("Tomcat listens", || {
        port = tomcat_port(&std::fs::read_to_string(&log).unwrap());
        port.is_some()
    });
    assert_eq!(where_behind_the_gate(port.unwrap()), BELIEVED);
}
