//! The two forms of a line: JSON, and the combined format of Apache and nginx.

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::IpAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Most bytes of a path with its query.
const PATH: usize = 2048;
/// Most bytes of any other field that the customer wrote.
const FIELD: usize = 512;

/// What a line says.
#[derive(Debug)]
pub struct Line<'l> {
    /// When the request's head was read, or the connection was refused.
    pub time: SystemTime,
    /// The customer's address.
    pub client: IpAddr,
    /// The class of the connection.
    pub class: &'static str,
    /// What was decided about it.
    pub verdict: &'static str,
    /// The number of the session, where there is one.
    pub session: Option<u64>,
    /// Phases in the order of their names, each with its time.
    pub phases: &'l [(&'static str, Duration)],
    /// The exchange; none where the connection was refused.
    pub exchange: Option<Exchange<'l>>,
    /// Why the connection was refused.
    pub reason: Option<&'static str>,
}

/// A request and its response.
#[derive(Debug)]
pub struct Exchange<'l> {
    /// The request's head; none where it could not be read.
    pub request: Option<Request<'l>>,
    /// Status of the response; 499 where none began.
    pub status: u16,
    /// Whether the whole response was handed to the kernel.
    pub complete: bool,
    /// Bytes of the response's body.
    pub sent: u64,
    /// Bytes of the request's body that passed.
    pub received: u64,
    /// What answered: `upstream`, `static` or `gate`.
    pub answered_by: &'static str,
    /// The path of its route; none by `[upstream]`.
    pub route: Option<&'l str>,
    /// How the upstream failed.
    pub upstream_error: Option<&'static str>,
    /// How the WebSocket ended that the exchange opened.
    pub tunnel_end: Option<&'static str>,
    /// The identifier that the upstream received.
    pub request_id: Option<u128>,
    /// The trace context that the upstream received.
    pub traceparent: Option<&'l [u8]>,
}

/// A request's head.
#[derive(Debug)]
pub struct Request<'l> {
    /// The method.
    pub method: &'l str,
    /// The path, with the query where that is wanted.
    pub path: &'l str,
    /// The version, such as `HTTP/1.1`.
    pub version: &'static str,
    /// `Host`, or the host of the target.
    pub host: &'l [u8],
    /// `Referer`, without its query unless that is wanted.
    pub referer: &'l [u8],
    /// `User-Agent`.
    pub agent: &'l [u8],
}

/// Writes the texts of times; those of a second are made once.
#[derive(Debug, Default)]
pub struct TimeText {
    second: u64,
    /// `2000-10-10T13:55:36`
    iso: String,
    /// `10/Oct/2000:13:55:36 +0000`
    common: String,
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

impl TimeText {
    /// Makes the texts of the second of this time. Returns its milliseconds.
    fn at(&mut self, time: SystemTime) -> u32 {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        if self.second != since.as_secs() || self.iso.is_empty() {
            self.second = since.as_secs();
            self.iso.clear();
            self.common.clear();
            // `Tue, 10 Oct 2000 13:55:36 GMT`: fields of fixed width.
            let text = httpdate::fmt_http_date(time.max(UNIX_EPOCH));
            let (day, month) = (&text[5..7], &text[8..11]);
            let (year, clock) = (&text[12..16], &text[17..25]);
            let number = 1 + MONTHS.iter().position(|name| *name == month).unwrap_or_default();
            let _ = write!(self.iso, "{year}-{number:02}-{day}T{clock}");
            let _ = write!(self.common, "{day}/{month}/{year}:{clock} +0000");
        }
        since.subsec_millis()
    }
}

impl Line<'_> {
    /// Appends it as an object of JSON.
    pub fn json(&self, times: &mut TimeText, to: &mut Vec<u8>) {
        let millis = times.at(self.time);
        let _ =
            write!(to, "{{\"time\":\"{}.{millis:03}Z\",\"client\":\"{}\"", times.iso, self.client);
        if let Some(exchange) = &self.exchange {
            exchange.json(to);
        }
        let _ = write!(to, ",\"class\":\"{}\",\"verdict\":\"{}\"", self.class, self.verdict);
        if let Some(reason) = self.reason {
            let _ = write!(to, ",\"reason\":\"{reason}\"");
        }
        if let Some(session) = self.session {
            let _ = write!(to, ",\"session\":\"{session:016x}\"");
        }
        for (name, took) in self.phases {
            let micros = took.as_micros();
            let _ = write!(to, ",\"{name}_ms\":{}.{:03}", micros / 1_000, micros % 1_000);
        }
        to.extend_from_slice(b"}\n");
    }

