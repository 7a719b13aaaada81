//! The gate, the service behind it, its database, and what work costs.

use tidegate_config::Preset::{Else, Is, Unset};
use tidegate_config::{Boolean, Number, OrTable, Section, Subtable, Time, Whole, keys};

use super::distributions::times;
use super::limits::{FEWEST_CORES, LEAST_WORK, MOST_CORES, MOST_WORK, given_seconds, seconds};
use crate::distribution::Distribution;
use crate::scenario::{Database, Gate, Pauses, Room, Upstream, Work};

keys! {
    /// The gate and its host.
    pub(super) static GATE: GateKeys {
        /// Cores of its host.
        cores: Number(FEWEST_CORES, MOST_CORES) = Is("1");
        /// Time between two readings.
        tick: Time("10ms", "1s") = Is("100ms");
        /// How long a new session is held that may not enter at once; 0s: refused at once.
        hold: Time("0s", "1m") = Is("75ms");
        /// Most sessions that are held. One more, and the one that has waited longest is refused.
        hold_sessions: Whole(0, 10_000_000) = Is("1000");
        /// A connection is closed after this time without a request; the next request then needs a
        /// returning one.
        keep_alive: Time("1ms", "1h") = Is("250ms");
        /// How long a session counts as active after its connection was closed idle.
        linger: Time("0s", "1h") = Is("1s");
        /// Connections per second of one session beyond which it counts as new.
        session_rate: Number(0.001, 1e6) = Is("20");
        /// Connections of one session at once beyond which it counts as new.
        session_burst: Number(1.0, 1e6) = Is("100");
        /// The waiting room, in which customers wait who are not admitted.
        room: Subtable = Else("none: they are reset");
    }

    /// The waiting room.
    pub(super) static ROOM: RoomKeys {
        /// Its share of the gate's cores, for handshakes and pages. Beyond it customers are reset.
        share: Number(0.001, 1.0) = Is("0.1");
        /// CPU time of a page; each needs a connection and its handshake.
        page: Time(LEAST_WORK, MOST_WORK) = Is("60us");
    }

    /// The service behind the gate.
    pub(super) static UPSTREAM: UpstreamKeys {
        /// Cores of its host.
        cores: Number(FEWEST_CORES, MOST_CORES) = Else("it shares those of the gate");
        /// Requests that it works on at a time.
        threads: Whole(1, 1_000_000) = Else("one for each core");
        /// Whether the gate can see its CPU time.
        visible: Boolean = Is("true");
        /// CPU time of a request in a relay before the service, with a processor of its own, that
        /// the gate takes for the service. The service itself is then not visible.
        relay: Time("0s", "1s") = Else("there is none");
        /// Time that a request waits for something else: no CPU time, but it holds a thread.
        /// Usually exponential.
        wait: OrTable<Time>(Time("0s", "1m")) = Is("0s");
        /// Pauses of the whole service, as for a garbage collection.
        pauses: Subtable = Unset;
    }

    /// Pauses of the service. A request that arrives in one begins at its end.
    pub(super) static PAUSES: PausesKeys {
        /// Time from the beginning of one to that of the next. The first comes after this time.
        every: Time("10ms", "1h") = Is("5s");
        /// Length of each, below `every`.
        lasts: Time("1ms", "1m") = Is("200ms");
    }

    /// A database on a host of its own, which the gate never sees.
    pub(super) static DATABASE: DatabaseKeys {
        /// Cores of its host.
        cores: Number(FEWEST_CORES, MOST_CORES) = Is("1");
        /// CPU time of a request in it. Usually exponential.
        request: OrTable<Time>(Time("0s", "10s")) = Is("200us");
    }

    /// What work costs, in CPU time.
    pub(super) static WORK: WorkKeys {
        /// Accepting a connection and reading its hello: all that a refusal costs.
        accept: Time(LEAST_WORK, MOST_WORK) = Is("17us");
        /// A full handshake, of classes without `tls`.
        full_handshake: Time(LEAST_WORK, MOST_WORK) = Is("700us");
        /// A resumed handshake of these.
        resumed_handshake: Time(LEAST_WORK, MOST_WORK) = Is("160us");
        /// A request, in the gate.
        gate_request: Time(LEAST_WORK, MOST_WORK) = Is("75us");
        /// Share of the gate's work on requests that it cannot attribute.
        gate_unattributed: Number(0.0, 0.9) = Is("0.1");
        /// The first request of a session, in the upstream. Usually of `request_scv`.
        first_request: OrTable<Time>(Time(LEAST_WORK, MOST_WORK)) = Is("90us");
        /// A later request, in the upstream. Usually of `request_scv`.
        later_request: OrTable<Time>(Time(LEAST_WORK, MOST_WORK)) = Is("90us");
        /// Squared coefficient of variation of `first_request` and `later_request` where these do
        /// not say it.
        request_scv: Number(0.0, 100.0) = Is("1.5");
    }
}

pub(super) fn gate(section: &Section<'_>) -> Gate {
    section.known(&GATE);
    Gate {
        cores: section.field(&GATE.cores),
        tick_s: seconds(section, &GATE.tick),
        hold_s: seconds(section, &GATE.hold),
        hold_sessions: section.field(&GATE.hold_sessions),
        keep_alive_s: seconds(section, &GATE.keep_alive),
        linger_s: seconds(section, &GATE.linger),
        session_rate: (section.field(&GATE.session_rate), section.field(&GATE.session_burst)),
        room: section.given(&GATE.room).map(|section| room(&section)),
    }
}

fn room(section: &Section<'_>) -> Room {
    section.known(&ROOM);
    Room { share: section.field(&ROOM.share), page_s: seconds(section, &ROOM.page) }
}

/// The upstream; where the file does not say how many threads it has, one.
pub(super) fn upstream(section: &Section<'_>) -> Upstream {
    section.known(&UPSTREAM);
    let relay_s = given_seconds(section, &UPSTREAM.relay);
    Upstream {
        cores: section.given(&UPSTREAM.cores),
        threads: section.given(&UPSTREAM.threads).map_or(1, |threads| threads as usize),
        visible: section.field(&UPSTREAM.visible) && relay_s.is_none(),
        relay_s,
        wait: times(section, &UPSTREAM.wait, Distribution::exponential),
        pauses: section.given(&UPSTREAM.pauses).map(|section| pauses(&section)),
    }
}

fn pauses(section: &Section<'_>) -> Pauses {
    section.known(&PAUSES);
    let (every_s, lasts_s) = (seconds(section, &PAUSES.every), seconds(section, &PAUSES.lasts));
    if lasts_s >= every_s {
        section.wrong("lasts until the next pause", "make every longer than lasts");
    }
    Pauses { every_s, lasts_s }
}

pub(super) fn database(section: &Section<'_>) -> Database {
    section.known(&DATABASE);
    Database {
        cores: section.field(&DATABASE.cores),
        request: times(section, &DATABASE.request, Distribution::exponential),
    }
}

pub(super) fn work(section: &Section<'_>) -> Work {
    section.known(&WORK);
    let scv = section.field(&WORK.request_scv);
    let usual = |mean| Distribution::of_scv(mean, scv);
    Work {
        accept: seconds(section, &WORK.accept),
        full_handshake: seconds(section, &WORK.full_handshake),
        resumed_handshake: seconds(section, &WORK.resumed_handshake),
        gate_request: seconds(section, &WORK.gate_request),
        gate_unattributed: section.field(&WORK.gate_unattributed),
        first_request: times(section, &WORK.first_request, usual),
        later_request: times(section, &WORK.later_request, usual),
    }
}
