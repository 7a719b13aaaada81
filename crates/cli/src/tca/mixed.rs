//! Costs of operations that come together, in words.

use tidegate_plan::mixed::table::{MixedRow, MixedTable};
use tidegate_plan::mixed::{INFLATION, Mixed, MixedCost, Together};
use tidegate_plan::range::Range;
use tidegate_report::number::{number, or_none, percent, time};
use tidegate_report::{HeadAndCell, Table};

/// Share of the mean use that runs may be off their costs without a remark.
const OFF: f64 = 0.1;

/// The costs, and every run.
pub(super) fn words(table: &MixedTable) -> String {
    let MixedTable { costs, mhz, .. } = table;
    let mut head = vec!["operation", "CPU time of one", "95 %", "variance inflation"];
    head.extend(mhz.map(|_| "megacycles of one"));
    let mut all = Table::new(head).words(&[0, 2]);
    for it in &costs.operations {
        let mut row = vec![it.operation.clone(), or_none(it.cost, value), or_none(it.cost, ends)];
        row.push(or_none(it.inflation, number));
        row.extend(mhz.map(|mhz| or_none(it.cost, |cost| number(cost.value * mhz))));
        all.row(row);
    }
    let runs: &[HeadAndCell<'_, MixedRow, String>] = &[
        ("line", |it| it.line.to_string()),
        ("operations /s", |it| number(it.per_s.iter().sum())),
        ("busy CPUs", |it| format!("{:.4}", it.busy_cpus)),
    ];
    format!(
        "What an operation costs, by least squares over {} runs in which they come together\n{}{}\nEvery run\n{}",
        costs.runs,
        all.text(),
        remarks(costs),
        Table::of(&table.rows, runs).text()
    )
}

/// The time of one, or that it is at its bound.
fn value(cost: Range) -> String {
    if cost.value > 0.0 { time(1e3 * cost.value) } else { "0".to_owned() }
}

fn ends(cost: Range) -> String {
    match cost.value > 0.0 {
        true => format!("{} to {}", time(1e3 * cost.low), time(1e3 * cost.high)),
        false => format!("up to {}", time(1e3 * cost.high)),
    }
}

/// What the table does not say, a line each.
fn remarks(costs: &Mixed) -> String {
    let Range { value, low, high } = costs.idle;
    let mut text = format!(
        "Without any of them {} CPUs are busy ({} to {}).\n",
        number(value),
        number(low),
        number(high)
    );
    for group in &costs.groups {
        text += &(together(group) + "\n");
    }
    let never: Vec<&str> =
        costs.operations.iter().filter(|it| is_never(it)).map(|it| it.operation.as_str()).collect();
    if !never.is_empty() {
        text += &format!("No run has {}: add one that does.\n", never.join(", "));
    }
    if costs.off > OFF {
        text += &format!(
            "Runs are {} off the sum of their costs: costs may grow with the load, or something is not counted. Leave out runs beyond the knee.\n",
            percent(costs.off)
        );
    }
    text
}

fn is_never(cost: &MixedCost) -> bool {
    cost.cost.is_none() && cost.group.is_none()
}

/// What a group costs, and what would tell its operations apart.
fn together(group: &Together) -> String {
    let names: Vec<&str> = group.members.iter().map(|it| it.operation.as_str()).collect();
    let names = names.join(", ");
    let Some(cost) = group.cost else {
        return format!(
            "The runs do not tell {names} from the idle use: add runs in which their rates are others."
        );
    };
    let sum: Vec<String> = group
        .members
        .iter()
        .map(|it| match (it.count - 1.0).abs() < 1e-9 {
            true => it.operation.clone(),
            false => format!("{} {}", number(it.count), it.operation),
        })
        .collect();
    format!(
        "The runs do not tell {names} apart (variance inflation above {INFLATION}): their sum, {}, costs {} ({}). Add runs with another mix of them.",
        sum.join(" + "),
        value(cost),
        ends(cost)
    )
}
