//! The agent's side: answers calls, takes one test at a time, and leaves it when its coordinator
//! says so or is not heard any more.

use std::time::Duration;

use super::clock::{Echo, Now};
use super::coordinator::{Order, name_of};
use super::link::{Link, TooLarge};
use super::packet::{Content, NotAPacket, Packet};

/// Largest order, in bytes: the files of a test in base64, and the arguments.
pub const LARGEST_ORDER: usize = 24 << 20;

/// What the agent's process has to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    /// Start the driver of a test of this coordinator.
    Start {
        /// Name of the coordinator.
        coordinator: String,
        /// Arguments of the program, from the subcommand on.
        args: Vec<String>,
        /// The first line to it.
        job: String,
    },
    /// Pass a line on to the driver.
    Line(String),
    /// Have the driver end its load and send its result.
    Stop,
    /// End the driver at once, and why. Does nothing if it has ended.
    Kill(String),
}

/// An agent.
#[derive(Debug)]
pub struct Agent {
    version: String,
    /// A coordinator that was not heard for so long is lost.
    silence: Duration,
    running: Option<Running>,
    /// The test that it ran last, and why it left.
    over: Option<(u64, String)>,
    answers: Vec<(String, Packet)>,
}

#[derive(Debug)]
struct Running {
    coordinator: String,
    test: u64,
    link: Link,
    /// The driver was started.
    started: bool,
    /// The driver has ended, and its last message is queued.
    ended: bool,
}

/// Most answers that wait to be sent.
const ANSWERS: usize = 64;

impl Agent {
    /// `version` is that of the program. A coordinator that was not heard for `silence` is lost.
    pub fn new(version: &str, silence: Duration) -> Self {
        Self {
            version: version.to_owned(),
            silence,
            running: None,
            over: None,
            answers: Vec::new(),
        }
    }

    /// Takes a packet from the coordinator of this name.
    pub fn receive(&mut self, from: &str, bytes: &[u8], now: Now) -> Option<Task> {
        let packet = match Packet::parse(bytes) {
            Ok(packet) => packet,
            Err(NotAPacket::Malformed) => return None,
            Err(NotAPacket::Foreign(_)) => {
                // It reads at least our version from the answer.
                self.answer(from, 0, None, Content::Here { busy: None }, now);
                return None;
            }
        };
        let own = self
            .running
            .as_ref()
            .is_some_and(|running| running.test == packet.test && running.coordinator == from);
        match packet.content {
            Content::Call => {
                let busy = self.running.as_ref().filter(|_| !own);
                let busy = busy.map(|it| format!("it runs a test of {}", name_of(&it.coordinator)));
                let echo = Echo { sent_ns: packet.sent_ns, received_ns: now.wall_ns };
                self.answer(from, packet.test, Some(echo), Content::Here { busy }, now);
                None
            }
            Content::Link { ack, piece } => {
                if !own && let Some(why) = self.refusal(&packet, ack, piece.map(|it| it.number)) {
                    if !why.is_empty() {
                        self.answer(from, packet.test, None, Content::Leave { why }, now);
                    }
                    return None;
                }
                let running = self.running.get_or_insert_with(|| Running {
                    coordinator: from.to_owned(),
                    test: packet.test,
                    link: Link::new(LARGEST_ORDER, now),
                    started: false,
                    ended: false,
                });
                running.link.hear(&packet, now);
                let piece = piece.map(|piece| (piece, packet.bytes.as_slice()));
                let order = match running.link.take(ack, piece, now) {
                    Ok(None) => return None,
                    Ok(Some(message)) => serde_json::from_slice(&message).map_err(|_| TooLarge),
                    Err(TooLarge) => Err(TooLarge),
                };
                match order {
                    Ok(Order::Take { args, job }) if !running.started => {
                        running.started = true;
                        Some(Task::Start { coordinator: from.to_owned(), args, job })
                    }
                    Ok(Order::Line(line)) => Some(Task::Line(line)),
                    Ok(Order::Stop) => Some(Task::Stop),
                    Ok(Order::Take { .. }) | Err(_) => {
                        let why = "was sent an order that it cannot carry out".to_owned();
                        self.answer(
                            from,
                            packet.test,
                            None,
                            Content::Leave { why: why.clone() },
                            now,
                        );
                        Some(self.leave(why))
                    }
                }
            }
            Content::Leave { why } if own => Some(self.leave(why)),
            Content::Leave { .. } | Content::Here { .. } => None,
        }
    }

