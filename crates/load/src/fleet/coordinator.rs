//! The coordinator's side: finds agents, chooses them, and keeps a link to each that was chosen.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::clock::{ClockOffset, Now};
use super::link::{BEAT, Link};
use super::packet::{Content, NotAPacket, Packet};
use crate::plan::shard::Shard;
use crate::result::LARGEST_FILE;

/// What the coordinator has an agent do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Order {
    /// Prepare a shard.
    Take {
        /// Arguments of the program, from the subcommand on.
        args: Vec<String>,
        /// The first line to its driver.
        job: String,
    },
    /// A further line to its driver.
    Line(String),
    /// End the load and send the result.
    Stop,
}

/// What came of a chosen agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A message of its driver.
    Message(Vec<u8>),
    /// It takes no further part, and why.
    Lost(String),
}

/// The name of an agent by its address: the operator's name for it, `:`, and digits by which two
/// agents of one name are told apart.
pub fn name_of(address: &str) -> &str {
    address.rsplit_once(':').map_or(address, |(name, _)| name)
}

/// A chosen agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Its name.
    pub name: String,
    /// Its clock.
    pub clock: ClockOffset,
}

/// The coordinator of a test.
#[derive(Debug)]
pub struct Coordinator {
    version: String,
    test: u64,
    /// An agent that was not heard for so long is lost.
    silence: Duration,
    /// By their addresses.
    peers: BTreeMap<String, Peer>,
    /// Addresses of those that were chosen, in the order of their shards; empty before.
    chosen: Vec<String>,
    called: Option<Duration>,
    /// Until when all must have confirmed the start.
    confirm_by: Option<Duration>,
    events: VecDeque<(usize, Event)>,
}

/// An agent that answered.
#[derive(Debug)]
struct Peer {
    version: String,
    busy: Option<String>,
    link: Link,
    /// Takes part, or is to be told why it does not.
    part: Part,
}

#[derive(Debug, PartialEq, Eq)]
enum Part {
    None,
    Taken,
    Leaving(String),
}

impl Coordinator {
    /// `test` is a random number, and `version` that of the program. An agent that was not heard for
    /// `silence` is lost.
    pub fn new(version: &str, test: u64, silence: Duration) -> Self {
        Self {
            version: version.to_owned(),
            test,
            silence,
            peers: BTreeMap::new(),
            chosen: Vec::new(),
            called: None,
            confirm_by: None,
            events: VecDeque::new(),
        }
    }

    /// Takes a packet from the agent of this address.
    pub fn receive(&mut self, from: &str, bytes: &[u8], now: Now) {
        let packet = match Packet::parse(bytes) {
            Ok(packet) => packet,
            Err(NotAPacket::Malformed) => return,
            Err(NotAPacket::Foreign(version)) => {
                if let Some(peer) = self.found(from, now) {
                    peer.version = version;
                }
                return;
            }
        };
        if packet.test != self.test {
            return;
        }
        let index = self.chosen.iter().position(|address| address == from);
        let Some(peer) = self.found(from, now) else { return };
        peer.link.hear(&packet, now);
        match (packet.content, index) {
            (Content::Here { busy }, _) => (peer.version, peer.busy) = (packet.version, busy),
            (Content::Link { ack, piece }, Some(index)) if peer.part == Part::Taken => {
                let piece = piece.map(|piece| (piece, packet.bytes.as_slice()));
                match peer.link.take(ack, piece, now) {
                    Ok(None) => {}
                    Ok(Some(message)) => self.events.push_back((index, Event::Message(message))),
                    Err(_) => self.lose(index, "sent a message that is too large".to_owned()),
                }
            }
            (Content::Leave { why }, Some(index)) if peer.part == Part::Taken => {
                peer.part = Part::None;
                self.events.push_back((index, Event::Lost(why)));
            }
            _ => {}
        }
    }

    /// The agent of an address; new ones only while none was chosen, and as many as a test can have.
    fn found(&mut self, address: &str, now: Now) -> Option<&mut Peer> {
        if !self.peers.contains_key(address) {
            if !self.chosen.is_empty() || self.peers.len() >= Shard::MOST as usize {
                return None;
            }
            let link = Link::new(LARGEST_FILE as usize, now);
            let (version, busy, part) = (String::new(), None, Part::None);
            self.peers.insert(address.to_owned(), Peer { version, busy, link, part });
        }
        self.peers.get_mut(address)
    }

