//! `tidegate sim --costs`: estimators of the cost of a connection, compared with the true
//! cost, in the simulator, where every cost is known, and by readings of the real gate.

mod page;
mod real;
mod samples;
mod table;

use std::path::Path;

use tidegate_sim::Scenario;
use tidegate_sim::estimators::{COURSES, Course, course_text, played};

use super::args::Args;
use super::output::{list, make, save};
use super::selection;
use crate::exit::Outcome;
use crate::stdout::print;

/// All courses that were run.
pub struct Comparison {
    pub courses: Vec<Course>,
    pub source: Source,
}

/// Where readings and truth come from.
#[derive(Clone, Copy, PartialEq)]
pub enum Source {
    Simulated { seeds: u64 },
    Real,
}

/// Runs the courses, prints the table, writes the page.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    if args.list {
        return list(COURSES, Scenario::course);
    }
    if let Some(name) = &args.show {
        let text =
            course_text(name).map_or_else(|| selection::file(name), |text| Ok(text.to_owned()));
        print(text?)?;
        return Ok(Outcome::Done);
    }
    let comparison = match args.real {
        true => {
            let courses = real::named(&args.scenarios)?;
            let cores = tidegate_lab::apart(&args.server_cores, &args.driver_cores)?;
            make(&args.out)?;
            Comparison { courses: real::run(&courses, cores, &args.out)?, source: Source::Real }
        }
        false => simulated(&args)?,
    };
    print(table::text(&comparison))?;
    write(&comparison, &args.out)?;
    Ok(Outcome::Done)
}

fn simulated(args: &Args) -> anyhow::Result<Comparison> {
    let courses = selection::courses(&selection::or_default(args.scenarios.clone(), COURSES))?;
    make(&args.out)?;
    let courses = courses.iter().map(|course| played(course, args.seeds)).collect();
    Ok(Comparison { courses, source: Source::Simulated { seeds: args.seeds } })
}

fn write(comparison: &Comparison, out: &Path) -> anyhow::Result<()> {
    let name = match comparison.source {
        Source::Simulated { .. } => "costs",
        Source::Real => "costs-real",
    };
    // One line: the ticks, pretty-printed, would take five times the space.
    let json = serde_json::to_string(&table::json(comparison))? + "\n";
    let figures = save(out, &format!("{name}.json"), json)?;
    let page = save(out, &format!("{name}.html"), page::page(comparison))?;
    print(format!("plots: {}\nfigures: {}\n", page.display(), figures.display()))?;
    Ok(())
}
