//! `tidegate render`: pages of a site, rendered ahead of time.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde::Serialize;
use tidegate_config::parse_size;
use tidegate_load::Stop;
use tidegate_render::{Checked, Difference, Error, Options, Pattern, Scope, Summary, Vary, Watch};
use tidegate_report::number::{bytes, count};
use tidegate_report::{HeadAndCell, Table};
use url::Url;

use crate::exit::{Outcome, bad_input};
use crate::load::values;
use crate::signals::stop_on_signal;
use crate::stdout::print;

/// Time between two lines of progress.
const TELLS: Duration = Duration::from_secs(5);

const AFTER: &str = "Every link in scope is requested with GET, without cookies. Exclude what such \
                     a request changes, such as /logout. docs/render.md describes what is written.";

/// Flags of `tidegate render`.
#[derive(clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {
    /// Pages to begin with, such as http://127.0.0.1:8080/
    #[arg(value_name = "URL", required_unless_present = "sitemap", value_parser = url)]
    roots: Vec<Url>,
    /// Folder of the rendered pages. It is replaced as a whole; what is kept between runs is in
    /// DIR.render
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Sitemap with pages to begin with; repeat the flag for several
    #[arg(long, value_name = "URL", value_parser = url, help_heading = "Pages")]
    sitemap: Vec<Url>,
    /// Render these paths alone, such as '/product/*'; with ? also their query; repeat the flag for
    /// several
    #[arg(long, value_name = "PATTERN", value_parser = Pattern::parse, help_heading = "Pages")]
    include: Vec<Pattern>,
    /// Leave these paths dynamic, such as '/cart*'; repeat the flag for several
    #[arg(long, value_name = "PATTERN", value_parser = Pattern::parse, help_heading = "Pages")]
    exclude: Vec<Pattern>,
    /// Render these paths though they set a cookie or say that they are for one visitor
    /// (Cache-Control, Vary), such as '/product/*'; repeat the flag for several
    #[arg(long, value_name = "PATTERN", value_parser = Pattern::parse, help_heading = "Pages")]
    public: Vec<Pattern>,
    /// Render each page for each of these values of a cookie, such as zone=1,2,3
    #[arg(long, value_name = "COOKIE=VALUES", value_parser = Vary::parse, help_heading = "Pages")]
    vary: Option<Vary>,
    /// Header field in which the site may name the file of a page
    #[arg(long, value_name = "NAME", default_value = "Render-As", help_heading = "Pages")]
    name_header: String,
    /// Write links with the URLs of the site where the file is found by them, as the gate and
    /// servers do that try PATH.html and PATH/index.html
    #[arg(long, help_heading = "Pages")]
    keep_urls: bool,
    /// Compare the rendered pages with the live ones, and write nothing
    #[arg(long, help_heading = "Pages")]
    check: bool,
    /// Most requests per second: 20, 20/s or 600/m
    #[arg(long, value_name = "PER_S", default_value = "20", value_parser = values::rate, help_heading = "Limits")]
    rate: f64,
    /// Most requests at a time
    #[arg(long, value_name = "N", default_value_t = 4,
          value_parser = clap::value_parser!(u16).range(1..=256), help_heading = "Limits")]
    concurrency: u16,
    /// Most pages and files that are requested, for each value of --vary
    #[arg(long, value_name = "N", default_value_t = 10_000,
          value_parser = clap::value_parser!(u32).range(1..=10_000_000), help_heading = "Limits")]
    max_pages: u32,
    /// Most links from a first page to another
    #[arg(long, value_name = "N", default_value_t = 30, help_heading = "Limits")]
    max_depth: u32,
    /// Largest page or file, such as 16MiB
    #[arg(long, value_name = "SIZE", default_value = "16MiB", value_parser = size, help_heading = "Limits")]
    largest: usize,
    /// Longest time for all requests; pages that are not reached stay dynamic [default: no limit]
    #[arg(long, value_name = "TIME", value_parser = values::length, help_heading = "Limits")]
    time: Option<Duration>,
    /// Longest wait for an answer
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = values::patience, help_heading = "Limits")]
    timeout: Duration,
    /// Request also what robots.txt asks to leave alone
    #[arg(long, help_heading = "Limits")]
    ignore_robots: bool,
    /// The site is yours, though it is not on this machine
    #[arg(long)]
    yes_this_is_mine: bool,
    /// Accept any server certificate
    #[arg(short = 'k', long)]
    insecure: bool,
    /// Certificate authorities to trust instead of the system's (PEM)
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    ca: Option<PathBuf>,
    /// File for the result as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

fn url(text: &str) -> Result<Url, String> {
    Url::parse(text).map_err(|error| format!("{error}; write it as http://127.0.0.1:8080/"))
}

