//! Scenarios as files: TOML, in which everything but what makes the scenario
//! is left to its default, the demo's.

mod arrivals;
mod course;
mod customers;
mod distributions;
mod expectations;
mod families;
mod limits;
mod reference;
mod service;
mod telemetry;

use tidegate_config::Preset::{Else, Is, Required};
use tidegate_config::{List, Mistakes, Number, Section, Subtable, Text, Time, keys};

use self::arrivals::arrivals;
use self::course::{attack, change};
use self::customers::customers;
use self::expectations::expectations;
use self::limits::{HEAVIEST, seconds};
use self::service::{UPSTREAM, database, gate, upstream, work};
use self::telemetry::telemetry;
use super::scenario::{AfterFailure, Customers, Resource, Scenario, Telemetry};

pub use self::reference::reference;

/// Most arrivals of a run: a mistyped number must not take all memory.
const MOST_SESSIONS: f64 = 20e6;

keys! {
    /// The file as a whole.
    static SCENARIO: ScenarioKeys {
        /// What it is about, in a sentence.
        about: Text("") = Required("...");
        /// The loads that it is run at, one run each, in multiples of the capacity.
        loads: List<Number>(Number(0.01, HEAVIEST)) = Is("0.8, 0.9, 2, 4, 10");
        /// Length of a run.
        duration: Time("1s", "1h") = Is("30s");
        /// Time from which on a run is judged, at least a second before its end.
        watch_from: Time("0s", "1h") = Is("8s");
        /// The gate.
        gate: Subtable = Else("all defaults");
        /// The service behind it.
        upstream: Subtable = Else("all defaults");
        /// The service's database, where it is a resource of its own.
        database: Subtable = Else("none");
        /// What work costs.
        work: Subtable = Else("all defaults");
        /// Classes of customers.
        customers: List<Subtable>(Subtable) = Else("one class with all defaults");
        /// When customers come.
        arrivals: Subtable = Else("the load of the run throughout");
        /// Attacks.
        attacks: List<Subtable>(Subtable) = Else("none");
        /// Changes on the way.
        changes: List<Subtable>(Subtable) = Else("none");
        /// What the gate is told.
        telemetry: Subtable = Else("all defaults");
        /// What must come out.
        expect: List<Subtable>(Subtable) = Else("nothing");
    }
}

impl Scenario {
    /// Reads a scenario; `file` is what mistakes name as their place.
    ///
    /// # Errors
    /// Every mistake of the text.
    pub fn from_toml(text: &str, file: &str) -> Result<Self, Mistakes> {
        tidegate_config::read(text, file, |root| Some(scenario(root, stem(file))))
    }
}

impl Default for Scenario {
    /// The demo: one core for gate and site, RSA-2048, an auction site at 40
    /// times the speed of life, at a constant load; costs as the gate learned
    /// them in it. These are the defaults of a file.
    fn default() -> Self {
        Self::from_toml("about = \"\"", "demo").expect("no other key must be set")
    }
}

impl Default for Customers {
    /// Those of the demo.
    fn default() -> Self {
        Scenario::default().customers.remove(0)
    }
}

impl Default for Telemetry {
    /// Readings without a fault.
    fn default() -> Self {
        Scenario::default().telemetry
    }
}

/// `flash-crowd` of `scenarios/flash-crowd.toml`.
fn stem(file: &str) -> &str {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    name.strip_suffix(".toml").unwrap_or(name)
}

fn scenario(root: &Section<'_>, name: &str) -> Scenario {
    root.known(&SCENARIO);
    let duration_s = seconds(root, &SCENARIO.duration);
    let database = root.given(&SCENARIO.database).map(|section| database(&section));
    let work = work(&root.inner(&SCENARIO.work));
    let attacks = root.given(&SCENARIO.attacks).unwrap_or_default();
    let changes = root.given(&SCENARIO.changes).unwrap_or_default();
    let change = |section| change(section, duration_s, database.is_some());
    let mut s = Scenario {
        name: name.to_owned(),
        about: root.field::<&str, _>(&SCENARIO.about).trim().to_owned(),
        loads: loads(root),
        duration_s,
        watch_from_s: seconds(root, &SCENARIO.watch_from),
        gate: gate(&root.inner(&SCENARIO.gate)),
        upstream: upstream(&root.inner(&SCENARIO.upstream)),
        customers: match root.given(&SCENARIO.customers) {
            Some(list) => list.iter().map(|class| customers(class, &work)).collect(),
            None => vec![customers(&root.table_or_empty(SCENARIO.customers.name), &work)],
        },
        arrivals: arrivals(&root.inner(&SCENARIO.arrivals), duration_s),
        attacks: attacks.iter().filter_map(|section| attack(section, duration_s)).collect(),
        changes: changes.iter().filter_map(change).collect(),
        telemetry: telemetry(&root.inner(&SCENARIO.telemetry), duration_s),
        expectations: Vec::new(),
        database,
        work,
    };
    s.changes.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    let expected = root.given(&SCENARIO.expect).unwrap_or_default();
    s.expectations = expected.iter().flat_map(|e| expectations(e, &s.loads)).collect();
    if root.table_or_empty(SCENARIO.upstream.name).get(UPSTREAM.threads.name).is_none() {
        s.upstream.threads = s.most_cores()[Resource::Upstream as usize].ceil() as usize;
    }
    as_a_whole(root, &s);
    s
}

fn loads(root: &Section<'_>) -> Vec<f64> {
    let loads: Vec<f64> = root.field(&SCENARIO.loads);
    if let Some(list) = root.get(SCENARIO.loads.name)
        && list.items().is_some_and(|items| items.is_empty())
    {
        list.wrong("has no load", "write loads = [0.5, 2.0]");
    }
    loads
}

/// Reports what is wrong between one table and another.
fn as_a_whole(root: &Section<'_>, s: &Scenario) {
    if s.watch_from_s > s.duration_s - 1.0 {
        root.wrong(
            format!("watches from {} s of {} s on", s.watch_from_s, s.duration_s),
            "leave at least a second after watch_from, or make duration longer",
        );
    }
    let shares: f64 = s.customers.iter().map(|class| class.share).sum();
    if let Some(list) = root.get(SCENARIO.customers.name)
        && (s.customers.is_empty() || (shares - 1.0).abs() > 1e-6)
    {
        list.wrong(format!("have shares that add up to {shares}"), "make the sum 1");
    }
    if let Some(list) = root.get(SCENARIO.customers.name) {
        let ends = s.customers.iter().map(|class| class.comes_s.1).filter(|end| end.is_finite());
        let nobody = |at_s: &f64| !s.customers.iter().any(|class| class.comes(*at_s));
        let mut times = std::iter::once(0.0).chain(ends).filter(|at_s| *at_s < s.duration_s);
        if let Some(at_s) = times.find(nobody) {
            list.wrong(
                format!("do not come at {at_s} s, none of them"),
                "make one class come until the end; [arrivals] says how many come",
            );
        }
    }
    let sessions = sessions_at_most(s);
    if sessions > MOST_SESSIONS {
        root.wrong(
            format!("has {:.0} million sessions", sessions / 1e6),
            "make work costlier, loads lower, attempts fewer or duration shorter: 20 million at most",
        );
    }
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
            (1, "about: must be set; add about = \"...\""),
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
