//! What coordinator and agents send: a line of JSON, and after it the bytes of a piece.

use serde::{Deserialize, Serialize};

use super::clock::Echo;

/// Version of the packets. Increased with every change.
pub const PROTOCOL: u32 = 1;
/// Largest packet, in bytes; in base64 and with a seal around it, it fits into 64 KiB.
pub const LARGEST: usize = 46 << 10;
/// Largest piece of a message, in bytes.
pub const PIECE: usize = 44 << 10;
/// Longest version and longest reason, in bytes.
const VERSION: usize = 64;
const REASON: usize = 2000;

/// A packet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Packet {
    /// [`PROTOCOL`].
    pub protocol: u32,
    /// Version of the program.
    pub version: String,
    /// The test, a number that its coordinator drew.
    pub test: u64,
    /// When it was sent, by the clock of the sender, in nanoseconds since 1970.
    pub sent_ns: u64,
    /// The newest packet that came from the receiver.
    pub echo: Option<Echo>,
    /// What it says.
    pub content: Content,
    /// The bytes of a piece.
    #[serde(skip)]
    pub bytes: Vec<u8>,
}

/// What a packet says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Content {
    /// The coordinator asks who is there.
    Call,
    /// An agent answers.
    Here {
        /// The test that it runs, in words; `None` if it waits.
        busy: Option<String>,
    },
    /// An acknowledgement, with or without a piece of a message.
    Link {
        /// Every piece below this number has come.
        ack: u64,
        /// The piece.
        piece: Option<Piece>,
    },
    /// The sender has left the test.
    Leave {
        /// Why.
        why: String,
    },
}

/// A piece of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Piece {
    /// Its number among all pieces to this receiver, from 0.
    pub number: u64,
    /// It ends its message.
    pub last: bool,
}

/// Why bytes are not a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotAPacket {
    /// It has another protocol, of this version of the program.
    Foreign(String),
    /// It is broken.
    Malformed,
}

/// What every version of the protocol has.
#[derive(Deserialize)]
struct Stamp {
    protocol: u32,
    version: String,
}

impl Packet {
    /// A packet of this version of the protocol. A reason is cut to its longest length.
    pub fn new(version: &str, test: u64, sent_ns: u64, content: Content) -> Self {
        let content = match content {
            Content::Leave { mut why } => {
                why.truncate(why.floor_char_boundary(REASON));
                Content::Leave { why }
            }
            other => other,
        };
        let (protocol, version) = (PROTOCOL, version.to_owned());
        Self { protocol, version, test, sent_ns, echo: None, content, bytes: Vec::new() }
    }

    /// Writes it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec(self).expect("plain data");
        bytes.push(b'\n');
        bytes.extend_from_slice(&self.bytes);
        bytes
    }

    /// Reads it.
    ///
    /// # Errors
    /// It is broken, or of another protocol.
    pub fn parse(bytes: &[u8]) -> Result<Self, NotAPacket> {
        if bytes.len() > LARGEST {
            return Err(NotAPacket::Malformed);
        }
        let end = memchr::memchr(b'\n', bytes).ok_or(NotAPacket::Malformed)?;
        let (head, piece) = (&bytes[..end], &bytes[end + 1..]);
        let stamp: Stamp = serde_json::from_slice(head).map_err(|_| NotAPacket::Malformed)?;
        if stamp.version.len() > VERSION {
            return Err(NotAPacket::Malformed);
        }
        if stamp.protocol != PROTOCOL {
            return Err(NotAPacket::Foreign(stamp.version));
        }
        let packet: Self = serde_json::from_slice(head).map_err(|_| NotAPacket::Malformed)?;
        let sound = match &packet.content {
            Content::Link { piece: Some(_), .. } => piece.len() <= PIECE,
            Content::Leave { why: text } | Content::Here { busy: Some(text) } => {
                piece.is_empty() && text.len() <= REASON
            }
            _ => piece.is_empty(),
        };
        if !sound {
            return Err(NotAPacket::Malformed);
        }
        Ok(Self { bytes: piece.to_vec(), ..packet })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_read_as_it_was_written() {
        let piece = Some(Piece { number: 7, last: true });
        let mut packet = Packet::new("1.2.3", 9, 5, Content::Link { ack: 3, piece });
        (packet.bytes, packet.echo) =
            (b"\n{}\0".to_vec(), Some(Echo { sent_ns: 1, received_ns: 2 }));
        assert_eq!(Packet::parse(&packet.to_bytes()), Ok(packet.clone()));
        packet.bytes = vec![0; PIECE];
        assert!(packet.to_bytes().len() <= LARGEST);
        let leave = Packet::new("1.2.3", 9, 5, Content::Leave { why: "é".repeat(REASON) });
        assert_eq!(Packet::parse(&leave.to_bytes()), Ok(leave));
    }

    #[test]
    fn another_protocol_is_told_by_its_version_and_broken_bytes_are_refused() {
        let foreign = br#"{"protocol": 2, "version": "9.0.0", "more": true}"#;
        let foreign = [&foreign[..], b"\n"].concat();
        assert_eq!(Packet::parse(&foreign), Err(NotAPacket::Foreign("9.0.0".to_owned())));
        let call = Packet::new("1.2.3", 9, 5, Content::Call).to_bytes();
        let long = Packet::new(&"1".repeat(65), 9, 5, Content::Call).to_bytes();
        let more = [&call[..], b"x"].concat();
        for bad in [&b""[..], b"{}\n", b"\n", &call[..call.len() - 1], &more, &long, &[0; LARGEST]]
        {
            assert_eq!(Packet::parse(bad), Err(NotAPacket::Malformed));
        }
    }
}
