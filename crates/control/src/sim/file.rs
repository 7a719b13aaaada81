//! Scenarios as files: TOML, in which everything but what makes the scenario
//! is left to its default, the demo's.

use std::ops::RangeInclusive;
use std::time::Duration;

use tidegate_toml::{Mistakes, Section, Value};

use super::arrivals::{Arrivals, Bursts, Segment, Wave};
use super::expectation::{Expectation, Measure};
use super::policies;
use super::scenario::{
    Attack, AttackKind, Change, Changed, Customers, Database, Disappointed, Resource, Scenario,
};

/// Most arrivals of a run: a mistyped number must not take all memory.
const MOST_SESSIONS: f64 = 20e6;
const CORES: RangeInclusive<f64> = 0.01..=1024.0;
const LOADS: RangeInclusive<f64> = 0.0..=100.0;

impl Scenario {
    /// Reads a scenario; `file` is what mistakes name as their place.
    ///
    /// # Errors
    /// Every mistake of the text.
    pub fn from_toml(text: &str, file: &str) -> Result<Self, Mistakes> {
        tidegate_toml::read(text, file, |root| scenario(root, stem(file)))
    }
}

/// `flash-crowd` of `scenarios/flash-crowd.toml`.
fn stem(file: &str) -> &str {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    name.strip_suffix(".toml").unwrap_or(name)
}

fn scenario(root: &Section<'_>, name: &str) -> Option<Scenario> {
    root.only(&[
        "about",
        "loads",
        "duration",
        "watch_from",
        "gate",
        "upstream",
        "database",
        "work",
        "customers",
        "arrivals",
        "attacks",
        "changes",
        "telemetry",
        "expect",
    ]);
    let mut s = Scenario { name: name.to_owned(), ..Scenario::default() };
    match root.get("about") {
        Some(about) => s.about = about.string().unwrap_or_default().trim().to_owned(),
        None => root.wrong("does not say what it is about", "add about = \"...\""),
    }
    if let Some(loads) = root.get("loads") {
        s.loads = numbers(&loads, 0.01..=100.0);
        if loads.list().is_some_and(|list| list.is_empty()) {
            loads.wrong("has no load", "write loads = [0.5, 2.0]");
        }
    }
    seconds(root, "duration", 1.0..=3600.0, &mut s.duration_s);
    seconds(root, "watch_from", 0.0..=3600.0, &mut s.watch_from_s);
    if s.watch_from_s > s.duration_s - 1.0 {
        root.wrong(
            format!("watches from {} s of {} s on", s.watch_from_s, s.duration_s),
            "leave at least a second to watch: mend duration or watch_from",
        );
    }
    in_section(root, "gate", |section| gate(section, &mut s));
    in_section(root, "upstream", |section| upstream(section, &mut s));
    in_section(root, "database", |section| {
        section.only(&["cores", "request"]);
        let mut database = Database { cores: 1.0, request: 200e-6 };
        number(section, "cores", CORES, &mut database.cores);
        seconds(section, "request", 0.0..=10.0, &mut database.request);
        s.database = Some(database);
    });
    in_section(root, "work", |section| work(section, &mut s));
    if let Some(list) = root.get("customers") {
        s.customers = sections(&list).iter().map(customers).collect();
        let shares: f64 = s.customers.iter().map(|class| class.share).sum();
        if s.customers.is_empty() || (shares - 1.0).abs() > 1e-6 {
            list.wrong(format!("have shares that add up to {shares}"), "make the sum 1");
        }
    }
    in_section(root, "arrivals", |section| s.arrivals = arrivals(section));
    if let Some(list) = root.get("attacks") {
        s.attacks = sections(&list).iter().filter_map(|section| attack(section, &s)).collect();
    }
    if let Some(list) = root.get("changes") {
        s.changes = sections(&list).iter().filter_map(change).collect();
        s.changes.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    }
    in_section(root, "telemetry", |section| telemetry(section, &mut s));
    if let Some(list) = root.get("expect") {
        s.expectations = sections(&list).iter().flat_map(|e| expectations(e, &s.loads)).collect();
    }
    let most = s.loads.iter().copied().fold(0.0, f64::max) * s.arrivals.highest();
    let attacks: f64 = s.attacks.iter().map(|attack| attack.load).sum();
    let sessions = (most + attacks) * s.capacity_per_s() * s.duration_s;
    if sessions > MOST_SESSIONS {
        root.wrong(
            format!("brings {:.0} million sessions", sessions / 1e6),
            "make work dearer, loads lower or duration shorter: 20 million at most",
        );
    }
    Some(s)
}

