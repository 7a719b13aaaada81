//! Gates with a plain HTTP port, their customers, and an upstream that reads strictly.

use super::{PATIENCE, a_core, gate, get, upstream};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc;
use tidegate_gate::Gate;

/// A gate that also listens for plain HTTP, where each connection is a session; `more` is appended
/// to its configuration.
pub fn clear_gate(upstream: SocketAddr, more: &str) -> Gate {
    const ADMISSION: &str = "[admission]\n";
    const OFF: &str = "[admission]\nsession_cookie = \"off\"\n";
    match more.contains(ADMISSION) {
        true => cookie_gate(upstream, &more.replace(ADMISSION, OFF)),
        false => cookie_gate(upstream, &format!("{more}\n{OFF}policy = \"off\"\n")),
    }
}

/// A gate that also listens for plain HTTP, where a cookie tells the session of each request.
pub fn cookie_gate(upstream: SocketAddr, more: &str) -> Gate {
    let address = "127.0.0.1:0";
    let core = a_core();
    let listen =
        format!("[listen]\naddress = \"{address}\"\nclear = \"{address}\"\ncores = \"{core}\"\n");
    gate(upstream, &format!("{more}\n{listen}"))
}

/// Connects a customer over plain HTTP.
pub fn connect_plain(gate: &Gate) -> BufReader<TcpStream> {
    let socket = TcpStream::connect(gate.clear_address().unwrap()).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.set_write_timeout(Some(PATIENCE)).unwrap();
    BufReader::new(socket)
}

/// Customers who request this page over and over while `during` runs: one over a kept connection
/// for each `true`, one over new connections for each `false`. Each response must be 200 with a text
/// that is `sound`. `during` gets how many were served so far.
pub fn while_served<T>(
    (gate, path): (&Gate, &str),
    customers: &[bool],
    sound: impl Fn(&str) -> bool + Sync,
    during: impl FnOnce(&AtomicUsize) -> T,
) -> T {
    let (stop, served) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for keeps in customers {
            let (stop, served, sound) = (&stop, &served, &sound);
            scope.spawn(move || {
                let mut connection = connect_plain(gate);
                while !stop.load(Relaxed) {
                    if !keeps {
                        connection = connect_plain(gate);
                    }
                    let response = get(&mut connection, path).expect("it is served");
                    assert!(response.code == 200 && sound(response.text()), "{response:?}");
                    served.fetch_add(1, Relaxed);
                }
            });
        }
        let done = during(&served);
        stop.store(true, Relaxed);
        done
    })
}

/// What an upstream received.
#[derive(Debug, PartialEq)]
pub enum Received {
    /// A request that has one meaning only.
    Request {
        /// Its first line.
        line: String,
        /// Its fields as `name: value`, the names in lower case, in the order of arrival.
        fields: Vec<String>,
        /// Its body.
        body: String,
        /// Its trailers, like its fields.
        trailers: Vec<String>,
    },
    /// A request that was broken off.
    CutOff,
    /// A request that two readers could read differently, and why.
    Ambiguous(String),
}

impl Received {
    /// The first line and the body of a request.
    #[track_caller]
    pub fn parts(&self) -> (&str, &str) {
        match self {
            Self::Request { line, body, .. } => (line, body),
            other => panic!("{other:?}"),
        }
    }

    /// The values of a field of a request.
    #[track_caller]
    pub fn values(&self, name: &str) -> Vec<&str> {
        let Self::Request { fields, .. } = self else { panic!("{self:?}") };
        let prefix = format!("{name}: ");
        fields.iter().filter_map(|field| field.strip_prefix(&prefix)).collect()
    }
}

