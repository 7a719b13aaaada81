//! The report page of a study.

mod claims;
mod scalability;
mod tables;
mod words;

use maud::{Markup, html};
use tidegate_report::{Page, Palette};

use crate::analysis::figures::{Drawn, split_first};
use crate::analysis::is_closed;
use crate::driver::METHOD;
use crate::environment;
use crate::experiment::Experiment;
use crate::options::Options;
use crate::summary::Summary;

/// What the page shows.
pub(super) struct Report<'a> {
    pub(super) experiment: &'a Experiment,
    pub(super) options: &'a Options,
    pub(super) summary: &'a Summary,
    pub(super) drawn: &'a [Drawn],
    pub(super) palette: &'a Palette<'a>,
    pub(super) notes: &'a [String],
    pub(super) unit: &'a str,
    pub(super) cores: &'a (String, String),
}

impl Report<'_> {
    /// The whole page.
    pub(super) fn html(&self) -> String {
        let page = Page::new(format!("Tidegate study: {}", self.experiment.name))
            .style(self.palette.style() + STYLE)
            .kicker(html! { "Study " (self.experiment.name) @if self.summary.quick { " · quick run, its figures are rough" } })
            .headline(&words::headline(self), html! { (words::lead(self)) })
            .notes(self.notes);
        let page = claims::all(page, self);
        let page = page
            .only_if(self.summary.claims.is_empty(), |page| page.cards("key", words::cards(self)));
        let (first, others) = split_first(self.drawn);
        let figures = |page: Page, title: &str, drawn: &[&Drawn]| {
            page.only_if(!drawn.is_empty(), |page| {
                page.heading(title).figures(drawn.iter().map(|it| it.on_page()))
            })
        };
        let page = figures(page, "Figures", &first).only_if(!first.is_empty(), |page| {
            page.soft(html! { "Each point and bar is the mean over the rounds. All figures are in " code { "figures/" } " as SVG and PNG." })
        });
        let page = page.heading("How it was measured").definitions(self.how());
        figures(tables::all(page, self), "Further figures", &others).html()
    }

    fn how(&self) -> Markup {
        let windows = self.experiment.windows(self.options.quick);
        let base = &self.experiment.base;
        html! {
            dt { "Experiment" } dd { (self.experiment.about) }
            dt { "Factors" } dd {
                @if self.experiment.factors.is_empty() { "none" }
                @for (index, factor) in self.experiment.factors.iter().enumerate() {
                    @if index > 0 { "; " }
                    b { (factor.name) } " " (factor.levels(self.options.quick).join(", "))
                }
            }
            @if let Some(requests) = windows.requests {
                dt { "Runs" } dd { "In " (windows.repetitions) " rounds every combination is measured once, " (words::servers(base)) " started anew, in random order. The first two series have " (requests) " requests" @if let Some(most) = windows.requests_at_most.filter(|most| *most > requests) { ", and up to " (most) " until both sides are warm" } }
                @for (term, text) in METHOD { dt { (term) } dd { (text) } }
            } @else {
            dt { "Runs" } dd {
                "In " (windows.repetitions) " rounds every combination is measured once, for "
                (windows.measured_s) " s after " (words::warm_up(&windows)) " of warm-up, " (words::starts(base, &windows)) ". "
                "Combinations of the same capacity follow each other in random order"
                @if base.load.is_some() && !is_closed(self.experiment) { ", after a baseline without admission control that measures the capacity at that time; loads are multiples of it" }
                "."
            }
            dt { "Customers" } dd {
                @if is_closed(self.experiment) {
                    "In a closed loop: each begins the next request when the last was answered. "
                    "Response times count from the opening of the connection, where a request has one of its own."
                } @else {
                    (base.scenario) ", Poisson arrivals; times of people × " (base.time_scale)
                    @if (base.patience_scale - 1.0).abs() > 1e-9 { ", patience × " (base.patience_scale) }
                    ". Response times count from the intended start."
                }
            }
            }
            dt { "Processors" } dd {
                @if base.shared_processors { (words::servers(base)) " and its client share core " (self.cores.0) }
                @else { (words::servers(base)) ": core " (self.cores.0) " (" (self.unit) "); customers: core " (self.cores.1) }
            }
            dt { "Intervals" } dd { "95 %, by Student's t over the rounds. A claim holds if the whole interval keeps its limits, does not hold if the whole interval is beyond one, and is undecided otherwise, or with fewer than five rounds. A claim about several loads or configurations holds if it holds in each; the figures are those of the one that decides. A ratio compares runs of the same round, so that drift of the machine's speed cancels." }
            @for (what, value) in environment::facts(self.summary) { dt.fact { (what) } dd { (value) } }
            dt { "Data" } dd { code { "results.parquet" } " has a row per run, " code { "runs/" } " the requests, seconds and host readings of each, " code { "summary.json" } " the tables and claims of this page" }
        }
    }
}

const STYLE: &str = "\
.note { border-left: 4px solid var(--amber); padding: 2px 0 2px 14px; max-width: 58em; font-size: 15px; }
.claims td { vertical-align: top; } .claims td.claim { white-space: normal; min-width: 16em; max-width: 26em; } .claims th, .claims td { padding: 8px 10px; }
.claims td.text { text-align: left; } .claims td.why { white-space: normal; min-width: 16em; max-width: 24em; }
.claims .holds { color: var(--good); font-weight: 700; white-space: nowrap; }
.claims .does-not-hold { color: var(--bad); font-weight: 700; white-space: nowrap; } .claims .undecided { color: var(--soft); font-weight: 600; white-space: nowrap; }
.claims small { display: block; color: var(--soft); font-size: 13px; font-weight: 400; }
.claims tr.part td { border-top: 1px dotted var(--soft); } dt.fact::first-letter { text-transform: uppercase; }
.levels td.text { text-align: left; } .levels small { display: block; color: var(--soft); font-size: 12px; }
@media (max-width: 700px) {
.claims thead { display: none; } .claims, .claims tbody, .claims tr, .claims td { display: block; } .claims td, .claims td.claim, .claims td.why { padding: 2px 10px; border: 0; max-width: none; }
.claims td:empty { display: none; } .claims tr { padding: 8px 0; border-top: 1px solid var(--line); } .claims tr.part, .claims tr.part td { border-top: 0; }
.claims td:nth-child(2)::before { content: 'paper: '; } .claims td:nth-child(3)::before { content: 'here: '; }
}
";
