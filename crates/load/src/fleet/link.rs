//! Messages of any length in both directions between two sides, in order and complete, over packets
//! that may be lost: numbered pieces, acknowledged by the number of the next one that is missing,
//! and sent again from there (go-back-N).

use std::collections::VecDeque;
use std::time::Duration;

use super::clock::{ClockFilter, Echo, Now};
use super::packet::{Content, PIECE, Packet, Piece};

/// A packet is sent at least this often.
pub const BEAT: Duration = Duration::from_millis(250);
/// Pieces that are under way at a time.
const WINDOW: usize = 16;
/// Pieces are sent again after this time without progress.
const AGAIN: Duration = Duration::from_millis(400);

/// One side's end of a link.
#[derive(Debug)]
pub struct Link {
    /// Pieces that were not acknowledged.
    pieces: VecDeque<(bool, Vec<u8>)>,
    /// Number of the first of them.
    first: u64,
    /// How many of them are under way.
    under_way: usize,
    /// When one was last acknowledged, or all were last sent again.
    progress: Duration,
    /// Number of the next piece from the other side.
    next: u64,
    /// The message that it belongs to, and the most bytes of one.
    message: Vec<u8>,
    largest: usize,
    owes_ack: bool,
    heard: Duration,
    sent: Duration,
    echo: Option<Echo>,
    clock: ClockFilter,
}

impl Link {
    /// A link that takes messages of at most `largest` bytes.
    pub fn new(largest: usize, now: Now) -> Self {
        Self {
            pieces: VecDeque::new(),
            first: 0,
            under_way: 0,
            progress: now.at,
            next: 0,
            message: Vec::new(),
            largest,
            owes_ack: false,
            heard: now.at,
            sent: now.at,
            echo: None,
            clock: ClockFilter::default(),
        }
    }

    /// Queues a message.
    pub fn send(&mut self, message: &[u8]) {
        let count = message.len().div_ceil(PIECE).max(1);
        for at in 0..count {
            let end = message.len().min((at + 1) * PIECE);
            self.pieces.push_back((at + 1 == count, message[at * PIECE..end].to_vec()));
        }
    }

    /// Whether everything that was queued has come.
    pub fn is_idle(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Bytes that have not come, at least.
    pub fn backlog(&self) -> usize {
        self.pieces.len().saturating_sub(1) * PIECE
    }

    /// Begins to wait for the other side, as if it had just been heard.
    pub fn restart(&mut self, now: Now) {
        (self.heard, self.sent, self.progress) = (now.at, now.at, now.at);
    }

    /// The other side's clock.
    pub fn clock(&self) -> &ClockFilter {
        &self.clock
    }

    /// Whether the other side was not heard for so long.
    pub fn is_silent(&self, silence: Duration, now: Now) -> bool {
        now.at.saturating_sub(self.heard) > silence
    }

    /// Notes that a packet of the other side came.
    pub fn hear(&mut self, packet: &Packet, now: Now) {
        self.heard = now.at;
        self.echo = Some(Echo { sent_ns: packet.sent_ns, received_ns: now.wall_ns });
        if let Some(echo) = packet.echo {
            self.clock.add(echo, packet.sent_ns, now.wall_ns);
        }
    }

    /// Takes acknowledgement and piece of a packet. Returns the message that it completes.
    ///
    /// # Errors
    /// The message is too large.
    pub fn take(
        &mut self,
        ack: u64,
        piece: Option<(Piece, &[u8])>,
        now: Now,
    ) -> Result<Option<Vec<u8>>, TooLarge> {
        let came = ack.saturating_sub(self.first).min(self.under_way as u64);
        if came > 0 {
            self.pieces.drain(..came as usize);
            (self.first, self.under_way) = (self.first + came, self.under_way - came as usize);
            self.progress = now.at;
        }
        let Some((piece, bytes)) = piece else { return Ok(None) };
        self.owes_ack = true;
        if piece.number != self.next {
            return Ok(None);
        }
        if self.message.len() + bytes.len() > self.largest {
            return Err(TooLarge);
        }
        self.next += 1;
        self.message.extend_from_slice(bytes);
        Ok(piece.last.then(|| std::mem::take(&mut self.message)))
    }

    /// The packets to send now; `new` makes one of this side.
    pub fn due(&mut self, new: impl Fn(Content) -> Packet, now: Now) -> Vec<Packet> {
        let since = |then: Duration| now.at.saturating_sub(then);
        if self.under_way > 0 && since(self.progress) >= AGAIN {
            (self.under_way, self.progress) = (0, now.at);
        }
        if self.under_way == 0 {
            self.progress = now.at;
        }
        let to_send = self.under_way..self.pieces.len().min(WINDOW);
        self.under_way = to_send.end.max(self.under_way);
        let ack = self.next;
        let mut packets: Vec<Packet> = to_send
            .map(|index| {
                let (last, bytes) = &self.pieces[index];
                let piece = Piece { number: self.first + index as u64, last: *last };
                let packet = new(Content::Link { ack, piece: Some(piece) });
                Packet { bytes: bytes.clone(), echo: self.echo, ..packet }
            })
            .collect();
        if packets.is_empty() && (self.owes_ack || since(self.sent) >= BEAT) {
            packets.push(Packet { echo: self.echo, ..new(Content::Link { ack, piece: None }) });
        }
        if !packets.is_empty() {
            (self.owes_ack, self.sent) = (false, now.at);
        }
        packets
    }
}

/// A message has more bytes than its receiver takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

#[cfg(test)]
mod tests {
    use super::*;

