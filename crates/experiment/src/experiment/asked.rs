//! Tables and numbers of servers that an experiment asks for.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tidegate_config::{Section, did_you_mean};

use super::factors::Factor;
use super::keys::{OVERHEAD, SERVERS, SERVERS_SITE, TABLE};
use super::rules::{factor, id, listed, unknown};
use super::selection::Selection;
use crate::phases;

/// A table: a row for each combination of levels, with means over the rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableRule {
    /// Its name in `summary.json`.
    pub id: String,
    /// Its title.
    pub title: String,
    /// A sentence below it.
    pub note: String,
    /// Its columns.
    pub metrics: Vec<String>,
    /// The runs.
    pub runs: Selection,
}

/// What kinds of connections add to transactions, against their work in the clear.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OverheadRule {
    /// The factor whose levels are the kinds.
    pub factor: String,
    /// Its level in the clear.
    pub clear: String,
    /// The share of the work that is sought.
    pub share: f64,
    /// The runs.
    pub runs: Selection,
    /// Those of them that give the crossing.
    pub fitted: Selection,
}

impl OverheadRule {
    /// Reads the table `[overhead]`. `None` after a mistake.
    pub(super) fn read(table: &Section<'_>, factors: &[Factor]) -> Option<Self> {
        table.known(&OVERHEAD);
        let name = table.read(&OVERHEAD.factor)?;
        let names: Vec<&str> = factors.iter().map(|factor| factor.name.as_str()).collect();
        let Some(of) = factors.iter().find(|factor| factor.name == name) else {
            unknown(&table.get("factor")?, "is no factor of this file", name, &names);
            return None;
        };
        let clear = table.read(&OVERHEAD.clear)?;
        let levels = of.levels(false);
        if !levels.contains(&clear) {
            unknown(&table.get("clear")?, "is no level of the factor", clear, &levels);
            return None;
        }
        let selection = |given: Option<Section<'_>>| {
            given.map(|it| Selection::read(&it, factors)).unwrap_or_default()
        };
        Some(Self {
            factor: name.to_owned(),
            clear: clear.to_owned(),
            share: table.read(&OVERHEAD.share)?,
            runs: selection(table.given(&OVERHEAD.r#where)),
            fitted: selection(table.given(&OVERHEAD.fitted)),
        })
    }
}

/// How many servers carry a number of customers, by the capacities that were measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServersRule {
    /// Customers in session at a time.
    pub customers: f64,
    /// Length of their session, in seconds.
    pub session_s: f64,
    /// Price of a server.
    pub price: f64,
    /// The factor whose levels the sites consist of.
    pub factor: String,
    /// Sites that are compared.
    pub sites: Vec<SiteRule>,
}

/// A site of one or more groups of servers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SiteRule {
    /// Its name.
    pub name: String,
    /// Sessions that each group serves for a customer's session, by the level that was measured.
    pub parts: BTreeMap<String, f64>,
}

impl TableRule {
    /// Reads a table `[[tables]]`. `None` after a mistake.
    pub(super) fn read(table: &Section<'_>, factors: &[Factor]) -> Option<Self> {
        table.known(&TABLE);
        let id = id(table, &TABLE.id);
        let title = table.read(&TABLE.title);
        let metrics = table.read(&TABLE.metrics);
        let metrics =
            metrics.and_then(|names| listed(&table.get("metrics")?, &names, phases::is_known));
        let runs =
            table.given(&TABLE.r#where).map(|it| Selection::read(&it, factors)).unwrap_or_default();
        let note = table.given(&TABLE.note).unwrap_or_default().to_owned();
        Some(Self { id: id?, title: title?.to_owned(), note, metrics: metrics?, runs })
    }
}

impl ServersRule {
    /// Reads the table `[servers]`. `None` after a mistake.
    pub(super) fn read(table: &Section<'_>, factors: &[Factor]) -> Option<Self> {
        table.known(&SERVERS);
        let (customers, session) = (table.read(&SERVERS.customers), table.read(&SERVERS.session));
        let (price, name) = (table.read(&SERVERS.price), factor(table, &SERVERS.factor, factors));
        let name = name?;
        let of = factors.iter().find(|factor| Some(&factor.name) == name.as_ref())?;
        let sites = table.read(&SERVERS.sites)?.into_iter().map(|site| SiteRule::read(&site, of));
        let sites: Vec<Option<SiteRule>> = sites.collect();
        Some(Self {
            customers: customers?,
            session_s: session?.as_secs_f64(),
            price: price?,
            factor: of.name.clone(),
            sites: sites.into_iter().collect::<Option<_>>()?,
        })
    }
}

impl SiteRule {
    fn read(table: &Section<'_>, factor: &Factor) -> Option<Self> {
        table.known(&SERVERS_SITE);
        let (name, parts) = (table.read(&SERVERS_SITE.name), table.read(&SERVERS_SITE.parts));
        let levels: Vec<&str> = factor.levels.iter().map(|level| level.name.as_str()).collect();
        let mut found = BTreeMap::new();
        for (level, value) in parts?.entries() {
            if !levels.contains(&level) {
                let remedy = did_you_mean(level, &levels).unwrap_or_else(|| {
                    format!("use levels of {}: {}", factor.name, levels.join(", "))
                });
                value.wrong("is no level", remedy);
                return None;
            }
            found.insert(level.to_owned(), value.number(0.0..=1e6)?);
        }
        Some(Self { name: name?.to_owned(), parts: found })
    }
}