    /// Appends it in the combined format. The session stands where RFC 1413 had the user of the
    /// client's machine, which nobody uses any more.
    pub fn combined(&self, times: &mut TimeText, to: &mut Vec<u8>) {
        times.at(self.time);
        let _ = write!(to, "{} ", self.client);
        let _ = match self.session {
            Some(session) => write!(to, "{session:016x}"),
            None => write!(to, "-"),
        };
        let _ = write!(to, " - [{}] \"", times.common);
        let request = self.exchange.as_ref().and_then(|exchange| exchange.request.as_ref());
        match request {
            Some(request) => {
                let _ = write!(to, "{} ", request.method);
                quoted(shortened(request.path.as_bytes(), PATH), to);
                let _ = write!(to, " {}", request.version);
            }
            None => to.push(b'-'),
        }
        let (status, sent) = self.exchange.as_ref().map_or((0, 0), |it| (it.status, it.sent));
        let _ = write!(to, "\" {status:03} {sent} \"");
        for (at, field) in
            [request.map(|it| it.referer), request.map(|it| it.agent)].iter().enumerate()
        {
            if at > 0 {
                to.extend_from_slice(b"\" \"");
            }
            match field {
                Some(text) if !text.is_empty() => quoted(shortened(text, FIELD), to),
                _ => to.push(b'-'),
            }
        }
        to.extend_from_slice(b"\"\n");
    }
}

impl Exchange<'_> {
    fn json(&self, to: &mut Vec<u8>) {
        if let Some(request) = &self.request {
            let _ = write!(to, ",\"method\":\"{}\",\"path\":", request.method);
            json_text(shortened(request.path.as_bytes(), PATH), to);
            let _ = write!(to, ",\"version\":\"{}\"", request.version);
            for (name, value) in
                [("host", request.host), ("referer", request.referer), ("agent", request.agent)]
            {
                if !value.is_empty() {
                    let _ = write!(to, ",\"{name}\":");
                    json_text(shortened(value, FIELD), to);
                }
            }
        }
        let Self { status, complete, sent, received, answered_by, .. } = self;
        let _ = write!(
            to,
            ",\"status\":{status},\"complete\":{complete},\"bytes_sent\":{sent},\
             \"bytes_received\":{received},\"answered_by\":\"{answered_by}\""
        );
        if let Some(route) = self.route {
            to.extend_from_slice(b",\"route\":");
            json_text(route.as_bytes(), to);
        }
        if let Some(error) = self.upstream_error {
            let _ = write!(to, ",\"upstream_error\":\"{error}\"");
        }
        if let Some(end) = self.tunnel_end {
            let _ = write!(to, ",\"tunnel_end\":\"{end}\"");
        }
        if let Some(id) = self.request_id {
            let _ = write!(to, ",\"request_id\":\"{id:032x}\"");
        }
        if let Some(traceparent) = self.traceparent {
            to.extend_from_slice(b",\"traceparent\":");
            json_text(traceparent, to);
        }
    }
}

/// A text of at most so many bytes.
fn shortened(text: &[u8], most: usize) -> &[u8] {
    &text[..text.len().min(most)]
}

/// Appends bytes as a string of JSON; what is not UTF-8 is replaced.
fn json_text(text: &[u8], to: &mut Vec<u8>) {
    let plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    if text.iter().all(plain) {
        to.push(b'"');
        to.extend_from_slice(text);
        to.push(b'"');
    } else {
        // Writing to memory does not fail.
        let _ = serde_json::to_writer(to, &String::from_utf8_lossy(text));
    }
}

