//! `tidegate tca live`: what requests cost under live traffic, by the readings of the gate.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context;
use tidegate_plan::mixed::table::MixedTable;
use tidegate_report::number::{count, or_none, plural, seconds, time};
use tidegate_report::{HeadAndCell, Table};
use tidegate_study::live::{Counters, Live, OfGate, of_readings};

use super::data::written;
use super::mixed;
use crate::exit::{Outcome, bad_input};
use crate::load::values;
use crate::signals::stop_on_signal;
use crate::stdout::print;

const AFTER: &str = "No load is offered: the customers' own is measured. Operations are the routes \
                     of the gate; docs/tca.md describes how to count the requests of a path apart. \
                     SIGINT ends the measurement early, with what there is.";

/// How often the measurement looks whether it is to end.
const LOOK: Duration = Duration::from_millis(50);
/// Most windows: a day of them, ten seconds each.
const MOST: u32 = 10_000;

/// Flags of `tidegate tca live`.
#[derive(clap::Args)]
#[command(after_help = AFTER)]
pub struct LiveArgs {
    /// The gate before the site: its admin address, such as http://127.0.0.1:9443
    #[arg(long, value_name = "URL")]
    gate_admin: String,
    /// How long to measure
    #[arg(long = "for", value_name = "TIME", default_value = "10m", value_parser = values::length)]
    length: Duration,
    /// Length of a window; each is a run for the least squares
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = values::length)]
    window: Duration,
    /// File for the windows as CSV, which `tidegate tca --data` takes
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// File for the costs as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Measures until the time is over, and prints what requests cost.
pub fn run(args: LiveArgs) -> anyhow::Result<Outcome> {
    let windows = args.length.div_duration_f64(args.window);
    if args.window < Duration::from_secs(1) || !(3.0..=f64::from(MOST)).contains(&windows) {
        return Err(bad_input(format!(
            "--window {:?}: must be at least 1s, and --for 3 to {MOST} times as long",
            args.window
        )));
    }
    let stop = stop_on_signal()?;
    let read = || Counters::read(&args.gate_admin);
    let mut readings = vec![read().map_err(|why| bad_input(format!("--gate-admin {why}")))?];
    let begun = Instant::now();
    let mut next = args.window;
    while next <= args.length && !stop.is_stopped() {
        std::thread::sleep(LOOK.min(next.saturating_sub(begun.elapsed())));
        if begun.elapsed() >= next {
            readings.push(read().map_err(anyhow::Error::msg)?);
            next += args.window;
        }
    }
    let live = of_readings(&readings).map_err(anyhow::Error::msg)?;
    print(words(&live))?;
    if let (Some(file), Some(site)) = (&args.csv, &live.site) {
        std::fs::write(file, csv(site, &live.windows_s))
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    written(&live, args.json.as_deref())
}

fn words(live: &Live) -> String {
    let gate: &[HeadAndCell<'_, OfGate, String>] = &[
        ("operation", |it| it.operation.clone()),
        ("number", |it| count(it.count)),
        ("CPU time of the gate for one", |it| or_none(it.gate_cpu_s, |cpu_s| time(1e3 * cpu_s))),
        ("the site took", |it| or_none(it.site_s, |took_s| time(1e3 * took_s))),
    ];
    let mut text = format!(
        "{} of live traffic\n{}",
        seconds(live.lasted_s),
        Table::of(&live.gate, gate).text()
    );
    if let Some(site) = &live.site {
        let windows = plural(site.rows.len() as u64, "window", "windows");
        text += &format!("\nThe site's processes, in {windows}\n{}", mixed::words(site));
    }
    for note in &live.notes {
        text += &tidegate_load::paragraph("", note);
        text.push('\n');
    }
    text
}

/// The windows as a table of runs.
fn csv(site: &MixedTable, windows_s: &[f64]) -> String {
    let quoted = |name: &str| format!("\"per_s:{}\"", name.replace('"', "\"\""));
    let names = site.costs.operations.iter().map(|it| quoted(&it.operation));
    let mut text = names.chain(["busy_cpus,duration_s\n".to_owned()]).collect::<Vec<_>>().join(",");
    for (row, seconds) in site.rows.iter().zip(windows_s) {
        row.per_s.iter().for_each(|per_s| text += &format!("{per_s},"));
        text += &format!("{},{seconds}\n", row.busy_cpus);
    }
    text
}
