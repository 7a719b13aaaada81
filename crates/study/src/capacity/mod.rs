//! The capacity of a site: a staircase of offered load until the site is beyond its limit, and
//! what it says.

mod analysis;
mod beyond;
mod bottleneck;
mod completions;
mod concurrency;
mod drift;
mod figures;
mod host_use;
mod kept;
mod measure;
mod options;
mod output;
mod page;
mod staircase;
mod step;
mod tables;
#[cfg(test)]
mod truth;
mod updown;
mod words;

use std::time::{Duration, Instant};

use tidegate_host::sockets::Endpoint;
use tidegate_host::{Files, Provenance, is_own_address};
use tidegate_load::Stop;

pub use analysis::{Analysis, Knee, Law};
pub use beyond::{Compared, Window, compared};
pub use bottleneck::{Bottleneck, Resource};
pub use host_use::{HostUse, ProcessUse, Processes};
use measure::Measuring;
pub use options::Options;
use options::Times;
pub use staircase::{End, Staircase, Thoroughness};
pub use step::{Limit, Outcome, Phase, PhaseTimes, ResponseTime, Step};
use tidegate_experiment::{Error, Folder, Result};
pub use tidegate_stats::Interval;
pub use words::{headline, terminal};

/// Name of the study, and of its result.
pub const NAME: &str = "capacity";

/// Sessions of the first step, at least.
const FIRST: f64 = 5.0;

/// What happens while a study runs.
#[derive(Debug)]
pub enum Event<'a> {
    /// Something that a user wants to know.
    Note(String),
    /// A step was measured; about so much time is left, with that of the comparison.
    Step(&'a Step, Duration),
    /// A window of the comparison with the gate was measured; about so much time is left.
    Window(&'a Window, Duration),
}

/// What a study found.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The site.
    pub target: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Sessions are visits of one page.
    pub one_page: bool,
    /// The response times that count as served.
    pub limit: Limit,
    /// A short study, whose figures are rough.
    pub quick: bool,
    /// Highest rate that was allowed.
    pub max_rate: f64,
    /// Factor on think times in the steps.
    pub time_scale: f64,
    /// Think time of a session in reality, in seconds.
    pub think_s: f64,
    /// Requests of a session.
    pub requests: f64,
    /// Warm-up of a step: 99 of 100 sessions end within it.
    pub warm_up_s: f64,
    /// Measured time of a step.
    pub step_s: f64,
    /// The site's processes, in words, where they are known.
    pub processes: Option<String>,
    /// Commit, command and start.
    pub provenance: Provenance,
    /// The steps in the order of measurement.
    pub steps: Vec<Step>,
    /// What they say.
    pub analysis: Analysis,
    /// The comparison with the gate; empty without.
    pub windows: Vec<Window>,
}

/// Studies a site and leaves the result in its folder.
///
/// # Errors
/// [`Error::Operator`] for what the user has to change, otherwise what failed; also when it is
/// interrupted. Then there is no finished result.
pub fn study(
    options: &Options,
    provenance: Provenance,
    stop: &Stop,
    show: &mut dyn FnMut(Event),
) -> Result<Report> {
    let addresses = options.addresses()?;
    let folder = Folder::create(&options.out)?;
    folder.begin_anew(NAME)?;
    clear(&folder)?;
    let here = addresses.iter().find(|address| is_own_address(address.ip()));
    let endpoint = here.map(|it| Endpoint { address: Some(it.ip()), port: it.port() });
    let processes = site(options, endpoint, show)?;
    let mut measuring = Measuring {
        options,
        site: processes.as_ref(),
        stop,
        began: Instant::now(),
        number: 0,
        overloaded: false,
    };
    let look = measuring.look()?;
    let think_s = options.scenario.session_duration().as_secs_f64();
    let busy_s = look.requests * look.response_s;
    let times = options.times(look.response_s)?;
    announce(options, times, think_s, show);
    let first = first_rate(busy_s, times);
    let (steps, staircase) = climb(&mut measuring, first, times, show)?;
    let end = staircase.end().ok_or_else(|| Error::Internal("the staircase did not end".into()))?;
    let carried = staircase.carried();
    let analysis = analysis::analyse(
        &steps,
        end,
        carried,
        options.limit,
        (think_s, times.scale),
        look.service_ms,
    );
    let windows = match carried {
        Some(carried) if options.gate && end == End::Found => {
            show(Event::Note("Without and with the gate, in random turns:".into()));
            let each = times.warm_up + times.measure;
            beyond::compare(&mut measuring, carried.value, times, &mut |window, left| {
                show(Event::Window(window, each * left));
            })?
        }
        _ => Vec::new(),
    };
    let report = Report {
        target: options.target.trim_end_matches('/').to_owned(),
        scenario: options.scenario.name().to_owned(),
        one_page: options.one_page,
        limit: options.limit,
        quick: options.quick,
        max_rate: options.max_rate,
        time_scale: times.scale,
        think_s,
        requests: look.requests,
        warm_up_s: times.warm_up.as_secs_f64(),
        step_s: times.measure.as_secs_f64(),
        processes: processes.as_ref().map(Processes::in_words),
        provenance,
        steps,
        analysis,
        windows,
    };
    measuring.check_stop()?;
    if let Some(note) = output::write(&folder, &report)? {
        show(Event::Note(note.to_owned()));
    }
    Ok(report)
}