fn size(text: &str) -> Result<usize, String> {
    let size = parse_size(text).and_then(|it| usize::try_from(it).ok()).filter(|it| *it > 0);
    size.ok_or_else(|| "must be a size above 0, such as 16MiB or 500KiB".to_owned())
}

/// Renders a site, or compares what was rendered with it.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let options = Options {
        roots: args.roots,
        sitemaps: args.sitemap,
        out: args.out,
        scope: Scope { include: args.include, exclude: args.exclude },
        public: args.public,
        name_header: args.name_header,
        keep_urls: args.keep_urls,
        vary: args.vary,
        rate: args.rate,
        concurrency: args.concurrency.into(),
        max_pages: args.max_pages as usize,
        max_depth: args.max_depth,
        largest: args.largest,
        longest: args.time,
        timeout: args.timeout,
        ignore_robots: args.ignore_robots,
        is_mine: args.yes_this_is_mine,
        insecure: args.insecure,
        ca: args.ca,
    };
    let mut watch = Progress { stop: stop_on_signal()?, told: Instant::now() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    if args.check {
        let checked = runtime.block_on(tidegate_render::check(&options, &mut watch));
        let checked = checked.map_err(in_words)?;
        write(args.json.as_deref(), &checked)?;
        print(differences(&checked))?;
        return Ok(match checked.differences.is_empty() {
            true => Outcome::Done,
            false => Outcome::GoalMissed,
        });
    }
    let summary = runtime.block_on(tidegate_render::render(&options, &mut watch));
    let summary = summary.map_err(in_words)?;
    write(args.json.as_deref(), &summary)?;
    print(words(&summary, &options))?;
    Ok(Outcome::Done)
}

/// Tells how far a run is, and ends it on a signal.
struct Progress {
    stop: Stop,
    told: Instant,
}

impl Watch for Progress {
    fn is_stopped(&self) -> bool {
        self.stop.is_stopped()
    }

    fn progress(&mut self, answers: usize, waiting: usize) {
        if self.told.elapsed() >= TELLS {
            self.told = Instant::now();
            eprintln!("{} answers, {} pages wait", count(answers as u64), count(waiting as u64));
        }
    }
}

fn in_words(error: Error) -> anyhow::Error {
    match error.exit_code() {
        2 => bad_input(error),
        _ => error.into(),
    }
}

fn write(path: Option<&std::path::Path>, result: &impl Serialize) -> anyhow::Result<()> {
    let Some(path) = path else { return Ok(()) };
    let json = serde_json::to_string_pretty(result)? + "\n";
    std::fs::write(path, json).with_context(|| format!("cannot write {}", path.display()))
}

/// What was found, rendered and skipped.
fn words(summary: &Summary, options: &Options) -> String {
    let out = options.out.display();
    let mut table = Table::new(["", "number", "what"]).words(&[2]);
    let mut row = |name: &str, number: u64, what: String| {
        table.row([name.to_owned(), count(number), what]);
    };
    row("found", summary.found, format!("addresses of {}", summary.site));
    let asked = format!("answers in this run, {} from one before", count(summary.resumed));
    row("requested", summary.answers, asked);
    let files =
        format!("pages, and {} other files: {}", count(summary.files), bytes(summary.bytes as f64));
    row("rendered", summary.pages, files);
    for it in &summary.variants {
        row("", it.files, format!("files that differ with {}", it.value));
    }
    row("new", summary.new, "files that were not there before".to_owned());
    row("changed", summary.changed, "files with other content".to_owned());
    row("unchanged", summary.unchanged, "files as before".to_owned());
    row("removed", summary.removed, "files whose pages are gone".to_owned());
    if summary.kept > 0 {
        row("kept", summary.kept, "pages of the last run: the site could not answer".to_owned());
    }
    if summary.redirects > 0 {
        row("redirects", summary.redirects, "links lead to where they go".to_owned());
    }
    for it in &summary.skipped {
        let examples = it.examples.join("  ");
        row("dynamic", it.count, format!("{}  {examples}", it.why).trim_end().to_owned());
    }
    format!("{}rendered into {out}\n", table.text())
}

/// The pages that differ.
fn differences(checked: &Checked) -> String {
    let compared = count(checked.compared);
    if checked.differences.is_empty() {
        return format!("{compared} pages and files are those of the live site\n");
    }
    let columns: Vec<HeadAndCell<'_, Difference, String>> = vec![
        ("page", |it| it.page.clone()),
        ("with", |it| it.variant.clone().unwrap_or_default()),
        ("", |it| it.why.clone()),
    ];
    format!(
        "{}{} of {compared} differ from the live site; render anew, or exclude pages that never stay the same\n",
        Table::of(&checked.differences, &columns).words(&[1, 2]).text(),
        count(checked.differences.len() as u64)
    )
}