/// Appends bytes to a text in quotes, as nginx does: what could end it or is not printable ASCII
/// as `\xHH`.
fn quoted(text: &[u8], to: &mut Vec<u8>) {
    for byte in text {
        match byte {
            b'"' | b'\\' | ..b' ' | 0x7f.. => {
                let _ = write!(to, "\\x{byte:02X}");
            }
            plain => to.push(*plain),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn request(path: &'static str, agent: &'static [u8]) -> Request<'static> {
        let (host, referer) = (b"shop.example", b"https://shop.example/");
        Request { method: "GET", path, version: "HTTP/1.1", host, referer, agent }
    }

    fn line<'l>(request: Option<Request<'l>>, phases: &'l [(&'static str, Duration)]) -> Line<'l> {
        Line {
            // 10 October 2000, 20:55:36.25 UTC.
            time: UNIX_EPOCH + Duration::from_millis(971_211_336_250),
            client: Ipv4Addr::new(10, 0, 0, 7).into(),
            class: "new",
            verdict: "admitted",
            session: Some(0xab),
            phases,
            exchange: Some(Exchange {
                request,
                status: 200,
                complete: true,
                sent: 2326,
                received: 0,
                answered_by: "upstream",
                route: Some("/shop/"),
                upstream_error: None,
                tunnel_end: None,
                request_id: Some(5),
                traceparent: None,
            }),
            reason: None,
        }
    }

    fn text(write: impl Fn(&mut TimeText, &mut Vec<u8>)) -> String {
        let mut bytes = Vec::new();
        write(&mut TimeText::default(), &mut bytes);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn an_exchange_is_an_object_of_json() {
        let phases =
            [("queue", Duration::from_micros(1_500)), ("total", Duration::from_millis(20))];
        let line = line(Some(request("/shop/\u{e4}", b"Mozilla \"5\"\x01\xff")), &phases);
        assert_eq!(
            text(|times, to| line.json(times, to)),
            "{\"time\":\"2000-10-10T20:55:36.250Z\",\"client\":\"10.0.0.7\",\"method\":\"GET\",\
             \"path\":\"/shop/\u{e4}\",\"version\":\"HTTP/1.1\",\"host\":\"shop.example\",\
             \"referer\":\"https://shop.example/\",\"agent\":\"Mozilla \\\"5\\\"\\u0001\u{fffd}\",\
             \"status\":200,\"complete\":true,\"bytes_sent\":2326,\"bytes_received\":0,\
             \"answered_by\":\"upstream\",\"route\":\"/shop/\",\
             \"request_id\":\"00000000000000000000000000000005\",\"class\":\"new\",\
             \"verdict\":\"admitted\",\"session\":\"00000000000000ab\",\"queue_ms\":1.500,\
             \"total_ms\":20.000}\n"
        );
    }

    #[test]
    fn a_combined_line_cannot_be_forged_by_a_customer() {
        let line = line(Some(request("/a", b"x\" 200 1\n10.0.0.1 \\")), &[]);
        assert_eq!(
            text(|times, to| line.combined(times, to)),
            "10.0.0.7 00000000000000ab - [10/Oct/2000:20:55:36 +0000] \"GET /a HTTP/1.1\" 200 2326 \
             \"https://shop.example/\" \"x\\x22 200 1\\x0A10.0.0.1 \\x5C\"\n"
        );
    }

    #[test]
    fn a_line_is_bounded_whatever_the_customer_sends() {
        let path: &str = Box::leak("/\u{1}".repeat(20_000).into_boxed_str());
        let agent: &[u8] = Box::leak(vec![0xff; 30_000].into_boxed_slice());
        let line = line(Some(request(path, agent)), &[]);
        // A byte takes six at most.
        let most = 6 * (PATH + 2 * FIELD) + 1_000;
        assert!(text(|times, to| line.json(times, to)).len() < most);
        assert!(text(|times, to| line.combined(times, to)).len() < most);
    }

    #[test]
    fn a_refusal_has_no_request() {
        let refused = Line {
            exchange: None,
            session: None,
            verdict: "refused",
            reason: Some("hold_expired"),
            ..line(None, &[])
        };
        assert_eq!(
            text(|times, to| refused.json(times, to)),
            "{\"time\":\"2000-10-10T20:55:36.250Z\",\"client\":\"10.0.0.7\",\"class\":\"new\",\
             \"verdict\":\"refused\",\"reason\":\"hold_expired\"}\n"
        );
        assert_eq!(
            text(|times, to| refused.combined(times, to)),
            "10.0.0.7 - - [10/Oct/2000:20:55:36 +0000] \"-\" 000 0 \"-\" \"-\"\n"
        );
    }
}
