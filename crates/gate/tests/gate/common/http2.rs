//! Customers who use HTTP/2: by the client of the library, and by frames written by hand.

use super::{Connection, client, connect};
use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use h2::{RecvStream, SendStream};
use http::{HeaderMap, Request, Response};
use rustls::StreamOwned;
use rustls::pki_types::ServerName;
use std::io::{BufRead, Read, Write};
use std::sync::Arc;
use tidegate_gate::Gate;
use tokio_rustls::TlsConnector;

/// A customer's TLS configuration that offers HTTP/2.
pub fn http2_client() -> rustls::ClientConfig {
    let mut config = client(rustls::ALL_VERSIONS);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    config
}

/// Runs a customer on a runtime of its own.
pub fn run<T>(customer: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(super::PATIENCE, customer).await.unwrap() })
}

/// Connects; the connection runs until the runtime ends.
pub async fn connect_http2(gate: &Gate) -> SendRequest<Bytes> {
    connect_with(gate, &h2::client::Builder::new()).await
}

/// The same with other settings.
pub async fn connect_with(gate: &Gate, builder: &h2::client::Builder) -> SendRequest<Bytes> {
    let socket = tokio::net::TcpStream::connect(gate.address()).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let tls = TlsConnector::from(Arc::new(http2_client())).connect(name, socket).await.unwrap();
    let (sender, connection) = builder.handshake(tls).await.unwrap();
    tokio::spawn(async move { connection.await.map_err(drop) });
    sender
}

/// A request without a body.
pub fn request(method: &str, path: &str) -> http::request::Builder {
    Request::builder().method(method).uri(format!("https://localhost{path}"))
}

/// Sends the head of a request.
pub async fn begin(
    sender: &SendRequest<Bytes>,
    request: http::request::Builder,
    over: bool,
) -> (ResponseFuture, SendStream<Bytes>) {
    let mut sender = sender.clone().ready().await.unwrap();
    sender.send_request(request.body(()).unwrap(), over).unwrap()
}

/// Sends a request without a body and reads the whole response.
pub async fn exchange(
    sender: &SendRequest<Bytes>,
    request: http::request::Builder,
) -> Result<(Response<()>, Vec<u8>), h2::Error> {
    whole(begin(sender, request, true).await.0.await?).await.map(|(head, body, _)| (head, body))
}

/// Reads a response to its end.
pub async fn whole(
    response: Response<RecvStream>,
) -> Result<(Response<()>, Vec<u8>, Option<HeaderMap>), h2::Error> {
    let (parts, mut stream) = response.into_parts();
    let mut body = Vec::new();
    while let Some(part) = stream.data().await {
        let part = part?;
        stream.flow_control().release_capacity(part.len())?;
        body.extend_from_slice(&part);
    }
    let trailers = stream.trailers().await?;
    Ok((Response::from_parts(parts, ()), body, trailers))
}

pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
pub const END_STREAM: u8 = 0x1;
pub const END_HEADERS: u8 = 0x4;

/// A frame.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A head in which no field is compressed.
pub fn head(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut head = Vec::new();
    for (name, value) in fields {
        for text in [name, value] {
            if text == name {
                head.push(0);
            }
            assert!(text.len() < 127);
            head.push(text.len() as u8);
            head.extend(text.bytes());
        }
    }
    head
}

/// The fields of a GET of `/`.
pub const GET: [(&str, &str); 4] =
    [(":method", "GET"), (":scheme", "https"), (":authority", "localhost"), (":path", "/")];

/// Connects a customer who writes frames by hand; preface and settings are sent.
pub fn connect_by_hand(gate: &Gate) -> Connection {
    let mut connection = connect(gate, &Arc::new(http2_client()));
    write(&mut connection, &[PREFACE, &frame(4, 0, 0, &[])].concat()).unwrap();
    connection
}

/// Writes bytes.
pub fn write(connection: &mut Connection, bytes: &[u8]) -> std::io::Result<()> {
    connection.get_mut().write_all(bytes)?;
    connection.get_mut().flush()
}

/// Reads a frame: its kind, flags, stream and payload.
pub fn read_frame(connection: &mut Connection) -> std::io::Result<(u8, u8, u32, Vec<u8>)> {
    let mut header = [0; 9];
    connection.read_exact(&mut header)?;
    let [a, b, c, kind, flags, stream @ ..] = header;
    let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
    connection.read_exact(&mut payload)?;
    Ok((kind, flags, u32::from_be_bytes(stream), payload))
}

/// Reads up to a frame of this kind; its stream and payload.
#[track_caller]
pub fn until_frame(connection: &mut Connection, kind: u8) -> (u32, Vec<u8>) {
    loop {
        let (found, _, stream, payload) = read_frame(connection).unwrap();
        if found == kind {
            return (stream, payload);
        }
        assert_ne!(found, 7, "GOAWAY {payload:?}");
    }
}

/// Reads up to the GOAWAY of the connection, without writing: the gate may have closed it. Its
/// error code.
#[track_caller]
pub fn until_goaway(connection: &mut Connection) -> u32 {
    let mut bytes = connection.buffer().to_vec();
    connection.consume(bytes.len());
    let StreamOwned { conn, sock } = connection.get_mut();
    loop {
        let mut rest = &bytes[..];
        while let [a, b, c, kind, _, _, _, _, _, payload @ ..] = rest {
            let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
            if payload.len() < length {
                break;
            }
            if *kind == 7 {
                return u32::from_be_bytes(payload[4..8].try_into().unwrap());
            }
            rest = &payload[length..];
        }
        let read = conn.read_tls(sock);
        assert!(read.as_ref().is_ok_and(|read| *read > 0), "no GOAWAY: {read:?}");
        conn.process_new_packets().unwrap();
        let _ = conn.reader().read_to_end(&mut bytes);
    }
}
