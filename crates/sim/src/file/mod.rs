//! Scenarios as files: TOML, in which everything but what makes the scenario
//! is left to its default, the demo's.

mod course;
mod customers;
mod distributions;
mod expectations;
mod values;

use tidegate_config::{Mistakes, Section};

use self::course::{arrivals, attack, change, in_order};
use self::customers::customers;
use self::distributions::times;
use self::expectations::expectations;
use self::values::{CORES, CPU, in_section, number, numbers, seconds, sections, whole, yes_or_no};
use super::distribution::Distribution;
use super::scenario::{AfterFailure, Customers, Database, Pauses, Resource, Scenario};

/// Most arrivals of a run: a mistyped number must not take all memory.
const MOST_SESSIONS: f64 = 20e6;

impl Scenario {
    /// Reads a scenario; `file` is what mistakes name as their place.
    ///
    /// # Errors
    /// Every mistake of the text.
    pub fn from_toml(text: &str, file: &str) -> Result<Self, Mistakes> {
        tidegate_config::read(text, file, |root| scenario(root, stem(file)))
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
        None => root.wrong("has no about", "add about = \"...\""),
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
            "leave at least a second after watch_from, or make duration longer",
        );
    }
    in_section(root, "gate", |section| gate(section, &mut s));
    in_section(root, "upstream", |section| upstream(section, &mut s));
    in_section(root, "database", |section| {
        section.only(&["cores", "request"]);
        let request = Distribution::exponential(200e-6);
        let mut database = Database { cores: 1.0, request };
        number(section, "cores", CORES, &mut database.cores);
        times(section, "request", 0.0..=10.0, &mut database.request);
        s.database = Some(database);
    });
    in_section(root, "work", |section| work(section, &mut s));
    if let Some(list) = root.get("customers") {
        s.customers = sections(&list).iter().map(|class| customers(class, &s.work)).collect();
        let shares: f64 = s.customers.iter().map(|class| class.share).sum();
        if s.customers.is_empty() || (shares - 1.0).abs() > 1e-6 {
            list.wrong(format!("have shares that add up to {shares}"), "make the sum 1");
        }
    }
    in_section(root, "arrivals", |section| s.arrivals = arrivals(section, s.duration_s));
    if let Some(list) = root.get("attacks") {
        s.attacks = sections(&list).iter().filter_map(|section| attack(section, &s)).collect();
    }
    if let Some(list) = root.get("changes") {
        s.changes = sections(&list).iter().filter_map(|section| change(section, &s)).collect();
        s.changes.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    }
    in_section(root, "telemetry", |section| telemetry(section, &mut s));
    if let Some(list) = root.get("expect") {
        s.expectations = sections(&list).iter().flat_map(|e| expectations(e, &s.loads)).collect();
    }
    if root.get("upstream").and_then(|upstream| upstream.section()?.get("threads")).is_none() {
        s.upstream.threads = s.most_cores()[Resource::Upstream as usize].ceil() as usize;
    }
    let sessions = sessions_at_most(&s);
    if sessions > MOST_SESSIONS {
        root.wrong(
            format!("has {:.0} million sessions", sessions / 1e6),
            "make work costlier, loads lower, attempts fewer or duration shorter: 20 million at most",
        );
    }
    Some(s)
}

/// Sessions of a run at its heaviest load if nobody gets in, attempts and all.
fn sessions_at_most(s: &Scenario) -> f64 {
    let attempts = |class: &Customers| match class.after_failure {
        AfterFailure::Leaves => 1.0,
        AfterFailure::Returns { back_off_s, times } => {
            1.0 + f64::from(times).min(s.duration_s / back_off_s)
        }
    };
    let attempts: f64 = s.customers.iter().map(|class| class.share * attempts(class)).sum();
    let most = s.loads.iter().copied().fold(0.0, f64::max) * s.arrivals.highest();
    let attacks: f64 = s.attacks.iter().map(|attack| attack.load).sum();
    (most * attempts + attacks) * s.capacity_per_s() * s.duration_s
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
    section.only(&["cores", "threads", "visible", "wait", "pauses"]);
    let mut cores = 0.0;
    number(section, "cores", CORES, &mut cores);
    s.upstream.cores = (cores > 0.0).then_some(cores);
    whole(section, "threads", 1..=1_000_000, &mut s.upstream.threads);
    yes_or_no(section, "visible", &mut s.upstream.visible);
    times(section, "wait", 0.0..=60.0, &mut s.upstream.wait);
    in_section(section, "pauses", |section| {
        section.only(&["every", "lasts"]);
        let mut pauses = Pauses { every_s: 5.0, lasts_s: 0.2 };
        seconds(section, "every", 0.01..=3600.0, &mut pauses.every_s);
        seconds(section, "lasts", 0.001..=60.0, &mut pauses.lasts_s);
        if pauses.lasts_s >= pauses.every_s {
            section.wrong("lasts until the next pause", "make every longer than lasts");
        }
        s.upstream.pauses = Some(pauses);
    });
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
    ] {
        seconds(section, key, CPU, cost);
    }
    number(section, "gate_unattributed", 0.0..=0.9, &mut work.gate_unattributed);
    let mut scv = work.first_request.scv();
    number(section, "request_scv", 0.0..=100.0, &mut scv);
    for (key, demand) in
        [("first_request", &mut work.first_request), ("later_request", &mut work.later_request)]
    {
        if section.get("request_scv").is_some() {
            *demand = Distribution::of_scv(demand.mean(), scv);
        }
        times(section, key, CPU, demand);
    }
}

