//! The first flight of a connection, on which the gate decides: over TLS the whole
//! hello, over plain HTTP the first bytes of a request. From a listed sender the header of the
//! PROXY protocol comes before it.

use crate::config::{Config, Network};
use crate::listen::proxy_header::{self, Fault, Header};
use crate::socket::Scheme;
use std::cell::RefCell;
use std::io;
use std::net::{IpAddr, SocketAddr};
use tidegate_hello::{ClientHello, Limits, Malformed, OtherProtocol, Progress, Reader};
use tokio::net::TcpStream;

/// Reads the first flights of a core's connections.
pub struct FirstFlights {
    limits: Limits,
    /// Who sends a header of the PROXY protocol.
    senders: Vec<Network>,
    scratch: RefCell<Box<[u8]>>,
}

impl FirstFlights {
    /// Within the configured limits.
    pub fn new(config: &Config) -> Self {
        let limits = &config.limits;
        Self {
            senders: config.listen.proxy_protocol.clone().unwrap_or_default(),
            limits: Limits {
                bytes: limits.hello_max_bytes,
                identities: limits.ticket_identities,
                ..Limits::default()
            },
            scratch: RefCell::new(vec![0; limits.hello_max_bytes.max(4096)].into()),
        }
    }

    /// Whether connections from this address begin with a header of the PROXY protocol.
    pub fn is_sender(&self, address: IpAddr) -> bool {
        self.senders.iter().any(|sender| sender.contains(address))
    }

    /// A reader of which nothing has arrived yet. `announced`: the connection is a listed sender's.
    pub fn reader(&self, scheme: Scheme, announced: bool) -> FirstFlightReader {
        let mut reader = FirstFlightReader::new(scheme, self.limits);
        reader.header = announced.then(Vec::new);
        reader
    }

    /// Reads once.
    ///
    /// # Errors
    /// The kernel's error; `UnexpectedEof` where the customer closed.
    pub fn read(
        &self,
        reader: &mut FirstFlightReader,
        receive: impl FnOnce(&mut [u8]) -> io::Result<usize>,
    ) -> io::Result<FirstFlight> {
        let mut scratch = self.scratch.borrow_mut();
        match receive(&mut scratch)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            n => Ok(reader.push(&scratch[..n])),
        }
    }

    /// Reads until the first flight is complete.
    ///
    /// # Errors
    /// As of [`FirstFlights::read`].
    pub async fn complete(
        &self,
        socket: &TcpStream,
        reader: &mut FirstFlightReader,
    ) -> io::Result<FirstFlight> {
        loop {
            socket.readable().await?;
            match self.read(reader, |buffer| socket.try_read(buffer)) {
                Ok(FirstFlight::Incomplete) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read,
            }
        }
    }
}

/// Collects a first flight.
pub struct FirstFlightReader {
    /// The bytes of a header of the PROXY protocol that is not complete.
    header: Option<Vec<u8>>,
    /// The customer whom a header named.
    announced: Option<SocketAddr>,
    collected: Collected,
}

enum Collected {
    /// Over TLS.
    Tls(Reader),
    /// Over plain HTTP: the bytes so far.
    Plain(Vec<u8>),
}

/// A first flight, as far as it has arrived.
pub enum FirstFlight {
    /// Not enough to decide on.
    Incomplete,
    /// A whole hello.
    Hello(ClientHello),
    /// What may be the beginning of a plain HTTP request.
    Request,
    /// Something other than TLS.
    NotTls(OtherProtocol),
    /// A hello that breaks TLS or a limit.
    Malformed(Malformed),
    /// On the plain HTTP port: something other than HTTP.
    NotHttp,
    /// From a listed sender: no header of the PROXY protocol, or a wrong one.
    NoHeader(Fault),
}

impl FirstFlightReader {
    /// Nothing has arrived yet.
    pub fn new(scheme: Scheme, limits: Limits) -> Self {
        let collected = match scheme {
            Scheme::Https => Collected::Tls(Reader::new(limits)),
            Scheme::Http => Collected::Plain(Vec::new()),
        };
        Self { header: None, announced: None, collected }
    }

    /// The customer, where a header of the PROXY protocol has named one.
    pub fn announced(&self) -> Option<SocketAddr> {
        self.announced
    }

    /// Adds bytes that arrived. Returns what all bytes so far are.
    pub fn push(&mut self, bytes: &[u8]) -> FirstFlight {
        let Some(mut header) = self.header.take() else { return self.collect(bytes) };
        header.extend_from_slice(bytes);
        match proxy_header::read(&header) {
            Err(fault) => FirstFlight::NoHeader(fault),
            Ok(None) => {
                self.header = Some(header);
                FirstFlight::Incomplete
            }
            Ok(Some(Header { source, length })) => {
                self.announced = source;
                match &header[length..] {
                    [] => FirstFlight::Incomplete,
                    rest => self.collect(rest),
                }
            }
        }
    }

    fn collect(&mut self, bytes: &[u8]) -> FirstFlight {
        match &mut self.collected {
            Collected::Tls(reader) => match reader.push(bytes) {
                Progress::NeedsMore => FirstFlight::Incomplete,
                Progress::Complete(hello) => FirstFlight::Hello(hello),
                Progress::NotTls(looks) => FirstFlight::NotTls(looks),
                Progress::Malformed(malformed) => FirstFlight::Malformed(malformed),
            },
            Collected::Plain(received) => {
                received.extend_from_slice(bytes);
                match received.first() {
                    None => FirstFlight::Incomplete,
                    Some(first) if may_begin_request(*first) => FirstFlight::Request,
                    Some(_) => FirstFlight::NotHttp,
                }
            }
        }
    }

    /// All bytes that arrived; those of a hello in as few records as possible.
    pub fn into_bytes(self, hello: Option<&ClientHello>) -> Vec<u8> {
        match (self.collected, hello) {
            (Collected::Tls(reader), Some(hello)) => reader.into_joined(hello),
            (Collected::Tls(reader), None) => reader.into_raw(),
            (Collected::Plain(received), _) => received,
        }
    }
}

/// Whether a request may begin with this byte: that of a method's name, or of
/// an empty line before it. A TLS record never begins so.
///
/// Source: RFC 9110, section 5.6.2 (token); RFC 9112, section 2.2.
fn may_begin_request(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~\r\n".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_byte_of_plain_http_shows_whether_it_may_be_a_request() {
        let read =
            |bytes: &[u8]| FirstFlightReader::new(Scheme::Http, Limits::default()).push(bytes);
        for request in ["GET / HTTP/1.1\r\n", "p", "\r\nPOST /", "M-SEARCH *", "!x"] {
            assert!(matches!(read(request.as_bytes()), FirstFlight::Request), "{request}");
        }
        for other in [&b"\x16\x03\x01\x02\x00"[..], b"\x80\x2e\x01", b"\0", b" GET", b"(", b"\xff"]
        {
            assert!(matches!(read(other), FirstFlight::NotHttp), "{other:?}");
        }
        assert!(matches!(read(b""), FirstFlight::Incomplete));
    }
}
