//! What a program writes: header fields, an empty line, a body.

use axum::body::Body;
use axum::response::Response;
use http::{HeaderName, HeaderValue, StatusCode};

/// Most bytes of the header.
const HEADER: usize = 32 * 1024;
/// Fields that belong to the server's own connection.
const OF_CONNECTION: [&str; 6] =
    ["connection", "content-length", "keep-alive", "te", "transfer-encoding", "upgrade"];

/// The response that a program has written.
///
/// # Errors
/// It is none: why.
pub fn response(mut written: Vec<u8>) -> Result<Response, String> {
    let (fields, begin) = header(&written)?;
    let mut response = Response::new(Body::empty());
    let mut typed = false;
    for line in fields.lines() {
        let (name, value) =
            line.split_once(':').ok_or_else(|| format!("{line:?} is no header field"))?;
        let value = value.trim();
        if name.eq_ignore_ascii_case("status") {
            let code = value.split(' ').next().and_then(|code| code.parse::<u16>().ok());
            let code = code.and_then(|code| StatusCode::from_u16(code).ok());
            *response.status_mut() = code.ok_or_else(|| format!("{value:?} is no status"))?;
            continue;
        }
        let name = HeaderName::try_from(name).map_err(|error| format!("{name:?}: {error}"))?;
        let value = HeaderValue::try_from(value).map_err(|error| format!("{name}: {error}"))?;
        typed |= name == http::header::CONTENT_TYPE;
        if !OF_CONNECTION.contains(&name.as_str()) {
            response.headers_mut().append(name, value);
        }
    }
    // A redirection has no body that a type would be of.
    if !typed && !response.status().is_redirection() {
        return Err("it has no Content-Type".into());
    }
    written.drain(..begin);
    *response.body_mut() = Body::from(written);
    Ok(response)
}

/// The header's text, and where the body begins.
fn header(written: &[u8]) -> Result<(&str, usize), String> {
    let head = &written[..written.len().min(HEADER)];
    let ends = [(&b"\r\n\r\n"[..]), b"\n\n"].map(|end| {
        head.windows(end.len()).position(|window| window == end).map(|at| (at, at + end.len()))
    });
    let (end, begin) =
        ends.into_iter().flatten().min().ok_or("its header has no end within 32 KiB")?;
    let text = std::str::from_utf8(&head[..end]).map_err(|_| "its header is not text")?;
    Ok((text, begin))
}

/// A response as a program writes it.
pub fn written(status: StatusCode, headers: &http::HeaderMap, body: &[u8]) -> Vec<u8> {
    let reason = status.canonical_reason().unwrap_or_default();
    let mut bytes = format!("Status: {} {reason}\r\n", status.as_u16()).into_bytes();
    for (name, value) in headers {
        bytes.extend_from_slice(name.as_str().as_bytes());
        bytes.extend_from_slice(b": ");
        bytes.extend_from_slice(value.as_bytes());
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body);
    bytes
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;
    use proptest::prelude::*;

    use super::*;

    #[tokio::test]
    async fn a_response_is_read_as_it_was_written() {
        let mut headers = http::HeaderMap::new();
        headers.insert("content-type", "text/html".parse().unwrap());
        headers.append("set-cookie", "a=1".parse().unwrap());
        headers.append("set-cookie", "b=2".parse().unwrap());
        let read = response(written(StatusCode::CONFLICT, &headers, b"<p>\r\n\r\n\xff")).unwrap();
        assert_eq!((read.status(), read.headers()), (StatusCode::CONFLICT, &headers));
        let body = read.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(&body[..], b"<p>\r\n\r\n\xff");
    }

    #[test]
    fn lines_may_end_as_on_this_system_and_the_status_may_be_missing() {
        let read = response(b"Content-Type: text/plain\nConnection: close\n\nx".into()).unwrap();
        assert_eq!((read.status().as_u16(), read.headers().len()), (200, 1));
    }

    #[test]
    fn a_redirection_needs_no_type() {
        let read = response(b"Status: 303 See Other\nLocation: /deposits/1\n\n".into()).unwrap();
        assert_eq!(
            (read.status().as_u16(), &read.headers()["location"]),
            (303, &"/deposits/1".parse().unwrap())
        );
    }

    #[test]
    fn what_is_no_response_is_told() {
        for (text, expected) in [
            (&b""[..], "no end"),
            (b"Content-Type: text/html", "no end"),
            (b"\n\n", "no Content-Type"),
            (b"hello\n\n", "is no header field"),
            (b"Status: 200\n\n", "no Content-Type"),
            (b"Status: abc\nContent-Type: a/b\n\n", "is no status"),
            (b"Status: 99\nContent-Type: a/b\n\n", "is no status"),
            (b"b ad: x\n\n", "b ad"),
            (b"\xff: x\n\n", "not text"),
        ] {
            let error = response(text.into()).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        assert!(response(vec![b'a'; 40_000]).unwrap_err().contains("no end within 32 KiB"));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
            let _ = response(bytes);
        }
    }
}
