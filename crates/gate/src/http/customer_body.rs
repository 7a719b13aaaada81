//! The body of a customer's request, by the version of HTTP that they use.

use crate::linger::{self, LINGER};
use bytes::Bytes;
use h2::RecvStream;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use std::cell::Cell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use tokio::time::timeout;

/// The body of a customer's request.
pub enum CustomerBody {
    /// By HTTP/1.
    Http1(Incoming),
    /// By HTTP/2.
    Http2(StreamBody),
}

/// Why a request's body breaks off.
#[derive(Debug, thiserror::Error)]
pub enum CutBody {
    /// HTTP/1: the connection broke, or its bytes break the grammar.
    #[error(transparent)]
    Http1(hyper::Error),
    /// HTTP/2: the customer reset the stream, the connection broke, or the data are not as long
    /// as they should be.
    #[error(transparent)]
    Http2(h2::Error),
}

/// The data of a stream. The library checks their length.
pub struct StreamBody {
    /// `None` once it is dropped.
    stream: Option<RecvStream>,
    /// Where the stream goes when nobody reads it any more.
    unread: Rc<Cell<Option<RecvStream>>>,
    /// Bytes that are still to come, where the request names a length.
    left: Option<u64>,
    data_over: bool,
}

impl StreamBody {
    /// The data of a stream, whose request names this length. The stream goes to `unread` when
    /// this is dropped.
    pub fn new(
        stream: RecvStream,
        length: Option<u64>,
        unread: Rc<Cell<Option<RecvStream>>>,
    ) -> Self {
        Self { stream: Some(stream), unread, left: length, data_over: false }
    }

    fn is_over(&self) -> bool {
        self.left == Some(0) || self.stream.as_ref().is_none_or(RecvStream::is_end_stream)
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, h2::Error>>> {
        let Some(stream) = &mut self.stream else { return Poll::Ready(None) };
        if !self.data_over {
            match ready!(stream.poll_data(cx)) {
                Some(Ok(bytes)) => {
                    // Fails only where nothing more can come.
                    let _ = stream.flow_control().release_capacity(bytes.len());
                    self.left = self.left.map(|left| left.saturating_sub(bytes.len() as u64));
                    return Poll::Ready(Some(Ok(Frame::data(bytes))));
                }
                // A reset for whatever reason: what has arrived is not all of it.
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => self.data_over = true,
            }
        }
        let trailers = ready!(stream.poll_trailers(cx));
        Poll::Ready(trailers.transpose().map(|trailers| trailers.map(Frame::trailers)))
    }
}

impl Drop for StreamBody {
    fn drop(&mut self) {
        self.unread.set(self.stream.take());
    }
}

/// Discards what a customer still sends in a stream that was answered, for a while. The library
/// resets a stream that nobody reads, and where the reset arrives with the answer, curl 7.88 loses
/// the answer, though it must not (RFC 9113, section 8.1).
pub async fn discard(mut stream: RecvStream) {
    let all = async {
        let mut left = linger::BYTES;
        while left > 0
            && let Some(Ok(bytes)) = stream.data().await
        {
            let _ = stream.flow_control().release_capacity(bytes.len());
            left = left.saturating_sub(bytes.len());
        }
    };
    // The stream ends in either case.
    let _ = timeout(LINGER, all).await;
}

impl Body for CustomerBody {
    type Data = Bytes;
    type Error = CutBody;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, CutBody>>> {
        match self.get_mut() {
            Self::Http1(body) => {
                Pin::new(body).poll_frame(cx).map(|frame| frame.map(|f| f.map_err(CutBody::Http1)))
            }
            Self::Http2(body) => {
                body.poll(cx).map(|frame| frame.map(|f| f.map_err(CutBody::Http2)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Http1(body) => body.is_end_stream(),
            Self::Http2(body) => body.is_over(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Http1(body) => body.size_hint(),
            Self::Http2(body) if body.is_over() => SizeHint::with_exact(0),
            Self::Http2(body) => body.left.map_or_else(SizeHint::default, SizeHint::with_exact),
        }
    }
}
