//! Which responses are streams of events: the upstream may be silent in them for long.

use http::HeaderMap;
use http::header::{CONTENT_TYPE, HeaderValue};
use http_body::Body;

/// The content types of streams of events.
#[derive(Debug)]
pub struct StreamTypes(Vec<String>);

impl StreamTypes {
    /// These types, without parameters.
    pub fn new(types: &[String]) -> Self {
        Self(types.to_vec())
    }

    /// Whether a response with this head and body begins a stream of events. One whose
    /// length is known is none.
    pub fn begins_stream(&self, headers: &HeaderMap, body: &impl Body) -> bool {
        !body.is_end_stream()
            && body.size_hint().exact().is_none()
            && headers.get(CONTENT_TYPE).is_some_and(|value| self.contains(value))
    }

    /// Source: RFC 9110, section 8.3.1: names are case-insensitive, and parameters follow
    /// a semicolon.
    fn contains(&self, value: &HeaderValue) -> bool {
        let value = value.as_bytes();
        let end = memchr::memchr(b';', value).unwrap_or(value.len());
        let given = value[..end].trim_ascii();
        self.0.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(given))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::{Empty, Full};
    use hyper::body::{Bytes, Frame};

    #[test]
    fn a_response_of_a_listed_type_and_unknown_length_is_a_stream() {
        let types = StreamTypes::new(&["text/event-stream".into(), "application/x-ndjson".into()]);
        let streams = |value: &'static str| {
            let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(value))]);
            let lengths = [
                types.begins_stream(&headers, &Open),
                types.begins_stream(&headers, &Full::new(Bytes::from_static(b"data: 1"))),
                types.begins_stream(&headers, &Empty::<Bytes>::new()),
            ];
            assert!(!lengths[1] && !lengths[2], "a length is known");
            lengths[0]
        };
        assert!(streams("text/event-stream") && streams("Text/Event-Stream ; charset=utf-8"));
        assert!(streams("application/x-ndjson"));
        assert!(!streams("text/html") && !streams("text/event-streams") && !streams(""));
        assert!(!types.begins_stream(&HeaderMap::new(), &Open));
    }

    /// A body without end.
    struct Open;

    impl Body for Open {
        type Data = Bytes;
        type Error = std::convert::Infallible;

        fn poll_frame(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
            std::task::Poll::Pending
        }
    }
}
