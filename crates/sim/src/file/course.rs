//! What happens on the way: attacks and changes.

use tidegate_config::Preset::{Else, Is, Required, Unset};
use tidegate_config::{Boolean, Choice, Number, Section, Time, Word, keys};

use super::limits::{FEWEST_CORES, HEAVIEST, MOST_CORES, given_seconds, seconds};
use crate::scenario::{Attack, AttackKind, Change, Changed, Resource};

keys! {
    /// Connections that want nothing but the server's time.
    pub(super) static ATTACK: AttackKeys {
        /// Full handshakes without a request; tickets that do not open, with one request if
        /// admitted; one real ticket in many hands; or sessions that make one request and then keep
        /// the connection until the gate closes it.
        kind: Choice<AttackKind>(&[AttackKind::Handshakes, AttackKind::ForgedTickets, AttackKind::SharedTicket, AttackKind::Lingering])
            = Required("handshakes");
        /// Connections per second, as a multiple of the capacity in sessions.
        load: Number(0.0, HEAVIEST) = Is("1");
        /// Its beginning.
        from: Time("0s", "1h") = Is("0s");
        /// Its end, later than `from`.
        until: Time("0s", "1h") = Else("the end of the run");
    }

    /// A change of the cores of one host (`cores_of`), or of what work costs (`requests`,
    /// `handshakes`).
    pub(super) static CHANGE: ChangeKeys {
        /// Its time, before the end of the run.
        at: Time("0s", "1h") = Is("0s");
        /// The host whose cores change.
        cores_of: Choice<Resource>(&[Resource::Gate, Resource::Upstream, Resource::Database])
            = Unset;
        /// Cores of the host from then on; with `cores_of` only.
        cores: Number(FEWEST_CORES, MOST_CORES) = Is("1");
        /// Whether readings show the change, as that of a quota; a neighbour on the host is not
        /// seen. With `cores_of` only.
        seen: Boolean = Is("true");
        /// What the cost of requests in upstream and database is multiplied by.
        requests: Number(0.001, 1000.0) = Is("1");
        /// What the cost of handshakes is multiplied by.
        handshakes: Number(0.001, 1000.0) = Is("1");
        /// Time over which the cost changes gradually.
        over: Time("0s", "1h") = Is("0s");
    }
}

impl Word for AttackKind {
    fn word(self) -> &'static str {
        match self {
            Self::Handshakes => "handshakes",
            Self::ForgedTickets => "forged-tickets",
            Self::SharedTicket => "shared-ticket",
            Self::Lingering => "lingering",
        }
    }
}

impl Word for Resource {
    fn word(self) -> &'static str {
        match self {
            Self::Gate => "gate",
            Self::Upstream => "upstream",
            Self::Database => "database",
        }
    }
}

pub(super) fn attack(section: &Section<'_>, duration_s: f64) -> Option<Attack> {
    section.known(&ATTACK);
    let (kind, load) = (section.read(&ATTACK.kind), section.field(&ATTACK.load));
    let from_s = seconds(section, &ATTACK.from);
    let until_s = given_seconds(section, &ATTACK.until).unwrap_or(duration_s);
    in_order(section, (from_s, until_s), duration_s);
    Some(Attack { kind: kind?, load, from_s, until_s })
}

/// Something goes on from one time until another, while the run lasts.
pub(super) fn in_order(section: &Section<'_>, (from_s, until_s): (f64, f64), duration_s: f64) {
    if from_s >= duration_s {
        let rule = format!("begins at {from_s} s of {duration_s} s");
        section.wrong(rule, "make from earlier, or the run longer");
    } else if until_s <= from_s {
        section.wrong(
            format!("begins at {from_s} s and ends at {until_s} s"),
            "make until later than from",
        );
    }
}

/// A change; `has_database`: whether there is a database whose cores can change.
pub(super) fn change(section: &Section<'_>, duration_s: f64, has_database: bool) -> Option<Change> {
    section.known(&CHANGE);
    let at_s = seconds(section, &CHANGE.at);
    if at_s >= duration_s {
        let rule = format!("comes at {at_s} s of {duration_s} s");
        section.wrong(rule, "make at earlier, or the run last longer");
    }
    let (cores, seen) = (section.field(&CHANGE.cores), section.field(&CHANGE.seen));
    let requests = section.field(&CHANGE.requests);
    let handshakes = section.field(&CHANGE.handshakes);
    let over_s = seconds(section, &CHANGE.over);
    let resource = section.optional(&CHANGE.cores_of)?;
    let first = |keys: &[&'static str]| keys.iter().copied().find(|key| section.get(key).is_some());
    let of_cores = first(&[CHANGE.cores.name, CHANGE.seen.name]);
    let of_cost = first(&[CHANGE.requests.name, CHANGE.handshakes.name, CHANGE.over.name]);
    match (resource, of_cores, of_cost) {
        (Some(Resource::Database), ..) if !has_database => {
            let remedy = "add [database], or name gate or upstream";
            section.wrong("changes the cores of a database that is not there", remedy);
            None
        }
        (Some(_), _, Some(cost)) => {
            let remedy = "write two changes, one of cores and one of what work costs";
            section.wrong(format!("changes cores and has {cost} as well"), remedy);
            None
        }
        (Some(resource), ..) => {
            Some(Change { at_s, what: Changed::Cores { resource, cores, seen } })
        }
        (None, Some(cores), _) => {
            section.wrong(format!("has {cores} and no cores_of"), "add cores_of = \"gate\"");
            None
        }
        (None, None, _) if (requests, handshakes) == (1.0, 1.0) => {
            let remedy = "write cores_of = \"gate\" and cores = 0.5, or requests = 2.0";
            section.wrong("changes nothing", remedy);
            None
        }
        (None, None, _) => {
            Some(Change { at_s, what: Changed::Cost { requests, handshakes, over_s } })
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    fn read(text: &str) -> Result<Scenario, String> {
        let text = format!("about = \"x\"\nduration = \"20s\"\n{text}");
        Scenario::from_toml(&text, "a.toml").map_err(|mistakes| mistakes.to_string())
    }

    #[test]
    fn what_would_be_ignored_is_a_mistake() {
        for (text, words) in [
            (
                "[[changes]]\nat = \"1s\"\ncores_of = \"database\"\ncores = 0.5",
                "changes the cores of a database that is not there; add [database]",
            ),
            (
                "[[changes]]\nat = \"1s\"\ncores_of = \"gate\"\ncores = 0.5\nrequests = 2.0",
                "changes cores and has requests as well",
            ),
            ("[[changes]]\nat = \"1s\"\ncores = 0.5", "has cores and no cores_of"),
            ("[[changes]]\nat = \"20s\"\nrequests = 2.0", "comes at 20 s of 20 s"),
            (
                "[[attacks]]\nkind = \"handshakes\"\nfrom = \"9s\"\nuntil = \"8s\"",
                "begins at 9 s and ends at 8 s; make until later than from",
            ),
            ("[[attacks]]\nkind = \"handshakes\"\nfrom = \"30s\"", "begins at 30 s of 20 s"),
            ("[[attacks]]\nload = 2", "attacks[0].kind: must be set; add kind = \"handshakes\""),
            (
                "[telemetry]\nblind = { from = \"5s\", until = \"4s\" }",
                "begins at 5 s and ends at 4 s",
            ),
        ] {
            let found = read(text).unwrap_err();
            assert!(found.starts_with("a.toml:"), "{found}");
            assert!(found.contains(words), "{text}: {found}");
        }
    }
}
