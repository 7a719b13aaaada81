//! `tidegate sim fleet`: several gates before one service, in virtual time.

use tidegate_report::number::or_none;
use tidegate_report::{Cell, Table};
use tidegate_sim::fleet::{Course, Named, What, named, scenarios, simulate};

use crate::exit::{Outcome, bad_input};
use crate::stdout::print;

/// Flags of `tidegate sim fleet`.
#[derive(clap::Args)]
pub struct Args {
    /// Fleets to simulate [default: all]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// List the fleets and exit
    #[arg(long)]
    list: bool,
    /// Print a line for each tenth of a second instead
    #[arg(long)]
    course: bool,
}

/// Simulates and prints.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    if args.list {
        for Named { name, about, .. } in scenarios() {
            print(format!("{name:<14} {about}\n"))?;
        }
        return Ok(Outcome::Done);
    }
    let chosen = chosen(&args.names)?;
    let mut table = Table::new([
        "fleet",
        "admitted,\n1/s",
        "goodput,\n% of peak",
        "response,\nms",
        "shares,\nmost",
        "misplaced,\n%",
        "after a fault\nsettled in, s",
        "messages\n1/s",
        "kB/s",
    ]);
    for Named { name, about, fleet } in &chosen {
        let course = simulate(fleet);
        if args.course {
            print(format!("{name}: {about}\n{}\n", lines(&course).text()))?;
            continue;
        }
        let all = 10.0..fleet.seconds;
        let per_s = |sum: f64| format!("{:.0}", sum / fleet.seconds);
        let settled = fleet.faults.first().map(|fault| {
            let ends = fault.time_s.end < fleet.seconds && fault.what != What::Down;
            let from_s = if ends || fault.time_s.start == 0.0 {
                fault.time_s.end
            } else {
                fault.time_s.start
            };
            course.until(from_s, |it| it.cut_off == 0 && it.shares > 0.99)
        });
        table.row(
            [
                (*name).to_owned(),
                format!("{:.0}", course.admitted_per_s(all.clone())),
                format!("{:.1}", 100.0 * course.goodput(all.clone())),
                format!("{:.1}", 1e3 * course.mean(all.clone(), |it| it.response_s)),
                format!("{:.3}", course.most(all.clone(), |it| it.shares)),
                format!("{:.1}", 100.0 * course.mean(all, |it| it.misplaced)),
                or_none(settled, |it| it.map_or("never".to_owned(), |s| format!("{s:.1}"))),
                per_s(course.messages as f64),
                per_s(course.bytes * 1e-3),
            ]
            .map(Cell::from),
        );
    }
    if !args.course {
        print(table.text())?;
        print(
            "Figures are of the time from 10 s on. Shares are of the service; misplaced: the part \
             of them\nthat is not where present demand is.\n"
                .to_owned(),
        )?;
    }
    Ok(Outcome::Done)
}

fn chosen(names: &[String]) -> anyhow::Result<Vec<Named>> {
    if names.is_empty() {
        return Ok(scenarios());
    }
    let find = |name: &String| {
        named(name).ok_or_else(|| {
            bad_input(format!(
                "{name}: there is no such fleet; `tidegate sim fleet --list` lists them"
            ))
        })
    };
    names.iter().map(find).collect()
}

fn lines(course: &Course) -> Table {
    let mut table = Table::new([
        "s",
        "offered",
        "admitted",
        "answered",
        "response,\nms",
        "in use,\n%",
        "shares",
        "misplaced,\n%",
        "cut off",
    ]);
    for sample in &course.samples {
        table.row(
            [
                format!("{:.1}", sample.at_s),
                sample.offered.to_string(),
                sample.admitted.to_string(),
                sample.answered.to_string(),
                format!("{:.1}", 1e3 * sample.response_s),
                format!("{:.0}", 100.0 * sample.in_use),
                format!("{:.3}", sample.shares),
                format!("{:.1}", 100.0 * sample.misplaced),
                sample.cut_off.to_string(),
            ]
            .map(Cell::from),
        );
    }
    table
}