fn gate(section: &Section<'_>, s: &mut Scenario) {
    section.only(&[
        "cores",
        "tick",
        "hold",
        "hold_sessions",
        "keep_alive",
        "linger",
        "session_rate",
        "session_burst",
    ]);
    let gate = &mut s.gate;
    number(section, "cores", CORES, &mut gate.cores);
    seconds(section, "tick", 0.01..=1.0, &mut gate.tick_s);
    seconds(section, "hold", 0.0..=60.0, &mut gate.hold_s);
    whole(section, "hold_sessions", 0..=10_000_000, &mut gate.hold_sessions);
    seconds(section, "keep_alive", 0.001..=3600.0, &mut gate.keep_alive_s);
    seconds(section, "linger", 0.0..=3600.0, &mut gate.linger_s);
    number(section, "session_rate", 0.001..=1e6, &mut gate.session_rate.0);
    number(section, "session_burst", 1.0..=1e6, &mut gate.session_rate.1);
}

fn upstream(section: &Section<'_>, s: &mut Scenario) {
    section.only(&["cores", "threads", "visible", "wait"]);
    let mut cores = 0.0;
    number(section, "cores", CORES, &mut cores);
    s.upstream.cores = (cores > 0.0).then_some(cores);
    whole(section, "threads", 1..=1_000_000, &mut s.upstream.threads);
    yes_or_no(section, "visible", &mut s.upstream.visible);
    seconds(section, "wait", 0.0..=60.0, &mut s.upstream.wait_s);
}

fn work(section: &Section<'_>, s: &mut Scenario) {
    section.only(&[
        "accept",
        "full_handshake",
        "resumed_handshake",
        "gate_request",
        "gate_unattributed",
        "first_request",
        "later_request",
        "request_scv",
    ]);
    let work = &mut s.work;
    for (key, cost) in [
        ("accept", &mut work.accept),
        ("full_handshake", &mut work.full_handshake),
        ("resumed_handshake", &mut work.resumed_handshake),
        ("gate_request", &mut work.gate_request),
        ("first_request", &mut work.first_request),
        ("later_request", &mut work.later_request),
    ] {
        seconds(section, key, 1e-7..=60.0, cost);
    }
    number(section, "gate_unattributed", 0.0..=0.9, &mut work.gate_unattributed);
    number(section, "request_scv", 0.0..=100.0, &mut work.request_scv);
}

