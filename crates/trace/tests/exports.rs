//! The exports are read back: Perfetto's with the message types of its own Python package,
//! Paraver's with a checker of the format.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use tidegate_trace::{Context, Header, LineRecord, Metric, Outcome, Phase, Process, Role};
use tidegate_trace::{Sample, Step, Trace, export};

fn process(role: Role) -> Process {
    let header = Header {
        role,
        pid: 10 + role as u32,
        host: "h".into(),
        boot: "b".into(),
        machine: Default::default(),
        processors: 2.0,
        started_ns: 1_000,
        started_unix_ns: 1_795_544_064_000_000_000,
        cpu_every: 1,
        sample_ms: 100,
        pressure: false,
    };
    Process::new(role.name().into(), header)
}

fn line(
    connection: u64,
    start_ns: u64,
    parent: u64,
    span: u64,
    steps: &[(Phase, u64)],
) -> LineRecord {
    let step =
        |(phase, took_ns): &(Phase, u64)| Step { phase: *phase, took_ns: *took_ns, cpu_ns: 7 };
    LineRecord {
        connection,
        request: 1,
        start_ns,
        measured: true,
        outcome: Outcome::Open,
        status: 200,
        context: Some(Context { trace: 5, parent, span }),
        steps: steps.iter().map(step).collect(),
    }
}

/// Three customers, two at a time, through the gate; with two samples.
fn trace() -> Trace {
    let (mut load, mut gate) = (process(Role::Load), process(Role::Gate));
    for customer in 1..=3 {
        let at = 1_000 + customer * 600;
        let steps = [(Phase::Think, 100), (Phase::Wait, 700), (Phase::Receive, 50)];
        load.lines.push(line(customer, at, 0, 100 + customer, &steps));
        let steps =
            [(Phase::Idle, 80), (Phase::Service, 50), (Phase::Upstream, 400), (Phase::Respond, 20)];
        gate.lines.push(line(customer, at + 150, 100 + customer, 200 + customer, &steps));
    }
    for (at_ns, switches) in [(1_000, 5), (3_000, 9)] {
        let values = vec![(Metric::CoreBusy, 3, 500), (Metric::Voluntary, 0, switches)];
        gate.samples.push(Sample { at_ns, values });
    }
    Trace::of(vec![load, gate]).unwrap()
}

#[test]
fn perfettos_own_message_types_read_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("p.pftrace");
    export::perfetto::write(&trace(), &file).unwrap();
    // Where `scripts/bootstrap test` puts the package.
    let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/perfetto/bin/python3");
    let python = std::env::var_os("TIDEGATE_PYTHON").map_or(installed, PathBuf::from);
    let has = Command::new(&python)
        .args(["-c", "import perfetto.protos.perfetto.trace.perfetto_trace_pb2"])
        .stderr(std::process::Stdio::null())
        .status();
    if !has.is_ok_and(|status| status.success()) {
        return eprintln!(
            "SKIPPED: {} has no package `perfetto`; run scripts/bootstrap test, or set \
             TIDEGATE_PYTHON to a python that has it",
            python.display()
        );
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/read_perfetto.py");
    let output = Command::new(&python).arg(script).arg(&file).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let expected =
        "processes 2\ntracks 3\ncounters 2\nslices 27\nrequests 6\narrows 3\nunbalanced 0\n";
    assert_eq!(text, expected);
}

/// What a `.prv` file has, after it was checked.
#[derive(Debug, Default, PartialEq)]
struct Paraver {
    states: usize,
    events: usize,
    communications: usize,
    threads: Vec<u32>,
}

