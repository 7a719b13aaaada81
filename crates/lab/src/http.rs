//! One GET over plain HTTP: for readiness, and for pages of metrics and counts on this machine.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// Longest wait for a connection, and for an answer unless the caller sets another. A server
/// under load on a busy machine answers late.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time between two questions whether to wait on, while nothing comes.
const LOOK: Duration = Duration::from_millis(200);
/// Largest answer that is read.
const LARGEST: u64 = 4 << 20;

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The body.
    pub body: String,
}

impl Answer {
    /// The body of an answer with status 200.
    ///
    /// # Errors
    /// It has another status.
    pub fn ok(self) -> io::Result<String> {
        match self.status {
            200 => Ok(self.body),
            status => Err(io::Error::other(format!("the answer has status {status}"))),
        }
    }
}

/// `HOST:PORT` of a URL of `http` or `https`; `None` if it is none.
pub fn place(url: &str) -> Option<String> {
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

/// Gets a page of a URL's server within twenty seconds.
///
/// # Errors
/// The URL has no server, or as [`get`].
pub fn get_at(url: &str, path: &str) -> io::Result<Answer> {
    let place = place(url).ok_or(io::ErrorKind::InvalidInput)?;
    let address = place.to_socket_addrs()?.next().ok_or(io::ErrorKind::NotFound)?;
    get(address, path)
}

/// Gets a page within twenty seconds.
///
/// # Errors
/// There is no answer in time, or it is not HTTP, as of a server that only speaks TLS.
pub fn get(address: SocketAddr, path: &str) -> io::Result<Answer> {
    let deadline = Instant::now() + PATIENCE;
    get_while(address, path, || Instant::now() < deadline)
}

/// The same, as long as the caller waits: it is asked whenever nothing came for a while.
pub(crate) fn get_while(
    address: SocketAddr,
    path: &str,
    waits: impl Fn() -> bool,
) -> io::Result<Answer> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(LOOK))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    // Version 1.0: the answer is not chunked and ends with the connection.
    let request = format!("GET {path} HTTP/1.0\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = Waiting { stream, waits }.take(LARGEST);
    let mut bytes = Vec::new();
    answer.read_to_end(&mut bytes)?;
    parse(&String::from_utf8_lossy(&bytes)).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Reads on over times in which nothing comes, while the caller waits.
struct Waiting<W> {
    stream: TcpStream,
    waits: W,
}

impl<W: Fn() -> bool> Read for Waiting<W> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        use io::ErrorKind::{TimedOut, WouldBlock};
        loop {
            match self.stream.read(into) {
                Err(error) if matches!(error.kind(), WouldBlock | TimedOut) => {
                    if !(self.waits)() {
                        return Err(io::Error::new(TimedOut, "there is no answer in time"));
                    }
                }
                read => return read,
            }
        }
    }
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
        assert_eq!(answer.ok().unwrap_err().to_string(), "the answer has status 503");
        for wrong in ["", "\x16\x03\x01", "HTTP/1.1\r\n\r\n", "SSH-2.0-x 200\r\n\r\n"] {
            assert_eq!(parse(wrong), None, "{wrong:?}");
        }
    }
}
