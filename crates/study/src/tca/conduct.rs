//! Measures a site from its first look to its verification.

use std::time::{Duration, Instant};

use tidegate_experiment::turns::Order;
use tidegate_experiment::{Error, Folder, Result};
use tidegate_host::Provenance;
use tidegate_load::Summary;
use tidegate_report::number::significant;

use super::costs::{CONNECTION, Costs, costs};
use super::options::{Design, Options};
use super::predicted::{Machine, Predicted, predict, shares};
use super::resources::{Groups, Meter, Resource, Unit};
use super::runs::{Bench, Load, RUNS, Run};
use super::targets::{Target, operations};
use super::verify::{LOADS, Verification, accuracy};
use super::{Event, NAME, Report, output, visits};
use crate::site::addresses::addresses;
use crate::site::clear::clear;
use crate::site::measure::{Look, Measuring, STEPS};
use crate::site::processes::Processes;
use crate::site::step::Phase;
use crate::site::times::{Budget, Fixed, Times};

/// Customers at a time of the look at what customers do.
const CUSTOMERS: u32 = 4;

/// Measures a site and leaves the result in its folder.
///
/// # Errors
/// [`Error::Operator`] for what the user has to change, otherwise what failed; also when it is
/// interrupted. Then there is no finished result.
pub fn study(
    options: &Options,
    provenance: Provenance,
    show: &mut dyn FnMut(Event),
) -> Result<Report> {
    let scenario = &options.plan.scenario;
    let addresses = addresses(&options.plan)?;
    let (names, wanted) = operations(scenario, options.profile.as_ref())?;
    if let Some(order) = options.order.as_ref().filter(|order| !names.contains(order)) {
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        let remedy = tidegate_config::did_you_mean(order, &known)
            .unwrap_or_else(|| format!("its pages are {}", known.join(", ")));
        return Err(Error::Operator(format!(
            "--order {order}: is no page of the scenario; {remedy}"
        )));
    }
    let folder = Folder::create(&options.out)?;
    folder.begin_anew(NAME)?;
    clear(&folder, &[RUNS, STEPS], &["report.html", output::RESULTS])?;
    let found = Processes::of_site(&addresses, &options.processes, &mut |note| {
        show(Event::Note(note));
    })?;
    if found.is_none() && !options.resources.is_empty() {
        return Err(Error::Operator(
            "--resource: the site's own processes are not seen on this machine; name them with --process PID, or leave the flag out".to_owned(),
        ));
    }
    let groups = found.map(|site| Groups::find(site, &options.resources)).transpose()?;
    let whole = groups.as_ref().map(Groups::whole);
    let design = options.design(wanted.iter().filter(|it| **it).count());
    let began = Instant::now();
    let mut measuring = Measuring {
        plan: &options.plan,
        one_page: false,
        limit: options.limit,
        length: options.window,
        folder: &folder,
        site: whole.as_ref(),
        began,
        number: 0,
        overloaded: false,
    };
    let look = measuring.look()?;
    // Which threads work, and where, is seen once a customer has come.
    let resources = groups.as_ref().map(Groups::resources).unwrap_or_else(from_outside);
    let machine = Machine {
        processors: groups.as_ref().map_or(0.0, Groups::processors),
        shared_with_driver: groups
            .as_ref()
            .is_some_and(|it| it.shared_with_driver(&options.plan.cores)),
        target: options.target_use,
    };
    announce(options, &resources, design, &wanted, show);
    if let Some(groups) = groups.as_ref().filter(|_| machine.shared_with_driver) {
        show(Event::Note(format!(
            "the load generator runs on the site's processors and takes its part of them: {}",
            groups.apart()
        )));
    }
    let idle = idle(groups.as_ref(), &resources, design);
    let mut bench = Bench {
        plan: &options.plan,
        folder: &folder,
        groups: groups.as_ref(),
        resources: &resources,
        operations: &names,
        number: 0,
    };
    let mut runs: Vec<Run> = Vec::new();
    let mut notes = Vec::new();
    let targets = Target::all(
        &mut bench,
        scenario,
        &wanted,
        design,
        &mut |run| {
            show(Event::Run(&run, &names, Duration::ZERO));
            runs.push(run);
        },
        &mut |note| notes.push(note),
    )?;
    notes.into_iter().for_each(|note| show(Event::Note(note)));
    let (mix, _) = bench.run(Load {
        scenario,
        operation: None,
        per_s: None,
        customers: CUSTOMERS,
        length: design.mix,
        search: true,
    })?;
    let own = visits::profile(scenario, &names, (&mix, look.response_s), options.order.as_deref());
    runs.push(mix);
    measure(&mut bench, &targets, design, &mut runs, show)?;
    let ceilings: Vec<Option<f64>> = (0..=names.len())
        .map(|at| targets.iter().find(|it| it.operation == at)?.ceiling_per_s())
        .collect();
    let costs = costs(&names, &resources, &runs, &idle, &ceilings).map_err(|why| {
        Error::Process(format!(
            "the costs cannot be told: {why}. Runs in which more than 5 % of the requests failed do not count, nor those without any; look at operations/ in the folder of the result, or leave out --quick"
        ))
    })?;
    let shares = shares(names.len(), &runs);
    let predict = |profile| predict(&costs, &resources, profile, machine, shares.as_deref());
    let (profile, profile_of) = match &options.profile {
        Some(given) => (visits::with_connections(given, &own), "as given".to_owned()),
        None => (
            own.clone(),
            format!("of the scenario {}, by its sessions on this site", scenario.name()),
        ),
    };
    let predicted = predict(&profile);
    if let Some(unknown) = predicted.unknown.first() {
        show(Event::Note(format!(
            "the cost of {} is not known: {} is too low without it",
            predicted.unknown.join(", "),
            if predicted.unknown.len() == 1 { unknown.as_str() } else { "the cost of a session" }
        )));
    }
    // What the scenario's customers do is verified, whatever the profile says.
    let verified = predict(&own);
    let times = times(options, design, look)?;
    let steps = match verified.peak_per_s() {
        Some(peak) => verify(
            &mut measuring,
            (&names, groups.as_ref()),
            (&costs, &resources, &verified),
            (peak, times),
            show,
        )?,
        None => Vec::new(),
    };
    measuring.check_stop()?;
    let accuracy = (!steps.is_empty())
        .then(|| accuracy(&steps, &costs, &verified, &own, (options.limit, look.service_ms)));
    let ways = (0..=names.len()).map(|at| {
        let target = targets.iter().find(|it| it.operation == at);
        target.map_or("on the way to others".to_owned(), |it| it.in_words(&names))
    });
    let report = Report {
        ways: ways.collect(),
        options: options.clone(),
        operations: names,
        resources,
        processes: whole.as_ref().map(Processes::in_words),
        machine,
        profile,
        profile_of,
        runs,
        costs,
        predicted,
        steps,
        accuracy,
        time_scale: times.scale,
        provenance,
    };
    if let Some(note) = output::write(&folder, &report)? {
        show(Event::Note(note.to_owned()));
    }
    Ok(report)
}

