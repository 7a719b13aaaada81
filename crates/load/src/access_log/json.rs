//! Lines of JSON, an object each: nginx's, Caddy's and Traefik's names of fields, the usual others,
//! and those that the user gives. Lines of the gate also name the session, and connections that were
//! not admitted.

use serde_json::Value;

use super::reading::{Keys, SessionField, cookie};
use super::{Entry, Request, time};

/// Where times usually are; the begin of a request before the time of its line.
const TIME: &[&str] = &[
    "StartUTC",
    "msec",
    "time_iso8601",
    "time_local",
    "ts",
    "timestamp",
    "@timestamp",
    "time",
    "datetime",
];
const CLIENT: &[&str] = &[
    "remote_addr",
    "request.client_ip",
    "request.remote_ip",
    "ClientHost",
    "client_ip",
    "clientip",
    "remote_ip",
    "client",
    "remote_host",
    "ip",
];
const AGENT: &[&str] = &[
    "http_user_agent",
    "request.headers.User-Agent",
    "request_User-Agent",
    "user_agent",
    "userAgent",
    "agent",
];
const METHOD: &[&str] = &["request_method", "request.method", "RequestMethod", "method"];
const PATH: &[&str] = &["request_uri", "request.uri", "RequestPath", "uri", "path", "url"];
/// A whole request line: method, path and version.
const REQUEST: &[&str] = &["request", "request_line"];
const STATUS: &[&str] = &["status", "DownstreamStatus", "status_code", "response.status", "code"];

/// What the gate decided about a connection: in its own lines alone.
const VERDICT: &str = "verdict";
/// The gate's name of the session.
const SESSION: &str = "session";

/// Reads a line.
///
/// # Errors
/// What is wrong with it.
pub(super) fn read(
    line: &str,
    keys: &Keys,
    session: Option<&SessionField>,
) -> Result<Entry, String> {
    let object: Value =
        serde_json::from_str(line).map_err(|error| format!("is no JSON: {error}"))?;
    if !object.is_object() {
        return Err("is no JSON object".to_owned());
    }
    let find = |own: &Option<String>, usual: &[&str]| match own {
        Some(key) => at(&object, key),
        None => usual.iter().find_map(|key| at(&object, key)),
    };
    let text = |own: &Option<String>, usual: &[&str]| find(own, usual).and_then(text);
    let lacks = |what: &str, own: &Option<String>, usual: &[&str]| match own {
        Some(key) => format!("has no {what} at {key}"),
        None => format!("has no {what}: it is at none of {}", usual.join(", ")),
    };
    let when = find(&keys.time, TIME).ok_or_else(|| lacks("time", &keys.time, TIME))?;
    let when = match when {
        Value::Number(number) => number.as_f64().and_then(time::epoch),
        other => other.as_str().and_then(time::any),
    };
    let client = text(&keys.client, CLIENT);
    let of_gate = at(&object, VERDICT).is_some_and(Value::is_string);
    let target = text(&keys.path, PATH);
    let request = match (target, text(&None, REQUEST)) {
        (Some(target), _) => {
            Request::of(&text(&keys.method, METHOD).unwrap_or_else(|| "GET".to_owned()), &target)
        }
        (None, Some(line)) if keys.path.is_none() => Request::of_line(&line),
        (None, _) if of_gate => None,
        (None, _) => return Err(lacks("path", &keys.path, PATH)),
    };
    let session = match session {
        Some(it) => at(&object, &it.field)
            .and_then(self::text)
            .and_then(|field| cookie(&field, it.cookie.as_deref())),
        None => at(&object, SESSION).filter(|_| of_gate).and_then(self::text),
    };
    let status = find(&keys.status, STATUS).and_then(|it| match it {
        Value::Number(number) => number.as_u64(),
        other => other.as_str()?.parse().ok(),
    });
    Ok(Entry {
        time: when.ok_or("has a time that is neither ISO 8601 nor seconds since 1970")?,
        client: client.ok_or_else(|| lacks("address", &keys.client, CLIENT))?,
        agent: text(&keys.agent, AGENT).unwrap_or_default(),
        status: status
            .or((of_gate && request.is_none()).then_some(0))
            .and_then(|it| u16::try_from(it).ok())
            .ok_or_else(|| lacks("status", &keys.status, STATUS))?,
        request,
        session,
    })
}

