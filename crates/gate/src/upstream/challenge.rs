//! Asks a service for the answer to a challenge of ACME: one request over a connection of its own,
//! off the cores.

use crate::config::Origin;
use bytes::Bytes;
use http::header::{HOST, HeaderValue};
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

/// Asks for this path. The caller has the deadline. Returns status and body, which has at most so
/// many bytes.
///
/// # Errors
/// The service cannot be reached, breaks HTTP, or sends more.
pub async fn ask(
    service: &Origin,
    path: &str,
    host: Option<&HeaderValue>,
    most: usize,
) -> Result<(StatusCode, Bytes), Box<dyn std::error::Error + Send + Sync>> {
    let host = match host {
        Some(host) => host.clone(),
        None => HeaderValue::from_str(&service.authority())?,
    };
    let request = Request::get(path).header(HOST, host).body(Empty::<Bytes>::new())?;
    match &service.socket {
        Some(path) => exchange(UnixStream::connect(path).await?, request, most).await,
        None => {
            let stream = TcpStream::connect((service.host.as_str(), service.port)).await?;
            exchange(stream, request, most).await
        }
    }
}

async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    request: Request<Empty<Bytes>>,
    most: usize,
) -> Result<(StatusCode, Bytes), Box<dyn std::error::Error + Send + Sync>> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // It gives the connection up when it has the answer.
    let asked = async move {
        let response = sender.send_request(request).await?;
        let status = response.status();
        let body = Limited::new(response.into_body(), most).collect().await?;
        Ok((status, body.to_bytes()))
    };
    tokio::join!(asked, connection).0
}