/// What is seen of a site whose processes are not.
fn from_outside() -> Vec<Resource> {
    vec![Resource { name: "network".into(), unit: Unit::Bytes, per_s: None, driver: false }]
}

/// What is used per second while nobody comes.
fn idle(groups: Option<&Groups>, resources: &[Resource], design: Design) -> Vec<f64> {
    let Some(groups) = groups else { return vec![0.0; resources.len()] };
    let meter = Meter::begin(groups);
    std::thread::sleep(design.idle);
    let used = meter.end();
    let of = |(at, it): (usize, &Resource)| match it.unit {
        Unit::CpuSeconds if it.driver => 0.0,
        Unit::CpuSeconds => used.cpu_s[at] / used.seconds,
        _ if it.name == super::resources::DISK => used.disk_bytes.unwrap_or(0.0) / used.seconds,
        _ => 0.0,
    };
    resources.iter().enumerate().map(of).collect()
}

fn announce(
    options: &Options,
    resources: &[Resource],
    design: Design,
    wanted: &[bool],
    show: &mut dyn FnMut(Event),
) {
    let mut note = |text: String| show(Event::Note(text));
    let cpu = resources.iter().filter(|it| it.unit == Unit::CpuSeconds && !it.driver);
    let cpu: Vec<String> =
        cpu.map(|it| format!("{} ({} processors)", it.name, it.per_s.unwrap_or(0.0))).collect();
    match cpu.is_empty() {
        true => note("the site's processes are not seen: only the limits of throughput are measured, not what uses them up. Measure on the site's own machine for costs".to_owned()),
        false => note(format!("processor time is counted of {}", cpu.join(", "))),
    }
    let count = wanted.iter().filter(|it| **it).count();
    note(format!(
        "{count} operations of {}, each alone at {} loads, runs of {:.1} s in random turns",
        options.plan.scenario.name(),
        design.loads.len() * design.rounds as usize,
        design.window.as_secs_f64()
    ));
}