fn customers(section: &Section<'_>) -> Customers {
    section.only(&[
        "name",
        "share",
        "requests",
        "requests_max",
        "think",
        "patience",
        "close_when_done",
        "weight",
        "back_off",
        "attempts",
    ]);
    let mut class = Customers::default();
    if let Some(name) = section.get("name").and_then(|name| name.string()) {
        class.name = name.to_owned();
    }
    number(section, "share", 0.0..=1.0, &mut class.share);
    number(section, "requests", 1.0..=10_000.0, &mut class.requests);
    number(section, "requests_max", 1.0..=10_000.0, &mut class.requests_max);
    if class.requests_max < class.requests {
        let remedy = "give the longest session more requests than the mean";
        section.wrong("has requests above requests_max", remedy);
    }
    seconds(section, "think", 0.0..=3600.0, &mut class.think_s);
    seconds(section, "patience", 0.001..=3600.0, &mut class.patience_s);
    yes_or_no(section, "close_when_done", &mut class.close_when_done);
    number(section, "weight", 0.0..=1000.0, &mut class.weight);
    let (mut back_off_s, mut attempts) = (0.0, 0);
    seconds(section, "back_off", 0.001..=3600.0, &mut back_off_s);
    whole(section, "attempts", 2..=1000, &mut attempts);
    match (back_off_s > 0.0, attempts > 0) {
        (false, false) => {}
        (true, true) => {
            let times = attempts as u32 - 1;
            class.disappointed = Disappointed::Returns { back_off_s, times };
        }
        _ => section.wrong(
            "has one of back_off and attempts",
            "give both for customers who come back, none for those who leave",
        ),
    }
    class
}

fn arrivals(section: &Section<'_>) -> Arrivals {
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

fn attack(section: &Section<'_>, s: &Scenario) -> Option<Attack> {
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

fn change(section: &Section<'_>) -> Option<Change> {
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

fn telemetry(section: &Section<'_>, s: &mut Scenario) {
    section.only(&["late", "use_factor", "noise", "blind"]);
    let telemetry = &mut s.telemetry;
    seconds(section, "late", 0.0..=60.0, &mut telemetry.late_s);
    number(section, "use_factor", 0.0..=100.0, &mut telemetry.use_factor);
    number(section, "noise", 0.0..=1.0, &mut telemetry.noise);
    in_section(section, "blind", |section| {
        section.only(&["from", "until"]);
        let (mut from_s, mut until_s) = (0.0, s.duration_s);
        seconds(section, "from", 0.0..=3600.0, &mut from_s);
        seconds(section, "until", 0.0..=3600.0, &mut until_s);
        telemetry.blind = Some((from_s, until_s));
    });
}

fn expectations(section: &Section<'_>, known: &[f64]) -> Vec<Expectation> {
    let names = Measure::ALL.map(Measure::name);
    section.only(&[&["policy", "loads"][..], &names].concat());
    let policy = match section.get("policy") {
        None => Some("tide"),
        Some(policy) => policy.choice(&policies::NAMES).map(|place| policies::NAMES[place]),
    };
    let Some(policy) = policy else { return Vec::new() };
    let loads = section.get("loads").map(|loads| {
        let numbers = numbers(&loads, LOADS);
        if numbers.iter().any(|load| !known.contains(load)) {
            loads.wrong("has one that the scenario is not run at", "add it to loads above");
        }
        numbers
    });
    let loads = loads.unwrap_or_default();
    let mut found = Vec::new();
    for measure in Measure::ALL {
        let Some(value) = section.get(measure.name()) else { continue };
        let Some(range) = value.section() else { continue };
        range.only(&["min", "max"]);
        let (mut min, mut max) = (f64::NEG_INFINITY, f64::INFINITY);
        number(&range, "min", -1e9..=1e9, &mut min);
        number(&range, "max", -1e9..=1e9, &mut max);
        if min > max || (min.is_infinite() && max.is_infinite()) {
            value.wrong("must have min or max, and min below max", "write { max = 0.01 }");
        }
        let (policy, loads) = (policy.to_owned(), loads.clone());
        found.push(Expectation { policy, loads, measure, range: (min, max) });
    }
    if found.is_empty() {
        section.wrong("expects nothing", format!("name one of {}", names.join(", ")));
    }
    found
}

// --- values; a key that is not there leaves its default ---

fn in_section(parent: &Section<'_>, key: &str, read: impl FnOnce(&Section<'_>)) {
    if let Some(section) = parent.get(key).and_then(|value| value.section()) {
        read(&section);
    }
}

fn sections<'r>(list: &Value<'r>) -> Vec<Section<'r>> {
    let list = list.list().unwrap_or_default();
    list.iter().filter_map(|value| value.section()).collect()
}

