//! Parses the head of a response.
//!
//! Source: RFC 9112, sections 2 to 6.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::mem::MaybeUninit;

use super::body::Body;
use super::coding::Coding;

/// The field of a gate's waiting room.
pub(super) const WAITING_ROOM: &str = "tidegate-waiting-room";
/// Most header fields of an answer.
const HEADERS: usize = 100;

/// The parsed head of a response.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) reusable: bool,
    pub(crate) body: Body,
    pub(crate) coding: Coding,
    pub(crate) fields: Option<Box<Fields>>,
}

/// Header fields that are rare or requested by rules; boxed, so that other responses need no
/// room for them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Fields {
    pub(crate) location: Option<String>,
    /// Values of Set-Cookie.
    pub(crate) cookies: Vec<String>,
    /// The page is one of a gate's waiting room.
    pub(crate) waiting: Option<WaitingPage>,
    /// Those that were wanted, in the order they came.
    pub(crate) headers: Vec<(String, String)>,
}

/// What a page of a gate's waiting room says, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WaitingPage {
    /// When it is to be asked for again; 0 if it does not say.
    pub(crate) refresh_s: u32,
    /// When the customer will probably be let in.
    pub(crate) estimate_s: Option<u32>,
}

impl Fields {
    /// `None` where there are none.
    pub(crate) fn boxed(self) -> Option<Box<Self>> {
        (self != Self::default()).then(|| Box::new(self))
    }
}

impl Head {
    /// Parses a head at the beginning of the buffer: its length and content,
    /// `None` if it is not whole yet.
    pub(crate) fn parse(
        buffer: &[u8],
        head_only: bool,
        wanted: &[String],
    ) -> Result<Option<(usize, Self)>, ()> {
        if buffer.is_empty() {
            return Ok(None);
        }
        // Not filled in before: that would be three kilobytes for every answer.
        let mut headers = [const { MaybeUninit::uninit() }; HEADERS];
        let mut response = httparse::Response::new(&mut []);
        let used = match httparse::ParserConfig::default().parse_response_with_uninit_headers(
            &mut response,
            buffer,
            &mut headers,
        ) {
            Ok(httparse::Status::Complete(used)) => used,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(_) => return Err(()),
        };
        let status = response.code.ok_or(())?;
        let mut reusable = response.version == Some(1);
        let mut length: Option<u64> = None;
        let mut chunked = false;
        let mut coded = false;
        let mut coding = Coding::default();
        let mut fields = Fields::default();
        for header in response.headers.iter() {
            let name = header.name;
            let text = || std::str::from_utf8(header.value).map(str::trim);
            if let Some(name) = wanted.iter().find(|wanted| name.eq_ignore_ascii_case(wanted)) {
                fields.headers.push((name.clone(), readable(header.value)));
            }
            if name.eq_ignore_ascii_case("content-length") {
                let value: u64 = text().map_err(drop)?.parse().map_err(drop)?;
                if length.is_some_and(|known| known != value) {
                    return Err(());
                }
                length = Some(value);
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                coded = true;
                let last = text().map_err(drop)?.rsplit(',').next().unwrap_or_default();
                chunked = last.trim().eq_ignore_ascii_case("chunked");
            } else if name.eq_ignore_ascii_case("connection") {
                for option in text().unwrap_or_default().split(',') {
                    match option.trim() {
                        o if o.eq_ignore_ascii_case("close") => reusable = false,
                        o if o.eq_ignore_ascii_case("keep-alive") => reusable = true,
                        _ => {}
                    }
                }
            } else if name.eq_ignore_ascii_case("content-encoding") {
                // Several fields are several codings.
                coding = match coding {
                    Coding::Identity => Coding::of(text().unwrap_or("?")),
                    _ => Coding::Unknown,
                };
            } else if name.eq_ignore_ascii_case("location") {
                fields.location = Some(location(header.value));
            } else if name.eq_ignore_ascii_case(WAITING_ROOM) {
                fields.waiting = Some(WaitingPage::of(header.value));
            } else if name.eq_ignore_ascii_case("set-cookie") {
                fields.cookies.extend(text().ok().map(str::to_owned));
            }
        }
        let body = if head_only || status < 200 || status == 204 || status == 304 {
            Body::Done
        } else if coded {
            // A length beside a coding may be an attack on someone between:
            // follow the coding, then close the connection.
            reusable &= length.is_none();
            if chunked { Body::chunked() } else { Body::UntilClose }
        } else {
            match length {
                Some(0) => Body::Done,
                Some(left) => Body::Length(left),
                None => Body::UntilClose,
            }
        };
        Ok(Some((used, Self { status, reusable, body, coding, fields: fields.boxed() })))
    }
}