/// Every operation at every load, in random turns.
fn measure(
    bench: &mut Bench,
    targets: &[Target],
    design: Design,
    runs: &mut Vec<Run>,
    show: &mut dyn FnMut(Event),
) -> Result<()> {
    let contenders: Vec<(usize, f64)> = (0..targets.len())
        .flat_map(|target| design.loads.iter().map(move |load| (target, *load)))
        .collect();
    let all = contenders.len() as u32 * design.rounds;
    let mut done = 0;
    for turn in Order::seeded(bench.plan.seed).turns(contenders.len(), design.rounds) {
        let (target, multiple) = contenders[turn.contender];
        done += 1;
        if let Some(load) = targets[target].load(multiple, design) {
            let (run, _) = bench.run(load)?;
            let left = design.window * (all - done) + design.verification;
            show(Event::Run(&run, bench.operations, left));
            runs.push(run);
        }
    }
    Ok(())
}

fn times(options: &Options, design: Design, look: Look) -> Result<Times> {
    let budget =
        Budget { whole: design.verification, steps: LOADS.len(), shortest: design.shortest };
    let fixed = Fixed { scale: options.time_scale, step: None };
    Times::fit(&options.plan.scenario, options.limit, budget, fixed, look.response_s)
}

/// The scenario itself at rising load.
fn verify(
    measuring: &mut Measuring,
    (names, groups): (&[String], Option<&Groups>),
    (costs, resources, predicted): (&Costs, &[Resource], &Predicted),
    (peak, times): (f64, Times),
    show: &mut dyn FnMut(Event),
) -> Result<Vec<Verification>> {
    show(Event::Note(format!(
        "verification: the scenario at {} times the predicted {:.3} sessions/s{}",
        LOADS.map(|it| it.to_string()).join(", "),
        peak,
        match times.scale < 1.0 {
            true => format!(", with think times {} times as long", significant(times.scale, 2)),
            false => String::new(),
        }
    )));
    let mut steps: Vec<Verification> = Vec::new();
    for (at, multiple) in LOADS.into_iter().enumerate() {
        let (step, summary) = measuring.step_and_result(Phase::Curve, multiple * peak, times)?;
        let used = step.host.as_ref().zip(groups).map(|(host, groups)| groups.of_host(host));
        let counts = counts(&summary, names, costs);
        let of = (multiple, step, used.unwrap_or_default());
        let verification = Verification::of(of, counts, costs, resources, predicted);
        let left = (times.warm_up + times.measure) * (LOADS.len() - 1 - at) as u32;
        show(Event::Step(&verification, left));
        let again =
            !verification.step.is_sound() && steps.last().is_some_and(|it| !it.step.is_sound());
        steps.push(verification);
        if again && at + 1 < LOADS.len() {
            show(Event::Note(
                "the load generator is the limit: higher loads are left out".to_owned(),
            ));
            break;
        }
    }
    Ok(steps)
}

/// How often each operation was answered per second, in the order of the costs.
fn counts(summary: &Summary, names: &[String], costs: &Costs) -> Vec<f64> {
    let seconds = summary.measured_s.max(1e-9);
    let of = |name: &String| {
        let page = summary.pages.get(name).copied().unwrap_or_default();
        (page.ok + page.failed) as f64 / seconds
    };
    let connections = costs.operations.iter().any(|it| it.operation == CONNECTION);
    let connects = connections.then_some(summary.phases.connect.count as f64 / seconds);
    names.iter().map(of).chain(connects).collect()
}
