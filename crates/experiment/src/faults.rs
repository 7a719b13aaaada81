//! Fault files: a fleet on hosts of its own, and what goes wrong with it when.

use std::path::Path;
use std::time::Duration;

use tidegate_config::Preset::{Is, Required, Unset};
use tidegate_config::{
    Key, Keys, List, Mistakes, Section, Subtable, Text, Time, Whole, keys, read_file,
};

/// Fault files that ship with the program.
pub const BUILT_IN: [(&str, &str); 7] = [
    ("none", include_str!("../faults/none.toml")),
    ("demand-moves", include_str!("../faults/demand-moves.toml")),
    ("one-gate", include_str!("../faults/one-gate.toml")),
    ("gate-killed", include_str!("../faults/gate-killed.toml")),
    ("partition", include_str!("../faults/partition.toml")),
    ("nats-gone", include_str!("../faults/nats-gone.toml")),
    ("slow-link", include_str!("../faults/slow-link.toml")),
];

/// Time after a fault until its consequences must be over, in seconds: the time after it is judged
/// from then on.
pub const SETTLE_S: f64 = 2.0;

keys! {
    /// A fleet, each process on a host of its own, and its faults.
    pub(crate) static FAULTS: FaultsKeys {
        /// What it is about, in a sentence.
        about: Text("") = Required("One gate of three is killed.");
        /// Gates: the hosts `gate-1`, `gate-2` and so on. `gates` names all of them.
        gates: Whole(1, 9) = Is("3");
        /// Servers of the site, which use one database: the hosts `service-1` and so on.
        services: Whole(1, 9) = Is("2");
        /// Servers of NATS, a cluster: the hosts `nats-1` and so on; `nats` names all of them. With
        /// 0 the gates do not know of each other.
        nats: Whole(0, 5) = Is("3");
        /// What goes wrong.
        faults: List<Subtable>(Subtable) = Required("...");
    }

    /// A fault: it begins, and it is mended. One of `kill`, `cut`, `delay` and `leave`, or none of
    /// them to compare with.
    pub(crate) static FAULT: FaultKeys {
        /// What it is called.
        name: Text("") = Required("gate killed");
        /// When it begins, from the beginning of the measured window.
        at: Time("0s", "4h") = Required("8s");
        /// When it is mended: what was killed is started again.
        until: Time("0s", "4h") = Required("16s");
        /// Hosts whose processes are killed.
        kill: List<Text>(Text("hosts")) = Unset;
        /// Hosts that lose their links to those of `from`. Customers reach all hosts.
        cut: List<Text>(Text("hosts")) = Unset;
        /// The other side of the cut.
        from: List<Text>(Text("hosts")) = Unset;
        /// Gates whose messages to and from NATS are delayed, by a relay.
        delay: List<Text>(Text("gates")) = Unset;
        /// How long, each way.
        by: Time("1ms", "10s") = Unset;
        /// Gates that customers leave: they open their connections to the others.
        leave: List<Text>(Text("gates")) = Unset;
    }
}

/// A fleet and its faults.
#[derive(Clone, Debug, PartialEq)]
pub struct Faults {
    /// What it is about.
    pub about: String,
    /// Number of gates.
    pub gates: usize,
    /// Number of servers of the site.
    pub services: usize,
    /// Number of servers of NATS.
    pub nats: usize,
    /// By their beginning.
    pub faults: Vec<Fault>,
}

/// What goes wrong for some time.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// What it is called.
    pub name: String,
    /// Its beginning, since that of the measured window.
    pub at: Duration,
    /// Its end.
    pub until: Duration,
    /// What it is.
    pub what: What,
}

/// What goes wrong.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// Nothing.
    Nothing,
    /// The processes of these hosts are killed.
    Kill(Vec<String>),
    /// The links between these hosts and those are cut.
    Cut(Vec<String>, Vec<String>),
    /// What these gates and NATS send each other is delayed, each way.
    Delay(Vec<String>, Duration),
    /// Customers open no connections to these gates.
    Leave(Vec<String>),
}

impl Faults {
    /// Reads a text; mistakes name `file` as their place.
    ///
    /// # Errors
    /// Every mistake of the text.
    pub fn from_toml(text: &str, file: &str) -> Result<Self, Mistakes> {
        tidegate_config::read(text, file, faults)
    }

