//! What happens when: arrivals, attacks, changes.

use tidegate_config::Section;

use super::values::{CORES, LOADS, in_section, number, seconds, sections, yes_or_no};
use crate::arrivals::{Arrivals, Bursts, Segment, Wave};
use crate::scenario::{Attack, AttackKind, Change, Changed, Resource, Scenario};

pub(super) fn arrivals(section: &Section<'_>, duration_s: f64) -> Arrivals {
    section.only(&["segments", "bursts", "wave", "closed"]);
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
                section.wrong("does not begin later than the one before", "order them by time");
            }
            arrivals.segments.push(Segment { from_s, level, to_level });
        }
        // The last ramp ends with the run.
        if let Some(Segment { from_s, level, to_level }) = arrivals.segments.last().copied()
            && level != to_level
            && from_s < duration_s
        {
            let end = Segment { from_s: duration_s, level: to_level, to_level };
            arrivals.segments.push(end);
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
            section.wrong("has more arrivals in bursts than in all", remedy);
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
    if let Some(value) = section.get("closed") {
        arrivals.closed = value.integer(1..=100_000).map(|number| number as u32);
        if ["segments", "bursts", "wave"].iter().any(|key| section.get(key).is_some()) {
            let remedy = "remove it, or segments, bursts and wave";
            value.wrong("cannot be combined with a schedule of arrivals", remedy);
        }
    }
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
    in_order(section, (attack.from_s, attack.until_s), s.duration_s);
    Some(attack)
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

pub(super) fn change(section: &Section<'_>, s: &Scenario) -> Option<Change> {
    section.only(&["at", "cores_of", "cores", "seen", "requests", "handshakes", "over"]);
    let mut at_s = 0.0;
    seconds(section, "at", 0.0..=3600.0, &mut at_s);
    if at_s >= s.duration_s {
        let rule = format!("comes at {at_s} s of {} s", s.duration_s);
        section.wrong(rule, "make at earlier, or the run last longer");
    }
    let has = |key: &&&str| section.get(key).is_some();
    let cores = ["cores", "seen"].iter().find(has);
    let cost = ["requests", "handshakes", "over"].iter().find(has);
    const RESOURCES: [&str; 3] = ["gate", "upstream", "database"];
    if let Some(resource) = section.get("cores_of") {
        let place = resource.choice(&RESOURCES)?;
        let resource = [Resource::Gate, Resource::Upstream, Resource::Database][place];
        if let Some(cost) = cost {
            let remedy = "write two changes, one of cores and one of what work costs";
            section.wrong(format!("changes cores and has {cost} as well"), remedy);
        }
        if resource == Resource::Database && s.database.is_none() {
            let remedy = "add [database], or name gate or upstream";
            section.wrong("changes the cores of a database that is not there", remedy);
            return None;
        }
        let (mut cores, mut seen) = (1.0, true);
        number(section, "cores", CORES, &mut cores);
        yes_or_no(section, "seen", &mut seen);
        return Some(Change { at_s, what: Changed::Cores { resource, cores, seen } });
    }
    if let Some(cores) = cores {
        section.wrong(format!("has {cores} and no cores_of"), "add cores_of = \"gate\"");
        return None;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Scenario, String> {
        let text = format!("about = \"x\"\nduration = \"20s\"\n{text}");
        Scenario::from_toml(&text, "a.toml").map_err(|mistakes| mistakes.to_string())
    }

    #[test]
    fn the_last_ramp_ends_with_the_run() {
        let scenario = read("[arrivals]\nsegments = [{ level = 0.0, to = 1.0 }]").unwrap();
        assert_eq!([0.0, 5.0, 20.0].map(|at| scenario.arrivals.level(at)), [0.0, 0.25, 1.0]);
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
