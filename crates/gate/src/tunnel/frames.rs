//! Where the frames of a WebSocket end. Only the lengths of frames are read: what they mean is
//! between the customer and the upstream.
//!
//! Source: RFC 6455, section 5.2.

/// Follows the frames of one direction.
#[derive(Debug, Default)]
pub struct Frames {
    at: At,
    closes: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    /// Before the first byte of a frame.
    #[default]
    Start,
    /// Before the byte with the length.
    Length,
    /// In the bytes of an extended length.
    Extended { left: u8, length: u64, masked: bool },
    /// So many bytes of the frame are left; at least one.
    Payload(u64),
}

/// The opcode of a frame that closes.
const CLOSE: u8 = 8;

/// A frame that closes, from a server: "going away" (1001).
pub const GOING_AWAY: [u8; 4] = [0x80 | CLOSE, 2, 0x03, 0xe9];

impl Frames {
    /// Whether the last byte ended a frame, or none was read.
    pub fn is_between(&self) -> bool {
        self.at == At::Start
    }

    /// Whether a frame that closes has begun: no other may follow it.
    pub fn closes(&self) -> bool {
        self.closes
    }

    /// Reads bytes in the order of their arrival.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            bytes = &bytes[self.feed_frame(bytes)..];
        }
    }

    /// Reads bytes up to the end of the frame that the first of them belongs to. Returns how many
    /// that were: at least one, if there is one.
    pub fn feed_frame(&mut self, bytes: &[u8]) -> usize {
        let mut read = 0;
        while let Some(byte) = bytes.get(read) {
            let after_length =
                |length: u64, masked: bool| match length.saturating_add(if masked { 4 } else { 0 })
                {
                    0 => At::Start,
                    left => At::Payload(left),
                };
            read += 1;
            self.at = match self.at {
                At::Start => {
                    self.closes |= byte & 0x0f == CLOSE;
                    At::Length
                }
                At::Length => {
                    let masked = byte & 0x80 != 0;
                    match byte & 0x7f {
                        126 => At::Extended { left: 2, length: 0, masked },
                        127 => At::Extended { left: 8, length: 0, masked },
                        length => after_length(length.into(), masked),
                    }
                }
                At::Extended { left, length, masked } => {
                    let length = length << 8 | u64::from(*byte);
                    match left {
                        1 => after_length(length, masked),
                        _ => At::Extended { left: left - 1, length, masked },
                    }
                }
                At::Payload(left) => {
                    let here = (bytes.len() - read + 1) as u64;
                    let step = left.min(here);
                    read += step as usize - 1;
                    if step == left { At::Start } else { At::Payload(left - step) }
                }
            };
            if self.at == At::Start {
                break;
            }
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A frame of so many bytes of payload.
    fn frame(opcode: u8, length: usize, masked: bool) -> Vec<u8> {
        let mut bytes = vec![0x80 | opcode];
        let mask = if masked { 0x80 } else { 0 };
        match length {
            0..=125 => bytes.push(mask | length as u8),
            126..=0xffff => {
                bytes.push(mask | 126);
                bytes.extend((length as u16).to_be_bytes());
            }
            _ => {
                bytes.push(mask | 127);
                bytes.extend((length as u64).to_be_bytes());
            }
        }
        bytes.extend(vec![0xaa; length + if masked { 4 } else { 0 }]);
        bytes
    }

    proptest! {
        #[test]
        fn frames_end_where_their_lengths_say_however_they_arrive(
            given in prop::collection::vec((0_u8..16, prop_oneof![0_usize..300, 65_530_usize..65_600], any::<bool>()), 1..6),
            piece in 1_usize..5_000,
        ) {
            let all: Vec<_> = given.iter().map(|(code, length, masked)| frame(*code, *length, *masked)).collect();
            let mut frames = Frames::default();
            for one in &all {
                prop_assert!(frames.is_between());
                one.chunks(piece).for_each(|part| frames.feed(part));
            }
            prop_assert!(frames.is_between());
            prop_assert_eq!(frames.closes(), given.iter().any(|(code, ..)| *code == CLOSE));
            let bytes = all.concat();
            let (mut frames, mut at) = (Frames::default(), 0);
            for one in &all {
                let read = frames.feed_frame(&bytes[at..]);
                prop_assert_eq!(read, one.len());
                at += read;
            }
        }

        #[test]
        fn no_bytes_break_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let mut frames = Frames::default();
            frames.feed(&bytes);
            frames.feed(&[0xff; 30]);
        }
    }

    #[test]
    fn a_frame_is_not_over_before_its_last_byte() {
        let mut frames = Frames::default();
        let bytes = frame(1, 200, false);
        let (last, rest) = bytes.split_last().unwrap();
        frames.feed(rest);
        assert!(!frames.is_between());
        frames.feed(&[*last]);
        assert!(frames.is_between());
        frames.feed(&GOING_AWAY);
        assert!(frames.is_between() && frames.closes());
    }
}
