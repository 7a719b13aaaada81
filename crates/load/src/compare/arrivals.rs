//! Whether runs had the same arrivals: what the customers decide, and not the service.
//!
//! In the closed model the rate of sessions follows from the service: a slower one is offered
//! fewer. There the customers and their think times must be the same.

use super::run::SavedRun;
use crate::result::arrival_entry::ArrivalEntry;

/// Rates that differ by less, as a share, are one rate.
const RATE_SHARE: f64 = 0.05;
/// Of rates that are known from counts alone: … and by as many standard deviations of a Poisson
/// count as no two runs of one rate in ten thousand do.
const RATE_DEVIATIONS: f64 = 4.0;

/// Why the arrivals of a run are not those of the first, with the remedy; empty if they are, as
/// far as the files tell.
pub(super) fn unlike(run: &SavedRun, first: &SavedRun) -> Vec<String> {
    let (here, there) = (names(run), names(first));
    if [&here, &there].iter().any(|names| names.iter().all(String::is_empty)) {
        return Vec::new();
    }
    if here.len() != there.len() {
        let (here, there) = (here.join(" + "), there.join(" + "));
        return vec![reason(&here, &there, first, "other arrivals")];
    }
    let in_full = is_in_full(run) && is_in_full(first);
    let differs = |index: usize| -> Option<String> {
        let why = if in_full {
            difference(&run.summary.arrival_entries[index], &first.summary.arrival_entries[index])
        } else {
            difference_of_names(&here[index], &there[index])
        };
        Some(reason(&here[index], &there[index], first, why?))
    };
    (0..here.len()).filter_map(differs).collect()
}

fn reason(here: &str, there: &str, first: &SavedRun, why: &str) -> String {
    let of = &first.name;
    match here == there {
        true => format!("arrivals {here}, with {why} than in {of}; run both with the same"),
        false => {
            format!("arrivals {here}, and {there} of {of}: {why}; run both with the same arrivals")
        }
    }
}

/// What two entries do not share.
fn difference(here: &ArrivalEntry, there: &ArrivalEntry) -> Option<&'static str> {
    let close = |here: Option<f64>, there: Option<f64>, share: f64| {
        let (here, there) = (here.unwrap_or_default(), there.unwrap_or_default());
        // The reader of JSON may be a last digit off.
        (here - there).abs() <= share * here.abs().max(there.abs())
    };
    let same = |here: Option<f64>, there: Option<f64>| close(here, there, 1e-9);
    if here.model != there.model {
        Some("another model, and only customers of the closed model wait for the service")
    } else if here.class != there.class {
        Some("another class of customers")
    } else if here.customers != there.customers {
        Some("another number of customers")
    } else if !same(here.think_ms, there.think_ms) {
        Some("other think times between sessions")
    } else if !same(here.within_ms, there.within_ms) {
        Some("another time over which the first sessions begin")
    } else if (&here.process, &here.schedule) != (&there.process, &there.schedule) {
        Some("at the same mean rate, arrivals that cluster wait longer")
    } else if !close(here.rate_per_s, there.rate_per_s, RATE_SHARE) {
        Some("another load, not another service")
    } else if here.fingerprint != there.fingerprint {
        Some("other rates, lengths or times")
    } else {
        None
    }
}

/// The same from words alone. Rates are left to [`unlike_rates`].
fn difference_of_names(here: &str, there: &str) -> Option<&'static str> {
    let differ = match is_closed(here) || is_closed(there) {
        true => here != there,
        false => without_numbers(here) != without_numbers(there),
    };
    differ.then_some("another model, process or number of customers")
}

fn is_closed(name: &str) -> bool {
    name.starts_with("closed")
}

/// Words that say the same of any rate.
fn without_numbers(name: &str) -> String {
    name.chars().filter(|c| !c.is_ascii_digit() && *c != '.').collect()
}

/// A result of this version, not of one that kept words alone.
fn is_in_full(run: &SavedRun) -> bool {
    !run.summary.arrival_entries.is_empty()
}

fn names(run: &SavedRun) -> Vec<String> {
    if is_in_full(run) {
        return run.summary.arrival_entries.iter().map(|entry| entry.name.clone()).collect();
    }
    run.summary.arrivals.split(" + ").map(str::to_owned).collect()
}

