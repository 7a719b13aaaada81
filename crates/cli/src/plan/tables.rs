//! The tables of a plan, for terminal and page.

use tidegate_plan::{Alternative, Answer, Asked, Have, Year};
use tidegate_report::number::{number, or_none, percent};
use tidegate_report::{HeadAndCell, Table};

use super::{Planned, words};
use words::money;

/// Alternatives that are shown; of the others it is said why not.
const SHOWN: usize = 3;

/// Everything, for the terminal.
pub(super) fn text(asked: &Asked, planned: &Planned) -> String {
    let answer = &planned.answer;
    let first = &answer.alternatives[0];
    let mut text = format!("{}\n{}\n", words::headline(planned), words::lead(planned));
    let mut section = |title: &str, content: String| text += &format!("\n{title}\n{content}");
    section("Year by year", years(first).text());
    section("Servers of the last year", groups(first).text());
    section("Alternatives, the one with the least regret first", alternatives(answer).text());
    let lines = |lines: Vec<String>| lines.iter().map(|line| format!("{line}\n")).collect();
    if answer.alternatives.len() > SHOWN {
        section("Why not", lines(why_not(answer)));
    }
    if !answer.savings.is_empty() {
        let each = answer.savings.iter().map(|(name, saved)| words::saving(name, *saved));
        section("Optimisations", lines(each.collect()));
    }
    if !answer.swings.is_empty() {
        section("What matters most", swings(answer).text());
    }
    if let Some(risk) = &planned.at_risk {
        section("In an overload", format!("{}\n", words::overload(asked, risk)));
    }
    text
}

/// Why the plan is none of the alternatives that are not shown.
pub(super) fn why_not(answer: &Answer) -> Vec<String> {
    let (first, others) = (&answer.alternatives[0], answer.alternatives.iter().skip(SHOWN));
    others.map(|other| words::why_not(first, other)).collect()
}

/// The years of an alternative.
pub(super) fn years(of: &Alternative) -> Table {
    let columns: &[HeadAndCell<'_, Year, String>] = &[
        ("year", |it| (it.year + 1).to_string()),
        ("customers at a time", |it| words::customers(it.shoppers)),
        ("page views /h", |it| words::customers(it.views_per_hour)),
        ("orders /h", |it| words::customers(it.orders_per_hour)),
        ("servers", |it| it.servers().to_string()),
        ("bought", |it| words::servers(&it.bought)),
        ("spent", |it| money(it.spent)),
        ("revenue", |it| money(it.revenue)),
    ];
    Table::of(&of.plan.years, columns).words(&[5])
}

/// The groups of the last year of an alternative.
pub(super) fn groups(of: &Alternative) -> Table {
    let mut table = Table::new(["operations", "servers", "busy"]).words(&[0, 1]);
    let last = of.plan.years.last().map(|year| year.groups.as_slice()).unwrap_or_default();
    for group in last {
        let servers = Have { server: group.server.clone(), servers: group.servers };
        table.row([
            group.operations.join(", "),
            words::servers(&[servers]),
            percent(group.utilisation),
        ]);
    }
    table
}

/// The best alternatives.
pub(super) fn alternatives(answer: &Answer) -> Table {
    let columns: &[HeadAndCell<'_, Alternative, String>] = &[
        ("alternative", words::name),
        ("servers", |it| or_none(it.plan.years.last(), |year| year.servers().to_string())),
        ("busiest", words::busiest),
        ("per year", |it| money(it.spent() / it.plan.years.len() as f64)),
        ("per customer", |it| number(it.plan.per_shopper)),
        ("per checkout", |it| or_none(it.plan.per_checkout, words::small)),
        ("lost revenue", |it| money(it.lost)),
        ("regret", |it| money(it.regret)),
        ("largest", |it| money(it.largest_regret)),
    ];
    Table::of(answer.alternatives.iter().take(SHOWN), columns).words(&[0])
}

/// What the inputs do to the cost.
pub(super) fn swings(answer: &Answer) -> Table {
    let mut table = Table::new(["input", "a year at its lowest", "at its highest"]).words(&[0]);
    for swing in &answer.swings {
        let (low, high) = swing.per_year;
        table.row([swing.input.clone(), money(low), money(high)]);
    }
    table
}
