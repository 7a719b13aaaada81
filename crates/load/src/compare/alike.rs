//! Whether runs may be compared at all: the same customers, for as long, by a
//! driver that was not the limit.

use super::arrivals;
use super::run::SavedRun;
use crate::result::figures::Negotiated;

/// Longest difference of measured times, as a share: within it the same load
/// stays as long in its steady state.
const LENGTH_SHARE: f64 = 0.1;

/// Reasons why the runs' figures may not be held against each other, in
/// sentences; empty if they may.
pub(super) fn unlike(a: &[SavedRun], b: &[SavedRun]) -> Vec<String> {
    let mut reasons = Vec::new();
    let first = &a[0];
    let all: Vec<&SavedRun> = a.iter().chain(b).collect();
    for (index, run) in all.iter().enumerate() {
        let name = &run.name;
        let mut say = |what: String| reasons.push(format!("{name}: {what}"));
        for why in &run.summary.driver.saturated_because {
            say(format!("the driver was saturated, so the figures are its own: {why}"));
        }
        for why in &run.summary.incomplete {
            say(why.clone());
        }
        if run.summary.interrupted {
            say(format!("was stopped after {:.1} s", run.summary.measured_s));
        }
        let twin = |other: &&&SavedRun| {
            (other.summary.started_at_unix_ms, other.summary.seed)
                == (run.summary.started_at_unix_ms, run.summary.seed)
        };
        if let Some(twin) = all[..index].iter().find(twin) {
            say(format!("is the same run as {}", twin.name));
        }
        let mut differs = |what: &str, here: String, there: String| {
            say(format!("{what} {here}, and {} of {}", there, first.name));
        };
        if run.summary.scenario != first.summary.scenario {
            differs("scenario", run.summary.scenario.clone(), first.summary.scenario.clone());
            continue;
        }
        let sessions = |run: &SavedRun| {
            run.summary
                .max_sessions
                .map_or("no number of sessions".to_owned(), |most| format!("{most} sessions"))
        };
        if run.summary.max_sessions != first.summary.max_sessions {
            differs("stopped after", sessions(run), sessions(first));
        }
        // The service decides how long a number of sessions takes.
        let length_share =
            if first.summary.max_sessions.is_some() { f64::MAX } else { LENGTH_SHARE };
        let numbers = [
            ("warm-up of (s)", run.summary.warm_up_s, first.summary.warm_up_s, 0.0),
            ("measured for (s)", run.summary.measured_s, first.summary.measured_s, length_share),
            ("factor on times", run.summary.time_scale, first.summary.time_scale, 0.0),
            ("patience of (ms)", run.summary.patience_ms, first.summary.patience_ms, 0.0),
            (
                "mean session of (requests)",
                run.summary.session_length.mean_requests,
                first.summary.session_length.mean_requests,
                0.0,
            ),
        ];
        let thinks = run.summary.session_think_ms.zip(first.summary.session_think_ms);
        let thinks =
            thinks.map(|(here, there)| ("think times of a session (ms)", here, there, 0.0));
        for (what, here, there, share) in numbers.into_iter().chain(thinks) {
            // The reader of JSON may be a last digit off.
            if (here - there).abs() > share.max(1e-9) * here.abs().max(there.abs()) {
                differs(what, here.to_string(), there.to_string());
            }
        }
        for what in arrivals::unlike(run, first) {
            say(what);
        }
    }
    reasons.extend(arrivals::unlike_rates(a, b));
    reasons
}

