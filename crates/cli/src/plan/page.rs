//! The page of a plan, for its owner.

use maud::{Markup, PreEscaped, html};
use tidegate_plan::{Arrangement, Asked};
use tidegate_report::number::or_none;
use tidegate_report::{Chart, Line, Page, Palette, figure, round_step};

use super::{Planned, tables, words};
use words::money;

/// The page; `controls` are the sliders of the served one.
pub(super) fn page(asked: &Asked, planned: &Planned, controls: Option<Markup>) -> Page {
    let answer = &planned.answer;
    let first = &answer.alternatives[0];
    let (lines, ticks) = by_shoppers(planned);
    let chart = Chart {
        lines: &lines,
        x_label: "customers at a time, at the busiest time of the last year",
        x_ticks: &ticks,
        y_unit: "a year",
        readings: true,
        ..Chart::default()
    };
    let mut page = Page::new("Plan: servers and money")
        .style(Palette::of(&lines).style() + STYLE)
        .kicker(html! { "Plan" })
        .headline(&words::headline(planned), html! { (words::lead(planned)) });
    if let Some(controls) = controls {
        page = page.raw(controls);
    }
    page = page
        .cards("key", cards(planned))
        .heading("Year by year")
        .table(&tables::years(first))
        .figures([figure("What more and fewer customers cost", "Servers per year: every server serves every operation, or groups of operations have servers of their own.", &chart)])
        .heading("Servers of the last year")
        .table(&tables::groups(first))
        .heading("Alternatives")
        .paragraphs(["Servers are bought before the demand is known. The regret of an alternative is what it costs more, servers and lost revenue together, than the best one would have: on average over the ranges of the inputs, and at most."])
        .table(&tables::alternatives(answer))
        .list(tables::why_not(answer));
    if !answer.savings.is_empty() {
        let each = answer.savings.iter().map(|(name, saved)| words::saving(name, *saved));
        page = page.heading("Optimisations").list(each);
    }
    if !answer.swings.is_empty() {
        page = page
            .heading("What matters most")
            .paragraphs(["The cost of a year with one input at either end of its range, and the others at their most likely values."])
            .raw(tornado(planned));
    }
    if let Some(risk) = &planned.at_risk {
        page = page.heading("In an overload").paragraphs([words::overload(asked, risk)]);
    }
    page
}

fn cards(planned: &Planned) -> Vec<(String, &'static str)> {
    let first = &planned.answer.alternatives[0];
    let years = &first.plan.years;
    let servers = or_none(years.last(), |year| year.servers().to_string());
    let mut cards = vec![
        (servers, "servers in the last year"),
        (money(first.spent() / years.len() as f64), "a year"),
        (money(first.plan.per_shopper), "for each customer at a time"),
    ];
    cards.extend(first.plan.per_checkout.map(|cost| (words::small(cost), "for each checkout")));
    cards
}

/// What more and fewer customers would cost, mixed and apart.
fn by_shoppers(planned: &Planned) -> (Vec<Line>, Vec<f64>) {
    let curves = &planned.answer.by_shoppers;
    let line = |(arrangement, points): &(Arrangement, Vec<(f64, f64)>)| Line {
        name: match arrangement {
            Arrangement::Mixed => "mixed",
            Arrangement::Partitioned => "apart",
        }
        .into(),
        points: points.clone(),
    };
    let lines: Vec<Line> = curves.iter().map(line).collect();
    let most = lines.iter().flat_map(|it| &it.points).map(|it| it.0).fold(0.0, f64::max);
    let step = round_step(most / 5.0);
    let ticks = (0..=6).map(|n| f64::from(n) * step).take_while(|at| *at <= most).collect();
    (lines, ticks)
}

/// Bars from the cost at the lowest to that at the highest value of each input.
fn tornado(planned: &Planned) -> Markup {
    let swings = &planned.answer.swings;
    let ends = swings.iter().flat_map(|it| [it.per_year.0, it.per_year.1]);
    let (least, most) =
        ends.fold((f64::INFINITY, 0.0_f64), |(least, most), it| (least.min(it), most.max(it)));
    let place = |value: f64| 100.0 * (value - least) / (most - least).max(1e-9);
    html! { table.swings { tbody {
        @for swing in swings.iter().filter(|it| it.width() > 0.0) {
            @let (a, b) = (swing.per_year.0.min(swing.per_year.1), swing.per_year.0.max(swing.per_year.1));
            tr {
                th { (swing.input) }
                td { (money(a)) }
                td.swing { div { span style=(format!("left: {:.1}%; width: {:.1}%", place(a), (place(b) - place(a)).max(0.5))) {} } }
                td { (money(b)) }
            }
        }
    } } }
}

const STYLE: &str = "\
.swings th { text-align: left; font-weight: 500; } .swings .swing { width: 50%; min-width: 90px; } .swings .swing div { position: relative; height: 14px; }
.swings .swing span { position: absolute; top: 0; bottom: 0; background: var(--accent, #2a6fb0); border-radius: 2px; }
.sliders { display: grid; grid-template-columns: repeat(auto-fit, minmax(240px, 1fr)); gap: 10px 26px; margin: 18px 0; } .sliders label { display: block; font-size: 14px; }
.sliders input { width: 100%; } .sliders output { float: right; font-variant-numeric: tabular-nums; }
";

/// The controls of the served page and the script that asks for a new plan when one is moved.
/// Without scripts the button does.
pub(super) fn controls(sliders: &[super::serve::Slider]) -> Markup {
    html! {
        form.sliders method="get" {
            @for it in sliders {
                label { (it.label) output { (it.shown()) }
                    input type="range" name=(it.name) min=(it.low) max=(it.high) step="any" value=(it.value);
                }
            }
            noscript { button { "Plan" } }
        }
        script { (PreEscaped(SCRIPT)) }
    }
}

const SCRIPT: &str = "\
const form = document.querySelector('.sliders');
let asked = 0;
form.addEventListener('input', async () => {
  const query = new URLSearchParams(new FormData(form)), turn = ++asked;
  const answer = await fetch('?' + query);
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  if (turn !== asked) return;
  history.replaceState(null, '', '?' + query);
  page.querySelectorAll('.sliders output').forEach((it, at) => form.querySelectorAll('output')[at].textContent = it.textContent);
  const main = document.querySelector('main'), fresh = page.querySelector('main');
  fresh.querySelector('.sliders').replaceWith(form);
  fresh.querySelectorAll('script').forEach(it => it.remove());
  main.replaceWith(fresh);
});
";
