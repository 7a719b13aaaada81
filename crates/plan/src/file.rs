//! A plan's file: what is asked for, and the mistakes in it.

use std::collections::BTreeMap;

use tidegate_config::{Keys, Mistakes, Section, Value, did_you_mean, write_keys};

use crate::alternatives::{Answer, Optimisation, Question};
use crate::capacity;
use crate::headroom::Headroom;
use crate::inputs::{Costs, Inputs, Operation};
use crate::keys::{
    CAPACITY, COSTS, DEMAND, HAVE, OPERATION, OPTIMISATION, OVERLOAD, PLAN, RULES, SERVER,
};
use crate::measured;
use crate::overload::{AtRisk, Curve, Overload};
use crate::partition::MOST;
use crate::plan::{Have, Rules};
use crate::profile;
use crate::range::Range;
use crate::servers::{ServerType, Staffing};

/// Share of requests that may wait, unless a file says otherwise.
const WAIT: f64 = 0.05;
/// What an unprotected and a protected site complete, unless a file says otherwise: what the study
/// of overload found with TLS 1.3. It shows no gain in sessions at twice the capacity; at four times
/// a site without the gate completed 0.73 (one processor) and 0.85 times (four, undecided) as many
/// as with it. Both completed more than a capacity that is estimated from costs below the knee, by
/// up to half; a plan does not count on that.
const WITHOUT_GATE: &[(f64, f64)] = &[(1.0, 1.0), (2.0, 1.0), (4.0, 0.77)];
const WITH_GATE: &[(f64, f64)] = &[(1.0, 1.0)];

/// What a file asks.
#[derive(Clone, Debug)]
pub struct Asked {
    /// What is to be planned.
    pub question: Question,
    /// The overload whose cost is to be known.
    pub overload: Overload,
}

impl Asked {
    /// Reads a file. `file` names the text in mistakes.
    ///
    /// # Errors
    /// Every mistake, with its line and a remedy.
    pub fn from_toml(text: &str, file: &str) -> Result<Self, Mistakes> {
        tidegate_config::read(text, file, read)
    }

    /// What the overload costs at the capacity of the first alternative's servers, by the revenue
    /// of the busiest hour of its last year; `None` without revenue.
    pub fn at_risk(&self, answer: &Answer) -> Option<AtRisk> {
        let year = answer.alternatives.first()?.plan.years.last()?;
        let busiest = year.groups.iter().map(|group| group.utilisation).fold(0.0, f64::max);
        let value = self.question.inputs.checkout_value.value;
        // At full use the servers carry this many times the orders of the busiest hour.
        let per_hour = year.orders_per_hour * value / busiest;
        let Question { without_gate, with_gate, .. } = &self.question;
        let risk = || self.overload.at_risk(per_hour, without_gate, with_gate);
        (per_hour.is_finite() && per_hour > 0.0).then(risk)
    }
}

/// The text of the reference page: every table with type, range, default and meaning of its keys.
pub fn reference() -> String {
    let mut page = String::from(
        "# Plan files\n\n<!-- Generated from the source of the plan; a test fails if they differ. -->\n\n\
         `tidegate plan FILE` reads a TOML file. All mistakes are reported at once, a line each: \
         `file:LINE: table.key = value: rule; remedy`. `tidegate plan --example` prints one.\n",
    );
    let tables: [(&str, &dyn Keys); 10] = [
        ("A plan", &PLAN),
        ("[demand]", &DEMAND),
        ("[[operations]]", &OPERATION),
        ("[costs]", &COSTS),
        ("[capacity]", &CAPACITY),
        ("[[servers]]", &SERVER),
        ("[rules]", &RULES),
        ("[[optimisations]]", &OPTIMISATION),
        ("[[have]]", &HAVE),
        ("[overload]", &OVERLOAD),
    ];
    let profile = profile::tables().map(|(title, keys)| (format!("A profile: {title}"), keys));
    let tables = tables.into_iter().map(|(title, keys)| (title.to_owned(), keys));
    for (title, keys) in tables.chain(profile) {
        let table = keys.table();
        page += &format!("\n## {title}\n\n{}\n\n", table.about);
        write_keys(&mut page, &table);
    }
    page
}

