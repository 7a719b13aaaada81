//! Hellos for the tests: the captured ones, and a builder for constructed ones.

#![allow(dead_code, reason = "every test binary uses a part of it")]

pub mod real;

use tidegate_hello::{ClientHello, Limits, Progress, Reader};

/// The captured hellos by name.
pub const CAPTURED: &[(&str, &[u8])] = &[
    ("chromium-new", include_bytes!("../../captured/chromium-new.bin")),
    ("chromium-psk", include_bytes!("../../captured/chromium-psk.bin")),
    ("curl-new", include_bytes!("../../captured/curl-new.bin")),
    ("curl-tls12-address", include_bytes!("../../captured/curl-tls12-address.bin")),
    ("go-new", include_bytes!("../../captured/go-new.bin")),
    ("go-psk", include_bytes!("../../captured/go-psk.bin")),
    ("go-tls12-new", include_bytes!("../../captured/go-tls12-new.bin")),
    ("go-tls12-ticket", include_bytes!("../../captured/go-tls12-ticket.bin")),
    ("java-new", include_bytes!("../../captured/java-new.bin")),
    ("java-psk", include_bytes!("../../captured/java-psk.bin")),
    ("openssl-tls12-new", include_bytes!("../../captured/openssl-tls12-new.bin")),
    ("openssl-tls12-no-ticket", include_bytes!("../../captured/openssl-tls12-no-ticket.bin")),
    ("openssl-tls12-session-id", include_bytes!("../../captured/openssl-tls12-session-id.bin")),
    ("openssl-tls12-ticket", include_bytes!("../../captured/openssl-tls12-ticket.bin")),
    ("openssl-tls13-new", include_bytes!("../../captured/openssl-tls13-new.bin")),
    ("openssl-tls13-psk", include_bytes!("../../captured/openssl-tls13-psk.bin")),
    ("python-new", include_bytes!("../../captured/python-new.bin")),
    ("python-psk", include_bytes!("../../captured/python-psk.bin")),
];

/// A captured hello's bytes.
pub fn captured(name: &str) -> &'static [u8] {
    CAPTURED.iter().find(|(known, _)| *known == name).expect("a captured hello's name").1
}

/// The result of these bytes in one piece.
pub fn answer(bytes: &[u8]) -> Progress {
    Reader::new(Limits::default()).push(bytes)
}

/// The hello in these bytes.
pub fn hello(bytes: &[u8]) -> ClientHello {
    match answer(bytes) {
        Progress::Complete(hello) => hello,
        other => panic!("no hello: {other:?}"),
    }
}

/// A hello under construction.
#[derive(Clone, Debug)]
pub struct Draft {
    pub legacy_version: u16,
    pub session_id: Vec<u8>,
    pub suites: Vec<u16>,
    pub compression: Vec<u8>,
    /// None leaves the block out.
    pub extensions: Option<Vec<(u16, Vec<u8>)>>,
}

impl Default for Draft {
    fn default() -> Self {
        Self {
            legacy_version: 0x0303,
            session_id: vec![7; 32],
            suites: vec![0x1301, 0xc02f],
            compression: vec![0],
            extensions: Some(Vec::new()),
        }
    }
}

impl Draft {
    /// Parses a hello in one record, except for its random bytes.
    pub fn of(record: &[u8]) -> Self {
        let hello = hello(record);
        let at = 5 + 4 + 34 + 1 + hello.session_id().len();
        let at = at + 2 + 2 * hello.cipher_suites().len() + 1 + hello.compression_methods().len();
        let (mut block, mut extensions) = (record.get(at + 2..).unwrap_or_default(), Vec::new());
        while let [kind_high, kind_low, high, low, rest @ ..] = block {
            let (body, behind) = rest.split_at(u16::from_be_bytes([*high, *low]).into());
            extensions.push((u16::from_be_bytes([*kind_high, *kind_low]), body.to_vec()));
            block = behind;
        }
        Self {
            legacy_version: hello.legacy_version(),
            session_id: hello.session_id().to_vec(),
            suites: hello.cipher_suites().to_vec(),
            compression: hello.compression_methods().to_vec(),
            extensions: Some(extensions),
        }
    }

    /// Without the extension of this type.
    pub fn without(mut self, kind: u16) -> Self {
        self.extensions.get_or_insert_default().retain(|(known, _)| *known != kind);
        self
    }

    /// With this extension at the end.
    pub fn with(mut self, kind: u16, body: impl Into<Vec<u8>>) -> Self {
        self.extensions.get_or_insert_default().push((kind, body.into()));
        self
    }

    /// The handshake message.
    pub fn message(&self) -> Vec<u8> {
        let mut body = self.legacy_version.to_be_bytes().to_vec();
        body.extend([42; 32]);
        body.extend(vector8(&self.session_id));
        body.extend(vector16(&codes(&self.suites)));
        body.extend(vector8(&self.compression));
        if let Some(extensions) = &self.extensions {
            let block: Vec<u8> = extensions
                .iter()
                .flat_map(|(kind, body)| [kind.to_be_bytes().to_vec(), vector16(body)].concat())
                .collect();
            body.extend(vector16(&block));
        }
        message(1, &body)
    }

    /// In one record.
    pub fn record(&self) -> Vec<u8> {
        record(22, &self.message())
    }

    /// In records of this many bytes of content.
    pub fn records(&self, size: usize) -> Vec<u8> {
        self.message().chunks(size).flat_map(|part| record(22, part)).collect()
    }
}

/// A handshake message of this type.
pub fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).expect("short").to_be_bytes();
    [&[kind], &length[1..], body].concat()
}

/// A record of this content type.
pub fn record(kind: u8, content: &[u8]) -> Vec<u8> {
    [&[kind, 3, 1][..], &vector16(content)].concat()
}

/// Bytes behind an 8-bit length.
pub fn vector8(bytes: &[u8]) -> Vec<u8> {
    [&[u8::try_from(bytes.len()).expect("short")], bytes].concat()
}

/// Bytes behind a 16-bit length.
pub fn vector16(bytes: &[u8]) -> Vec<u8> {
    [&u16::try_from(bytes.len()).expect("short").to_be_bytes(), bytes].concat()
}

/// Code points in wire format.
pub fn codes(codes: &[u16]) -> Vec<u8> {
    codes.iter().flat_map(|code| code.to_be_bytes()).collect()
}

/// The body of a pre_shared_key extension with these identities.
pub fn psk(identities: &[&[u8]]) -> Vec<u8> {
    let list: Vec<u8> =
        identities.iter().flat_map(|identity| [vector16(identity), vec![0; 4]].concat()).collect();
    let binders: Vec<u8> = identities.iter().flat_map(|_| vector8(&[9; 32])).collect();
    [vector16(&list), vector16(&binders)].concat()
}

/// The body of a server_name extension.
pub fn server_name(name: &str) -> Vec<u8> {
    vector16(&[&[0], &vector16(name.as_bytes())[..]].concat())
}
