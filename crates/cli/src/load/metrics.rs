//! Serves the state of a run to Prometheus. A thread of its own renders the last snapshot
//! for each scrape; the load generator is not involved.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use tidegate_load::{Snapshot, exposition};

/// Time limit of one scrape. Scrapes are served one after the other.
const DEADLINE: Duration = Duration::from_secs(2);
/// Largest request head.
const LONGEST_HEAD: usize = 8192;

/// The listener of `/metrics` and its last snapshot.
pub struct Metrics {
    address: SocketAddr,
    last: Arc<Mutex<Option<Snapshot>>>,
}

impl Metrics {
    /// Listens and serves until the process ends.
    pub fn serve(address: SocketAddr) -> anyhow::Result<Self> {
        let context = || format!("cannot serve metrics at {address}");
        let listener = TcpListener::bind(address).with_context(context)?;
        let address = listener.local_addr().with_context(context)?;
        let last = Arc::<Mutex<Option<Snapshot>>>::default();
        let shown = last.clone();
        std::thread::Builder::new().name("metrics".into()).spawn(move || {
            for stream in listener.incoming() {
                match stream {
                    // An error concerns this client only.
                    Ok(stream) => drop(answer(&stream, &shown)),
                    // Out of file descriptors, for example.
                    Err(_) => std::thread::sleep(Duration::from_millis(20)),
                }
            }
        })?;
        Ok(Self { address, last })
    }

    /// The address as bound.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets the snapshot for the next scrape.
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
        let mut buffer = [0; 1024];
        match stream.read(&mut buffer)? {
            0 => return Ok(()),
            read => head.extend_from_slice(&buffer[..read]),
        }
    }
    let mut words = head.split(|byte| *byte == b' ');
    let (status, body) = match (words.next(), words.next()) {
        (Some(b"GET"), Some(b"/metrics")) => {
            let last = last.lock().unwrap_or_else(PoisonError::into_inner).clone();
            ("200 OK", last.as_ref().map(exposition).unwrap_or_default())
        }
        (Some(b"GET"), _) => ("404 Not Found", "only /metrics is served\n".to_owned()),
        _ => ("405 Method Not Allowed", "only GET is allowed\n".to_owned()),
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
    fn a_port_without_an_address_is_on_loopback() {
        assert_eq!(address("9100").unwrap(), "127.0.0.1:9100".parse().unwrap());
        assert_eq!(address("[::1]:0").unwrap(), "[::1]:0".parse().unwrap());
        assert!(address("nine").is_err() && address("70000").is_err());
    }

    #[test]
    fn other_requests_get_an_error_status_and_the_next_scrape_is_answered() {
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