fn read(root: &Section<'_>) -> Option<Asked> {
    root.known(&PLAN);
    let costs = costs(root)?;
    let operations = &costs.operations;
    distinct(root, "operations", operations.iter().map(|it| it.name.as_str()));
    let names: Vec<&str> = operations.iter().map(|it| it.name.as_str()).collect();
    let servers = root.read(&PLAN.servers).unwrap_or_default();
    let types: Vec<_> = servers.iter().filter_map(|it| server(it, &names)).collect();
    distinct(root, "servers", types.iter().map(|it| it.name.as_str()));
    if types.is_empty() && root.get("servers").is_some() {
        root.wrong(
            "has no servers that can be bought",
            "add [[servers]] with name, cores and price",
        );
    }
    let optimisations = root.given(&PLAN.optimisations).unwrap_or_default();
    let optimisations = optimisations.iter().filter_map(|it| optimisation(it, &names)).collect();
    let have = root.given(&PLAN.have).unwrap_or_default();
    let have = have.iter().filter_map(|it| had(it, &types)).collect();
    let inputs = demand(&root.read(&PLAN.demand)?, costs.clone());
    let rules = root.table_or_empty("rules");
    let (peak_hours, margin, gate) =
        (rules.read(&RULES.peak_hours), rules.read(&RULES.margin), rules.read(&RULES.gate));
    let rules = self::rules(&rules, &names, types, have);
    let table = root.table_or_empty("overload");
    table.known(&OVERLOAD);
    let overload =
        Overload { load: table.read(&OVERLOAD.load)?, hours: table.read(&OVERLOAD.hours)? };
    let without_gate = curve(&table, "without_gate", WITHOUT_GATE)?;
    let with_gate = curve(&table, "with_gate", WITH_GATE)?;
    let question = Question {
        inputs: inputs?,
        rules: rules?,
        optimisations,
        without_gate,
        with_gate,
        gate: gate?,
        peak_hours: peak_hours?,
        margin: margin?,
        seed: 1,
    };
    Some(Asked { question, overload })
}

/// The operations of the file, what they cost as measured, or what a server carried. `None` after a
/// mistake.
fn costs(root: &Section<'_>) -> Option<Costs> {
    let given: Vec<&str> = ["operations", "costs", "capacity"]
        .into_iter()
        .filter(|it| root.get(it).is_some())
        .collect();
    match given.as_slice() {
        [] => {
            root.wrong(
                "does not say what a session costs",
                "add [[operations]], [costs] with a result of `tidegate tca`, or [capacity] with one of `tidegate study capacity`",
            );
            None
        }
        ["costs"] => measured::read(&root.given(&PLAN.costs)?),
        ["capacity"] => capacity::read(&root.given(&PLAN.capacity)?),
        ["operations"] => {
            let operations = root.given(&PLAN.operations).unwrap_or_default();
            let operations = operations.iter().filter_map(operation).collect();
            Some(Costs { operations, session: None, checkout: None })
        }
        several => {
            let several: Vec<String> = several.iter().map(|it| format!("`{it}`")).collect();
            root.wrong(format!("has {}", several.join(" and ")), "leave out all but one of them");
            None
        }
    }
}

fn operation(table: &Section<'_>) -> Option<Operation<Range>> {
    table.known(&OPERATION);
    let name = table.read(&OPERATION.name).map(str::to_owned);
    let per_session = table.read(&OPERATION.per_session);
    let cpu = table.read(&OPERATION.cpu_ms);
    let seconds =
        |ms: Range| Range { value: ms.value / 1e3, low: ms.low / 1e3, high: ms.high / 1e3 };
    Some(Operation { name: name?, per_session: per_session?, cpu_s: seconds(cpu?) })
}

fn server(table: &Section<'_>, operations: &[&str]) -> Option<ServerType> {
    table.known(&SERVER);
    let name = table.read(&SERVER.name).map(str::to_owned);
    let (price, yearly) = (table.read(&SERVER.price), table.read(&SERVER.yearly));
    let (life, cores) = (table.read(&SERVER.life), table.read(&SERVER.cores));
    let speed = table.read(&SERVER.speed);
    let speeds = numbers(&table.table_or_empty("speeds"), operations, 1e-3..=1e6);
    let only = names(table, "only", operations);
    Some(ServerType {
        name: name?,
        price: price?,
        yearly: yearly?,
        life_years: life?,
        cores: cores?,
        speed: speed?,
        speeds,
        only: only.unwrap_or_default(),
    })
}