    /// One that ships, by its name, or a file.
    ///
    /// # Errors
    /// It is neither, or has mistakes.
    pub fn named(name: &str) -> Result<Self, String> {
        let built_in = BUILT_IN.iter().find(|(known, _)| *known == name);
        let text = match built_in {
            Some((_, text)) => (*text).to_owned(),
            None => read_file(Path::new(name)).map_err(|mistake| {
                let known = BUILT_IN.map(|(known, _)| known).join(", ");
                format!("{mistake}, or one that ships: {known}")
            })?,
        };
        Self::from_toml(&text, name).map_err(|mistakes| mistakes.to_string())
    }

    /// Every host, services and NATS before the gates, which need them.
    pub fn hosts(&self) -> Vec<String> {
        let kinds = [("nats", self.nats), ("service", self.services), ("gate", self.gates)];
        kinds.into_iter().flat_map(|(kind, count)| numbered(kind, count)).collect()
    }

    /// The hosts of one kind.
    pub fn of_kind(&self, kind: &str) -> Vec<String> {
        self.hosts().into_iter().filter(|host| host.starts_with(kind)).collect()
    }

    /// The gates whose messages are delayed at some time.
    pub fn delayed(&self) -> impl Iterator<Item = &String> {
        self.faults.iter().flat_map(|fault| match &fault.what {
            What::Delay(gates, _) => gates.as_slice(),
            _ => [].as_slice(),
        })
    }

    /// The times before, during and after the faults in a measured window of this length, in
    /// seconds since its beginning.
    ///
    /// # Errors
    /// There is no time after the last one.
    pub fn phases(&self, measured_s: f64) -> Result<[(f64, f64); 3], String> {
        let begin = self.faults.first().map_or(0.0, |fault| fault.at.as_secs_f64());
        let ends = self.faults.iter().map(|fault| fault.until.as_secs_f64());
        let end = ends.fold(begin, f64::max);
        if measured_s < end + SETTLE_S + 1.0 {
            return Err(format!(
                "faults end at {end} s, and measured = {measured_s} s leaves no time after them; make it at least {} s",
                end + SETTLE_S + 1.0
            ));
        }
        Ok([(0.0, begin), (begin, end), (end + SETTLE_S, measured_s)])
    }
}

fn numbered(kind: &str, count: usize) -> impl Iterator<Item = String> + use<'_> {
    (1..=count).map(move |number| format!("{kind}-{number}"))
}

fn faults(root: &Section<'_>) -> Option<Faults> {
    root.known(&FAULTS);
    let count = |key: &Key<Whole>| root.read(key).map(|count| count as usize);
    let mut read = Faults {
        about: root.read(&FAULTS.about)?.to_owned(),
        gates: count(&FAULTS.gates)?,
        services: count(&FAULTS.services)?,
        nats: count(&FAULTS.nats)?,
        faults: Vec::new(),
    };
    let tables = root.read(&FAULTS.faults)?;
    read.faults = tables.iter().filter_map(|table| fault(table, &read)).collect();
    read.faults.sort_by_key(|fault| fault.at);
    Some(read)
}

fn fault(table: &Section<'_>, of: &Faults) -> Option<Fault> {
    table.known(&FAULT);
    let kill = hosts(table, &FAULT.kill, of);
    let [cut, from] = [&FAULT.cut, &FAULT.from].map(|key| hosts(table, key, of));
    let [delay, leave] = [&FAULT.delay, &FAULT.leave].map(|key| gates(table, key, of));
    let name = table.read(&FAULT.name)?.to_owned();
    let (at, until) = (table.read(&FAULT.at)?, table.read(&FAULT.until)?);
    if until <= at {
        table.wrong("is mended before it begins", "make until later than at");
    }
    let by = table.given(&FAULT.by);
    let what = match (kill, cut, from, delay, by, leave) {
        (None, None, None, None, None, None) => What::Nothing,
        (Some(hosts), None, None, None, None, None) => What::Kill(hosts),
        (None, Some(one), Some(other), None, None, None) => {
            if let Some(both) = one.iter().find(|host| other.contains(host)) {
                table.wrong(format!("cuts {both} off from itself"), "name it on one side");
            }
            What::Cut(one, other)
        }
        (None, None, None, Some(gates), Some(by), None) => What::Delay(gates, by),
        (None, None, None, None, None, Some(gates)) => What::Leave(gates),
        _ => {
            let remedy = "write kill, or cut and from, or delay and by, or leave, and a second fault for more";
            table.wrong("is not one thing", remedy);
            return None;
        }
    };
    Some(Fault { name, at, until, what })
}

