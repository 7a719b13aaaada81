//! One GET over plain HTTP, for readiness and for the gate's admin pages on loopback.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// Longest wait for a connection, and for the next bytes.
const PATIENCE: Duration = Duration::from_secs(2);
/// Largest answer that is read.
const LARGEST: u64 = 4 << 20;

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: String,
}

/// `HOST:PORT` of a URL; `None` if it is none.
pub(super) fn place(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let port = match scheme {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    let host = rest.split('/').next().filter(|host| !host.is_empty())?;
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    Some(if has_port { host.to_owned() } else { format!("{host}:{port}") })
}

/// Gets a page of an `http` URL. A connection that only speaks TLS is an error.
pub(super) fn get(url: &str, path: &str) -> io::Result<Answer> {
    let place = place(url).ok_or(io::ErrorKind::InvalidInput)?;
    let address = place.to_socket_addrs()?.next().ok_or(io::ErrorKind::NotFound)?;
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    // Version 1.0: the answer is not chunked and ends with the connection.
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {place}\r\nConnection: close\r\n\r\n")?;
    let mut bytes = Vec::new();
    stream.take(LARGEST).read_to_end(&mut bytes)?;
    parse(&String::from_utf8_lossy(&bytes)).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn parse(text: &str) -> Option<Answer> {
    let (head, body) = text.split_once("\r\n\r\n")?;
    let mut words = head.lines().next()?.split(' ');
    words.next().filter(|version| version.starts_with("HTTP/"))?;
    Some(Answer { status: words.next()?.parse().ok()?, body: body.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_a_place_with_a_port() {
        assert_eq!(place("http://127.0.0.1:80/x").as_deref(), Some("127.0.0.1:80"));
        assert_eq!(place("https://a.example").as_deref(), Some("a.example:443"));
        assert_eq!(place("http://[::1]:81").as_deref(), Some("[::1]:81"));
        for wrong in ["127.0.0.1:80", "ftp://a", "http://", "http:///x"] {
            assert_eq!(place(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn an_answer_has_a_status_and_a_body_and_other_bytes_are_none() {
        let answer = parse("HTTP/1.1 503 Busy\r\na: b\r\n\r\nlater\r\n\r\n").unwrap();
        assert_eq!(answer, Answer { status: 503, body: "later\r\n\r\n".into() });
        for wrong in ["", "\x16\x03\x01", "HTTP/1.1\r\n\r\n", "SSH-2.0-x 200\r\n\r\n"] {
            assert_eq!(parse(wrong), None, "{wrong:?}");
        }
    }
}
