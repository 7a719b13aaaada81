//! The plan in sentences.

use tidegate_plan::servers::MOST_SERVERS;
use tidegate_plan::{Alternative, Arrangement, Asked, AtRisk, Have, Impossible};
use tidegate_report::number::{count, number, percent, range, significant};

use super::Planned;

/// An amount of money with three digits, as far as it can be known: `237 million`.
pub(super) fn money(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        large if large >= 1e9 => format!("{} billion", significant(value / 1e9, 3)),
        large if large >= 1e6 => format!("{} million", significant(value / 1e6, 3)),
        large if large >= 1e4 => significant((value / 100.0).round() * 100.0, 3),
        _ => significant(value, 3),
    }
}

/// A small amount of money, such as the cost of a checkout, with two digits.
pub(super) fn small(value: f64) -> String {
    let digits = if value > 0.0 { (1.0 - value.log10().floor()).clamp(2.0, 12.0) } else { 2.0 };
    format!("{value:.0$}", digits as usize)
}

/// Customers, to three digits where there are many.
pub(super) fn customers(value: f64) -> String {
    let unit = 10f64.powf((value.max(1.0).log10().floor() - 2.0).max(0.0));
    number((value / unit).round() * unit)
}

/// A number of servers, customers or hours, which is whole where it can be.
pub(super) fn whole(value: f64) -> String {
    if value.fract() == 0.0 && value < 1e15 { count(value as u64) } else { number(value) }
}

/// The plan in a sentence.
pub(super) fn headline(planned: &Planned) -> String {
    let first = &planned.answer.alternatives[0];
    let Some(last) = first.plan.years.last() else { return String::new() };
    format!(
        "{} for {}{} customers at a time: {} a year",
        plural(f64::from(last.servers()), "server"),
        if first.reserve { "up to " } else { "" },
        customers(last.shoppers),
        money(first.spent() / first.plan.years.len() as f64),
    )
}

/// What is uncertain about it.
pub(super) fn lead(planned: &Planned) -> String {
    let answer = &planned.answer;
    let years = answer.alternatives[0].plan.years.len();
    let mut text = format!(
        "At the busiest time of year {years}, with servers that {}. With the ranges of the inputs it is {} servers and {} a year in nine of ten cases.",
        arrangement(&answer.alternatives[0]),
        range(answer.servers, whole),
        range(answer.per_year, money),
    );
    if answer.alternatives[0].reserve {
        text += " It has reserves: nine of ten cases have fewer customers or less work than it is made for.";
    }
    if let Some(swing) = answer.swings.first() {
        text += &format!(" What matters most is the {}.", swing.input);
    }
    text
}

/// How an alternative serves the operations, as in "serve everything".
fn arrangement(it: &Alternative) -> String {
    let groups = it.plan.years.first().map_or(1, |year| year.groups.len());
    match (it.arrangement, groups) {
        (Arrangement::Partitioned, 2..) => format!("serve {groups} groups of operations apart"),
        _ => "serve every operation".to_owned(),
    }
}

/// The name of an alternative: what it does.
pub(super) fn name(it: &Alternative) -> String {
    let groups = it.plan.years.first().map_or(1, |year| year.groups.len());
    let mut parts = vec![match (it.arrangement, groups) {
        (Arrangement::Partitioned, 2..) => format!("{groups} groups apart"),
        _ => "mixed".to_owned(),
    }];
    if it.reserve {
        parts.push("with reserves".to_owned());
    }
    parts.extend(it.optimisations.iter().cloned());
    parts.join(", ")
}

/// Servers by type: `4 × 8 cores, 2 × static`.
pub(super) fn servers(all: &[Have]) -> String {
    let each = all.iter().map(|it| format!("{}\u{a0}× {}", it.servers, it.server));
    let text = each.collect::<Vec<_>>().join(", ");
    if text.is_empty() { "none".to_owned() } else { text }
}

/// Why the plan is not another alternative.
pub(super) fn why_not(first: &Alternative, other: &Alternative) -> String {
    let (dearer, loses) = (other.spent() - first.spent(), other.lost - first.lost);
    let amount = |value: f64| money(value.abs());
    let what = match (dearer > 0.0, loses > 0.0) {
        (true, true) => {
            format!("costs {} more and loses {} more of revenue", amount(dearer), amount(loses))
        }
        (true, false) if loses == 0.0 => format!("costs {} more and saves nothing", amount(dearer)),
        (true, false) => {
            format!("costs {} more to save {} of revenue", amount(dearer), amount(loses))
        }
        (false, true) => format!("saves {} and loses {} of revenue", amount(dearer), amount(loses)),
        (false, false) => format!("saves {} with more uncertainty", amount(dearer)),
    };
    format!("Why not “{}”: it {what}, on average over the ranges.", name(other))
}

/// What an overload costs.
pub(super) fn overload(asked: &Asked, risk: &AtRisk) -> String {
    let overload = &asked.overload;
    let lost = |carried: f64| money((risk.at_capacity - carried).max(0.0));
    format!(
        "In {} with {} times the load that the servers carry, orders of {} come. At its capacity the site carries {} of them; without the gate {}, with it {}: {} and {} less.",
        plural(overload.hours, "hour"),
        whole(overload.load),
        money(risk.offered),
        money(risk.at_capacity),
        money(risk.without_gate),
        money(risk.with_gate),
        lost(risk.without_gate),
        lost(risk.with_gate),
    )
}

/// What an optimisation saves.
pub(super) fn saving(name: &str, saved: f64) -> String {
    match saved > 0.0 {
        true => format!("{name}: saves {} in all years, after its price.", money(saved)),
        false => format!("{name}: costs {} more than it saves.", money(-saved)),
    }
}

/// Use of the busiest group in the last year.
pub(super) fn busiest(it: &Alternative) -> String {
    let groups = it.plan.years.last().map(|year| year.groups.as_slice()).unwrap_or_default();
    percent(groups.iter().map(|group| group.utilisation).fold(0.0, f64::max))
}

/// Why there is no plan, and what to do.
pub(super) fn impossible(why: &Impossible) -> String {
    match why {
        Impossible::Unserved(operations) => format!(
            "no server that can be bought serves {} together; add a server without `only`, or name them in `rules.may_split`",
            operations.join(", ")
        ),
        Impossible::TooLarge => format!(
            "a group needs more than {} servers; look at the demand and the CPU times of the file",
            count(u64::from(MOST_SERVERS))
        ),
        Impossible::TooMany(parts) => format!(
            "{parts} parts may have servers of their own, more than can be tried; name fewer in `rules.may_split`"
        ),
    }
}

fn plural(number: f64, noun: &str) -> String {
    let s = if (number - 1.0).abs() < 1e-9 { "" } else { "s" };
    format!("{} {noun}{s}", whole(number))
}
