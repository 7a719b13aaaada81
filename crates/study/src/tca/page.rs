//! The page: what a manager asks first, and the numbers for the engineer below.

use maud::{Markup, html};
use tidegate_host::Machine;
use tidegate_plan::Range;
use tidegate_report::number::{number, range};
use tidegate_report::{Figure, Page, Palette};

use super::{Report, tables, words};

/// The whole page: the first figure, the curve of each operation, and how their lines look.
pub(super) fn page(
    report: &Report,
    first: &[Figure],
    curves: &[Figure],
    palette: &Palette,
) -> String {
    let options = &report.options;
    let site = options.plan.target.trim_end_matches('/');
    Page::new(format!("Costs of {site}"))
        .style(palette.style())
        .kicker(html! { "Costs of operations of " span.address { (site) } " · scenario " (options.plan.scenario.name()) @if options.quick { " · short run, rough figures" } })
        .headline(&words::headline(report), html! { @for text in words::lead(report) { (text) " " } })
        .cards("key", cards(report))
        .heading("What an operation costs")
        .table(&tables::costs(report).class("dense"))
        .only_if(!report.costs.groups.is_empty(), |it| it.list(words::groups(report)))
        .soft(html! { "Cost: what one more operation uses, by least squares over the linear parts of all curves, so that the pages on the way to an operation are paid by themselves. A " (super::CONNECTION) " is the connection of a session with its handshake." })
        .heading("What a session uses")
        .table(&tables::sums(report).class("dense"))
        .heading("Is it so? The scenario itself at rising load")
        .paragraphs(words::verified(report))
        .figure(&html! { @for it in first { (it.on_page()) } })
        .only_if(!report.steps.is_empty(), |it| it.table(&tables::steps(&report.steps).class("dense")))
        .heading("Each operation alone")
        .figures(curves.iter().map(Figure::on_page))
        .heading("How it was measured")
        .definitions(setting(report))
        .html()
}

/// The key figures, each with what it is.
fn cards(report: &Report) -> Vec<(String, String)> {
    let round = words::round;
    let predicted = &report.predicted;
    let card = |it: Option<Range>, noun: &str| {
        let it = it?;
        let label = match it.is_exact() {
            true => noun.to_owned(),
            false => format!("{noun}; 95 %: {}", range((it.low, it.high), round)),
        };
        Some((round(it.value), label))
    };
    [
        card(predicted.sessions_per_s, "sessions per second"),
        card(predicted.customers, "customers at a time"),
        card(predicted.page_views_per_hour, "page views per hour"),
        card(predicted.orders_per_hour, "orders per hour"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn setting(report: &Report) -> Markup {
    let machine = Machine::read();
    let options = &report.options;
    html! {
        dt { "Runs" } dd { (format!("{} runs, {} of which say what operations cost. Each is an operation alone: sessions come evenly, whether or not earlier ones are over, take the likeliest way to the page and request it there as often as it may be; nobody thinks.", report.runs.len(), report.costs.runs)) }
        dt { "Loads" } dd { "Shares of the rate at which the busiest resource is used for seven tenths of the time, in random turns, so that drift of the machine does not look like a cost." }
        dt { "Profile" } dd { (report.profile_of) (format!("; {} operations in a session of {} s", number(report.profile.operations_each()), number(report.profile.session_s.value))) }
        dt { "Processors" } dd { (format!("{} of the site, used for up to {:.0} % of their time", number(report.machine.processors), 100.0 * report.machine.target)) @if report.machine.shared_with_driver { "; the load generator may use the same" } }
        @if report.time_scale < 1.0 { dt { "Think time" } dd { (format!("In the verification customers thought {:.3} times as long as in reality.", report.time_scale)) } }
        dt { "The site's processes" } dd { @match &report.processes { Some(it) => (it), None => "not seen: the site was measured from outside only" } }
        dt { "Machine" } dd { (machine.to_string()) " · " (machine.system) }
        dt { "Scenario" } dd { (options.plan.scenario.name()) }
        dt { "Command" } dd { code { (report.provenance.command) } }
        dt { "Commit" } dd { (report.provenance.commit) }
        dt { "Raw data" } dd { "operations/ and steps/: the result of each run with its histograms (JSON); results.parquet: a row for each run" }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::costs::tests::{names, resources, shop, shop_costs};
    use super::super::figures;
    use super::super::options::tests::options;
    use super::super::predicted::predict;
    use super::super::predicted::tests::{MACHINE, profile};
    use super::super::verify::tests::verified_shop;
    use super::*;
    use tidegate_host::Provenance;

    /// The result of a shop that does as predicted.
    pub(in crate::tca) fn report() -> Report {
        let scenario = "name = \"<b>shop\"\n[session]\nsteps = [\"Home\", \"Item\", \"Order\"]\n[pages]\n\
                        Home = { path = \"/\" }\nItem = { path = \"/item\" }\n\
                        Order = { path = \"/order\" }\n";
        let (costs, profile) = (shop_costs(), profile());
        let (accuracy, steps) = verified_shop();
        Report {
            options: options(scenario),
            operations: names(),
            ways: vec!["10 times on average".into(); 4],
            resources: resources(),
            processes: Some("shop (7)".into()),
            machine: MACHINE,
            predicted: predict(&costs, &resources(), &profile, MACHINE, None),
            profile,
            profile_of: "of the scenario".into(),
            runs: shop(),
            costs,
            steps,
            accuracy: Some(accuracy),
            time_scale: 0.5,
            provenance: Provenance::default(),
        }
    }

    #[test]
    fn the_page_begins_with_what_a_manager_asks() {
        let report = report();
        let first: Vec<Figure> = figures::verification(&report).into_iter().collect();
        let curves = figures::curves(&report);
        assert_eq!((first.len(), curves.len()), (1, 4));
        let html = page(&report, &first, &curves, &figures::palette(first.iter().chain(&curves)));
        let at = |text: &str| html.find(text).unwrap_or_else(|| panic!("{text} is missing"));
        let order = [
            "<h1>The site carries 20 sessions per second",
            "orders per hour",
            "What an operation costs",
            "What a session uses",
            "The scenario itself",
            "Each operation alone",
            "How it was measured",
        ];
        assert!(order.windows(2).all(|pair| at(pair[0]) < at(pair[1])));
        assert!(html.contains("&lt;b&gt;shop") && !html.contains("<b>shop"));
        assert!(!html.contains("NaN") && !html.contains("src=\"http"));
    }

    #[test]
    fn the_words_say_what_it_carries_what_limits_it_and_how_far_off_that_is() {
        let mut report = report();
        report.options.mhz = Some(400.0);
        let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let text = words(super::words::terminal(&report));
        for part in [
            "The site carries 20 sessions per second, about 1210 customers at a time.",
            "The tightest resource is the processor time of shop: 2.00 processors",
            "processor time than predicted",
            "megacycles",
            "shop (tightest)",
        ] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
        assert!(!report.is_off() && !text.contains("WARNING"), "{text}");
        report.accuracy.as_mut().unwrap().cpu_error = Some(0.3);
        assert!(super::words::terminal(&report).contains("MORE THAN 15 % OFF"));
        report.predicted.sessions_per_s = None;
        assert!(super::words::terminal(&report).contains("is not known"));
    }
}
