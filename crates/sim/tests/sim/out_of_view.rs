//! A service on a host of its own that the gate sees, is told of, or judges by response times
//! alone: at two and four times the capacity it carries nearly as much.

use tidegate_sim::{Measure, Scenario, evaluate};

const SEEDS: u64 = 3;

/// A service on one core of its own, whose pages take 2 ms, with these lines in `[upstream]` and `[telemetry]`.
fn service(upstream: &str, telemetry: &str) -> Scenario {
    let text = format!(
        "about = \"out of view\"\nloads = [2.0, 4.0]\ncustomers = [{{ patience = \"1s\" }}]\n\
         [work]\nfirst_request = \"2ms\"\nlater_request = \"2ms\"\n\
         [upstream]\ncores = 1\nthreads = 64\n{upstream}\n[telemetry]\n{telemetry}\n"
    );
    Scenario::from_toml(&text, "out-of-view.toml").unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

/// Goodput at both loads, as shares of the best possible.
fn goodput(scenario: &Scenario, policy: &str) -> Vec<f64> {
    let runs = evaluate(scenario, policy, 1..=SEEDS).unwrap();
    runs.iter().map(|run| run.value(Measure::Goodput).unwrap()).collect()
}

/// Pauses of the service, as of a virtual machine whose processor is taken away.
const PAUSES: &str = "[upstream.pauses]\nevery = \"1500ms\"\nlasts = \"60ms\"";

/// Whether a service carries so much of what it carries in view, with these pauses.
#[track_caller]
fn carries(least: f64, what: &str, pauses: &str, upstream: &str, telemetry: &str) {
    let with = |lines: &str, telemetry: &str| {
        goodput(&service(&format!("{lines}\n{pauses}"), telemetry), "tide")
    };
    let (view, other) = (with("", ""), with(upstream, telemetry));
    for (load, (view, other)) in [2, 4].into_iter().zip(view.iter().zip(&other)) {
        println!("{what} at {load}x: {other:.3}, in view {view:.3}: {:.3}", other / view);
        assert!(other / view >= least, "{what} at {load}x: {other:.3}, in view {view:.3}");
    }
}

#[test]
fn a_service_that_an_agent_or_a_page_tells_of_carries_what_it_carries_in_view() {
    for pauses in ["", PAUSES] {
        carries(0.95, "agent", pauses, "", "told_every = \"100ms\"");
        carries(0.95, "page", pauses, "", "told_every = \"1s\"");
    }
}

#[test]
fn a_service_by_response_times_alone_carries_at_least_nine_tenths() {
    for pauses in ["", PAUSES] {
        carries(0.9, "unseen", pauses, "visible = false", "");
        carries(0.9, "relay", pauses, "relay = \"20us\"", "");
    }
}

#[test]
fn a_capacity_that_falls_with_every_short_queue_carries_less() {
    for pauses in ["", PAUSES] {
        let scenario = service(&format!("visible = false\n{pauses}"), "");
        let (lasting, every) =
            (goodput(&scenario, "tide"), goodput(&scenario, "tide:congestion_span=0"));
        println!("lasting {lasting:.3?}, every {every:.3?}");
        assert!(lasting.iter().sum::<f64>() > every.iter().sum::<f64>());
    }
}

#[test]
fn an_agent_that_is_killed_in_an_overload_opens_nothing() {
    carries(0.9, "killed", "", "", "told_every = \"100ms\"\nunseen_from = \"12s\"");
    let killed = service("", "told_every = \"100ms\"\nunseen_from = \"12s\"");
    for run in evaluate(&killed, "tide", 1..=SEEDS).unwrap() {
        let lost = run.value(Measure::Lost).unwrap();
        assert!(lost < 0.005, "{lost} of the admitted sessions at {}x", run.load);
    }
}
