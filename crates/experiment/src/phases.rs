//! The phases of a run that a claim can name: those that a record has, and their sums.

use std::sync::LazyLock;

use tidegate_trace::Phase;

use crate::metrics::Figures;

/// A phase by its name, or a sum of phases.
#[derive(Clone, Debug)]
pub struct Named {
    /// Its name: the observer and the phase.
    pub name: String,
    /// The unit.
    pub unit: &'static str,
    /// What it is.
    pub meaning: String,
}

/// The phases of a connection at the gate, in the order of its life.
pub const GATE: [Phase; 13] = [
    Phase::Accept,
    Phase::FirstFlight,
    Phase::Queue,
    Phase::HandshakeFull,
    Phase::HandshakeResumed,
    Phase::AwaitRequest,
    Phase::ReadRequest,
    Phase::Service,
    Phase::Upstream,
    Phase::Database,
    Phase::Respond,
    Phase::Idle,
    Phase::Close,
];

/// Sums of the gate's phases.
///
/// Source: Guitart et al. 2007, section 7.1.2: "SSL handshake", "connection (no request)" and the
/// average time of a connection. Deviation: what the gate adds before the handshake is in the
/// whole alone.
const SUMS: [(&str, Sum, &str); 3] = [
    ("handshake", Phase::is_handshake, "its TLS handshake, full or resumed"),
    (
        "no_request",
        Phase::is_without_request,
        "without a request: before the first, and between two",
    ),
    ("connection", |_| true, "all phases"),
];

/// CPU time of the gate for one handshake of a kind, and how many times that of a resumed one a
/// full one takes.
///
/// Source: Guitart et al. 2007, section 7.1.2, "the big difference between the computational demand
/// of a resumed SSL handshake (2 ms) and a full SSL handshake (175 ms)".
pub const FULL_COST: &str = "gate.full_cost";
/// The same of a resumed handshake.
pub const RESUMED_COST: &str = "gate.resumed_cost";
const COST_RATIO: &str = "gate.full_to_resumed";

type Sum = fn(Phase) -> bool;

const OF_CONNECTION: &str = "ms per connection";
const OF_REQUEST: &str = "ms per request";

/// Where an answered request is.
const PLACES: [(&str, &str); 6] = [
    ("request.before_gate", "before the gate"),
    ("request.gate", "in the gate"),
    ("request.before_site", "between gate and site"),
    ("request.site", "in the site"),
    ("request.database", "in the database"),
    ("request.upstream", "behind the gate, where the site does not trace"),
];

/// What customers observe, the mean of each time that it occurs.
const CUSTOMER: [(&str, &str); 5] = [
    ("customer.connect", "opening a TCP connection"),
    ("customer.full_handshake", "a full TLS handshake"),
    ("customer.resumed_handshake", "a resumed TLS handshake"),
    ("customer.first_byte", "from sending a request to the first byte of the response"),
    ("customer.last_byte", "from the first byte to the last"),
];

static ALL: LazyLock<Vec<Named>> = LazyLock::new(|| {
    let named = |name: String, unit, meaning: String| Named { name, unit, meaning };
    let mut all = Vec::new();
    for phase in GATE {
        let (name, words) = (phase.name(), phase.words());
        all.push(named(format!("gate.{name}"), OF_CONNECTION, format!("{words}, at the gate")));
    }
    for phase in GATE {
        let (name, words) = (phase.name(), phase.words());
        let meaning = format!("CPU time of the gate in it: {words}");
        all.push(named(format!("gate.{name}.cpu"), OF_CONNECTION, meaning));
    }
    for (name, _, meaning) in SUMS {
        all.push(named(format!("gate.{name}"), OF_CONNECTION, meaning.to_owned()));
        let meaning = format!("CPU time of the gate in it: {meaning}");
        all.push(named(format!("gate.{name}.cpu"), OF_CONNECTION, meaning));
    }
    for (name, _, meaning) in SUMS.into_iter().filter(|(name, ..)| *name != "connection") {
        let meaning = format!("share of a connection's time: {meaning}");
        all.push(named(format!("gate.{name}_share"), "share", meaning));
    }
    for (name, _, meaning) in SUMS.into_iter().filter(|(name, ..)| *name != "connection") {
        let meaning = format!("share of the gate's CPU time for a connection: {meaning}");
        all.push(named(format!("gate.{name}.cpu_share"), "share", meaning));
    }
    for (name, unit, meaning) in [
        (FULL_COST, "ms", "CPU time of the gate for a full TLS handshake"),
        (RESUMED_COST, "ms", "CPU time of the gate for a resumed TLS handshake"),
        (COST_RATIO, "", "how many times that of a resumed one a full one takes"),
    ] {
        all.push(named(name.to_owned(), unit, meaning.to_owned()));
    }
    all.extend(PLACES.map(|(name, words)| {
        named(name.to_owned(), OF_REQUEST, format!("{words}, mean of the answered requests"))
    }));
    all.extend(CUSTOMER.map(|(name, words)| {
        named(name.to_owned(), "ms", format!("{words}, as customers observe it"))
    }));
    all
});

/// Every phase that a claim can name.
pub fn all() -> &'static [Named] {
    &ALL
}

/// Whether a claim can name it.
pub fn is_known(name: &str) -> bool {
    ALL.iter().any(|phase| phase.name == name)
}