    fn now(ms: u64) -> Now {
        Now { at: Duration::from_millis(ms), wall_ns: ms * 1_000_000 }
    }

    fn packets(link: &mut Link, ms: u64) -> Vec<Packet> {
        link.due(|content| Packet::new("1", 1, ms, content), now(ms))
    }

    fn take(link: &mut Link, packet: &Packet, ms: u64) -> Result<Option<Vec<u8>>, TooLarge> {
        let Content::Link { ack, piece } = packet.content else { panic!("{packet:?}") };
        link.take(ack, piece.map(|piece| (piece, packet.bytes.as_slice())), now(ms))
    }

    #[test]
    fn messages_come_complete_and_in_order_whatever_is_lost_or_repeated() {
        let (mut from, mut to) = (Link::new(0, now(0)), Link::new(2 << 20, now(0)));
        let large: Vec<u8> = (0..1_500_000u32).map(|n| (n % 251) as u8).collect();
        let messages = [&large[..], b"", b"end"];
        messages.iter().for_each(|message| from.send(message));
        let (mut came, mut ms, mut count) = (Vec::new(), 0, 0u32);
        while !from.is_idle() {
            for packet in packets(&mut from, ms) {
                count += 1;
                // Every third is lost, every fifth comes twice.
                for _ in 0..[usize::from(count % 3 != 0), 2][usize::from(count % 5 == 0)] {
                    came.extend(take(&mut to, &packet, ms).unwrap());
                }
            }
            for packet in packets(&mut to, ms) {
                count += 1;
                if count % 3 != 0 {
                    assert_eq!(take(&mut from, &packet, ms), Ok(None));
                }
            }
            ms += 50;
            assert!(ms < 60_000, "{} bytes are left", from.backlog());
        }
        assert!(came == messages);
    }

    #[test]
    fn a_message_beyond_the_bound_is_refused() {
        let (mut from, mut to) = (Link::new(0, now(0)), Link::new(PIECE, now(0)));
        from.send(&vec![0; PIECE + 1]);
        let two = packets(&mut from, 0);
        assert_eq!(two.iter().map(|it| take(&mut to, it, 0)).last(), Some(Err(TooLarge)));
    }

    #[test]
    fn a_side_with_nothing_to_say_is_heard_four_times_a_second() {
        let mut link = Link::new(0, now(0));
        let count = (0..1000).map(|ms| packets(&mut link, ms).len()).sum::<usize>();
        assert_eq!(count, 3);
        let silence = Duration::from_secs(3);
        assert!(!link.is_silent(silence, now(3000)) && link.is_silent(silence, now(3001)));
    }
}