fn numbers(list: &Value<'_>, range: RangeInclusive<f64>) -> Vec<f64> {
    let list = list.list().unwrap_or_default();
    list.iter().filter_map(|value| value.number(range.clone())).collect()
}

fn number(section: &Section<'_>, key: &str, range: RangeInclusive<f64>, to: &mut f64) {
    if let Some(number) = section.get(key).and_then(|value| value.number(range)) {
        *to = number;
    }
}

fn whole(section: &Section<'_>, key: &str, range: RangeInclusive<i64>, to: &mut usize) {
    if let Some(number) = section.get(key).and_then(|value| value.integer(range)) {
        *to = number as usize;
    }
}

fn yes_or_no(section: &Section<'_>, key: &str, to: &mut bool) {
    if let Some(yes) = section.get(key).and_then(|value| value.boolean()) {
        *to = yes;
    }
}

fn seconds(section: &Section<'_>, key: &str, range: RangeInclusive<f64>, to: &mut f64) {
    let range = Duration::from_secs_f64(*range.start())..=Duration::from_secs_f64(*range.end());
    if let Some(duration) = section.get(key).and_then(|value| value.duration(range)) {
        *to = duration.as_secs_f64();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_only_what_is_not_as_usual() {
        let text = r#"
            about = "A crowd."
            loads = [10]
            [work]
            full_handshake = "2ms"
            [arrivals]
            segments = [{ level = 0.05 }, { from = "5s", level = 1.0, to = 0.5 }]
            [[changes]]
            at = "3s"
            cores_of = "gate"
            cores = 0.5
            seen = false
            [[expect]]
            goodput = { min = 0.9 }
        "#;
        let scenario = Scenario::from_toml(text, "dir/crowd.toml").unwrap();
        assert_eq!((scenario.name.as_str(), scenario.about.as_str()), ("crowd", "A crowd."));
        assert_eq!((scenario.work.full_handshake, scenario.work.accept), (0.002, 17e-6));
        assert_eq!(scenario.arrivals.level(4.0), 0.05);
        assert_eq!(scenario.expectations[0].range, (0.9, f64::INFINITY));
        assert_eq!(scenario.cores(4.0)[0], 0.5);
    }

    #[test]
    fn every_mistake_is_told_with_its_line_and_remedy() {
        let text = "loads = [-1]\n[gate]\ncroes = 2\ntick = \"1h\"\n[[customers]]\nshare = 0.5\n\
                    back_off = \"1s\"\n[[attacks]]\nkind = \"forged\"\n[[expect]]\n\
                    policy = \"tidee\"\n[[changes]]\nat = \"1s\"\n";
        let found = Scenario::from_toml(text, "a.toml").unwrap_err().to_string();
        let found: Vec<_> = found.lines().collect();
        for (line, words) in [
            (1, "does not say what it is about"),
            (1, "= -1 must be 0.01 to 100"),
            (3, "croes: is not a known key; did you mean cores?"),
            (4, "must be 10ms to 1s"),
            (5, "shares that add up to 0.5"),
            (5, "one of back_off and attempts"),
            (9, "\"forged\" is not known"),
            (11, "\"tidee\" is not known; did you mean tide?"),
            (12, "changes nothing"),
        ] {
            let begins = format!("a.toml:{line}:");
            let told = found.iter().any(|f| f.starts_with(&begins) && f.contains(words));
            assert!(told, "{begins} {words}\n{}", found.join("\n"));
        }
    }

    #[test]
    fn a_slip_of_a_number_does_not_take_all_memory() {
        let text = "about = \"x\"\nduration = \"1h\"\nloads = [100]\n[gate]\ncores = 1024\n";
        let found = Scenario::from_toml(text, "a.toml").unwrap_err().to_string();
        assert!(found.contains("million sessions"), "{found}");
    }
}