fn telemetry(section: &Section<'_>, s: &mut Scenario) {
    section.only(&[
        "late",
        "use",
        "idle",
        "use_factor",
        "noise",
        "capacity_factor",
        "count_factor",
        "blind",
    ]);
    let telemetry = &mut s.telemetry;
    seconds(section, "late", 0.0..=60.0, &mut telemetry.late_s);
    yes_or_no(section, "use", &mut telemetry.has_use);
    yes_or_no(section, "idle", &mut telemetry.has_idle);
    number(section, "capacity_factor", 0.01..=100.0, &mut telemetry.capacity_factor);
    number(section, "count_factor", 0.0..=100.0, &mut telemetry.count_factor);
    number(section, "use_factor", 0.0..=100.0, &mut telemetry.use_factor);
    number(section, "noise", 0.0..=1.0, &mut telemetry.noise);
    in_section(section, "blind", |section| {
        section.only(&["from", "until"]);
        let (mut from_s, mut until_s) = (0.0, s.duration_s);
        seconds(section, "from", 0.0..=3600.0, &mut from_s);
        seconds(section, "until", 0.0..=3600.0, &mut until_s);
        in_order(section, (from_s, until_s), s.duration_s);
        telemetry.blind = Some((from_s, until_s));
    });
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
    fn every_mistake_is_reported_with_its_line_and_remedy() {
        let text = "loads = [-1]\n[gate]\ncroes = 2\ntick = \"1h\"\n[[customers]]\nshare = 0.5\n\
                    back_off = \"1s\"\n[[attacks]]\nkind = \"forged\"\n[[expect]]\n\
                    policy = \"tidee\"\n[[changes]]\nat = \"1s\"\n";
        let found = Scenario::from_toml(text, "a.toml").unwrap_err().to_string();
        let found: Vec<_> = found.lines().collect();
        for (line, words) in [
            (1, "has no about"),
            (1, "= -1: must be a number of 0.01 to 100"),
            (3, "croes = 2: is not a known key; did you mean cores?"),
            (4, "must be a duration of 10ms to 1s"),
            (5, "shares that add up to 0.5"),
            (5, "one of back_off and attempts"),
            (9, "\"forged\": must be one of"),
            (11, "did you mean \"tide\"?"),
            (12, "changes nothing"),
        ] {
            let begins = format!("a.toml:{line}:");
            let reported = found.iter().any(|f| f.starts_with(&begins) && f.contains(words));
            assert!(reported, "{begins} {words}\n{}", found.join("\n"));
        }
    }

    #[test]
    fn a_slip_of_a_number_does_not_take_all_memory() {
        let text = "about = \"x\"\nduration = \"1h\"\nloads = [100]\n[gate]\ncores = 1024\n";
        let found = Scenario::from_toml(text, "a.toml").unwrap_err().to_string();
        assert!(found.contains("million sessions"), "{found}");
        let text = "about = \"x\"\nloads = [100]\n[[customers]]\nattempts = 1000\n\
                    back_off = \"1ms\"\n";
        let found = Scenario::from_toml(text, "a.toml").unwrap_err().to_string();
        assert!(found.contains("has 902 million sessions"), "{found}");
    }

    #[test]
    fn the_upstream_has_a_thread_for_each_of_its_cores_unless_it_is_said() {
        let threads = |text: &str| {
            Scenario::from_toml(&format!("about = \"x\"\n{text}"), "a.toml")
                .unwrap()
                .upstream
                .threads
        };
        assert_eq!(threads(""), 1);
        assert_eq!(threads("[gate]\ncores = 3.5"), 4);
        assert_eq!(threads("[gate]\ncores = 4\n[upstream]\nthreads = 2"), 2);
        assert_eq!(threads("[upstream]\ncores = 6"), 6);
        let more = "[[changes]]\nat = \"9s\"\ncores_of = \"gate\"\ncores = 2";
        assert_eq!(threads(more), 2);
    }
}
