//! The environment of a program: what a request consists of, beside its body.

use http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, PROXY_AUTHORIZATION};
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Request, Uri, Version};

/// Variables that take no header of a request: `HTTP_PROXY` would make libraries send
/// their requests there.
const KEPT_OUT: [HeaderName; 3] =
    [HeaderName::from_static("proxy"), AUTHORIZATION, PROXY_AUTHORIZATION];

/// What the server knows about a request beyond its header.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// Whence the customer comes.
    pub client: std::net::IpAddr,
    /// The browser reaches the site over TLS.
    pub secure: bool,
    /// Where the request arrived.
    pub local: std::net::SocketAddr,
    /// Bytes of the body.
    pub length: usize,
}

/// The variables of a request.
pub fn variables(request: &Parts, around: &Surroundings) -> Vec<(String, String)> {
    let query = request.uri.query().unwrap_or_default();
    let mut variables: Vec<(String, String)> = [
        ("GATEWAY_INTERFACE", "CGI/1.1"),
        ("SERVER_SOFTWARE", "tidegate"),
        ("SERVER_PROTOCOL", "HTTP/1.1"),
        ("SCRIPT_NAME", ""),
        ("REQUEST_METHOD", request.method.as_str()),
        ("PATH_INFO", request.uri.path()),
        ("QUERY_STRING", query),
    ]
    .map(|(name, value)| (name.into(), value.into()))
    .into();
    let mut set = |name: &str, value: String| variables.push((name.into(), value));
    set("SERVER_NAME", around.local.ip().to_string());
    set("SERVER_PORT", around.local.port().to_string());
    set("REMOTE_ADDR", around.client.to_string());
    if around.secure {
        set("HTTPS", "on".into());
    }
    if around.length > 0 {
        set("CONTENT_LENGTH", around.length.to_string());
    }
    if let Some(kind) = text(request.headers.get(CONTENT_TYPE)) {
        set("CONTENT_TYPE", kind.into());
    }
    for name in request.headers.keys() {
        let forwarded = name.as_str().starts_with("x-forwarded-");
        // A variable has `_` for `-`: it would be the one of another header.
        if name.as_str().contains('_') {
            continue;
        }
        // What the server has resolved, or gives by a variable of its own.
        if KEPT_OUT.contains(name) || forwarded || [CONTENT_TYPE, CONTENT_LENGTH].contains(name) {
            continue;
        }
        let values: Vec<&str> =
            request.headers.get_all(name).iter().filter_map(|value| text(Some(value))).collect();
        // Cookies are separated by semicolons, all else by commas.
        let separator = if name == http::header::COOKIE { "; " } else { ", " };
        let variable = format!("HTTP_{}", name.as_str().to_uppercase().replace('-', "_"));
        set(&variable, values.join(separator));
    }
    variables
}

fn text(value: Option<&HeaderValue>) -> Option<&str> {
    value.and_then(|value| value.to_str().ok())
}