    /// Chooses this number of the agents that answered, or all, in the order of their names.
    ///
    /// # Errors
    /// There are too few, or not all can be used, or two have one name: which and why, with the
    /// remedy.
    pub fn choose(&mut self, wanted: Option<usize>, now: Now) -> Result<Vec<Chosen>, String> {
        let names = self.peers.keys().map(|address| name_of(address));
        if let Some((twin, _)) = names.clone().zip(names.skip(1)).find(|(one, next)| one == next) {
            return Err(format!("two agents are named {twin}; give each a --name of its own"));
        }
        let (mut usable, mut others) = (Vec::new(), Vec::new());
        for (address, peer) in &self.peers {
            let name = name_of(address).to_owned();
            match (&peer.busy, peer.link.clock().offset()) {
                _ if peer.version != self.version => others.push(format!(
                    "{name} runs tidegate {} and this is {}: install the same version",
                    peer.version, self.version
                )),
                (Some(busy), _) => others.push(format!("{name} is busy: {busy}")),
                (None, None) => others.push(format!("{name} has not told its clock")),
                (None, Some(clock)) => usable.push((address.clone(), Chosen { name, clock })),
            }
        }
        if self.peers.is_empty() {
            return Err("no agent answers; start `tidegate load-agent` on each machine, with the \
                        same NATS server, fleet and secret"
                .to_owned());
        }
        let wanted = match wanted {
            None if others.is_empty() => usable.len(),
            None => {
                let remedy = "or choose a number of the others with --agents";
                return Err(format!("{}; {remedy}", others.join("; ")));
            }
            Some(wanted) if wanted > usable.len() => {
                others.insert(0, format!("{wanted} agents are wanted and {} wait", usable.len()));
                return Err(others.join("; "));
            }
            Some(wanted) => wanted,
        };
        usable.truncate(wanted);
        for (address, _) in &usable {
            let peer = self.peers.get_mut(address).expect("it was just found");
            peer.part = Part::Taken;
            peer.link.restart(now);
        }
        let chosen;
        (self.chosen, chosen) = usable.into_iter().unzip();
        Ok(chosen)
    }

    /// The clock of a chosen agent, by all round trips so far.
    pub fn clock(&self, index: usize) -> Option<ClockOffset> {
        self.peers.get(self.chosen.get(index)?)?.link.clock().offset()
    }

    /// Sends an order to a chosen agent that takes part.
    pub fn order(&mut self, index: usize, order: &Order) {
        if let Some(peer) = self.taken(index) {
            peer.link.send(&serde_json::to_vec(order).expect("plain data"));
        }
    }

    /// Requires that every agent has all its orders at this time; else all are lost.
    pub fn confirm_by(&mut self, at: Duration) {
        self.confirm_by = Some(at);
    }

    /// Has an agent leave the test at once.
    pub fn dismiss(&mut self, index: usize, why: &str) {
        if let Some(peer) = self.taken(index) {
            peer.part = Part::Leaving(why.to_owned());
        }
    }

    /// Has all agents leave the test at once.
    pub fn dismiss_all(&mut self, why: &str) {
        (0..self.chosen.len()).for_each(|index| self.dismiss(index, why));
    }

    fn taken(&mut self, index: usize) -> Option<&mut Peer> {
        let peer = self.peers.get_mut(self.chosen.get(index)?)?;
        (peer.part == Part::Taken).then_some(peer)
    }

    fn lose(&mut self, index: usize, why: String) {
        self.dismiss(index, &why);
        self.events.push_back((index, Event::Lost(why)));
    }

    /// The next event.
    pub fn event(&mut self) -> Option<(usize, Event)> {
        self.events.pop_front()
    }

    /// The packets to send now, each to the address of an agent or, without one, to all. Also notices which
    /// agents are silent; to be called at least every 50 ms.
    pub fn due(&mut self, now: Now) -> Vec<(Option<String>, Vec<u8>)> {
        let silence = self.silence;
        for index in 0..self.chosen.len() {
            if self.taken(index).is_some_and(|peer| peer.link.is_silent(silence, now)) {
                let why = format!("was not heard for {} s", silence.as_secs());
                self.lose(index, why);
            }
        }
        if self.confirm_by.is_some_and(|by| now.at >= by) {
            self.confirm_by = None;
            let late = |peer: &mut Peer| !peer.link.is_idle();
            let late: Vec<usize> = (0..self.chosen.len())
                .filter(|index| self.taken(*index).is_some_and(late))
                .collect();
            late.iter().for_each(|index| self.lose(*index, "did not confirm the start".to_owned()));
        }
        let new = |content| Packet::new(&self.version, self.test, now.wall_ns, content);
        let mut packets = Vec::new();
        if self.chosen.is_empty() {
            if self.called.is_none_or(|called| now.at.saturating_sub(called) >= BEAT / 2) {
                self.called = Some(now.at);
                packets.push((None, new(Content::Call).to_bytes()));
            }
            return packets;
        }
        for (address, peer) in &mut self.peers {
            let due = match &peer.part {
                Part::None => continue,
                Part::Taken => peer.link.due(new, now),
                Part::Leaving(why) => vec![new(Content::Leave { why: why.clone() })],
            };
            if peer.part != Part::Taken {
                peer.part = Part::None;
            }
            packets.extend(due.iter().map(|packet| (Some(address.clone()), packet.to_bytes())));
        }
        packets
    }
}