/// An upstream that reports what it receives, and answers each whole request with `answer`.
pub fn recording(answer: &'static str) -> (SocketAddr, mpsc::Receiver<Received>) {
    let (sender, received) = mpsc::channel();
    let sender = std::sync::Mutex::new(sender);
    let address = upstream(move |mut reader| {
        while let Some(got) = receive_strictly(&mut reader) {
            let whole = matches!(got, Received::Request { .. });
            sender.lock().unwrap().send(got).unwrap();
            if !whole || reader.get_mut().write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
    });
    (address, received)
}

/// Reads a request; `None` at the end of the connection.
fn receive_strictly(reader: &mut impl BufRead) -> Option<Received> {
    if !reader.fill_buf().is_ok_and(|bytes| !bytes.is_empty()) {
        return None;
    }
    Some(read_strictly(reader).unwrap_or_else(|received| received))
}

fn ambiguous<T>(why: impl Into<String>) -> Result<T, Received> {
    Err(Received::Ambiguous(why.into()))
}

/// A line that ends with CR LF, without it.
fn line(reader: &mut impl BufRead) -> Result<String, Received> {
    let mut line = Vec::new();
    reader.read_until(b'\n', &mut line).map_err(|_| Received::CutOff)?;
    if !line.ends_with(b"\n") {
        return Err(Received::CutOff);
    }
    let line = String::from_utf8_lossy(&line).into_owned();
    match line.strip_suffix("\r\n") {
        Some(line) if !line.chars().any(char::is_control) => Ok(line.to_owned()),
        _ => ambiguous(format!("line {line:?}")),
    }
}

fn fields(reader: &mut impl BufRead) -> Result<Vec<String>, Received> {
    let mut fields = Vec::new();
    loop {
        let line = line(reader)?;
        match line.split_once(": ") {
            _ if line.is_empty() => return Ok(fields),
            Some((name, value)) if !name.is_empty() && !name.contains([' ', ':']) => {
                fields.push(format!("{}: {}", name.to_ascii_lowercase(), value.trim()));
            }
            _ => return ambiguous(format!("field {line:?}")),
        }
    }
}

fn exactly(reader: &mut impl Read, length: usize) -> Result<Vec<u8>, Received> {
    let mut bytes = vec![0; length];
    reader.read_exact(&mut bytes).map_err(|_| Received::CutOff)?;
    Ok(bytes)
}

fn read_strictly(reader: &mut impl BufRead) -> Result<Received, Received> {
    let first = line(reader)?;
    let words: Vec<_> = first.split(' ').collect();
    if words.len() != 3 || words[2] != "HTTP/1.1" || !words[1].starts_with(['/', '*']) {
        return ambiguous(format!("request line {first:?}"));
    }
    let fields = fields(reader)?;
    let values = |name: &str| -> Vec<_> {
        let prefix = format!("{name}: ");
        fields.iter().filter_map(|field| field.strip_prefix(&prefix)).collect()
    };
    let (lengths, codings) = (values("content-length"), values("transfer-encoding"));
    if values("host").len() != 1 {
        return ambiguous(format!("hosts {:?}", values("host")));
    }
    if lengths.len() + codings.len() > 1 {
        return ambiguous(format!("lengths {lengths:?}, codings {codings:?}"));
    }
    let (mut body, mut trailers) = (Vec::new(), Vec::new());
    if let Some(length) = lengths.first() {
        let Ok(length) = length.parse() else { return ambiguous(format!("length {length}")) };
        body = exactly(reader, length)?;
    } else if let Some(coding) = codings.first() {
        if *coding != "chunked" {
            return ambiguous(format!("coding {coding}"));
        }
        loop {
            let size = line(reader)?;
            let Ok(size) = usize::from_str_radix(&size, 16) else {
                return ambiguous(format!("chunk size {size:?}"));
            };
            if size == 0 {
                trailers = self::fields(reader)?;
                break;
            }
            body.extend(exactly(reader, size)?);
            if exactly(reader, 2)? != b"\r\n" {
                return ambiguous("a chunk without its end");
            }
        }
    }
    let body = String::from_utf8_lossy(&body).into_owned();
    Ok(Received::Request { line: first, fields, body, trailers })
}
