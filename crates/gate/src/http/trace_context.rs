//! The trace context of a request (`traceparent`): where the gate traces or has an access log, it
//! passes it on to the upstream with its own span as the parent.
//!
//! Source: W3C Trace Context, Recommendation of 23 November 2021, sections 3.2 and 4.3.

use http::header::{HeaderMap, HeaderName, HeaderValue};
use tidegate_trace::{Context, FIELD};

const TRACEPARENT: HeaderName = HeaderName::from_static(FIELD);
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// Replaces the context of a request by that of the gate's span of it. Where the customer named
/// none, or a malformed one, a trace begins, and what others wrote about the former one goes.
/// Where nothing is traced, the fields stay as they are, unless the request is `logged`. Returns
/// the value that the gate wrote.
pub fn pass_on(headers: &mut HeaderMap, logged: bool) -> Option<HeaderValue> {
    let mut valid = false;
    let mut receive = || {
        let received = Context::received(headers.get_all(TRACEPARENT).iter().map(|v| v.as_bytes()));
        valid = received.is_some();
        received
    };
    let traced = tidegate_trace::request(&mut receive);
    let value = match traced {
        None if logged => Some(receive().unwrap_or_else(Context::begin).value()),
        traced => traced,
    };
    let value = HeaderValue::try_from(value?).ok()?;
    headers.insert(TRACEPARENT, value.clone());
    if !valid {
        headers.remove(TRACESTATE);
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_nothing_is_traced_the_fields_stay() {
        let mut headers = HeaderMap::new();
        headers.append(TRACEPARENT, HeaderValue::from_static("anything"));
        headers.append(TRACESTATE, HeaderValue::from_static("a=1"));
        let before = headers.clone();
        assert_eq!(pass_on(&mut headers, false), None);
        assert_eq!(headers, before);
    }

    #[test]
    fn a_request_that_is_logged_has_a_context_also_where_nothing_is_traced() {
        let mut headers = HeaderMap::new();
        headers.append(TRACESTATE, HeaderValue::from_static("a=1"));
        let made = pass_on(&mut headers, true).unwrap();
        assert_eq!((headers.get(TRACEPARENT), headers.get(TRACESTATE)), (Some(&made), None));
        headers.append(TRACESTATE, HeaderValue::from_static("a=1"));
        let passed = pass_on(&mut headers, true).unwrap();
        assert_ne!(passed, made, "the span is another one");
        assert_eq!(passed.as_bytes()[..35], made.as_bytes()[..35], "the trace is the same");
        assert!(headers.contains_key(TRACESTATE));
    }
}