fn optimisation(table: &Section<'_>, operations: &[&str]) -> Option<Optimisation> {
    table.known(&OPTIMISATION);
    let (name, price) = (table.read(&OPTIMISATION.name), table.read(&OPTIMISATION.price));
    let factors = table.read(&OPTIMISATION.factors);
    let factors = factors.map(|it| numbers(&it, operations, 0.0..=1e3));
    Some(Optimisation { name: name?.to_owned(), price: price?, factors: factors? })
}

fn had(table: &Section<'_>, types: &[ServerType]) -> Option<Have> {
    table.known(&HAVE);
    let (server, count) = (table.read(&HAVE.server), table.read(&HAVE.count));
    let server = server?;
    let known: Vec<&str> = types.iter().map(|it| it.name.as_str()).collect();
    if !known.contains(&server) {
        wrong_name(&table.get("server")?, "is none of the servers", server, &known);
    }
    Some(Have { server: server.to_owned(), servers: u32::try_from(count?).ok()? })
}

fn demand(
    table: &Section<'_>,
    Costs { operations, session: measured, checkout }: Costs,
) -> Option<Inputs<Range>> {
    table.known(&DEMAND);
    let (shoppers, peak) = (table.read(&DEMAND.shoppers), table.read(&DEMAND.peak_factor));
    let (growth, session) = (table.read(&DEMAND.growth), table.optional(&DEMAND.session));
    let session = session.and_then(|session| {
        let session = session.or(measured);
        if session.is_none() {
            table.wrong("does not say how long a session is", "add session = \"11m\"");
        }
        session
    });
    let (ratio, value) =
        (table.optional(&DEMAND.browse_to_buy), table.read(&DEMAND.checkout_value));
    let checkout = match table.get("checkout") {
        None => checkout,
        Some(given) => {
            let name = given.string()?;
            let at = operations.iter().position(|it| it.name == name);
            if at.is_none() {
                let known: Vec<&str> = operations.iter().map(|it| it.name.as_str()).collect();
                wrong_name(&given, "is none of the operations", name, &known);
            }
            at
        }
    };
    if checkout.is_none()
        && let Some(given) = table.get("browse_to_buy")
    {
        given.wrong("needs to know which operation is the checkout", "set demand.checkout");
    }
    Some(Inputs {
        shoppers: shoppers?,
        peak_factor: peak?,
        growth: growth?,
        session_s: session?,
        browse_to_buy: ratio?,
        checkout_value: value?,
        operations,
        checkout,
    })
}

fn rules(
    table: &Section<'_>,
    operations: &[&str],
    types: Vec<ServerType>,
    have: Vec<Have>,
) -> Option<Rules> {
    table.known(&RULES);
    let (years, redundancy) = (table.read(&RULES.years), table.read(&RULES.redundancy));
    let (wait, share) = (table.optional(&RULES.wait), table.optional(&RULES.r#use));
    let headroom = match (wait?, share?) {
        (Some(_), Some(_)) => {
            table.wrong("has both `wait` and `use`", "leave out one of them");
            return None;
        }
        (_, Some(share)) => Headroom::Use(share),
        (wait, None) => Headroom::Wait(wait.unwrap_or(WAIT)),
    };
    let given = names(table, "may_split", operations);
    // The others stay together, as one part more.
    let most =
        if given.as_ref().is_some_and(|it| it.len() < operations.len()) { MOST - 1 } else { MOST };
    let may_split = given.unwrap_or_else(|| operations.iter().map(|it| (*it).to_owned()).collect());
    if may_split.len() > most {
        let rule = format!("lets {} operations have servers of their own", may_split.len());
        table.wrong(rule, format!("name at most {most} in rules.may_split"));
    }
    Some(Rules {
        years: u32::try_from(years?).ok()?,
        staffing: Staffing { headroom, redundancy: u32::try_from(redundancy?).ok()? },
        types,
        may_split,
        have,
    })
}

/// The curve of a key, or the usual one. `None` after a mistake.
fn curve(table: &Section<'_>, key: &str, usual: &[(f64, f64)]) -> Option<Curve> {
    let Some(value) = table.get(key) else { return Curve::through(usual.to_vec()) };
    let point = |value: &Value<'_>| {
        let list = value.list()?;
        let [load, completed] = list.as_slice() else { return None };
        Some((load.number(0.0..=1e6)?, completed.number(0.0..=1e6)?))
    };
    let points = value.list()?.iter().map(point).collect::<Option<Vec<_>>>();
    let curve = points.and_then(Curve::through);
    if curve.is_none() {
        value.wrong("must be points of rising load", "write it as [[1, 1], [2, 0.1]]");
    }
    curve
}

/// Names of operations of a list. `None` if it is not set, or after a mistake.
fn names(table: &Section<'_>, key: &str, operations: &[&str]) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for value in table.get(key)?.list()? {
        let name = value.string()?;
        if operations.contains(&name) {
            names.push(name.to_owned());
        } else {
            wrong_name(&value, "is none of the operations", name, operations);
        }
    }
    Some(names)
}