/// The value at a key, or at keys with dots between, whichever the object has. Of a list the first.
fn at<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    let value = match value {
        Value::Array(items) => items.first()?,
        other => other,
    };
    let found = value.get(key).or_else(|| {
        let (first, rest) = key.split_once('.')?;
        at(value.get(first)?, rest)
    })?;
    Some(found).filter(|it| !it.is_null())
}

/// A text or number as text; of a list the first. `None` of an empty one, and of `-`.
fn text(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Array(items) => return items.first().filter(|it| !it.is_array()).and_then(text),
        _ => return None,
    };
    Some(text).filter(|text| !text.is_empty() && text != "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(line: &str) -> Entry {
        read(line, &Keys::default(), None).unwrap()
    }

    #[test]
    fn lines_of_nginx_caddy_and_traefik_say_the_same() {
        let nginx = r#"{"time_iso8601":"2000-10-10T20:55:36+00:00","remote_addr":"10.0.0.7","request":"GET /a?b=c HTTP/1.1","status":"200","http_user_agent":"Mozilla"}"#;
        let caddy = r#"{"level":"info","ts":971211336.0,"logger":"http.log.access","request":{"remote_ip":"10.0.0.7","client_ip":"10.0.0.7","method":"GET","uri":"/a?b=c","headers":{"User-Agent":["Mozilla"],"Cookie":["x=1; sid=abc"]}},"status":200}"#;
        let traefik = r#"{"ClientAddr":"10.0.0.7:5","ClientHost":"10.0.0.7","DownstreamStatus":200,"RequestMethod":"GET","RequestPath":"/a?b=c","StartUTC":"2000-10-10T20:55:36Z","request_User-Agent":"Mozilla","time":"2000-10-10T20:55:37Z"}"#;
        assert_eq!(entry(nginx), entry(caddy));
        assert_eq!(entry(nginx), entry(traefik));
        let session = "request.headers.Cookie:sid".parse().unwrap();
        let with = read(caddy, &Keys::default(), Some(&session)).unwrap();
        assert_eq!(with.session.as_deref(), Some("abc"));
    }

    #[test]
    fn keys_of_the_users_go_before_the_usual_ones() {
        let line = r#"{"t":971211336000,"who":"a","what":{"verb":"post","to":"/x"},"r":201,"time":"no","path":"/y"}"#;
        let keys = "time=t,client=who,method=what.verb,path=what.to,status=r".parse().unwrap();
        let entry = read(line, &keys, None).unwrap();
        let request = entry.request.unwrap();
        assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", "/x"));
        assert_eq!((entry.time, entry.status), (971_211_336.0, 201));
    }

    #[test]
    fn lines_of_the_gate_name_the_session_and_those_of_refusals_are_no_requests() {
        let line = r#"{"time":"2000-10-10T20:55:36.250Z","client":"10.0.0.7","method":"GET","path":"/a","agent":"Mozilla","status":200,"verdict":"admitted","session":"00000000000000ab","total_ms":1.5}"#;
        let found = entry(line);
        assert_eq!(
            (found.time, found.session.as_deref()),
            (971_211_336.25, Some("00000000000000ab"))
        );
        assert_eq!(entry(&line.replace("verdict", "v")).session, None, "of another server");
        let refused = entry(
            r#"{"time":"2000-10-10T20:55:36.250Z","client":"10.0.0.7","verdict":"refused","reason":"hold_expired"}"#,
        );
        assert_eq!((refused.request, refused.status), (None, 0));
    }

    #[test]
    fn what_is_wrong_with_a_line_is_told() {
        for (line, expected) in [
            ("{", "is no JSON: EOF"),
            ("[1]", "is no JSON object"),
            ("{}", "has no time: it is at none of StartUTC, msec"),
            (r#"{"ts":1,"ip":"a","status":200}"#, "has no path"),
            (r#"{"ts":1,"path":"/","status":200}"#, "has no address"),
            (r#"{"ts":1,"path":"/","ip":"a"}"#, "has no status"),
            (r#"{"ts":"soon","path":"/","ip":"a","status":1}"#, "neither ISO 8601 nor seconds"),
        ] {
            let error = read(line, &Keys::default(), None).unwrap_err();
            assert!(error.contains(expected), "{line}: {error}");
        }
        let keys = "time=when".parse().unwrap();
        let error = read(r#"{"ts":1}"#, &keys, None).unwrap_err();
        assert!(error.contains("has no time at when"), "{error}");
    }
}
