//! One stream: a request and its response, with the deadlines of their exchange. What goes wrong
//! ends the stream, never the connection.

use super::wire::Shared;
use crate::connection::delivery::Delivery;
use crate::connection::exchange::{Exchange, Expiry};
use crate::http::customer_body::{CustomerBody, StreamBody, discard};
use crate::http::headers;
use crate::http::proxy::{self, Proxy};
use crate::http::response_body::ResponseBody;
use crate::http::timer::poll_deadline;
use crate::telemetry::clock;
use crate::telemetry::labels::StreamEnd;
use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::header::{CONNECTION, CONTENT_LENGTH, DATE, HeaderValue};
use http::{Method, Request, Response};
use http_body::Body;
use std::cell::Cell;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::SystemTime;
use tidegate_trace::{Outcome, Phase, with_line};
use tokio::time::{Sleep, sleep_until};

/// Most bytes of a response that one stream reserves of the customer's windows at once.
const RESERVED: usize = 64 * 1024;

/// Serves one stream to its end.
pub async fn serve(
    shared: Rc<Shared>,
    proxy: Rc<Proxy>,
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
) {
    // Unless it comes to its end here.
    with_line(|line| line.ends(Outcome::Broken));
    let open = Open::new(&shared, &request);
    let exchange = &open.exchange;
    let to_head = request.method() == Method::HEAD;
    let length = headers::content_length(request.headers());
    let unread = Rc::new(Cell::new(None));
    let body = |stream| CustomerBody::Http2(StreamBody::new(stream, length, unread.clone()));
    let request = request.map(body);
    let mut sleep = pin!(sleep_until(clock::now().into()));
    let answer = {
        let answer = pin!(proxy::answer(&proxy, exchange, request));
        answered(exchange, answer, &mut respond, sleep.as_mut()).await
    };
    let sent = match answer {
        Ok((response, streams)) => {
            exchange.response(streams, clock::now());
            match begin(&mut respond, response, to_head) {
                Ok(Some((body, send))) => {
                    deliver(&shared, exchange, body, send, sleep.as_mut()).await
                }
                Ok(None) => Ok(()),
                Err(_) => Err(StreamEnd::Customer),
            }
        }
        Err(end) => {
            respond.send_reset(Reason::CANCEL);
            Err(end)
        }
    };
    exchange.log().inspect(|log| log.end(sent.is_ok()));
    with_line(|line| {
        line.ends(if sent.is_ok() { Outcome::Done } else { Outcome::Broken });
        line.finish_request(Phase::Idle);
    });
    if let Err(end) = sent {
        exchange.counters.streams_reset[end].add(1);
        return;
    }
    drop(open);
    if let Some(unread) = unread.take().filter(|unread| !unread.is_end_stream()) {
        discard(unread).await;
    }
}

/// A stream that is open until this is dropped.
struct Open {
    shared: Rc<Shared>,
    exchange: Rc<Exchange>,
}

impl Open {
    fn new(shared: &Rc<Shared>, request: &Request<RecvStream>) -> Self {
        let empty =
            request.body().is_end_stream() || headers::content_length(request.headers()) == Some(0);
        let exchange = shared.state.stream_opens(!empty);
        exchange.asked.note(request);
        Self { shared: shared.clone(), exchange }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.shared.state.stream_ends();
    }
}

/// Waits for the response, within the deadlines of its exchange.
async fn answered(
    exchange: &Exchange,
    mut answer: Pin<&mut impl Future<Output = (Response<ResponseBody>, bool)>>,
    respond: &mut SendResponse<Bytes>,
    mut sleep: Pin<&mut Sleep>,
) -> Result<(Response<ResponseBody>, bool), StreamEnd> {
    poll_fn(|cx| {
        let mut measured = false;
        loop {
            let answered = answer.as_mut().poll(cx);
            for interim in exchange.interim.take() {
                // A stream that is reset is found to be so below.
                let _ = respond.send_informational(interim);
            }
            if let Poll::Ready(answered) = answered {
                return Poll::Ready(Ok(answered));
            }
            if respond.poll_reset(cx).is_ready() {
                return Poll::Ready(Err(StreamEnd::Customer));
            }
            let Some(deadline) = exchange.deadline() else { return Poll::Pending };
            ready!(poll_deadline(sleep.as_mut(), deadline, cx));
            match exchange.expire(measured) {
                Expiry::Close(_) => return Poll::Ready(Err(StreamEnd::Deadline)),
                Expiry::Measure => measured = true,
                Expiry::Answer => {}
            }
        }
    })
    .await
}

/// Sends a response's head. Returns its body, if one follows.
fn begin(
    respond: &mut SendResponse<Bytes>,
    response: Response<ResponseBody>,
    to_head: bool,
) -> Result<Option<(ResponseBody, SendStream<Bytes>)>, h2::Error> {
    let (mut parts, body) = response.into_parts();
    // The gate's own pages have it for HTTP/1.
    parts.headers.remove(CONNECTION);
    if let Some(length) = body.size_hint().exact()
        && !(body.is_end_stream() || parts.headers.contains_key(CONTENT_LENGTH))
    {
        parts.headers.insert(CONTENT_LENGTH, length.into());
    }
    if !parts.headers.contains_key(DATE)
        && let Ok(date) = HeaderValue::try_from(httpdate::fmt_http_date(SystemTime::now()))
    {
        parts.headers.insert(DATE, date);
    }
    let over = to_head || body.is_end_stream();
    let send = respond.send_response(Response::from_parts(parts, ()), over)?;
    Ok((!over).then_some((body, send)))
}