/// Numbers by name of an operation.
fn numbers(
    table: &Section<'_>,
    operations: &[&str],
    range: std::ops::RangeInclusive<f64>,
) -> BTreeMap<String, f64> {
    let mut numbers = BTreeMap::new();
    for (name, value) in table.entries() {
        if !operations.contains(&name) {
            wrong_name(&value, "is none of the operations", name, operations);
        } else if let Some(number) = value.number(range.clone()) {
            numbers.insert(name.to_owned(), number);
        }
    }
    numbers
}

fn wrong_name(value: &Value<'_>, rule: &str, name: &str, known: &[&str]) {
    let remedy =
        did_you_mean(name, known).unwrap_or_else(|| format!("use one of {}", known.join(", ")));
    value.wrong(rule, remedy);
}

fn distinct<'a>(root: &Section<'_>, what: &str, names: impl Iterator<Item = &'a str>) {
    let mut seen: Vec<&str> = Vec::new();
    for name in names {
        if seen.contains(&name) {
            root.wrong(
                format!("has two {what} of the name {name:?}"),
                "give each a name of its own",
            );
        }
        seen.push(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EXAMPLE;

    fn mistakes(text: &str) -> Vec<String> {
        let error = Asked::from_toml(text, "plan.toml").unwrap_err().to_string();
        error.lines().map(str::to_owned).collect()
    }

    #[test]
    fn the_example_is_read_and_answered() {
        let asked = Asked::from_toml(EXAMPLE, "plan.toml").unwrap();
        assert_eq!(asked.question.inputs.session_s, Range::exactly(660.0));
        assert!(asked.question.answer().unwrap().alternatives.len() >= 3);
    }

    #[test]
    fn what_is_left_out_has_a_default() {
        let text = "demand = { shoppers = 1, session = \"1m\" }\n\
                    operations = [{ name = \"a\", per_session = 1, cpu_ms = 1 }]\n\
                    servers = [{ name = \"b\", cores = 1 }]";
        let question = Asked::from_toml(text, "plan.toml").unwrap().question;
        assert_eq!(question.inputs.peak_factor, Range::exactly(3.0));
        assert_eq!((question.rules.years, question.rules.staffing.redundancy), (3, 1));
        assert!(question.answer().is_ok());
    }

    #[test]
    fn every_mistake_is_named_with_a_remedy() {
        let text = EXAMPLE
            .replace("checkout = \"Checkout\"", "checkout = \"Chekout\"")
            .replace("session = \"11m\"", "session = [\"12m\", \"11m\"]")
            .replace("growth = [", "growth = [5, ")
            .replace("cores = 8", "cores = -8")
            .replace("wait = 0.05", "wait = 0.05\nuse = 0.5\nbeds = 3");
        let all = mistakes(&text).join("\n");
        for expected in [
            "demand.checkout = \"Chekout\": is none of the operations; did you mean Checkout?",
            "must be a list in rising order; write the lowest value first",
            "must be a number of 0.01 to 100000; try 0.01",
            "has both `wait` and `use`; leave out one of them",
            "rules.beds = 3: is not a known key",
        ] {
            assert!(all.contains(expected), "{expected} is missing in\n{all}");
        }
    }

    #[test]
    fn an_empty_file_says_what_must_be_there() {
        let all = mistakes("").join("\n");
        assert!(all.contains("does not say what a session costs; add [[operations]]"), "{all}");
    }
}
