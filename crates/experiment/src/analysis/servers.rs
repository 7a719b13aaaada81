//! How many servers carry a number of customers.
//!
//! Source: the capacity study of 1999, "servers = customers / customers per server", for each group
//! of servers by itself.

use std::collections::BTreeMap;

use serde_json::json;
use tidegate_stats::mean;

use super::Run;
use super::rows::put_rounds;
use crate::experiment::{Experiment, ServersRule, SiteRule};
use crate::summary::Row;

/// The table `servers`: a row for each site of which every part was measured.
pub(super) fn servers(experiment: &Experiment, runs: &[Run]) -> Vec<Row> {
    let Some(rule) = &experiment.servers else { return Vec::new() };
    rule.sites.iter().filter_map(|site| row(rule, site, runs)).collect()
}

fn row(rule: &ServersRule, site: &SiteRule, runs: &[Run]) -> Option<Row> {
    let needs = by_round(rule, site, runs);
    let servers = mean(needs.values().map(|need| need.whole))?;
    let mut row = Row::from_iter([("site".to_owned(), json!(site.name))]);
    put_rounds(&mut row, "busy_servers", needs.iter().map(|(round, need)| (*round, need.busy)));
    put_rounds(&mut row, "servers", needs.iter().map(|(round, need)| (*round, need.whole)));
    row.insert("customers_per_server".into(), json!(rule.customers / servers));
    row.insert("price".into(), json!(servers * rule.price));
    row.insert("price_per_customer".into(), json!(servers * rule.price / rule.customers));
    Some(row)
}

/// What a site needs by the capacities of a round.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Need {
    /// Servers that its customers keep busy, a part of one as well.
    busy: f64,
    /// Servers: each group has whole ones.
    whole: f64,
}

/// What all groups need, in each round in which every group was measured.
fn by_round(rule: &ServersRule, site: &SiteRule, runs: &[Run]) -> BTreeMap<u32, Need> {
    let sessions_per_s = rule.customers / rule.session_s;
    let of_part = |round: u32, level: &String, share: f64| {
        let here = runs
            .iter()
            .filter(|run| run.round == round && run.levels.get(&rule.factor) == Some(level));
        let capacity = mean(here.filter_map(|run| run.figure("capacity_per_s")))?;
        Some(sessions_per_s * share / capacity)
    };
    let all = |round: u32| {
        let mut need = Need::default();
        for (level, share) in &site.parts {
            let busy = of_part(round, level, *share)?;
            need = Need { busy: need.busy + busy, whole: need.whole + busy.ceil() };
        }
        Some((round, need))
    };
    runs.iter().map(|run| run.round).filter_map(all).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::runs;
    use crate::record::Record;
    use crate::record::tests::record;

    fn rule(parts: &[(&str, f64)]) -> (ServersRule, SiteRule) {
        let parts = parts.iter().map(|(level, share)| ((*level).to_owned(), *share)).collect();
        let site = SiteRule { name: "a site".into(), parts };
        let rule = ServersRule {
            customers: 100_000.0,
            session_s: 600.0,
            price: 15_000.0,
            factor: "part".into(),
            sites: vec![site.clone()],
        };
        (rule, site)
    }

    fn measured(level: &str, capacity_per_s: f64) -> Record {
        record(level, 0, &[("part", level)], &[("capacity_per_s", capacity_per_s)])
    }

    #[test]
    fn the_papers_sites_of_300_shoppers_a_server_and_of_15_000_a_checkout_server() {
        // 300 shoppers in sessions of 600 s are 0.5 sessions/s; 150 checkouts a minute are 2.5/s,
        // of which 100,000 shoppers with a tenth of a checkout each need 16.7.
        let runs = runs(&[measured("baseline", 0.5), measured("checkouts", 2.5)]);
        let (whole, site) = rule(&[("baseline", 1.0)]);
        let row = row(&whole, &site, &runs).unwrap();
        assert_eq!(row["servers"], json!(334.0));
        assert!((row["busy_servers"].as_f64().unwrap() - 333.3).abs() < 0.1);
        assert_eq!(row["price_per_customer"], json!(50.1));
        let (parts, site) = rule(&[("checkouts", 0.1)]);
        let need = by_round(&parts, &site, &runs)[&0];
        assert_eq!(need.whole, 7.0);
        assert!((need.busy - 6.67).abs() < 0.01);
    }

    #[test]
    fn a_site_of_which_a_part_was_not_measured_has_no_row() {
        let runs = runs(&[measured("baseline", 0.5)]);
        let (rule, site) = rule(&[("baseline", 1.0), ("checkouts", 0.1)]);
        assert_eq!(row(&rule, &site, &runs), None);
    }
}