/// Entries whose offered rates differ, of runs of which one has no entries in full. Such runs
/// offered what they counted, apart from the closed model; and the count of bursts says little of
/// their rate.
pub(super) fn unlike_rates(a: &[SavedRun], b: &[SavedRun]) -> Vec<String> {
    if a.iter().chain(b).all(is_in_full) {
        return Vec::new();
    }
    let names = names(&a[0]);
    let mut reasons = Vec::new();
    for (index, name) in names.iter().enumerate() {
        if is_closed(name) || name.contains(" in bursts ") {
            continue;
        }
        let (Some((rate_a, spread_a)), Some((rate_b, spread_b))) =
            (offered(a, index, names.len()), offered(b, index, names.len()))
        else {
            continue;
        };
        let gap = (rate_a - rate_b).abs();
        let chance = RATE_DEVIATIONS * spread_a.hypot(spread_b);
        if gap > RATE_SHARE * rate_a.max(rate_b) && gap > chance {
            let of = if names.len() > 1 { format!(" by {name}") } else { String::new() };
            reasons.push(format!(
                "A was offered {rate_a:.2} sessions/s{of} and B {rate_b:.2}: another load, not \
                 another service; run both with the same arrivals"
            ));
        }
    }
    reasons
}

/// Sessions offered per second by one of `of` entries over all runs, and the deviation of that
/// were arrivals Poisson: `√N / T`. `None` if a run does not tell.
fn offered(runs: &[SavedRun], index: usize, of: usize) -> Option<(f64, f64)> {
    let (mut sessions, mut time) = (0.0, 0.0);
    for run in runs {
        let stretches = &run.window.stretches;
        let all = stretches.iter().map(|stretch| stretch.offered as f64).sum::<f64>();
        sessions += if of == 1 { all } else { run.summary.models.get(index)?.offered as f64 };
        time += stretches.iter().map(|stretch| stretch.length_s).sum::<f64>();
    }
    (time > 0.0).then(|| (sessions / time, f64::sqrt(sessions) / time))
}