impl WaitingPage {
    /// Reads the field: `line, place=3, estimate=40, refresh=5`.
    pub(super) fn of(value: &[u8]) -> Self {
        let seconds = |name: &[u8]| {
            let mut parts = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
            let digits = parts.find_map(|part| part.strip_prefix(name))?;
            std::str::from_utf8(digits).ok()?.parse().ok()
        };
        Self {
            refresh_s: seconds(b"refresh=").unwrap_or_default(),
            estimate_s: seconds(b"estimate="),
        }
    }
}

/// The address in a Location: bytes beyond ASCII are percent-encoded, as browsers do.
pub(super) fn location(value: &[u8]) -> String {
    let mut address = String::with_capacity(value.len());
    for byte in value.trim_ascii() {
        match byte {
            0..0x80 => address.push(*byte as char),
            // Writing to a String cannot fail.
            _ => drop(write!(address, "%{byte:02X}")),
        }
    }
    address
}

/// The value of a header field as text: UTF-8, else ISO 8859-1, in which every byte is a
/// character.
pub(super) fn readable(value: &[u8]) -> String {
    let value = value.trim_ascii();
    match std::str::from_utf8(value) {
        Ok(text) => text.to_owned(),
        Err(_) => value.iter().map(|byte| *byte as char).collect(),
    }
}

/// The last head without fields of interest. Repeated requests for one page get the same
/// bytes, which need not be parsed again.
#[derive(Debug, Default)]
pub(crate) struct LastHead(RefCell<(Vec<u8>, Option<Plain>)>);

/// The content of such a head.
#[derive(Clone, Copy, Debug)]
struct Plain {
    status: u16,
    reusable: bool,
    body: Body,
    coding: Coding,
}

