//! Follows the frames that a customer sends on an HTTP/2 connection, and counts those that cost
//! more to receive than to send.
//!
//! The HTTP library reads the frames strictly and bounds what they make it keep, but it bounds
//! neither how often a stream is opened and reset nor how many control frames there are, and it
//! does not tell whether the head of a request is incomplete. This reader sees all bytes before
//! the library does. It is pure: no I/O, time is an argument.
//!
//! Source: RFC 9113, sections 3.4, 4.1 and 10.5; CVE-2023-44487 (rapid reset); CERT VU#421644
//! (CONTINUATION).

use std::time::{Duration, Instant};

/// Follows the frames of one customer.
#[derive(Debug)]
pub struct Frames {
    /// Bytes of the connection preface that are still to come.
    preface: usize,
    /// The beginning of a frame's header, and how much of it has arrived.
    header: [u8; HEADER],
    have: usize,
    /// Bytes of the frame's payload that are still to come.
    left: usize,
    /// The frame is, or was, a part of a head that is not complete.
    in_head: bool,
    /// The frame under way completes a head.
    ends_head: bool,
    resets: Allowance,
    control: Allowance,
}

/// How many frames of a kind a customer may send within [`PERIOD`].
#[derive(Clone, Copy, Debug)]
pub struct FrameLimits {
    /// Resets of streams.
    pub resets: u32,
    /// Control frames: all but those with a head or with data, and those continue a head or
    /// whose data are empty.
    pub control: u32,
}

/// What a customer sent too much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// Resets of streams.
    Resets,
    /// Control frames.
    ControlFrames,
}

/// The time in which an allowance is renewed.
const PERIOD: Duration = Duration::from_secs(10);

const PREFACE: usize = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".len();
const HEADER: usize = 9;
const END_STREAM: u8 = 0x1;
const END_HEADERS: u8 = 0x4;
/// Control frames that come with a request: its priority, and the windows of its response.
const PER_REQUEST: f32 = 4.0;
/// Bytes that a customer receives for each control frame: windows are opened as bytes are read.
const BYTES_PER_CONTROL_FRAME: f32 = 1024.0;

impl Frames {
    /// Nothing was read.
    pub fn new(limits: FrameLimits, now: Instant) -> Self {
        Self {
            preface: PREFACE,
            header: [0; HEADER],
            have: 0,
            left: 0,
            in_head: false,
            ends_head: false,
            resets: Allowance::new(limits.resets, now),
            control: Allowance::new(limits.control, now),
        }
    }

    /// Whether the connection's preface or the head of a request has begun and is not complete.
    pub fn head_is_incomplete(&self) -> bool {
        self.in_head || (1..PREFACE).contains(&self.preface)
    }

    /// So many bytes were sent to the customer, who opens the windows as they are read.
    pub fn sent(&mut self, bytes: usize) {
        self.control.earn(bytes as f32 / BYTES_PER_CONTROL_FRAME);
    }

    /// Reads bytes in the order of their arrival.
    ///
    /// # Errors
    /// The customer has used up an allowance: the connection has to end.
    pub fn feed(&mut self, mut bytes: &[u8], now: Instant) -> Result<(), Excess> {
        let preface = self.preface.min(bytes.len());
        self.preface -= preface;
        bytes = &bytes[preface..];
        while !bytes.is_empty() {
            if self.have < HEADER {
                let part = bytes.len().min(HEADER - self.have);
                self.header[self.have..][..part].copy_from_slice(&bytes[..part]);
                self.have += part;
                bytes = &bytes[part..];
                if self.have < HEADER {
                    return Ok(());
                }
                self.frame_begins(now)?;
            }
            let part = bytes.len().min(self.left);
            self.left -= part;
            bytes = &bytes[part..];
            if self.left == 0 {
                self.have = 0;
                self.in_head &= !self.ends_head;
            }
        }
        Ok(())
    }

    fn frame_begins(&mut self, now: Instant) -> Result<(), Excess> {
        let [a, b, c, kind, flags, ..] = self.header;
        self.left = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
        self.ends_head = false;
        let allowed = match kind {
            // DATA
            0 => self.left > 0 || flags & END_STREAM != 0 || self.control.take(now),
            // HEADERS
            1 => {
                self.in_head = true;
                self.ends_head = flags & END_HEADERS != 0;
                self.control.earn(PER_REQUEST);
                true
            }
            // RST_STREAM
            3 => return if self.resets.take(now) { Ok(()) } else { Err(Excess::Resets) },
            // CONTINUATION
            9 => {
                self.ends_head = flags & END_HEADERS != 0;
                self.control.take(now)
            }
            _ => self.control.take(now),
        };
        if allowed { Ok(()) } else { Err(Excess::ControlFrames) }
    }
}