/// The phases of the observer that a name begins with, in one line that is short enough for a
/// mistake: `phases of gate: accept, queue`. Of another name, the observers.
pub fn of_the_observer_of(name: &str) -> String {
    let observer = name.split('.').next().unwrap_or_default();
    let of = |it: &'static Named| it.name.strip_prefix(observer)?.strip_prefix('.');
    let names = ALL.iter().filter_map(of).filter(|name| !name.contains(".cpu"));
    let names = names.collect::<Vec<_>>().join(", ");
    match observer {
        "gate" => format!("phases of gate: {names}; with .cpu their CPU time"),
        "request" | "customer" => format!("phases of {observer}: {names}"),
        _ => "phases begin with `gate.`, `request.` or `customer.`".into(),
    }
}

/// Whether it comes from a trace.
pub fn is_traced(name: &str) -> bool {
    name.starts_with("gate.") || name.starts_with("request.")
}

/// The value of a phase among those of a run, in milliseconds, or a share. A phase that the gate
/// traced no time of took none. `None` where it was not measured: there is no trace, or no such
/// handshake.
pub fn value(phases: &Figures, name: &str) -> Option<f64> {
    let value = match (name, name.strip_prefix("gate.")) {
        (COST_RATIO, _) => phases.get(FULL_COST)? / phases.get(RESUMED_COST)?,
        (FULL_COST | RESUMED_COST, _) | (_, None) => *phases.get(name)?,
        (_, Some(name)) => of_gate(phases, name)?,
    };
    value.is_finite().then_some(value)
}

fn of_gate(phases: &Figures, name: &str) -> Option<f64> {
    if let Some(part) = name.strip_suffix("_share") {
        let whole = if part.ends_with(".cpu") { "connection.cpu" } else { "connection" };
        return Some(of_gate(phases, part)? / of_gate(phases, whole)?);
    }
    let (name, ending) = match name.strip_suffix(".cpu") {
        Some(name) => (name, ".cpu"),
        None => (name, ""),
    };
    let of = |phase: Phase| phases.get(&format!("gate.{}{ending}", phase.name())).copied();
    if !GATE.into_iter().any(|phase| of(phase).is_some()) {
        return None;
    }
    let sum = |belongs: &dyn Fn(Phase) -> bool| -> f64 {
        GATE.into_iter().filter(|phase| belongs(*phase)).filter_map(of).sum()
    };
    match SUMS.into_iter().find(|(of, ..)| *of == name) {
        Some((_, belongs, _)) => Some(sum(&belongs)),
        None => Some(sum(&|phase| phase.name() == name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phases(of: &[(&str, f64)]) -> Figures {
        of.iter().map(|(name, ms)| ((*name).to_owned(), *ms)).collect()
    }

    const TRACED: [(&str, f64); 9] = [
        ("gate.handshake_full", 15.0),
        ("gate.handshake_full.cpu", 2.0),
        ("gate.handshake_resumed", 5.0),
        ("gate.await_request", 10.0),
        ("gate.upstream", 20.0),
        ("gate.idle", 50.0),
        ("gate.idle.cpu", 0.5),
        ("gate.full_cost", 8.0),
        ("gate.resumed_cost", 0.5),
    ];

    #[test]
    fn sums_and_shares_are_of_the_phases_that_the_paper_has() {
        let phases = phases(&TRACED);
        for (name, expected) in [
            ("gate.handshake_full", 15.0),
            ("gate.handshake", 20.0),
            ("gate.handshake.cpu", 2.0),
            ("gate.no_request", 60.0),
            ("gate.connection", 100.0),
            ("gate.connection.cpu", 2.5),
            ("gate.no_request.cpu_share", 0.2),
            ("gate.resumed_cost", 0.5),
            ("gate.full_to_resumed", 16.0),
            ("gate.handshake_share", 0.2),
            ("gate.no_request_share", 0.6),
        ] {
            assert_eq!(value(&phases, name), Some(expected), "{name}");
        }
    }

    #[test]
    fn a_phase_that_did_not_occur_took_no_time_and_one_that_was_not_traced_has_none() {
        let traced = phases(&TRACED);
        assert_eq!(value(&traced, "gate.queue"), Some(0.0));
        assert_eq!(value(&traced, "request.gate"), None);
        assert_eq!(value(&traced, "customer.full_handshake"), None);
        let customers = phases(&[("customer.full_handshake", 3.0)]);
        assert_eq!(value(&customers, "customer.full_handshake"), Some(3.0));
        assert_eq!(value(&customers, "gate.queue"), None);
        assert_eq!(value(&customers, "gate.handshake_share"), None);
    }

    #[test]
    fn every_name_has_a_value_where_every_phase_occurred() {
        let occurred = GATE.into_iter().flat_map(|phase| {
            [format!("gate.{}", phase.name()), format!("gate.{}.cpu", phase.name())]
        });
        let others = PLACES.into_iter().chain(CUSTOMER).map(|(name, _)| name.to_owned());
        let others = others.chain([FULL_COST, RESUMED_COST].map(str::to_owned));
        let phases: Figures = occurred.chain(others).map(|name| (name, 1.0)).collect();
        for phase in all() {
            assert!(value(&phases, &phase.name).is_some_and(|it| it > 0.0), "{}", phase.name);
        }
        let names = phases.keys().filter(|name| !is_known(name));
        assert_eq!(names.count(), 0);
        let mut names: Vec<&str> = all().iter().map(|phase| phase.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all().len());
    }
}
