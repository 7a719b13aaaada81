//! What the gate is told of the service.

use tidegate_config::Preset::{Else, Is, Unset};
use tidegate_config::{Boolean, Number, Section, Subtable, Time, keys};

use super::course::in_order;
use super::limits::{given_seconds, seconds};
use crate::scenario::Telemetry;

keys! {
    /// What is wrong with the gate's readings.
    pub(super) static TELEMETRY: TelemetryKeys {
        /// How late readings come.
        late: Time("0s", "1m") = Is("0s");
        /// Whether readings contain CPU use.
        r#use: Boolean = Is("true");
        /// Whether readings contain idle time.
        idle: Boolean = Is("true");
        /// What CPU use is multiplied by. Idle time follows.
        use_factor: Number(0.0, 100.0) = Is("1");
        /// CPU use is off by up to this share, at random, and idle time with it.
        noise: Number(0.0, 1.0) = Is("0");
        /// What capacities are multiplied by.
        capacity_factor: Number(0.01, 100.0) = Is("1");
        /// What counts of connections, handshakes, requests and sessions are multiplied by.
        count_factor: Number(0.0, 100.0) = Is("1");
        /// Time between two readings of the upstream's CPU use where an agent or a page tells it:
        /// in between the last rate counts, and it is known a tick late. 0s: measured at each
        /// tick.
        told_every: Time("0s", "10s") = Is("0s");
        /// From when on the upstream is out of view, as where an agent was killed.
        unseen_from: Time("0s", "1h") = Else("never");
        /// A time without any readings.
        blind: Subtable = Unset;
    }

    /// A time without any readings.
    pub(super) static BLIND: BlindKeys {
        /// Its beginning.
        from: Time("0s", "1h") = Is("0s");
        /// Its end, later than `from`.
        until: Time("0s", "1h") = Else("the end of the run");
    }
}

pub(super) fn telemetry(section: &Section<'_>, duration_s: f64) -> Telemetry {
    section.known(&TELEMETRY);
    Telemetry {
        late_s: seconds(section, &TELEMETRY.late),
        has_use: section.field(&TELEMETRY.r#use),
        has_idle: section.field(&TELEMETRY.idle),
        use_factor: section.field(&TELEMETRY.use_factor),
        noise: section.field(&TELEMETRY.noise),
        capacity_factor: section.field(&TELEMETRY.capacity_factor),
        count_factor: section.field(&TELEMETRY.count_factor),
        told_every_s: seconds(section, &TELEMETRY.told_every),
        unseen_from_s: given_seconds(section, &TELEMETRY.unseen_from),
        blind: section.given(&TELEMETRY.blind).map(|section| {
            section.known(&BLIND);
            let from_s = seconds(&section, &BLIND.from);
            let until_s = given_seconds(&section, &BLIND.until).unwrap_or(duration_s);
            in_order(&section, (from_s, until_s), duration_s);
            (from_s, until_s)
        }),
    }
}