/// The first rate, of sessions that take `busy_s` without thinking. Slow sites are better
/// approached from above than by windows that nearly nobody comes in.
fn first_rate(busy_s: f64, times: Times) -> f64 {
    (0.5 / busy_s).max(FIRST / times.measure.as_secs_f64())
}

/// Removes the page, the table and the raw data of an earlier study of capacity, so that they are
/// not taken for those of this one.
fn clear(folder: &Folder) -> Result<()> {
    let wrong = |error: std::io::Error| {
        Error::Operator(format!("--out {}: {error}; name another folder", folder.path().display()))
    };
    for name in ["report.html", output::RESULTS] {
        match std::fs::remove_file(folder.file(name)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(wrong(error)),
            _ => {}
        }
    }
    let steps = folder.file("steps");
    std::fs::create_dir_all(&steps).map_err(wrong)?;
    // Raw data of steps that an earlier study had and this one may not have.
    for entry in std::fs::read_dir(&steps).map_err(wrong)?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let ours = name.get(..3).is_some_and(|number| number.bytes().all(|b| b.is_ascii_digit()));
        if ours && (name.ends_with(".requests.parquet") || name.ends_with(".json")) {
            std::fs::remove_file(entry.path()).map_err(wrong)?;
        }
    }
    Ok(())
}

/// The site's processes, if it runs here.
fn site(
    options: &Options,
    endpoint: Option<Endpoint>,
    show: &mut dyn FnMut(Event),
) -> Result<Option<Processes>> {
    let found = endpoint.and_then(|endpoint| Processes::find(endpoint, &options.processes));
    let given = options.processes.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    match (&found, !given.is_empty(), endpoint) {
        (Some(site), _, _) => show(Event::Note(format!("site: {}", site.in_words()))),
        (None, true, None) => {
            return Err(Error::Operator(format!(
                "--process {given}: the site does not run on this machine; leave the flag out"
            )));
        }
        (None, true, Some(_)) => {
            return Err(Error::Operator(format!(
                "--process {given}: there is no such process, or not every one; find them with `ss -ltnp`"
            )));
        }
        (None, false, Some(_)) => {
            // The site of a test is this process.
            let own = tidegate_host::processes::name(&Files::new("/"), std::process::id());
            let own = own.unwrap_or_default();
            show(Event::Note(format!(
                "no process other than this one ({own}) is seen to listen there: the site is seen from outside only; name it with --process PID"
            )));
        }
        (None, false, None) => {}
    }
    Ok(found)
}

fn announce(options: &Options, times: Times, think_s: f64, show: &mut dyn FnMut(Event)) {
    if options.one_page {
        show(Event::Note(
            "scenario: one page; each visit is a new customer with a connection of its own. Give \
             --scenario for the sessions of your customers"
                .into(),
        ));
    }
    if times.scale < 1.0 {
        show(Event::Note(format!(
            "customers think {:.1} s a session, {:.3} times as long as in reality, so that the study ends in time; customers at a time are reported for real times",
            think_s * times.scale,
            times.scale
        )));
    }
    let (warm_up, measure) = (times.warm_up.as_secs_f64(), times.measure.as_secs_f64());
    let each = warm_up + measure;
    let steps = options.thoroughness().steps();
    show(Event::Note(format!(
        "staircase: about {steps} steps, {:.1} minutes; each warms up for {warm_up:.1} s, within which 99 of 100 sessions end, and is measured for {measure:.1} s",
        each * steps as f64 / 60.0
    )));
    let windows = beyond::windows(options);
    if windows > 0 {
        show(Event::Note(format!(
            "then the comparison with the gate: {windows} windows, {:.1} minutes",
            each * f64::from(windows) / 60.0
        )));
    }
}

fn climb(
    measuring: &mut Measuring,
    first: f64,
    times: Times,
    show: &mut dyn FnMut(Event),
) -> Result<(Vec<Step>, Staircase)> {
    let options = measuring.options;
    let mut staircase =
        Staircase::new(first, options.max_rate, options.thoroughness(), options.seed);
    let mut steps = Vec::new();
    let then = beyond::windows(options);
    while let Some((phase, rate)) = staircase.next() {
        let step = measuring.step(phase, rate, times)?;
        staircase.push(step.outcome);
        let left = staircase.left() as u32 + then;
        show(Event::Step(&step, (times.warm_up + times.measure) * left));
        steps.push(step);
    }
    Ok((steps, staircase))
}