    /// Why a packet of a test that is not this agent's is refused; empty without an answer.
    fn refusal(&self, packet: &Packet, ack: u64, piece: Option<u64>) -> Option<String> {
        match (&self.over, &self.running) {
            (Some((test, why)), _) if *test == packet.test => Some(why.clone()),
            (_, Some(running)) => Some(format!("runs a test of {}", running.coordinator)),
            _ if packet.version != self.version => Some(format!("runs tidegate {}", self.version)),
            _ if piece == Some(0) => None,
            // The first piece may be late. What was acknowledged came from an agent of before.
            _ => Some(if ack > 0 { "has started anew".to_owned() } else { String::new() }),
        }
    }

    fn answer(&mut self, to: &str, test: u64, echo: Option<Echo>, content: Content, now: Now) {
        if self.answers.len() < ANSWERS {
            let packet = Packet::new(&self.version, test, now.wall_ns, content);
            self.answers.push((to.to_owned(), Packet { echo, ..packet }));
        }
    }

    fn leave(&mut self, why: String) -> Task {
        self.over = self.running.take().map(|running| (running.test, why.clone()));
        Task::Kill(why)
    }

    /// Sends a message of the driver to the coordinator.
    pub fn send(&mut self, message: &[u8]) {
        if let Some(running) = &mut self.running {
            running.link.send(message);
        }
    }

    /// The driver has ended; `message` tells how. Afterwards the agent is free once the coordinator
    /// has everything.
    pub fn ended(&mut self, message: &[u8]) {
        self.send(message);
        if let Some(running) = &mut self.running {
            running.ended = true;
        }
    }

    /// Has the agent leave its test, if it has one.
    pub fn quit(&mut self, why: &str, now: Now) {
        if let Some(Running { coordinator, test, .. }) = &self.running {
            let (to, test, content) =
                (coordinator.clone(), *test, Content::Leave { why: why.to_owned() });
            self.answer(&to, test, None, content, now);
            let _ = self.leave(why.to_owned());
        }
    }

    /// Bytes that the coordinator has not, at least.
    pub fn backlog(&self) -> usize {
        self.running.as_ref().map_or(0, |running| running.link.backlog())
    }

    /// Whether it waits for a test.
    pub fn is_free(&self) -> bool {
        self.running.is_none()
    }

    /// Notices that the coordinator is silent, or that the test is over; to be called at least every
    /// 50 ms.
    pub fn check(&mut self, now: Now) -> Option<Task> {
        let running = self.running.as_ref()?;
        if running.ended && running.link.is_idle() {
            return Some(self.leave("has ended the test".to_owned()));
        }
        let why = format!("has not heard the coordinator for {} s", self.silence.as_secs());
        running.link.is_silent(self.silence, now).then(|| self.leave(why))
    }

    /// The packets to send now, each with the name of its coordinator.
    pub fn due(&mut self, now: Now) -> Vec<(String, Vec<u8>)> {
        let answers = self.answers.drain(..);
        let mut packets: Vec<_> = answers.map(|(to, packet)| (to, packet.to_bytes())).collect();
        if let Some(Running { coordinator, test, link, .. }) = &mut self.running {
            let new = |content| Packet::new(&self.version, *test, now.wall_ns, content);
            let due = link.due(new, now);
            packets.extend(due.iter().map(|packet| (coordinator.clone(), packet.to_bytes())));
        }
        packets
    }
}
