//! The line of a customer's agent in a trace: connecting, waiting for responses, thinking.

use std::borrow::Cow;
use std::time::Instant;

use tidegate_trace::{Context, FIELD, Line, Outcome as Ending, Phase};

use crate::client::connection::ConnectTimes;
use crate::client::http::exchange::Answer;
use crate::outcome::{Handshake, Outcome};

/// What an agent does, where that is traced; nothing else, and of no cost, where it is not.
#[derive(Default)]
pub(crate) struct AgentLine(Option<Box<Traced>>);

struct Traced {
    line: Box<Line>,
    /// The same for all agents of a session.
    trace: u128,
}

impl AgentLine {
    /// The line of another agent of the same session, which begins with its first request.
    pub(crate) fn another(&self) -> Self {
        let line = self.0.as_ref().and_then(|own| {
            let mut line = Line::begin(Phase::Think)?;
            line.ends(Ending::Open);
            Some(Box::new(Traced { line, trace: own.trace }))
        });
        Self(line)
    }

    /// A connection is opened. The line of a session begins with its first.
    pub(crate) fn connects(&mut self) {
        self.enter(Phase::Connect);
    }

    /// The session enters a phase; its line begins if it has none and this thread traces.
    fn enter(&mut self, phase: Phase) {
        match &mut self.0 {
            Some(traced) => traced.line.enter(phase),
            None => {
                self.0 = Line::begin(phase).map(|mut line| {
                    line.pause();
                    // Until it is known how the session ended.
                    line.ends(Ending::Open);
                    Box::new(Traced { line, trace: Context::new_trace() })
                });
            }
        }
    }

    /// A connection is open; its opening had begun at `begun`.
    pub(crate) fn connected(&mut self, begun: Instant, times: &ConnectTimes) {
        let Some(Traced { line, .. }) = self.0.as_deref_mut() else { return };
        if let Some(handshake) = &times.handshake {
            let phase = match handshake.kind {
                Handshake::Full => Phase::HandshakeFull,
                Handshake::Resumed => Phase::HandshakeResumed,
            };
            line.enter_at_instant(phase, begun + times.connect);
        }
        line.opened(Phase::Wait);
    }

    /// A request is sent now. Returns its bytes, with the trace context in them.
    pub(crate) fn sends<'b>(&mut self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        self.enter(Phase::Wait);
        let Some(Traced { line, trace }) = self.0.as_deref_mut() else {
            return Cow::Borrowed(bytes);
        };
        let context = Context::of_trace(*trace);
        line.set_context(context);
        Cow::Owned(with_field(bytes, &context))
    }

    /// The response has arrived, and the customer thinks.
    pub(crate) fn answered(&mut self, answer: &Answer) {
        if let Some(Traced { line, .. }) = self.0.as_deref_mut() {
            line.enter_at_instant(Phase::Receive, answer.first_byte);
            line.set_status(answer.status);
            line.finish_request(Phase::Think);
        }
    }

    /// The session ends.
    pub(crate) fn ends(&mut self, outcome: Outcome) {
        if let Some(mut traced) = self.0.take() {
            traced.line.ends(match outcome {
                Outcome::Completed => Ending::Done,
                Outcome::Refused(_) => Ending::Refused,
                Outcome::Abandoned(_) => Ending::TimedOut,
                Outcome::CutOff => Ending::Open,
                _ => Ending::Broken,
            });
        }
    }
}

/// A request of HTTP/1.1 with the field of its trace context after the request line, in place of
/// one that the scenario has.
fn with_field(bytes: &[u8], context: &Context) -> Vec<u8> {
    let head = bytes.windows(4).position(|end| end == b"\r\n\r\n").map_or(0, |at| at + 2);
    let mut with = Vec::with_capacity(bytes.len() + 80);
    for (number, line) in bytes[..head].split_inclusive(|byte| *byte == b'\n').enumerate() {
        let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
        if number == 0 || !name.eq_ignore_ascii_case(FIELD.as_bytes()) {
            with.extend_from_slice(line);
        }
        if number == 0 {
            with.extend_from_slice(format!("{FIELD}: {context}\r\n").as_bytes());
        }
    }
    with.extend_from_slice(&bytes[head..]);
    with
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_follows_the_request_line_and_replaces_a_given_one() {
        let context = Context { trace: 1, parent: 0, span: 2 };
        let field = format!("traceparent: 00-{}1-{}2-01\r\n", "0".repeat(31), "0".repeat(15));
        let get = b"GET / HTTP/1.1\r\nHost: shop\r\n\r\n";
        let expected = format!("GET / HTTP/1.1\r\n{field}Host: shop\r\n\r\n");
        assert_eq!(with_field(get, &context), expected.as_bytes());
        let post = b"POST / HTTP/1.1\r\nTraceParent: x\r\nContent-Length: 14\r\n\r\ntraceparent: 1";
        let expected =
            format!("POST / HTTP/1.1\r\n{field}Content-Length: 14\r\n\r\ntraceparent: 1");
        assert_eq!(with_field(post, &context), expected.as_bytes());
    }

    #[test]
    fn where_nothing_is_traced_a_request_stays_as_it_is() {
        let mut line = AgentLine::default();
        assert!(matches!(line.sends(b"GET / HTTP/1.1\r\n\r\n"), Cow::Borrowed(_)));
        assert_eq!(size_of::<AgentLine>(), size_of::<usize>());
    }
}