/// What a reader should know of runs that may be compared.
pub(super) fn notes(a: &[SavedRun], b: &[SavedRun]) -> Vec<String> {
    let mut notes = Vec::new();
    let first = &a[0];
    let all = || a.iter().chain(b);
    notes.extend(all().find_map(arrivals::note));
    for run in all() {
        let warned = run.summary.driver.warned_because.iter();
        notes.extend(warned.map(|why| format!("{}: {why}", run.name)));
    }
    if let Some(other) = all().find(|run| run.summary.machine != first.summary.machine) {
        notes.push(format!("{} ran on another machine than {}", other.name, first.name));
    }
    if let Some(other) =
        all().find(|run| run.summary.driver.threads != first.summary.driver.threads)
    {
        let (here, there) = (other.summary.driver.threads, first.summary.driver.threads);
        notes.push(format!("{} had {here} driver threads, {} had {there}", other.name, first.name));
    }
    if let Some(other) = all().find(|run| run.summary.http != first.summary.http) {
        let spoken = |run: &SavedRun| match run.summary.http.as_str() {
            "" => format!("{} does not say which version of HTTP it spoke", run.name),
            version => format!("{} spoke HTTP/{version}", run.name),
        };
        notes.push(format!("{}, {}", spoken(first), spoken(other)));
    }
    if let Some(other) = all().find(|run| agreed(run) != agreed(first)) {
        let said = |run: &SavedRun| match agreed(run).as_slice() {
            [] => format!("{} none", run.name),
            some => format!("{} {}", run.name, some.join(" or ")),
        };
        notes.push(format!(
            "TLS was not the same, and neither is what a handshake costs: {}; {}",
            said(first),
            said(other)
        ));
    }
    for (side, runs) in [("A", a), ("B", b)] {
        if let Some(other) = runs.iter().find(|run| run.summary.target != runs[0].summary.target) {
            notes.push(format!(
                "{side} has several targets: {} and {}",
                runs[0].summary.target, other.summary.target
            ));
        }
        if runs.len() > 1 && runs.iter().all(|run| run.summary.seed == runs[0].summary.seed) {
            notes.push(format!(
                "{side} repeats one seed: its intervals say nothing of other customers"
            ));
        }
    }
    if a.len() == 1 && b.len() == 1 {
        notes.push(
            "one run each: whether the service does the same in the next run is not in these \
             intervals; with repeated runs it is"
                .to_owned(),
        );
    }
    notes
}

/// Handshakes that agreed on something else, as a share: so few are no other TLS.
const FEW: f64 = 0.01;