/// Checks the three files against each other and the rules of the format.
fn check(folder: &Path) -> Paraver {
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let (prv, pcf, row) = (read("trace.prv"), read("trace.pcf"), read("trace.row"));
    let mut lines = prv.lines();
    let head = lines.next().unwrap();
    let (date, rest) = head.strip_prefix("#Paraver (").unwrap().split_once("):").unwrap();
    assert_eq!(date, "24/11/26 at 18:14");
    let (length, rest) = rest.split_once("_ns:").unwrap();
    let length: u64 = length.parse().unwrap();
    let tasks = rest.strip_prefix("0:1:").unwrap();
    let (count, list) = tasks.strip_suffix(')').unwrap().split_once('(').unwrap();
    let threads: Vec<u32> =
        list.split(',').map(|task| task.strip_suffix(":1").unwrap().parse().unwrap()).collect();
    assert_eq!(threads.len(), count.parse::<usize>().unwrap());
    let mut found = Paraver { threads: threads.clone(), ..Paraver::default() };
    let names = |section: &str| -> BTreeSet<u64> {
        let after = pcf.split(section).nth(1).unwrap();
        let rows = after.lines().skip(1).take_while(|line| !line.is_empty());
        rows.map(|row| row.split_whitespace().next().unwrap().parse().unwrap()).collect()
    };
    let states = names("\nSTATES\n");
    assert_eq!(states, names("\nSTATES_COLOR\n"));
    let kinds: BTreeSet<u64> = pcf
        .split("EVENT_TYPE\n")
        .skip(1)
        .map(|rest| rest.split_whitespace().nth(1).unwrap().parse().unwrap())
        .collect();
    let mut last = 0;
    let mut busy: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    let object = |task: u64, thread: u64| {
        let most = threads[usize::try_from(task - 1).unwrap()];
        assert!((1..=u64::from(most)).contains(&thread), "task {task} has {most} threads");
    };
    for line in lines {
        let numbers: Vec<u64> = line.split(':').map(|number| number.parse().unwrap()).collect();
        assert_eq!(numbers[1..3], [0, 1], "{line}");
        object(numbers[3], numbers[4]);
        let at = numbers[5];
        assert!(last <= at && at <= length, "{line}");
        last = at;
        match numbers[..] {
            [1, _, _, task, thread, begin, end, state] => {
                found.states += 1;
                assert!(begin < end && end <= length && states.contains(&state), "{line}");
                let before = busy.insert((task, thread), end).unwrap_or(0);
                assert!(before <= begin, "two states at a time: {line}");
            }
            [2, _, _, _, _, _, kind, _] => {
                found.events += 1;
                assert!(kinds.contains(&kind), "{line}");
            }
            [3, _, _, _, _, sent, _, 0, 1, task, thread, received, _, _, _] => {
                found.communications += 1;
                object(task, thread);
                assert!(sent <= received, "{line}");
            }
            _ => panic!("no record: {line}"),
        }
    }
    let sizes: Vec<usize> = row
        .lines()
        .filter(|line| line.starts_with("LEVEL"))
        .map(|line| line.rsplit(' ').next().unwrap().parse().unwrap())
        .collect();
    assert_eq!(sizes, [threads.len(), threads.iter().sum::<u32>() as usize]);
    assert_eq!(row.lines().count(), sizes.iter().sum::<usize>() + sizes.len() + 1);
    found
}

#[test]
fn paravers_files_keep_the_rules_of_its_format() {
    let folder = tempfile::tempdir().unwrap();
    export::paraver::write(&trace(), folder.path()).unwrap();
    let found = check(folder.path());
    let expected =
        Paraver { states: 21, events: 6 * 3 + 3, communications: 3, threads: vec![2, 1] };
    assert_eq!(found, expected);
}

#[test]
fn a_trace_without_connections_is_exported() {
    let folder = tempfile::tempdir().unwrap();
    let trace = Trace::of(vec![process(Role::Gate)]).unwrap();
    export::paraver::write(&trace, folder.path()).unwrap();
    assert_eq!(check(folder.path()), Paraver { threads: vec![1], ..Paraver::default() });
    export::perfetto::write(&trace, &folder.path().join("p")).unwrap();
}