/// How many more frames are allowed: each takes one, and time returns them.
#[derive(Debug)]
struct Allowance {
    left: f32,
    most: f32,
    at: Instant,
}

impl Allowance {
    fn new(most: u32, now: Instant) -> Self {
        Self { left: most as f32, most: most as f32, at: now }
    }

    fn earn(&mut self, frames: f32) {
        self.left = (self.left + frames).min(self.most);
    }

    /// Takes one; whether there was one.
    fn take(&mut self, now: Instant) -> bool {
        let passed = now.saturating_duration_since(self.at);
        self.at = now;
        self.earn(passed.as_secs_f32() / PERIOD.as_secs_f32() * self.most);
        let allowed = self.left >= 1.0;
        if allowed {
            self.left -= 1.0;
        }
        allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: FrameLimits = FrameLimits { resets: 10, control: 20 };

    fn opened(now: Instant) -> Frames {
        let mut frames = Frames::new(LIMITS, now);
        frames.feed(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", now).unwrap();
        frames
    }

    fn frame(kind: u8, flags: u8, payload: usize) -> Vec<u8> {
        let length = (payload as u32).to_be_bytes();
        let head = [&length[1..], &[kind, flags, 0, 0, 0, 1]].concat();
        [head, vec![0; payload]].concat()
    }

    /// How many frames of this kind are accepted, of a thousand.
    fn accepted(frames: &mut Frames, kind: u8, flags: u8, payload: usize, now: Instant) -> usize {
        let frame = frame(kind, flags, payload);
        (0..1_000).take_while(|_| frames.feed(&frame, now).is_ok()).count()
    }

    #[test]
    fn each_kind_of_frame_that_costs_more_than_it_sends_is_limited() {
        let now = Instant::now();
        for kind in [2, 4, 6, 7, 8, 9, 77] {
            assert_eq!(accepted(&mut opened(now), kind, 0, 8, now), 20, "kind {kind}");
        }
        assert_eq!(accepted(&mut opened(now), 0, 0, 0, now), 20, "empty data");
        assert_eq!(accepted(&mut opened(now), 3, 0, 4, now), 10, "resets");
    }

    #[test]
    fn requests_and_data_are_not_limited() {
        let now = Instant::now();
        assert_eq!(accepted(&mut opened(now), 1, END_HEADERS, 30, now), 1_000);
        assert_eq!(accepted(&mut opened(now), 0, 0, 1_000, now), 1_000);
        assert_eq!(accepted(&mut opened(now), 0, END_STREAM, 0, now), 1_000);
    }

    #[test]
    fn an_allowance_grows_with_time_and_with_what_the_customer_receives() {
        let now = Instant::now();
        let used_up = || {
            let mut frames = opened(now);
            (0..20).for_each(|_| frames.feed(&frame(8, 0, 4), now).unwrap());
            frames
        };
        assert_eq!(accepted(&mut used_up(), 8, 0, 4, now), 0);
        let mut reads = used_up();
        reads.sent(5 * 1024);
        assert_eq!(accepted(&mut reads, 8, 0, 4, now), 5);
        assert_eq!(accepted(&mut used_up(), 8, 0, 4, now + PERIOD / 2), 10);
        let later = now + 100 * PERIOD;
        assert_eq!(accepted(&mut used_up(), 8, 0, 4, later), 20, "and no further");
    }

    #[test]
    fn a_head_is_incomplete_from_its_first_frame_to_the_end_of_its_last() {
        let now = Instant::now();
        let mut frames = Frames::new(LIMITS, now);
        assert!(!frames.head_is_incomplete(), "nothing has arrived");
        frames.feed(b"PRI", now).unwrap();
        assert!(frames.head_is_incomplete());
        let mut frames = opened(now);
        assert!(!frames.head_is_incomplete());
        frames.feed(&frame(1, 0, 5), now).unwrap();
        assert!(frames.head_is_incomplete());
        let last = frame(9, END_HEADERS, 5);
        frames.feed(&last[..11], now).unwrap();
        assert!(frames.head_is_incomplete());
        frames.feed(&last[11..], now).unwrap();
        assert!(!frames.head_is_incomplete());
    }

    #[test]
    fn the_division_into_reads_changes_nothing() {
        let now = Instant::now();
        let kinds = [(1, 0, 7), (9, END_HEADERS, 3), (0, 0, 0), (6, 0, 8), (3, 0, 4)];
        let bytes: Vec<u8> = kinds.iter().flat_map(|(k, f, p)| frame(*k, *f, *p)).collect();
        let state = |step: usize| {
            let mut frames = opened(now);
            bytes.chunks(step).for_each(|part| frames.feed(part, now).unwrap());
            (frames.resets.left, frames.control.left, frames.head_is_incomplete())
        };
        for step in 1..bytes.len() {
            assert_eq!(state(step), state(bytes.len()), "{step}");
        }
    }
}