/// What TLS handshakes of a run agreed on, in a fixed order. Of handshakes that
/// exchanged no key (TLS 1.2, resumed) other handshakes have the group.
fn agreed(run: &SavedRun) -> Vec<String> {
    let count = |agreed: &Negotiated| (agreed.full + agreed.resumed) as f64;
    let total: f64 = run.summary.tls.iter().map(count).sum();
    let named = |agreed: &Negotiated| {
        let group = agreed.group.as_deref()?;
        Some(format!("TLS {} {} {group}", agreed.version, agreed.suite))
    };
    let many = run.summary.tls.iter().filter(|agreed| count(agreed) > FEW * total);
    let mut all: Vec<String> = many.filter_map(named).collect();
    all.sort_unstable();
    all
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::run::tests::{read, saved};
    use super::*;

    fn changed(key: &str, value: Value) -> Vec<SavedRun> {
        let mut json = saved(2, &[(50, 5); 10]);
        json[key] = value;
        read(&json)
    }

    fn against(b: &[SavedRun]) -> String {
        unlike(&read(&saved(1, &[(50, 5); 10])), b).join("\n")
    }

    #[test]
    fn runs_that_differ_by_seed_and_target_alone_may_be_compared() {
        assert_eq!(against(&changed("target", json!("https://127.0.0.1:9443"))), "");
    }

    #[test]
    fn each_thing_that_makes_figures_unlike_is_named() {
        let b = |key, value| against(&changed(key, value));
        assert!(b("scenario", json!("shop")).contains("scenario shop, and auction-bidding of"));
        assert!(b("warm_up_s", json!(0)).contains("warm-up of (s) 0, and 10 of"));
        assert!(b("measured_s", json!(30)).contains("measured for (s) 30, and 10 of"));
        assert_eq!(b("measured_s", json!(9.5)), "");
        assert!(b("patience_ms", json!(5e3)).contains("patience of (ms) 5000"));
        assert!(b("interrupted", json!(true)).contains("was stopped after 10.0 s"));
        assert!(b("incomplete", json!(["driver 2 was lost"])).contains("driver 2 was lost"));
        let session = json!({ "mean_requests": 9 });
        assert!(b("session_length", session).contains("mean session of (requests) 9, and 8.5 of"));
        let driver = json!({ "threads": 1, "saturated_because": ["no ports"] });
        assert!(b("driver", driver).contains("so the figures are its own: no ports"));
        assert!(against(&read(&saved(1, &[(50, 5); 10]))).contains("is the same run as x.json"));
    }

    #[test]
    fn another_version_of_http_or_another_tls_is_noted() {
        let noted = |key, value: Value| {
            let mut a = saved(1, &[(50, 5); 10]);
            a["http"] = json!("1.1");
            a["tls"] = tls(&[("1.3", "AES", Some("x25519"), 99), ("1.2", "AES", None, 5)]);
            let mut b = a.clone();
            (b["seed"], b[key]) = (json!(2), value);
            notes(&read(&a), &read(&b)).join("\n")
        };
        fn tls(all: &[(&str, &str, Option<&str>, u64)]) -> Value {
            let one = |(version, suite, group, full): &(&str, &str, Option<&str>, u64)| json!({ "version": version, "suite": suite, "group": group, "full": full, "resumed": 0 });
            all.iter().map(one).collect()
        }
        assert!(!noted("seed", json!(3)).contains("TLS"));
        assert!(noted("http", json!("2")).contains("x.json spoke HTTP/1.1, x.json spoke HTTP/2"));
        let few = tls(&[("1.3", "AES", Some("x25519"), 500), ("1.3", "AES", Some("other"), 1)]);
        assert!(!noted("tls", few).contains("TLS"));
        let other = tls(&[("1.3", "AES", Some("X25519MLKEM768"), 9)]);
        assert!(
            noted("tls", other)
                .contains("x.json TLS 1.3 AES x25519; x.json TLS 1.3 AES X25519MLKEM768")
        );
        assert!(noted("tls", json!([])).contains("TLS 1.3 AES x25519; x.json none"));
    }

    #[test]
    fn other_think_times_are_another_scenario_where_both_files_tell() {
        let thinks = |seed, ms: Option<f64>| {
            let mut json = saved(seed, &[(50, 5); 10]);
            json["session_think_ms"] = json!(ms);
            read(&json)
        };
        let told = |a, b| unlike(&thinks(1, a), &thinks(2, b)).join("\n");
        assert_eq!(told(Some(7000.0), Some(7000.0)) + &told(None, Some(7000.0)), "");
        let expected = "x.json: think times of a session (ms) 3500, and 7000 of x.json";
        assert_eq!(told(Some(7000.0), Some(3500.0)), expected);
    }

    #[test]
    fn a_number_of_sessions_may_take_any_time() {
        let stopped = |seconds: &[(u64, u64)], seed, after: u64| {
            let mut json = saved(seed, seconds);
            json["max_sessions"] = json!(after);
            read(&json)
        };
        let fast = stopped(&[(50, 5); 10], 1, 500);
        let slow = stopped(&[(25, 9); 20], 2, 500);
        assert_eq!(unlike(&fast, &slow), Vec::<String>::new());
        let other = unlike(&fast, &stopped(&[(50, 5); 12], 2, 600)).join("\n");
        assert_eq!(other, "x.json: stopped after 600 sessions, and 500 sessions of x.json");
        let by_time = unlike(&fast, &read(&saved(2, &[(50, 5); 10]))).join("\n");
        assert!(by_time.contains("no number of sessions, and 500 sessions of"), "{by_time}");
    }
}
