use super::*;

const SMALL: &str = "\
name = \"small\"
about = \"x\"
[system]
policy = \"off\"
[windows]
warm_up = \"1s\"
measured = \"2s\"
repetitions = 2
[quick]
measured = \"1s\"
[[factors]]
key = \"policy\"
levels = [\"off\", \"tide\"]
[[factors]]
key = \"load\"
levels = [0.5, 2, 4]
quick = [4]
[[factors]]
name = \"handshake\"
levels = [
  { name = \"then\", certificate = \"rsa-2048\", tls = \"1.2\" },
  { name = \"now\", certificate = \"ecdsa-p256\", tls = \"1.3\" },
]
[[claims]]
id = \"collapse\"
source = \"s\"
text = \"t\"
metric = \"requests_per_s\"
where = { policy = \"off\", load = \">= 2\" }
compared_with = { policy = \"off\" }
at_most = 0.3
each = \"handshake\"
";

fn read(text: &str) -> Result<Experiment, String> {
    Experiment::from_toml(text, "x.toml").map_err(|mistakes| mistakes.to_string())
}

#[test]
fn every_combination_of_levels_is_measured_and_a_quick_run_has_its_own() {
    let experiment = read(SMALL).unwrap();
    let all = experiment.combinations(false);
    assert_eq!(all.len(), 12);
    let one = &all[1];
    assert_eq!((one.levels["load"].as_str(), one.levels["handshake"].as_str()), ("0.5", "now"));
    assert_eq!((one.settings.load, one.settings.certificate.as_str()), (Some(0.5), "ecdsa-p256"));
    assert_eq!((one.settings.tls.as_str(), one.settings.policy.as_str()), ("1.3", "off"));
    assert_eq!(experiment.combinations(true).len(), 4);
    assert_eq!(experiment.windows(true).measured_s, 1.0);
    assert_eq!(experiment.windows(true).warm_up_s, 1.0);
}

#[test]
fn all_mistakes_of_a_file_are_reported_with_line_and_remedy() {
    let text = SMALL
        .replace("policy = \"off\"\n[windows]", "polcy = \"off\"\n[windows]")
        .replace("warm_up = \"1s\"", "warm_up = \"1\"")
        .replace("key = \"load\"", "key = \"laod\"")
        .replace("metric = \"requests_per_s\"", "metric = \"request_per_s\"")
        .replace("at_most = 0.3\n", "")
        .replace("each = \"handshake\"", "each = \"handshakes\"");
    let mistakes = read(&text).unwrap_err();
    for expected in [
        "x.toml:4: system.polcy = \"off\": is not a known key; did you mean policy?",
        "x.toml:6: windows.warm_up = \"1\": must be a duration of 100ms to 1h",
        "x.toml:15: factors[1].key = \"laod\": is no key of `system` or `workload`; did you mean load?",
        "claims[0].metric = \"request_per_s\": is no metric; did you mean requests_per_s?",
        "claims[0].each = \"handshakes\": is no factor of this file; did you mean handshake?",
        "claims[0]: must have a limit; add at_least or at_most",
    ] {
        assert!(mistakes.contains(expected), "{expected} is missing in\n{mistakes}");
    }
}

#[test]
fn what_excludes_each_other_is_a_mistake() {
    for (from, to, expected) in [
        ("policy = \"off\"\n[w", "address = \"http://x\"\n[w", "is that of a service of one's own"),
        ("policy = \"off\"\n[w", "command = [\"x\"]\n[w", "needs the URL at which it answers"),
        (
            "policy = \"off\"\n[w",
            "command = [\"x\"]\naddress = \"https://x\"\nready = \"/\"\n[w",
            "is asked over plain HTTP",
        ),
        ("[quick]", "[workload]\nload = 1\nrate = 2\n[quick]", "excludes `load`"),
        (
            "[quick]",
            "[workload]\nscenario = \"none.toml\"\n[quick]",
            "neither a file nor a scenario",
        ),
        ("quick = [4]", "quick = [5]", "is no level of load"),
        ("quick = [4]", "quick = []", "must have at least one level"),
        ("[0.5, 2, 4]", "[0.5, 2, 4, 4]", "is there twice"),
        ("[0.5, 2, 4]", "[]", "must have 1 to 1000 entries"),
        ("key = \"load\"", "key = \"policy\"", "policy"),
        ("policy = \"off\", load", "polcy = \"off\", load", "is not a known key"),
        ("at_most = 0.3", "at_most = 0.3\nat_least = 1", "must be at least `at_least`"),
        ("name = \"small\"", "name = \"a b\"", "letters, digits and hyphens only"),
        ("repetitions = 2", "repetitions = 2000", "must be a whole number of 1 to 1000"),
    ] {
        assert!(SMALL.contains(from), "{from}");
        let mistakes = read(&SMALL.replacen(from, to, 1)).unwrap_err();
        assert!(mistakes.contains(expected), "{from} -> {to}: {mistakes}");
    }
}

const BARS: &str = "[[figures]]\nid = \"phases\"\ntitle = \"t\"\nsegments = \"gate\"\n";

/// The small experiment with a gate that traces.
fn traced() -> String {
    SMALL.replacen("policy = \"off\"\n", "policy = \"off\"\ntrace = true\n", 1)
}

#[test]
fn a_figure_has_lines_of_a_metric_or_bars_of_segments() {
    let experiment = read(&(traced() + BARS)).unwrap();
    let bars = &experiment.figures[0];
    assert_eq!((&bars.shows, bars.x), (&Shows::Segments(Segments::Gate), XAxis::Load));
    assert_eq!(bars.unit, "ms per connection");
    let text = serde_json::to_string(&experiment).unwrap();
    assert_eq!(serde_json::from_str::<Experiment>(&text).unwrap(), experiment);
    let lines = BARS.replace("segments = \"gate\"", "metric = \"requests_per_s\"");
    let lines = &read(&(SMALL.to_owned() + &lines)).unwrap().figures[0];
    assert_eq!(lines.shows, Shows::Metric("requests_per_s".into()));
    assert_eq!((lines.x, &*lines.unit), (XAxis::OfferedPerS, "requests/s"));
}

#[test]
fn a_figure_that_cannot_be_drawn_is_a_mistake() {
    for (to, expected) in [
        ("segments = \"gates\"", "must be one of gate, gate_cpu, request, customer, handshakes"),
        ("", "must have `metric` or `segments`"),
        ("segments = \"gate\"\nmetric = \"requests_per_s\"", "excludes `metric`"),
        ("segments = \"gate\"\nx = \"time\"", "choose load, processors or knee"),
        ("segments = \"gate\"\nscale = \"log\"", "the parts of a stack would mislead"),
        ("metric = \"requests_per_s\"\nx = \"knee\"", "is for `segments`"),
        ("metric = \"response_p50_ms\"\nx = \"time\"", "has no values over time"),
    ] {
        let mistakes = read(&(traced() + &BARS.replace("segments = \"gate\"", to))).unwrap_err();
        assert!(mistakes.contains(expected), "{to}: {mistakes}");
    }
    let mistakes = read(&(SMALL.to_owned() + BARS)).unwrap_err();
    assert!(mistakes.contains("add trace = true to [system]"), "{mistakes}");
    let by_factor = SMALL.replace("tls = \"1.3\" }", "tls = \"1.3\", trace = true }");
    assert!(read(&(by_factor + BARS)).is_ok(), "one level traces");
}

#[test]
fn an_empty_file_says_what_must_be_set() {
    let mistakes = read("").unwrap_err();
    assert!(mistakes.contains("name: must be set") && mistakes.contains("about: must be set"));
}

#[test]
fn an_experiment_is_read_back_as_it_was_written() {
    let experiment = read(SMALL).unwrap();
    let text = serde_json::to_string(&experiment).unwrap();
    assert_eq!(serde_json::from_str::<Experiment>(&text).unwrap(), experiment);
}

#[test]
fn no_changed_or_cut_text_panics_and_what_is_refused_names_its_file() {
    for at in (0..SMALL.len()).filter(|at| SMALL.is_char_boundary(*at)) {
        for letter in ["\"", "]", "=", "\n", "0", "-", "\u{fffd}", ""] {
            let changed = format!("{}{letter}{}", &SMALL[..at], &SMALL[at + 1..]);
            for text in [&changed, &SMALL[..at]] {
                if let Err(mistakes) = read(text) {
                    assert!(mistakes.lines().all(|line| line.starts_with("x.toml")), "{mistakes}");
                }
            }
        }
    }
}

#[test]
fn a_selection_is_of_the_levels_that_it_names() {
    let experiment = read(SMALL).unwrap();
    let claim = &experiment.claims[0];
    let selected = |load: &str, policy: &str| {
        let levels = Levels::from([
            ("load".into(), load.into()),
            ("policy".into(), policy.into()),
            ("handshake".into(), "now".into()),
        ]);
        claim.runs.0.contains(&levels)
    };
    assert!(selected("2", "off") && selected("4", "off"));
    assert!(!selected("0.5", "off") && !selected("4", "tide"));
    assert_eq!(claim.compared_with.as_ref().unwrap().1, Take::Peak);
}
