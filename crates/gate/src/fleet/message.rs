//! Subjects, and what is said there.

use crate::admission::sessions::SessionUse;
use serde::{Deserialize, Serialize};
use tidegate_control::fleet::{GateShare, Table};
use tidegate_control::waiting_room::Closing;

/// Where the gates of a fleet talk.
#[derive(Clone, Debug)]
pub struct Subjects {
    /// A [`Demand`](tidegate_control::fleet::Demand) of each gate, to the holder of the lease.
    pub demand: String,
    /// A [`Table`], to all gates; in parts of the same sequence where it is long.
    pub table: String,
    /// An [`Experience`](tidegate_control::Experience): what a gate has learned, to the holder of
    /// the lease.
    pub experience: String,
    /// A [`FleetExperience`](tidegate_control::fleet::FleetExperience): what all have, to all gates.
    pub learned: String,
    /// [`Uses`], to all other gates.
    pub uses: String,
    /// The bucket that has the lease and the ticket keys.
    pub bucket: String,
}

impl Subjects {
    /// Those of the fleet of this name.
    pub fn of(fleet: &str) -> Self {
        let subject = |last| format!("tidegate.{fleet}.{last}");
        let [demand, table, experience, learned, uses] =
            ["demand", "table", "experience", "learned", "uses"].map(subject);
        let bucket = format!("tidegate_{fleet}");
        Self { demand, table, experience, learned, uses, bucket }
    }
}

/// Sessions that use much at the sender; of its waiting room, places that were used, and what the
/// service says of the line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Uses {
    /// The sessions.
    pub uses: Vec<SessionUse>,
    /// The places, in base64; see
    /// [`WaitingRoom::take_used`](tidegate_control::waiting_room::WaitingRoom::take_used).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub places: String,
    /// What the service said last, if that has changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closing: Option<Closing>,
}

/// Adds a part to the newest table that is known. Whether it belongs to the newest, or is newer.
pub(super) fn join(newest: &mut Option<Table>, part: &Table) -> bool {
    let of = |table: &Table| (table.epoch, table.sequence);
    match newest {
        Some(known) if of(known) > of(part) => return false,
        Some(known) if of(known) == of(part) => {
            let new = |line: &&GateShare| known.line(&line.gate).is_none();
            let new: Vec<_> = part.shares.iter().filter(new).cloned().collect();
            known.shares.extend(new);
            known.shares.truncate(tidegate_control::fleet::MOST_GATES);
        }
        _ => *newest = Some(part.clone()),
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_fleet::{MOST_BYTES, Opener, Sealer, Secret, unix_now};

    #[test]
    fn a_table_of_a_thousand_gates_arrives_in_messages_that_are_short_enough() {
        let line = |number: u32| GateShare {
            gate: format!("{number:0>64}"),
            start: u64::MAX,
            report: u64::MAX,
            share: 1.0 / 1001.0,
            requests_per_s: f64::MAX,
        };
        let shares = (0..1000).map(line).collect();
        let table = Table { epoch: 7, sequence: 9, gates: 1000, requests_per_s: 1e9, shares };
        let secret = Secret::new(&[7; 32], "shop").unwrap();
        let sealer = Sealer::new(&secret, "gate", unix_now()).unwrap();
        let (mut opener, mut newest) = (Opener::new(secret), None);
        for part in table.parts() {
            let message = sealer.seal("table", &part, unix_now()).unwrap();
            assert!(message.len() < MOST_BYTES / 2);
            let opened = opener.open::<Table>("table", &message, unix_now()).unwrap();
            assert!(join(&mut newest, &opened.content));
        }
        assert_eq!(newest.as_ref(), Some(&table));
        assert!(!join(&mut newest, &Table { sequence: 8, ..table.clone() }));
        assert!(join(&mut newest, &Table { epoch: 8, sequence: 1, shares: Vec::new(), ..table }));
        assert_eq!(newest.unwrap().shares, []);
    }
}
