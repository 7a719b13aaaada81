//! A connection of the client, whose bytes are counted at the socket: below TLS.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;

use crate::{Error, Result};

/// Bytes over all connections of a client.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    out: AtomicU64,
    into: AtomicU64,
}

impl Traffic {
    /// Bytes sent and received.
    pub(super) fn read(&self) -> (u64, u64) {
        (self.out.load(Ordering::Relaxed), self.into.load(Ordering::Relaxed))
    }
}

/// A socket that counts.
struct Counted {
    stream: TcpStream,
    traffic: Arc<Traffic>,
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let result = Pin::new(&mut self.stream).poll_read(context, buffer);
        let read = buffer.filled().len() - before;
        self.traffic.into.fetch_add(read as u64, Ordering::Relaxed);
        result
    }
}

impl AsyncWrite for Counted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(context, buffer);
        if let Poll::Ready(Ok(written)) = &result {
            self.traffic.out.fetch_add(*written as u64, Ordering::Relaxed);
        }
        result
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// An open connection.
pub(super) struct Connection {
    pub(super) sender: SendRequest<Full<Bytes>>,
    driver: JoinHandle<()>,
}

impl Connection {
    /// Connects, with TLS if there is a configuration.
    ///
    /// # Errors
    /// No connection, or the server's certificate is another.
    pub(super) async fn open(
        address: &str,
        tls: Option<&Arc<ClientConfig>>,
        traffic: &Arc<Traffic>,
    ) -> Result<Self> {
        let failed = |error: &dyn std::fmt::Display| Error::Process(format!("{address}: {error}"));
        let stream = TcpStream::connect(address).await.map_err(|error| failed(&error))?;
        stream.set_nodelay(true).map_err(|error| failed(&error))?;
        let stream = Counted { stream, traffic: Arc::clone(traffic) };
        let Some(tls) = tls else { return Self::over(stream).await.map_err(|e| failed(&e)) };
        let name = ServerName::try_from(tidegate_lab::NAME).map_err(|error| failed(&error))?;
        let connector = TlsConnector::from(Arc::clone(tls));
        let stream = connector.connect(name, stream).await.map_err(|error| failed(&error))?;
        Self::over(stream).await.map_err(|error| failed(&error))
    }

    async fn over(
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    ) -> hyper::Result<Self> {
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // An error ends the request that waits, which reports it.
        let driver = tokio::spawn(async move { drop(connection.await) });
        Ok(Self { sender, driver })
    }

    /// Closes the connection and waits until it is.
    pub(super) async fn close(self) {
        drop(self.sender);
        let _ = self.driver.await;
    }
}
