//! The capacity of a site: a staircase of offered load until the site is beyond its limit, and
//! what it says.

mod analysis;
mod beyond;
mod bottleneck;
mod columns;
mod concurrency;
mod drift;
mod figures;
mod kept;
mod options;
mod output;
mod page;
mod staircase;
mod tables;
#[cfg(test)]
mod truth;
mod updown;
mod words;

use std::time::{Duration, Instant};

use tidegate_experiment::{Error, Folder, Result};
use tidegate_host::Provenance;

use crate::site::addresses::addresses;
use crate::site::clear::clear;
use crate::site::measure::{Look, Measuring, STEPS};
use crate::site::processes::Processes;
pub use crate::site::step::{Limit, Step};
use crate::site::times::Times;
use analysis::Analysis;
pub use beyond::Window;
pub(crate) use bottleneck::Resource as Cause;
pub use columns::line;
pub(crate) use figures::ticks;
pub use options::Options;
pub use staircase::End;
use staircase::Staircase;
pub(crate) use tables::flat;
pub use words::terminal;

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
#[derive(Clone, Debug)]
pub struct Report {
    /// What was studied, and how.
    options: Options,
    /// The times of its steps.
    times: Times,
    /// What the first look at the site showed.
    look: Look,
    /// The site's processes, in words, where they are known.
    processes: Option<String>,
    /// Commit, command and start.
    provenance: Provenance,
    /// The steps in the order of measurement.
    steps: Vec<Step>,
    /// What they say.
    analysis: Analysis,
    /// The comparison with the gate; empty without.
    windows: Vec<Window>,
}

impl Report {
    /// How the search for the limit ended.
    pub fn end(&self) -> End {
        self.analysis.end
    }
}

/// Studies a site and leaves the result in its folder.
///
/// # Errors
/// [`Error::Operator`] for what the user has to change, otherwise what failed; also when it is
/// interrupted. Then there is no finished result.
pub fn study(
    options: &Options,
    provenance: Provenance,
    show: &mut dyn FnMut(Event),
) -> Result<Report> {
    let addresses = addresses(&options.plan)?;
    let folder = Folder::create(&options.out)?;
    folder.begin_anew(NAME)?;
    clear(&folder, &[STEPS], &["report.html", output::RESULTS])?;
    let processes =
        Processes::of_site(&addresses, &options.processes, &mut |note| show(Event::Note(note)))?;
    let mut measuring = Measuring {
        plan: &options.plan,
        one_page: options.one_page,
        limit: options.limit,
        length: options.step,
        folder: &folder,
        site: processes.as_ref(),
        began: Instant::now(),
        number: 0,
        overloaded: false,
    };
    let look = measuring.look()?;
    let times = options.times(look.response_s)?;
    announce(options, times, show);
    let first = first_rate(look.requests * look.response_s, times);
    let (steps, staircase) = climb(&mut measuring, options, (first, times), show)?;
    let end = staircase.end().ok_or_else(|| Error::Internal("the staircase did not end".into()))?;
    let carried = staircase.carried();
    let scales = (options.think_s(), times.scale);
    let analysis = analysis::analyse(&steps, end, carried, options.limit, scales, look.service_ms);
    let windows = match carried {
        Some(carried) if options.gate && end == End::Found => {
            show(Event::Note("Without and with the gate, in random turns:".into()));
            let each = times.warm_up + times.measure;
            beyond::compare(
                &mut measuring,
                options,
                (carried.value, times),
                &mut |window, left| {
                    show(Event::Window(window, each * left));
                },
            )?
        }
        _ => Vec::new(),
    };
    measuring.check_stop()?;
    let processes = processes.as_ref().map(Processes::in_words);
    let options = options.clone();
    let report = Report { options, times, look, processes, provenance, steps, analysis, windows };
    if let Some(note) = output::write(&folder, &report)? {
        show(Event::Note(note.to_owned()));
    }
    Ok(report)
}

/// What limits a site by its steps, with the evidence in words; arguments as of the whole analysis.
pub(crate) fn cause(
    steps: &[Step],
    end: End,
    carried: Option<f64>,
    limit: Limit,
    alone_ms: f64,
) -> (Cause, String) {
    let found = bottleneck::bottleneck(steps, end, carried, limit, alone_ms);
    let evidence = found.evidence.first().map(|it| format!(" {it}")).unwrap_or_default();
    (found.resource, found.headline + &evidence)
}

/// The first rate, of sessions that take `busy_s` without thinking. Slow sites are better
/// approached from above than by windows that nearly nobody comes in.
fn first_rate(busy_s: f64, times: Times) -> f64 {
    (0.5 / busy_s).max(FIRST / times.measure.as_secs_f64())
}

fn announce(options: &Options, times: Times, show: &mut dyn FnMut(Event)) {
    let mut note = |text: String| show(Event::Note(text));
    if options.one_page {
        note("scenario: one page; each visit is a new customer with a connection of its own. Give --scenario for the sessions of your customers".into());
    }
    if times.scale < 1.0 {
        note(format!(
            "customers think {:.1} s a session, {:.3} times as long as in reality, so that the study ends in time; customers at a time are reported for real times",
            options.think_s() * times.scale,
            times.scale
        ));
    }
    let (warm_up, measure) = (times.warm_up.as_secs_f64(), times.measure.as_secs_f64());
    let minutes = |steps: usize| (warm_up + measure) * steps as f64 / 60.0;
    let steps = options.thoroughness().steps();
    note(format!(
        "staircase: about {steps} steps, {:.1} minutes; each warms up for {warm_up:.1} s, within which 99 of 100 sessions end, and is measured for {measure:.1} s",
        minutes(steps)
    ));
    let windows = beyond::windows(options);
    if windows > 0 {
        note(format!(
            "then the comparison with the gate: {windows} windows, {:.1} minutes",
            minutes(windows as usize)
        ));
    }
}

fn climb(
    measuring: &mut Measuring,
    options: &Options,
    (first, times): (f64, Times),
    show: &mut dyn FnMut(Event),
) -> Result<(Vec<Step>, Staircase)> {
    let mut staircase =
        Staircase::new(first, options.max_rate, options.thoroughness(), options.plan.seed);
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