/// The hosts that a key names; all of a kind by the kind's name.
fn hosts(table: &Section<'_>, key: &'static Key<List<Text>>, of: &Faults) -> Option<Vec<String>> {
    let given = table.given(key)?;
    let known = of.hosts();
    let mut named = Vec::new();
    for word in given {
        let all = of.of_kind(word.strip_suffix('s').filter(|_| word != "nats").unwrap_or(word));
        match known.iter().any(|host| host == word) {
            true => named.push(word.to_owned()),
            false if ["gates", "services", "nats"].contains(&word) => named.extend(all),
            false => {
                let remedy = format!("name some of {}", known.join(", "));
                table.get(key.name)?.wrong(format!("{word} is no host"), remedy);
            }
        }
    }
    Some(named)
}

/// The gates that a key names.
fn gates(table: &Section<'_>, key: &'static Key<List<Text>>, of: &Faults) -> Option<Vec<String>> {
    let named = hosts(table, key, of)?;
    if let Some(other) = named.iter().find(|host| !host.starts_with("gate")) {
        let remedy = "name gates: gate-1 and so on";
        table.get(key.name)?.wrong(format!("{other} is no gate"), remedy);
    }
    Some(named)
}

/// The tables of a fault file, for the reference page.
pub(crate) fn tables() -> [(&'static str, &'static dyn Keys); 2] {
    [("A fault file", &FAULTS), ("[[faults]]", &FAULT)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_file_that_ships_can_be_read_and_leaves_time_after_it() {
        for (name, _) in BUILT_IN {
            let faults = Faults::named(name).unwrap();
            let phases = faults.phases(24.0).unwrap();
            assert_eq!(phases, [(0.0, 6.0), (6.0, 11.0), (13.0, 24.0)], "{name}");
            assert!(faults.phases(13.5).unwrap_err().contains("at least 14 s"));
        }
        let gone = Faults::named("nats-gone").unwrap();
        assert_eq!(gone.faults[0].what, What::Kill(gone.of_kind("nats")));
        assert_eq!(gone.of_kind("nats"), ["nats-1", "nats-2", "nats-3"]);
        let moves = Faults::named("demand-moves").unwrap();
        assert_eq!(moves.faults[1].what, What::Leave(vec!["gate-1".into()]));
        assert!(Faults::named("nowhere").unwrap_err().contains("gate-killed"));
    }

    #[test]
    fn mistakes_of_a_fault_are_told_with_their_line_and_remedy() {
        let text = "about = \"x\"\nnats = 0\n[[faults]]\nname = \"a\"\nat = \"2s\"\nuntil = \"1s\"\n\
                    kill = [\"gate-4\"]\n[[faults]]\nname = \"b\"\nat = \"1s\"\nuntil = \"2s\"\n\
                    cut = [\"gate-1\"]\n[[faults]]\nname = \"c\"\nat = \"1s\"\nuntil = \"2s\"\n\
                    cut = [\"gate-1\"]\nfrom = [\"gates\"]\n[[faults]]\nname = \"d\"\nat = \"1s\"\n\
                    until = \"2s\"\ndelay = [\"service-1\"]\nby = \"9ms\"\n";
        let found = Faults::from_toml(text, "a.toml").unwrap_err().to_string();
        for (line, words) in [
            (3, "is mended before it begins; make until later"),
            (7, "gate-4 is no host; name some of service-1, service-2, gate-1"),
            (8, "is not one thing; write kill, or cut and from"),
            (13, "cuts gate-1 off from itself"),
            (23, "service-1 is no gate; name gates"),
        ] {
            let begins = format!("a.toml:{line}:");
            let told = found.lines().any(|told| told.starts_with(&begins) && told.contains(words));
            assert!(told, "{begins} {words}\n{found}");
        }
    }
}
