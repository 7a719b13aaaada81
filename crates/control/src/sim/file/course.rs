//! What happens when: arrivals, attacks, changes.

use tidegate_toml::Section;

use super::values::{CORES, LOADS, in_section, number, seconds, sections, yes_or_no};
use crate::sim::arrivals::{Arrivals, Bursts, Segment, Wave};
use crate::sim::scenario::{Attack, AttackKind, Change, Changed, Resource, Scenario};

pub(super) fn arrivals(section: &Section<'_>) -> Arrivals {
    section.only(&["segments", "bursts", "wave"]);
    let mut arrivals = Arrivals::default();
    if let Some(list) = section.get("segments") {
        for section in sections(&list) {
            section.only(&["from", "level", "to"]);
            let (mut from_s, mut level) = (0.0, 1.0);
            seconds(&section, "from", 0.0..=3600.0, &mut from_s);
            number(&section, "level", LOADS, &mut level);
            let mut to_level = level;
            number(&section, "to", LOADS, &mut to_level);
            if arrivals.segments.last().is_some_and(|last| last.from_s >= from_s) {
                section.wrong("begins no later than the one before", "put them in order of time");
            }
            arrivals.segments.push(Segment { from_s, level, to_level });
        }
    }
    in_section(section, "bursts", |section| {
        section.only(&["factor", "lasts", "share"]);
        let mut bursts = Bursts { factor: 3.0, lasts_s: 0.5, share: 0.1 };
        number(section, "factor", 1.0..=1000.0, &mut bursts.factor);
        seconds(section, "lasts", 0.001..=3600.0, &mut bursts.lasts_s);
        number(section, "share", 0.001..=0.999, &mut bursts.share);
        if bursts.factor * bursts.share > 1.0 {
            let remedy = "make factor or share smaller: their product is 1 at most";
            section.wrong("brings more in bursts than in all", remedy);
        }
        arrivals.bursts = Some(bursts);
    });
    in_section(section, "wave", |section| {
        section.only(&["period", "amplitude"]);
        let mut wave = Wave { period_s: 10.0, amplitude: 0.5 };
        seconds(section, "period", 0.01..=86_400.0, &mut wave.period_s);
        number(section, "amplitude", 0.0..=1.0, &mut wave.amplitude);
        arrivals.wave = Some(wave);
    });
    arrivals
}

pub(super) fn attack(section: &Section<'_>, s: &Scenario) -> Option<Attack> {
    section.only(&["kind", "load", "from", "until"]);
    const KINDS: [(&str, AttackKind); 4] = [
        ("handshakes", AttackKind::Handshakes),
        ("forged-tickets", AttackKind::ForgedTickets),
        ("shared-ticket", AttackKind::SharedTicket),
        ("lingering", AttackKind::Lingering),
    ];
    let Some(kind) = section.get("kind") else {
        section.wrong("has no kind", format!("write kind = \"{}\"", KINDS[0].0));
        return None;
    };
    let kind = KINDS[kind.choice(&KINDS.map(|(name, _)| name))?].1;
    let mut attack = Attack { kind, load: 1.0, from_s: 0.0, until_s: s.duration_s };
    number(section, "load", LOADS, &mut attack.load);
    seconds(section, "from", 0.0..=3600.0, &mut attack.from_s);
    seconds(section, "until", 0.0..=3600.0, &mut attack.until_s);
    Some(attack)
}

pub(super) fn change(section: &Section<'_>) -> Option<Change> {
    section.only(&["at", "cores_of", "cores", "seen", "requests", "handshakes", "over"]);
    let mut at_s = 0.0;
    seconds(section, "at", 0.0..=3600.0, &mut at_s);
    const RESOURCES: [&str; 3] = ["gate", "upstream", "database"];
    if let Some(resource) = section.get("cores_of") {
        let place = resource.choice(&RESOURCES)?;
        let resource = [Resource::Gate, Resource::Upstream, Resource::Database][place];
        let (mut cores, mut seen) = (1.0, true);
        number(section, "cores", CORES, &mut cores);
        yes_or_no(section, "seen", &mut seen);
        return Some(Change { at_s, what: Changed::Cores { resource, cores, seen } });
    }
    let (mut requests, mut handshakes, mut over_s) = (1.0, 1.0, 0.0);
    number(section, "requests", 0.001..=1000.0, &mut requests);
    number(section, "handshakes", 0.001..=1000.0, &mut handshakes);
    seconds(section, "over", 0.0..=3600.0, &mut over_s);
    if (requests, handshakes) == (1.0, 1.0) {
        let remedy = "write cores_of = \"gate\" and cores = 0.5, or requests = 2.0";
        section.wrong("changes nothing", remedy);
        return None;
    }
    Some(Change { at_s, what: Changed::Cost { requests, handshakes, over_s } })
}