/// Sends a response's body as the customer's windows and the kernel take it.
async fn deliver(
    shared: &Shared,
    exchange: &Exchange,
    body: ResponseBody,
    send: SendStream<Bytes>,
    mut sleep: Pin<&mut Sleep>,
) -> Result<(), StreamEnd> {
    let delivery = shared.state.delivery_of_stream();
    let mut pump = Pump { body, send, part: Bytes::new(), waits: Waits::Body };
    let sent = poll_fn(|cx| {
        let mut measured = false;
        loop {
            if let Poll::Ready(sent) = pump.poll(shared, exchange, &delivery, cx) {
                return Poll::Ready(sent);
            }
            let deadline = match pump.waits {
                Waits::Body => exchange.deadline(),
                Waits::Window => {
                    delivery.next_measurement().into_iter().chain(exchange.over_at()).min()
                }
                // The connection's own deadline.
                Waits::Kernel => exchange.over_at(),
            };
            let Some(deadline) = deadline else { return Poll::Pending };
            ready!(poll_deadline(sleep.as_mut(), deadline, cx));
            if pump.waits == Waits::Window && !exchange.is_over_time() {
                if std::mem::replace(&mut measured, true) {
                    return Poll::Ready(Err(StreamEnd::Deadline));
                }
                delivery.demand_measurement();
                continue;
            }
            match exchange.expire(measured) {
                Expiry::Close(_) => return Poll::Ready(Err(StreamEnd::Truncated)),
                Expiry::Measure => measured = true,
                Expiry::Answer => {}
            }
        }
    })
    .await;
    match sent {
        Err(StreamEnd::Truncated) => pump.send.send_reset(Reason::INTERNAL_ERROR),
        Err(StreamEnd::Deadline) => pump.send.send_reset(Reason::CANCEL),
        Ok(()) | Err(StreamEnd::Customer) => {}
    }
    sent
}

/// What a response's body waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waits {
    /// More of it.
    Body,
    /// The customer's windows.
    Window,
    /// The kernel, which has not taken what was handed over by all streams.
    Kernel,
}

/// A response's body on its way into the stream. No more is read of it before what was read has
/// been handed over.
struct Pump {
    body: ResponseBody,
    send: SendStream<Bytes>,
    /// Read, and not yet handed over.
    part: Bytes,
    waits: Waits,
}

impl Pump {
    fn poll(
        &mut self,
        shared: &Shared,
        exchange: &Exchange,
        delivery: &Delivery,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), StreamEnd>> {
        loop {
            if self.send.poll_reset(cx).is_ready() {
                return Poll::Ready(Err(StreamEnd::Customer));
            }
            if !shared.pacing.has_room(cx) {
                self.waits = Waits::Kernel;
                return Poll::Pending;
            }
            if !self.part.is_empty() {
                if ready!(self.hand_over(shared, delivery, cx))? {
                    return Poll::Ready(Ok(()));
                }
                exchange.response_progress();
                continue;
            }
            if self.waits != Waits::Body {
                // The upstream was not asked meanwhile.
                exchange.response_progress();
                self.waits = Waits::Body;
            }
            let frame = match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => frame,
                Some(Err(_)) => return Poll::Ready(Err(StreamEnd::Truncated)),
                None => {
                    let ended = self.send.send_data(Bytes::new(), true);
                    return Poll::Ready(ended.map_err(|_| StreamEnd::Customer));
                }
            };
            match frame.into_data() {
                Ok(part) => self.part = part,
                Err(frame) => {
                    let Ok(trailers) = frame.into_trailers() else { continue };
                    let ended = self.send.send_trailers(trailers);
                    return Poll::Ready(ended.map_err(|_| StreamEnd::Customer));
                }
            }
        }
    }

    /// Hands over as much of the part as the windows allow. Returns whether that ends the body.
    fn hand_over(
        &mut self,
        shared: &Shared,
        delivery: &Delivery,
        cx: &mut Context<'_>,
    ) -> Poll<Result<bool, StreamEnd>> {
        self.send.reserve_capacity(self.part.len().min(RESERVED));
        while self.send.capacity() == 0 {
            match self.send.poll_capacity(cx) {
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(_) => return Poll::Ready(Err(StreamEnd::Customer)),
                Poll::Pending => {
                    self.waits = Waits::Window;
                    delivery.wait(clock::now(), || 0);
                    return Poll::Pending;
                }
            }
        }
        let bytes = self.send.capacity().min(self.part.len());
        let over = bytes == self.part.len() && self.body.is_end_stream();
        let part = self.part.split_to(bytes);
        shared.pacing.hand_over(bytes);
        delivery.sent(bytes, clock::now());
        if self.part.is_empty() {
            delivery.accepted(clock::now());
        }
        let sent = self.send.send_data(part, over);
        Poll::Ready(sent.map(|()| over).map_err(|_| StreamEnd::Customer))
    }
}
