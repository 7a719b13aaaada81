//! Serves how a run stands to Prometheus. A thread of its own, which asks
//! nothing of the drivers: it renders the last snapshot when somebody comes.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use tidegate_load::Snapshot;
use tidegate_load::metrics::exposition;

/// How long one scrape may take; the next one waits meanwhile.
const DEADLINE: Duration = Duration::from_secs(2);
/// Longest head of a request.
const LONGEST_HEAD: usize = 8192;

/// Where `/metrics` is served, and what it says.
pub struct Metrics {
    address: SocketAddr,
    last: Arc<Mutex<Option<Snapshot>>>,
}

impl Metrics {
    /// Listens, and serves until the process ends.
    pub fn serve(address: SocketAddr) -> anyhow::Result<Self> {
        let context = || format!("cannot serve metrics at {address}");
        let listener = TcpListener::bind(address).with_context(context)?;
        let address = listener.local_addr().with_context(context)?;
        let last = Arc::<Mutex<Option<Snapshot>>>::default();
        let shown = last.clone();
        std::thread::Builder::new().name("metrics".into()).spawn(move || {
            for stream in listener.incoming() {
                match stream {
                    // Whoever does not read what she asked for harms herself alone.
                    Ok(stream) => drop(answer(&stream, &shown)),
                    // Out of descriptors, say: the next attempt may fare better.
                    Err(_) => std::thread::sleep(Duration::from_millis(20)),
                }
            }
        })?;
        Ok(Self { address, last })
    }

    /// Where it is served, as bound.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Keeps what the next scrape shall say.
    pub fn show(&self, snapshot: &Snapshot) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(snapshot.clone());
    }
}

/// `9100` on loopback, or an address and port.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse::<u16>()
        .map(|port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port))
        .or_else(|_| text.parse())
        .map_err(|_| format!("{text}: must be a port or an address such as 127.0.0.1:9100"))
}

fn answer(mut stream: &TcpStream, last: &Mutex<Option<Snapshot>>) -> io::Result<()> {
    let until = Instant::now() + DEADLINE;
    stream.set_write_timeout(Some(DEADLINE))?;
    let mut head = Vec::new();
    while !head.windows(4).any(|four| four == b"\r\n\r\n") && head.len() < LONGEST_HEAD {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        let mut some = [0; 1024];
        match stream.read(&mut some)? {
            0 => return Ok(()),
            read => head.extend_from_slice(&some[..read]),
        }
    }
    let mut words = head.split(|byte| *byte == b' ');
    let (status, body) = match (words.next(), words.next()) {
        (Some(b"GET"), Some(b"/metrics")) => {
            let last = last.lock().unwrap_or_else(PoisonError::into_inner).clone();
            ("200 OK", last.as_ref().map(exposition).unwrap_or_default())
        }
        (Some(b"GET"), _) => ("404 Not Found", "only /metrics is here\n".to_owned()),
        _ => ("405 Method Not Allowed", "only GET is answered\n".to_owned()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_on_loopback() {
        assert_eq!(address("9100").unwrap(), "127.0.0.1:9100".parse().unwrap());
        assert_eq!(address("[::1]:0").unwrap(), "[::1]:0".parse().unwrap());
        assert!(address("nine").is_err() && address("70000").is_err());
    }

    #[test]
    fn what_is_no_scrape_is_told_so_and_the_next_is_answered() {
        let metrics = Metrics::serve(address("0").unwrap()).unwrap();
        let ask = |request: &str| {
            let mut stream = TcpStream::connect(metrics.address()).unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).unwrap();
            text.lines().next().unwrap_or_default().to_owned()
        };
        assert_eq!(ask("GET / HTTP/1.1\r\n\r\n"), "HTTP/1.1 404 Not Found");
        assert_eq!(ask("POST /metrics HTTP/1.1\r\n\r\n"), "HTTP/1.1 405 Method Not Allowed");
        drop(TcpStream::connect(metrics.address()).unwrap());
        assert_eq!(ask("GET /metrics HTTP/1.1\r\n\r\n"), "HTTP/1.1 200 OK");
    }
}
