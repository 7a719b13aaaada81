//! The trace context of a request (`traceparent`): where the gate traces, it passes it on to the
//! upstream with its own span as the parent.
//!
//! Source: W3C Trace Context, Recommendation of 23 November 2021, sections 3.2 and 4.3.

use http::header::{HeaderMap, HeaderName, HeaderValue};
use tidegate_trace::{Context, FIELD};

const TRACEPARENT: HeaderName = HeaderName::from_static(FIELD);
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// Replaces the context of a request by that of the gate's span of it. Where the customer named
/// none, or a malformed one, a trace begins, and what others wrote about the former one goes.
/// Where nothing is traced, the fields stay as they are.
pub fn pass_on(headers: &mut HeaderMap) {
    let mut valid = false;
    let value = tidegate_trace::request(|| {
        let received = Context::received(headers.get_all(TRACEPARENT).iter().map(|v| v.as_bytes()));
        valid = received.is_some();
        received
    });
    let Some(value) = value.and_then(|value| HeaderValue::try_from(value).ok()) else { return };
    headers.insert(TRACEPARENT, value);
    if !valid {
        headers.remove(TRACESTATE);
    }
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
        pass_on(&mut headers);
        assert_eq!(headers, before);
    }
}