/// The request that the variables describe, with this body.
///
/// # Errors
/// The variables are of no request: which, and why.
pub fn request<B>(
    variables: impl Iterator<Item = (String, String)>,
    body: B,
) -> Result<Request<B>, String> {
    let (mut method, mut path, mut query) = (None, String::new(), String::new());
    let mut headers = HeaderMap::new();
    for (name, value) in variables {
        let header = match name.as_str() {
            "REQUEST_METHOD" => {
                let read = Method::from_bytes(value.as_bytes());
                method = Some(read.map_err(|error| format!("REQUEST_METHOD: {error}"))?);
                continue;
            }
            "PATH_INFO" => {
                path = value;
                continue;
            }
            "QUERY_STRING" => {
                query = value;
                continue;
            }
            "CONTENT_TYPE" => "content-type".to_owned(),
            "CONTENT_LENGTH" => "content-length".to_owned(),
            other => match other.strip_prefix("HTTP_") {
                Some(header) => header.to_lowercase().replace('_', "-"),
                None => continue,
            },
        };
        let wrong = |error: &dyn std::fmt::Display| format!("{name}: {error}");
        let header = HeaderName::try_from(header).map_err(|error| wrong(&error))?;
        headers.insert(header, HeaderValue::try_from(value).map_err(|error| wrong(&error))?);
    }
    let separator = if query.is_empty() { "" } else { "?" };
    let uri = Uri::try_from(format!("{path}{separator}{query}"))
        .map_err(|error| format!("PATH_INFO and QUERY_STRING: {error}"))?;
    let mut request = Request::new(body);
    *request.method_mut() = method.ok_or("REQUEST_METHOD is not set")?;
    *request.uri_mut() = uri;
    *request.version_mut() = Version::HTTP_11;
    *request.headers_mut() = headers;
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around() -> Surroundings {
        Surroundings {
            client: "192.0.2.7".parse().unwrap(),
            secure: true,
            local: "10.0.0.1:8080".parse().unwrap(),
            length: 3,
        }
    }

    #[test]
    fn a_request_survives_the_way_through_the_environment() {
        let sent = Request::post("/orders/7/cancel?a=b%20c")
            .header("host", "bank:8080")
            .header("cookie", "a=1")
            .header("cookie", "session=2")
            .header("content-type", "application/x-www-form-urlencoded")
            .header("sec-fetch-site", "same-origin")
            .body(())
            .unwrap();
        let (parts, ()) = sent.into_parts();
        let variables = variables(&parts, &around());
        let received = request(variables.into_iter(), ()).unwrap();
        assert_eq!((received.method(), received.uri()), (&parts.method, &parts.uri));
        let value = |name: &str| received.headers()[name].to_str().unwrap();
        assert_eq!(value("cookie"), "a=1; session=2");
        assert_eq!(value("content-length"), "3");
        for name in ["host", "content-type", "sec-fetch-site"] {
            assert_eq!(value(name), parts.headers[name].to_str().unwrap());
        }
    }

    #[test]
    fn no_header_becomes_a_variable_that_means_something_else() {
        let sent = Request::get("/main")
            .header("proxy", "http://evil")
            .header("authorization", "Basic eA==")
            .header("x-forwarded-for", "198.51.100.1")
            .header("x-forwarded-proto", "https")
            .body(())
            .unwrap();
        let plain = Surroundings { secure: false, length: 0, ..around() };
        let variables = variables(&sent.into_parts().0, &plain);
        let names: Vec<&str> = variables.iter().map(|(name, _)| name.as_str()).collect();
        assert!(!names.iter().any(|name| name.starts_with("HTTP")), "{names:?}");
        assert!(!names.contains(&"CONTENT_LENGTH"));
        assert!(variables.contains(&("REMOTE_ADDR".into(), "192.0.2.7".into())));
        assert!(variables.contains(&("GATEWAY_INTERFACE".into(), "CGI/1.1".into())));
    }

    #[test]
    fn a_header_with_an_underscore_is_left_out_and_cannot_pose_as_another() {
        let sent = Request::get("/main")
            .header("x_forwarded_for", "198.51.100.1")
            .header("x-forwarded_proto", "https")
            .header("sec_fetch_site", "same-origin")
            .header("content_type", "text/plain")
            .header("sec-fetch-site", "cross-site")
            .body(())
            .unwrap();
        let plain = Surroundings { secure: false, length: 0, ..around() };
        let variables = variables(&sent.into_parts().0, &plain);
        let received = request(variables.into_iter(), ()).unwrap();
        assert_eq!(received.headers().len(), 1, "{:?}", received.headers());
        assert_eq!(received.headers()["sec-fetch-site"], "cross-site");
    }

    #[test]
    fn variables_of_no_request_are_named() {
        let of = |pairs: &[(&str, &str)]| {
            let owned = pairs.iter().map(|(name, value)| ((*name).into(), (*value).into()));
            request(owned, ()).unwrap_err()
        };
        assert!(of(&[("PATH_INFO", "/")]).contains("REQUEST_METHOD is not set"));
        assert!(of(&[("REQUEST_METHOD", "G T")]).contains("REQUEST_METHOD"));
        assert!(of(&[("REQUEST_METHOD", "GET"), ("PATH_INFO", "a b")]).contains("PATH_INFO"));
        let line = of(&[("REQUEST_METHOD", "GET"), ("PATH_INFO", "/"), ("HTTP_X", "a\nb")]);
        assert!(line.contains("HTTP_X"), "{line}");
    }
}