impl LastHead {
    /// Same result as [`Head::parse`].
    pub(crate) fn parse(
        &self,
        buffer: &[u8],
        head_only: bool,
        wanted: &[String],
    ) -> Result<Option<(usize, Head)>, ()> {
        if head_only || !wanted.is_empty() {
            return Head::parse(buffer, head_only, wanted);
        }
        let (bytes, plain) = &mut *self.0.borrow_mut();
        if let Some(Plain { status, reusable, body, coding }) = *plain
            && buffer.starts_with(bytes)
        {
            let head = Head { status, reusable, body, coding, fields: None };
            return Ok(Some((bytes.len(), head)));
        }
        let parsed = Head::parse(buffer, false, &[])?;
        if let Some((used, head)) = &parsed
            && head.fields.is_none()
        {
            let Head { status, reusable, body, coding, .. } = *head;
            *plain = Some(Plain { status, reusable, body, coding });
            bytes.clear();
            bytes.extend_from_slice(&buffer[..*used]);
        }
        Ok(parsed)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_head_determines_the_length_of_the_body() {
        let parse = |text: &str| Head::parse(text.as_bytes(), false, &[]);
        let head = |text: &str| parse(text).unwrap().unwrap().1;
        let plain = head("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
        assert!(matches!(plain.body, Body::Length(5)) && plain.reusable);
        let open = head("HTTP/1.1 200 OK\r\n\r\n");
        assert!(matches!(open.body, Body::UntilClose));
        let old = head("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n");
        assert!(matches!(old.body, Body::Done) && !old.reusable);
        let both =
            head("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n");
        assert!(matches!(both.body, Body::Chunked(_)) && !both.reusable);
        assert!(
            parse("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n").is_err()
        );
        assert!(parse("SSH-2.0-x\r\n\r\n").is_err());
        assert!(parse("HTTP/1.1 200 OK\r\nContent-").unwrap().is_none());
    }

    #[test]
    fn a_page_of_a_waiting_room_says_when_to_ask_again() {
        let waiting = |field: &str| {
            let text = format!("HTTP/1.1 503 Busy\r\n{field}Content-Length: 0\r\n\r\n");
            let (_, head) = Head::parse(text.as_bytes(), false, &[]).unwrap().unwrap();
            let page = head.fields.and_then(|fields| fields.waiting)?;
            Some((page.refresh_s, page.estimate_s))
        };
        let full = "Tidegate-Waiting-Room: line, place=3, estimate=40, low=30, refresh=7\r\n";
        assert_eq!(waiting(full), Some((7, Some(40))));
        assert_eq!(waiting("Tidegate-Waiting-Room: line, place=3, refresh=7\r\n"), Some((7, None)));
        assert_eq!(waiting("tidegate-waiting-room: closed\r\n"), Some((0, None)));
        assert_eq!(waiting("tidegate-waiting-room: x, refresh=-1\r\n"), Some((0, None)));
        assert_eq!(waiting("Retry-After: 7\r\n"), None);
    }

    #[test]
    fn a_location_beyond_ascii_is_percent_encoded() {
        let head =
            b"HTTP/1.1 302 Found\r\nLocation: /k\xf6ln?a=\xc3\xa9\r\nX-City: K\xf6ln\r\n\r\n";
        let (_, head) = Head::parse(head, false, &["x-city".to_owned()]).unwrap().unwrap();
        let fields = head.fields.unwrap();
        assert_eq!(fields.location.as_deref(), Some("/k%F6ln?a=%C3%A9"));
        assert_eq!(fields.headers, [("x-city".to_owned(), "K\u{f6}ln".to_owned())]);
    }

    /// Heads that often are the one before, or begin as it does.
    fn heads() -> impl Strategy<Value = Vec<String>> {
        let line = prop_oneof![
            Just("Content-Length: 5\r\n"),
            Just("Content-Length: 7\r\n"),
            Just("Connection: close\r\n"),
            Just("Location: /a\r\n"),
            Just("Content-Encoding: gzip\r\n"),
            Just("Set-Cookie: a=1\r\n"),
            Just("broken\r\n"),
        ];
        let head = (0u8..4, proptest::collection::vec(line, 0..3), any::<bool>());
        let text = head.prop_map(|(status, lines, whole)| {
            let end = if whole { "\r\nHello" } else { "" };
            format!("HTTP/1.1 {}00 OK\r\n{}{end}", status + 1, lines.concat())
        });
        proptest::collection::vec((text, 1usize..3), 1..20).prop_map(|heads| {
            heads.into_iter().flat_map(|(text, times)| vec![text; times]).collect()
        })
    }

    proptest! {
        #[test]
        fn what_the_last_head_was_changes_nothing(heads in heads(), head_only in any::<bool>()) {
            let last = LastHead::default();
            let wanted = ["content-length".to_owned()];
            for text in heads {
                let buffer = text.as_bytes();
                for (head_only, wanted) in [(head_only, &[][..]), (false, &wanted[..])] {
                    let shown = |read: Result<Option<(usize, Head)>, ()>| format!("{read:?}");
                    let (with, without) = (
                        last.parse(buffer, head_only, wanted),
                        Head::parse(buffer, head_only, wanted),
                    );
                    prop_assert_eq!(shown(with), shown(without), "{}", text);
                }
            }
        }
    }
}