/// What a file does not tell of its arrivals, if it does not tell all.
pub(super) fn note(run: &SavedRun) -> Option<String> {
    (!is_in_full(run)).then(|| {
        format!(
            "{} is of a version that kept its arrivals in words alone: whether steps, bursts, \
             times and think times between sessions are the same cannot be told",
            run.name
        )
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::super::run::tests::{read, saved};
    use super::*;
    use crate::arrivals::Arrivals;

    /// A run with these entries; each was offered as many sessions in ten seconds.
    fn of(lines: &[(&str, u64)], in_full: bool) -> Vec<SavedRun> {
        let mut json = saved(1, &[(50, 5); 10]);
        let entries =
            lines.iter().map(|(line, _)| Arrivals::from_line(line, "--arrivals").unwrap());
        let arrivals = Arrivals::side_by_side(entries);
        json["arrivals"] = json!(arrivals.to_string());
        let entries = ArrivalEntry::all(&arrivals, |_| Duration::from_secs(7));
        let offered: u64 = lines.iter().map(|(_, offered)| offered).sum();
        for stretch in json["stretches"].as_array_mut().unwrap() {
            stretch["offered"] = json!(offered / 10);
        }
        if lines.len() > 1 {
            let models = entries.iter().zip(lines);
            let models: Vec<Value> = models
                .map(|(entry, (_, offered))| json!({ "name": entry.name, "offered": offered }))
                .collect();
            json["models"] = json!(models);
        }
        if in_full {
            json["arrival_entries"] = json!(entries);
        }
        read(&json)
    }

    fn reasons(a: &[SavedRun], b: &[SavedRun]) -> Vec<String> {
        let mut reasons = unlike(&b[0], &a[0]);
        reasons.extend(unlike_rates(a, b));
        reasons
    }

    const CLOSED: &str = "customers = 50";
    const BURSTS: &str = "bursts = { calm = 5, burst = 50, calm_for = \"8s\", burst_for = \"2s\" }";

    #[test]
    fn a_slower_service_of_the_closed_model_is_no_other_load() {
        for in_full in [true, false] {
            let (fast, slow) = (of(&[(CLOSED, 5000)], in_full), of(&[(CLOSED, 500)], in_full));
            assert!(reasons(&fast, &slow).is_empty(), "{in_full}");
            let more = of(&[("customers = 60", 5000)], in_full);
            let found = reasons(&fast, &more).join("\n");
            assert!(
                found.starts_with(
                    "arrivals closed: 60 customers, and closed: 50 customers of x.json: another"
                ),
                "{found}"
            );
            assert!(found.contains("number of customers; run both with the same arrivals"));
        }
        let patient = of(&[("customers = 50, think = \"1s\"", 5000)], true);
        let found = reasons(&of(&[(CLOSED, 5000)], true), &patient).join("\n");
        let expected = "arrivals closed: 50 customers, with other think times between sessions than in x.json; run both with the same";
        assert_eq!(found, expected);
    }

    #[test]
    fn arrivals_of_another_process_at_the_same_mean_rate_are_unlike() {
        let poisson = "rate = 14";
        for other in [
            "rate = 14, process = \"even\"",
            BURSTS,
            "segments = [{ for = \"5s\", rate = 4 }, { for = \"5s\", rate = 24 }]",
            "times = [\"1s\", \"2s\"]",
            "model = \"open\", rate = 14",
            "wave = { mean = 14, swing = 0.9, period = \"5s\" }",
            CLOSED,
        ] {
            for in_full in [true, false] {
                let (a, b) = (of(&[(poisson, 140)], in_full), of(&[(other, 140)], in_full));
                let found = reasons(&a, &b);
                assert_eq!(found.len(), 1, "{other} {in_full}: {found:?}");
                assert!(found[0].contains("run both with the same arrivals"), "{found:?}");
                assert!(reasons(&b, &of(&[(other, 140)], in_full)).is_empty(), "{other}");
            }
        }
    }

    #[test]
    fn a_rate_is_another_load_beyond_five_percent_and_chance_is_not() {
        let against = |rate: &str, offered, in_full| {
            reasons(&of(&[("rate = 50", 500)], in_full), &of(&[(rate, offered)], in_full)).join("")
        };
        assert_eq!(against("rate = 52", 520, true), "");
        // What was counted is chance where the rate is known.
        assert_eq!(against("rate = 50", 700, true), "");
        assert!(against("rate = 70", 500, true).contains("another load, not another service"));
        // 500 beside 500 sessions: four deviations are 4 × √1000 = 126.
        assert_eq!(against("rate = 50", 560, false), "");
        let found = against("rate = 70", 700, false);
        assert!(found.starts_with("A was offered 50.00 sessions/s and B 70.00:"), "{found}");
        // Bursts of the same kind do not offer the same in each run.
        let (few, many) = (of(&[(BURSTS, 100)], false), of(&[(BURSTS, 300)], false));
        assert!(reasons(&few, &many).is_empty());
    }

    #[test]
    fn a_mixture_is_judged_entry_by_entry() {
        let mixed = |rate: &'static str, open, closed, in_full| {
            of(&[(rate, open), (CLOSED, closed)], in_full)
        };
        for in_full in [true, false] {
            let a = mixed("rate = 20", 200, 5000, in_full);
            assert!(reasons(&a, &mixed("rate = 20", 200, 500, in_full)).is_empty());
            let found = reasons(&a, &mixed("rate = 40", 400, 4800, in_full));
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(found[0].contains("sessions at 20/s") || found[0].contains("A was offered"));
            let found = reasons(&a, &of(&[("rate = 20", 200)], in_full)).join("\n");
            assert!(found.contains(": other arrivals; run both"), "{found}");
        }
    }

    #[test]
    fn a_file_of_words_alone_says_what_cannot_be_told() {
        assert_eq!(note(&of(&[(BURSTS, 100)], true)[0]), None);
        assert!(note(&of(&[(BURSTS, 100)], false)[0]).unwrap().contains("cannot be told"));
        let slower = "bursts = { calm = 5, burst = 50, calm_for = \"80s\", burst_for = \"20s\" }";
        let (old, new) = (of(&[(BURSTS, 100)], false), of(&[(slower, 100)], true));
        assert!(reasons(&old, &new).is_empty());
        let found = reasons(&of(&[(BURSTS, 100)], true), &new).join("\n");
        assert!(found.contains("with other rates, lengths or times than in x.json"), "{found}");
    }
}
