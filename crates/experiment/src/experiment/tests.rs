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
compared_with = { policy = \"tide\" }
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
fn the_runs_that_are_measured_count_and_more_than_there_may_be_are_a_mistake() {
    let loads: Vec<String> = (1..=30).map(|load| load.to_string()).collect();
    let many = SMALL
        .replace("[0.5, 2, 4]", &format!("[{}]", loads.join(", ")))
        .replace("repetitions = 2", "repetitions = 1000");
    let mistakes = read(&many).unwrap_err();
    assert!(mistakes.contains("has more than 100000 runs"), "{mistakes}");
    let only = "[[only]]\nload = [4, 5]\n[[claims]]";
    assert_eq!(read(&many.replacen("[[claims]]", only, 1)).unwrap().combinations(false).len(), 8);
}

/// The small experiment with customers in a closed loop in place of loads.
fn closed() -> String {
    SMALL
        .replace(
            "key = \"load\"\nlevels = [0.5, 2, 4]\nquick = [4]",
            "key = \"customers\"\nlevels = [1, 50]",
        )
        .replace("load = \">= 2\"", "customers = 50")
        .replace("warm_up = \"1s\"", "warm_up = \"1s\"\nwarm_up_per_customer = \"30ms\"")
}

#[test]
fn the_warm_up_is_longer_for_each_customer_of_a_closed_loop() {
    let experiment = read(&closed()).unwrap();
    let lengths = |quick| {
        let windows = experiment.windows(quick);
        let all = experiment.combinations(quick);
        let at = |level: &str| all.iter().find(|one| one.levels["customers"] == level).unwrap();
        ["1", "50"].map(|level| windows.of_run(&at(level).settings))
    };
    let [few, many] = lengths(false);
    assert_eq!((few.warm_up_s, many.warm_up_s, many.measured_s), (1.03, 2.5, 2.0));
    assert_eq!(many.length(), std::time::Duration::from_millis(4500), "it counts in the time left");
    assert_eq!(lengths(true)[1].warm_up_s, 2.5, "as in `windows`");
    let quick = closed().replace("[quick]", "[quick]\nwarm_up_per_customer = \"10ms\"");
    let quick = read(&quick).unwrap().windows(true);
    let open = Settings { load: Some(2.0), ..Settings::default() };
    let customers = Settings { customers: Some(50), ..Settings::default() };
    assert_eq!(quick.of_run(&customers).warm_up_s, 1.5);
    assert_eq!(quick.of_run(&open).warm_up_s, 1.0, "no effect in an open model");
    let longer = Settings { window_scale: Some(4.0), ..customers };
    assert_eq!((quick.of_run(&longer).warm_up_s, quick.of_run(&longer).measured_s), (6.0, 4.0));
    let mistakes = read(&closed().replace("\"30ms\"", "\"11s\"")).unwrap_err();
    let expected = "windows.warm_up_per_customer = \"11s\": must be a duration of 0ms to 10s";
    assert!(mistakes.contains(expected), "{mistakes}");
}

#[test]
fn times_that_were_written_before_there_was_a_warm_up_per_customer_have_none() {
    let text = r#"{"warm_up_s":1.0,"measured_s":2.0,"repetitions":2}"#;
    let windows: Windows = serde_json::from_str(text).unwrap();
    assert_eq!(windows.warm_up_per_customer_s, 0.0);
    assert_eq!(serde_json::to_string(&windows).unwrap(), text);
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

#[test]
fn the_cost_of_a_password_is_set_for_the_sites_that_hash_them() {
    let with = |system: &str| SMALL.replacen("policy = \"off\"\n", system, 1);
    for site in ["auction", "brokerage", "shop"] {
        let system = format!("site = \"{site}\"\npassword_cost = \"owasp\"\n");
        assert_eq!(read(&with(&system)).unwrap().base.password_cost, "owasp");
    }
    assert_eq!(read(SMALL).unwrap().base.password_cost, "light");
    let levels = "certificate = \"ecdsa-p256\", tls = \"1.3\"";
    let by_level = |system: &str, level: &str| with(system).replace(levels, level);
    let costly = format!("{levels}, password_cost = \"owasp\"");
    assert!(read(&by_level("", &costly)).is_ok());
    let own = "command = [\"x\"]\naddress = \"http://x\"\n";
    for (text, expected) in [
        (with("password_cost = \"m=64,t=1\"\n"), "must be one of light, owasp"),
        (
            with(&format!("{own}password_cost = \"light\"\n")),
            "system.password_cost = \"light\": is for the site that comes with the program; leave it out",
        ),
        (
            with("site = \"tomcat\"\npassword_cost = \"owasp\"\n"),
            "system.password_cost = \"owasp\": is for the auction site, the brokerage and the shop",
        ),
        (
            by_level("site = \"node\"\n", &costly),
            "has password_cost in runs of neither the auction site nor the brokerage nor the shop; leave it out",
        ),
        (
            by_level("database = \"postgres://u@h/d\"\n", &costly),
            "give each level of password_cost a database of its own, or leave `database` out",
        ),
    ] {
        let mistakes = read(&text).unwrap_err();
        assert!(mistakes.contains(expected), "{expected} is missing in\n{mistakes}");
    }
}

#[test]
fn a_claim_names_a_metric_or_a_phase_and_another_name_is_a_mistake_with_those_that_there_are() {
    let of = |metric: &str| {
        read(&traced().replace("metric = \"requests_per_s\"", &format!("metric = \"{metric}\"")))
    };
    for phase in ["gate.idle", "gate.idle.cpu", "gate.handshake_share", "request.site"] {
        assert_eq!(of(phase).unwrap().claims[0].metric, phase);
    }
    let mistakes = of("gate.idel").unwrap_err();
    assert!(mistakes.contains("\"gate.idel\": is no phase; did you mean gate.idle?"), "{mistakes}");
    for known in crate::phases::all() {
        let (observer, name) = known.name.split_once('.').unwrap();
        let mistakes = of(&format!("{observer}.moonlight")).unwrap_err();
        let name = name.split_once(".cpu").map_or(name, |(time, _)| time);
        assert!(mistakes.contains(&format!("phases of {observer}: ")), "{mistakes}");
        assert!(mistakes.contains(name), "{name} is missing in {mistakes}");
        assert!(!mistakes.contains('…'), "cut off: {mistakes}");
    }
    let mistakes = of("moon.light").unwrap_err();
    assert!(mistakes.contains("begin with `gate.`, `request.` or `customer.`"), "{mistakes}");
    let mistakes = of("moonlight").unwrap_err();
    assert!(mistakes.contains("is no metric; choose of offered_per_s"), "{mistakes}");
}

#[test]
fn a_claim_about_a_traced_phase_needs_a_trace() {
    let of = |metric: &str| {
        read(&SMALL.replace("metric = \"requests_per_s\"", &format!("metric = \"{metric}\"")))
    };
    let mistakes = of("gate.idle").unwrap_err();
    assert!(mistakes.contains("add trace = true to [system]"), "{mistakes}");
    assert!(of("customer.first_byte").is_ok(), "what customers observe needs none");
}

#[test]
fn the_metric_of_a_peak_is_one_that_there_is_and_of_a_peak() {
    let of =
        |lines: &str| read(&SMALL.replace("at_most = 0.3", &format!("at_most = 0.3\n{lines}")));
    let claim = of("peak_of = \"completed_per_s\"").unwrap().claims.remove(0);
    assert_eq!(claim.peak_of.as_deref(), Some("completed_per_s"));
    let mistakes = of("peak_of = \"complete_per_s\"").unwrap_err();
    assert!(mistakes.contains("is no metric; did you mean completed_per_s?"), "{mistakes}");
    let mistakes = of("peak_of = \"completed_per_s\"\ncompared_take = \"mean\"").unwrap_err();
    assert!(mistakes.contains("is for peaks; add take = \"peak\", or leave it out"), "{mistakes}");
}

#[test]
fn a_database_that_a_site_does_not_use_is_a_mistake() {
    let system = |lines: &str| SMALL.replacen("policy = \"off\"\n[w", &format!("{lines}\n[w"), 1);
    let postgres = "database = \"postgres://ann:secret@127.0.0.1/shop\"";
    for site in ["auction", "brokerage", "shop", "tomcat"] {
        let text = system(&format!("site = \"{site}\"\n{postgres}"));
        assert_eq!(read(&text).map(|_| ()), Ok(()), "{site}");
    }
    for (lines, expected) in [
        (format!("site = \"node\"\n{postgres}"), "x.toml:5: system.database = "),
        (format!("site = \"node\"\n{postgres}"), "leave it out, or set it in the levels"),
        (
            "site = \"tomcat\"\ndatabase = \"sqlite:shop.db\"".to_owned(),
            "must be postgres://USER:PASSWORD@HOST:PORT/NAME for Tomcat; try postgres://",
        ),
    ] {
        let mistakes = read(&system(&lines)).unwrap_err();
        assert!(mistakes.contains(expected), "{lines}: {mistakes}");
    }
    // A level of a factor can bring both together, or the one that has a database alone.
    let sites = |auction: &str| {
        format!(
            "[[factors]]\nname = \"site\"\nlevels = [\n  {{ name = \"ours\", site = \"auction\"{auction} }},\n  \
             {{ name = \"shop\", site = \"node\" }},\n]\n[[claims]]"
        )
    };
    let with = |text: &str, auction: &str| text.replacen("[[claims]]", &sites(auction), 1);
    let mistakes = read(&with(&system(postgres), "")).unwrap_err();
    assert!(mistakes.contains("is not used by site = \"node\""), "{mistakes}");
    let apart = with(SMALL, &format!(", {postgres}"));
    assert_eq!(read(&apart).map(|_| ()), Ok(()));
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

#[test]
fn a_service_that_is_warmed_once_is_so_in_quick_runs_unless_they_say_otherwise() {
    let once = |text: &str| {
        let experiment = read(text).unwrap();
        [false, true].map(|quick| experiment.windows(quick).warm_up_once_s)
    };
    let kept = SMALL.replace("[quick]", "warm_up_once = \"3min\"\n[quick]");
    assert_eq!((once(SMALL), once(&kept)), ([None; 2], [Some(180.0); 2]));
    let quick = kept.replace("[quick]", "[quick]\nwarm_up_once = \"60s\"");
    assert_eq!(once(&quick), [Some(180.0), Some(60.0)]);
    assert_eq!(read(&kept).unwrap().windows.length().as_secs(), 3, "it is not of each run");
}

/// An experiment of message services.
const MESSAGES: &str = "\
name = \"m\"
about = \"x\"
[system]
site = \"messages\"
gate = false
[windows]
requests = 100
[quick]
requests = 20
[[factors]]
key = \"configuration\"
levels = [\"rust-clear\", \"rust-jose\"]
reference = { rust-jose = \"rust-clear\" }
[[claims]]
id = \"c\"
source = \"s\"
text = \"t\"
metric = \"new_ms\"
where = { configuration = \"rust-jose\" }
compared_with = { configuration = \"rust-clear\" }
compared_take = \"mean\"
compared_metric = \"keep_ms\"
relative_to = [{ configuration = \"rust-jose\" }, { configuration = \"rust-clear\" }]
at_least = 1
[[figures]]
id = \"f\"
title = \"t\"
course = \"first_requests\"
";

#[test]
fn message_services_are_measured_by_requests_without_a_load() {
    let experiment = read(MESSAGES).unwrap();
    let windows = |quick| experiment.windows(quick);
    assert_eq!((windows(false).requests, windows(true).requests), (Some(100), Some(20)));
    assert_eq!(windows(false).length(), std::time::Duration::ZERO);
    assert_eq!((experiment.base.load, experiment.base.is_of_messages()), (None, true));
    let jose = &experiment.factors[0].levels[1];
    assert_eq!(jose.reference.as_deref(), Some("rust-clear"));
    let claim = &experiment.claims[0];
    assert_eq!(claim.compared_metric.as_deref(), Some("keep_ms"));
    assert!(claim.relative_to.is_some());
    let figure = &experiment.figures[0];
    assert_eq!((&figure.shows, &*figure.unit), (&Shows::Course("first_requests".into()), "ms"));
    let more = experiment.clone().with(Some(3), Some(50)).unwrap();
    assert_eq!((more.quick.repetitions, more.windows.requests), (3, Some(50)));
    let until_warm = MESSAGES.replace("requests = 100", "requests = 100\nrequests_at_most = 900");
    let until_warm = read(&until_warm).unwrap();
    assert_eq!(until_warm.quick.requests_at_most, Some(900));
    let ended = until_warm.with(None, Some(50)).unwrap().windows;
    assert_eq!((ended.requests, ended.requests_at_most), (Some(50), Some(50)));
    assert!(read(SMALL).unwrap().with(None, Some(50)).unwrap_err().contains("measured by times"));
    assert_eq!(read(SMALL).unwrap().with(Some(3), None).unwrap().windows.repetitions, 3);
}

#[test]
fn what_message_services_cannot_have_is_a_mistake() {
    for (from, to, expected) in [
        ("gate = false\n", "", "has a gate or a load before site = \"messages\""),
        ("[windows]", "[workload]\nrate = 2\n[windows]", "set gate = false, and leave out load"),
        ("requests = 100", "", "must count `requests` in [windows]"),
        ("requests = 100", "requests = 100\nwarm_up_once = \"9s\"", "service cannot be kept"),
        ("site = \"messages\"", "site = \"node\"", "must have a `configuration` in runs of site"),
        ("rust-jose = \"rust-clear\"", "rust-jose = \"rust-cose\"", "is no level of configuration"),
        ("{ rust-jose = \"", "{ rust-xml = \"", "is not a known key"),
        ("compared_metric = \"keep_ms\"", "compared_metric = \"kept_ms\"", "did you mean keep_ms?"),
        (", { configuration = \"rust-clear\" }]", "]", "must be two selections of runs"),
        (
            "compared_with = { configuration = \"rust-clear\" }\n",
            "",
            "is for a ratio; add compared_with",
        ),
        ("course = \"first_requests\"", "course = \"first_request\"", "is no course"),
        ("course = \"first_requests\"", "stack = [\"new_us\"]", "must name metrics; did you mean"),
        ("course = \"first_requests\"", "stack = []", "must name metrics"),
        ("course = \"first_requests\"", "course = \"batches\"\nx = \"load\"", "leave it out"),
        ("course =", "stack = [\"new_ms\"]\ncourse =", "excludes `stack`"),
    ] {
        assert!(MESSAGES.contains(from), "{from}");
        let mistakes = read(&MESSAGES.replacen(from, to, 1)).unwrap_err();
        assert!(mistakes.contains(expected), "{from} -> {to}: {mistakes}");
    }
    let counted = SMALL.replace("repetitions = 2", "repetitions = 2\nrequests = 50");
    assert!(read(&counted).unwrap_err().contains("and for no other"));
}
