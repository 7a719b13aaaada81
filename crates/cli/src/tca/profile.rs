//! `tidegate tca profile`: how often a session has each operation.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use serde::Serialize;
use tidegate_load::Scenario;
use tidegate_load::access_log::{AccessLog, Format, Keys, Reading, SessionField};
use tidegate_load::observed::{Counts, Observed, Observing, OperationRule, observe};
use tidegate_plan::range::Range;
use tidegate_plan::{Profile, Visits};
use tidegate_report::Table;
use tidegate_report::number::{number, percent, plural, range, time, with_interval};
use tidegate_study::profile::{of_log, of_scenario};

use super::data::written;
use crate::exit::{Outcome, bad_input};
use crate::load::{scenario, values};
use crate::stdout::print;

const AFTER: &str = "A session is what one customer requests without a pause. An operation is a page \
                     of --scenario, what --operation names, or else a path with ids taken out. \
                     docs/tca.md describes what is counted, and what is left out.";

/// Flags of `tidegate tca profile`.
#[derive(clap::Args)]
#[command(after_help = AFTER)]
pub struct ProfileArgs {
    /// Access logs, plain or gzip, in any order; - is standard input. Without one the profile is
    /// that of the scenario
    #[arg(long, value_name = "FILE", num_args = 1.., required_unless_present = "scenario")]
    log: Vec<PathBuf>,
    /// Whose pages the operations are: a scenario file, or the name of a built-in scenario
    #[arg(long, value_name = "FILE|NAME")]
    scenario: Option<String>,
    /// How the lines of the log are written [default: as the first one is]
    #[arg(long, value_name = "FORMAT", value_parser = ["combined", "json"])]
    format: Option<String>,
    /// Keys of JSON lines that are not the usual ones: time, client, agent, method, path or status,
    /// such as time=started_at,path=http.url
    #[arg(long, value_name = "FIELD=KEY,...")]
    keys: Option<Keys>,
    /// The field that names a session: its number from 1 or user, in JSON its key; with :COOKIE the
    /// cookie in it, such as 10:sid [default: address and user agent]
    #[arg(long, value_name = "FIELD[:COOKIE]")]
    session: Option<SessionField>,
    /// A longer time without a request ends a session
    #[arg(long, value_name = "TIME", default_value = "30m", value_parser = values::length)]
    pause: Duration,
    /// An operation by its path, such as Item=/items/{item} or Buy=POST /items/{item}/buy; repeat
    /// the flag for several
    #[arg(long, value_name = "NAME=PATTERN")]
    operation: Vec<OperationRule>,
    /// Count user agents that say they are programs
    #[arg(long)]
    with_bots: bool,
    /// The operation that is an order, for the browse-to-buy ratio
    #[arg(long, value_name = "NAME")]
    order: Option<String>,
    /// File for the profile as TOML, which `tidegate tca` takes
    #[arg(long, value_name = "FILE")]
    toml: Option<PathBuf>,
    /// File for the profile and what was counted as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// The profile, and what was counted in a log.
#[derive(Serialize)]
struct Found<'a> {
    profile: &'a Profile,
    browse_to_buy: Option<Range>,
    log: Option<&'a Counts>,
    notes: &'a [String],
}

/// Prints a profile.
pub fn run(args: ProfileArgs) -> anyhow::Result<Outcome> {
    let scenario = args.scenario.as_deref().map(scenario).transpose()?;
    let order = args.order.as_deref();
    let observed =
        if args.log.is_empty() { None } else { Some(observed(&args, scenario.as_ref())?) };
    let (profile, source) = match (&observed, &scenario) {
        (Some(observed), _) => {
            let lasts = time(1e3 * observed.lasts_s);
            (of_log(observed, order), format!("in a log of {lasts}"))
        }
        (None, Some(scenario)) => (of_scenario(scenario, order), "simulated".to_owned()),
        (None, None) => return Err(bad_input("nothing to take a profile from; give --log FILE")),
    };
    let profile = profile.map_err(|why| bad_input(format!("--order: {why}")))?;
    let ratio = observed.as_ref().zip(order).and_then(|(it, order)| it.others_for_each(order));
    let ratio = ratio.map(|it| Range { value: it.value, low: it.low, high: it.high });
    let notes = observed.as_ref().map_or(&[][..], |it| &it.notes);
    let simulated = scenario.as_ref().filter(|_| observed.is_none());
    print(words(&profile, ratio, &source, simulated))?;
    for note in notes {
        print(format!("{note}\n"))?;
    }
    if let Some(file) = &args.toml {
        std::fs::write(file, profile.to_toml())
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    let counts = observed.as_ref().map(|it| &it.counts);
    let found = Found { profile: &profile, browse_to_buy: ratio, log: counts, notes };
    written(&found, args.json.as_deref())
}

/// What the customers of the logs did.
fn observed(args: &ProfileArgs, scenario: Option<&Scenario>) -> anyhow::Result<Observed> {
    let reading = Reading {
        format: args.format.as_deref().map(|it| match it {
            "json" => Format::Json,
            _ => Format::Combined,
        }),
        keys: args.keys.clone().unwrap_or_default(),
        session: args.session.clone(),
    };
    let observing = Observing {
        pause: args.pause,
        with_bots: args.with_bots,
        rules: args.operation.clone(),
        scenario: scenario.cloned(),
    };
    let wrong = |why: String| bad_input(format!("--log {why}"));
    let log = AccessLog::open(&args.log, reading).map_err(wrong)?;
    observe(log, &observing).map_err(wrong)
}

/// The profile as text; of a simulated scenario also the visits of each class.
fn words(
    profile: &Profile,
    ratio: Option<Range>,
    source: &str,
    simulated: Option<&Scenario>,
) -> String {
    let mut text = format!(
        "{} {source}: {} long on average, with {} operations\n",
        plural(profile.sessions, "session", "sessions"),
        figure(profile.session_s, |seconds| time(1e3 * seconds)),
        number(profile.operations_each()),
    );
    if let Some(checkouts) = profile.checkouts_each() {
        text += &format!("Orders of a session: {}", figure(checkouts, number));
        if let Some(it) = ratio.or_else(|| profile.browse_to_buy().map(Range::exactly)) {
            text += &format!("; other operations for each order: {}", figure(it, number));
        }
        text += "\n";
    }
    let mut head = vec!["operation", "of a session", "95 %", "share"];
    let classes = simulated.filter(|it| it.classes().len() > 1);
    head.extend(classes.iter().flat_map(|it| it.classes()).map(|class| class.name.as_str()));
    let mut table = Table::new(head).words(&[0]);
    for (at, Visits { operation, per_session }) in profile.operations.iter().enumerate() {
        let mut row = vec![
            operation.clone(),
            number(per_session.value),
            range((per_session.low, per_session.high), number),
            percent(per_session.value / profile.operations_each()),
        ];
        let of_class = classes.iter().flat_map(|it| it.class_visits());
        row.extend(of_class.map(|visits| number(visits.per_session(at).value)));
        table.row(row);
    }
    text + &table.text()
}

/// A figure with its interval, where it has one.
fn figure(it: Range, show: fn(f64) -> String) -> String {
    match it.is_exact() {
        true => show(it.value),
        false => with_interval(it.value, (it.low, it.high), show),
    }
}
