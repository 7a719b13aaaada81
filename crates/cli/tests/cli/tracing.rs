//! Customers, gate and site traced together, and what `tidegate trace` makes of it.

use crate::common::{Running, Text, tidegate};
use std::path::Path;
use tidegate_trace::{Phase, Role, Trace, analysis};

/// Starts the site with this flag.
fn site(folder: &Path, trace: Option<&str>) -> Running {
    let data = folder.join("site").display().to_string();
    let mut args = vec!["site", "auction", "--listen", "127.0.0.1:0", "--data", &data];
    args.extend(["--scale", "0.0005", "--password-cost", "light"]);
    args.extend(trace.iter().flat_map(|file| ["--trace", file]));
    Running::tidegate(&args)
}

fn gate(site: &Running, more: &[&str]) -> Running {
    let upstream = site.address("site");
    let mut args = vec!["gate", "--listen", "127.0.0.1:0", "--admin", "off"];
    args.extend(["--upstream", upstream, "--policy", "off"]);
    args.extend(more);
    Running::tidegate(&args)
}

fn load(gate: &Running, more: &[&str]) -> String {
    let target = gate.address("gate");
    let mut args = vec!["load", "auction-browsing", "--target", target, "--insecure", "--plain"];
    args.extend(["--rate", "20", "--warm-up", "0s", "--duration", "2s", "--time-scale", "0.02"]);
    args.extend(["--patience-scale", "10"]);
    args.extend(more);
    let output = tidegate(&args);
    let text = output.stdout_text();
    // A machine that is short of time may delay the driver, which is not the point here.
    let ran = output.status.success() || text.contains("SATURATED: ");
    assert!(ran, "{text}{}", output.stderr_text());
    text
}

#[test]
fn a_customers_wait_is_joined_to_the_states_of_gate_and_site() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let [of_load, of_gate, of_site] = ["load.trace", "gate.trace", "site.trace"].map(file);
    let site = site(folder.path(), Some(&of_site));
    let gate = gate(&site, &["--trace", &of_gate]);
    let said = load(&gate, &["--trace", &of_load]);
    assert!(said.contains("trace: ") && said.contains("0 dropped"), "{said}");
    assert_eq!((gate.end(), site.end()), (Some(0), Some(0)));

    let trace = Trace::read(&[&of_site, &of_gate, &of_load]).unwrap();
    assert!(trace.notes().is_empty(), "{:?}", trace.notes());
    let roles: Vec<Role> = trace.processes.iter().map(|p| p.header.role).collect();
    assert_eq!(roles, Role::ALL);
    let analysed = analysis::analyse(&trace);
    let requests = analysed.processes[0].sums.requests;
    assert!(requests > 20, "{requests}");
    let joined = analysed.joined.unwrap();
    // The gate also answers its probe, which is nobody's.
    assert_eq!((joined.requests, joined.with_site), (requests, requests));
    // What a process sees lies within what the one before it waits for.
    assert!(joined.customer_ms >= joined.gate_ms + joined.upstream_ms, "{joined:?}");
    assert!(joined.database_ms.unwrap() > 0.0 && joined.site_ms.unwrap() > 0.0, "{joined:?}");
    let inside = joined.site_ms.unwrap() + joined.database_ms.unwrap();
    assert!(joined.upstream_ms * 1.05 >= inside, "{joined:?}");

    // One trace for a session, one span for a request.
    let mut spans = std::collections::BTreeSet::new();
    for line in trace.processes[0].lines.iter().filter(|line| line.status > 0) {
        assert!(spans.insert(line.context.unwrap().span));
    }
    let means = analysis::phase_means(&trace.processes[1], None);
    assert!(means.connections > 10 && means.mean_ms(Phase::HandshakeFull) > 0.0, "{means:?}");
    assert_eq!(means.full_share(), Some(1.0));

    let [json, perfetto, paraver] = ["a.json", "p.pftrace", "paraver"].map(file);
    let files = [&of_load, &of_gate, &of_site].map(String::as_str);
    let flags = ["--json", &json, "--perfetto", &perfetto, "--paraver", &paraver];
    let output = tidegate(&[&["trace"][..], &files, &flags].concat());
    assert!(output.status.success(), "{}", output.stderr_text());
    let said = output.stdout_text();
    for part in [
        "The knee",
        "Where the time goes: gate",
        "Where a customer's wait goes",
        "What was used",
        "gate: context switches per s, to wait",
        "site: memory, most",
    ] {
        assert!(said.contains(part), "{said}");
    }
    let text = std::fs::read_to_string(json).unwrap();
    let read: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(read["joined"]["requests"], requests);
    let used = &read["phases"][1]["resources_below"];
    assert!(used["resident_most"].as_u64() > Some(0), "{used}");
    assert!(used.as_object().unwrap().contains_key("group_memory_most"), "{used}");
    assert!(std::fs::metadata(perfetto).unwrap().len() > 10_000);
    assert!(Path::new(&paraver).join("trace.row").exists());
}

#[test]
fn several_drivers_write_a_file_each() {
    let folder = tempfile::tempdir().unwrap();
    let site = site(folder.path(), None);
    let gate = gate(&site, &[]);
    let to = folder.path().join("load.trace").display().to_string();
    load(&gate, &["--drivers", "2", "--trace", &to]);
    let files = ["load.1.trace", "load.2.trace"].map(|name| folder.path().join(name));
    let trace = Trace::read(&files).unwrap();
    assert!(trace.processes.iter().all(|process| process.lines.len() > 5));
}

#[test]
fn files_that_are_no_traces_are_bad_input() {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other").display().to_string();
    std::fs::write(&other, "something else").unwrap();
    for file in [other.as_str(), "/nowhere/x.trace"] {
        let output = tidegate(&["trace", file]);
        assert_eq!(output.status.code(), Some(2));
        assert!(output.stderr_text().contains(file), "{}", output.stderr_text());
    }
    let output = tidegate(&["load", "http://127.0.0.1:9", "--trace", "/nowhere/x.trace"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stderr_text().contains("--trace /nowhere/x.trace"), "{}", output.stderr_text());
}
